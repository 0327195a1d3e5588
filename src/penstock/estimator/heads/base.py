"""Head: predictions, loss, metrics and exports of a model's logits, together as an EstimatorSpec.

A head has no variables. ``create_estimator_spec`` is the same for all kinds but ``MultiHead``; each kind says what it predicts, what the loss of an
example is, and which metrics it has. The names of metrics and summaries end in the name of the head, if it has one.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.export_outputs import ExportOutput
from penstock.estimator.heads.labels import checked_logits, example_weights, has_loss_shape
from penstock.estimator.input_results import call_with
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection, name_scope
from penstock.layers.losses import Reduction, compute_weighted_loss
from penstock.layers.metrics.streaming import mean
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.flow.misc import group
from penstock.ops.math.add_n import add_n
from penstock.ops.math.reduce import reduce_sum
from penstock.platform.inspection import fn_args
from penstock.summary import summary
from penstock.train.global_step import get_global_step

OVER_BATCH = "sum_over_batch_size"
_REDUCTIONS = {"sum": Reduction.SUM, OVER_BATCH: Reduction.SUM_OVER_BATCH_SIZE}  # Keras's names, which mean the same


class LossSpec(NamedTuple):
    """What a head computes of labels: the loss to train, that of each example, their weights, the labels as it uses them."""

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


class Head:
    """``tf.estimator.Head``: what all heads share."""

    logits_dimension: int
    allows_weights_per_logit = False

    def __init__(self, weight_column: Any = None, loss_reduction: str = OVER_BATCH, loss_fn: Callable[..., Any] | None = None,
                 name: str | None = None) -> None:
        self.loss_reduction = _REDUCTIONS.get(loss_reduction, loss_reduction)
        if self.loss_reduction not in Reduction.all() or self.loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid options.")
        if loss_fn is not None:
            _check_loss_fn(loss_fn)
        self._weight_column, self._loss_fn, self.name = weight_column, loss_fn, name

    # --- what each kind of head says ---------------------------------------------------------------------------------

    def named_predictions(self, logits: Any) -> dict[str, Any]:
        """Predictions by name."""
        raise NotImplementedError(f"{type(self).__name__}.named_predictions")

    def processed_labels(self, labels: Any, logits: Any) -> Any:
        """The labels as the head uses them."""
        raise NotImplementedError(f"{type(self).__name__}.processed_labels")

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """The loss of each example, unless there is a ``loss_fn``."""
        raise NotImplementedError(f"{type(self).__name__}.example_losses")

    def eval_metric_ops(self, losses: LossSpec, predictions: dict[str, Any]) -> dict[str, Any]:
        """Its metrics, but for the losses: {name: (value, update)}."""
        raise NotImplementedError(f"{type(self).__name__}.eval_metric_ops")

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """The signatures of an exported model."""
        raise NotImplementedError(f"{type(self).__name__}.export_outputs")

    @property
    def loss_dimension(self) -> int:
        """The numbers of losses per example."""
        return 1

    # --- what is the same for all ------------------------------------------------------------------------------------

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Predictions by name: all, or those of ``keys``."""
        with name_scope(None, "predictions", [logits]):
            named = self.named_predictions(checked_logits(logits, self.logits_dimension))
        for key in keys or ():
            if key not in named:
                raise ValueError(f"Prediction key must be in PredictionKeys, given: {key}. Valid prediction keys include {sorted(named)}.")
        return {key: named[key] for key in keys} if keys else named

    def loss(self, labels: Any, logits: Any, features: Any = None, mode: Any = None, regularization_losses: Any = None) -> Any:
        """The loss to train."""
        with name_scope(None, "losses"):
            losses = self.create_loss(features, mode, checked_logits(logits, self.logits_dimension), labels)
            return _regularize(losses.training_loss, regularization_losses)[0]

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        """The loss to train and what it is made of."""
        logits = cast(to_tensor(logits), dtypes.float32)
        labels = self.processed_labels(labels, logits)
        if self._loss_fn is None:
            unreduced = self.example_losses(labels, logits)
        else:
            unreduced = has_loss_shape(call_with(self._loss_fn, labels=labels, logits=logits, features=features), logits, self.loss_dimension)
        weights = example_weights(features, self._weight_column, logits, self.allows_weights_per_logit)
        return LossSpec(compute_weighted_loss(unreduced, weights, reduction=self.loss_reduction), unreduced, weights, labels)

    def metrics(self, regularization_losses: Any = None) -> Any:
        """Refused: metrics are made by ``create_estimator_spec``."""
        raise NotImplementedError("Head.metrics: Penstock's heads have no Keras metrics. create_estimator_spec(mode=EVAL) has eval_metric_ops.")

    def update_metrics(self, eval_metrics: Any, features: Any, logits: Any, labels: Any, regularization_losses: Any = None) -> Any:
        """Refused: metrics are made by ``create_estimator_spec``."""
        self.metrics()

    def create_estimator_spec(self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
                              trainable_variables: Any = None, train_op_fn: Callable[[Any], Any] | None = None, update_ops: Any = None,
                              regularization_losses: Any = None) -> EstimatorSpec:
        """The spec of a model with these logits. ``train_op_fn(loss)`` makes the operation that trains, or an ``optimizer`` does.

        An optimizer of Keras needs the ``trainable_variables``. The updates of batch normalization run with it, unless ``update_ops`` are given.
        """
        with name_scope(self.name, "head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=predictions, export_outputs=self.export_outputs(predictions))
            losses = self.create_loss(features, mode, checked_logits(logits, self.logits_dimension), labels)
            loss, penalty = _regularize(losses.training_loss, regularization_losses)
            if mode == ModeKeys.EVAL:
                return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=self._all_metrics(losses, penalty, predictions))
            train_op = training_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
            average = self._average(losses)
        with name_scope(""):
            for tag, value in (("loss", loss), ("average_loss", average), ("regularization_loss", penalty)):
                if value is not None:
                    summary.scalar(self.named(tag), value)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def named(self, key: str) -> str:
        """The name of a metric or summary."""
        return f"{key}/{self.name}" if self.name else key

    def _all_metrics(self, losses: LossSpec, penalty: Any, predictions: dict[str, Any]) -> dict[str, Any]:
        with name_scope(None, "metrics"):
            metrics = {"average_loss": mean(losses.unreduced_loss, losses.weights, name="average_loss"), **self.eval_metric_ops(losses, predictions)}
            if penalty is not None:
                metrics["regularization_loss"] = mean(penalty, name="regularization_loss")
        return {self.named(key): metric for key, metric in metrics.items()}

    def _average(self, losses: LossSpec) -> Any:
        """The loss per example, if the one that trains is a sum."""
        if self.loss_reduction != Reduction.SUM:
            return None
        return losses.training_loss / reduce_sum(losses.weights * ones_like(losses.unreduced_loss))


def training_op(loss: Any, optimizer: Any, trainable_variables: Any, train_op_fn: Callable[[Any], Any] | None, update_ops: Any = None) -> Any:
    """The operation that trains, and the updates that belong to a step."""
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError(f"train_op_fn and optimizer cannot both be {'None' if optimizer is None else 'set'}.")
    if train_op_fn is not None:
        train_op = train_op_fn(loss)
    elif hasattr(optimizer, "get_updates"):  # one of Keras's
        if not isinstance(trainable_variables, (list, tuple)):
            raise ValueError(f"trainable_variables should be a list or a tuple for a Keras optimizer. Given: {trainable_variables}")
        train_op = optimizer.get_updates(loss, trainable_variables)[0]
    else:
        train_op = optimizer.minimize(loss, global_step=get_global_step())
    updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
    return group(train_op, *updates) if updates else train_op


def _regularize(loss: Any, penalties: Any) -> tuple[Any, Any]:
    """(loss with penalties, sum of the penalties or None)."""
    if not penalties:
        return loss, None
    penalty = add_n(penalties)
    return add_n([loss, penalty]), penalty


def _check_loss_fn(loss_fn: Callable[..., Any]) -> None:
    names = fn_args(loss_fn)
    for required in ("labels", "logits"):
        if required not in names:
            raise ValueError(f"loss_fn must contain argument: {required}. Given arguments: {names}")
    unknown = sorted(set(names) - {"labels", "logits", "features", "loss_reduction"})
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")
