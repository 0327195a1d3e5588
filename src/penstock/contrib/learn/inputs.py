"""Arrays, data frames and iterators as inputs of estimators, and what estimators remember of their inputs."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.contrib.learn.io.pandas_io import extract_pandas_data, extract_pandas_labels
from penstock.contrib.learn.tensor_signature import TensorSignature, create_signatures
from penstock.estimator.array_inputs import next_batch
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor

InputFn = Callable[[], Any]
_SHUFFLE_SEED = 42  # TensorFlow's: arrays are always shuffled in the same way
_X, _Y = "x", "y"


def check_inputs(x: Any, y: Any, input_fn: Any, feed_fn: Any, batch_size: Any) -> None:
    """ValueError unless there are either arrays or an input function."""
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        if batch_size is not None:
            raise ValueError("Can not provide both input_fn and batch_size.")
        return
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    if any(isinstance(each, (Tensor, SparseTensor)) for each in (x, y)):
        raise ValueError("Inputs cannot be tensors. Please provide input_fn.")
    if feed_fn is not None:
        raise ValueError("Can not provide both feed_fn and x or y.")


def array_input_fn(x: Any, y: Any, batch_size: int | None, shuffle: bool, epochs: int | None) -> InputFn:
    """An input function for arrays, or dicts of arrays, or iterators of examples; without a size, all of an array is one batch.

    Each epoch ends with a smaller batch, if need be. Features have at least two axes, labels none of extent 1 behind the first.
    """
    if batch_size is not None and batch_size <= 0:
        raise ValueError(f"Invalid batch_size {batch_size}.")
    if hasattr(x, "__next__"):
        if y is not None and not hasattr(y, "__next__"):
            raise ValueError("Both x and y should be iterators for streaming learning to work.")
        return _streaming_input_fn(x, y, batch_size or 1)
    features = {key: _feature(value) for key, value in _by_name(_X, extract_pandas_data(x)).items()}
    labels = {key: _label(value) for key, value in _by_name(_Y, extract_pandas_labels(y)).items()}
    rows = len(next(iter(features.values())))
    for key, array in {**features, **labels}.items():
        if len(array) != rows:
            raise ValueError(f"Features and labels must have the same length; {key} has {len(array)} rows, others have {rows}.")

    def generate() -> Iterator[dict[str, np.ndarray]]:
        for places in _places(rows, batch_size or rows, shuffle, epochs):
            yield {key: array[places] for key, array in {**features, **labels}.items()}
    return lambda: _split_batch(_fed_batch(generate, {**features, **labels}), x, y)


def _fed_batch(generate: Callable[[], Iterator[dict[str, np.ndarray]]], examples: dict[str, np.ndarray]) -> dict[str, Any]:
    """A tensor for each array. TensorFlow has placeholders, which it feeds: op seeds depend on their number."""
    with default_graph().counting_as(len(examples)):
        return next_batch(generate, examples, None)


def _places(rows: int, size: int, shuffle: bool, epochs: int | None) -> Iterator[np.ndarray]:
    """Which rows each batch has."""
    random = np.random.RandomState(_SHUFFLE_SEED)
    for _ in itertools.count() if epochs is None else range(epochs):
        order = random.permutation(rows) if shuffle else np.arange(rows)
        yield from (order[start:start + size] for start in range(0, rows, size))


def _by_name(name: str, arrays: Any) -> dict[str, Any]:
    """{name: array}: the keys of a dict, with a prefix that keeps features and labels apart."""
    if arrays is None:
        return {}
    return {f"{name}/{key}": value for key, value in arrays.items()} if isinstance(arrays, dict) else {name: arrays}


def _split_batch(batch: dict[str, Any], x: Any, y: Any) -> tuple[Any, Any]:
    """(features, labels) as the user has named them."""
    return _as_given(batch, _X, x), _as_given(batch, _Y, y)


def _as_given(batch: dict[str, Any], name: str, given: Any) -> Any:
    return {key: batch[f"{name}/{key}"] for key in given} if isinstance(given, dict) else batch.get(name)


def _feature(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array[:, None] if array.ndim == 1 else array


def _label(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array[:, 0] if array.ndim > 1 and array.shape[1] == 1 else array


def _streaming_input_fn(x: Iterator[Any], y: Iterator[Any] | None, batch_size: int) -> InputFn:
    first_x, first_y = next(x), None if y is None else next(y)
    rows = zip(itertools.chain([first_x], x), itertools.repeat(None) if y is None else itertools.chain([first_y], y))

    def batch(pairs: list[tuple[Any, Any]]) -> dict[str, np.ndarray]:
        features = {key: _feature([_by_name(_X, each)[key] for each, _ in pairs]) for key in _by_name(_X, first_x)}
        labels = {key: _label([_by_name(_Y, each)[key] for _, each in pairs]) for key in _by_name(_Y, first_y)}
        return {**features, **labels}

    def generate() -> Iterator[dict[str, np.ndarray]]:
        while pairs := list(itertools.islice(rows, batch_size)):
            yield batch(pairs)
    return lambda: _split_batch(_fed_batch(generate, batch([(first_x, first_y)])), first_x, first_y)


# --- what estimators remember ----------------------------------------------------------------------------------------

def check_signatures(what: str, tensors: Any, required: Any) -> None:
    """ValueError if inputs are others than before."""
    given = create_signatures(tensors)
    if isinstance(required, dict):
        wrong = [key for key in required if not isinstance(given, dict) or key not in given or not required[key].is_compatible_with(given[key])]
    else:
        wrong = [] if isinstance(given, TensorSignature) and required.is_compatible_with(given) else [what.lower()]
    if wrong:
        raise ValueError(f"{what} are incompatible with given information: {', '.join(map(str, wrong))}. Given {what.lower()}: {tensors}, required "
                         f"signatures: {required}.")
