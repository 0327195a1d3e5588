"""Training in imperative style: a step calls the model, so that its Python code sees what it computes.

``train_on_batch`` and its kin call it with values, ``fit`` and the other loops trace a function that does the same; with ``run_eagerly`` loops, too,
call it with values each time. The metrics, losses and names are those of ``Compiled``; only the steps differ.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import as_dtype
from penstock.graph.function import init_scope
from penstock.graph.graph import default_graph
from penstock.graph.tensor_spec import TensorSpec
from penstock.imperative.function import Function
from penstock.imperative.symbolic import flush, graph_for_symbols
from penstock.imperative.tape import GradientTape
from penstock.keras.backend.steps import ArrayStep
from penstock.keras.engine.compiled import Compiled, Weighted
from penstock.keras.engine.endpoints import Endpoint
from penstock.keras.metrics.base import Metric
from penstock.keras.optimizers.registry import TFOptimizer
from penstock.layers import settings
from penstock.layers.branching import learning_phase_of_values
from penstock.layers.calls import call_arguments
from penstock.ops.array.cast import cast
from penstock.ops.constant import placeholder
from penstock.ops.math.add_n import add_n

_OPERATIONS_BEFORE = 9  # of TensorFlow's function, before it calls the model: two parts of an iterator, its element, the number of its rows;
# one less under a strategy
BatchFunction = Callable[[Sequence[Any]], list[Any]]


class EagerCompiled(Compiled):
    """The losses and metrics of a model, whose steps call it."""

    def _build(self) -> None:
        """Nothing: losses and metrics are computed of values."""
        self._loop_steps: dict[Any, _TracedStep] = {}

    @property
    def reported(self) -> list[Metric]:
        """All metrics of a step: those of the losses of several outputs first."""
        losses = [endpoint.loss_metric for endpoint in self.trained_endpoints if endpoint.loss_metric is not None]
        return [*losses, *self.metrics, *self._metrics_of_layers()]

    def _metrics_of_layers(self) -> list[Metric]:
        """The metrics that the model and its layers have added."""
        return list(self._model._added_metrics())

    def reset_metrics(self) -> None:
        """Sets all metrics to 0."""
        for metric in self.reported:
            metric.reset_states()

    def prepare_training(self) -> None:
        """Makes the variables of the optimizer."""
        optimizer = self._model.optimizer
        if not isinstance(optimizer, TFOptimizer):
            with init_scope():
                optimizer._create_variables(self.trained)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _make_step(self, mode: str, weighted: Weighted) -> Any:
        return _of_values(lambda values: self._run(mode, weighted, values))

    def loop_step(self, mode: str, weighted: Weighted, shape_of: Callable[[Any], Any]) -> Any:
        """The function of one batch of ``fit``, "train", or ``evaluate``, "test"; ``shape_of`` tells the shape that all batches like one have."""
        if self._model.run_eagerly:
            return self.step(mode, weighted)
        return self._traced((mode, weighted), lambda values: self._run(mode, weighted, values), shape_of)

    def predict_step(self, shape_of: Callable[[Any], Any]) -> Any:
        """The function of one batch of ``predict``."""
        if self._model.run_eagerly:
            return predict_step(self._model)
        return self._traced(("predict", ()), lambda values: called(self._model, values, False), shape_of)

    def _traced(self, key: Any, run: BatchFunction, shape_of: Callable[[Any], Any]) -> LoopStep:
        if key not in self._loop_steps:
            self._loop_steps[key] = _TracedStep(run, _OPERATIONS_BEFORE - (self._model._strategy is not None))
        return LoopStep(self._loop_steps[key], shape_of)

    def _run(self, mode: str, weighted: Weighted, values: Sequence[Any]) -> list[Any]:
        """The loss and the metrics of a batch."""
        model, count = self._model, len(self._model._feed_inputs)
        inputs, rest = values[:count], values[count:]
        targets = dict(zip((endpoint.name for endpoint in self.fed_endpoints), rest))
        named = [endpoint.name for endpoint, given in zip(self.trained_endpoints, weighted) if given]
        weights = dict(zip(named, rest[len(targets):]))
        with GradientTape() as tape:
            outputs = called(model, inputs, mode == "train")
            self._cast(targets, weights, outputs)
            losses = [endpoint.loss_weight * self._loss(endpoint, output, targets, weights)
                      for endpoint, output in zip(self.endpoints, outputs) if endpoint.loss is not None]
            total = add_n([*losses, *_losses_of_this_call(model)])
            scaled = model.optimizer.get_scaled_loss(total) if hasattr(model.optimizer, "get_scaled_loss") else total
        if mode == "train":
            self._apply(tape.gradient(scaled, self.trained))
        results = [total]
        results += [endpoint.loss_metric.result() for endpoint in self.trained_endpoints if endpoint.loss_metric is not None]
        for endpoint, output, plain, by_weight in zip(self.endpoints, outputs, self._plain, self._weighted):
            mask = getattr(output, "_keras_mask", None)
            for metric in (*plain, *by_weight):
                given = weights.get(endpoint.name) if metric in by_weight else None
                results.append(metric(targets[endpoint.name], output, sample_weight=mask if given is None else given))
        return results + [metric.result() for metric in self._metrics_of_layers()]

    def _cast(self, targets: dict[str, Any], weights: dict[str, Any], outputs: list[Any]) -> None:
        """Gives floating targets the types of outputs, and weights that of Keras."""
        for endpoint, output in zip(self.endpoints, outputs):
            target, weight = targets.get(endpoint.name), weights.get(endpoint.name)
            if target is not None and target.dtype.is_floating and target.dtype != output.dtype:
                targets[endpoint.name] = cast(target, output.dtype)
            if weight is not None:
                weights[endpoint.name] = cast(weight, settings.floatx())

    def _loss(self, endpoint: Endpoint, output: Any, targets: dict[str, Any], weights: dict[str, Any]) -> Any:
        loss = endpoint.loss_of(targets[endpoint.name], output, weights.get(endpoint.name))
        if len(self.endpoints) > 1:
            endpoint.report_loss(loss)
        return loss

    def _apply(self, gradients: list[Any]) -> None:
        optimizer = self._model.optimizer
        if hasattr(optimizer, "get_unscaled_gradients"):
            gradients = optimizer.get_unscaled_gradients(gradients)
        pairs = list(zip(gradients, self.trained))
        if isinstance(optimizer, TFOptimizer):
            optimizer.optimizer.apply_gradients(pairs, global_step=optimizer.iterations)
        else:
            optimizer.apply_gradients(pairs)


class LoopStep(NamedTuple):
    """A step of a loop, with what is known of the shapes of its batches."""

    step: _TracedStep
    shape_of: Callable[[Any], Any]

    def bound(self) -> BatchFunction:
        """The step in the session of this moment."""
        return self.step.bound(self.shape_of)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        return self.bound()(values)


class _TracedStep:
    """A function of the arrays of a batch that is traced, once per types and shapes; a trace is a step of the session of symbolic models."""

    def __init__(self, run: BatchFunction, operations_before: int) -> None:
        def traced(*values: Any) -> list[Any]:
            graph = default_graph()
            graph.imply(operations_before - graph.counted_operations())
            return run(values)

        self._function = Function(traced, autograph=False, makes_variables_once=True)
        self._steps: dict[Any, ArrayStep] = {}

    def bound(self, shape_of: Callable[[Any], Any]) -> BatchFunction:
        """The function in the session of this moment."""
        runs: dict[Any, BatchFunction] = {}

        def call(values: Sequence[Any]) -> list[Any]:
            arrays = [np.asarray(value) for value in values]
            kinds = tuple([(array.dtype, array.shape) for array in arrays])
            run = runs.get(kinds)
            if run is None:
                run = runs[kinds] = self._step(tuple([(as_dtype(dtype), tuple(shape_of(list(shape)))) for dtype, shape in kinds])).bound()
            flush(default_graph())
            return run(arrays)

        return call

    def _step(self, key: Any) -> ArrayStep:
        if key not in self._steps:
            specs = [TensorSpec(shape, dtype) for dtype, shape in key]
            with init_scope():
                trace = self._function.get_concrete_function(*specs)
            with graph_for_symbols().as_default():
                feeds = [placeholder(dtype, shape) for dtype, shape in key]
                self._steps[key] = ArrayStep(feeds, trace.call(default_graph(), feeds))
        return self._steps[key]


def _of_values(run: BatchFunction) -> BatchFunction:
    """A function of arrays, from one of tensors."""
    def run_values(values: Sequence[Any]) -> list[Any]:
        with init_scope():
            return _arrays(run([to_tensor(value) for value in values]))

    return run_values


def _arrays(results: list[Any]) -> list[Any]:
    return [np.asarray(result.numpy())[()] for result in results]


def called(model: Any, inputs: Sequence[Any], training: bool) -> list[Any]:
    """The outputs of a model for the values of its inputs."""
    inputs = [value if value.dtype == own.dtype else cast(value, own.dtype) for value, own in zip(inputs, model._feed_inputs)]
    given = dict(zip(model.input_names, inputs)) if getattr(model, "_takes_names", False) else inputs[0] if len(inputs) == 1 else inputs
    options = {"training": training} if call_arguments(model.call).expects("training") else {}
    model.forget_losses_of_values()
    with learning_phase_of_values(int(training)):  # for layers that are called without it
        return nest.flatten(model(given, **options))


def _losses_of_this_call(model: Any) -> list[Any]:
    return [effect.value for effect in model._loss_effects() if effect.is_of_values]


def predict_step(model: Any) -> BatchFunction:
    """The function of a batch of predictions, of values."""
    return _of_values(lambda values: called(model, values, False))
