"""The model function of boosted trees.

A step predicts a batch with the trees that there are, and grows them by the gradients and hessians of its loss. Before the first tree, float
features need boundaries, and the bias is centered if that is asked for; steps do that until it is done. ``global_step`` does not count the steps that
collect quantiles.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.estimator.columns.numeric import numeric_column
from penstock.estimator.heads.base import Head
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.trees import buckets
from penstock.estimator.trees.growing import AccumulatingGrower, Grower, TreeParams
from penstock.estimator.trees.resources import QuantileAccumulator, TreeEnsemble
from penstock.gradients import gradients as differentiate
from penstock.graph import dtypes
from penstock.graph.scopes import control_dependencies, device, name_scope
from penstock.ops.array.fill import ones, zeros
from penstock.ops.array.shape_ops import shape, squeeze
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import group, no_op
from penstock.ops.trees.ensembles import BoostedTreesExampleDebugOutputs, BoostedTreesPredict, BoostedTreesTrainingPredict
from penstock.ops.trees.gains import BoostedTreesMakeStatsSummary
from penstock.summary import summary
from penstock.train.global_step import get_or_create_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook
from penstock.variables.assign import assign_add
from penstock.variables.variable import Variable

DEBUG_KEY = "_serialized_debug_outputs_proto"
ClosedForm = Callable[[Any, Any], tuple[Any, Any]]


class _Inputs:
    """The ensemble of a graph, and the features that it sees."""

    def __init__(self, features: Any, columns: Sequence[Any], epsilon: float, scope: str) -> None:
        self._features = features
        self.columns = sorted(columns, key=lambda column: column.name)
        self.float_columns = [column for column in self.columns if buckets.is_float(column)]
        self.ensemble = TreeEnsemble(scope)
        self.quantiles = QuantileAccumulator(epsilon, sum(map(buckets.width, self.float_columns)),
                                             "QuantileAccumulator") if self.float_columns else None
        self.features = buckets.features_of(features, self.columns, self.quantiles.boundaries if self.quantiles else None)

    def numbers(self) -> list[Any]:
        """The float features."""
        return buckets.features_of(self._features, self.float_columns)

    def logits(self, dimension: int) -> Any:
        """What the ensemble predicts."""
        return BoostedTreesPredict(self.ensemble.handle, self.features, logits_dimension=dimension)


def tree_model_fn(head: Head, columns: Sequence[Any], params: TreeParams, n_batches_per_layer: Any, closed_form: ClosedForm | None = None,
                  weight_column: Any = None, in_memory: bool = False) -> Any:
    """The model function. ``closed_form(logits, labels)`` gives gradients and hessians where they have one."""
    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        with name_scope("boosted_trees") as scope:
            step = get_or_create_global_step()
            inputs = _Inputs(features, columns, params.quantile_sketch_epsilon, scope)
            if mode != ModeKeys.TRAIN:
                return head.create_estimator_spec(features, mode, inputs.logits(head.logits_dimension), labels, train_op_fn=lambda loss: no_op())
            if in_memory:
                _check_in_memory(n_batches_per_layer, config)
            training = _Training(inputs, head, params, n_batches_per_layer, in_memory, config, scope, shape(labels)[0])
            weights = constant(1.0, shape=[1]) if weight_column is None else _weights(features, weight_column)

            def train_op_fn(loss: Any) -> Any:
                derivatives = closed_form(training.logits, labels) if closed_form else _derivatives(loss, training.logits)
                return training.train_op(*derivatives, weights, step)
        spec = head.create_estimator_spec(features, mode, training.logits, labels, train_op_fn=train_op_fn)
        return spec._replace(training_hooks=(*spec.training_hooks, _StopHook(training.finished_trees, training.tried_layers, params)),
                             training_chief_hooks=(_InitializeHook(training.grower.initializer), *spec.training_chief_hooks))
    return model_fn


def explaining_model_fn(head: Head, columns: Sequence[Any], epsilon: float) -> Any:
    """A model function for predictions with the way of each example through the trees."""
    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        with name_scope("boosted_trees") as scope:
            inputs = _Inputs(features, columns, epsilon, scope)
            spec = head.create_estimator_spec(features, mode, inputs.logits(head.logits_dimension), train_op_fn=lambda loss: no_op())
            spec.predictions[DEBUG_KEY] = BoostedTreesExampleDebugOutputs(inputs.ensemble.handle, inputs.features,
                                                                         logits_dimension=head.logits_dimension)
            return spec
    return model_fn


class _Training:
    """The part of the graph that trains."""

    def __init__(self, inputs: _Inputs, head: Head, params: TreeParams, n_batches: Any, in_memory: bool, config: Any, scope: str, batch: Any) -> None:
        self._inputs, self._params = inputs, params
        self._groups = buckets.by_number_of_buckets(inputs.columns, int(1 / params.quantile_sketch_epsilon))
        self._boundaries_ready = _state(not inputs.float_columns, "are_boundaries_ready")
        self._cache = _Cache(batch, head.logits_dimension) if in_memory else None
        places = self._cache.places if self._cache else (zeros([batch], dtypes.int32), -ones([batch], dtypes.int32),
                                                         zeros([batch, head.logits_dimension]))
        local, reload = self._local_ensemble(config, scope)
        with control_dependencies([reload]):
            stamp, num_trees, self.finished_trees, self.tried_layers, self._last_layer = local.states()
            partial, self._tree_ids, self._node_ids = BoostedTreesTrainingPredict(
                local.handle, places[0], places[1], inputs.features, logits_dimension=head.logits_dimension)
        self.logits = places[2] + partial
        self.logits.set_shape(partial.shape)
        if in_memory:
            self.grower = Grower(inputs.ensemble, inputs.quantiles, params, self._groups)
        else:
            self.grower = AccumulatingGrower(inputs.ensemble, inputs.quantiles, params, self._groups, stamp, n_batches, config.is_chief)
        for tag, value in (("num_trees", num_trees), ("num_finalized_trees", self.finished_trees), ("num_attempted_layers", self.tried_layers)):
            summary.scalar(f"ensemble/{tag}", value)
        self._centering = _state(params.center_bias, "center_bias_needed")

    def _local_ensemble(self, config: Any, scope: str) -> tuple[TreeEnsemble, Any]:
        """The ensemble that this worker predicts with: a copy, if there are several; and the operation that brings it up to date."""
        if config.num_worker_replicas <= 1:
            return self._inputs.ensemble, no_op()
        with device(no_op().device):
            local = TreeEnsemble(f"{scope}_local", is_local=True)
        return local, local.restore(self._inputs.ensemble.serialize())

    def train_op(self, gradients: Any, hessians: Any, weights: Any, step: Any) -> Any:
        """The operation of a step."""
        if not self._inputs.float_columns:
            return self._grow(gradients, hessians, step)

        def add_quantiles() -> Any:
            with name_scope("UpdateQuantile"):
                return self.grower.add_quantiles(self._inputs.numbers(), weights, self._boundaries_ready)
        return cond(self._boundaries_ready, lambda: self._grow(gradients, hessians, step), add_quantiles)

    def _grow(self, gradients: Any, hessians: Any, step: Any) -> Any:
        ops = []
        if self._cache:
            insert = self._cache.insert(self._tree_ids, self._node_ids, self.logits)
            ops.append(cond(self._centering, no_op, insert))
        summaries = [[squeeze(BoostedTreesMakeStatsSummary(self._node_ids, gradients, hessians, [self._inputs.features[feature]],
                                                           max_splits=self._params.max_splits, num_buckets=number), axis=[0])
                      for feature in features] for number, features in self._groups.items()]

        def grow() -> Any:
            return self.grower.grow(summaries, self._last_layer)
        update = cond(self._centering, lambda: self.grower.center(self._centering, gradients, hessians),
                      grow) if self._params.center_bias else grow()
        with control_dependencies([update]):
            return group(*ops, update, assign_add(step, 1).op, name="grow_op")


class _Cache:
    """Where the examples of the one batch stand in the trees, and their logits there."""

    def __init__(self, batch: Any, dimension: int) -> None:
        self.places = (_state(zeros([batch], dtypes.int32), "tree_ids_cache"), _state(-ones([batch], dtypes.int32), "node_ids_cache"),
                       _state(zeros([batch, dimension]), "logits_cache"))

    def insert(self, *values: Any) -> Callable[[], Any]:
        """A function that makes the operation that stores new ones."""
        return lambda: group(*[place.assign(value).op for place, value in zip(self.places, values, strict=True)], name="cache_insert")


def _state(initial_value: Any, name: str) -> Variable:
    return Variable(initial_value, trainable=False, validate_shape=False, name=name, use_resource=True)


def _derivatives(loss: Any, logits: Any) -> tuple[Any, Any]:
    first = differentiate(loss, logits, name="Gradients")[0]
    return first, differentiate(first, logits, name="Hessians")[0]


def _weights(features: Any, column: Any) -> Any:
    return buckets.features_of(features, [numeric_column(column, shape=(1,)) if isinstance(column, str) else column])[0]


def _check_in_memory(n_batches_per_layer: Any, config: Any) -> None:
    if n_batches_per_layer != 1:
        raise AssertionError("When train_in_memory is enabled, input_fn should return the entire dataset as a single batch, and n_batches_per_layer "
                             "should be set as 1.")
    if not config.is_chief or config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError("train_in_memory is supported only for non-distributed training.")


class _InitializeHook(SessionRunHook):
    """Sets the time steps of accumulators to the stamp of the ensemble, which may come from a checkpoint."""

    def __init__(self, op: Any) -> None:
        self._op = op

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs the operation."""
        session.run(self._op)


class _StopHook(SessionRunHook):
    """Stops when there are enough trees, or when too many layers were tried in vain."""

    def __init__(self, finished: Any, tried: Any, params: TreeParams) -> None:
        self._tensors, self._trees, self._layers = [finished, tried], params.n_trees, 2 * params.n_trees * params.max_depth

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for both numbers."""
        return SessionRunArgs(self._tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Compares them. Near the end they are read again: a step sees the ensemble as it was before."""
        finished, tried = run_values.results
        if finished >= self._trees - 1 or tried > self._layers - 1:
            finished, tried = run_context.session.run(self._tensors)
        if finished >= self._trees or tried > self._layers:
            run_context.request_stop()
