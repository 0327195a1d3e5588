"""B cut into panels by a call of its own: of a product with many rows, whose blocks would all copy the same panels. As LLVM IR.

A panel is as wide as a tile, and has all rows of B. It lies as the micro-kernel reads it, one after the other.
"""
from __future__ import annotations

from penstock.native.calls import Code
from penstock.native.contract.packing import TAP_WORDS, Packing
from penstock.native.contract.tile import Tile, TileModule, tile_for
from penstock.native.vector.pieces import advance, loop, minimum, number

WORDS = ("n_start", "n_stop", "k", "b_at", "b_step", "b_transposed", *TAP_WORDS, "b_panel")  # as in ``gemm``
SPARE = 16  # rows at the end of a panel: squares that are transposed reach into them
_BUNCH = 32  # panels that are written at a time: as many pages, each written to from its start to its end


class _Panels:
    """The module of the kernel; its operands are B and the panels."""

    def __init__(self, tile: Tile) -> None:
        m = TileModule(tile)
        packing = Packing(m)
        kernel = m.kernel()
        b = kernel.b
        source, panels = kernel.operands(("b", "panels")).values()
        w = kernel.numbers(WORDS)
        source, columns = advance(b, source, w["b_at"]), number(tile.columns)
        transposed = b.icmp_signed("!=", w["b_transposed"], number(0))
        full = b.sub(w["n_stop"], b.urem(b.sub(w["n_stop"], w["n_start"]), columns))
        with b.if_then(b.not_(transposed)), loop(b, w["n_start"], full, _BUNCH * tile.columns) as n0:
            count = minimum(b, number(_BUNCH), b.udiv(b.sub(full, n0), columns))
            to, here = advance(b, panels, b.mul(b.udiv(n0, columns), w["b_panel"])), advance(b, source, b.mul(n0, number(tile.size)))
            b.call(packing.panels, [to, here, w["b_step"], w["k"], count, w["b_panel"]])
        with loop(b, b.select(transposed, w["n_start"], full), w["n_stop"], tile.columns) as n0:
            to, width = advance(b, panels, b.mul(b.udiv(n0, columns), w["b_panel"])), minimum(b, columns, b.sub(w["n_stop"], n0))
            vectors = b.udiv(b.add(width, number(tile.lanes - 1)), number(tile.lanes))
            with b.if_else(transposed) as (if_transposed, plain):
                with if_transposed:
                    column, taps = advance(b, source, b.mul(n0, w["b_step"])), [w[name] for name in TAP_WORDS]
                    b.call(packing.taps, [to, column, w["b_step"], number(0), w["k"], width, vectors, *taps])
                with plain:
                    b.call(packing.panel, [to, advance(b, source, b.mul(n0, number(tile.size))), w["b_step"], w["k"], width, vectors])
        b.ret_void()
        self.text = str(m.module)


def code(size: int) -> Code:
    """The kernel for elements of this size."""
    tile = tile_for(size)
    return Code.of(f"panels {tile}", lambda: _Panels(tile).text)
