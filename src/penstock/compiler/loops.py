"""The loops around a fused body, as LLVM IR: a function ``kernel(words)``.

The space is cut into outer, middle and inner axes (``layout`` does that, and writes the words). The inner axis is run through in blocks. In a
block every operand is a plain array of whole vectors: what is not (broadcast or strided inputs, the rest at the end of an axis) is copied
to a small buffer first, so that there is one inner loop, always vectorised, that never touches memory beyond an array. Three kinds:

    map       for outer: for block of inner: compute                                       outputs are written in place
    rows      for outer: for middle: for block of inner: compute, fold the block            one result per outer index
    columns   for outer: for block of inner: for middle: compute, accumulate                one result per outer and inner index

If the inner axis is short, the axis before it (the last outer one, of columns the last middle one) is split off as rows, and a block is a group of
rows: see ``grouped_loops``.
"""
from __future__ import annotations

from llvmlite import ir

from penstock.compiler.folding import Fold
from penstock.compiler.fusion_body import Body
from penstock.compiler.layout import BLOCK
from penstock.compiler.pieces import Pieces, advance, loop, memory_type, number
from penstock.compiler.vectors import I64, IR, LANES, POINTER, allocate

SYMBOL = "kernel"
ARRAY_DATA = object.__basicsize__  # where an array object holds the address of its elements

# The words after the array objects; tables of strides follow.
WORDS = ("outer_start", "outer_stop", "middle_start", "middle_stop", "row_start", "row_stop", "inner_start", "inner_stop", "inner", "rows", "group",
         "count", "partial", "outer_rank", "middle_rank")


class Loops(Pieces):
    """Adds the kernel. Pointers to the inputs' current places are kept in small arrays on the stack."""

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.folds = [] if body.reduce is None else [Fold(body.reduce.kind, dtype) for dtype in self.outputs]
        self._kernel()

    def _kernel(self) -> None:
        function, b = self.function(SYMBOL, [POINTER])
        function.linkage = "external"
        self.b, words = b, function.args[0]
        arrays = len(self.inputs) + len(self.outputs)
        for position, name in enumerate(WORDS):
            setattr(self, name, b.load(b.gep(words, [number(arrays + position)], source_etype=I64), typ=I64))
        after = arrays + len(WORDS)
        self.strides = [b.load(b.gep(words, [number(after + k)], source_etype=I64), typ=I64) for k in range(len(self.inputs))]
        after += len(self.inputs)
        self.row_strides = [b.load(b.gep(words, [number(after + k)], source_etype=I64), typ=I64) for k in range(len(self.inputs))]
        self.outer_table = b.gep(words, [number(after + len(self.inputs))], source_etype=I64)
        self.middle_table = advance(b, self.outer_table, b.mul(self.outer_rank, number((1 + len(self.inputs)) * 8)))
        data = [b.load(advance(b, b.load(b.gep(words, [number(k)], source_etype=I64), typ=POINTER), number(ARRAY_DATA)), typ=POINTER)
                for k in range(arrays)]
        self.places = [allocate(b, POINTER, max(len(self.inputs), 1)) for _ in range(3)]  # at the start, after outer, after middle
        for k in range(len(self.inputs)):
            b.store(data[k], b.gep(self.places[0], [number(k)], source_etype=POINTER))
        self.results = data[len(self.inputs):]
        self.buffers = [allocate(b, ir.IntType(dtype.size * 8), BLOCK + 2 * LANES) for dtype in self.inputs]
        self.out_buffers = [allocate(b, memory_type(dtype), BLOCK + 4 * LANES) for dtype in self.outputs]
        self.by_columns = self.body.reduce is not None and self.body.reduce.axes == "first"
        self.accumulators = [fold.allocate(b, BLOCK + 4 * LANES if self.by_columns else 1) for fold in self.folds]
        with loop(b, self.outer_start, self.outer_stop) as outer:
            b.call(self.locate, [self.outer_table, self.outer_rank, outer, self.places[0], self.places[1]])
            self.emit(outer)
        b.ret_void()

    def emit(self, outer: IR) -> None:
        """What is done at one outer index."""
        if self.body.reduce is None:
            self._map(outer)
        elif self.by_columns:
            self._columns(outer)
        else:
            self._rows(outer)

    outer_start: IR
    outer_stop: IR
    middle_start: IR
    middle_stop: IR
    row_start: IR
    row_stop: IR
    inner_start: IR
    inner_stop: IR
    inner: IR
    rows: IR
    group: IR
    count: IR
    partial: IR
    outer_rank: IR
    middle_rank: IR

    def _map(self, outer: IR) -> None:
        b = self.b
        origin = b.mul(outer, self.inner)
        results = [b.gep(pointer, [origin], source_etype=memory_type(dtype)) for pointer, dtype in zip(self.results, self.outputs)]
        first = self._whole_vectors(results)
        with loop(b, first, self.inner_stop, BLOCK) as begin:
            count = self._block_size(begin)
            inputs, padded, exact = self._block(self.places[1], begin, count, b.icmp_signed("==", begin, first))
            targets = [b.gep(pointer, [begin], source_etype=memory_type(dtype)) for pointer, dtype in zip(results, self.outputs)]
            written = [b.select(exact, place, buffer) for place, buffer in zip(targets, self.out_buffers)]
            b.call(self.compute, [*inputs, *written, padded])
            with b.if_then(b.not_(exact)):
                for place, buffer, dtype in zip(targets, self.out_buffers, self.outputs):
                    self.copy(b, place, buffer, b.mul(count, number(dtype.size)))

    def _whole_vectors(self, results: list[IR]) -> IR:
        """If all inputs are plain arrays, computes all whole vectors at one go. Returns where the blocks have to go on."""
        b = self.b
        plain: IR = ir.Constant(ir.IntType(1), 1)
        for stride, dtype in zip(self.strides, self.inputs):
            plain = b.and_(plain, b.icmp_signed("==", stride, number(dtype.size)))
        whole = b.and_(b.sub(self.inner_stop, self.inner_start), number(-LANES))
        whole = b.select(plain, whole, number(0))
        pointers = [b.gep(pointer, [self.inner_start], source_etype=memory_type(dtype)) for pointer, dtype in
                    [(self.item(b, self.places[1], k), dtype) for k, dtype in enumerate(self.inputs)] + list(zip(results, self.outputs))]
        b.call(self.compute, [*pointers, whole])
        return b.add(self.inner_start, whole)

    def _block_size(self, begin: IR) -> IR:
        left = self.b.sub(self.inner_stop, begin)
        return self.b.select(self.b.icmp_signed("<", left, number(BLOCK)), left, number(BLOCK))

    def _block(self, places: IR, begin: IR, count: IR, first: IR) -> tuple[list[IR], IR, IR]:
        """Pointers to the inputs' elements as plain arrays; their number as whole vectors; whether it is just ``count``."""
        b = self.b
        padded = b.and_(b.add(count, number(LANES - 1)), number(-LANES))
        exact = b.icmp_signed("==", padded, count)
        pointers = []
        for k, (dtype, buffer, stride) in enumerate(zip(self.inputs, self.buffers, self.strides)):
            source = advance(b, self.item(b, places, k), b.mul(begin, stride))
            direct = b.and_(exact, b.icmp_signed("==", stride, number(dtype.size)))
            filled = b.and_(b.not_(first), b.icmp_signed("==", stride, number(0)))  # a broadcast input fills its buffer once
            with b.if_then(b.not_(b.or_(direct, filled))):
                b.call(self.stages[dtype.size], [buffer, source, stride, count])
            pointers.append(b.select(direct, source, buffer))
        return pointers, padded, exact

    def _rows(self, outer: IR) -> None:
        b = self.b
        for fold, accumulator in zip(self.folds, self.accumulators):
            fold.start(b, accumulator, row=True)
        with loop(b, self.middle_start, self.middle_stop) as middle:
            b.call(self.locate, [self.middle_table, self.middle_rank, middle, self.places[1], self.places[2]])
            with loop(b, self.inner_start, self.inner_stop, BLOCK) as begin:
                count = self._block_size(begin)
                inputs, padded, _ = self._block(self.places[2], begin, count, b.icmp_signed("==", begin, self.inner_start))
                b.call(self.compute, [*inputs, *self.out_buffers, padded])
                for fold, accumulator, buffer in zip(self.folds, self.accumulators, self.out_buffers):
                    fold.add_block(b, accumulator, buffer, count)
        for fold, accumulator, result in zip(self.folds, self.accumulators, self.results):
            fold.finish(b, accumulator, result, outer, self.count, self.partial, row=True)

    def _columns(self, outer: IR) -> None:
        b = self.b
        true = ir.Constant(ir.IntType(1), 1)
        origin = b.mul(outer, self.inner)
        with loop(b, self.inner_start, self.inner_stop, BLOCK) as begin:
            count = self._block_size(begin)
            self.start_columns(b.and_(b.add(count, number(LANES - 1)), number(-LANES)))
            with loop(b, self.middle_start, self.middle_stop) as middle:
                b.call(self.locate, [self.middle_table, self.middle_rank, middle, self.places[1], self.places[2]])
                inputs, padded, _ = self._block(self.places[2], begin, count, true)
                b.call(self.compute, [*inputs, *self.out_buffers, padded])
                for fold, accumulator, buffer in zip(self.folds, self.accumulators, self.out_buffers):
                    with loop(b, number(0), padded, LANES) as index:
                        fold.add_vector(b, accumulator, buffer, index)
            self.finish_columns(b.add(origin, begin), count)

    def start_columns(self, count: IR) -> None:
        """Nothing is accumulated yet."""
        for fold, accumulator in zip(self.folds, self.accumulators):
            with loop(self.b, number(0), count) as index:
                fold.start(self.b, self.b.gep(accumulator, [index], source_etype=fold.wide), row=False)

    def finish_columns(self, origin: IR, count: IR) -> None:
        """Writes ``count`` results."""
        b = self.b
        for fold, accumulator, result in zip(self.folds, self.accumulators, self.results):
            with loop(b, number(0), count) as index:
                column = b.gep(accumulator, [index], source_etype=fold.wide)
                fold.finish(b, column, result, b.add(origin, index), self.count, self.partial, row=False)
