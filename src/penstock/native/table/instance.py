"""The memory of a running step: an *instance* of a table has an arena and words of its own, so that several steps can run at the same time."""
from __future__ import annotations

import ctypes
import itertools
import struct
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array, Buffer, KernelCall
from penstock.native.machine.abi import ARRAY_DATA, OUT_OF_MEMORY
from penstock.native.machine.driver import BINDING, CALL, HEADER, MOST_PARTS, UNKNOWN
from penstock.native.machine.team import caller, native_driver, team
from penstock.native.table import arena

if TYPE_CHECKING:
    from penstock.native.table.call_table import CallTable

_PATTERN = 0xA5
_LARGE = 16 << 20  # bytes of an arena
_BOARD = HEADER.index("board")


def _give_back() -> None:
    """Returns to the system what is free in the heap, where NumPy's first steps and the compiler have left much: the arena takes its place."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # (of the GNU library)
        if trim is not None:
            trim(0)


class Instance:
    """The memory of one running step: arena, cells (the addresses of all arrays), words (the arguments of all calls), header."""

    def __init__(self, table: CallTable) -> None:
        self._table = table  # keeps the code in memory
        self._lists: list[np.ndarray] = []  # before anything can fail: ``__del__`` looks at it
        if table.arena_bytes >= _LARGE:
            _give_back()
        self._arena = np.empty(table.arena_bytes + arena.ALIGNMENT, np.uint8)
        if arena.GUARD:
            self._arena.fill(_PATTERN)
        self._base = -(-self._arena.__array_interface__["data"][0] // arena.ALIGNMENT) * arena.ALIGNMENT
        self._cells: dict[tuple[Buffer, int], int] = {}
        self._bindings: list[int] = []
        self._constants: list[np.ndarray] = []
        operands = [array for call in table.calls for array in call.operands]
        self._cell_memory = np.zeros(len(operands) + 1, np.int64)
        self._cells_at = self._cell_memory.__array_interface__["data"][0]
        self._words = self._fill(table.calls)
        arrays = len(table.inputs) + len(table.outputs)
        self._ids = ctypes.create_string_buffer(8 * max(arrays, 1))
        self._pack = struct.Struct(f"{arrays}n").pack_into
        self._binding_table = np.array(self._bindings or [0], np.int64)
        self._call_table = self._table_of(table.calls)
        kind = ctypes.PYFUNCTYPE if table.brief else ctypes.CFUNCTYPE  # giving up Python's lock takes time, and getting it back longer
        self._run = kind(ctypes.c_int64, ctypes.c_void_p)(native_driver().addresses["run"])
        self._header = np.zeros(len(HEADER), np.int64)
        self._header[:] = (len(self._bindings) // len(BINDING), _address(self._binding_table), ctypes.addressof(self._ids), self._cells_at,
                           len(table.calls), _address(self._call_table), self._base + table.offsets[table.status.buffer], team.board, 0, 0)
        self._at = _address(self._header)

    def _cell(self, array: Array) -> int:
        """The index of the cell that holds the address of the array's first element."""
        buffer, key = array.buffer, (array.buffer, array.offset)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = len(self._cells)
            if buffer.kind == "arena":
                self._cell_memory[cell] = self._base + self._table.offsets[buffer] + array.offset
            elif buffer.kind == "list":
                self._lists.append(np.zeros(3, np.int64))
                self._cell_memory[cell] = _address(self._lists[-1])
            elif buffer.kind == "constant":
                assert buffer.value is not None
                self._constants.append(buffer.value)
                self._cell_memory[cell] = _address(buffer.value) + array.offset
            else:
                position = buffer.position + (len(self._table.inputs) if buffer.kind == "output" else 0)
                self._bindings += [cell, position, array.offset]
        return cell

    def _fill(self, calls: Sequence[KernelCall]) -> np.ndarray:
        pieces = []
        for call in calls:
            if call.code is None:
                self._cell(call.operands[0])
                continue
            heads = [self._head(operands) for operands in call.operands_of_parts or [call.operands]]
            longest = max(map(len, call.parts))
            pieces += [head + part + bytes(longest - len(part)) for head, part in zip(itertools.cycle(heads), call.parts)]
        return np.frombuffer(bytearray(b"".join(pieces) or bytes(8)), np.int64)

    def _head(self, operands: Sequence[Array]) -> bytes:
        return struct.pack(f"{len(operands)}q", *[self._cells_at + 8 * self._cell(array) - ARRAY_DATA for array in operands])

    def _table_of(self, calls: Sequence[KernelCall]) -> np.ndarray:
        rows, at = [], _address(self._words)
        for call in calls:
            if call.code is None:  # a jump: see ``driver.CALL``
                rows += [0, self._cells_at + 8 * self._cell(call.operands[0]), call.target, 0, 0]
                continue
            operands = call.operands if call.operands_of_parts is None else call.operands_of_parts[0]
            stride = 8 * len(operands) + max(map(len, call.parts))
            assert len(call.parts) <= MOST_PARTS
            for code in call.uses:
                code.compile()
            rows += [call.code.address, at, stride, len(call.parts), UNKNOWN]
            at += stride * len(call.parts)
        return np.array(rows or [0], np.int64)

    def run(self, arrays: Sequence[np.ndarray], between: Callable[[], None]) -> int:
        """The index of the call that failed, or -1. ``between`` is called now and then while loops go on, and may raise something to end the run."""
        if self._table.parallel:
            self._call_team()
        self._pack(self._ids, 0, *map(id, arrays))
        result = self._run(self._at)
        return result if result >= -1 else self._go_on(result, between)

    def _go_on(self, result: int, between: Callable[[], None]) -> int:
        """The rest of a run that came back as a slice of time was over: see ``driver.py``. An instance whose run is ended early is not used again."""
        while result < -1:
            between()
            self._header[HEADER.index("start")] = -2 - result
            if self._table.parallel:
                self._call_team()
            result = self._run(self._at)
        self._header[HEADER.index("start")] = 0
        return result

    def _call_team(self) -> None:
        """Has the team help, or keeps it out: threads that are still awake would help unasked."""
        if caller.alone:
            self._header[_BOARD] = team.board_of_nobody
        else:
            self._header[_BOARD] = team.board
            team.wake(self._table.threads)

    def __del__(self) -> None:
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native_driver().addresses["release"])
        for descriptor in self._lists:
            if descriptor[1]:  # its own elements, not those of a list that it reads
                release(int(descriptor[2]))

    def read(self, array: Array) -> np.ndarray:
        """A copy of an array, as the last run left it."""
        memory = (ctypes.c_char * max(array.buffer.nbytes - array.offset, 1)).from_address(int(self._cell_memory[self._cell(array)]))
        return np.ndarray(array.shape, array.dtype, memory, 0, array.strides).copy()  # type: ignore[arg-type]

    def iterations(self, index: int) -> list[tuple[KernelCall, int]]:
        """The loops around a call, inner ones first, each as its jump to the top, and how many iterations it had ended before the run stopped there.

        The jump out of a loop counts how often it was not taken, and forgets it when it is: see ``driver.py``.
        """
        calls, loops = self._table.calls, []
        for top, back in self._table.loops:
            if top <= index <= back:
                leave = next(i for i in range(top, back) if calls[i].code is None and calls[i].target == back + 1)
                begun = int(self._call_table[len(CALL) * leave + CALL.index("parts")])
                loops.append((calls[back], begun - (index > leave)))
        return loops

    def overrun(self) -> list[Buffer]:
        """Buffers beyond whose end a kernel has written, if there are guards."""
        start = self._base - _address(self._arena)
        ends = {buffer: start + offset + buffer.nbytes for buffer, offset in self._table.offsets.items()}
        return [buffer for buffer, end in ends.items() if (self._arena[end:end + arena.GUARD] != _PATTERN).any()]

    def run_timed(self, arrays: Sequence[np.ndarray], between: Callable[[], None]) -> tuple[int, list[int]]:
        """``run``, and the clock cycles of each call."""
        stamps = np.zeros(len(self._table.calls) + 1, np.int64)
        self._header[HEADER.index("times")] = _address(stamps)
        try:
            failed = self.run(arrays, between)
        finally:
            self._header[HEADER.index("times")] = 0
        for index in np.flatnonzero(stamps[:-1] == 0)[::-1]:  # a call of a branch that was not taken
            stamps[index] = stamps[index + 1]
        return failed, np.maximum(np.diff(stamps), 0).tolist()


class Failure:
    """A call that refused its inputs, and the memory in which they still are."""

    def __init__(self, index: int, instance: Instance) -> None:
        self.call, self._instance = instance._table.calls[index], instance
        self.loops = [(call.nodes[0].node, count) for call, count in instance.iterations(index)]  # around it, and their iterations
        self.out_of_memory = self.value(instance._table.status)[0] == OUT_OF_MEMORY

    def value(self, array: Array) -> np.ndarray:
        """What an array holds."""
        return self._instance.read(array)


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
