"""TrainSpec and EvalSpec: with which input, how long and how often ``train_and_evaluate`` trains and evaluates."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.exporters import Exporter
from penstock.estimator.spec import checked_hooks
from penstock.train.session_run_hook import SessionRunHook


class _TrainFields(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]


class TrainSpec(_TrainFields):
    """``tf.estimator.TrainSpec``: the input of training, and its last step."""

    def __new__(cls, input_fn: Any, max_steps: int | None = None, hooks: Any = None) -> TrainSpec:
        """Checks its arguments."""
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, checked_hooks(hooks))


class _EvalFields(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """``tf.estimator.EvalSpec``: the input of evaluations, their number of batches, their exports, and how often they take place."""

    def __new__(cls, input_fn: Any, steps: int | None = 100, name: str | None = None, hooks: Any = None, exporters: Any = None,
                start_delay_secs: float = 120, throttle_secs: float = 600) -> EvalSpec:
        """Checks its arguments."""
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        if start_delay_secs < 0:
            raise ValueError(f"Must specify start_delay_secs >= 0, given: {start_delay_secs}")
        if throttle_secs < 0:
            raise ValueError(f"Must specify throttle_secs >= 0, given: {throttle_secs}")
        return super().__new__(cls, input_fn, steps, name, checked_hooks(hooks), _checked_exporters(exporters), start_delay_secs, throttle_secs)


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    if not exporters:
        return ()
    exporters = (exporters,) if isinstance(exporters, Exporter) else exporters
    if not isinstance(exporters, (list, tuple)) or not all(isinstance(exporter, Exporter) for exporter in exporters):
        raise TypeError(f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {exporters}.")
    names = set()
    for exporter in exporters:
        if not exporter.name or not isinstance(exporter.name, str):
            raise ValueError(f"An Exporter must have a string name that is not empty. Given: {type(exporter)} with name {exporter.name!r}")
        if exporter.name in names:
            raise ValueError(f"`exporters` must have unique names. Such a name cannot be `None`. All exporter names given: {exporter.name}")
        names.add(exporter.name)
    return tuple(exporters)
