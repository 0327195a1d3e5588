"""Running an op's ``native`` by itself, between guard bytes, and comparing it with the op's NumPy kernel."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import penstock as tf
from penstock.graph.opdef import lookup
from penstock.native.calls import Array, Buffer
from penstock.native.emitter import Emitter
from penstock.native.table.call_table import CallTable

_GUARD = 128
_PATTERN = 0xA5


def guarded(shape: Sequence[int], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """(an array, the memory around it, which holds a pattern)."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.full(2 * _GUARD + size, _PATTERN, np.uint8)
    return np.ndarray(shape, dtype, memory, _GUARD), memory


def untouched(memory: np.ndarray) -> bool:
    """True if nothing was written around the array."""
    return bool((memory[:_GUARD] == _PATTERN).all() and (memory[-_GUARD:] == _PATTERN).all())


def flat_node(op_type: str, *inputs: Any, **attrs: Any) -> tuple[Any, list[np.ndarray]]:
    """A node of the op over constants, and its inputs as a flat list: strided arrays stay strided."""
    with tf.Graph().as_default():
        node = lookup(op_type).node([list(each) if isinstance(each, (list, tuple)) else each for each in inputs], attrs, None)
    flat = [np.asarray(item) for each in inputs for item in (each if isinstance(each, (list, tuple)) else [each])]
    return node, [value.astype(tensor.dtype.base_dtype.np, copy=False) for value, tensor in zip(flat, node.inputs)]


def native(op_type: str, *inputs: Any, threads: int = 2, known: Sequence[int] | None = None, **attrs: Any) -> list[np.ndarray]:
    """What the op's ``native`` computes; RuntimeError if its kernel refuses the inputs."""
    node, values = flat_node(op_type, *inputs, **attrs)
    return run(node.definition, values, node.attrs, threads, known)


def run(definition: Any, values: Sequence[np.ndarray], attrs: dict[str, Any], threads: int = 2,
        known: Sequence[int] | None = None) -> list[np.ndarray]:
    """Runs ``native`` over these arrays, which it may write to if it updates them in place."""
    emit = Emitter(threads)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in values]
    for position, (array, value) in enumerate(zip(arrays, values)):
        if (value.size <= 64 and value.dtype.kind in "iub") if known is None else position in known:
            array.known = value
    outputs = [_own(emit, array) for array in definition.emit(emit, arrays, attrs)]
    results = [guarded(array.shape, array.dtype) for array in outputs]
    failed = CallTable(emit, arrays, outputs).run([*values, *[result for result, _ in results]])
    assert all(untouched(memory) for _, memory in results), "the kernel wrote outside of its output"
    if failed is not None:
        raise RuntimeError(f"the kernel refused its inputs: {failed}")
    return [result for result, _ in results]


def run_calls(build: Callable[..., Array], *values: np.ndarray, threads: int = 2) -> np.ndarray:
    """What ``build(emit, arrays...)`` computes."""
    emitter = Emitter(threads)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in values]
    output = build(emitter, *arrays)
    result, memory = guarded(output.shape, output.dtype)
    assert CallTable(emitter, arrays, [output]).run([*values, result]) is None
    assert untouched(memory), "the kernel wrote outside of its output"
    return result


def _own(emit: Emitter, array: Array) -> Array:
    """The array as an output of the table: itself if it fills a buffer of the arena, else a copy."""
    whole = array.buffer.kind == "arena" and array.contiguous and array.buffer.nbytes == array.nbytes and array.buffer.position != 0
    if whole:
        array.buffer.position = 0  # taken: two outputs may be the same array
        return array
    result = emit.empty(array.shape, array.dtype)
    emit.copy(array, result)
    return result


def check(op_type: str, *inputs: Any, threads: int = 2, known: Sequence[int] | None = None, rtol: float = 0, atol: float = 0, **attrs: Any) -> None:
    """Compares ``native`` with the NumPy kernel: types, shapes and values, bit for bit unless tolerances are given."""
    node, values = flat_node(op_type, *inputs, **attrs)
    expected = node.definition.bind(node, None)(*values)
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    found = run(node.definition, values, node.attrs, threads, known)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        other = np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape, (one.dtype, one.shape, other.dtype, other.shape)
        if one.dtype.kind == "V":  # NumPy does not take bfloat16 for a number
            one, other = one.astype(np.float32), other.astype(np.float32)
        if rtol or atol:
            np.testing.assert_allclose(one, other, rtol, atol)
        else:
            np.testing.assert_array_equal(one, other)
