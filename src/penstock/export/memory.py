"""Where everything is: the memory of a model, which the host program provides, and its weights.

    the model:    variables | team | words and cells of all tables | weights that ``init`` prepares | arena
    the weights:  constants, and the first values of variables

Quantised weights are prepared by ``init``: it makes floats of them, and the calls over them. Floats that no step needs are made in the arena.

Words and cells (``native/machine/abi.py``) are made by ``init`` out of a *template*, in which addresses are offsets: of the model, or of the weights.
"""
from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.export.freezing import FrozenVariable
from penstock.export.quantising import Quantised
from penstock.export.tables import ALIGNMENT, FrozenTable
from penstock.export.threads import TEAM_BYTES
from penstock.native.calls import Array, Buffer, Code, KernelCall
from penstock.native.machine import driver
from penstock.native.machine.abi import ARRAY_DATA

WORD = 8  # bytes, also where addresses are shorter


def round_up(extent: int, multiple: int = ALIGNMENT) -> int:
    """The next multiple."""
    return -(-extent // multiple) * multiple


class PackedConstants:
    """Constants, one after the other, equal ones once."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._pieces: list[bytes] = []
        self._places: dict[bytes, int] = {}

    def place(self, value: np.ndarray) -> int:
        """Where a constant is."""
        content = np.ascontiguousarray(value).tobytes()
        digest = hashlib.sha256(content).digest()
        place = self._places.get(digest)
        if place is None:
            place = self._places[digest] = self.nbytes
            padded = round_up(max(len(content), 1))
            self._pieces.append(content + bytes(padded - len(content)))
            self.nbytes += padded
        return place

    def content(self) -> bytes:
        """All of them."""
        return b"".join(self._pieces)


@dataclass
class PlacedCall:
    """A call as the runtime makes it: where its words are, and how far apart those of its parts; or a jump, if ``kernel`` is None."""

    kernel: int | None
    words: int  # an offset in the model; of a jump, that of the cell with the address of its condition
    stride: int = 0
    parts: int = 1
    target: int = -1
    checks: bool = False  # can it fail?
    fastest: int = -1  # of a call whose parts threads share, a word that they time it by: an offset in the model
    label: str = ""


@dataclass
class Binding:
    """A cell that a run has to fill: with the address of a feed or fetch, plus an offset."""

    cell: int  # an offset in the model
    argument: int  # feeds first
    offset: int


@dataclass
class PlacedTable:
    """A table of the model."""

    steps: list[PlacedCall] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    # (which argument, "weights" or "model", the place there, bytes): fetches that are known, or variables
    copies: list[tuple[int, str, int, int]] = field(default_factory=list)
    status: int = 0  # an offset in the model


@dataclass
class Expansion:
    """Quantised weights that ``init`` makes floats of: places in the weights, how many numbers and scales, and where the floats go."""

    numbers: int
    scales: int
    count: int
    channels: int
    base: str  # "stays" or "arena"
    place: int


@dataclass
class PreparedCall:
    """A call that ``init`` makes: the floats that it needs, its kernel, and where the words of its parts are."""

    before: list[Expansion]
    kernel: int
    words: list[int]


class ExportedMemory:
    """The layout of a model."""

    def __init__(self, variables: Sequence[FrozenVariable], tables: Sequence[FrozenTable], kernels: dict[Code, int],
                 quantised: dict[int, Quantised] | None = None, prepared: Sequence[KernelCall] = (), threads: int = 1) -> None:
        self.weights = PackedConstants()
        self.variables: dict[FrozenVariable, int] = {}
        self._kernels = kernels
        size = 0
        for variable in variables:
            self.variables[variable] = size
            size += round_up(max(variable.value.nbytes, 1))
        self.weights_at = -1  # a word with the address of the weights, if a run needs it
        if any(not isinstance(output, Array) for table in tables for output in table.outputs):
            self.weights_at, size = size, size + ALIGNMENT
        self.tables_at = size
        self.threads = threads
        self._words = [0] * (TEAM_BYTES // WORD) if threads > 1 else []  # the team of threads comes first, where lines of the cache begin
        self._pending: list[tuple[int, str, int]] = []  # (index of a word, what it is relative to, an offset)
        self._quantised = quantised or {}
        self._stays: dict[int, int] = {}  # prepared weights, by identity: where they are, from the beginning of all such
        self._stays_bytes = 0
        self._direct = {id(array.buffer.value) for table in tables for call in table.calls for array in call.operands
                        if array.buffer.kind == "constant" and id(array.buffer.value) in self._quantised}
        self.tables = [self._place(table) for table in tables]
        self.expansions: list[Expansion] = []
        self.preparation, scratch = self._prepare(prepared)
        self.mark = self.append([0], 0)  # a word that ``init`` sets last, and that steps look at first
        self.stays = round_up(self.tables_at + WORD * len(self._words))
        self.arena = self.stays + self._stays_bytes
        self.nbytes = self.arena + round_up(max([scratch, *(table.arena_bytes for table in tables)]))
        self.moved: list[int] = []  # words that are places in the model,
        self.weighed: list[int] = []  # and in the weights
        for index, base, offset in self._pending:
            self._words[index] = offset + (self.arena if base == "arena" else self.stays if base == "stays" else 0)
            (self.weighed if base == "weights" else self.moved).append(index)
        for placed in self.tables:
            placed.status += self.arena
        self.first_values = [(place, self.weights.place(variable.value), variable.value.nbytes) for variable, place in self.variables.items()]

    @property
    def template(self) -> list[int]:
        """The words and cells of all tables."""
        return self._words

    def _place(self, table: FrozenTable) -> PlacedTable:
        return _Placing(self, table).placed

    def cell_of(self, table: FrozenTable, array: Array, placed: PlacedTable, feeds: int, outputs: dict[Buffer, int],
                inputs: dict[Buffer, int]) -> int:
        """A new cell with the address of an array's first element: its offset in the model."""
        index, buffer = len(self._words), array.buffer
        at = self.tables_at + WORD * index
        self._words.append(0)
        if buffer in table.variables:
            self._pending.append((index, "model", self.variables[table.variables[buffer]] + array.offset))
        elif buffer.kind == "constant":
            assert buffer.value is not None
            if id(buffer.value) in self._quantised:
                self._pending.append((index, "stays", self._stay(buffer.value) + array.offset))
            else:
                self._pending.append((index, "weights", self.weights.place(buffer.value) + array.offset))
        elif buffer.kind == "prepared":
            assert buffer.value is not None
            self._pending.append((index, "stays", self._stay(buffer.value) + array.offset))
        elif buffer in inputs or buffer in outputs:
            argument = inputs[buffer] if buffer in inputs else feeds + outputs[buffer]
            placed.bindings.append(Binding(at, argument, array.offset))
        else:
            self._pending.append((index, "arena", table.offsets[buffer] + array.offset))
        return at

    def _stay(self, value: np.ndarray) -> int:
        """Where a prepared weight is, from the beginning of all such."""
        if id(value) not in self._stays:
            self._stays[id(value)] = self._stays_bytes
            self._stays_bytes += round_up(max(value.nbytes, 1))
        return self._stays[id(value)]

    def _prepare(self, calls: Sequence[KernelCall]) -> tuple[list[PreparedCall], int]:
        """What ``init`` does with quantised weights, in order, and the bytes of the arena that it needs. Each call finds its floats in the arena."""
        for value in self._direct:
            self.expansions.append(self._expansion(value, "stays", self._stays[value]))
        made: list[PreparedCall] = []
        most = 0
        for call in calls:
            before, places, used = list[Expansion](), dict[int, int](), 0
            for array in call.operands:
                value = id(array.buffer.value)
                if array.buffer.kind == "constant" and value in self._quantised and value not in places:
                    places[value] = used
                    before.append(self._expansion(value, "arena", used))
                    used += round_up(4 * self._quantised[value].numbers.size)
            most = max(most, used)
            cells = [self._prepared_cell(array, places) - ARRAY_DATA for array in call.operands]
            numbers = [[*cells, *struct.unpack(f"{len(part) // WORD}q", part)] for part in call.parts]
            made.append(PreparedCall(before, self.kernel(call), [self.append(words, len(cells)) for words in numbers]))
        return made, most

    def _expansion(self, value: int, base: str, place: int) -> Expansion:
        made = self._quantised[value]
        return Expansion(self.weights.place(made.numbers), self.weights.place(made.scales), made.numbers.size, made.scales.size, base, place)

    def _prepared_cell(self, array: Array, floats: dict[int, int]) -> int:
        index, value = len(self._words), array.buffer.value
        assert value is not None
        self._words.append(0)
        if id(value) in floats:
            self._pending.append((index, "arena", floats[id(value)] + array.offset))
        elif array.buffer.kind == "prepared":
            self._pending.append((index, "stays", self._stay(value) + array.offset))
        else:
            self._pending.append((index, "weights", self.weights.place(value) + array.offset))
        return self.tables_at + WORD * index

    def kernel(self, call: KernelCall) -> int:
        """The number of a call's kernel."""
        assert call.code is not None
        return self._kernels[call.code]

    def append(self, content: Sequence[int], operands: int) -> int:
        """New words, of which the first so many are places of cells; returns where they are."""
        index = len(self._words)
        self._words += content
        self._pending += [(index + k, "model", content[k]) for k in range(operands)]
        return self.tables_at + WORD * index


class _Placing:
    """Places one table."""

    def __init__(self, memory: ExportedMemory, table: FrozenTable) -> None:
        self._memory, self._table, self.placed = memory, table, PlacedTable(status=table.offsets[table.status])
        self._cells: dict[tuple[Buffer, int], int] = {}
        self._feeds = len(table.inputs)
        self._inputs = {array.buffer: position for position, array in enumerate(table.inputs) if array is not None}
        self._outputs = {array.buffer: position for position, array in enumerate(table.outputs)
                         if isinstance(array, Array) and array.buffer not in table.variables}
        for call in table.calls:
            self.placed.steps.append(self._step(call))
        for position, output in enumerate(table.outputs):
            if not isinstance(output, Array):
                self.placed.copies.append((self._feeds + position, "weights", memory.weights.place(output), output.nbytes))
            elif output.buffer in table.variables:
                self.placed.copies.append((self._feeds + position, "model", memory.variables[table.variables[output.buffer]], output.nbytes))

    def _cell(self, array: Array) -> int:
        key = array.buffer, array.offset
        if key not in self._cells:
            self._cells[key] = self._memory.cell_of(self._table, array, self.placed, self._feeds, self._outputs, self._inputs)
        return self._cells[key]

    def _step(self, call: KernelCall) -> PlacedCall:
        if call.code is None:
            return PlacedCall(None, self._cell(call.operands[0]), target=call.target)
        groups = call.operands_of_parts or [call.operands] * len(call.parts)
        longest = max(map(len, call.parts))
        at = -1
        heads = [[self._cell(array) - ARRAY_DATA for array in operands] for operands in groups]
        for head, part in zip(heads, call.parts):
            padded = part + bytes(longest - len(part))
            start = self._memory.append([*head, *struct.unpack(f"{len(padded) // WORD}q", padded)], len(head))
            at = start if at < 0 else at
        names = ", ".join(dict.fromkeys(f"{item.node.name} ({item.node.definition.type})" for item in call.nodes))
        checks = any(array.buffer is self._table.status for array in call.operands)
        fastest = self._memory.append([driver.UNKNOWN], 0) if self._memory.threads > 1 and len(call.parts) > 1 else -1
        return PlacedCall(self._memory.kernel(call), at, WORD * len(heads[0]) + longest, len(call.parts), checks=checks, fastest=fastest,
                          label=f"{call.label}: {names}")
