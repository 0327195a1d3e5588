"""The code of a group: its items become the steps of a loop."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.calls import Array
from penstock.native.fusion.cluster_code import Loop, Ref
from penstock.native.fusion.cluster_space import (
    FOLD_KINDS,
    Kind,
    Space,
    axes_of,
    item_shape,
    kind_of,
    operands,
    source,
    updated_variables,
    without_ones,
)
from penstock.native.fusion.loop_nest import Fold, OpStep
from penstock.native.items import Item, Value, is_reference
from penstock.native.kernels.axes import Strides, broadcast_strides
from penstock.native.vector.types import NARROW
from penstock.ops.array.cast import Cast
from penstock.ops.constant import Const
from penstock.ops.math.elementwise import RealDiv
from penstock.ops.transfer import Refuse

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

_LITERALS = (0, 1, -1, 2, -2, 0.5, -0.5)  # numbers that are written into code: it may become simpler


def write(b: Emitter, group: list[Item]) -> None:
    """Appends the calls of a group, and sets the arrays of the outputs that are needed outside of it."""
    _Writer(b, group).write()


class _Writer:
    def __init__(self, b: Emitter, group: list[Item]) -> None:
        self.b, self.group, self.members = b, group, set(group)
        self.space = _space(group)
        self.loop = Loop(self.space.shape, self.space.reduced)
        self.refs: dict[Value, Ref] = {}
        self.variables: dict[Array, Ref] = {}  # new elements of updated variables
        self.refusals: list[tuple[Item, Array]] = []  # items that fail if a number is not 0
        self.scalars: dict[tuple[DType, bytes], Ref] = {}

    def write(self) -> None:
        for item in self.group:
            kind = kind_of(item)
            if kind in (Kind.SAME, Kind.SPREAD):
                self._hand_on(item)
            elif kind is Kind.REDUCE:
                self._reduce(item)
            else:
                self._element(item)
        for item in self.group:
            for value in item.outputs:
                if value.array is None and (value.wanted or any(user not in self.members for user in value.users)):
                    self._store(value)
        for array, ref in self.variables.items():
            along = self._strides(array, array.shape)
            self._keep_apart(array, along)
            self.loop.output(ref, array, along, without_ones(array.shape) == self.space.shape)
        if self.loop.outputs:
            self.loop.emit(self.b, " ".join(dict.fromkeys(item.node.definition.type for item in self.group)))
        for item, bad in self.refusals:
            needed = [value.array for value in item.inputs if value.array is not None]
            self.b.for_items([item]).index.refuse(bad, needed)

    def _hand_on(self, item: Item) -> None:
        """The source itself, where it is computed here; else a view of it."""
        given, (value,) = source(item), item.outputs
        new = self._computed_ref(given)
        if new is not None:
            self.refs[value] = new
            return
        array = self._array(given)
        if item.node.definition.broadcasts:
            value.array = Array(array.buffer, array.dtype, value.shape, broadcast_strides(array.shape, array.strides, value.shape), array.offset)
        else:
            value.array = _reshape(array, value.shape)

    def _reduce(self, item: Item) -> None:
        (value,), definition = item.outputs, item.node.definition
        operand = self._operand(item.inputs[0], item.inputs[0].shape)
        mean = definition.reduces == "mean"
        dtype = dt.float32 if mean and value.dtype in NARROW else value.dtype  # the sum, or the count, may be more than a narrow type holds
        (ref,) = self.loop.step(Fold(FOLD_KINDS[definition.reduces], (), dtype), [operand])
        if mean:
            count = math.prod(self.space.shape[axis] for axis in self.space.reduced)
            (ref,) = self.loop.step(OpStep(RealDiv, {"T": dtype}, ()), [ref, self._scalar(count, dtype)])
        if dtype is not value.dtype:
            (ref,) = self.loop.step(OpStep(Cast, {"SrcT": dtype, "DstT": value.dtype, "Truncate": False}, ()), [ref])
        self.refs[value] = ref

    def _element(self, item: Item) -> None:
        node, shape = item.node, item_shape(item)
        refs = [self._operand(value, shape) if taken else None for value, taken in zip(item.inputs, operands(item))]
        some = next((ref for ref in refs if ref is not None), ("", 0, 0))  # stands for what ``lower`` does not look at
        results = self.loop.step(OpStep(node.definition, node.attrs, ()), [ref or some for ref in refs])
        if node.definition is Refuse:
            assert item.part_of is not None
            bad = self.b.empty((), np.int64)
            self.loop.output(results[0], bad, self._strides(bad, ()), not self.space.reduced)
            self.refusals.append((item.part_of, bad))
            return
        if not node.definition.updates:
            self.refs[item.outputs[0]] = results[0]
            return
        for variable, ref in zip(updated_variables(item), results):
            assert variable.array is not None
            self.variables[variable.array] = ref
        for value in item.outputs:
            value.array = updated_variables(item)[0].array

    def _operand(self, value: Value, shape: tuple[int, ...]) -> Ref:
        """A value as an item of this shape uses it."""
        new = self._computed_ref(value)
        if new is not None:
            return new
        if value.known is not None and value.known.size and (value.known == value.known.flat[0]).all():
            return self._scalar(value.known.flat[0], value.dtype)
        array = self._array(value)
        return self.loop.input(array, self._strides(array, shape))

    def _computed_ref(self, value: Value) -> Ref | None:
        """What is computed here of a value: itself, or the new elements of a variable. What was read before the update stays as it was."""
        if value in self.refs or value.array is None:
            return self.refs.get(value)
        new = self.variables.get(value.array)
        return new if new is not None and (value.item is None or is_reference(value)) else None

    def _array(self, value: Value) -> Array:
        if value.array is None:
            assert value.known is not None, "a value that was never computed"
            value.array = self.b.constant(value.known)
        return value.array

    def _scalar(self, known: Any, dtype: DType) -> Ref:
        """A number: part of the code if it is a plain one, else read from memory, so that code does not depend on it."""
        number = np.asarray(known, dtype.np).reshape(())
        key = dtype, number.tobytes()
        if key not in self.scalars:
            if number in _LITERALS:
                (self.scalars[key],) = self.loop.step(OpStep(Const, {"value": number, "dtype": dtype}, ()), [])
            else:
                self.scalars[key] = self.loop.input(self.b.constant(number), (0,) * len(self.space.shape))
        return self.scalars[key]

    def _strides(self, array: Array, shape: tuple[int, ...]) -> Strides:
        """An array's strides along the axes of the space, as an operand or a result of an item of this shape."""
        own = [stride for stride, extent in zip(broadcast_strides(array.shape, array.strides, shape), shape) if extent != 1]
        if without_ones(shape) == self.space.shape:
            return tuple(own)
        along = [0] * len(self.space.shape)
        for axis, stride in zip(self.space.kept_axes, own, strict=True):
            along[axis] = stride
        return tuple(along)

    def _store(self, value: Value) -> None:
        whole = without_ones(value.shape) == self.space.shape
        home = self.b.homes.get(value) if whole else None
        value.array = home or self.b.empty(value.shape, value.dtype.np)
        self.loop.output(self.refs[value], value.array, self._strides(value.array, value.shape), whole)

    def _keep_apart(self, array: Array, along: Strides) -> None:
        """Inputs that see a variable in another order than it is written, ``along`` the axes of the space, are copied before."""
        for index, (other, strides) in enumerate(self.loop.inputs):
            if other.buffer is array.buffer and (other.offset, strides) != (array.offset, along):
                axes = [axis for axis, stride in enumerate(strides) if stride]
                fresh = self.b.move.copy_of(self.b.view(other, [self.space.shape[axis] for axis in axes], [strides[axis] for axis in axes]))
                place = dict(zip(axes, fresh.strides))
                self.loop.inputs[index] = fresh, tuple(place.get(axis, 0) for axis in range(len(strides)))


def _space(group: list[Item]) -> Space:
    """The space of a group: that of its reductions, if it has some."""
    for item in group:
        if kind_of(item) is Kind.REDUCE:
            return Space(without_ones(item.inputs[0].shape), axes_of(item) or frozenset())
    return Space(without_ones(item_shape(group[0])))


def _reshape(array: Array, shape: tuple[int, ...]) -> Array:
    """The same elements with axes of one element added or removed."""
    if array.shape == shape:
        return array
    strides = iter([stride for stride, extent in zip(array.strides, array.shape) if extent != 1])
    return Array(array.buffer, array.dtype, shape, tuple(array.dtype.itemsize if extent == 1 else next(strides) for extent in shape), array.offset)
