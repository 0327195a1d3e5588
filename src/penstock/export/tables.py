"""The tables of an entry point, one for each batch size. What is computed of constants alone, such as weights cut into panels, is computed now.

The kernels are written for the target, but their IR is not bound to it: LLVM compiles the few that work on constants for this machine, too.
"""
from __future__ import annotations

import ctypes
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.export.failures import CannotExport
from penstock.export.freezing import FrozenStep, FrozenVariable
from penstock.export.quantising import Quantised, is_quantised
from penstock.graph import dtypes
from penstock.native.calls import Array, Buffer, Code, KernelCall
from penstock.native.emitter import Emitter
from penstock.native.machine import target
from penstock.native.machine.abi import ARRAY_DATA
from penstock.native.machine.codegen import generate
from penstock.native.specialise.fallback import Fallback
from penstock.native.specialise.specialisation import Specialisation
from penstock.native.table.arena import plan_arena
from penstock.native.table.side_by_side import put_side_by_side
from penstock.native.unsupported import Unsupported
from penstock.program.ir import Edge

ALIGNMENT = 64


@dataclass(eq=False)
class FrozenTable:
    """Calls for arrays of known shapes. Buffers are of the kinds of ``calls.Buffer``; those of variables are in ``variables``."""

    calls: list[KernelCall]
    loops: list[tuple[int, int]]
    status: Buffer
    inputs: list[Array | None]  # per feed; None if it is not used
    outputs: list[Array | np.ndarray]  # per fetch; a value, if it is known now
    variables: dict[Buffer, FrozenVariable]
    threads: int = 1
    offsets: dict[Buffer, int] = field(default_factory=dict)
    arena_bytes: int = 0

    def plan(self) -> None:
        """Finds a place in the arena for each buffer."""
        self.offsets, self.arena_bytes = plan_arena(self.calls, self.status, self.loops)

    @property
    def codes(self) -> list[Code]:
        """The kernels that it calls."""
        return list(dict.fromkeys(call.code for call in self.calls if call.code is not None))


def specialise(step: FrozenStep, shapes: Sequence[tuple[int, ...]], types: Sequence[Any], threads: int) -> FrozenTable:
    """The table of a step for feeds of these shapes and types. Raises CannotExport."""
    given = [(source.value.shape, dtypes.as_dtype(source.value.dtype)) if isinstance(source, FrozenVariable)
             else (shapes[source], types[source].base_dtype) for source in step.sources]
    body = step.body
    try:
        made = Specialisation(body.nodes, body.args, body.outputs, given, Emitter(threads, ahead=True))
    except Fallback as why:
        raise CannotExport([(why.node, why.reason)]) from why
    open_shapes = [node for (node, _), (kind, _) in zip(body.outputs, made.results) if kind == "either"]
    if open_shapes:
        raise CannotExport([(node, "its shape depends on a condition that is computed in the step") for node in open_shapes])
    inputs: list[Array | None] = [None] * len(shapes)
    variables: dict[Buffer, FrozenVariable] = {}
    for source, value in zip(step.sources, made.inputs):
        assert value.array is not None
        if not isinstance(source, FrozenVariable):
            inputs[source] = value.array
        elif source in step.state:
            variables[value.array.buffer] = source
        else:
            value.array.buffer.kind, value.array.buffer.value = "constant", np.ascontiguousarray(source.value)
    table = FrozenTable(made.emitter.calls, list(made.emitter.loops), made.emitter.status.buffer, inputs, _outputs(made, body.outputs), variables,
                        threads)
    for call in table.calls:
        if any(array.buffer.kind == "list" for array in call.operands):
            raise CannotExport([(item.node, "it keeps a list that grows from step to step of a loop, which needs memory of unknown size")
                                for item in call.nodes[:1]])
    return table


def _outputs(made: Specialisation, outputs_of: Sequence[Edge]) -> list[Array | np.ndarray]:
    outputs: list[Array | np.ndarray] = []
    for (kind, what), (node, _) in zip(made.results, outputs_of):
        if kind == "either":
            raise CannotExport([(node, "its shape depends on a condition that is computed in the step")])
        array = made.inputs[what].array if kind == "input" else made.table.outputs[what] if kind == "output" else None
        outputs.append(np.asarray(what) if array is None else array)
    return outputs


def kernel_texts(tables: Sequence[FrozenTable]) -> dict[Code, str]:
    """The kernels that tables call, as LLVM IR. Raises CannotExport with the nodes of one that the target's CPU has no instructions for."""
    texts: dict[Code, str] = {}
    for call in (call for table in tables for call in table.calls):
        if call.code is not None and call.code not in texts:
            try:
                texts[call.code] = call.code.text()
            except Unsupported as why:
                raise CannotExport([(item.node, str(why)) for item in call.nodes]) from why
    return texts


# --- calls over constants --------------------------------------------------------------------------------------------------------------------


def fold(table: FrozenTable, texts: dict[Code, str], known: dict[Any, list[Any]], quantised: dict[int, Quantised] | None = None,
         prepared: list[KernelCall] | None = None) -> None:
    """Makes the calls that depend on constants alone, and takes them out; their results are constants.

    Those over quantised constants are added to ``prepared`` instead: ``init`` makes them, and their results stay in the model's memory. ``known``
    remembers results for other tables, whose calls may have the same constants and numbers.
    """
    quantised, prepared = quantised or {}, [] if prepared is None else prepared
    writers = Counter(buffer for call in table.calls for buffer in {array.buffer for array in _written_arrays(call)})
    left: list[int] = []
    for index, call in enumerate(table.calls):
        if not _is_constant(call, writers, table.status):
            left.append(index)
            continue
        reads = call.operands[:len(call.operands) - call.writes]
        later = any(array.buffer.kind == "prepared" or is_quantised(array.buffer, quantised) for array in reads)
        key = (call.code.key, tuple(call.parts), *((id(array.buffer.value), array.offset) for array in reads))  # type: ignore[union-attr]
        results = known.get(key)
        if results is None:
            results = known[key] = _prepare(call, prepared) if later else _run(call, texts[call.code])  # type: ignore[index]
        for buffer, value in zip(dict.fromkeys(array.buffer for array in _written_arrays(call)), results):
            buffer.kind, buffer.value = "prepared" if later else "constant", value
    place = {old: new for new, old in enumerate(left)}
    after = {old: next((place[later] for later in range(old, len(table.calls)) if later in place), len(left)) for old in range(len(table.calls) + 1)}
    for index in left:
        if table.calls[index].code is None:
            table.calls[index].target = after[table.calls[index].target]
    table.loops = [(after[first], after[last]) for first, last in table.loops]
    table.calls = [table.calls[index] for index in left]
    if table.threads > 1:
        table.calls = put_side_by_side(table.calls, table.status)
    table.plan()


def _prepare(call: KernelCall, prepared: list[KernelCall]) -> list[np.ndarray]:
    """Leaves a call to ``init``: for each buffer that it writes, an array that stands for it, whose contents do not matter."""
    prepared.append(call)
    return [np.zeros(buffer.nbytes, np.uint8) for buffer in dict.fromkeys(array.buffer for array in _written_arrays(call))]


def _written_arrays(call: KernelCall) -> list[Array]:
    return call.operands[len(call.operands) - call.writes:]


def _is_constant(call: KernelCall, writers: Counter[Buffer], status: Buffer) -> bool:
    if call.code is None or call.operands_of_parts is not None:
        return False
    written = {array.buffer for array in _written_arrays(call)}
    if status in written or any(buffer.kind != "arena" or writers[buffer] != 1 for buffer in written):
        return False
    reads = call.operands[:len(call.operands) - call.writes]
    return all(array.buffer.kind in ("constant", "prepared") for array in reads if array.buffer not in written)


def _run(call: KernelCall, text: str) -> list[np.ndarray]:
    """What a call writes, buffer by buffer."""
    assert call.code is not None
    library = target.LinkedCode(generate(text, target.cpu(), target.features()), call.code.symbol)
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address)
    memory = {buffer: aligned(buffer.nbytes) for buffer in dict.fromkeys(array.buffer for array in _written_arrays(call))}
    held = [memory.get(array.buffer, array.buffer.value) for array in call.operands]
    cells = np.array([each.ctypes.data + array.offset for each, array in zip(held, call.operands)], np.int64)  # type: ignore[union-attr]
    head = struct.pack(f"{len(cells)}q", *[cells.ctypes.data + 8 * index - ARRAY_DATA for index in range(len(cells))])
    for part in call.parts:
        kernel(ctypes.cast(ctypes.create_string_buffer(head + part, len(head) + len(part)), ctypes.c_void_p))
    return list(memory.values())


def aligned(nbytes: int) -> np.ndarray:
    """Zeros at an address that suits vectors."""
    memory = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start:start + nbytes]
