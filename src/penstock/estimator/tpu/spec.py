"""TPUEstimatorSpec: what a model function for TPUs returns; its functions for the host run in the same graph."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.estimator.spec import EstimatorSpec, checked_hooks
from penstock.platform.inspection import fn_args
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Any
    host_call: Any
    training_hooks: tuple[SessionRunHook, ...]
    evaluation_hooks: tuple[SessionRunHook, ...]
    prediction_hooks: tuple[SessionRunHook, ...]


class TPUEstimatorSpec(_Fields):
    """``tf.contrib.tpu.TPUEstimatorSpec``: ``eval_metrics`` and ``host_call`` are pairs of a function and the tensors that it is called with."""

    def __new__(cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metrics: Any = None,
                export_outputs: Any = None, scaffold_fn: Any = None, host_call: Any = None, training_hooks: Any = None, evaluation_hooks: Any = None,
                prediction_hooks: Any = None) -> TPUEstimatorSpec:
        """Checks its arguments."""
        for name, pair in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            if pair is not None:
                _check_host_call(name, pair)
        return super().__new__(cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
                               checked_hooks(training_hooks), checked_hooks(evaluation_hooks), checked_hooks(prediction_hooks))

    def as_estimator_spec(self) -> EstimatorSpec:
        """The spec of an Estimator: metrics are computed, and the host's function runs with each step."""
        metrics = None if self.eval_metrics is None else _call(self.eval_metrics)
        hooks = () if self.host_call is None else (_HostCallHook(_call(self.host_call)),)
        return EstimatorSpec(
            self.mode, self.predictions, self.loss, self.train_op, metrics, self.export_outputs, training_hooks=(*self.training_hooks, *hooks),
            evaluation_hooks=(*self.evaluation_hooks, *hooks), prediction_hooks=(*self.prediction_hooks, *hooks),
            scaffold=self.scaffold_fn() if self.scaffold_fn else None)


class _HostCallHook(SessionRunHook):
    """Runs with each step what the host's function returned."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches it."""
        return SessionRunArgs(self._fetches)


def _check_host_call(name: str, pair: Any) -> None:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"{name} should be tuple with length 2, a function and its tensors. Given: {pair}")
    function, tensors = pair
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable.")
    if not isinstance(tensors, (tuple, list, dict)):
        raise ValueError(f"{name}[1] should be tuple or list, or dict.")
    names = fn_args(function)
    if isinstance(tensors, (tuple, list)) and names and len(tensors) != len(names):
        raise RuntimeError(f"In TPUEstimatorSpec.{name}, length of tensors {len(tensors)} does not match method args of the function, which takes "
                           f"{len(names)}.")


def _call(pair: Any) -> Any:
    function, tensors = pair
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)
