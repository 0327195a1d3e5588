"""The text of a fused loop as a kernel. The axes are those of ``native/fusion/nest_layout.py``:

    map        a work item per element; on CPUs per strip of the inner axis and some rows
    rows       a work item, or a group of them, per row that is reduced; after a fold has run through the row, further loops may use its result
    columns    a work item per column; on CPUs per some columns, whose accumulators are an array

Extents and strides, in elements, are numbers that the kernel is given, so one text serves all shapes of the same structure.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.graph import dtypes as dt
from penstock.native.fusion.loop_nest import Fold, Nest, OpStep
from penstock.native.fusion.lowering import lower
from penstock.native.fusion.nest_layout import NestAxis, NestLayout
from penstock.native.fusion.reducers import wide_dtype
from penstock.native.vector.types import VectorValue
from penstock.opencl.builder import SourceBuilder, literal
from penstock.opencl.functions import texts
from penstock.opencl.source import Operand, kernel_text, loaded, memory_name, name_of, narrowed, stored

if TYPE_CHECKING:
    from penstock.opencl.queue import Traits

_COLUMNS = 64  # that a work item of a CPU accumulates


def accumulated(kind: str, dtype: dt.DType, doubles: bool) -> dt.DType:
    """The type of an accumulator."""
    wide = wide_dtype(kind, dtype)
    return wide if doubles or wide is not dt.float64 or dtype is dt.float64 else dt.float32


class NestSource:
    """Writes the kernel; ``numbers`` are the values of its parameters, but for the strips at the end."""

    columns = _COLUMNS

    def __init__(self, nest: Nest, layout: NestLayout, traits: Traits, alone: Sequence[bool], group: int) -> None:
        self.nest, self.layout, self.traits, self.group = nest, layout, traits, group
        self._names: dict[int, str] = {}
        self.b = SourceBuilder(quick=traits.strips)
        self._sizes = [each.dtype.size for each in nest.inputs] + [nest.dtypes[each.value].size for each in nest.outputs]
        body = {"map": self._map, "rows": self._rows, "columns": self._columns}[layout.form]()
        operands = [Operand(f"x{k}", memory_name(dtype), alone[k])
                    for k, dtype in enumerate([each.dtype for each in nest.inputs] + [nest.dtypes[each.value] for each in nest.outputs])]
        self.numbers = list(self._names)
        text = texts(self.b.used, traits.strips)
        self.text = kernel_text(operands, [*self._names.values(), "strip", "rows"], "\n".join(body), text, (group, 1, 1) if group > 1 else None)

    # --- where operands are ----------------------------------------------------------------------------------------------------------------

    def _number(self, value: int) -> str:
        return str(value) if value in (0, 1) else self._names.setdefault(value, f"n{len(self._names)}")

    def _offset(self, axis: NestAxis, operand: int, index: str) -> str:
        step = axis.strides[operand] // self._sizes[operand]
        return "" if not step else index if step == 1 else f"{index} * {self._number(step)}"

    def _along(self, axes: Sequence[tuple[NestAxis, str]], operand: int) -> str:
        return " + ".join(filter(None, (self._offset(axis, operand, index) for axis, index in axes))) or "0"

    def _outer(self) -> tuple[list[str], list[tuple[NestAxis, str]]]:
        """Statements that take the number of a work item apart into the indices of the outer axes."""
        lines, axes = ["long rest = get_global_id(2);"], []
        for number, axis in reversed(list(enumerate(self.layout.outer))):
            extent = self._number(axis.extent)
            lines += [f"long u{number} = rest % {extent};", f"rest /= {extent};"] if number else ["long u0 = rest;"]
            axes.append((axis, f"u{number}"))
        return (lines if self.layout.outer else []), axes

    # --- what is computed ------------------------------------------------------------------------------------------------------------------

    def _compute(self, targets: Iterable[int], env: dict[int, VectorValue], axes: Sequence[tuple[NestAxis, str]]) -> list[str]:
        """Statements that give the targets, of what is in ``env`` already; they join it."""
        start, needed = len(self.b.lines), self.nest.ids_needed_for(targets, env)
        for each in sorted(needed):
            maker = self.nest.makers[each]
            if maker is None:
                dtype = self.nest.inputs[each].dtype
                env[each] = self.b.variable(loaded(dtype, f"x{each}[{self._along(axes, each)}]"), dtype)
        for index, step in enumerate(self.nest.steps):
            first = self.nest.starts[index]
            mine = range(first, first + len(step.dtypes))
            if isinstance(step, OpStep) and any(each in needed for each in mine):
                env.update(zip(mine, lower(self.b, step, [env[operand] for operand in step.operands])))
        lines = self.b.lines[start:]
        del self.b.lines[start:]
        return lines

    def _stores(self, numbers: Iterable[int], env: dict[int, VectorValue], axes: Sequence[tuple[NestAxis, str]]) -> list[str]:
        lines = []
        for number in numbers:
            value, operand = self.nest.outputs[number].value, len(self.nest.inputs) + number
            lines.append(stored(self.nest.dtypes[value], f"x{operand}[{self._along(axes, operand)}]", str(env[value].ir)))
        return lines

    # --- the three forms -------------------------------------------------------------------------------------------------------------------

    def _map(self) -> list[str]:
        layout = self.layout
        outer, axes = self._outer()
        axes = [*axes, (layout.row, "r"), (layout.inner, "i")]
        env: dict[int, VectorValue] = {}
        body = self._compute([output.value for output in self.nest.outputs], env, axes)
        body += self._stores(range(len(self.nest.outputs)), env, axes)
        return [*outer, *self._over_rows(self._over_strip(body))]

    def _over_rows(self, body: list[str]) -> list[str]:
        row = self._number(self.layout.row.extent)
        if not self.traits.strips:
            return [f"long r = get_global_id(1); if (r >= {row}) return;", *body]
        return [f"long r0 = get_global_id(1) * rows, r1 = min(r0 + rows, (long){row});", "for (long r = r0; r < r1; r++) {", *body, "}"]

    def _over_strip(self, body: list[str]) -> list[str]:
        inner = self._number(self.layout.inner.extent)
        if not self.traits.strips:
            return [f"long i = get_global_id(0); if (i >= {inner}) return;", *body]
        return [f"long i0 = get_global_id(0) * strip, i1 = min(i0 + strip, (long){inner});", "#pragma clang loop vectorize(assume_safety)",
                "for (long i = i0; i < i1; i++) {", *body, "}"]

    def _rows(self) -> list[str]:
        nest, layout = self.nest, self.layout
        outer, kept = self._outer()
        kept = [*kept, (layout.row, "r")]
        axes = [*kept, *((axis, f"m{number}") for number, axis in enumerate(layout.middle)), (layout.inner, "i")]
        env: dict[int, VectorValue] = {}
        lines: list[str] = []
        for loop in range(nest.loops):
            lines += self._compute([each for each in self._kept_ids() if nest.phases[each] <= loop], env, kept)
            folds = {start: fold for start, fold in nest.folds.items() if nest.phases[start] == loop + 1}
            whole = [number for number, output in enumerate(nest.outputs) if output.whole and nest.phases[output.value] == loop]
            lines += [f"{self._wide(start)} a{start} = {self._identity(start)};" for start in folds]
            inside = dict(env)
            body = self._compute([*(fold.operands[0] for fold in folds.values()), *(nest.outputs[number].value for number in whole)], inside, axes)
            body += [self._accumulate(start, f"a{start}", str(inside[fold.operands[0]].ir)) for start, fold in folds.items()]
            body += self._stores(whole, inside, axes)
            lines += self._over_reduced(body, bool(folds))
            for start in folds:
                lines += self._group_result(start)
                env[start] = self._result(start, f"a{start}", lines)
        lines += self._compute([output.value for output in nest.outputs if not output.whole], env, kept)
        stores = self._stores([number for number, output in enumerate(nest.outputs) if not output.whole], env, kept)
        lines += ["if (get_local_id(0) == 0) {", *stores, "}"] if self.group > 1 and stores else stores
        return [*outer, *[f"__local {self._wide(start)} g{start}[{self.group}];" for start in nest.folds if self.group > 1], *self._over_rows(lines)]

    def _kept_ids(self) -> list[int]:
        """What is the same for a whole row, and not the result of a fold itself."""
        used = {operand for step in self.nest.steps for operand in step.operands} | {output.value for output in self.nest.outputs}
        return [each for each, kept in enumerate(self.nest.kept) if kept and each in used and each not in self.nest.folds]

    def _over_reduced(self, body: list[str], folds: bool) -> list[str]:
        layout = self.layout
        inner = self._number(layout.inner.extent)
        if self.group > 1:
            lines = [f"for (long i = get_local_id(0); i < {inner}; i += {self.group}) {{", *body, "}"]
        else:
            reorder = ["#pragma clang fp reassociate(on)"] if folds and self.traits.strips else []
            lines = ["{", *reorder, f"for (long i = 0; i < {inner}; i++) {{", *body, "}", "}"]
        for number, axis in reversed(list(enumerate(layout.middle))):
            lines = [f"for (long m{number} = 0; m{number} < {self._number(axis.extent)}; m{number}++) {{", *lines, "}"]
        return lines

    def _group_result(self, start: int) -> list[str]:
        """What the work items of a group have accumulated, put together by halves."""
        if self.group == 1:
            return []
        return [f"g{start}[get_local_id(0)] = a{start};", "barrier(CLK_LOCAL_MEM_FENCE);", f"for (int h = {self.group // 2}; h > 0; h >>= 1) {{",
                f"if (get_local_id(0) < h) {{ {self._combine(start, f'g{start}[get_local_id(0)]', f'g{start}[get_local_id(0) + h]')} }}",
                "barrier(CLK_LOCAL_MEM_FENCE);", "}", f"a{start} = g{start}[0];", "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"]

    def _columns(self) -> list[str]:
        nest, layout = self.nest, self.layout
        outer, kept = self._outer()
        kept = [*kept, (layout.inner, "i")]
        axes = [*kept, *((axis, f"m{number}") for number, axis in enumerate(layout.middle)), (layout.row, "r")]
        env: dict[int, VectorValue] = {}
        inside: dict[int, VectorValue] = {}
        whole = [number for number, output in enumerate(nest.outputs) if output.whole]
        place = "[i - i0]" if self.traits.strips else ""
        body = self._compute([*(fold.operands[0] for fold in nest.folds.values()), *(nest.outputs[number].value for number in whole)], inside, axes)
        body += [self._accumulate(start, f"a{start}{place}", str(inside[fold.operands[0]].ir)) for start, fold in nest.folds.items()]
        body += self._stores(whole, inside, axes)
        end: list[str] = []
        for start in nest.folds:
            env[start] = self._result(start, f"a{start}{place}", end)
        end += self._compute([output.value for output in nest.outputs if not output.whole], env, kept)
        end += self._stores([number for number, output in enumerate(nest.outputs) if not output.whole], env, kept)
        return [*outer, *self._over_columns(body, end)]

    def _over_columns(self, body: list[str], end: list[str]) -> list[str]:
        inner, folds = self._number(self.layout.inner.extent), list(self.nest.folds)
        if not self.traits.strips:
            begin = [f"long i = get_global_id(0); if (i >= {inner}) return;"]
            begin += [f"{self._wide(each)} a{each} = {self._identity(each)};" for each in folds]
            return [*begin, *self._over_middle_and_rows(body), *end]
        over = "for (long i = i0; i < i1; i++) {"
        begin = [f"long i0 = get_global_id(0) * strip, i1 = min(i0 + strip, (long){inner});",
                 *[f"{self._wide(each)} a{each}[{_COLUMNS}];" for each in folds], over,
                 *[f"a{each}[i - i0] = {self._identity(each)};" for each in folds], "}"]
        inside = ["#pragma clang loop vectorize(assume_safety)", over, *body, "}"]
        return [*begin, *self._over_middle_and_rows(inside), over, *end, "}"]

    def _over_middle_and_rows(self, body: list[str]) -> list[str]:
        lines = [f"for (long r = 0; r < {self._number(self.layout.row.extent)}; r++) {{", *body, "}"]
        for number, axis in reversed(list(enumerate(self.layout.middle))):
            lines = [f"for (long m{number} = 0; m{number} < {self._number(axis.extent)}; m{number}++) {{", *lines, "}"]
        return lines

    # --- folds -----------------------------------------------------------------------------------------------------------------------------

    def _fold(self, start: int) -> tuple[Fold, dt.DType, dt.DType]:
        fold = self.nest.folds[start]
        source = self.nest.dtypes[fold.operands[0]]
        return fold, source, accumulated(fold.kind, source, self.traits.doubles)

    def _wide(self, start: int) -> str:
        wide = self._fold(start)[2]
        return "uchar" if wide.is_bool else name_of(wide)

    def _identity(self, start: int) -> str:
        fold, _, wide = self._fold(start)
        if fold.kind in ("and", "or"):
            return str(int(fold.kind == "and"))
        if fold.kind in ("sum", "prod"):
            return literal(int(fold.kind == "prod"), wide)
        if wide.is_floating:
            return literal(float("-inf") if fold.kind == "max" else float("inf"), wide)
        return literal(wide.min if fold.kind == "max" else wide.max, wide)

    def _accumulate(self, start: int, place: str, value: str) -> str:
        return self._combine(start, place, f"({self._wide(start)}){value}")

    def _combine(self, start: int, place: str, value: str) -> str:
        fold, _, wide = self._fold(start)
        if fold.kind in ("and", "or"):
            return f"{place} {'&' if fold.kind == 'and' else '|'}= {value};"
        if fold.kind in ("sum", "prod"):
            sign = "+" if fold.kind == "sum" else "*"
            if wide.is_floating:
                return f"{place} = {place} {sign} {value};"
            unsigned = "ulong" if wide.size == 8 else "uint"
            return f"{place} = ({name_of(wide)})(({unsigned}){place} {sign} ({unsigned}){value});"
        how = ">" if fold.kind == "max" else "<"
        nan = f" || {value} != {value}" if wide.is_floating else ""
        return f"{place} = ({value} {how} {place}{nan}) ? {value} : {place};"

    def _result(self, start: int, place: str, lines: list[str]) -> VectorValue:
        """The accumulated value in the type of the fold's result."""
        dtype = self.nest.folds[start].dtype
        text = f"({place} != 0)" if dtype.is_bool else narrowed(dtype, f"({name_of(dtype)}){place}")
        lines.append(f"{name_of(dtype)} f{start} = {text};")
        return VectorValue(f"f{start}", dtype)
