"""The loop over epochs and batches that ``fit``, ``evaluate`` and ``predict`` share.

Between two batches nothing is done but what callbacks ask for: the loss and the metrics come out of the step itself.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from penstock.graph.function import init_scope, outermost
from penstock.graph.graph import default_graph
from penstock.imperative.symbolic import is_imperative
from penstock.keras.backend.steps import ArrayStep
from penstock.keras.callbacks.base import BaseLogger, CallbackList, History, ProgbarLogger
from penstock.keras.engine.batches import Source
from penstock.keras.engine.eager_steps import LoopStep
from penstock.platform import logging

_EMPTY = "Empty training data."
StepFunction = Callable[[Sequence[Any]], list[Any]]


class Run(NamedTuple):
    """What a loop is asked for. ``step`` is a function of the arrays of a batch."""

    model: Any
    mode: str  # train, test or predict
    source: Source
    step: StepFunction
    batch_size: int | None = None
    verbose: int = 0
    steps_name: str = "steps"  # the argument that says how many batches there are
    is_newer: bool = False  # is it Keras's newer loop?


class _MeanLoss:
    """The mean of the loss over batches, and the last value of each metric. As in TensorFlow, an evaluation that has less batches than were asked
    for divides by the ``total`` that was asked for."""

    def __init__(self, total: int | None = None) -> None:
        self._loss, self._weight, self._total = 0.0, 0, total
        self._metrics: list[Any] = []

    def add(self, outputs: list[Any], weight: int) -> None:
        """Adds a batch."""
        self._loss, self._weight, self._metrics = self._loss + float(outputs[0]) * weight, self._weight + weight, outputs[1:]

    def results(self) -> list[Any]:
        """The loss, and the metrics; nothing, if there was no batch."""
        return [self._loss / (self._total or self._weight), *self._metrics] if self._weight else []


class _Outputs:
    """The outputs of all batches, one after the other."""

    def __init__(self, samples: int | None) -> None:
        self._samples, self._start = samples, 0
        self._whole: list[np.ndarray] | None = None
        self._parts: list[list[Any]] = []

    def add(self, outputs: list[Any], weight: int) -> None:
        """Adds a batch."""
        if self._samples is None:
            self._parts.append(outputs)
            return
        for output in outputs:
            if np.shape(output)[:1] != (weight,):
                raise ValueError(f"Mismatch between expected batch size and model output batch size. Output shape = {np.shape(output)}, expected "
                                 f"output shape = shape {(weight, *np.shape(output)[1:])}")
        if self._whole is None:
            if weight == self._samples:
                self._whole = outputs
                return
            self._whole = [np.empty((self._samples, *output.shape[1:]), output.dtype) for output in outputs]
        for whole, output in zip(self._whole, outputs):
            whole[self._start:self._start + weight] = output
        self._start += weight

    def results(self) -> list[Any]:
        """One array per output."""
        if self._samples is not None:
            return self._whole or []
        return [np.concatenate(arrays, axis=0) for arrays in zip(*self._parts)]


def run_epoch(run: Run, callbacks: CallbackList, progbar: ProgbarLogger) -> list[Any]:
    """Runs all batches once; the results of the epoch."""
    names = run.model.metrics_names if run.mode != "predict" else []
    source = run.source
    total: Any = _Outputs(source.samples if source.is_whole else None) if run.mode == "predict" else \
        _MeanLoss(source.total if run.mode == "test" else None)
    mode, model = run.mode, run.model
    step = run.step.bound() if isinstance(run.step, (ArrayStep, LoopStep)) else run.step
    begin, end = callbacks.batch_hooks(mode, "begin"), callbacks.batch_hooks(mode, "end")
    if run.verbose:
        begin, end = [*begin, progbar.on_batch_begin], [*end, progbar.on_batch_end]
    told = bool(begin or end)
    for number, (arrays, size, weight) in enumerate(source.epoch()):
        logs: dict[str, Any] = {"batch": number, "size": size} if told else {}
        for hook in begin:
            hook(number, logs)
        outputs = step(arrays)
        total.add(outputs, size if mode == "train" else weight)  # training weighs batches by their sizes, evaluation counts steps
        if told:
            logs.update({"outputs": outputs} if mode == "predict" else zip(names, outputs))
            for hook in end:
                hook(number, logs)
            if model.stop_training:
                break
    return total.results()


def configure(callbacks: Any, run: Run, epochs: int, do_validation: bool) -> CallbackList:
    """The callbacks of the user and those of every training, told what they need to know."""
    if isinstance(callbacks, CallbackList):
        return callbacks
    model, listed = run.model, list(callbacks or ())
    if run.mode == "train":
        model.history = History()
        listed = [*listed, model.history]
    names = [] if run.mode == "predict" else list(model.metrics_names)
    for each in listed:
        if isinstance(each, (BaseLogger, ProgbarLogger)):
            each.stateful_metrics = set(names[1:])  # metrics are means already
    made = CallbackList(listed)
    made.set_model(model)
    imperative = is_imperative(outermost(default_graph()))
    made.set_params({"batch_size": run.batch_size, "epochs": epochs, "steps": run.source.steps if run.source.samples is None or imperative else None,
                     "samples": run.source.samples or run.source.steps,
                     "verbose": 0,  # as TensorFlow has it: the bar, which has the same dictionary, sets it later
                     "do_validation": do_validation,
                     "metrics": names + ([f"val_{name}" for name in names] if do_validation else [])})
    return made


def _progbar(run: Run, callbacks: CallbackList) -> ProgbarLogger:
    """The bar, which is told as callbacks are, after all of them."""
    stateful = [] if run.mode == "predict" else run.model.metrics_names[1:]
    bar = ProgbarLogger("steps" if run.source.samples is None else "samples", stateful)
    bar.params = callbacks.params
    bar.params["verbose"] = run.verbose
    bar.on_train_begin()
    return bar


def _called_imperatively(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Has callbacks of a loop compute values, where imperative style is on: only steps belong to the graph of symbolic models."""
    @functools.wraps(loop)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with init_scope() if is_imperative(outermost(default_graph())) else nullcontext():
            return loop(*args, **kwargs)

    return decorated


@_called_imperatively
def iterate(run: Run, callbacks: Any = None, inside: bool = False) -> list[Any]:
    """One evaluation, or one round of predictions, with a bar if it is verbose; ``inside`` a training the bar has the training's length."""
    listed = configure(callbacks, run, 1, False)
    bar = _progbar(run, listed)
    model = run.model
    if not inside:
        model.stop_training = False
    model.reset_metrics()
    listed.begin(run.mode)
    bar.on_epoch_begin(0)
    results = run_epoch(run, listed, bar)
    _check_length(run, 1)
    if not results and run.mode != "predict":
        raise ValueError(_EMPTY)
    bar.on_epoch_end(0, {} if run.mode == "predict" else dict(zip(model.metrics_names, results)))
    listed.end(run.mode)
    return results


class Validation(NamedTuple):
    """What is evaluated after epochs, and after which."""

    run: Run
    frequency: Any

    def is_due(self, epoch: int) -> bool:
        """Whether this epoch ends with an evaluation."""
        if isinstance(self.frequency, int):
            if self.frequency < 1:
                raise ValueError("`validation_freq` can not be less than 1.")
            return (epoch + 1) % self.frequency == 0
        if not hasattr(self.frequency, "__contains__"):
            raise ValueError(f"`validation_freq` must be an Integer or `collections.abc.Container` (e.g. list, tuple, etc.). Found: {self.frequency}")
        return epoch + 1 in self.frequency


@_called_imperatively
def train(run: Run, epochs: int, callbacks: Any = None, validation: Validation | None = None, initial_epoch: int = 0) -> History:
    """Trains for some epochs; returns the model's History."""
    if run.verbose and run.source.announced:
        print_extent(run, validation)
    listed = configure(callbacks, run, epochs, validation is not None)
    bar, model = _progbar(run, listed), run.model
    model.stop_training = False
    listed.begin("train")
    try:
        for epoch in range(initial_epoch, epochs):
            if model.stop_training or not _run_training_epoch(run, epoch, epochs, listed, bar, validation):
                break
    except BaseException:
        if run.is_newer:  # as TensorFlow has it: callbacks may close their files
            listed.end("train")
        raise
    listed.end("train")
    return model.history


def _run_training_epoch(run: Run, epoch: int, epochs: int, callbacks: CallbackList, bar: ProgbarLogger, validation: Validation | None) -> bool:
    """One epoch and its validation; whether there were any batches. Ctrl-C, or an error, ends an epoch of the newer loop for callbacks, too."""
    model = run.model
    logs: dict[str, Any] = {}
    model.reset_metrics()
    callbacks.on_epoch_begin(epoch)
    bar.on_epoch_begin(epoch)
    try:
        results = run_epoch(run, callbacks, bar)
        _end_source(run, bar, epochs)
        if not results:
            _check_ran_out(run)
            return False
        logs = dict(zip(model.metrics_names, results))
        if validation is not None and validation.is_due(epoch) and not model.stop_training:
            validation.run.source.rewind()  # every evaluation sees the same elements of a dataset
            run.source.lead(validation.run.source)
            results = iterate(validation.run, callbacks, inside=True)
            logs.update({f"val_{name}": value for name, value in zip(model.metrics_names, results)})
    except BaseException:
        if run.is_newer:
            callbacks.on_epoch_end(epoch, logs)
        raise
    if run.source.ran_out or (validation is not None and validation.run.source.ran_out):
        model.stop_training = True
    callbacks.on_epoch_end(epoch, logs)
    bar.on_epoch_end(epoch, logs)
    return True


def print_extent(run: Run, validation: Validation | None) -> None:
    """Tells of how many samples or steps an epoch consists, in the words of Keras's loop: that of graphs, or the newer one."""
    source = run.source
    if source.steps is None:
        return
    if run.is_newer:
        text = f"Train {_extent(source)}"
        if validation is not None and validation.run.source.steps:
            text += f", validate {_extent(validation.run.source)}"
        print(text)
        return
    unit = "steps" if source.samples is None and not source.counts_samples else "samples"
    text = f"Train on {source.samples or source.steps} {unit}"
    if validation is not None:
        held_out = validation.run.source
        number = held_out.rows or held_out.samples or held_out.steps
        text += f", validate on {number} {unit}" if number else ""
    print(text)


def _extent(source: Source) -> str:
    return f"for {source.steps} steps" if source.samples is None else f"on {source.samples} samples"


def _end_source(run: Run, bar: ProgbarLogger, epochs: int) -> None:
    """What follows the last batch of an epoch: the length of a dataset is known now; one that is too short ends the training."""
    run.source.end_epoch()
    if bar.use_steps and bar.target is None and run.source.steps:
        bar.params["steps"] = bar.target = bar.progbar.target = run.source.steps
    _check_length(run, epochs)


def _check_ran_out(run: Run) -> None:
    """ValueError if there are no batches at all, rather than less than were asked for."""
    if not run.source.ran_out:
        raise ValueError(_EMPTY)


def _check_length(run: Run, epochs: int) -> None:
    """Warns, in the words of Keras's loops, if there were less batches than asked for."""
    if not run.source.ran_out:
        return
    what, of, name = ("dataset", "dataset", run.steps_name) if run.source.announced else ("dataset iterator", "iterator", run.steps_name)
    if run.is_newer:
        what, of, name = "input", "dataset or generator", "steps_per_epoch"
    logging.warning("Your %s ran out of data; interrupting training. Make sure that your %s can generate at least `%s * epochs` batches (in this "
                    "case, %d batches). You may need to use the repeat() function when building your dataset.",
                    what, of, name, (run.source.steps or 0) * epochs)
