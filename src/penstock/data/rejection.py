"""``rejection_resample``: a dataset with another distribution of classes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data.dataset import Dataset
from penstock.data.interleave import Transformation
from penstock.data.transformations import scan
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import one_hot, ones_like
from penstock.ops.array.gather import gather
from penstock.ops.math.reduce import reduce_max, reduce_sum
from penstock.ops.random.random import random_uniform

_PRIOR = 10  # elements of each class that count as seen before the first one: early estimates are rough
_TINY = 1e-30


def rejection_resample(class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None) -> Transformation:
    """Pairs of a class and an element, in which the classes have the distribution ``target_dist``: elements of too frequent classes are left out.

    ``initial_dist`` is the distribution of the data; if it is not given, it is estimated from the classes seen so far.
    """
    return lambda dataset: _resample(dataset, class_func, target_dist, initial_dist, seed)


def _resample(dataset: Dataset, class_func: Callable[..., Any], target_dist: Any, initial_dist: Any, seed: int | None) -> Dataset:
    target = cast(to_tensor(target_dist, name="target_dist"), dt.float32)
    if initial_dist is not None:
        initial = cast(to_tensor(initial_dist, name="initial_dist"), dt.float32)
        distributions = Dataset.from_tensors(initial).repeat()
    else:
        distributions = dataset.map(class_func).apply(scan(ones_like(target) * _PRIOR, lambda seen, label: _count(seen, label, target)))

    def with_class(distribution: Tensor, element: Any) -> tuple[Any, ...]:
        """The class is that of the element itself: another pass over the data may see it in another order."""
        return class_func(*(element if type(dataset._structure) is tuple else (element,))), distribution, element

    def keep(label: Tensor, distribution: Tensor, *_: Any) -> Tensor:
        return random_uniform([], seed=seed) < gather(_acceptance(distribution, target), label)

    joined = Dataset.zip((distributions, dataset)).map(with_class)
    return joined.filter(keep).map(lambda label, _, element: (label, element))


def _count(seen: Tensor, label: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The number of elements per class so far, and as a distribution."""
    seen = seen + one_hot(label, target.shape[0].value, dtype=dt.float32)
    return seen, seen / reduce_sum(seen)


def _acceptance(initial: Tensor, target: Tensor) -> Tensor:
    """With which probability an element of each class stays."""
    ratio = target / (initial + _TINY)
    return ratio / reduce_max(ratio)
