"""Transformations that put elements together by what they have in common: group_by_window, bucket_by_sequence_length."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data import element_nest
from penstock.data.dataset import Dataset, dataset_structure, trace_with_state
from penstock.data.interleave import Transformation
from penstock.data.structure import DatasetSpec, TensorSpec
from penstock.data.traced_function import ElementFunction
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import stack
from penstock.ops.constant import constant, identity
from penstock.ops.data.dataset_group import GroupByReducerDataset, GroupByWindowDataset
from penstock.ops.flow.checks import assert_less
from penstock.ops.math.reduce import reduce_sum

_USER = "tf.data.experimental.group_by_window()"
_KEY = TensorSpec(dt.int64, TensorShape(()))


def group_by_window(key_func: Callable[..., Any], reduce_func: Callable[[Any, Dataset], Dataset], window_size: Any = None,
                    window_size_func: Callable[[Any], Any] | None = None) -> Transformation:
    """What ``reduce_func(key, dataset)`` makes of each ``window_size`` elements that have the same key."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")

    def size_of(key: Any) -> Any:
        return cast(to_tensor(window_size if window_size_func is None else window_size_func(key)), dt.int64)

    def transform(dataset: Dataset) -> Dataset:
        key = ElementFunction(lambda *element: cast(to_tensor(key_func(*element)), dt.int64), _USER, dataset._structure)
        key.expect_scalar(dt.int64, "`key_func`")
        reduce = ElementFunction(reduce_func, _USER, _KEY, DatasetSpec(dataset._structure, Dataset._of))
        size = ElementFunction(size_of, _USER, _KEY)
        with key.after_control_captures(), reduce.after_control_captures(), size.after_control_captures():
            return dataset._derive(GroupByWindowDataset, key.captures, reduce.captures, size.captures, key_func=key.graph, reduce_func=reduce.graph,
                                   window_size_func=size.graph, specs=dataset_structure(reduce, "group_by_window"))
    return transform


class Reducer:
    """How ``group_by_reducer`` makes one element of many: ``init_func(key)``, ``reduce_func(state, element)``, ``finalize_func(state)``."""

    def __init__(self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]) -> None:
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element for each key, in the order of the keys: what the reducer makes of all elements that have it."""
    user = "tf.data.experimental.group_by_reducer()"

    def transform(dataset: Dataset) -> Dataset:
        key = ElementFunction(key_func, user, dataset._structure)
        key.expect_scalar(dt.int64, "`key_func`")
        begin = ElementFunction(reducer.init_func, user, _KEY)
        reduce = trace_with_state(reducer.reduce_func, user, begin.output, dataset._structure, lambda result: result)
        finish = ElementFunction(reducer.finalize_func, user, reduce.state)
        with key.after_control_captures(), begin.after_control_captures(), reduce.after_control_captures(), finish.after_control_captures():
            return dataset._derive(GroupByReducerDataset, key.captures, begin.captures, reduce.captures, finish.captures, specs=finish.output,
                                   key_func=key.graph, init_func=begin.graph, reduce_func=reduce.graph, finalize_func=finish.graph)
    return transform


def bucket_by_sequence_length(element_length_func: Callable[..., Any], bucket_boundaries: Any, bucket_batch_sizes: Any, padded_shapes: Any = None,
                              padding_values: Any = None, pad_to_bucket_boundary: bool = False, no_padding: bool = False,
                              drop_remainder: bool = False) -> Transformation:
    """Padded batches of elements of similar length: bucket i holds those shorter than boundary i, and no shorter than the one before."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    boundaries, sizes = np.array(bucket_boundaries, np.int64), np.array(bucket_batch_sizes, np.int64)

    def bucket_of(*element: Any) -> Tensor:
        length = cast(to_tensor(element_length_func(*element)), dt.int64)
        return reduce_sum(cast(constant(boundaries) <= length, dt.int64))

    def size_of(bucket: Tensor) -> Tensor:
        return constant(sizes)[bucket]

    def batches(bucket: Tensor, group: Dataset) -> Dataset:
        if no_padding:
            return group.batch(size_of(bucket), drop_remainder=drop_remainder)
        shapes = padded_shapes or group.output_shapes
        if pad_to_bucket_boundary:
            shapes = _to_boundary(group, shapes, bucket, boundaries)
        return group.padded_batch(size_of(bucket), shapes, padding_values, drop_remainder=drop_remainder)

    return group_by_window(bucket_of, batches, window_size_func=size_of)


def _to_boundary(group: Dataset, shapes: Any, bucket: Tensor, boundaries: np.ndarray) -> Any:
    """Padded shapes in which an unknown extent is the greatest that fits the bucket."""
    check = assert_less(bucket, np.int64(len(boundaries)), message="When pad_to_bucket_boundary=True, elements must have length < "
                                                                   "max(bucket_boundaries).")
    with control_dependencies([check]):
        longest = identity(constant(boundaries)[bucket] - 1)

    def fill(shape: Any) -> Any:
        extents = as_shape(shape).as_list()
        return stack([longest if extent is None else constant(extent, dt.int64) for extent in extents]) if extents else extents

    return element_nest.pack_sequence_as(group._structure, [fill(shape) for shape in element_nest.flatten_up_to(group._structure, shapes)])
