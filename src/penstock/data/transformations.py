"""Transformations for ``Dataset.apply``: the functions of ``tf.data.experimental`` and ``tf.contrib.data``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data import element_nest, structure
from penstock.data.dataset import AUTOTUNE, Dataset, batch_length, int64
from penstock.data.dataset_options import Options
from penstock.data.interleave import Transformation
from penstock.data.seed_tensors import seed_tensors
from penstock.data.traced_function import ElementFunction
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import device, name_scope
from penstock.graph.shape import as_shape, dimension_value
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.passing import ensure_shape
from penstock.ops.data import dataset_batch, dataset_functions, dataset_order, dataset_parallel, dataset_shuffle
from penstock.ops.data.cardinality import DatasetCardinality

# --- batches ---------------------------------------------------------------------------------------------------------

def map_and_batch(map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: int | None = None, drop_remainder: Any = False,
                  num_parallel_calls: Any = None) -> Transformation:
    """``map`` and ``batch`` in one."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive.")

    def transform(dataset: Dataset) -> Dataset:
        traced = ElementFunction(map_func, "tf.data.experimental.map_and_batch()", dataset._structure)
        size = int64(batch_size, "batch_size")
        calls = num_parallel_calls if num_parallel_calls is not None else batch_size * (num_parallel_batches or 1)
        parallel, drop = int64(calls, "num_parallel_calls"), to_tensor(drop_remainder, dt.bool_, name="drop_remainder")
        specs = element_nest.map_structure(lambda spec: spec.batched(batch_length(size, drop)), traced.output)
        with traced.after_control_captures():
            return dataset._derive(dataset_parallel.MapAndBatchDataset, traced.captures, size, parallel, drop, specs=specs, f=traced.graph,
                                   preserve_cardinality=True)
    return transform


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """``batch(batch_size, drop_remainder=True)``."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """``padded_batch(..., drop_remainder=True)``."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sliding_window_batch(window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1) -> Transformation:
    """``tf.contrib.data.sliding_window_batch``: batches of ``window_size`` elements, each of which begins ``window_shift`` behind the one before."""
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((given for given in (stride, window_shift) if given is not None), 1)

    def batch(*windows: Any) -> Dataset:
        batches = element_nest.map_structure(lambda window: window.batch(window_size), windows[0] if len(windows) == 1 else windows)
        return batches if isinstance(batches, Dataset) else Dataset.zip(batches)

    return lambda dataset: dataset.window(window_size, shift, window_stride, drop_remainder=True).flat_map(batch)


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batches of elements of different shapes as SparseTensors with rows of ``row_shape``; None or -1 there is the longest of a batch."""
    def transform(dataset: Dataset) -> Dataset:
        if not isinstance(dataset.output_types, dt.DType):
            raise TypeError("DenseToSparseDataset requires an input whose elements have a single component, whereas the input has "
                            f"{dataset.output_types!r}.")
        extents = row_shape if isinstance(row_shape, Tensor) else to_tensor(
            np.array([-1 if dimension_value(extent) is None else dimension_value(extent) for extent in row_shape], np.int64), name="row_shape")
        static = constant_value_as_shape(extents)
        specs = structure.SparseTensorSpec(dataset.output_types, as_shape([None]).concatenate(static))
        return dataset._derive(dataset_batch.DenseToSparseBatchDataset, int64(batch_size, "batch_size"), extents, specs=specs)
    return transform


def unbatch() -> Transformation:
    """The slices of the elements along their first axis."""
    return lambda dataset: dataset.unbatch()


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The same dataset; an element of another shape is an error."""
    def transform(dataset: Dataset) -> Dataset:
        shapes = [as_shape(shape) for shape in element_nest.flatten_up_to(dataset._structure, expected_shapes)]

        def check(*element: Any) -> Any:
            whole = element if type(dataset._structure) is tuple else element[0]
            return element_nest.pack_sequence_as(whole, [ensure_shape(leaf, shape) for leaf, shape in zip(element_nest.flatten(whole), shapes)])
        return dataset.map(check)
    return transform


# --- order -----------------------------------------------------------------------------------------------------------

def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """``shuffle`` and ``repeat`` in one: no pause between two epochs to fill the buffer."""
    def transform(dataset: Dataset) -> Dataset:
        size, times = int64(buffer_size, "buffer_size"), int64(-1 if count is None else count, "count")
        seed1, seed2 = seed_tensors(seed)
        return dataset._derive(dataset_shuffle.ShuffleAndRepeatDataset, size, seed1, seed2, times)
    return transform


def ignore_errors() -> Transformation:
    """The elements that can be made without an error."""
    return lambda dataset: dataset._derive(dataset_order.IgnoreErrorsDataset)


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Pairs of a number and an element."""
    return lambda dataset: dataset.enumerate(start)


def unique() -> Transformation:
    """The elements, each value only once: scalars of int32, int64 or string."""
    def transform(dataset: Dataset) -> Dataset:
        if element_nest.is_sequence(dataset._structure) or dataset.output_types not in (dt.int32, dt.int64, dt.string):
            raise TypeError("`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component.")
        return dataset._derive(dataset_order.UniqueDataset)
    return transform


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements up to the first one for which a function is false."""
    return lambda dataset: dataset._take_while(predicate)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """The outputs of ``scan_func(state, element) -> (state, output)``."""
    return lambda dataset: dataset._scan(initial_state, scan_func)


def Counter(start: Any = 0, step: Any = 1, dtype: Any = dt.int64) -> Dataset:
    """The numbers from ``start`` on, without end."""
    with name_scope("counter"):
        first, distance = to_tensor(start, dt.as_dtype(dtype), name="start"), to_tensor(step, dt.as_dtype(dtype), name="step")
        return Dataset.from_tensors(0).repeat().apply(scan(first, lambda state, _: (state + distance, state)))


# --- where and how it runs -------------------------------------------------------------------------------------------

def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """``prefetch``: the memory of all devices is that of this machine."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """The same elements, as a dataset on another device of the task, whose memory is that of this machine: iterators of it are there, too."""
    def transform(dataset: Dataset) -> Dataset:
        with device(target_device):
            return dataset.take(-1)
    return transform


class PrivateThreadPool:
    """Asks for private threads for a pipeline, which its parallel transformations have in any case."""

    def __init__(self, num_threads: int, display_name: str | None = None, max_intra_op_parallelism: int = 1) -> None:
        self.num_threads, self.display_name, self.max_intra_op_parallelism = num_threads, display_name, max_intra_op_parallelism


def override_threadpool(dataset: Dataset, thread_pool: PrivateThreadPool) -> Dataset:
    """The same dataset, with ``thread_pool`` among its options."""
    options = Options()
    options.experimental_threading.private_threadpool_size = thread_pool.num_threads
    options.experimental_threading.max_intra_op_parallelism = thread_pool.max_intra_op_parallelism
    return dataset.with_options(options)


# --- ends of pipelines -----------------------------------------------------------------------------------------------

def cardinality(dataset: Dataset) -> Tensor:
    """``tf.data.experimental.cardinality``: how many elements the dataset has, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY.

    It is told without making elements, so nothing is known of files, filters and generators.
    """
    return DatasetCardinality(dataset._variant_tensor)


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors."""
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    outputs = dataset_functions.DatasetToSingleElement(dataset._variant_tensor, **structure.output_attrs(dataset._structure))
    return structure.decode(dataset._structure, outputs)
