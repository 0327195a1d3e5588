"""``replicate_model_fn`` and ``TowerOptimizer``: a model function on several devices, each with a part of the batch.

The model of the first device, its *tower*, makes the variables, which the others share. Each tower's optimizer collects gradients; that of the last
one applies their sum. Strategies (``train/strategies.py``) are what came after it.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.estimator.export_outputs import ClassificationOutput, PredictOutput, RegressionOutput
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.device import DeviceSpec
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import control_dependencies, device, get_collection, get_default_graph, name_scope
from penstock.layers.losses import Reduction
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import concat, split, stack
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.add_n import add_n
from penstock.ops.math.division import div
from penstock.ops.sparse.sparse_functions import sparse_split
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.train.optimizer import DirectSubclass, Optimizer
from penstock.variables.scope import variable_scope

_HOST = "/CPU:0"
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
ModelFn = Callable[..., EstimatorSpec]


class _Towers:
    """The towers of a graph: which is built, and what their optimizers have collected."""

    def __init__(self) -> None:
        self.count, self.index, self.reduction = 1, 0, Reduction.SUM
        self.first_scopes: tuple[Any, Any] = (None, None)
        self.optimizer_used = False
        self._collected: dict[int, list[list[tuple[Any, Any]]]] = {}

    @contextmanager
    def tower(self, index: int, var_scope: Any, scope: Any) -> Iterator[None]:
        """While tower ``index`` is built."""
        self.index = index
        if not index:
            self.first_scopes = var_scope, scope
        yield

    @property
    def is_last(self) -> bool:
        """True in the last tower."""
        return self.index == self.count - 1

    def collect(self, grads_and_vars: list[tuple[Any, Any]]) -> None:
        """Takes the gradients of the next optimizer of this tower."""
        self._collected.setdefault(self.index, []).append(grads_and_vars)

    def latest(self) -> dict[Any, list[Any]]:
        """{variable: gradients of all towers} of the optimizer that was called last."""
        number = len(self._collected[self.index]) - 1
        gradients: dict[Any, list[Any]] = {}
        for tower in range(self.index + 1):
            for gradient, variable in self._collected[tower][number]:
                if gradient is not None:
                    gradients.setdefault(variable, []).append(gradient)
        return gradients

    @property
    def are_alike(self) -> bool:
        """True if all towers have called as many optimizers."""
        return sum(map(len, self._collected.values())) % self.count == 0

    def scaled(self, loss: Any) -> Any:
        """The share of a tower in the loss."""
        if loss is None or self.count == 1 or self.reduction == Reduction.SUM:
            return loss
        return div(loss, 1.0 * self.count, name="averaged_loss")


def _towers() -> _Towers:
    """Those of a graph whose towers are being built."""
    return next(iter(get_collection(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES)), None) or _Towers()


class TowerOptimizer(Optimizer, metaclass=DirectSubclass):
    """``tf.contrib.estimator.TowerOptimizer``: gathers gradients of all towers, which the last one applies. Without towers, the optimizer itself."""

    COLLECTION_FOR_GRAPH_STATES = "replicate_model_fn_graph_states"  # of graphs, while their towers are built

    def __init__(self, optimizer_or_optimizer_fn: Any) -> None:
        super().__init__(False, "TowerOptimizer")
        self._given = optimizer_or_optimizer_fn

    @staticmethod
    def has_been_used() -> bool:
        """True if a tower of this graph has used one."""
        return _towers().optimizer_used

    def _optimizer(self) -> Any:
        if not isinstance(self._given, Optimizer) and callable(self._given):
            self._given = self._given()
        _towers().optimizer_used = True
        return self._given

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the wrapped optimizer."""
        return self._optimizer().get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return self._optimizer().get_slot_names(*args, **kwargs)

    def get_name(self, *args: Any, **kwargs: Any) -> str:
        """The name of the wrapped optimizer."""
        return self._optimizer().get_name(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The variables of the wrapped optimizer."""
        return self._optimizer().variables(*args, **kwargs)

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """The gradients of this tower's share in the loss."""
        return self._optimizer().compute_gradients(_towers().scaled(loss), *args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Collects them; in the last tower, applies the sums of all."""
        towers, optimizer, pairs = _towers(), self._optimizer(), list(grads_and_vars)
        if towers.count == 1:
            return optimizer.apply_gradients(pairs, global_step, name)
        towers.collect(pairs)
        if not towers.is_last:
            waits = [gradient.values if isinstance(gradient, IndexedSlices) else gradient for gradient, _ in pairs if gradient is not None]
            with control_dependencies(waits):
                return no_op(name="train_op_placeholder")
        var_scope, scope = towers.first_scopes
        with variable_scope(var_scope), name_scope(scope):
            with name_scope("gradient_aggregating"):
                sums = [(_sum(gradients, variable.device), variable) for variable, gradients in towers.latest().items()]
            return optimizer.apply_gradients(sums, global_step, name)


def replicate_model_fn(model_fn: ModelFn, loss_reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, devices: list[str] | None = None) -> ModelFn:
    """``tf.contrib.estimator.replicate_model_fn``: a model function that splits its batches over ``devices``; by default the first CPU alone."""
    if loss_reduction == Reduction.NONE:
        raise ValueError(f"Tower losses need to be reduced in some way, yet {loss_reduction} reduction is specified.")
    devices = devices or [_HOST]
    home = devices[0] if len(devices) == 1 and "GPU" in devices[0].upper() else _HOST
    logging.info(f"Replicating the `model_fn` across {devices}.  Variables are going to be placed on {[home]}.  "
                 f"Consolidation device is going to be {home}.")

    def replicated(features: Any, labels: Any, mode: str, params: Any = None, config: Any = None) -> EstimatorSpec:
        parts = ([features], [labels]) if len(devices) == 1 else _split_batch(features, labels, len(devices), home)
        specs = _build_towers(model_fn, mode, *parts, params, config, devices, home, loss_reduction)
        if len(devices) == 1:
            return specs[0]
        if mode == ModeKeys.PREDICT:
            return _predict_spec(specs, home)
        loss = _sum([spec.loss for spec in specs], home, "loss")
        return specs[-1]._replace(loss=loss) if mode == ModeKeys.TRAIN else specs[0]._replace(loss=loss, eval_metric_ops=_joined_metrics(specs))
    return replicated


def _build_towers(model_fn: ModelFn, mode: str, features: list[Any], labels: list[Any] | None, params: Any, config: Any, devices: list[str],
                  home: str, reduction: str) -> list[EstimatorSpec]:
    options = {name: copy.deepcopy(value) for name, value in (("params", params), ("config", config)) if name in fn_args(model_fn)}
    graph, towers, specs = get_default_graph(), _Towers(), []
    towers.count, towers.reduction = len(devices), reduction
    graph.add_to_collection(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES, towers)
    try:
        for index, place in enumerate(devices):
            with (variable_scope("", reuse=bool(index)) as var_scope, name_scope(f"tower_{index}" if index else "") as scope,
                  towers.tower(index, var_scope, scope), device(_chooser(place, home))):
                spec = model_fn(mode=mode, features=features[index], labels=labels[index] if labels else None, **options)
                if spec.train_op is not None and len(devices) > 1 and not towers.optimizer_used:
                    raise ValueError("Please wrap optimizers with TowerOptimizer in order to use replicate_model_fn with multiple `devices`.")
                specs.append(spec if spec.loss is None else spec._replace(loss=towers.scaled(spec.loss)))
    finally:
        graph.clear_collection(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES)
    if not towers.are_alike:
        raise ValueError("Each invocation of model_fn was supposed to make the same optimizer calls.")
    return specs


def _chooser(place: str, home: str) -> Callable[[Any], str]:
    """Variables live on one device, all other operations of a tower on its own."""
    def choose(op: Any) -> str:
        wanted = DeviceSpec.from_string(home if op.type in _VARIABLES else place)
        wanted.merge_from(DeviceSpec.from_string(op.device or ""))
        return wanted.to_string()
    return choose


def _split_batch(features: Any, labels: Any, count: int, place: str) -> tuple[list[Any], list[Any] | None]:
    with name_scope("split_inputs"), device(place):
        return _shards(features, count), None if labels is None else _shards(labels, count)


def _shards(values: Any, count: int) -> list[Any]:
    if isinstance(values, dict):
        parts = {name: _shards(value, count) for name, value in values.items()}
        return [{name: shards[index] for name, shards in parts.items()} for index in range(count)]
    if isinstance(values, SparseTensor):
        return sparse_split(sp_input=values, num_split=count, axis=0)
    size = to_tensor(values).shape.extent(0)
    if size is None:
        raise ValueError(f"The size of the batch must be known to split {to_tensor(values).name} over {count} devices: "
                         "use batch(..., drop_remainder=True).")
    if size % count:
        raise ValueError(f"Batch size {size} needs to be divisible by the number of GPUs, which is {count}.")
    return split(values, count)


def _sum(values: list[Any], place: str, name: str | None = None) -> Any:
    with device(place):
        if isinstance(values[0], IndexedSlices):
            return IndexedSlices(concat([value.values for value in values], axis=0), concat([value.indices for value in values], axis=0),
                                 values[0].dense_shape)
        return add_n(values, name=name)


def _joined_metrics(specs: list[EstimatorSpec]) -> dict[str, Any]:
    """The metrics of the first tower, to which the updates of the others are added."""
    updates = [update for spec in specs for _, update in spec.eval_metric_ops.values()]
    with control_dependencies(updates):
        joined = _gather_metric_variables(len(specs))
    return {name: (value, joined) for name, (value, _) in specs[0].eval_metric_ops.items()}


def _gather_metric_variables(count: int) -> Any:
    variables = get_collection(GraphKeys.METRIC_VARIABLES)
    each = len(variables) // count
    if len(variables) % count:
        raise ValueError(f"Different `EstimatorSpec.eval_metric_ops` across `model_fn()` calls. Expected {each * count} local variables, "
                         f"but got {len(variables)} instead.")
    cleared = []
    for index in range(each):
        others = variables[index + each::each]
        with control_dependencies([variables[index].assign_add(add_n([other.value() for other in others])).op]):
            cleared += [other.assign(zeros_like(other)).op for other in others]
    return group(*cleared)


def _predict_spec(specs: list[EstimatorSpec], place: str) -> EstimatorSpec:
    with device(place):
        outputs = {name: _joined_output([spec.export_outputs[name] for spec in specs]) for name in specs[0].export_outputs or ()}
        return specs[0]._replace(predictions=_join([spec.predictions for spec in specs]), export_outputs=outputs)


def _join(predictions: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: concat([each[name] for each in predictions], axis=0, name=name) for name in predictions[0]}


def _joined_output(outputs: list[Any]) -> Any:
    first = outputs[0]
    if isinstance(first, PredictOutput):
        return PredictOutput(_join([output.outputs for output in outputs]))
    if isinstance(first, RegressionOutput):
        return RegressionOutput(concat([output.value for output in outputs], axis=0))
    scores = None if first.scores is None else concat([output.scores for output in outputs], axis=0)
    return ClassificationOutput(scores, None if first.classes is None else stack([output.classes for output in outputs], axis=0))
