"""What is known of a tensor's *value* while the graph is built: needed to infer the shape that ``tf.reshape(x, shape)`` will have.

A value is known if it is a constant, if its op says so (``static``: the shape of a tensor whose shape is known), or if it is computed from known
values by a stateless kernel. Elements that are not known are -1; only ops that merely move elements around may see them.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape, unknown_shape

_MAX_ELEMENTS = 4096  # of a value that is computed while building
_MAX_DEPTH = 40

Known = tuple[np.ndarray, bool] | None  # a value, and whether all of it is known


class _Asked(threading.local):
    values: set[tuple[Operation, int]] | None = None


_asked = _Asked()


@contextmanager
def known_values() -> Iterator[set[tuple[Operation, int]]]:
    """Collects which computed values (of imperative style) are asked for inside a ``with`` block, as (operation, index of its output)."""
    outer, _asked.values = _asked.values, set()
    try:
        yield _asked.values
    finally:
        _asked.values = outer


def constant_value(tensor: Any, partial: bool = False) -> np.ndarray | None:
    """The value of ``tensor`` if it is known without running anything, else None.

    >>> import penstock as tf
    >>> x = tf.placeholder(tf.float32, [3, 4])
    >>> int(constant_value(tf.shape(x)[1] * 2))
    8
    """
    if not isinstance(tensor, Tensor):
        return None
    value = _static_value(tensor, _MAX_DEPTH, {})
    if value is None or (not partial and not value[1]):
        return None
    return value[0]


def _static_value(tensor: Tensor, depth: int, memo: dict[Tensor, Known]) -> Known:
    """(value, is it complete?) or None. ``memo`` holds what was found before: a value that is used twice is computed once."""
    if tensor not in memo:
        memo[tensor] = _find(tensor, depth, memo)
    return memo[tensor]


def _find(tensor: Tensor, depth: int, memo: dict[Tensor, Known]) -> Known:
    op = tensor.op
    definition = op.definition
    result = op.result(tensor.value_index)
    if result is not None:
        if _asked.values is not None:
            _asked.values.add((op, tensor.value_index))
        return (np.asarray(result), True) if isinstance(result, (np.ndarray, np.generic)) else None
    outer = op.graph.outer_tensor(tensor)
    if outer is not None:
        return _static_value(outer, depth, memo)
    if definition.static is not None:
        value = definition.static(*definition.arguments(op._inputs, op.attrs)) if op._inputs else definition.static(op.attrs)
        return None if value is None else (value, not op._inputs or bool((np.asarray(value) != -1).all()))
    if definition.stateful or definition.kernel is None or not op._inputs or len(op.outputs) != 1 or not depth:
        return None
    elements = tensor.shape.num_elements()
    if (elements is None and tensor.shape.ndims is None) or (elements or 0) > _MAX_ELEMENTS or tensor.dtype.is_ref:
        return None
    return _evaluate(op, depth, memo)


def _evaluate(op: Operation, depth: int, memo: dict[Tensor, Known]) -> Known:
    values, complete = [], True
    for arg, tensors in op.definition.group(op._inputs, op.attrs):
        shape = next((tensor.shape for tensor in tensors if tensor.shape.extents is not None), None) if arg.name == op.definition.alike else None
        for tensor in tensors:
            known = _static_value(tensor, depth - 1, memo) or _nothing_known(tensor.dtype, shape or tensor.shape)
            if known is None or known[0].size > _MAX_ELEMENTS or not (known[1] or _is_moved(op, arg)):
                return None
            values.append(known[0])
            complete = complete and known[1]
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(op.definition.bind(op, None)(*values))
        return value, complete or bool((value != -1).all())  # a part of a partly known value may be known
    except Exception:
        return None  # the op will say what is wrong when it runs


def _nothing_known(dtype: DType, shape: TensorShape) -> tuple[np.ndarray, bool] | None:
    """Unknown elements, for integers of known shape: ``tf.stack([n, 3])`` describes a shape with one known extent."""
    if not dtype.is_integer or not shape.is_fully_defined():
        return None
    if shape.num_elements() > _MAX_ELEMENTS:  # type: ignore[operator]
        return None
    return np.full(shape.as_list(), -1, dtype.base_dtype.np), False  # type: ignore[arg-type]


def _is_moved(op: Operation, arg: Any) -> bool:
    """True for an argument whose elements the op only moves: of the output's own type, not the indices that say where they go."""
    definition = op.definition
    return definition.rearranges and (len(definition.inputs) == 1 or (arg.type_attr is not None and
                                      arg.type_attr == definition.outputs[0].type_attr))


def extents_as_array(shape: TensorShape) -> np.ndarray | None:
    """The extents of a shape, -1 where one is unknown: of type int32, unless one is larger than that."""
    if shape.extents is None:
        return None
    extents = [-1 if extent is None else extent for extent in shape.extents]
    return np.array(extents, np.int32 if max(extents, default=0) < 2**31 else np.int64)


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape that an integer vector describes, as far as its value is known; -1 is an unknown extent."""
    tensor = to_tensor(tensor)
    value = constant_value(tensor, partial=True)
    if value is None or value.ndim != 1:
        length = tensor.shape.extents[0] if tensor.shape.ndims == 1 else None
        return unknown_shape(length)
    return TensorShape([None if extent < 0 else int(extent) for extent in value])
