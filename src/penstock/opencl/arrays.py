"""Arrays of tensors (``tf.TensorArray``) on a device: what ``native/kernels/arrays.py`` describes.

One work item looks at all elements, and refuses what ``ops/flow/tensor_array_state.py`` does not allow; others then move the data; and one more work
item notes what has been done.
"""
from __future__ import annotations

import math

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.arrays import Arrays, ArrayStore, is_everything
from penstock.opencl.source import WORDS, Operand, kernel_text, loaded, memory_name, stored
from penstock.ops.flow.tensor_array_state import CLEARED, READ, WRITTEN

_FLAGS, _STATUS = Operand("flags", "uchar"), Operand("status", "long")
_ONE = (1,)


class DeviceArrays(Arrays):
    """The methods are named after what ops do."""

    def _empty(self, store: ArrayStore) -> Array:
        emit = self.emit
        store.data = emit.empty((store.size, *((0,) if store.element is None else store.element)), store.dtype.np)
        store.flags = emit.empty((store.size + 1,), np.uint8)
        text = kernel_text([Operand("data", "uchar"), _FLAGS], ["n"], "long i = get_global_id(0); if (i < n) flags[i] = 0;")
        emit.launch(text, [store.data, store.flags], [store.flags.nbytes], (store.flags.nbytes,), "array", writes=2)
        for gradient in store.gradients.values():
            self._empty(gradient)
        return store.data

    def _look(self, indices: Array | None, store: ArrayStore, wrong: str) -> None:
        """Refuses if an index is out of range, or an element is in a state that is ``wrong``."""
        body = f"""
  for (long k = 0; k < count; k++) {{
    long i = {"k" if indices is None else "(long)indices[k]"};
    uchar state = flags[i >= 0 && i < size ? i : size];
    if (i < 0 || i >= size || ({wrong})) *status = 1;
  }}"""
        self._single(indices, store, body, [], "look")

    def _mark(self, indices: Array | None, store: ArrayStore, mark: int, written: bool) -> None:
        """Notes what has been done to elements; refuses what was cleared by an index before."""
        refuse = "" if written else f"if (flags[i] & {CLEARED}) *status = 1; "
        body = f"""
  if (*status) return;
  for (long k = 0; k < count; k++) {{ long i = {"k" if indices is None else "(long)indices[k]"}; {refuse}flags[i] |= {mark}; }}
  {"if (count) flags[size] = 1;" if written else ""}"""
        self._single(indices, store, body, [], "mark")

    def _single(self, indices: Array | None, store: ArrayStore, body: str, numbers: list[int], what: str) -> None:
        names = [*([] if indices is None else [Operand("indices", "int")]), Operand("data", "uchar"), _FLAGS, _STATUS]
        arrays = [*([] if indices is None else [indices]), store.data, store.flags, self.emit.status]
        count = store.size if indices is None else indices.size
        self.emit.launch(kernel_text(names, ["count", "size"], body), arrays, [count, store.size], _ONE, f"array: {what}", writes=3, group=_ONE)

    def put(self, indices: Array, values: Array) -> Array:
        """Makes the tensor (or, for a vector of indices, its slices) elements."""
        emit, store = self.emit, self._store()
        if not store.adds and is_everything(indices, store):
            self._look(None, store, f"state & {READ | WRITTEN}")
            self._mark(None, store, WRITTEN, True)
            emit.copy(values, store.data)
            return self._flow
        indices = emit.contiguous(indices)
        self._look(indices, store, f"state & {READ if store.adds else READ | WRITTEN}")
        dtype, length = as_dtype(store.dtype.np), math.prod(store.element or ())
        place = "data[i * length + e]"
        new = loaded(dtype, "values[k * length + e]")
        value = f"(flags[i] & {WRITTEN}) || before ? {loaded(dtype, place)} + {new} : {new}" if store.adds else new
        twice = "bool before = false; for (long j = 0; j < k; j++) before |= indices[j] == indices[k];" if store.adds else ""
        body = f"""
  long e = get_global_id(0); if (e >= length || *status) return;
  for (long k = 0; k < count; k++) {{ long i = (long)indices[k]; {twice} {stored(dtype, place, value)} }}"""
        kind = memory_name(dtype)
        text = kernel_text([Operand("indices", "int"), Operand("values", kind), Operand("data", kind), _FLAGS, _STATUS], ["length", "count"], body)
        if length:
            emit.launch(text, [indices, emit.contiguous(values), store.data, store.flags, emit.status], [length, indices.size], (length,),
                        "array: put", writes=3)
        self._mark(indices, store, WRITTEN, True)
        return self._flow

    def take(self, indices: Array) -> Array:
        """The element (or several, stacked)."""
        emit, store = self.emit, self._store()
        mark, always = READ | (CLEARED if store.clears else 0), store.adds or store.declared.is_fully_defined()
        zeros = "true" if always else f"(flags[size] & {WRITTEN})" if store.same else "false"
        wrong = f"(state & {CLEARED}) || !((state & {WRITTEN}) || {zeros})"
        whole = is_everything(indices, store)
        indices = emit.contiguous(indices)
        self._look(None if whole else indices, store, wrong)
        length, element = math.prod(store.element or ()), WORDS[store.dtype.np.itemsize]
        result = store.data if whole else emit.empty((*indices.shape, *store.element), store.dtype.np)  # type: ignore[misc]
        target = "data[i * length + e]" if whole else "result[k * length + e]"
        body = f"""
  long e = get_global_id(0), k = get_global_id(1); if (e >= length || k >= count || *status) return;
  long i = {"k" if whole else "(long)indices[k]"};
  {target} = (flags[i] & {WRITTEN}) ? data[i * length + e] : 0;"""
        names = [*([] if whole else [Operand("indices", "int")]), Operand("data", element), _FLAGS, *([] if whole else [Operand("result", element)]),
                 _STATUS]
        arrays = [*([] if whole else [indices]), store.data, store.flags, *([] if whole else [result]), emit.status]
        if length and indices.size:
            emit.launch(kernel_text(names, ["length", "count"], body), arrays, [length, indices.size], (length, indices.size), "array: take",
                        writes=3)
        self._mark(None if whole else indices, store, mark, False)
        return result  # type: ignore[return-value]
