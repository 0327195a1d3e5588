"""Loops over short rows: a block is a group of rows, so that one with ten elements costs no more per element than a long one.

``module_for(body)`` gives the text of the whole module.
"""
from __future__ import annotations

from penstock.compiler.fusion_body import Body
from penstock.compiler.loops import Loops
from penstock.compiler.pieces import advance, loop, memory_type, number
from penstock.compiler.vectors import IR, LANES


def module_for(body: Body) -> str:
    """The module, as text. Raises Unsupported."""
    return str(GroupedLoops(body).module)


class GroupedLoops(Loops):
    """Chooses at run time between these loops and the plain ones: the layout says how many rows make a group, or 0."""

    def emit(self, outer: IR) -> None:
        b = self.b
        with b.if_else(b.icmp_signed("==", self.group, number(0))) as (plain, grouped):
            with plain:
                super().emit(outer)
            with grouped:
                if self.body.reduce is None:
                    self._grouped_map(outer)
                elif self.by_columns:
                    self._grouped_columns(outer)
                else:
                    self._grouped_rows(outer)

    def _group(self, places: IR, begin: IR) -> tuple[list[IR], IR, IR]:
        """Pointers to the inputs' elements in a group of rows as plain arrays; how many rows and elements there are."""
        b = self.b
        left = b.sub(self.row_stop, begin)
        rows = b.select(b.icmp_signed("<", left, self.group), left, self.group)
        count = b.mul(rows, self.inner)
        exact = b.icmp_signed("==", b.and_(count, number(LANES - 1)), number(0))
        first = b.icmp_signed("==", begin, self.row_start)
        pointers = []
        for k, (dtype, buffer, stride, row_stride) in enumerate(zip(self.inputs, self.buffers, self.strides, self.row_strides)):
            source = advance(b, self.item(b, places, k), b.mul(begin, row_stride))
            plain = b.and_(b.icmp_signed("==", stride, number(dtype.size)),
                           b.icmp_signed("==", row_stride, b.mul(self.inner, number(dtype.size))))
            direct = b.and_(exact, plain)
            filled = b.and_(b.not_(first), b.icmp_signed("==", row_stride, number(0)))  # rows that are all the same fill the buffer once
            with b.if_then(b.not_(b.or_(direct, filled))):
                b.call(self.staged_rows[dtype.size], [buffer, source, row_stride, stride, rows, self.inner])
            pointers.append(b.select(direct, source, buffer))
        return pointers, rows, count

    def _padded(self, count: IR) -> IR:
        return self.b.and_(self.b.add(count, number(LANES - 1)), number(-LANES))

    def _grouped_map(self, outer: IR) -> None:
        b = self.b
        with loop(b, self.row_start, self.row_stop, self.group) as begin:
            inputs, _, count = self._group(self.places[1], begin)
            origin = b.mul(b.add(b.mul(outer, self.rows), begin), self.inner)
            targets = [b.gep(pointer, [origin], source_etype=memory_type(dtype)) for pointer, dtype in zip(self.results, self.outputs)]
            padded = self._padded(count)
            exact = b.icmp_signed("==", padded, count)
            b.call(self.compute, [*inputs, *[b.select(exact, place, buffer) for place, buffer in zip(targets, self.out_buffers)], padded])
            with b.if_then(b.not_(exact)):
                for place, buffer, dtype in zip(targets, self.out_buffers, self.outputs):
                    self.copy(b, place, buffer, b.mul(count, number(dtype.size)))

    def _grouped_rows(self, outer: IR) -> None:
        b = self.b
        with loop(b, self.row_start, self.row_stop, self.group) as begin:
            inputs, rows, count = self._group(self.places[1], begin)
            b.call(self.compute, [*inputs, *self.out_buffers, self._padded(count)])
            origin = b.add(b.mul(outer, self.rows), begin)
            for fold, accumulator, buffer, result in zip(self.folds, self.accumulators, self.out_buffers, self.results):
                with loop(b, number(0), rows) as row:
                    fold.start(b, accumulator, row=True)
                    start = b.mul(row, self.inner)
                    with loop(b, start, b.add(start, self.inner)) as index:
                        fold.add_element(b, accumulator, buffer, index)
                    fold.finish(b, accumulator, result, b.add(origin, row), self.count, self.partial, row=True)

    def _grouped_columns(self, outer: IR) -> None:
        b = self.b
        width = self._padded(self.inner)
        self.start_columns(width)
        with loop(b, self.middle_start, self.middle_stop) as middle:
            b.call(self.locate, [self.middle_table, self.middle_rank, middle, self.places[1], self.places[2]])
            with loop(b, self.row_start, self.row_stop, self.group) as begin:
                inputs, rows, count = self._group(self.places[2], begin)
                b.call(self.compute, [*inputs, *self.out_buffers, self._padded(count)])
                for fold, accumulator, buffer in zip(self.folds, self.accumulators, self.out_buffers):
                    with loop(b, number(0), rows) as row:
                        place = b.gep(buffer, [b.mul(row, self.inner)], source_etype=fold.scalar)
                        with loop(b, number(0), width, LANES) as index:
                            fold.add_vector(b, accumulator, place, index)  # the last lanes belong to the next row; nobody looks at their sums
        self.finish_columns(b.mul(outer, self.inner), self.inner)
