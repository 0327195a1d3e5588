"""``rejection_resample``: a dataset with another distribution of classes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data.dataset import Dataset
from penstock.data.interleave import Transformation, sample_from_datasets
from penstock.data.transformations import scan, unbatch
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill, one_hot
from penstock.ops.array.gather import gather
from penstock.ops.array.permute import tile
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.math.reduce import reduce_max, reduce_min, reduce_sum
from penstock.ops.random.random import random_uniform

_PRIOR = 10   # elements of each class that count as seen before the first one: early estimates are rough
_BATCH = 32   # elements after which the estimate is renewed
_TINY = np.finfo(np.float32).tiny


def rejection_resample(class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None) -> Transformation:
    """Pairs of a class and an element, in which the classes have the distribution ``target_dist``: elements of too frequent classes are left out.

    ``initial_dist`` is the distribution of the data; if it is not given, it is estimated from the classes seen so far. As many elements as possible
    come from the data as it is, and only the others from what is left of it.
    """
    return lambda dataset: _resample(dataset, class_func, target_dist, initial_dist, seed)


def _resample(dataset: Dataset, class_func: Callable[..., Any], target_dist: Any, initial_dist: Any, seed: int | None) -> Dataset:
    target = cast(to_tensor(target_dist, name="target_dist"), dt.float32)

    def labelled(*element: Any) -> tuple[Any, Any]:
        """The class is that of the element itself: another pass over the data may see it in another order."""
        return class_func(*element), element if type(dataset._structure) is tuple else element[0]

    pairs = dataset.map(labelled)
    share = None
    if initial_dist is not None:
        initial = cast(to_tensor(initial_dist, name="initial_dist"), dt.float32)
        share = _known_share(initial, target)
        chances = Dataset.from_tensors(_chances(initial, target)).repeat()
    else:
        chances = _estimates(dataset.map(class_func), target).map(lambda initial: _chances(initial, target))
    if share == 1:
        return pairs

    def keep(chance: tuple[Tensor, Tensor], pair: tuple[Tensor, Any]) -> Tensor:
        return random_uniform([], seed=seed) < gather(chance[0], pair[0])

    filtered = Dataset.zip((chances, pairs)).filter(keep).map(lambda _, pair: pair)
    if share == 0:
        return filtered
    weights = chances.map(lambda _, original: [(original, 1.0 - original)])
    return sample_from_datasets([pairs, filtered], weights, seed)


def _known_share(initial: Tensor, target: Tensor) -> float | None:
    """Which part of the elements is taken as it comes, if both distributions are known already."""
    before, after = constant_value(initial), constant_value(target)
    if before is None or after is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # a class that the data does not have
        return float(np.min(after / before))


def _estimates(classes: Dataset, target: Tensor) -> Dataset:
    """For each element the distribution of the classes so far, renewed with every batch."""
    def count(seen: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        seen = seen + reduce_sum(one_hot(labels, target.shape.extent(0), dtype=dt.int64), 0)
        return seen, tile(expand_dims(cast(seen / reduce_sum(seen), dt.float32), 0), [_BATCH, 1])

    before = fill([target.shape.extent(0)], np.int64(_PRIOR))
    return classes.batch(_BATCH).apply(scan(before, count)).apply(unbatch())


def _chances(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """With which probability an element of each class stays, and with which one an element is taken as it comes."""
    ratio = target / (initial + _TINY)
    least = reduce_min(ratio)
    return (ratio - least) / (reduce_max(ratio) - least), least
