"""Input functions over arrays in memory: ``numpy_input_fn`` and ``pandas_input_fn``.

Batches run over the ends of epochs; only the last one of all may be smaller. The arrays never become constants of the graph.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.data.dataset import Dataset
from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.seeds import get_seed


def numpy_input_fn(x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None, queue_capacity: int = 1000,
                   num_threads: int = 1) -> Callable[[], Any]:
    """``tf.estimator.inputs.numpy_input_fn``: features (an array, or a dict of them) and labels, in batches.

    ``num_epochs=None`` runs forever. ``queue_capacity`` and ``num_threads`` have no effect: batches are slices, which need no queue of rows.
    """
    _check_shuffle(shuffle)

    def input_fn() -> Any:
        features = _checked_features(x)
        labels = _checked_labels(y, features)
        _check_lengths(features, labels, y)
        batch = _batches({**features, **labels}, batch_size, num_epochs, bool(shuffle))
        inputs = {key: batch[key] for key in features}
        given = batch[_ARRAY] if isinstance(x, np.ndarray) else inputs
        if y is None:
            return given
        return given, {key: batch[key] for key in labels} if isinstance(y, dict) else batch[_TARGET]
    return input_fn


def pandas_input_fn(x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None, queue_capacity: int = 1000,
                    num_threads: int = 1, target_column: str = "target") -> Callable[[], Any]:
    """``tf.estimator.inputs.pandas_input_fn``: the columns of a DataFrame as features, a Series or DataFrame as labels."""
    _check_shuffle(shuffle)
    if not hasattr(x, "columns") or not hasattr(x, "index"):
        raise TypeError(f"pandas_input_fn: x must be a pandas.DataFrame, not {type(x).__name__}")
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if y is not None and not np.array_equal(x.index, y.index):
        raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n")

    def input_fn() -> Any:
        features = {str(name): np.asarray(x[name].values) for name in x.columns}
        if y is None:
            return _batches(features, batch_size, num_epochs, bool(shuffle))
        several = hasattr(y, "columns")
        labels = {f"{target_column}/{name}": np.asarray(y[name].values) for name in y.columns} if several else {_TARGET: np.asarray(y.values)}
        batch = _batches({**features, **labels}, batch_size, num_epochs, bool(shuffle))
        given = {key: batch[key] for key in features}
        return given, {str(name): batch[f"{target_column}/{name}"] for name in y.columns} if several else batch[_TARGET]
    return input_fn


_QUEUE_NODES = 17  # of TensorFlow's queue of rows, beside a placeholder per array: op seeds depend on their number
_ARRAY, _TARGET = "__direct_np_input__", "__target_key__"  # keys of what has no name


class UnknownShuffle(ValueError, TypeError):
    """It is not said whether examples are shuffled. Up to TensorFlow 1.4 it was a TypeError for frames of pandas."""


def _check_shuffle(shuffle: Any) -> None:
    if not isinstance(shuffle, bool):
        raise UnknownShuffle("shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training); got "
                             f"{shuffle}: shuffle must be explicitly set as boolean.")


def _checked_features(x: Any) -> dict[str, np.ndarray]:
    if isinstance(x, np.ndarray):
        return {_ARRAY: x}
    if not isinstance(x, dict):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if not x:
        raise ValueError("x cannot be an empty dict")
    return {key: x[key] for key in sorted(x)}


def _checked_labels(y: Any, features: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if y is None:
        return {}
    if not isinstance(y, dict):
        return {_TARGET: y}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    both = set(features) & set(y)
    if both:
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
    return {key: y[key] for key in sorted(y)}


def _check_lengths(features: dict[str, np.ndarray], labels: dict[str, np.ndarray], y: Any) -> None:
    if len({len(array) for array in (*features.values(), *labels.values())}) != 1:
        of_y = {key: array.shape for key, array in labels.items()} if isinstance(y, dict) else None if y is None else y.shape
        raise ValueError("Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
                         f"Shapes in x: { {key: array.shape for key, array in features.items()} }\nShapes in y: {of_y}\n")


def _batches(arrays: dict[str, np.ndarray], batch_size: int, epochs: int | None, shuffle: bool) -> dict[str, Any]:
    """The next batch, a tensor for each array."""
    rows = len(next(iter(arrays.values())))
    seed = get_seed(None)[0] if shuffle else None

    def generate() -> Iterator[dict[str, np.ndarray]]:
        for places in _places(rows, batch_size, epochs, np.random.RandomState(seed) if shuffle else None):
            yield {key: array[places] for key, array in arrays.items()}
    with default_graph().counting_as(len(arrays) + _QUEUE_NODES):
        return next_batch(generate, arrays, batch_size if epochs is None else None)


def next_batch(generate: Callable[[], Iterator[dict[str, np.ndarray]]], examples: dict[str, np.ndarray], size: int | None,
               any_length: bool = False) -> dict[str, Any]:
    """A tensor for each array that ``generate`` yields; types and shapes, but for the first axis (with ``any_length`` also the last one of several),
    are those of ``examples``.
    """
    types = {key: dtypes.string if array.dtype.kind in "OSU" else dtypes.as_dtype(array.dtype) for key, array in examples.items()}
    shapes = {key: [size, *array.shape[1:-1], *([None] if any_length else array.shape[-1:])] if array.ndim > 1 else [size]
              for key, array in examples.items()}
    dataset = Dataset.from_generator(generate, types, shapes)
    return dict(dataset.prefetch(2).make_one_shot_iterator().get_next())


def _places(rows: int, batch_size: int, epochs: int | None, random: Any) -> Iterator[np.ndarray]:
    """Which rows each batch has."""
    left, epoch = np.zeros(0, np.int64), 0
    while rows and (epochs is None or epoch < epochs):
        left = np.concatenate([left, np.arange(rows) if random is None else random.permutation(rows)])
        epoch += 1
        while len(left) >= batch_size:
            yield left[:batch_size]
            left = left[batch_size:]
    if len(left):
        yield left
