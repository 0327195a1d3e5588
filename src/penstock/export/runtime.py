"""What runs in the host program beside the kernels, as LLVM IR: ``init``, a function per entry point, and the messages of failures.

A table is written out as calls one after the other: there is nothing to walk, and nothing to allocate. A jump of the table is a branch.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.export import threads
from penstock.export.entries import EntryPoint
from penstock.export.memory import Expansion, ExportedMemory, PlacedCall, PlacedTable
from penstock.native.machine import driver

BAD_BATCH = -1  # what an entry point returns if it has no table for a batch
NOT_READY = -3  # and if its memory is not that of a model; -2 is ``threads.BAD_START``
_MARK = 0x50454E53544F434B  # with the address of a model: what says that it was initialised, and has not been moved since
_FAILURES = {NOT_READY: "the model is not initialised, or was moved since: call {}_init with its address first",
             threads.BAD_START: "a thread could not be started", BAD_BATCH: "no table for this batch size", 0: ""}
_HEAD = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; adds a base to the words that an array of indices names
define internal void @relocate(ptr %words, ptr %indices, i64 %count, ptr %base) {
entry:
  %add = ptrtoint ptr %base to i64
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %out
body:
  %at_index = getelementptr i32, ptr %indices, i64 %i
  %index = load i32, ptr %at_index
  %wide = zext i32 %index to i64
  %at = getelementptr i64, ptr %words, i64 %wide
  %old = load i64, ptr %at
  %new = add i64 %old, %add
  store i64 %new, ptr %at
  %next = add i64 %i, 1
  br label %test
out:
  ret void
}
"""
# Makes floats of quantised weights.
_EXPAND = """
define internal void @expand(ptr %to, ptr %numbers, ptr %scales, i64 %count, i64 %channels) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %channel = phi i64 [ 0, %entry ], [ %following, %body ]
  %at_number = getelementptr i8, ptr %numbers, i64 %i
  %number = load i8, ptr %at_number
  %float = sitofp i8 %number to float
  %at_scale = getelementptr float, ptr %scales, i64 %channel
  %scale = load float, ptr %at_scale
  %value = fmul float %float, %scale
  %at = getelementptr float, ptr %to, i64 %i
  store float %value, ptr %at
  %next = add i64 %i, 1
  %after = add i64 %channel, 1
  %wraps = icmp eq i64 %after, %channels
  %following = select i1 %wraps, i64 0, i64 %after
  %more = icmp ult i64 %next, %count
  br i1 %more, label %body, label %out
out:
  ret void
}
"""
# The word of a model that is ready, and whether it is.
_READY = """
define internal i64 @mark_of(ptr %model) {{
  %address = ptrtoint ptr %model to i64
  %mark = xor i64 %address, {magic}
  ret i64 %mark
}}

define internal i1 @is_ready(ptr %model) {{
  %at = getelementptr i8, ptr %model, i64 {mark}
  %found = load i64, ptr %at, align 1
  %expected = call i64 @mark_of(ptr %model)
  %ready = icmp eq i64 %found, %expected
  ret i1 %ready
}}
"""
# Runs the parts of a call one after the other.
_SERIAL = """
define internal void @parts(ptr %function, ptr %words, i64 %stride, i64 %count) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %offset = mul i64 %i, %stride
  %at = getelementptr i8, ptr %words, i64 %offset
  call void %function(ptr %at)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %body, label %out
out:
  ret void
}
"""


class Runtime:
    """The module of one model. Kernels are declared as ``kernel_0``, ``kernel_1``, ..."""

    def __init__(self, name: str, memory: ExportedMemory, entries: Sequence[tuple[EntryPoint, Sequence[PlacedTable]]], kernels: int,
                 weights: bytes | None) -> None:
        self._name, self._memory, self._entries, self._kernels, self._weights = name, memory, entries, kernels, weights
        self._labels: list[str] = []  # of calls that can fail; a status is a place here, plus 1

    def text(self) -> str:
        """The module."""
        functions = [line for entry, tables in self._entries for line in self._entry(entry, tables)]
        memory = self._memory
        shared = threads.text(self._name, memory.tables_at, memory.threads, NOT_READY) if memory.threads > 1 else driver.control()
        ready = _READY.format(mark=memory.mark, magic=_MARK)
        pieces = [_HEAD, _EXPAND, _SERIAL, ready, shared, *self._data(), *(f"declare void @kernel_{index}(ptr)" for index in range(self._kernels)),
                  *self._init(), *functions, *self._message()]
        return "\n".join(pieces)

    def _data(self) -> Iterator[str]:
        memory = self._memory
        for name, kind, values in (("template", "i64", memory.template), ("moved", "i32", memory.moved), ("weighed", "i32", memory.weighed)):
            content = f"[{', '.join(f'{kind} {value}' for value in values)}]" if values else "zeroinitializer"
            yield f"@{name} = internal constant [{len(values)} x {kind}] {content}, align 8"
        if self._weights is not None:
            yield f"@weights = internal constant [{len(self._weights)} x i8] c\"{quoted(self._weights)}\", align 64"

    def _init(self) -> Iterator[str]:
        memory, inside = self._memory, self._weights is not None
        yield f"define i32 @{self._name}_init(ptr %model{'' if inside else ', ptr %weights'}) {{"
        weights = "@weights" if inside else "%weights"
        yield f"  %words = getelementptr i8, ptr %model, i64 {memory.tables_at}"
        yield f"  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %words, ptr align 8 @template, i64 {8 * len(memory.template)}, i1 false)"
        yield f"  call void @relocate(ptr %words, ptr @moved, i64 {len(memory.moved)}, ptr %model)"
        yield f"  call void @relocate(ptr %words, ptr @weighed, i64 {len(memory.weighed)}, ptr {weights})"
        for index, (place, source, nbytes) in enumerate(memory.first_values):
            yield f"  %to{index} = getelementptr i8, ptr %model, i64 {place}"
            yield f"  %from{index} = getelementptr i8, ptr {weights}, i64 {source}"
            yield f"  call void @llvm.memcpy.p0.p0.i64(ptr %to{index}, ptr %from{index}, i64 {nbytes}, i1 false)"
        if memory.weights_at >= 0:  # where copies of known results find them
            yield f"  %at_weights = getelementptr i8, ptr %model, i64 {memory.weights_at}"
            yield f"  store ptr {weights}, ptr %at_weights"
        for number, expansion in enumerate(memory.expansions):
            yield from self._expand(f"x{number}", expansion, weights)
        for number, call in enumerate(memory.preparation):
            for index, expansion in enumerate(call.before):
                yield from self._expand(f"x{number}.{index}", expansion, weights)
            for index, words in enumerate(call.words):
                yield f"  %p{number}.{index} = getelementptr i8, ptr %model, i64 {words}"
                yield f"  call void @kernel_{call.kernel}(ptr %p{number}.{index})"
        yield f"  %at_mark = getelementptr i8, ptr %model, i64 {memory.mark}\n  %mark = call i64 @mark_of(ptr %model)"
        yield "  store i64 %mark, ptr %at_mark, align 1\n  ret i32 0\n}"

    def _expand(self, name: str, each: Expansion, weights: str) -> Iterator[str]:
        base = self._memory.stays if each.base == "stays" else self._memory.arena
        yield f"  %{name}.n = getelementptr i8, ptr {weights}, i64 {each.numbers}\n  %{name}.s = getelementptr i8, ptr {weights}, i64 {each.scales}"
        yield f"  %{name}.to = getelementptr i8, ptr %model, i64 {base + each.place}"
        yield f"  call void @expand(ptr %{name}.to, ptr %{name}.n, ptr %{name}.s, i64 {each.count}, i64 {each.channels})"

    # --- entry points ------------------------------------------------------------------------------------------------------------------------

    def _entry(self, entry: EntryPoint, tables: Sequence[PlacedTable]) -> Iterator[str]:
        names = [f"%a{index}" for index in range(len(entry.inputs) + len(entry.outputs))]
        parameters, arguments = "".join(f", ptr {each}" for each in names), ", ".join(["ptr %model", *(f"ptr {each}" for each in names)])
        public = f"{self._name}_{entry.name}"
        for batch, table in zip(entry.batches, tables):
            yield f"define internal i32 @{public}.{batch}(ptr %model{parameters}) noinline {{\nentry:"
            yield from self._body(table)
            yield "}"
        size = ", i64 %batch" if entry.takes_batch else ""
        yield f"define i32 @{public}(ptr %model{size}{parameters}) {{\nentry:\n  %ready = call i1 @is_ready(ptr %model)"
        yield f"  br i1 %ready, label %work, label %refused\nrefused:\n  ret i32 {NOT_READY}\nwork:"
        if not entry.takes_batch:
            yield f"  %result = call i32 @{public}.{entry.batches[0]}({arguments})\n  ret i32 %result\n}}"
            return
        if entry.any_batch:
            yield from self._in_pieces(entry, public, names)
            return
        cases = " ".join(f"i64 {batch}, label %batch{batch}" for batch in entry.batches)
        yield f"  switch i64 %batch, label %none [ {cases} ]"
        for batch in entry.batches:
            yield f"batch{batch}:\n  %result{batch} = call i32 @{public}.{batch}({arguments})\n  ret i32 %result{batch}"
        yield f"none:\n  ret i32 {BAD_BATCH}\n}}"

    def _in_pieces(self, entry: EntryPoint, public: str, names: Sequence[str]) -> Iterator[str]:
        """Any batch: as many of the largest size as fit, then of the next."""
        arguments = [*entry.inputs, *entry.outputs]
        rows = [each.dtype.size * _rows(each.shape) if None in each.shape else 0 for each in arguments]
        yield f"  %bad = icmp slt i64 %batch, 0\n  br i1 %bad, label %none, label %size{max(entry.batches)}"
        sizes = sorted(entry.batches, reverse=True)
        for position, size in enumerate(sizes):
            before = "work" if position == 0 else f"size{sizes[position - 1]}"
            start = "0" if position == 0 else f"%done{sizes[position - 1]}"
            following = f"size{sizes[position + 1]}" if position + 1 < len(sizes) else "out"
            yield f"size{size}:\n  %done{size} = phi i64 [ {start}, %{before} ], [ %next{size}, %run{size} ]"
            yield f"  %next{size} = add i64 %done{size}, {size}\n  %fits{size} = icmp sle i64 %next{size}, %batch"
            yield f"  br i1 %fits{size}, label %work{size}, label %{following}\nwork{size}:"
            places = []
            for index, (name, row) in enumerate(zip(names, rows)):
                yield f"  %offset{size}.{index} = mul i64 %done{size}, {row}"
                yield f"  %place{size}.{index} = getelementptr i8, ptr {name}, i64 %offset{size}.{index}"
                places.append(f"ptr %place{size}.{index}")
            yield f"  %result{size} = call i32 @{public}.{size}({', '.join(['ptr %model', *places])})"
            yield f"  %ok{size} = icmp eq i32 %result{size}, 0\n  br i1 %ok{size}, label %run{size}, label %failed{size}"
            yield f"failed{size}:\n  ret i32 %result{size}\nrun{size}:\n  br label %size{size}"
        yield f"out:\n  ret i32 0\nnone:\n  ret i32 {BAD_BATCH}\n}}"

    def _body(self, table: PlacedTable) -> Iterator[str]:
        targets = {step.target for step in table.steps if step.kernel is None}
        yield "  %mode = call i64 @flush()"
        if self._memory.threads > 1:
            yield f"  %team = getelementptr i8, ptr %model, i64 {self._memory.tables_at}\n  call void @enter(ptr %team)"
        yield f"  %status = getelementptr i8, ptr %model, i64 {table.status}\n  store i64 0, ptr %status"
        for index, binding in enumerate(table.bindings):
            yield f"  %b{index} = getelementptr i8, ptr %a{binding.argument}, i64 {binding.offset}"
            yield f"  %n{index} = ptrtoint ptr %b{index} to i64\n  %c{index} = getelementptr i8, ptr %model, i64 {binding.cell}"
            yield f"  store i64 %n{index}, ptr %c{index}"
        ends = len(table.steps)
        for index, step in enumerate(table.steps):
            if index in targets:
                yield f"  br label %step{index}\nstep{index}:"
            yield from self._step(index, step)
        if ends in targets:
            yield f"  br label %step{ends}\nstep{ends}:"
        for index, (argument, base, place, nbytes) in enumerate(table.copies):
            if base == "weights":
                yield f"  %at_weights{index} = getelementptr i8, ptr %model, i64 {self._memory.weights_at}"
                yield f"  %base{index} = load ptr, ptr %at_weights{index}"
            yield f"  %known{index} = getelementptr i8, ptr {f'%base{index}' if base == 'weights' else '%model'}, i64 {place}"
            yield f"  call void @llvm.memcpy.p0.p0.i64(ptr %a{argument}, ptr %known{index}, i64 {nbytes}, i1 false)"
        yield f"{self._end()}\n  ret i32 0"

    def _end(self) -> str:
        """What every way out of a run does."""
        return ("  call void @leave(ptr %team)\n" if self._memory.threads > 1 else "") + "  call void @restore(i64 %mode)"

    def _step(self, index: int, step: PlacedCall) -> Iterator[str]:
        yield f"  %w{index} = getelementptr i8, ptr %model, i64 {step.words}"
        if step.kernel is None:
            yield f"  %condition{index} = load ptr, ptr %w{index}\n  %value{index} = load i8, ptr %condition{index}"
            yield f"  %holds{index} = icmp ne i8 %value{index}, 0"
            yield f"  br i1 %holds{index}, label %after{index}, label %step{step.target}\nafter{index}:"
            return
        if step.parts == 1:
            yield f"  call void @kernel_{step.kernel}(ptr %w{index})"
        elif step.fastest >= 0:
            yield f"  %f{index} = getelementptr i8, ptr %model, i64 {step.fastest}"
            yield f"  call void @share(ptr @kernel_{step.kernel}, ptr %w{index}, i64 {step.stride}, i64 {step.parts}, ptr %f{index}, ptr %team)"
        else:
            yield f"  call void @parts(ptr @kernel_{step.kernel}, ptr %w{index}, i64 {step.stride}, i64 {step.parts})"
        if step.checks:
            if step.label not in self._labels:
                self._labels.append(step.label)
            yield f"  %s{index} = load i64, ptr %status\n  %ok{index} = icmp eq i64 %s{index}, 0"
            yield f"  br i1 %ok{index}, label %good{index}, label %bad{index}\nbad{index}:\n{self._end()}"
            yield f"  ret i32 {self._labels.index(step.label) + 1}\ngood{index}:"

    def _message(self) -> Iterator[str]:
        """``const char *NAME_message(int status)``: what a status means."""
        least = min(_FAILURES)
        texts = [*(_FAILURES[status].format(self._name) for status in range(least, 1)), *(f"{label}: refuses its inputs" for label in self._labels)]
        for index, text in enumerate(texts):
            content = text.encode() + b"\0"
            yield f"@message{index} = internal constant [{len(content)} x i8] c\"{quoted(content)}\""
        yield f"define ptr @{self._name}_message(i32 %status) {{"
        cases = " ".join(f"i32 {index + least}, label %case{index}" for index in range(len(texts)))
        yield f"  switch i32 %status, label %none [ {cases} ]"
        for index in range(len(texts)):
            yield f"case{index}:\n  ret ptr @message{index}"
        yield f"none:\n  ret ptr @message{-least}\n}}"


def _rows(shape: Sequence[int | None]) -> int:
    size = 1
    for extent in shape:
        size *= 1 if extent is None else extent
    return size


def quoted(content: bytes) -> str:
    """Bytes as LLVM writes them in a string."""
    pairs = content.hex()
    return "\\" + "\\".join(pairs[index:index + 2] for index in range(0, len(pairs), 2)) if content else ""
