"""``ModelFnOps``: what a model function of ``tf.contrib.learn`` returns, checked where it is made, and as a spec of ``tf.estimator``."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib.learn.keys import CORE_MODES, MetricKey, ModeKeys, PredictionKey, ProblemType
from penstock.estimator.export_outputs import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from penstock.estimator.spec import EstimatorSpec
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation
from penstock.ops.array.shape_ops import reshape
from penstock.platform import logging
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.train.scaffold import Scaffold
from penstock.train.session_run_hook import SessionRunHook


class _Fields(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[Any, Any]
    output_alternatives: Any
    training_chief_hooks: list[Any]
    training_hooks: list[Any]
    scaffold: Scaffold | None
    mode: str


class ModelFnOps(_Fields):
    """``tf.contrib.learn.ModelFnOps``: the operations and objects that a model function gives to its estimator."""

    def __new__(cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metric_ops: Any = None,
                output_alternatives: Any = None, training_chief_hooks: Any = None, training_hooks: Any = None,
                scaffold: Scaffold | None = None) -> ModelFnOps:
        """Checks that the mode has what it needs: a train_op and a loss to train, a loss and predictions to evaluate, predictions to infer."""
        ModeKeys.validate(mode)
        if train_op is None and mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        if predictions is None and mode in (ModeKeys.INFER, ModeKeys.EVAL):
            raise ValueError("Missing predictions.")
        if eval_metric_ops is not None and not isinstance(eval_metric_ops, dict):
            raise ValueError("eval_metric_ops must be a dict.")
        if train_op is not None and not isinstance(train_op, Operation):
            train_op = to_tensor(train_op).op
        chief_hooks, hooks = list(training_chief_hooks or ()), list(training_hooks or ())
        for hook in [*hooks, *chief_hooks]:
            if not isinstance(hook, SessionRunHook):
                raise TypeError(f"All hooks returned from model_fn must be SessionRunHook instances, got instance of {type(hook)}: {hook}")
        return super().__new__(cls, _tensors(predictions), _checked_loss(loss, mode), train_op, {} if eval_metric_ops is None else eval_metric_ops,
                               output_alternatives, chief_hooks, hooks, scaffold, mode)

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> EstimatorSpec:
        """The same for an Estimator of ``tf.estimator``."""
        outputs = None
        if self.output_alternatives:
            alternatives = dict(self.output_alternatives)
            if len(alternatives) > 1 and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in alternatives:
                alternatives[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = alternatives[default_serving_output_alternative_key]
            outputs = {key: _export_output(*alternative) for key, alternative in alternatives.items()}
        metrics = {key: value for key, value in self.eval_metric_ops.items() if key != MetricKey.LOSS}
        return EstimatorSpec(CORE_MODES[self.mode], self.predictions, self.loss, self.train_op, metrics, outputs, self.training_chief_hooks,
                             self.training_hooks, self.scaffold)

    def training_spec(self) -> EstimatorSpec:
        """The part that the training loop of ``tf.estimator`` needs."""
        return EstimatorSpec(CORE_MODES[ModeKeys.TRAIN], loss=self.loss, train_op=self.train_op, training_hooks=self.training_hooks,
                             training_chief_hooks=self.training_chief_hooks, scaffold=self.scaffold)


def _tensors(predictions: Any) -> Any:
    if predictions is None or isinstance(predictions, SparseTensor):
        return predictions
    if isinstance(predictions, dict):
        return {key: _tensors(value) for key, value in predictions.items()}
    return to_tensor(predictions)


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    loss = to_tensor(loss)
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar: {loss}.")
    return loss if loss.shape.is_compatible_with([]) else reshape(loss, [])


def scores_of(outputs: dict[str, Any]) -> Any:
    """The scores among the outputs of a model: those called so, or the probabilities."""
    return outputs.get(PredictionKey.SCORES, outputs.get(PredictionKey.PROBABILITIES))


def classes_of(outputs: dict[str, Any]) -> Any:
    """The classes among the outputs of a model, if they are text."""
    classes = outputs.get(PredictionKey.CLASSES)
    return classes if classes is not None and classes.dtype == dtypes.string else None


def _export_output(problem_type: int, outputs: dict[str, Any]) -> ExportOutput:
    if problem_type == ProblemType.LINEAR_REGRESSION:
        return RegressionOutput(scores_of(outputs))
    if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
        classes = classes_of(outputs)
        if classes is None:
            logging.warning("classes is not string, Servo inference will not have class ids.")
        return ClassificationOutput(scores=scores_of(outputs), classes=classes)
    if problem_type == ProblemType.UNSPECIFIED:
        return PredictOutput(outputs)
    raise ValueError(f"Unknown problem_type={problem_type}")
