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

import functools
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from penstock.native.calls import Array, Buffer, Call, Code, Unsupported, row_major

if TYPE_CHECKING:
    from penstock.native.contract.contractions import Contractions
    from penstock.native.flow import Flow
    from penstock.native.kernels.arrays import Arrays
    from penstock.native.kernels.blocks import Blocks
    from penstock.native.kernels.indexing import Indexing
    from penstock.native.kernels.moves import Moves
    from penstock.native.kernels.ordering import Order
    from penstock.native.kernels.randomness import Randomness
    from penstock.native.kernels.resampling import Images
    from penstock.native.kernels.scans import Scans
    from penstock.native.kernels.volumes import Volumes
    from penstock.native.kernels.windows import Windows


OUT_OF_MEMORY = 2  # a status: a kernel got no memory. (1: it refuses its inputs)


class Emitter:
    """Collects the calls of a region. ``threads`` is how many parts of a call can run at once."""

    def __init__(self, threads: int, epilogues: bool = True) -> None:
        self.threads = threads
        self.epilogues = epilogues  # may products take over what comes after them?
        self.calls: list[Call] = []
        self.loops: list[tuple[int, int]] = []  # first and last call of each, inner ones first
        self.homes: dict[Any, Array] = {}  # of values, where they are wanted: see ``joining``
        self.nodes: list[Any] = []  # those being emitted: they go into the calls
        self.status = Array(Buffer("arena", 64), np.dtype(np.int64), (1,), (8,))  # what is not 0 here ends the step: the node has failed

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

    @functools.cached_property
    def move(self) -> Moves:
        """Data movement."""
        from penstock.native.kernels.moves import Moves  # families of kernels stand above: they call back
        return Moves(self)

    @functools.cached_property
    def blocks(self) -> Blocks:
        """Blocks of space moved to the depth or the batch, and back."""
        from penstock.native.kernels.blocks import Blocks  # as above
        return Blocks(self)

    @functools.cached_property
    def index(self) -> Indexing:
        """Reading and writing by index."""
        from penstock.native.kernels.indexing import Indexing  # as above
        return Indexing(self)

    @functools.cached_property
    def windows(self) -> Windows:
        """Pooling."""
        from penstock.native.kernels.windows import Windows  # as above
        return Windows(self)

    @functools.cached_property
    def volumes(self) -> Volumes:
        """Convolutions of volumes."""
        from penstock.native.kernels.volumes import Volumes  # as above
        return Volumes(self)

    @functools.cached_property
    def scans(self) -> Scans:
        """Rows that are gone through from one end to the other."""
        from penstock.native.kernels.scans import Scans  # as above
        return Scans(self)

    @functools.cached_property
    def order(self) -> Order:
        """The largest elements."""
        from penstock.native.kernels.ordering import Order  # as above
        return Order(self)

    @functools.cached_property
    def images(self) -> Images:
        """Resizing."""
        from penstock.native.kernels.resampling import Images  # as above
        return Images(self)

    @functools.cached_property
    def random(self) -> Randomness:
        """Random numbers."""
        from penstock.native.kernels.randomness import Randomness  # as above
        return Randomness(self)

    @functools.cached_property
    def flow(self) -> Flow:
        """Loops, branches and lists."""
        from penstock.native.flow import Flow  # as above
        return Flow(self)

    @functools.cached_property
    def arrays(self) -> Arrays:
        """Arrays of tensors."""
        from penstock.native.kernels.arrays import Arrays  # as above
        return Arrays(self)

    @functools.cached_property
    def contract(self) -> Contractions:
        """Products of matrices, and convolutions."""
        from penstock.native.contract.contractions import Contractions  # as above
        return Contractions(self)

    def call(self, code: Code, operands: Sequence[Array], parts: Sequence[bytes | Sequence[int]], label: str, writes: int = 1,
             flops: int = 0) -> None:
        """One kernel. A part is its words after the operands: ints, or bytes; parts run at the same time. The last ``writes`` operands are
        written."""
        packed = [part if isinstance(part, bytes) else struct.pack(f"{len(part)}q", *part) for part in parts]
        if packed:
            self.calls.append(Call(code, list(operands), packed, label, writes, flops, list(self.nodes)))
