"""Training with ``run_eagerly``: each batch calls the model with values, so that its Python code runs, and can be looked at, every time.

The metrics, losses and names are those of ``Compiled``; only the steps differ.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.function import init_scope
from penstock.imperative.tape import GradientTape
from penstock.keras.engine.compiled import Compiled, Weighted
from penstock.keras.engine.endpoints import Endpoint
from penstock.keras.metrics.base import Metric
from penstock.keras.optimizers.registry import TFOptimizer
from penstock.layers.branching import learning_phase_of_values
from penstock.layers.calls import call_arguments
from penstock.ops.math.add_n import add_n


class EagerCompiled(Compiled):
    """The losses and metrics of a model, whose steps run imperatively."""

    def _build(self) -> None:
        """Nothing: losses and metrics are computed of values."""

    @property
    def reported(self) -> list[Metric]:
        """All metrics of a step: those of the losses of several outputs first."""
        losses = [endpoint.loss_metric for endpoint in self.trained_endpoints if endpoint.loss_metric is not None]
        return [*losses, *self.metrics]

    def reset_metrics(self) -> None:
        """Sets all metrics to 0."""
        for metric in self.reported:
            metric.reset_states()

    def _make_step(self, mode: str, weighted: Weighted) -> Any:
        def run(values: Sequence[Any]) -> list[Any]:
            with init_scope():
                return self._run(mode, weighted, [to_tensor(value) for value in values])

        return run

    def _run(self, mode: str, weighted: Weighted, values: list[Any]) -> list[Any]:
        model, count = self._model, len(self._model._feed_inputs)
        inputs, rest = values[:count], values[count:]
        targets = dict(zip((endpoint.name for endpoint in self.fed_endpoints), rest))
        named = [endpoint.name for endpoint, given in zip(self.trained_endpoints, weighted) if given]
        weights = dict(zip(named, rest[len(targets):]))
        with GradientTape() as tape:
            outputs = called(model, inputs, mode == "train")
            losses = [endpoint.loss_weight * self._loss(endpoint, output, targets, weights)
                      for endpoint, output in zip(self.endpoints, outputs) if endpoint.loss is not None]
            total = add_n([*losses, *model.losses])
        if mode == "train":
            self._apply(tape.gradient(total, self.trained))
        results = [total]
        results += [endpoint.loss_metric.result() for endpoint in self.trained_endpoints if endpoint.loss_metric is not None]
        for endpoint, output, plain, by_weight in zip(self.endpoints, outputs, self._plain, self._weighted):
            for metric in (*plain, *by_weight):
                results.append(metric(targets[endpoint.name], output, sample_weight=weights.get(endpoint.name) if metric in by_weight else None))
        return [np.asarray(result.numpy())[()] for result in results]

    def _loss(self, endpoint: Endpoint, output: Any, targets: dict[str, Any], weights: dict[str, Any]) -> Any:
        loss = endpoint.loss_of(targets[endpoint.name], output, weights.get(endpoint.name))
        if len(self.endpoints) > 1:
            endpoint.report_loss(loss)
        return loss

    def _apply(self, gradients: list[Any]) -> None:
        optimizer = self._model.optimizer
        pairs = list(zip(gradients, self.trained))
        if isinstance(optimizer, TFOptimizer):
            optimizer.optimizer.apply_gradients(pairs, global_step=optimizer.iterations)
        else:
            optimizer.apply_gradients(pairs)


def called(model: Any, inputs: list[Any], training: bool) -> list[Any]:
    """The outputs of a model for the values of its inputs."""
    given = dict(zip(model.input_names, inputs)) if getattr(model, "_takes_names", False) else inputs[0] if len(inputs) == 1 else inputs
    options = {"training": training} if call_arguments(model.call).expects("training") else {}
    with learning_phase_of_values(int(training)):  # for layers that are called without it
        return nest.flatten(model(given, **options))


def predict_step(model: Any) -> Callable[[Sequence[Any]], list[Any]]:
    """The function of a batch of predictions."""
    def run(values: Sequence[Any]) -> list[Any]:
        with init_scope():
            return [output.numpy() for output in called(model, [to_tensor(value) for value in values], False)]

    return run
