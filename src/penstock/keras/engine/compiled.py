"""What ``compile`` makes of a model: losses and metrics in the graph, and the steps that compute them.

Losses depend on whether weights of samples are fed. Those without are made by ``compile``, as in TensorFlow; those with weights when a step with
weights is first asked for.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.keras.backend.steps import ArrayStep
from penstock.keras.engine import multi_worker
from penstock.keras.engine.endpoints import Endpoint, loss_functions, metric_object, metrics_per_output, per_output
from penstock.keras.engine.replicated import ends_of
from penstock.keras.metrics.base import Metric
from penstock.layers.branching import learning_phase, phase_state
from penstock.layers.sessions import count_assignments, initialized_session
from penstock.ops.array.fill import zeros
from penstock.ops.flow.misc import group
from penstock.ops.math.add_n import add_n

Weighted = tuple[bool, ...]  # for each output that has a loss: whether weights of samples are fed


class Compiled:
    """The losses, metrics and steps of a model."""

    def __init__(self, model: Any, strategy: Any, loss: Any, metrics: Any, weighted_metrics: Any, loss_weights: Any, sample_weight_mode: Any,
                 target_tensors: Any) -> None:
        self._model, self._strategy = model, strategy
        self._ends = ends_of(model, strategy)
        names = model.output_names
        functions, targets = loss_functions(loss or {}, names), _targets(target_tensors, names)
        self.endpoints = [Endpoint(output, name, function, target) for output, name, function, target in
                          zip(self._ends.outputs, names, functions, targets)]
        if loss_weights is not None and not isinstance(loss_weights, (Mapping, list, tuple)):
            raise TypeError(f"Could not interpret loss_weights argument: {loss_weights} - expected a list of dicts.")
        for endpoint, weight in zip(self.endpoints, per_output(loss_weights, names, "loss_weights")):
            endpoint.loss_weight = 1.0 if weight is None else float(weight)
        for endpoint, mode in zip(self.endpoints, per_output(sample_weight_mode, names, "sample_weight_mode")):
            if mode not in (None, "samplewise", "temporal"):
                raise ValueError(f'sample_weight_mode should be None or "temporal". Found: {mode}')
            endpoint.sample_weight_mode = mode
        self.metrics: list[Metric] = []
        self._plain = self._make_metrics(metrics, weighted=False)
        self._weighted = self._make_metrics(weighted_metrics, weighted=True)
        self._order_metrics()
        if not self.trained_endpoints and not model.losses:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        self._built_for: Weighted | None = None  # whether the loss and the weighted metrics, as they are now, take weights
        self._total_loss: Any = None
        self._steps: dict[Any, ArrayStep] = {}
        self._reset_op: tuple[Any, Any] | None = None
        self.trained = list({id(weight): weight for weight in model.trainable_weights}.values())
        self._build()

    def _build(self) -> None:
        """Makes what steps without weights of samples report, here and now: the seeds of random ops to come count it."""
        with name_scope("metrics"):
            for endpoint, made in zip(self.endpoints, self._plain):
                for metric in made:
                    self._call_metric(metric, endpoint, None)
        self.total_loss((False,) * len(self.trained_endpoints))

    # --- metrics -----------------------------------------------------------------------------------------------------

    def _make_metrics(self, given: Any, weighted: bool) -> list[list[Metric]]:
        listed = metrics_per_output(given, [endpoint.name for endpoint in self.endpoints])
        return [[] if endpoint.loss is None else [metric_object(each, endpoint, weighted) for each in wanted]
                for endpoint, wanted in zip(self.endpoints, listed)]

    def _order_metrics(self) -> None:
        """Puts the metrics in the order in which they are reported, and makes their names distinct."""
        for endpoint, plain, weighted in zip(self.endpoints, self._plain, self._weighted):
            for metric in (*plain, *weighted):
                base = f"{endpoint.name}_{metric.name}" if len(self.endpoints) > 1 else metric.name
                taken, number, name = {each.name for each in self.metrics}, 1, base
                while name in taken:
                    name, number = f"{base}_{number}", number + 1
                metric._name = name
                self.metrics.append(metric)

    def _call_metric(self, metric: Metric, endpoint: Endpoint, weights: Any) -> None:
        mask = getattr(endpoint.output, "_keras_mask", None)
        with name_scope(metric.name):
            metric(endpoint.target, endpoint.output, sample_weight=mask if weights is None else weights)

    @property
    def reported(self) -> list[Metric]:
        """All metrics of a step: those of the losses of several outputs first."""
        losses = [endpoint.loss_metric for endpoint in self.trained_endpoints] if len(self.endpoints) > 1 else []
        return [metric for metric in losses if metric is not None] + self.metrics + self._metrics_of_layers()

    @property
    def names(self) -> list[str]:
        """The names of what a step reports: the loss, then the metrics."""
        losses = [endpoint.loss_name for endpoint in self.trained_endpoints] if len(self.endpoints) > 1 else []
        return ["loss", *losses, *(metric.name for metric in (*self.metrics, *self._metrics_of_layers()))]

    def _metrics_of_layers(self) -> list[Metric]:
        """The metrics that the model and its layers have added."""
        return [metric for metric in self._model._added_metrics() if metric._call_result is not None]

    def reset_metrics(self) -> None:
        """Sets all metrics to 0, in one run of the session."""
        variables = [variable for metric in self.reported for variable in metric.variables]
        if not variables:
            return
        known = self._reset_op
        if known is None or known[0] != [id(variable) for variable in variables]:
            with default_graph().counting_as(0):
                op = group(*(variable.assign(zeros(variable.shape.as_list(), variable.dtype.base_dtype)) for variable in variables))
            count_assignments(variables)
            known = self._reset_op = [id(variable) for variable in variables], op
        initialized_session().run(known[1])

    # --- losses ------------------------------------------------------------------------------------------------------

    @property
    def trained_endpoints(self) -> list[Endpoint]:
        """The outputs that have a loss."""
        return [endpoint for endpoint in self.endpoints if endpoint.loss is not None]

    @property
    def fed_endpoints(self) -> list[Endpoint]:
        """The outputs whose targets are fed."""
        return [endpoint for endpoint in self.endpoints if endpoint.feedable]

    def total_loss(self, weighted: Weighted) -> Any:
        """The weighted sum of all losses, those of layers included. As in TensorFlow, it is made anew when weights come or go."""
        if weighted != self._built_for:
            self._built_for = weighted
            given = dict(zip((endpoint.name for endpoint in self.trained_endpoints), weighted))
            for endpoint, metrics in zip(self.endpoints, self._weighted):
                for metric in metrics:
                    with name_scope("metrics"):
                        self._call_metric(metric, endpoint, endpoint.sample_weight if given.get(endpoint.name) else None)
            with name_scope("loss"):
                self._total_loss = self._sum_of_losses(given)
        return self._total_loss

    def _sum_of_losses(self, weighted: dict[str, bool]) -> Any:
        total = None
        for endpoint in self.trained_endpoints:
            loss = endpoint.loss_tensor(weighted[endpoint.name])
            if len(self.endpoints) > 1:
                endpoint.report_loss(loss)
            total = endpoint.loss_weight * loss if total is None else total + endpoint.loss_weight * loss
        others = self._ends.losses
        if total is None and not others:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        if not others:
            return total
        summed = add_n(others)
        return summed if total is None else total + summed

    # --- steps -------------------------------------------------------------------------------------------------------

    def step(self, mode: str, weighted: Weighted) -> ArrayStep:
        """The function of one batch: "train" or "test"."""
        key = mode, weighted
        if key not in self._steps:
            self._steps[key] = self._make_step(mode, weighted)
        return self._steps[key]

    def loop_step(self, mode: str, weighted: Weighted, shape_of: Any) -> Any:
        """The function of one batch of a loop: the same one."""
        return self.step(mode, weighted)

    def prepare_training(self) -> None:
        """Makes the step of training, and with it the variables of the optimizer."""
        self.step("train", (False,) * len(self.trained_endpoints))

    def _make_step(self, mode: str, weighted: Weighted) -> ArrayStep:
        model = self._model
        loss = self.total_loss(weighted)
        feeds = [*model._feed_inputs, *(endpoint.target for endpoint in self.fed_endpoints)]
        feeds += [endpoint.sample_weight for endpoint, given in zip(self.trained_endpoints, weighted) if given]
        updates: Sequence[Any] = model.state_updates
        fetches = [loss, *(metric._call_result for metric in self.reported)]
        if mode == "train":
            learning_phase()  # TensorFlow makes its placeholder here, if nothing has asked for it: the seeds of random ops to come count it
            with name_scope("training"):
                if multi_worker.are_several(self._strategy):
                    updates, fetches = multi_worker.in_step(self._strategy, model.optimizer, loss, self.trained, fetches)
                else:
                    updates = model._training_updates(self.trained, loss)
                updates = [*updates, *self._ends.updates]
        return ArrayStep(feeds, fetches, updates, fixed_phase(mode == "train"))


def fixed_phase(training: bool) -> dict[Any, bool]:
    """The feed of the learning phase; none if nothing in the graph asks for it."""
    return {phase: training for phase in phase_state() if isinstance(phase, Tensor) and phase.consumers()}


def _targets(target_tensors: Any, names: Sequence[str]) -> list[Any]:
    if target_tensors is None or (isinstance(target_tensors, list) and not target_tensors):
        return [None] * len(names)
    if hasattr(target_tensors, "op"):
        target_tensors = [target_tensors]
    if not isinstance(target_tensors, (list, tuple, dict)):
        raise TypeError("Expected `target_tensors` to be a list or tuple or dict or a single tensor, but got:", target_tensors)
    return per_output(target_tensors, names, "target_tensors")
