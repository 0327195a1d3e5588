"""``Dataset.padded_batch``: what to pad to, and with what."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.data import element_nest, structure
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.static import constant_value, constant_value_as_shape
from penstock.ops.constant import constant
from penstock.ops.data.dataset_batch import PaddedBatchDatasetV2


def padded_batch(dataset: Any, batch_size: Any, padded_shapes: Any, padding_values: Any, drop_remainder: Any) -> Any:
    """See ``Dataset.padded_batch``."""
    specs = element_nest.flatten(dataset._structure)
    if not all(isinstance(spec, structure.TensorSpec) for spec in specs):
        raise TypeError("Batching of padded sparse tensors is not currently supported")
    size = to_tensor(batch_size, dt.int64, name="batch_size")
    shapes = [_extents(shape, spec) for shape, spec in zip(element_nest.flatten_up_to(dataset._structure, padded_shapes), specs)]
    values = [_padding(value, spec) for value, spec in zip(_given_values(dataset._structure, padding_values), specs)]
    drop = to_tensor(drop_remainder, dt.bool_, name="drop_remainder")
    length, dropped = constant_value(size), constant_value(drop)
    first = TensorShape([int(length) if length is not None and dropped is not None and bool(dropped) else None])
    leaves = [spec.with_shape(first.concatenate(constant_value_as_shape(shape))) for spec, shape in zip(specs, shapes)]
    new = element_nest.pack_sequence_as(dataset._structure, leaves)
    return dataset._derive(PaddedBatchDatasetV2, size, shapes, values, drop, specs=new)


def _extents(shape: Any, spec: Any) -> Tensor:
    """A padded shape as a vector, -1 for the longest of the batch."""
    if not isinstance(shape, Tensor):
        listed = shape if isinstance(shape, TensorShape) or not np.iterable(shape) else [None if _is_longest(extent) else extent for extent in shape]
        padded_shape = as_shape(listed)
        shape = constant(np.array([-1 if extent is None else extent for extent in padded_shape.as_list()], np.int64))
    elif shape.dtype is not dt.int64:
        raise TypeError(f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its element type was {shape.dtype.name}.")
    known = constant_value_as_shape(shape)
    fits = known.ndims is None or spec.shape.ndims is None or (known.ndims == spec.shape.ndims and all(
        mine is None or theirs is None or theirs <= mine for mine, theirs in zip(known.as_list(), spec.shape.as_list())))
    if not fits:
        raise ValueError(f"The padded shape {known} is not compatible with the corresponding input component shape {spec.shape}.")
    return shape


def _is_longest(extent: Any) -> bool:
    return bool(isinstance(extent, (int, np.integer)) and extent < 0)


def _given_values(specs: Any, padding_values: Any) -> list[Any]:
    if padding_values is None:
        return [None] * len(element_nest.flatten(specs))
    if element_nest.is_sequence(specs) and not element_nest.is_sequence(padding_values):
        return [padding_values] * len(element_nest.flatten(specs))
    return element_nest.flatten_up_to(specs, padding_values)


def _padding(value: Any, spec: Any) -> Tensor:
    if value is None:
        value = "" if spec.dtype is dt.string else np.zeros((), spec.dtype.as_numpy_dtype)
    tensor = to_tensor(value, name="padding_value")
    if tensor.shape.ndims not in (0, None):
        raise ValueError(f"Padding value should be a scalar, but is not: {value}")
    if tensor.dtype.base_dtype is not spec.dtype:
        raise TypeError(f"Padding value tensor ({value}) does not match output type: {spec.dtype}")
    return tensor
