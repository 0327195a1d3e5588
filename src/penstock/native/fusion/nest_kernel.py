"""The loops of a nest, as LLVM IR: a function ``kernel(words)``.

The space is cut into outer, row, middle and inner axes (``nest_layout`` does that, and writes the words):

    map, rows   for outer: for row: [for each loop of the nest: for middle: for inner]    a row is kept, middle and inner are reduced
    columns     for outer: for block of inner: for middle: for row: for inner             outer and inner are kept, middle and row are reduced

Outer and middle may be several axes each, given by tables; row and inner are one. Every operand (inputs, outputs, scratch) has a stride along each
axis. The inner axis is run through in vectors; only the last one may be partial.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from penstock.native.fusion.loop_nest import Nest, OpStep
from penstock.native.fusion.lowering import lower
from penstock.native.fusion.reducers import Folding, RowAccumulator
from penstock.native.fusion.spills import spills, step_cost
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.elements import Elements, lanes_below, load_uniform, store_lane
from penstock.native.vector.kernel import Kernel
from penstock.native.vector.pieces import advance, loop, number
from penstock.native.vector.types import VectorValue, memory_type
from penstock.native.vector.vectors import I64, IR, LANES, POINTER, VOID, allocate, vector

_MUCH = 1200  # LLVM instructions of a kernel: the time to compile more than that grows out of bounds
COLUMNS = 512  # that are accumulated at a time: accumulators stay in the first cache

# The words after the operands. Then, for each operand: where it begins, its inner stride, its row stride (in bytes). Then the outer and the middle
# table, with the extent and the strides of all operands for each axis.
WORDS = ("outer_start", "outer_stop", "row_start", "row_stop", "middle_start", "middle_stop", "inner_start", "inner_stop", "outer_rank",
         "middle_rank")

Env = dict[int, VectorValue]


def module_for(nest: Nest) -> str:
    """The module, as text. Raises Unsupported."""
    return str(NestKernel(nest).module)


class NestKernel:
    """Writes the kernel of a nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest, self.module = nest, ir.Module()
        self.spilled = spills(nest)
        whole = {output.value: len(nest.inputs) + k for k, output in reversed(list(enumerate(nest.outputs))) if output.whole}
        scratch = {each: len(nest.inputs) + len(nest.outputs) + k for k, each in enumerate(self.spilled)}
        self.stored = whole | scratch  # the operand in which an earlier loop leaves a value
        self.operands = len(nest.inputs) + len(nest.outputs) + len(self.spilled)
        self.locate = self._locate() if any(nest.deep) else None
        self._kernel()

    def _kernel(self) -> None:
        kernel = Kernel(self.module)
        self.b = b = kernel.b
        self.v = VectorBuilder(b, outlined=sum(step_cost(step, self.nest) for step in self.nest.steps) > _MUCH)
        self.words = {name: kernel.word(self.operands + index) for index, name in enumerate(WORDS) if self._is_read(name)}
        after = self.operands + len(WORDS)
        pointers = [advance(b, kernel.operand(k), kernel.word(after + k)) for k in range(self.operands)]
        strided = [k for k, each in enumerate(self.nest.inputs) if each.mode == "strided"]
        self.strides = {k: kernel.word(after + self.operands + k) for k in strided}
        self.row_strides = [kernel.word(after + 2 * self.operands + k) for k in range(self.operands)]
        self.tables = {"outer": kernel.word_place(after + 3 * self.operands)}
        if self.nest.deep[1]:
            self.tables["middle"] = advance(b, self.tables["outer"], b.mul(self.words["outer_rank"], number((1 + self.operands) * 8)))
        self.elements = Elements(b)
        self.foldings = {start: Folding(fold.kind, self.nest.dtypes[fold.operands[0]], fold.dtype) for start, fold in self.nest.folds.items()}
        if self.nest.form == "columns":
            self.columns = {start: allocate(b, folding.wide, COLUMNS) for start, folding in self.foldings.items()}
        else:
            self.rows = {start: RowAccumulator(b, folding) for start, folding in self.foldings.items()}
        with self._over("outer", pointers) as places:
            if self.nest.form == "columns":
                self._columns(places)
            else:
                self._rows(places)
        b.ret_void()

    def _is_read(self, name: str) -> bool:
        outer, middle = self.nest.deep
        return outer or middle if name == "outer_rank" else {"outer": outer, "middle": middle}.get(name.split("_")[0], True)

    # --- where operands are ----------------------------------------------------------------------------------------------

    @contextmanager
    def _over(self, axes: str, pointers: list[IR]) -> Iterator[list[IR]]:
        """For each index over the outer or the middle axes, if there are any: the operands' places."""
        if not self.nest.deep[axes == "middle"]:
            yield pointers
            return
        b = self.b
        with b.goto_entry_block():
            origin, places = allocate(b, POINTER, self.operands), allocate(b, POINTER, self.operands)
        for k, pointer in enumerate(pointers):
            b.store(pointer, b.gep(origin, [number(k)], source_etype=POINTER))
        with loop(b, self.words[f"{axes}_start"], self.words[f"{axes}_stop"]) as index:
            b.call(self.locate, [self.tables[axes], self.words[f"{axes}_rank"], index, origin, places])
            yield [b.load(b.gep(places, [number(k)], source_etype=POINTER), typ=POINTER) for k in range(self.operands)]

    def _at_row(self, pointers: list[IR], row: IR) -> list[IR]:
        return [advance(self.b, pointer, self.b.mul(row, stride)) for pointer, stride in zip(pointers, self.row_strides)]

    def _locate(self) -> ir.Function:
        """locate(table, rank, index, from, to): the places at a linear index over some axes. The first axis needs no division."""
        function = ir.Function(self.module, ir.FunctionType(VOID, [POINTER, I64, I64, POINTER, POINTER]), "locate")
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        table, rank, index, origin, result = function.args
        left, place = allocate(b, I64, 1), allocate(b, I64, 1)
        with loop(b, number(0), number(self.operands)) as k:
            b.store(b.load(b.gep(origin, [k], source_etype=POINTER), typ=POINTER), b.gep(result, [k], source_etype=POINTER))
        b.store(index, left)
        with loop(b, number(0), rank) as step:
            axis = b.sub(b.sub(rank, number(1)), step)
            entry = advance(b, table, b.mul(axis, number((1 + self.operands) * 8)))
            remaining = b.load(left, typ=I64)
            b.store(remaining, place)
            with b.if_then(b.icmp_signed(">", axis, number(0))):
                extent = b.load(entry, typ=I64)
                b.store(b.urem(remaining, extent), place)
                b.store(b.udiv(remaining, extent), left)
            coordinate = b.load(place, typ=I64)
            with loop(b, number(0), number(self.operands)) as k:
                stride = b.load(b.gep(entry, [b.add(k, number(1))], source_etype=I64), typ=I64)
                slot = b.gep(result, [k], source_etype=POINTER)
                b.store(advance(b, b.load(slot, typ=POINTER), b.mul(coordinate, stride)), slot)
        b.ret_void()
        return function

    # --- rows ------------------------------------------------------------------------------------------------------------

    def _rows(self, places: list[IR]) -> None:
        nest = self.nest
        with loop(self.b, self.words["row_start"], self.words["row_stop"]) as row:
            pointers = self._at_row(places, row)
            env: Env = {}
            for index in range(nest.loops):
                self._kept_steps(env, pointers, index)
                self._row_loop(env, pointers, index)
            self._kept_steps(env, pointers, nest.loops)
            for k, output in enumerate(nest.outputs):
                if not output.whole:
                    store_lane(self.v, env[output.value], pointers[len(nest.inputs) + k])

    def _kept_steps(self, env: Env, pointers: Sequence[IR], phase: int) -> None:
        """What can be computed once per row, before a loop."""
        wanted = {each for each, (kept, when) in enumerate(zip(self.nest.kept, self.nest.phases)) if kept and when == phase}
        for each in sorted(wanted):
            if each < len(self.nest.inputs):
                env[each] = load_uniform(self.v, pointers[each], self.nest.inputs[each].dtype)
        self._steps(env, wanted)

    def _row_loop(self, env: Env, pointers: list[IR], index: int) -> None:
        nest, b = self.nest, self.b
        folds = [start for start in nest.folds if nest.phases[start] == index + 1]
        for start in folds:
            self.rows[start].start(b)
        ready = nest.ready(index) | {each for each, when in self.spilled.items() if when < index}
        new = [each for each, when in self.spilled.items() if when == index]
        needed = nest.ids_needed_for([*nest.targets(index), *new], ready)
        reloaded = self._values_to_reload(nest, needed | set(nest.targets(index)), ready)
        with self._over("middle", pointers) as at:
            local = dict(env)
            self._uniforms(local, at, needed)
            with self._inner(self.words["inner_start"], self.words["inner_stop"]) as (position, whole, count):
                self._load(local, at, needed, reloaded, position, whole, count)
                self._steps(local, needed)
                mask = lanes_below(b, count) if folds else None
                for start in folds:
                    self.rows[start].add(b, local[nest.folds[start].operands[0]].ir, mask)
                outputs = [(len(nest.inputs) + k, output.value) for k, output in enumerate(nest.outputs)
                           if output.whole and nest.phases[output.value] == index]
                self._store(local, at, [*outputs, *[(self.stored[each], each) for each in new]], position, whole, count)
        for start in folds:
            env[start] = self.rows[start].finish(self.v)

    def _values_to_reload(self, nest: Nest, wanted: Iterable[int], ready: set[int]) -> list[int]:
        """What earlier loops have stored and this one uses."""
        used = {operand for each in wanted if (maker := nest.makers[each]) is not None and each not in ready for operand in maker.operands}
        used |= {each for each in wanted if each in ready}
        return sorted(each for each in used if each in ready and each in self.stored and not nest.kept[each])

    @contextmanager
    def _inner(self, start: IR, stop: IR) -> Iterator[tuple[IR, IR, IR]]:
        """For each vector along the inner axis: its position, is it whole, how many elements are left. What does not change is taken out of it."""
        b = self.b
        before = b.block
        known = set(b.function.blocks)
        with loop(b, start, stop, LANES) as position:
            count = b.sub(stop, position)
            yield position, b.icmp_signed(">=", count, number(LANES)), count
        _hoist([block for block in b.function.blocks if block not in known], before)

    # --- what is done with a vector --------------------------------------------------------------------------------------

    def _uniforms(self, env: Env, pointers: Sequence[IR], needed: set[int]) -> None:
        for each in sorted(needed):
            if each < len(self.nest.inputs) and self.nest.inputs[each].mode == "uniform":
                env[each] = load_uniform(self.v, pointers[each], self.nest.inputs[each].dtype)

    def _load(self, env: Env, pointers: Sequence[IR], needed: set[int], reloaded: Sequence[int], position: IR, whole: IR, count: IR) -> None:
        nest, b = self.nest, self.b
        ids, places = [], []
        for each in sorted(needed):
            if each < len(nest.inputs) and nest.inputs[each].mode != "uniform":
                ids.append(each)
                stride = self.strides[each] if nest.inputs[each].mode == "strided" else None
                step = number(nest.inputs[each].dtype.size) if stride is None else stride
                places.append((advance(b, pointers[each], b.mul(position, step)), stride, nest.inputs[each].dtype))
        for each in reloaded:
            ids.append(each)
            dtype = nest.dtypes[each]
            places.append((b.gep(pointers[self.stored[each]], [position], source_etype=memory_type(dtype)), None, dtype))
        env.update(zip(ids, self.elements.load(self.v, places, whole, count)))

    def _steps(self, env: Env, wanted: set[int]) -> None:
        """Runs the steps that give some ids."""
        for index, step in enumerate(self.nest.steps):
            start = self.nest.starts[index]
            if isinstance(step, OpStep) and any(start + k in wanted for k in range(len(step.dtypes))):
                results = lower(self.v, step, [env[operand] for operand in step.operands])
                env.update((start + k, result) for k, result in enumerate(results))

    def _store(self, env: Env, pointers: Sequence[IR], stores: Sequence[tuple[int, int]], position: IR, whole: IR, count: IR) -> None:
        kinds = [memory_type(self.nest.dtypes[each]) for _, each in stores]
        places = [(self.b.gep(pointers[operand], [position], source_etype=kind), env[each]) for (operand, each), kind in zip(stores, kinds)]
        self.elements.store(self.v, places, whole, count)

    # --- columns ---------------------------------------------------------------------------------------------------------

    def _columns(self, pointers: list[IR]) -> None:
        b, nest = self.b, self.nest
        with loop(b, self.words["inner_start"], self.words["inner_stop"], COLUMNS) as begin:
            end = b.add(begin, number(COLUMNS))
            end = b.select(b.icmp_signed("<", end, self.words["inner_stop"]), end, self.words["inner_stop"])
            for start, folding in self.foldings.items():
                with loop(b, number(0), b.sub(end, begin), LANES) as column:
                    b.store(folding.empty(), self._column(start, column), align=8)
            with self._over("middle", pointers) as places, loop(b, self.words["row_start"], self.words["row_stop"]) as row:
                self._column_loop(self._at_row(places, row), begin, end)
            kept = [(len(nest.inputs) + k, output.value) for k, output in enumerate(nest.outputs) if not output.whole]
            needed = nest.ids_needed_for([each for _, each in kept], nest.folds)
            env: Env = {}
            self._uniforms(env, pointers, needed)
            with self._inner(begin, end) as (position, whole, count):
                for start, folding in self.foldings.items():
                    total = b.load(self._column(start, b.sub(position, begin)), align=8, typ=vector(folding.wide))
                    env[start] = folding.to_result(self.v, total)
                self._load(env, pointers, needed, (), position, whole, count)
                self._steps(env, needed)
                self._store(env, pointers, kept, position, whole, count)

    def _column(self, start: int, column: IR) -> IR:
        return self.b.gep(self.columns[start], [column], source_etype=self.foldings[start].wide)

    def _column_loop(self, pointers: list[IR], begin: IR, end: IR) -> None:
        nest, b = self.nest, self.b
        needed = nest.ids_needed_for(nest.targets(0))
        env: Env = {}
        self._uniforms(env, pointers, needed)
        with self._inner(begin, end) as (position, whole, count):
            self._load(env, pointers, needed, (), position, whole, count)
            self._steps(env, needed)
            for start, folding in self.foldings.items():
                place = self._column(start, b.sub(position, begin))
                value = folding.widen(b, env[nest.folds[start].operands[0]].ir)
                b.store(folding.combine(b, b.load(place, align=8, typ=value.type), value), place, align=8)
            outputs = [(len(nest.inputs) + k, output.value) for k, output in enumerate(nest.outputs) if output.whole]
            self._store(env, pointers, outputs, position, whole, count)


def _hoist(blocks: Sequence[ir.Block], before: ir.Block) -> None:
    """Moves what does not change in a loop to the block before it: nothing that touches memory, and no calls but LLVM's own."""
    inside = {id(instruction): instruction for block in blocks for instruction in block.instructions}
    for block in blocks:
        staying = []
        for instruction in block.instructions:
            if _pure(instruction) and not any(id(operand) in inside for operand in instruction.operands):
                before.instructions.insert(len(before.instructions) - 1, instruction)
                instruction.parent = before
                del inside[id(instruction)]
            else:
                staying.append(instruction)
        block.instructions[:] = staying


def _pure(instruction: ir.Instruction) -> bool:
    if isinstance(instruction, ir.CallInstr):
        return instruction.callee.name.startswith("llvm.") and not instruction.callee.name.startswith("llvm.masked")
    return instruction.opname not in ("phi", "load", "store", "alloca", "br", "ret", "switch")
