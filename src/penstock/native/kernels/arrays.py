"""Arrays of tensors (``tf.TensorArray``) in the memory of a step. What ``emit.arrays`` is.

The elements of an array lie one after the other; a byte for each, and one more for the array as a whole, says what has been done to it. What
``ops/flow/tensor_array_state.py`` allows is allowed here, by kernels that look at these bytes first; if one refuses, the array is handed to
the op's own kernel, which says why. The gradients of an array are arrays too, made and emptied together with it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape
from penstock.native.calls import Array, Code, Unsupported
from penstock.native.items import Item, Value
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I32, I64, IR
from penstock.native.vector.writer import Writer, element
from penstock.ops.flow.tensor_array_state import CLEARED, READ, WRITTEN, ArrayState

_BYTE = ir.IntType(8)


class ArrayStore:
    """One array of tensors: what is known of it while code is made, and where it is."""

    def __init__(self, name: str, dtype: DType, size: int, declared: TensorShape, clears: bool, same: bool, adds: bool = False) -> None:
        self.name, self.dtype, self.size, self.declared = name, dtype, size, declared
        self.clears, self.same, self.adds = clears, same, adds
        self.element: tuple[int, ...] | None = tuple(declared.as_list()) if declared.is_fully_defined() else None  # type: ignore[arg-type]
        self.gradients: dict[str, ArrayStore] = {}
        self.data: Array | None = None
        self.flags: Array | None = None

    def fit(self, shape: tuple[int, ...]) -> None:
        """All elements have one shape. Raises Unsupported if this is another one."""
        if self.element is None:
            self.element = shape
        if self.element != shape or not self.declared.is_compatible_with(shape):
            raise Unsupported(f"an array of tensors has elements of different shapes: {list(self.element)} and {list(shape)}")

    def gradient(self, source: str) -> ArrayStore:
        """The array of the gradients of these elements."""
        store = self.gradients.get(source)
        if store is None:
            store = ArrayStore(f"{self.name}@{source}", self.dtype, self.size, self.declared, not self.adds, self.same, adds=True)
            self.gradients[source] = store
        if self.element is not None:
            store.fit(self.element)
        return store

    @property
    def nbytes(self) -> int:
        """Of one element."""
        assert self.data is not None
        return self.data.nbytes // self.size if self.size else 0

    def state(self, read: Callable[[Array], np.ndarray]) -> ArrayState:
        """The array as NumPy's kernels have it."""
        made = ArrayState(self.name, self.dtype, self.size, self.declared, False, self.clears, self.same, self.adds)
        assert self.data is not None and self.flags is not None
        made.restore(read(self.data), read(self.flags)[:self.size])
        return made


def _known_size(item: Item) -> int:
    size = item.inputs[0].known
    if size is None or size.ndim or int(size) < 0:
        raise Unsupported("the size of an array of tensors is computed in the step")
    return int(size)


class Arrays:
    """What the ops on arrays of tensors say to the compiler. Each has a role (``array_role``), by which its outputs are found."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit
        self._flow = emit.constant(np.zeros((), np.float32))

    # --- shapes ------------------------------------------------------------------------------------------------------

    def trace(self, item: Item) -> list[Value]:
        """The outputs of an op on arrays, with their shapes."""
        node, role = item.node, item.node.definition.array_role
        if role == "create":
            return self._handle(self._new_store(item))
        store = item.inputs[0].store
        if store is None:
            raise Unsupported("an array of tensors comes from elsewhere")
        if role == "gradient":
            return self._handle(store.gradient(node.attrs["source"]))
        if role == "size":
            return [Value((), dtypes.int32, np.array(store.size, np.int32))]
        if node.attrs["T" if role in ("write", "scatter") else "dtype"] is not store.dtype:
            raise Unsupported("the array has another type")
        if role in ("write", "scatter"):
            return self._put(item, store, 0 if role == "write" else 1)
        return [Value(self._taken_shape(item, store), store.dtype)]

    def _new_store(self, item: Item) -> ArrayStore:
        attrs = item.node.attrs
        if attrs["dynamic_size"]:
            raise Unsupported("an array of tensors that can grow")
        dtype = attrs["dtype"].base_dtype
        if not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
            raise Unsupported(f"an array of {dtype.name}")
        return ArrayStore(attrs["tensor_array_name"] or item.node.name, dtype, _known_size(item), attrs["element_shape"], attrs["clear_after_read"],
                     attrs["identical_element_shapes"])

    @staticmethod
    def _handle(store: ArrayStore) -> list[Value]:
        return [Value((2,), dtypes.resource, store=store), Value((), dtypes.float32)]

    @staticmethod
    def _put(item: Item, store: ArrayStore, rank: int) -> list[Value]:
        indices, values = item.inputs[1:3]
        if len(indices.shape) != rank or indices.shape != values.shape[:rank]:
            raise Unsupported("the shapes do not fit")
        store.fit(values.shape[rank:])
        return [Value((), dtypes.float32)]

    @staticmethod
    def _taken_shape(item: Item, store: ArrayStore) -> tuple[int, ...]:
        role, indices = item.node.definition.array_role, item.inputs[1].shape
        if len(indices) != (role == "gather"):
            raise Unsupported("the shapes do not fit")
        if indices == (0,) and not store.declared.is_fully_defined() and item.node.attrs["element_shape"].is_fully_defined():
            store.fit(tuple(item.node.attrs["element_shape"].as_list()))
        if store.element is None:
            raise Unsupported("the shape of the elements of an array is not known")
        if indices == (0,) and not (store.declared.is_fully_defined() or item.node.attrs["element_shape"].is_fully_defined()):
            raise Unsupported("no elements of a shape that is not known")
        return (*indices, *store.element)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _store(self) -> ArrayStore:
        return self.emit.item.inputs[0].store

    def create(self) -> tuple[Array, Array]:
        """A new array, and those of its gradients, without elements."""
        return self._empty(self.emit.item.outputs[0].store), self._flow

    def _empty(self, store: ArrayStore) -> Array:
        emit = self.emit
        store.data = emit.empty((store.size, *((0,) if store.element is None else store.element)), store.dtype.np)
        store.flags = emit.empty((store.size + 1,), np.uint8)
        emit.call(Code.of("array clear", _build_clear), [store.data, store.flags], [(store.flags.nbytes,)], "array", writes=2)
        for gradient in store.gradients.values():
            self._empty(gradient)
        return store.data

    def gradient(self) -> tuple[Array, Array]:
        """The array of gradients: made already."""
        return self.emit.item.outputs[0].store.data, self._flow

    def size(self) -> Array:
        """The number of elements, as an array."""
        return self.emit.constant(np.array(self._store().size, np.int32))

    def put(self, indices: Array, values: Array) -> Array:
        """Makes the tensor (or, for a vector of indices, its slices) elements."""
        emit, store = self.emit, self._store()
        if not store.adds and is_everything(indices, store):
            code = Code.of("array mark", lambda: _build_put(None, whole=True))
            emit.call(code, [store.data, store.flags, emit.status], [(store.size, store.size, 0)], "array", writes=3)
            emit.copy(values, store.data)
            return self._flow
        kind = store.dtype.np if store.adds else None
        emit.call(Code.of(f"array put {kind}", lambda: _build_put(kind)),
                  [emit.contiguous(indices), emit.contiguous(values), store.data, store.flags, emit.status],
                  [(indices.size, store.size, store.nbytes)], "array", writes=3)
        return self._flow

    def take(self, indices: Array) -> Array:
        """The element (or several, stacked). All of them, in order, are the array's own memory: what has been read stays as it is."""
        emit, store = self.emit, self._store()
        mark, always = READ | (CLEARED if store.clears else 0), store.adds or store.declared.is_fully_defined()
        numbers = (indices.size, store.size, store.nbytes, mark, int(always), int(store.same))
        if is_everything(indices, store):
            emit.call(Code.of("array settle", lambda: _build_take(whole=True)), [store.data, store.flags, emit.status], [numbers], "array", writes=3)
            return store.data  # type: ignore[return-value]
        result = emit.empty((*indices.shape, *store.element), store.dtype.np)  # type: ignore[misc]
        emit.call(Code.of("array take", lambda: _build_take(whole=False)), [emit.contiguous(indices), store.data, store.flags, result, emit.status],
                  [numbers], "array", writes=3)
        return result


def is_everything(indices: Array, store: ArrayStore) -> bool:
    """Do the indices name all elements, in order?"""
    return indices.rank == 1 and indices.known is not None and np.array_equal(indices.known, np.arange(store.size))


# --- kernels ---------------------------------------------------------------------------------------------------------


def _build_clear() -> str:
    w = Writer(["data", "flags"], ["bytes"])
    w.clear_bytes(w.flags, w.bytes)
    return w.finish()


class _Kernel(Writer):
    """A kernel over ``count`` elements: all of them in order, or those that ``indices`` name. It looks at all before it changes anything."""

    def __init__(self, operands: list[str], numbers: list[str], whole: bool) -> None:
        super().__init__([*([] if whole else ["indices"]), *operands], ["count", "size", "bytes", *numbers])
        self.whole = whole
        self.refused = self.variable(I64, number(0))

    def index(self, k: IR) -> IR:
        """Of the k-th element."""
        return k if self.whole else self.b.sext(self.load(self.item(self.indices, k, I32), I32), I64)

    def state(self, index: IR) -> IR:
        """The byte of an element."""
        return self.load(self.item(self.flags, index, _BYTE), _BYTE)

    def has(self, state: IR, bits: IR | int) -> IR:
        """Is one of the bits set?"""
        return self.b.icmp_unsigned("!=", self.b.and_(state, ir.Constant(_BYTE, bits) if isinstance(bits, int) else bits), ir.Constant(_BYTE, 0))

    def refuse(self) -> None:
        """Ends the step, after this kernel."""
        self.store(number(1), self.status, I64)
        self.b.store(number(1), self.refused)

    def check(self, wrong: Callable[[IR], IR]) -> None:
        """Refuses if an index is out of range, or ``wrong(state)`` of an element."""
        b = self.b
        with self.range(self.count) as k:
            index = self.index(k)
            inside = b.icmp_unsigned("<", index, self.size)
            state = self.state(b.select(inside, index, self.size))
            with b.if_then(b.or_(b.not_(inside), wrong(state))):
                self.refuse()

    def if_accepted(self) -> Any:
        """``with``: if nothing was refused."""
        return self.b.if_then(self.b.icmp_signed("==", self.b.load(self.refused, typ=I64), number(0)))


def _build_put(adds: np.dtype | None, whole: bool = False) -> str:
    """Copies tensors to elements; of an array that adds up, adds them to what is there."""
    w = _Kernel([*([] if whole else ["values"]), "data", "flags", "status"], [], whole)
    b, wrong = w.b, READ if adds is not None else READ | WRITTEN
    w.check(lambda state: w.has(state, wrong))
    with w.if_accepted(), w.range(w.count) as k:
        index = w.index(k)
        state = w.state(index)
        if not whole:
            target, source = w.at(w.data, b.mul(index, w.bytes)), w.at(w.values, b.mul(k, w.bytes))
            with b.if_else(w.has(state, WRITTEN)) as (again, first):
                with again:
                    if adds is None:
                        w.refuse()  # the same index twice
                    else:
                        _add(w, target, source, adds)
                with first:
                    w.copy_bytes(target, source, w.bytes)
        w.store(b.or_(state, ir.Constant(_BYTE, WRITTEN)), w.item(w.flags, index, _BYTE), _BYTE)
        w.store(ir.Constant(_BYTE, 1), w.item(w.flags, w.size, _BYTE), _BYTE)
    return w.finish()


def _add(w: Writer, target: IR, source: IR, dtype: np.dtype) -> None:
    kind = element(dtype)
    plus = w.b.fadd if dtype.kind == "f" else w.b.add

    def step(index: IR, lanes: int) -> None:
        place = w.item(target, index, kind)
        w.store(plus(w.load(place, kind, lanes), w.load(w.item(source, index, kind), kind, lanes)), place, kind)

    w.strips(w.b.udiv(w.bytes, number(dtype.itemsize)), step)


def _build_take(whole: bool) -> str:
    """Copies elements; what was never written is zeros, if the shape of elements is known: ``always``, or once one is written (``alike``)."""
    w = _Kernel(["data", "flags", *([] if whole else ["result"]), "status"], ["mark", "always", "alike"], whole)
    b = w.b
    some = b.and_(b.icmp_signed("!=", w.alike, number(0)), w.has(w.state(w.size), WRITTEN))
    zeros = b.or_(b.icmp_signed("!=", w.always, number(0)), some)
    w.check(lambda state: b.or_(w.has(state, CLEARED), b.not_(b.or_(w.has(state, WRITTEN), zeros))))
    with w.if_accepted(), w.range(w.count) as k:
        index = w.index(k)
        state = w.state(index)
        place = w.at(w.data, b.mul(index, w.bytes))
        result = place if whole else w.at(w.result, b.mul(k, w.bytes))
        with b.if_then(w.has(state, CLEARED)):
            w.refuse()  # the same index twice
        with b.if_else(w.has(state, WRITTEN)) as (there, missing):
            with there:
                if not whole:
                    w.copy_bytes(result, place, w.bytes)
            with missing:
                w.clear_bytes(result, w.bytes)
        w.store(b.or_(state, b.trunc(w.mark, _BYTE)), w.item(w.flags, index, _BYTE), _BYTE)
    return w.finish()
