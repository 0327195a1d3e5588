"""MultiHead: several heads on one model, each with labels, logits and metrics of its own."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.heads.base import Head, LossSpec, training_op
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.layers.metrics.streaming import mean
from penstock.ops.flow.misc import no_op
from penstock.ops.math.add_n import add_n
from penstock.ops.math.elementwise import multiply
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.summary import summary


class MultiHead(Head):
    """``tf.estimator.MultiHead``: labels and logits are dicts by the names of heads; logits may also be one tensor, which is split."""

    def __init__(self, heads: Any, head_weights: Any = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. Given len(head_weights): "
                             f"{len(head_weights)}.")
        for head in heads:
            if not head.name:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        super().__init__(name="_".join(head.name for head in heads))
        self.loss_reduction = heads[0].loss_reduction
        self._heads, self._weights = tuple(heads), tuple(head_weights or ())
        self.logits_dimension = sum(head.logits_dimension for head in heads)

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        """The weighted sum of the losses; the rest by head."""
        logits, labels = self._by_head(logits), self._check(labels, "labels")
        losses = {head.name: head.create_loss(features, mode, logits[head.name], labels[head.name]) for head in self._heads}
        weights = dict(zip(losses, self._weights or [1.0] * len(losses)))
        return LossSpec(self._merge([each.training_loss for each in losses.values()]),
                        {name: multiply(each.unreduced_loss, weights[name]) for name, each in losses.items()},
                        {name: multiply(each.weights, weights[name]) for name, each in losses.items()},
                        {name: each.processed_labels for name, each in losses.items()})

    def loss(self, labels: Any, logits: Any, features: Any = None, mode: Any = None, regularization_losses: Any = None) -> Any:
        """The loss to train."""
        loss = self.create_loss(features, mode, logits, labels).training_loss
        return add_n([loss, *regularization_losses]) if regularization_losses else loss

    def predictions(self, logits: Any, keys: Any = None) -> dict[Any, Any]:
        """{(head, name): prediction}."""
        logits = self._by_head(logits)
        return {(head.name, key): value for head in self._heads for key, value in head.predictions(logits[head.name], keys).items()}

    def create_estimator_spec(self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
                              trainable_variables: Any = None, train_op_fn: Callable[[Any], Any] | None = None, update_ops: Any = None,
                              regularization_losses: Any = None) -> EstimatorSpec:
        """The specs of all heads as one."""
        logits = self._by_head(logits)
        labels = {} if mode == ModeKeys.PREDICT else self._check(labels, "labels")
        specs = {head.name: head.create_estimator_spec(features, mode, logits[head.name], labels.get(head.name), train_op_fn=lambda loss: no_op(),
                                                       update_ops=[]) for head in self._heads}
        predictions = {(name, key): value for name, spec in specs.items() for key, value in spec.predictions.items()}
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predictions, export_outputs=_export_outputs(specs))
        loss = self._merge([spec.loss for spec in specs.values()])
        loss = add_n([loss, *regularization_losses]) if regularization_losses else loss
        if mode == ModeKeys.EVAL:
            with name_scope("merge_eval"):
                metrics = {f"loss/{name}": mean(spec.loss, name=f"loss/{name}") for name, spec in specs.items()}
            return EstimatorSpec(mode, predictions=predictions, loss=loss,
                                 eval_metric_ops=metrics | {key: each for spec in specs.values() for key, each in spec.eval_metric_ops.items()})
        train_op = training_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        with name_scope(""):
            summary.scalar("loss", loss)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _merge(self, losses: list[Any]) -> Any:
        with name_scope(None, "merge_losses", losses):
            return add_n([multiply(loss, weight) for loss, weight in zip(losses, self._weights)] if self._weights else losses)

    def _check(self, values: Any, what: str) -> dict[str, Any]:
        if not isinstance(values, dict):
            raise ValueError(f"{what} must be a dict. Given: {values}")
        missing = sorted({head.name for head in self._heads} - values.keys())
        if missing:
            raise ValueError(f"{what} has missing values for head(s): {missing}")
        return values

    def _by_head(self, logits: Any) -> dict[str, Any]:
        """{head: its logits}."""
        if isinstance(logits, dict):
            return self._check(logits, "logits")
        with name_scope(None, "split_logits", [logits]):
            logits = to_tensor(logits)
            sizes = [head.logits_dimension for head in self._heads]
            if logits.shape.ndims and logits.shape.extents[-1] not in (None, sum(sizes)):
                raise ValueError(f"Could not split logits of shape {logits.shape.as_list()} among the heads with individual logits dimensions: "
                                 f"{sizes}. The last dimension of the logits tensor should equal {sum(sizes)} but is {logits.shape.extents[-1]}.")
            ends = [sum(sizes[:number + 1]) for number in range(len(sizes))]
            return {head.name: logits[..., end - size:end] for head, end, size in zip(self._heads, ends, sizes)}


def _export_outputs(specs: dict[str, EstimatorSpec]) -> dict[str, Any]:
    """The outputs of each head behind its name; the default is that of the first head."""
    default = DEFAULT_SERVING_SIGNATURE_DEF_KEY
    merged: dict[str, Any] = {default: next(iter(specs.values())).export_outputs[default]}
    outputs: dict[str, Any] = {}
    for name, spec in specs.items():
        merged.update({name if key == default else f"{name}/{key}": output for key, output in spec.export_outputs.items()})
        if isinstance(predicted := spec.export_outputs.get("predict"), PredictOutput):
            outputs.update({f"{name}/{key}": value for key, value in predicted.outputs.items()})
    return {**merged, "predict": PredictOutput(outputs)}
