"""The inner loop of all contractions: a tile of C, in registers, plus the product of a packed piece of A with a panel of B. As LLVM IR.

    C[i, j] = min(max(added[i, j] + alpha * sum over k of A[i, k] * B[k, j], lower_bound), upper_bound)

A is read by rows, at any distance from each other ("rows"): those of a buffer, of the matrix itself, or windows of an image, which overlap. Their
elements lie side by side, in segments. Or there is one short row for each k ("columns"), as a transposed matrix has: that itself, or a buffer. There
is a function for each way, even number of rows and number of vectors that a tile can have; a table holds their addresses. Most of a product's code is
in them, and a program seldom needs half of them, so each is a module, compiled when a product has such tiles. Code for other machines has all of
them in the module of the product. They are written as text: that takes less time than llvmlite's builder.
"""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence

from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.tile import LINE, PAIR, Tile, TileModule
from penstock.native.machine import target
from penstock.native.machine.codegen import FINAL
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I64, IR, POINTER, VOID, Literal, declare, declare_prefetch, suffix


class _Pointed:
    """A function known by its address: llvmlite wants to see its type."""

    def __init__(self, pointer: IR, function_type: ir.FunctionType) -> None:
        self.type, self.function_type, self.get_reference = pointer.type, function_type, pointer.get_reference


class MicroKernels:
    """The functions ``micro(a, a_step, segment, jump, b, b_step, ahead, ahead_step, added, added_step, c, c_step, k, terms, alpha, lower_bound,
    upper_bound)``; ``text`` belongs to the module, and has their definitions if they are ``inside``.

    Steps are in bytes; ``a_step`` leads to the next row of A, or to the next k if A lies in columns. Rows of A have segments of so many elements (at
    least 1), and ``jump`` leads from the end of one to the next. With each k, large tiles have the cache fetch what is at ``ahead``, which moves on
    by ``ahead_step``: many such requests at once would hold up the loads that follow them. No more than ``terms`` products (at least 1, and all of
    them if there are several segments) are added up in registers before they go to C: the shorter a sum, the less it rounds.
    """

    def __init__(self, module: TileModule, inside: bool) -> None:
        self.tile = module.tile
        scalar = self.tile.scalar
        self.type = ir.FunctionType(VOID, [POINTER, *[I64] * 3, *[POINTER, I64] * 4, I64, I64, *[scalar] * 3])
        self.table: ir.GlobalVariable | None = None
        self.text = ""
        if inside:
            functions = [_Micro(module, *size) for size in _sizes(self.tile)]
            self.text = "\n".join(each.text("internal ") for each in functions)
            table_type = ir.ArrayType(POINTER, len(functions))
            self.table = ir.GlobalVariable(module.module, table_type, "micro_kernels")
            self.table.linkage, self.table.global_constant = "internal", True
            self.table.initializer = ir.Constant(table_type, [Literal(POINTER, f"@{each.name}") for each in functions])

    def choose(self, b: ir.IRBuilder, table: IR, columns: IR, rows: IR, vectors: IR) -> IR:
        """The function for a tile of this size; ``table``: the address of those outside; ``columns`` is how A lies in its buffer, as 0 or 1."""
        width = b.add(b.mul(columns, number(self.tile.vectors)), b.sub(vectors, number(1)))
        index = b.add(b.mul(width, number(self.tile.rows // PAIR)), b.sub(b.udiv(rows, number(PAIR)), number(1)))
        first = b.inttoptr(table, POINTER) if self.table is None else self.table
        return b.load(b.gep(first, [index], source_etype=POINTER), typ=POINTER)

    def call(self, b: ir.IRBuilder, function: IR, arguments: Sequence[IR]) -> None:
        """Calls one of them by its address."""
        b.call(_Pointed(function, self.type), arguments)


def are_inside() -> bool:
    """Does the module of a product hold its micro-kernels? For other machines, where nobody fills in a table."""
    return target.foreign() is not None


def _sizes(tile: Tile) -> Iterator[tuple[bool, int, int]]:
    """Those that tiles can have, in the order of the table: how A lies, rows, vectors."""
    for columns in (False, True):
        for vectors in range(1, tile.vectors + 1):
            for rows in range(PAIR, tile.rows + 1, PAIR):
                yield columns, rows, vectors


_tables: dict[Tile, ctypes.Array[ctypes.c_void_p]] = {}


def _table(tile: Tile) -> ctypes.Array[ctypes.c_void_p]:
    """The addresses of the micro-kernels that are linked. It lives as long as the process: calls have its address. If several threads make it
    at once, all get the first: another one would stay empty, or vanish under the calls that have its address."""
    table = _tables.get(tile)
    return table if table is not None else _tables.setdefault(tile, (ctypes.c_void_p * len(list(_sizes(tile))))())


def micro_table(tile: Tile) -> int:
    """The address of the table that calls in this process use; 0 if the micro-kernels are in the module."""
    return 0 if are_inside() else ctypes.addressof(_table(tile))


@functools.cache
def micro_code(tile: Tile, columns: bool, rows: int, vectors: int) -> Code:
    """One micro-kernel, which goes to the table when it is linked."""
    place = list(_sizes(tile)).index((columns, rows, vectors))

    def build() -> str:
        module = TileModule(tile)
        definition = _Micro(module, columns, rows, vectors).text()
        return f"{FINAL}{module.module}\n{definition}\n"

    return Code.of(f"micro-kernel {columns} {rows} {vectors} {tile}", build, name_of(columns, rows, vectors),
                   linked=lambda address: _table(tile).__setitem__(place, address))


def every_micro_code(tile: Tile) -> list[Code]:
    """The micro-kernels of all tiles."""
    return [micro_code(tile, *size) for size in _sizes(tile)]


def name_of(columns: bool, rows: int, vectors: int) -> str:
    """The function's name."""
    return f"micro_{'columns' if columns else 'rows'}_{rows}x{vectors}"


def _multiplication(module: TileModule) -> str | None:
    """The function that multiplies vectors: adds a product, or four of bytes, to a sum, or those of pairs to each other; None if there is none."""
    tile, kind = module.tile, module.tile.vector
    if not tile.integer:
        return declare(module.module, f"llvm.fmuladd.{suffix(kind)}", kind, [kind] * 3).get_reference()
    if tile.packed == 4:  # ``byte_words.possible``
        return declare(module.module, f"llvm.x86.avx512.vpdpbusd.{32 * tile.lanes}", kind, [kind] * 3).get_reference()
    name = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[tile.lanes] if target.triple().startswith(("x86", "i686")) else ""
    if tile.packed == 1 or not name:
        return None
    halves = ir.VectorType(ir.IntType(16), 2 * tile.lanes)
    return declare(module.module, f"llvm.x86.{name}", kind, [halves, halves]).get_reference()


class _Micro:
    """One of the functions."""

    def __init__(self, module: TileModule, columns: bool, rows: int, vectors: int) -> None:
        tile = self.tile = module.tile
        self.rows, self.vectors, self.columns, self.name = rows, vectors, columns, name_of(columns, rows, vectors)
        self.multiply, self.prefetch = _multiplication(module), declare_prefetch(module.module).get_reference()
        # By measurement: with AVX-512 two k at a time make the loop over columns faster, not that over rows; small tiles are not worth the code.
        # Shorter vectors have fewer sums in registers, so more of a loop is overhead.
        self.unroll = 2 if (columns or not tile.masks) and rows + 2 * PAIR >= tile.rows and vectors == tile.vectors else 1
        self.asks = rows + 2 * PAIR >= tile.rows and vectors == tile.vectors  # smaller ones have too little to do meanwhile
        self.scalar, self.vector = str(tile.scalar), str(tile.vector)
        self.offsets = [v * tile.lanes * tile.size for v in range(vectors)]
        self.lines: list[str] = []
        self.count = 0

    def text(self, linkage: str = "") -> str:
        """Its definition."""
        number_type = self.scalar
        self.lines = [f"define {linkage}void @{self.name}(ptr %a, i64 %a_step, i64 %segment, i64 %jump, ptr %b, i64 %b_step, "
                      "ptr %ahead, i64 %ahead_step, ptr %added, i64 %added_step, ptr %c, i64 %c_step, i64 %k, i64 %terms, "
                      f"{number_type} %alpha, {number_type} %lower_bound, {number_type} %upper_bound) noinline nounwind {{",
                      "entry:", *(f"  %row{index} = mul i64 %a_step, {index}" for index in range(self.rows))]
        self._ask_for_c()
        self.lines += ["  br label %sum", "sum:"]
        head = len(self.lines)
        far = self._value("add i64 %start, %terms")
        last = self._value(f"icmp sge i64 {far}, %k")
        stop = self._value(f"select i1 {last}, i64 %k, i64 {far}")
        state = ["%a_now", "%b_now", "%ahead_now", *["zeroinitializer"] * (self.rows * self.vectors)]
        a, panel, ahead, *sums = self._products("sum", "%start", stop, state) if self.columns else self._segments(stop, state)
        self._epilogue(sums, [self._value(f"select i1 {last}, {number_type} {bound}, {number_type} {none.get_reference()}")
                              for bound, none in (("%lower_bound", self.tile.lowest), ("%upper_bound", self.tile.highest))])
        self.lines += [f"  br i1 {last}, label %done, label %sum", "done:", "  ret void", "}"]
        end = "each.done" if self.columns else "parts.done"
        names = {"start": ("i64", "0", stop), "a_now": ("ptr", "%a", a), "b_now": ("ptr", "%b", panel), "ahead_now": ("ptr", "%ahead", ahead),
                 "added_now": ("ptr", "%added", "%c"), "added_step_now": ("i64", "%added_step", "%c_step")}
        self.lines[head:head] = [f"  %{name} = phi {kind} [{first}, %entry], [{again}, %{end}]" for name, (kind, first, again) in names.items()]
        return "\n".join(self.lines)

    def _segments(self, stop: str, state: list[str]) -> list[str]:
        """From ``%start`` on, segment after segment."""
        kinds = ["i64", *self._kinds(state)]
        phis = [f"%part{index}" for index in range(len(kinds))]
        self.lines += ["  br label %part", "part:"]
        head = len(self.lines)
        far = self._value(f"add i64 {phis[0]}, %segment")
        last = self._value(f"icmp sge i64 {far}, {stop}")
        end = self._value(f"select i1 {last}, i64 {stop}, i64 {far}")
        a, *rest = self._products("part", phis[0], end, phis[1:])
        following = self._place(a, "%jump")
        self.lines += [f"  br i1 {last}, label %parts.done, label %part", "parts.done:"]
        self.lines[head:head] = [f"  {phi} = phi {kind} [{first}, %sum], [{again}, %each.done]"
                                 for phi, kind, first, again in zip(phis, kinds, ["%start", *state], [end, following, *rest])]
        return [a, *rest]

    def _products(self, before: str, start: str, stop: str, state: list[str]) -> list[str]:
        """Adds the products of a range of k."""
        if self.unroll > 1:
            count = self._value(f"sub i64 {stop}, {start}")
            whole = self._value(f"add i64 {start}, {self._value(f'and i64 {count}, {-self.unroll}')}")
            state, start, before = self._loop("pairs", before, start, whole, self.unroll, state), whole, "pairs.done"
        return self._loop("each", before, start, stop, 1, state)

    def _kinds(self, state: list[str]) -> list[str]:
        return ["ptr", "ptr", "ptr", *[self.vector] * (len(state) - 3)]

    def _value(self, expression: str) -> str:
        """A new name for the value of an expression."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {expression}")
        return f"%v{self.count}"

    def _place(self, pointer: str, offset: int | str) -> str:
        """A pointer moved by bytes."""
        return pointer if offset == 0 else self._value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def _load(self, pointer: str, kind: str) -> str:
        return self._value(f"load {kind}, ptr {pointer}, align {self.tile.size}")

    def _splat(self, value: str) -> str:
        lane = self._value(f"insertelement {self.vector} poison, {self.scalar} {value}, i32 0")
        return self._value(f"shufflevector {self.vector} {lane}, {self.vector} poison, <{self.tile.lanes} x i32> zeroinitializer")

    def _add_product(self, total: str, x: str, y: str) -> str:
        if self.tile.packed == 4:
            return self._value(f"call {self.vector} {self.multiply}({self.vector} {total}, {self.vector} {x}, {self.vector} {y})")
        if self.tile.packed == 2:
            return self._value(f"add {self.vector} {total}, {self._product_of_pairs(x, y)}")
        if self.tile.integer:
            return self._value(f"add {self.vector} {total}, {self._value(f'mul {self.vector} {x}, {y}')}")
        return self._value(f"call {self.vector} {self.multiply}({self.vector} {x}, {self.vector} {y}, {self.vector} {total})")

    def _product_of_pairs(self, x: str, y: str) -> str:
        """x[0] * y[0] + x[1] * y[1] of the pairs in each lane."""
        if self.multiply is not None:
            halves = f"<{2 * self.tile.lanes} x i16>"
            left, right = (self._value(f"bitcast {self.vector} {value} to {halves}") for value in (x, y))
            return self._value(f"call {self.vector} {self.multiply}({halves} {left}, {halves} {right})")
        half = self._splat("16")
        upper = [self._value(f"ashr {self.vector} {value}, {half}") for value in (x, y)]
        lower = [self._value(f"ashr {self.vector} {self._value(f'shl {self.vector} {value}, {half}')}, {half}") for value in (x, y)]
        products = [self._value(f"mul {self.vector} {left}, {right}") for left, right in (upper, lower)]
        return self._value(f"add {self.vector} {products[0]}, {products[1]}")

    def _ask_for_c(self) -> None:
        """The cache is to have the tile of C when its sums are there."""
        place = "%c"
        for row in range(self.rows):
            place = self._place(place, "%c_step") if row else place
            for offset in range(0, self.vectors * self.tile.lanes * self.tile.size, LINE):
                self._ask_for(self._place(place, offset))

    def _ask_for(self, place: str) -> None:
        """The first-level cache is to have what is at a place."""
        self.lines.append(f"  call void {self.prefetch}(ptr {place}, i32 0, i32 3, i32 1)")

    def _loop(self, name: str, before: str, start: str, stop: str, unroll: int, state: list[str]) -> list[str]:
        """for k in range(start, stop, unroll). The state is the three pointers and the tile."""
        kinds = ["i64", *self._kinds(state)]
        phis = [f"%{name}{index}" for index in range(len(kinds))]
        self.lines += [f"  br label %{name}", f"{name}:"]
        head = len(self.lines)
        more = self._value(f"icmp slt i64 {phis[0]}, {stop}")
        self.lines += [f"  br i1 {more}, label %{name}.body, label %{name}.done", f"{name}.body:"]
        after = [self._value(f"add i64 {phis[0]}, {unroll}"), *self._steps(unroll, phis[1:])]
        self.lines += [f"  br label %{name}", f"{name}.done:"]
        self.lines[head:head] = [f"  {phi} = phi {kind} [{first}, %{before}], [{again}, %{name}.body]"
                                 for phi, kind, first, again in zip(phis, kinds, [start, *state], after)]
        return phis[1:]

    def _steps(self, unroll: int, state: list[str]) -> list[str]:
        a, panel, ahead, *sums = state
        for _ in range(unroll):
            if self.asks:
                self._ask_for(ahead)
                ahead = self._place(ahead, "%ahead_step")
            right = [self._load(self._place(panel, offset), self.vector) for offset in self.offsets]
            panel = self._place(panel, "%b_step")
            for i in range(self.rows):
                left = self._splat(self._load(self._place(a, i * self.tile.size if self.columns else f"%row{i}"), self.scalar))
                for v, factor in enumerate(right):
                    sums[i * self.vectors + v] = self._add_product(sums[i * self.vectors + v], left, factor)
            a = self._place(a, "%a_step" if self.columns else self.tile.size)
        return [a, panel, ahead, *sums]

    def _epilogue(self, sums: list[str], bounds: list[str]) -> None:
        alpha, lower_bound, upper_bound = map(self._splat, ("%alpha", *bounds))
        added, c = "%added_now", "%c"
        for index, total in enumerate(sums):
            row, v = divmod(index, self.vectors)
            if row and not v:
                added, c = self._place(added, "%added_step_now"), self._place(c, "%c_step")
            given = self._load(self._place(added, self.offsets[v]), self.vector)
            value = self._value(f"add {self.vector} {given}, {total}") if self.tile.packed > 1 else self._add_product(given, total, alpha)
            for beyond, bound in (("lt", lower_bound), ("gt", upper_bound)):  # of NaN neither holds
                outside = self._value(f"{'icmp s' if self.tile.integer else 'fcmp o'}{beyond} {self.vector} {value}, {bound}")
                value = self._value(f"select <{self.tile.lanes} x i1> {outside}, {self.vector} {bound}, {self.vector} {value}")
            self.lines.append(f"  store {self.vector} {value}, ptr {self._place(c, self.offsets[v])}, align {self.tile.size}")
