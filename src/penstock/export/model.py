"""``penstock.export``: a model as files that need no Python."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import FailedPreconditionError, InvalidArgumentError
from penstock.export.entries import EntryPoint, entry_names, identifier
from penstock.export.failures import CannotExport
from penstock.export.freezing import FrozenStep, FrozenVariable, freeze, updated_variables, values_of, variables_of
from penstock.export.header import header
from penstock.export.independent_rows import check_rows
from penstock.export.javascript import loader_text
from penstock.export.linking import link
from penstock.export.memory import ExportedMemory, PlacedTable
from penstock.export.objects import compile_object
from penstock.export.quantising import Quantised
from penstock.export.runtime import Runtime
from penstock.export.source import Named, batch_sizes, check_shapes, entry_of, opened
from penstock.export.tables import FrozenTable, fold, kernel_texts, specialise
from penstock.export.targets import Target, find
from penstock.export.threads import check_threads
from penstock.graph.node import Operation
from penstock.graph.stacks import default_session
from penstock.native.calls import KernelCall
from penstock.native.machine.target import compiling_for
from penstock.program.ir import prune
from penstock.session.session import Session

KINDS = ("library", "object")
WEIGHTS = ("inside", "beside")


@dataclass
class Exported:
    """What was written."""

    name: str
    target: Target
    files: dict[str, Path] = field(default_factory=dict)  # "object", "header", "library", "weights", "loader", "report"
    model_bytes: int = 0  # of the memory that the host program provides
    code_bytes: int = 0
    weights_bytes: int = 0


def export(fetches: Named, feeds: Named, folder: str | os.PathLike[str], *, session: Session | None = None, name: str = "model",
           target: str = "host", cpu: str = "", kind: str = "library", weights: str = "inside", batch: int | Sequence[int] = 1,
           any_batch: bool = False, shapes: Mapping[str, Sequence[int | None]] | None = None, quantize: bool = False,
           threads: int = 1) -> Exported:
    """Compiles what ``fetches`` need of ``feeds`` into files that run without Python: an object file, a header, a shared library or a wasm module.

    Args:
        fetches, feeds: tensors: one, a list, or a dict from the names that they shall have. For several entry points, ``fetches`` is a dict from
            names to pairs (fetches, feeds), and ``feeds`` is None.
        folder: where the files go; it is made.
        session: with the values of the variables; the default session, else.
        name: begins the names of files and functions.
        target: "host", or a name of ``penstock export --list``.
        cpu: the least CPU of the target, as LLVM names it, or "host": this machine's.
        kind: "library", or "object" for an object file, which needs no linker.
        weights: "inside" of the code, or "beside" it, as a file that can be mapped.
        batch: the size, or sizes, of the axis that is open in the feeds' shapes.
        any_batch: all sizes work, cut into those of ``batch``. For models whose rows do not depend on each other, which is tried.
        shapes: of feeds, by their names, where the graph leaves more open than the batch.
        quantize: keep large weights as 8-bit numbers with a scale per channel; ``init`` makes floats of them.
        threads: how many threads may run a step, that of the caller among them: ``NAME_start`` starts the others.

    Raises CannotExport, a tf.errors.UnimplementedError, with the ops that cannot leave Python and why.
    """
    session = session or default_session()
    if session is None:
        raise ValueError("export needs a session: pass session=, or call it inside of `with session.as_default()`")
    pairs = {"run": (fetches, feeds)} if feeds is not None or not isinstance(fetches, Mapping) else dict(fetches)
    for key, pair in pairs.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InvalidArgumentError(None, None, f"the entry point {key!r} is {pair!r}, and not a pair (fetches, feeds)")
    sizes = batch_sizes(batch)
    entries = [entry_of(key, pair[0], pair[1], sizes, shapes or {}, session.graph, any_batch)
               for key, pair in zip(entry_names(list(pairs)), pairs.values())]
    check_shapes(shapes or {}, entries)
    return _export(session, entries, Path(folder), identifier(name), find(target, cpu), kind, weights, quantize, threads)


def export_file(path: str, folder: str | os.PathLike[str], *, inputs: Sequence[str] = (), outputs: Sequence[str] = (), signatures: Sequence[str] = (),
                tags: Sequence[str] = ("serve",), **options: Any) -> Exported:
    """``export`` of a SavedModel's folder, with an entry point per signature, or of a file with a frozen graph."""
    with opened(path, inputs, outputs, tags, signatures) as (session, entries):
        return export(entries, None, folder, session=session, **options)


def _export(session: Session, entries: Sequence[EntryPoint], folder: Path, name: str, target: Target, kind: str, weights: str, quantize: bool,
            threads: int) -> Exported:
    check_threads(target, threads)
    for what, value, allowed in (("kind", kind, KINDS), ("weights", weights, WEIGHTS)):
        if value not in allowed:
            raise InvalidArgumentError(None, None, f"{what}={value!r}: it can be {', '.join(allowed)}")
    quantised: dict[int, Quantised] = {}
    steps, state = _steps(session, entries, quantised if quantize else None)
    for entry, step in zip(entries, steps):
        if entry.any_batch and entry.takes_batch:
            _check_stateless(entry)
            _check_counts(entry, step)
            check_rows(session, entry)
        entry.add_counts(step.counts)
    with compiling_for(target.machine):
        tables = [[specialise(step, [each.of_batch(batch) for each in entry.inputs], [each.dtype for each in entry.inputs], threads)
                   for batch in entry.batches] for entry, step in zip(entries, steps)]
        every = [table for some in tables for table in some]
        texts = kernel_texts(every)
    known: dict[Any, list[np.ndarray]] = {}
    prepared: list[KernelCall] = []
    for table in every:
        fold(table, texts, known, quantised, prepared)
    for entry, some in zip(entries, tables):
        _name_outputs(entry, some)
    used = dict.fromkeys([code for table in every for code in table.codes] + [call.code for call in prepared if call.code is not None])
    kernels = {code: index for index, code in enumerate(used)}
    memory = ExportedMemory(list(state.values()), every, kernels, quantised, prepared, threads)
    placed = iter(memory.tables)
    with_tables = [(entry, [next(placed) for _ in some]) for entry, some in zip(entries, tables)]
    return _write(folder, name, target, kind, weights, with_tables, memory, [(texts[code], code.symbol) for code in kernels])


def _steps(session: Session, entries: Sequence[EntryPoint],
           quantised: dict[int, Quantised] | None) -> tuple[list[FrozenStep], dict[Operation, FrozenVariable]]:
    """The steps of all entry points, and the variables that any of them writes."""
    programs = [prune(entry.fetches, entry.targets, entry.feeds) for entry in entries]
    variables = dict.fromkeys(op for program in programs for op in variables_of(program))
    values = values_of(session, variables)
    written = updated_variables(programs)
    missing = [op for op in written if op not in values]
    if missing:
        raise FailedPreconditionError(None, missing[0], f"the variable {missing[0].name} has no value that could be read in this graph")
    state = {op: FrozenVariable(op.name, np.asarray(values[op])) for op in variables if op in written}
    return [freeze(entry.fetches, entry.targets, entry.feeds, values, state, quantised) for entry in entries], state


def _check_stateless(entry: EntryPoint) -> None:
    """InvalidArgumentError if an entry point writes variables: it would do so for each piece that a batch is cut into."""
    written = updated_variables([prune(entry.fetches, entry.targets, entry.feeds)])
    if written:
        raise InvalidArgumentError(None, None, f"{entry.name} cannot take any batch, which is cut into pieces: it would write "
                                               f"{', '.join(sorted(op.name for op in written))} once for each of them")


def _check_counts(entry: EntryPoint, step: FrozenStep) -> None:
    """InvalidArgumentError if rows of an output are counted: each piece that a batch is cut into would have a count of its own."""
    for position in step.counts:
        raise InvalidArgumentError(None, entry.fetches[position].op, f"{entry.name} cannot take any batch, which is cut into pieces: how many rows "
                                                                     f"{entry.outputs[position].name} has is found out in the step")


def _name_outputs(entry: EntryPoint, tables: Sequence[FrozenTable]) -> None:
    """Gives the outputs their shapes; an axis that is another one for each batch is the batch."""
    for position, argument in enumerate(entry.outputs):
        shapes = [table.outputs[position].shape for table in tables]
        first = shapes[0]
        open_ = entry.takes_batch and first[:1] == (entry.batches[0],) and all(
            shape[0] == batch and shape[1:] == first[1:] for shape, batch in zip(shapes, entry.batches))
        argument.shape = (None, *first[1:]) if open_ else first
        if len(set(shapes)) > 1 and not open_:
            tensor = entry.fetches[min(position, len(entry.fetches) - 1)]  # counts stand behind the fetches
            raise InvalidArgumentError(None, tensor.op, f"{argument.name} has shapes that do not follow the batch: {shapes}")


def _write(folder: Path, name: str, target: Target, kind: str, weights: str, entries: Sequence[tuple[EntryPoint, Sequence[PlacedTable]]],
           memory: ExportedMemory, kernels: Sequence[tuple[str, str]]) -> Exported:
    content, described = memory.weights.content(), [entry for entry, _ in entries]
    with compiling_for(target.machine):
        runtime = Runtime(name, memory, entries, len(kernels), content if weights == "inside" else None).text()
    compiled = compile_object(target.machine, runtime, kernels)
    made = Exported(name, target, {}, memory.nbytes, len(compiled) - (len(content) if weights == "inside" else 0), len(content))
    folder.mkdir(parents=True, exist_ok=True)
    beside = len(content) if weights == "beside" else None
    if beside is not None:
        made.files["weights"] = _file(folder / f"{name}.weights", content)
    declared = header(name, described, list(memory.variables.items()), memory.nbytes, beside, memory.threads)
    made.files["header"] = _file(folder / f"{name}.h", declared.encode())
    made.files["object"] = _file(folder / target.object.format(name), compiled)
    symbols = [f"{name}_init", f"{name}_message", *(f"{name}_{entry.name}" for entry in described)]
    if memory.threads > 1:
        symbols += [f"{name}_start", f"{name}_stop"]
    if kind == "library":
        made.files["library"] = folder / target.library.format(name)
        link(target, made.files["object"], made.files["library"], symbols)
        made.files.pop("object").unlink()
    if target.is_wasm:
        made.files["loader"] = _file(folder / f"{name}.js", loader_text(name, described, memory.nbytes, beside).encode())
    return made


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


__all__ = ["CannotExport", "Exported", "export", "export_file"]
