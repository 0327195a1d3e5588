"""GradientTape: remembers operations whose results depend on what it watches, and differentiates through them.

The derivatives are those of ``gradients.py``, by the gradient functions of the ops. A tape only decides which operations count: those that it has
recorded. Inside graphs and functions that are traced, all operations are there anyway, and a tape is ``tf.gradients``.
"""
from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.gradients import UnconnectedGradients, gradients
from penstock.graph import nest
from penstock.graph.composite import IndexedSlices
from penstock.graph.function import FuncGraph
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.imperative.backward import SeenWalks
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.operation import EagerOperation, Edge
from penstock.imperative.recording import ENOUGH, Recording
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import stack
from penstock.ops.array.shape_ops import reshape


class GradientTape:
    """``tf.GradientTape``: records operations in a ``with`` block, for ``gradient``.

    Trainable variables are watched when they are read; tensors must be told: ``tape.watch(x)``.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._watch_variables = persistent, watch_accessed_variables
        self._watched: set[Edge] = set()
        self._told: list[tuple[int, Edge]] = []  # what ``watch`` was given, and how many operations were recorded before
        self._token = (object(),)  # what operations that it needs have as ``noted``, if no other tape needs them
        self._start: tuple[int, int] | None = None  # where it has begun: see ``place``
        # How far it has looked at the recording, which counts its runs: from where on, up to where (None: it goes on)
        self._where: Recording | None = None
        self._run, self._from = -1, 0
        self._to: int | None = None
        self._variables: dict[Any, None] = {}
        self._operations: dict[EagerOperation, None] | None = {}
        self._graph: EagerGraph | None = None
        self._recording = self._entered = False
        self._paused = 0

    @property
    def persistent(self) -> bool:
        """Can it be asked for gradients more than once?"""
        return self._persistent

    # --- recording ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("Tape is already recording.")
        graph = default_graph()
        if isinstance(graph, EagerGraph):
            self._operations = {} if self._operations is None else self._operations
            self._graph = graph
            recording = graph.thread.recording
            if len(recording.operations) + recording.inside >= ENOUGH and not recording.open_tapes:
                recording.flush()  # a loop whose values are not looked at: each time the same turns run together
            self._open(graph)
            self._start = None if self._entered else (recording.flushes, len(recording.operations))
        self._recording = self._entered = True
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._recording:
            self._pause()

    def _pause(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._recording = False
        if self._graph is not None:
            self._close(self._graph)

    def _open(self, graph: EagerGraph) -> None:
        """From now on, what is recorded counts."""
        self._settle()
        graph.thread.recording.open_tapes.append(self)
        if not self._paused:
            self._begin(graph.thread.recording)

    def _close(self, graph: EagerGraph) -> None:
        graph.thread.recording.open_tapes.remove(self)
        if not self._paused:
            self._to = len(graph.thread.recording.operations)

    # --- what counts ---------------------------------------------------------------------------------------------------

    def _begin(self, recording: Recording) -> None:
        self._where, self._run, self._from, self._to = recording, recording.flushes, len(recording.operations), None
        recording.tapes.append(weakref.ref(self))

    def suspend(self) -> None:
        """Has what is recorded until ``resume`` not count."""
        if not self._paused:
            self._settle()
            self._run = -1
        self._paused += 1

    def resume(self) -> None:
        """See ``suspend``."""
        self._paused -= 1
        if not self._paused and self._graph is not None and self in self._graph.thread.recording.open_tapes:
            self._begin(self._graph.thread.recording)

    def _settle(self) -> None:
        if self._where is not None:
            self.settle(self._where)

    def settle(self, recording: Recording, before_run: bool = False) -> bool:
        """Notes what was recorded since the last time, as far as it counts. ``before_run``: the recording begins anew now; returns whether the tape
        is open."""
        if self._run != recording.flushes or recording is not self._where:
            return False
        operations = recording.operations
        end = len(operations) if self._to is None else self._to
        for op in operations[self._from:end]:
            self._note(op)
        self._from = end
        if before_run:
            self._run, self._from = (self._run + 1, 0) if self._to is None else (-1, 0)
        return self._run >= 0

    def noted_operations(self) -> dict[EagerOperation, None]:
        """The operations that count."""
        self._settle()
        assert self._operations is not None
        return self._operations

    def watch(self, tensor: Any) -> None:
        """Has what is computed of ``tensor`` (a tensor, a variable, or a structure of them) recorded."""
        for item in nest.flatten(tensor):
            source = getattr(item, "handle", item)
            if not isinstance(source, Tensor):
                raise ValueError(f"Passed in object of type {type(item)}, not tf.Tensor")
            if hasattr(item, "handle"):
                self._variables[item] = None
            if isinstance(source.op, EagerOperation):
                self._settle()
                self._watched.add(source._edge)  # type: ignore[attr-defined]
                self._told.append((len(source.op.graph.thread.recording.operations), source._edge))  # type: ignore[attr-defined]

    def note(self, op: EagerOperation) -> None:
        """Records an operation that may run at its call, if it depends on something that is watched."""
        if not self._paused:
            self._settle()
            self._note(op)

    def _note(self, op: EagerOperation) -> None:
        token, concerned = self._token[0], False
        for edge in op.edges:
            producer = edge[0]
            if token in producer.noted or edge in self._watched:
                concerned = True
            elif producer.call.variable is not None and self._watch_variables:
                self._watched.add(edge)
                self._variables[producer.call.variable()] = None
                concerned = True
        if concerned and self._operations is not None and op not in self._operations:
            self._operations[op] = None
            op.noted = (*op.noted, token) if op.noted else self._token
            if op.recording is not None:
                op.recording.is_plain = False

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Inside, operations are not recorded."""
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self.suspend()
        self._start = None  # what it recorded is no longer told by where it has begun
        try:
            yield
        finally:
            self.resume()

    def reset(self) -> None:
        """Forgets everything that was recorded and watched."""
        self._forget()
        self._operations, self._variables = {}, {}

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that were watched, in the order in which they were made."""
        self._settle()
        graph = default_graph()
        if self._graph is None and isinstance(graph, FuncGraph) and self._watch_variables:  # in a function: those that it captures
            self._variables.update((tensor.op.call.variable(), None) for tensor in graph.captures
                                   if isinstance(tensor.op, EagerOperation) and tensor.op.call.variable is not None)
        return tuple(sorted(self._variables, key=lambda variable: variable.handle.op._id))

    def _forget(self) -> None:
        token = self._token[0]
        for op in self._operations or ():
            op.release(token)
        self._operations, self._watched, self._told, self._start, self._run = None, set(), [], None, -1

    def __del__(self) -> None:
        self._forget()

    # --- differentiating ---------------------------------------------------------------------------------------------

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The derivatives of the sum of ``target`` with respect to ``sources``, in the structure of ``sources``; None where there is no path."""
        if self._operations is None or (not self._entered and default_graph().imperative):
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        if self._recording and not self._persistent:
            self._pause()
        targets = [_tensor(item) for item in nest.flatten(target)]
        given = None if output_gradients is None else nest.flatten(output_gradients)
        flat = nest.flatten(sources)
        is_within = self._graph is not None and all(item.imperative for item in targets)
        inside = [_source(item) if is_within else default_graph().capture(_source(item)) for item in flat]

        def walk() -> list[Any]:
            within = self.noted_operations() if is_within else None
            return gradients(targets, inside, given, unconnected_gradients=unconnected_gradients, within=within)

        graph = self._graph
        recording = None if graph is None else graph.thread.recording
        if not is_within or graph is None or recording is None:
            results = walk()
        elif given is not None or recording.open_tapes or recording.watchers or unconnected_gradients is not UnconnectedGradients.NONE:
            unconnected = None if unconnected_gradients is UnconnectedGradients.NONE else zeros_like
            results = [result if self._watches(source) else unconnected and unconnected(item) for item, source, result in zip(flat, inside, walk())]
        else:
            graph.walks = graph.walks or SeenWalks()
            results = graph.walks.gradients(graph, self, targets, inside, walk)
        if not self._persistent:
            self._forget()
        return nest.pack_sequence_as(sources, results)

    def _watches(self, source: Tensor) -> bool:
        """Does it know of a tensor? What it was not told of has no gradient, even if it was used."""
        edge: Edge = source._edge  # type: ignore[attr-defined]
        return edge in self._watched or self._token[0] in edge[0].noted

    def watched_only(self, sources: list[Tensor], results: list[Any]) -> list[Any]:
        """The results for sources that it watches; None for others."""
        self._settle()
        return [result if self._watches(source) else None for source, result in zip(sources, results)]

    def place(self, recording: Recording) -> Any:
        """What tells which operations of the recording count, if they are all there: where it has begun and ended, and what it watches."""
        if self._start is None or self._start[0] != recording.flushes or recording.state is None:
            return None
        return self._start[1], self._to, self._watch_variables, *[(count, recording.tag((edge,))) for count, edge in self._told]

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: Any = UnconnectedGradients.NONE, parallel_iterations: int | None = None,
                 experimental_use_pfor: bool = True) -> Any:
        """The derivatives of every element of ``target``: of shape target.shape + source.shape."""
        if self._operations is None:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        flat, target = nest.flatten(sources), _tensor(target)
        with self._recording_again():
            targets = list(reshape(target, [-1]))
        rows = self._rows(targets, flat, unconnected_gradients)
        shape = target.shape.as_list()
        results = [None if any(row[column] is None for row in rows) else
                   reshape(stack([row[column] for row in rows]), shape + _source(source).shape.as_list()
                           if not hasattr(source, "handle") else shape + source.shape.as_list()) for column, source in enumerate(flat)]
        return nest.pack_sequence_as(sources, results)

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: Any = UnconnectedGradients.NONE, parallel_iterations: int | None = None,
                       experimental_use_pfor: bool = True) -> Any:
        """``jacobian`` for each element of a batch, if row i of ``target`` depends on row i of ``source`` alone."""
        target = _tensor(target)
        if not target.shape.ndims or not source.shape.ndims or target.shape[0] != source.shape[0]:
            raise ValueError(f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match.")
        for shape in (target.shape, source.shape):
            shape.with_rank_at_least(2)
        batch, rest = target.shape.as_list()[0], target.shape.as_list()[1:]
        with self._recording_again():
            columns = reshape(target, [batch, -1])
            targets = [columns[:, index] for index in range(columns.shape.as_list()[1])]
        rows = [row[0] for row in self._rows(targets, [source], unconnected_gradients)]
        if any(row is None for row in rows):
            return None
        return reshape(stack(rows, axis=1), [batch, *rest, *source.shape.as_list()[1:]])

    @contextmanager
    def _recording_again(self) -> Iterator[None]:
        """Inside, the tape records, also after its block."""
        if self._recording or self._graph is None:
            yield
            return
        self._start = None
        self._open(self._graph)
        try:
            yield
        finally:
            self._close(self._graph)

    def _rows(self, targets: Any, sources: list[Any], unconnected_gradients: Any) -> list[list[Any]]:
        """The gradients of each target."""
        persistent, self._persistent = self._persistent, True
        try:
            return [self.gradient(target, sources, unconnected_gradients=unconnected_gradients) for target in targets]
        finally:
            self._persistent = persistent
            if not persistent:
                if self._recording:
                    self._pause()
                self._forget()


def _tensor(target: Any) -> Tensor:
    return target.values if isinstance(target, IndexedSlices) else target.value() if hasattr(target, "handle") else target


def _source(source: Any) -> Any:
    return getattr(source, "handle", source)
