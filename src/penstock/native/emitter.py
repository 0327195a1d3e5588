"""The emitter: what an op's ``native`` and the fusion pass say to the compiler when all shapes are known.

    def native(emit, tensor, paddings, ...):   # on an op: named inputs are Arrays, attributes are themselves
        if paddings.known is None:
            emit.unsupported("the paddings are computed in the step")
        result = emit.empty(shape, tensor.dtype)
        emit.call(code, [tensor, result], parts, label="pad")
        return result

``native`` returns the Array of its output, a tuple of them for several outputs. It may return a view of an input (``emit.view``). It is called once
per combination of shapes; kernels are keyed by structure, and take extents and strides as numbers (``emit.call``'s parts).
"""
from __future__ import annotations

import copy
import functools
import importlib
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from penstock.native.calls import Array, Buffer, Code, KernelCall, Unsupported, row_major

if TYPE_CHECKING:
    from penstock.native.contract.contractions import Contractions
    from penstock.native.contract.convolutions import AllConvolutions
    from penstock.native.contract.product import Epilogue, Product
    from penstock.native.contract.quantized import Quantized
    from penstock.native.contract.volumes import Volumes
    from penstock.native.destinations import Destination
    from penstock.native.fusion.cluster_code import Loop
    from penstock.native.items import Item
    from penstock.native.kernels.arrays import Arrays
    from penstock.native.kernels.indexing import Indexing
    from penstock.native.kernels.lookups import Lookups
    from penstock.native.kernels.moves import Moves
    from penstock.native.kernels.ordering import Ordering
    from penstock.native.kernels.pooling import Pooling
    from penstock.native.kernels.randomness import Randomness
    from penstock.native.kernels.resampling import Resampling
    from penstock.native.kernels.scans import Scans
    from penstock.native.kernels.selection import Selection
    from penstock.native.kernels.space_to_depth import Blocks
    from penstock.native.specialise.flow import Flow

# Families of kernels: what ``emit.NAME`` is. They are loaded when an op asks for one, for they stand above this module: they call back.
FAMILIES = {
    "move": "penstock.native.kernels.moves:Moves",
    "blocks": "penstock.native.kernels.space_to_depth:Blocks",
    "index": "penstock.native.kernels.indexing:Indexing",
    "lookup": "penstock.native.kernels.lookups:Lookups",
    "windows": "penstock.native.kernels.pooling:Pooling",
    "scans": "penstock.native.kernels.scans:Scans",
    "order": "penstock.native.kernels.ordering:Ordering",
    "select": "penstock.native.kernels.selection:Selection",
    "images": "penstock.native.kernels.resampling:Resampling",
    "random": "penstock.native.kernels.randomness:Randomness",
    "arrays": "penstock.native.kernels.arrays:Arrays",
    "contract": "penstock.native.contract.contractions:Contractions",
    "convolve": "penstock.native.contract.convolutions:AllConvolutions",
    "volumes": "penstock.native.contract.volumes:Volumes",
    "quantized": "penstock.native.contract.quantized:Quantized",
    "flow": "penstock.native.specialise.flow:Flow",
}


@functools.cache
def _family(name: str) -> Callable[[Emitter], Any]:
    module, _, attribute = FAMILIES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


class Emitter:
    """Collects the calls of a region. ``threads`` is how many parts of a call can run at once.

    ``items`` are those whose calls it makes: ``for_items`` gives each group an emitter of its own, and all of them collect in one list.
    """

    if TYPE_CHECKING:
        move: Moves
        blocks: Blocks
        index: Indexing
        lookup: Lookups
        windows: Pooling
        scans: Scans
        order: Ordering
        select: Selection
        images: Resampling
        random: Randomness
        arrays: Arrays
        contract: Contractions
        convolve: AllConvolutions
        volumes: Volumes
        quantized: Quantized
        flow: Flow

    most_operands: int | None = None  # arrays that a fused loop may touch; None: as many as the fusion likes
    winograd = True  # may convolutions take Winograd's way?
    takes_rates = True  # may products take over gradient descent whose rate is known in the step only?

    def __init__(self, threads: int, epilogues: bool = True, ahead: bool = False) -> None:
        self.threads = threads
        self.ahead = ahead  # are calls over constants alone made before any step (``export/``)? Then weights may lie as kernels like them best
        self.epilogues = epilogues  # may products take over what comes after them?
        self.calls: list[KernelCall] = []
        self.loops: list[tuple[int, int]] = []  # first and last call of each, inner ones first
        self.homes: dict[Any, Array] = {}  # of values, where they are wanted: see ``joining``
        self.items: list[Item] = []
        self.watch: Callable[[KernelCall], None] | None = None  # is told of each call as it is made
        self.status = Array(Buffer("arena", 64), np.dtype(np.int64), (1,), (8,))  # what is not 0 here ends the step: the node has failed
        self._families: dict[str, Any] = {}

    def for_items(self, items: Sequence[Item]) -> Emitter:
        """An emitter for the calls of these items: reports and errors name them."""
        twin = copy.copy(self)
        twin.items, twin._families = list(items), {}
        return twin

    @property
    def item(self) -> Item:
        """The item whose calls are made, which is the only one."""
        (item,) = self.items
        return item

    def __getattr__(self, name: str) -> Any:
        if name not in FAMILIES:
            raise AttributeError(f"an emitter has no {name}")
        if name not in self._families:
            self._families[name] = _family(name)(self)
        return self._families[name]

    def unsupported(self, reason: str) -> NoReturn:
        """This node cannot be native; NumPy runs it. The reason is shown by ``penstock explain``."""
        raise Unsupported(reason)

    def known(self, array: Array) -> np.ndarray:
        """The value of an argument that shapes depend on. Raises Unsupported if it is computed in the step."""
        if array.known is None:
            self.unsupported("an argument that shapes depend on is computed in the step")
        return array.known

    def empty(self, shape: Sequence[int], dtype: Any) -> Array:
        """A new contiguous array in the arena (64-byte aligned), of unknown contents."""
        dtype = np.dtype(dtype)
        shape = tuple(int(extent) for extent in shape)
        array = Array(Buffer("arena", 0), dtype, shape, row_major(shape, dtype.itemsize))
        array.buffer.nbytes = array.nbytes
        return array

    def constant(self, value: np.ndarray) -> Array:
        """An array with these contents, never to be written to."""
        value = np.asarray(value, order="C")
        return Array(Buffer("constant", value.nbytes, value), value.dtype, value.shape, value.strides, 0, value)

    def view(self, array: Array, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0) -> Array:
        """Other axes over the same memory; ``offset`` in bytes from the array's first element. Without strides: a reshape, of a contiguous array."""
        shape = tuple(int(extent) for extent in shape)
        if strides is None:
            assert array.contiguous
            strides = row_major(shape, array.dtype.itemsize)
        return Array(array.buffer, array.dtype, shape, tuple(strides), array.offset + offset)

    def run_nest(self, loop: Loop, label: str) -> None:
        """A fused loop, whose arrays are known: by the calls of native code."""
        loop.emit_native(self, label)

    def multiply(self, product: Product, a: Array, right: Array, c: Array, label: str, epilogue: Epilogue | None,
                 items: list[dict[str, int]]) -> None:
        """A product of matrices, or what looks like one: by the calls of native code."""
        product.emit_native(self, a, right, c, label, epilogue, items)

    def contiguous(self, array: Array) -> Array:
        """The array itself, or a copy in which the elements lie in C order."""
        if array.contiguous:
            return array
        result = self.empty(array.shape, array.dtype)
        self.copy(array, result)
        return result

    def copy(self, source: Array, target: Array) -> None:
        """Copies elements; both may be views, the source is broadcast to the target's shape."""
        self.move.copy(source, target)

    def call(self, code: Code, operands: Sequence[Array], parts: Sequence[bytes | Sequence[int]], label: str, writes: int = 1,
             flops: int = 0, destination: Destination | None = None, uses: tuple[Code, ...] = ()) -> None:
        """One kernel. A part is its words after the operands: ints, or bytes; parts run at the same time. The last ``writes`` operands are
        written; ``destination``, if the last one could be another array; ``uses``: further code that the kernel calls."""
        packed = [part if isinstance(part, bytes) else struct.pack(f"{len(part)}q", *part) for part in parts]
        if packed:
            self.calls.append(KernelCall(code, list(operands), packed, label, writes, flops, list(self.items), destination=destination,
                                         uses=uses))
            if self.watch is not None:
                self.watch(self.calls[-1])
