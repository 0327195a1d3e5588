"""Partitioned variables: one tensor kept in several variables, split along one axis, so that several tasks can hold it."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from penstock.graph import dtypes
from penstock.graph.convert import register_tensor_conversion_function
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.pack import concat, split
from penstock.ops.constant import identity
from penstock.variables.variable import Variable


class PartitionInfo:
    """What an initializer knows about the part that it makes: the shape of the whole and the place of the part."""

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        if len(full_shape) != len(var_offset):
            raise ValueError(f"Expected equal length, but var_offset is of length {len(var_offset)} while full_shape is of length "
                             f"{len(full_shape)}.")
        for offset, extent in zip(var_offset, full_shape):
            if offset < 0 or offset >= extent:
                raise ValueError(f"Expected 0 <= offset < shape but found offset={offset}, shape={extent} for var_offset={list(var_offset)}, "
                                 f"full_shape={list(full_shape)}")
        self.full_shape, self.var_offset = list(full_shape), list(var_offset)

    def single_offset(self, shape: Sequence[int]) -> int:
        """The offset along the axis that is split; 0 if none is."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The axis along which a part of this shape is smaller than the whole; None if it is the whole."""
        axes = [axis for axis, (part, whole) in enumerate(zip(shape, self.full_shape)) if part != whole]
        if len(axes) > 1:
            raise ValueError(f"Cannot use single_slice_dim() with shape {list(shape)} and full_shape {self.full_shape} since slice dim could "
                             f"be either dimension {axes[0]} or {axes[1]}.")
        return axes[0] if axes else None


class PartitionedVariable:
    """What ``tf.get_variable`` returns with a partitioner: a list of variables that converts to one tensor."""

    def __init__(self, name: str, shape: Any, dtype: Any, variable_list: Sequence[Variable], partitions: Sequence[int]) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(number >= 1 for number in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        slices = [part._get_save_slice_info() for part in variable_list]
        if None in slices:
            raise ValueError(f"All variables must have a save_slice_info available: {[part.name for part in variable_list]}")
        if len(shape) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        if any(list(each.full_shape) != as_shape(shape).as_list() for each in slices):
            raise ValueError(f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                             f"{[each.full_shape for each in slices]}")
        self._name, self._shape, self._dtype = name, as_shape(shape), dtypes.as_dtype(dtype)
        self._variable_list, self._partitions = list(variable_list), list(partitions)
        self._as_tensor_value: Tensor | None = None

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """``shape``."""
        return self._shape

    @property
    def graph(self) -> Any:
        """The graph it belongs to."""
        return self._variable_list[0].graph

    def _get_variable_list(self) -> list[Variable]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        axes = [axis for axis, parts in enumerate(self._partitions) if parts > 1]
        return axes or [0]

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise ValueError(f"Cannot get a length for {len(axes)} > 1 partition axes")
        return len(self._variable_list)

    def as_tensor(self) -> Tensor:
        """The parts put together, read anew at each call."""
        with name_scope(None), control_dependencies(None):  # as reads of other variables
            return self._concat()

    def _concat(self) -> Tensor:
        if len(self._variable_list) == 1:
            with name_scope(None):
                return identity(self._variable_list[0], name=self._name)
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(f"Cannot concatenate along more than one dimension: {axes}. Multi-axis partition concat is not supported")
        with name_scope(self._name + "/ConcatPartitions/"):
            whole = concat(self._variable_list, axes[0])
        with name_scope(None):
            return identity(whole, name=self._name)

    def _assign(self, how: str, value: Any, use_locking: bool, name: str | None, read_value: bool) -> list[Any]:
        axis = self._partition_axes()[0]
        sizes = [part.shape.as_list()[axis] for part in self._variable_list]
        pieces = split(value, sizes, axis=axis) if len(sizes) > 1 else [value]
        return [getattr(part, how)(piece, use_locking, name, read_value) for part, piece in zip(self._variable_list, pieces)]

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list[Any]:
        """Replaces the value of every part; returns one result per part."""
        return self._assign("assign", value, use_locking, name, read_value)

    def assign_add(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list[Any]:
        """Adds to every part; returns one result per part."""
        return self._assign("assign_add", value, use_locking, name, read_value)

    def assign_sub(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list[Any]:
        """Subtracts from every part; returns one result per part."""
        return self._assign("assign_sub", value, use_locking, name, read_value)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("'PartitionedVariable' object does not support item assignment")


def _convert(value: PartitionedVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(f"Incompatible type conversion requested to type '{dtype.name}' for variable of type '{value.dtype.name}'")
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _convert, 100)


# --- how to split ----------------------------------------------------------------------------------------------------

def partition_of(partitioner: Callable[..., Any], shape: TensorShape, dtype: DType) -> list[int]:
    """The number of parts per axis that a partitioner wants, checked."""
    if not shape.is_fully_defined():
        raise ValueError(f"Shape of a new partitioned variable must be fully defined, but instead was {shape}.")
    if shape.ndims < 1:  # type: ignore[operator]
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    check_partitions(list(partitions), shape)
    return list(partitions)


def check_partitions(partitions: list[int], shape: TensorShape) -> None:
    """ValueError unless there is a number of parts per axis, more than one for at most one axis."""
    if len(partitions) != shape.ndims:
        raise ValueError(f"Partitioner returned a partition list that does not match the Variable's rank: {partitions} vs. {shape}")
    if any(parts < 1 for parts in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    if sum(parts > 1 for parts in partitions) > 1:
        raise ValueError(f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {partitions}")


def slices_of(shape: Sequence[int], partitions: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """(offset, shape) of each part; the first parts are one longer if the extent does not divide evenly.

    >>> slices_of([5, 2], [2, 1])
    [([0, 0], [3, 2]), ([3, 0], [2, 2])]
    """
    axis = next((axis for axis, parts in enumerate(partitions) if parts > 1), 0)
    extents = list(shape)
    size, longer = divmod(extents[axis], partitions[axis])
    slices, start = [], 0
    for part in range(partitions[axis]):
        length = size + (part < longer)
        slices.append(([start if at == axis else 0 for at in range(len(extents))], [*extents[:axis], length, *extents[axis + 1:]]))
        start += length
    return slices


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list[int]]:
    """``tf.fixed_size_partitioner``: always this many parts along an axis."""
    def partitioner(shape: Any, **unused: Any) -> list[int]:
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, full_extents(shape)[axis])
        return partitions
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16,
                                   max_shards: int | None = None) -> Callable[..., list[int]]:
    """``tf.variable_axis_size_partitioner``: as many parts along an axis as keep each at most ``max_shard_bytes`` large."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        extents = full_extents(shape)
        element = bytes_per_string_element if dtypes.as_dtype(dtype) == dtypes.string else dtypes.as_dtype(dtype).size
        partitions = [1] * len(extents)
        row = element * math.prod(extents) // max(extents[axis], 1)
        if row >= max_shard_bytes:
            shards = extents[axis]
        else:
            shards = math.ceil(extents[axis] / max(1, max_shard_bytes // max(row, 1)))
        partitions[axis] = min(shards, max_shards) if max_shards else shards
        return partitions
    return partitioner


def min_max_variable_partitioner(max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10,
                                 bytes_per_string_element: int = 16) -> Callable[..., list[int]]:
    """``tf.min_max_variable_partitioner``: up to ``max_partitions`` parts along an axis, each at least ``min_slice_size`` bytes large."""
    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}")
        extents = full_extents(shape)
        dtype = dtypes.as_dtype(dtype)
        size = math.prod(extents) * (bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size)
        partitions = [1] * len(extents)
        partitions[axis] = max(1, min(extents[axis], max_partitions, math.ceil(size / min_slice_size)))
        return partitions
    return partitioner


def full_extents(shape: Any) -> list[int]:
    """The extents of a fully defined shape."""
    shape = as_shape(shape)
    if not shape.is_fully_defined():
        raise ValueError(f"shape is not fully defined: {shape}")
    return [int(extent) for extent in shape.as_list()]
