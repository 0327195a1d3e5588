"""EstimatorSpec: what a model function returns, checked where it is made.

A spec holds tensors of the graph that the model function was called in; those of another graph are refused, since they could not be run.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.export_outputs import checked_export_outputs
from penstock.estimator.mode_keys import ModeKeys
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.ops.array.shape_ops import reshape
from penstock.train.scaffold import Scaffold
from penstock.train.session_run_hook import SessionRunHook
from penstock.variables.variable import Variable


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    export_outputs: Any
    training_chief_hooks: tuple[Any, ...]
    training_hooks: tuple[Any, ...]
    scaffold: Scaffold
    evaluation_hooks: tuple[Any, ...]
    prediction_hooks: tuple[Any, ...]


class EstimatorSpec(_Fields):
    """``tf.estimator.EstimatorSpec``: the operations and objects that a model function gives to its Estimator."""

    def __new__(cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metric_ops: Any = None,
                export_outputs: Any = None, training_chief_hooks: Any = None, training_hooks: Any = None, scaffold: Scaffold | None = None,
                evaluation_hooks: Any = None, prediction_hooks: Any = None) -> EstimatorSpec:
        """Checks that the mode has what it needs: a train_op and a loss to train, a loss to evaluate, predictions to predict."""
        train_op, loss = _checked_train_op(train_op, mode), _checked_loss(loss, mode)
        predictions = _checked_predictions(predictions, mode)
        if mode == ModeKeys.PREDICT:
            export_outputs = checked_export_outputs(export_outputs, predictions)
        hooks = [checked_hooks(each) for each in (training_hooks, evaluation_hooks, prediction_hooks, training_chief_hooks)]
        metrics = _checked_metrics(eval_metric_ops)
        return super().__new__(cls, mode, predictions, loss, train_op, metrics, export_outputs, hooks[3], hooks[0], _checked_scaffold(scaffold),
                               hooks[1], hooks[2])

    def _replace(self, **kwds: Any) -> EstimatorSpec:
        """A spec with other fields; the mode stays."""
        if kwds.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return EstimatorSpec(**{**self._asdict(), **kwds})


def _foreign(what: str, name: str) -> ValueError:
    return ValueError(f'{what} with "{name}" must be from the default graph: it was made in another graph, or outside of the call of model_fn that '
                      "returned it. Make it inside model_fn, each time that it is called.")


def _in_default_graph(value: Any, what: str) -> Any:
    if value.graph is not default_graph():
        raise _foreign(what, value.name)
    return value


def _checked_tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, (Tensor, Variable)):
        raise TypeError(f"{name} must be Tensor, given: {value}")
    return to_tensor(value)


def _checked_train_op(train_op: Any, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op. In mode 'train' model_fn returns EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, "
                             "global_step=tf.train.get_global_step())).")
        return None
    if not isinstance(train_op, (Tensor, Operation, Variable)):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    return _in_default_graph(train_op.op if isinstance(train_op, Variable) else train_op, "train_op")


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError(f"Missing loss. In mode {mode!r} model_fn returns EstimatorSpec(mode, loss=loss, ...).")
        return None
    loss = _in_default_graph(_checked_tensor(loss, "loss"), "loss")
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss if loss.shape.is_compatible_with([]) else reshape(loss, [])


def _checked_predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions. In mode 'infer' model_fn returns EstimatorSpec(mode, predictions={name: tensor}).")
        return {}
    if not isinstance(predictions, dict):
        return _in_default_graph(_checked_tensor(predictions, "predictions"), "prediction values")
    return {key: _in_default_graph(_checked_tensor(value, f"predictions[{key}]"), f"prediction values {key}") for key, value in predictions.items()}


def checked_hooks(hooks: Any) -> tuple[Any, ...]:
    """Hooks that are some."""
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    """{name: (value, update)}."""
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Values of eval_metric_ops must be (metric_value, update_op) tuples, such as the functions of tf.metrics return, "
                            f"given: {pair} for key: {key}")
        for element in (*nest.flatten(pair[0]), pair[1]):  # a value may be several tensors, such as the state of a model
            if not isinstance(element, (Tensor, Operation, Variable)):
                raise TypeError(f"{key} of eval_metric_ops must be Operation or Tensor, given: {element}")
            _in_default_graph(element, "eval_metric_ops")
    return metrics


def _checked_scaffold(scaffold: Any) -> Scaffold:
    scaffold = scaffold or Scaffold()
    if not isinstance(scaffold, Scaffold):
        raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
    return scaffold


ModelFn = Callable[..., EstimatorSpec]
