"""How an ensemble grows: from one batch that is all the data, or from the statistics of several batches.

``Grower`` takes what a batch says and grows a layer at once. ``AccumulatingGrower`` collects it in accumulators, which other workers share; the chief
grows a layer when every accumulator has had ``n_batches_per_layer`` batches. A batch of an older ensemble has an older stamp, and is dropped.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.trees.resources import QuantileAccumulator, TreeEnsemble
from penstock.graph import dtypes
from penstock.graph.scopes import control_dependencies
from penstock.ops.array.pack import stack, unstack
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.compare import greater_equal
from penstock.ops.math.reduce import reduce_mean, reduce_min
from penstock.ops.queues.accumulator_classes import ConditionalAccumulator
from penstock.ops.trees.ensembles import BoostedTreesCenterBias, BoostedTreesUpdateEnsemble
from penstock.ops.trees.gains import BoostedTreesCalculateBestGainsPerFeature

_PRUNING = {"none": 0, "pre": 1, "post": 2}


class TreeParams(NamedTuple):
    """How trees are grown."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    center_bias: bool
    pruning_mode: str
    quantile_sketch_epsilon: float

    @property
    def pruning(self) -> int:
        """The number of the pruning mode; ValueError if there is none, or if it contradicts the complexity."""
        if self.pruning_mode not in _PRUNING:
            raise ValueError(f"pruning_mode mode must be one of: {', '.join(sorted(_PRUNING))}")
        if self.tree_complexity > 0 and self.pruning_mode == "none":
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if self.tree_complexity <= 0 and self.pruning_mode != "none":
            raise ValueError("For pruning, tree_complexity must be positive.")
        return _PRUNING[self.pruning_mode]

    @property
    def max_splits(self) -> int:
        """The most splits that a tree can have."""
        return (1 << self.max_depth) - 1


class Grower:
    """Grows an ensemble from one batch."""

    def __init__(self, ensemble: TreeEnsemble, quantiles: QuantileAccumulator | None, params: TreeParams, groups: dict[int, list[int]]) -> None:
        self._ensemble, self._quantiles, self._params, self._groups = ensemble, quantiles, params, groups
        self._pruning = params.pruning
        self.initializer = no_op()

    def add_quantiles(self, features: list[Any], weights: Any, ready: Any) -> Any:
        """An operation that collects quantiles, and sets ``ready`` when there are boundaries."""
        assert self._quantiles is not None
        with control_dependencies([self._quantiles.add(features, weights)]):
            return self._finish_quantiles(ready)

    def _finish_quantiles(self, ready: Any) -> Any:
        assert self._quantiles is not None
        with control_dependencies([self._quantiles.flush()]):
            return ready.assign(True).op

    def center(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        """An operation that moves the bias, and clears ``needed`` when it is where it should be."""
        return self._center(needed, expand_dims(reduce_mean(gradients, 0), 0), expand_dims(reduce_mean(hessians, 0), 0))

    def _center(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        return needed.assign(BoostedTreesCenterBias(self._ensemble.handle, gradients, hessians, self._params.l1, self._params.l2)).op

    def grow(self, summaries: list[list[Any]], nodes: Any) -> Any:
        """An operation that adds a layer, given the statistics of the features of each group."""
        params, splits = self._params, [list[Any]() for _ in range(5)]
        for summary in summaries:
            best = BoostedTreesCalculateBestGainsPerFeature(nodes, summary, params.l1, params.l2, params.tree_complexity, params.min_node_weight,
                                                            max_splits=params.max_splits)
            for part, columns in zip(splits, best, strict=True):
                part.extend(columns)
        ids = [feature for features in self._groups.values() for feature in features]
        return BoostedTreesUpdateEnsemble(self._ensemble.handle, ids, *splits, params.max_depth, params.learning_rate, pruning_mode=self._pruning)


class AccumulatingGrower(Grower):
    """Grows an ensemble from the means over several batches."""

    def __init__(self, ensemble: TreeEnsemble, quantiles: QuantileAccumulator | None, params: TreeParams, groups: dict[int, list[int]], stamp: Any,
                 n_batches: Any, is_chief: bool) -> None:
        super().__init__(ensemble, quantiles, params, groups)
        self._stamp, self._n_batches, self._is_chief = stamp, n_batches, is_chief
        self._growing = [ConditionalAccumulator(dtypes.float32, [len(features), params.max_splits, buckets, 2],
                                                shared_name=f"numeric_stats_summary_accumulator_{index}")
                         for index, (buckets, features) in enumerate(groups.items())]
        self._bias = ConditionalAccumulator(dtypes.float32, [2, 1], shared_name="bias_accumulator") if params.center_bias else None
        self.initializer = group(*[each.set_global_step(stamp) for each in [*self._growing, self._bias] if each is not None])

    def _collect(self, accumulators: list[Any], values: list[Any], then: Callable[[], Any], name: str) -> Any:
        """Adds a value to each accumulator; the chief does what follows when all have enough."""
        with control_dependencies([each.apply_grad(value, self._stamp) for each, value in zip(accumulators, values, strict=True)]):
            if not self._is_chief:
                return no_op()
            least = reduce_min(stack([each.num_accumulated() for each in accumulators]))
            return cond(greater_equal(least, self._n_batches), then, no_op, name=name)

    def add_quantiles(self, features: list[Any], weights: Any, ready: Any) -> Any:
        """An operation that collects quantiles; the chief makes boundaries of enough batches."""
        assert self._quantiles is not None
        batches = ConditionalAccumulator(dtypes.float32, [], shared_name="quantile_summary_accum")
        with control_dependencies([self._quantiles.add(features, weights), batches.set_global_step(self._stamp)]):
            return self._collect([batches], [constant(0.0)], lambda: group(batches.take_grad(1), self._finish_quantiles(ready)),
                                 "wait_until_quaniles_accumulated")

    def center(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        """An operation that collects means; the chief moves the bias by those of enough batches."""
        bias = self._bias

        def move() -> Any:
            assert bias is not None
            means = unstack(bias.take_grad(1), axis=0)
            with control_dependencies([self._center(needed, expand_dims(means[0], 0), expand_dims(means[1], 0))]):
                return group(*[each.set_global_step(self._stamp + 1) for each in self._growing])
        return self._collect([bias], [reduce_mean(stack([gradients, hessians], axis=0), axis=1)], move, "wait_until_n_batches_for_bias_accumulated")

    def grow(self, summaries: list[list[Any]], nodes: Any) -> Any:
        """An operation that collects statistics; the chief adds a layer by those of enough batches."""
        def grow() -> Any:
            return Grower.grow(self, [unstack(each.take_grad(1), axis=0) for each in self._growing], nodes)
        return self._collect(self._growing, [stack(summary, axis=0) for summary in summaries], grow, "wait_until_n_batches_accumulated")
