"""What a thread has done and not yet looked at, and where it stands among what programs have done before.

Loops do the same turn by turn. So the calls that programs make after a look form a tree: from a *state*, each call that was made there leads to the
next state. Two calls are the same if op, attributes, device and line of the program are, and if their inputs come from the same places: an operation
of the recording, by its number, or a value from outside, by its number among those; a value that is new here counts by its type and shape, a variable
by itself. What follows from all that (types and shapes of results, how gradients are computed, which plan runs it) is looked up by the state.
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.graph.dtypes import resource
from penstock.imperative.operation import Call, EagerOperation, Edge, value_key

PENDING_LIMIT = 4096  # operations that are recorded before they run without being asked for
ENOUGH = 512  # operations that run before a tape begins
MOST_STATES = 20_000  # that are remembered, with the calls that lead to them
_VARIANTS = 8  # calls that differ only in values that their shapes follow from


class State:
    """What was recorded since the last look, as far as a plan depends on it."""

    __slots__ = ("blocks", "calls", "guess", "plans", "walks")

    def __init__(self) -> None:
        self.calls: dict[Any, Any] = {}  # what is called next: by arguments, a Call and its constants; by inputs, Calls that may fit
        self.blocks: dict[Any, Call] = {}  # the same for blocks, by the block and its inputs: see ``recorded_blocks.py``
        self.guess: Any = None  # the call that was made here last: see ``guesses.py``
        self.plans: dict[Any, Any] = {}  # by the values that leave the segment: see ``segments.py``
        self.walks: dict[Any, Any] = {}  # what tapes have done here: see ``backward.py``


class Tree:
    """The state that recordings begin with, and how much is known behind it."""

    def __init__(self) -> None:
        self.root, self.count = State(), 0

    def grow(self) -> State:
        """Another state; if there are too many, all are forgotten."""
        if self.count >= MOST_STATES:
            self.root, self.count = State(), 0
        self.count += 1
        return State()


class Recording:
    """Operations of one thread that have not run yet, in the order of the program."""

    def __init__(self, runner: Any, tree: Tree, threads: Threads) -> None:
        self._threads, self.careful = threads, threads.careful  # careful: what uses a variable runs at its call
        self.operations: list[EagerOperation] = []
        self.feeds: dict[Edge, int] = {}  # the values from outside that they use, numbered
        self.fed: list[Edge] = []  # the same, by their numbers
        self.scopes = 0  # how many blocks are open in which a call is more than its arguments: devices, watchers, gradients of one's own
        self.flushes = 0  # how often it has begun anew
        self.open_tapes: list[Any] = []  # the outermost first; they look at it when they need to know, at the latest before it runs: see ``tape.py``
        self.watchers: list[Any] = []  # that are told of each operation at its call
        self.tapes: list[weakref.ref[Any]] = []  # those that have to look at it before it runs
        self.inside = 0  # how many operations its blocks have
        self.is_plain = True  # does no tape need its operations, and is none asked for an output but its first?
        self.tree, self._runner, self._lock = tree, runner, threading.RLock()
        self.state: State | None = None if runner.sync or self.careful else tree.root  # None: like nothing before, or changed behind its back

    def lose(self) -> None:
        """What follows is not known by a state, until the next look."""
        self.state = None

    def tag(self, edges: tuple[Edge, ...]) -> tuple[Any, ...]:
        """Where inputs come from: see the head of this module."""
        feeds, new, tags = self.feeds, dict[Edge, int](), list[Any]()
        for edge in edges:
            producer, index = edge
            if producer.recording is self:
                tags.append((producer.place, index) if index else producer.place)
                continue
            number = feeds.get(edge)
            if number is not None:
                tags.append(~number)
                continue
            number = new.setdefault(edge, len(feeds) + len(new))
            tags.append((~number, *spec_of(edge)))
        return tuple(tags)

    def find(self, tag: Any, edges: tuple[Edge, ...]) -> Call | None:
        """The call that was made here before, if this one is like it."""
        if self.state is None:
            return None
        calls: Iterable[Call] = self.state.calls.get(tag, ())
        return next((call for call in calls if fits(call, edges)), None)

    def add(self, op: EagerOperation, tag: Any = None) -> None:
        """Another operation, which waits until it is looked at. ``tag`` tells what it is like; None: it is like nothing."""
        call, state = op.call, self.state
        if tag is None or state is None:
            self.state = None
        else:
            if call.origin is None:
                call.origin, call.state = state, self.tree.grow()
                state.calls[tag] = (call, *state.calls.get(tag, ())[:_VARIANTS - 1])
            self.state = call.state
        for edge in op.edges:
            if edge[0].recording is not self and edge not in self.feeds:
                self.feeds[edge] = len(self.feeds)
                self.fed.append(edge)
                call.feeds = True
        op.recording, op.place = self, len(self.operations)
        self.operations.append(op)
        if op.noted or op._references is not None:
            self.is_plain = False

    def follow(self, call: Call, edges: tuple[Edge, ...]) -> EagerOperation:
        """An operation like one before."""
        if call.feeds:
            feeds = self.feeds
            for edge in edges:
                if edge[0].recording is not self and edge not in feeds:
                    feeds[edge] = len(feeds)
                    self.fed.append(edge)
        operations = self.operations
        op = EagerOperation.of(call, edges, self, len(operations))
        operations.append(op)
        self.state = call.state
        return op

    def flush(self) -> None:
        """Computes everything that was recorded."""
        with self._lock:
            if self.tapes:
                self._tell_tapes()
            operations, self.operations = self.operations, []
            if self.careful:
                self.careful = self._threads.are_several()
            state, self.state = self.state, None if self._runner.sync or self.careful else self.tree.root
            feeds, self.feeds, self.fed = self.feeds, {}, []
            is_plain, self.is_plain = self.is_plain, True
            self.flushes, self.inside = self.flushes + 1, 0
            if operations:
                self._runner.run(operations, state, feeds, is_plain)

    def use_variable(self) -> None:
        """Called before a variable is used in a way that is new to this thread."""
        if not self.careful:
            self._threads.use_variable(self)

    @contextmanager
    def watched_by(self, watcher: Any) -> Iterator[None]:
        """Inside, a watcher takes the place of the tapes, and of other watchers."""
        tapes, watchers = self.open_tapes, self.watchers
        for tape in tapes:
            tape.suspend()
        self.open_tapes, self.watchers = [], [watcher]
        try:
            with self.scope():
                yield
        finally:
            self.open_tapes, self.watchers = tapes, watchers
            for tape in tapes:
                tape.resume()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Inside, a call is more than its arguments, and is not guessed."""
        self.scopes += 1
        try:
            yield
        finally:
            self.scopes -= 1

    def _tell_tapes(self) -> None:
        """Has tapes note what concerns them; those that are open go on with what is recorded next."""
        tapes, self.tapes = self.tapes, []
        for reference in tapes:
            tape = reference()
            if tape is not None and tape.settle(self, before_run=True):
                self.tapes.append(reference)


def fits(call: Call, edges: Sequence[Edge], known: Iterable[tuple[int, Edge, int]] = ()) -> bool:
    """Are the values that the shapes of a call follow from the same? Those at the positions ``known`` are."""
    positions = {position for position, _, _ in known}
    return all(position in positions or value_key(edges[position]) == value for position, value in call.asked)


def spec_of(edge: Edge) -> tuple[Any, ...]:
    """What a value from outside is, as far as plans depend on it."""
    producer, index = edge
    if producer.results is None:
        producer.value(index)  # of another thread, or failed
    dtype, shape = producer.call.expected[index]
    return (producer._id, None) if dtype is resource else (id(dtype), shape.extents)


class Threads:
    """The recordings of all threads of a program.

    What one thread has done to a variable must be seen by another one that has waited for it, by a lock or a queue that we know nothing of. So from
    the time on that a second thread uses variables, what uses a variable runs at its call. Each thread has a tree of its own, so that the first use
    is not one of those that are looked up.
    """

    def __init__(self) -> None:
        self.careful = False
        self._recordings: weakref.WeakSet[Recording] = weakref.WeakSet()
        self._users: weakref.WeakSet[Recording] = weakref.WeakSet()  # of variables
        self._lock = threading.Lock()

    def add(self, recording: Recording) -> None:
        """Another thread."""
        with self._lock:
            self._recordings.add(recording)

    def use_variable(self, recording: Recording) -> None:
        """A thread uses variables: if another one has, too, both are careful from now on, and what waits runs now."""
        with self._lock:
            self._users.add(recording)
            others = [other for other in self._users if other is not recording]
            if not others:
                return
            self.careful = True
            for each in list(self._recordings):
                each.careful = True
        recording.flush()
        for other in others:
            other.flush()

    def are_several(self) -> bool:
        """Do several threads that use variables go on?"""
        if self.careful and len(self._users) < 2:
            self.careful = False
        return self.careful


class ThreadState(threading.local):
    """What a thread has recorded."""

    def __init__(self, runner: Any, threads: Threads) -> None:
        self.recording = Recording(runner, Tree(), threads)
        threads.add(self.recording)
