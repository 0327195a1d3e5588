"""Replicas: a function that builds the same part of a graph several times, once per device, and meets the others on the way.

Each replica is built by a thread of its own, but only one thread runs at any time: a replica goes on until it returns or calls ``merge_call``, then
the next one does. When all of them wait in ``merge_call``, the function that they gave is called once, with the values of all. What is built is the
same each time. Variables are shared: the replicas after the first get those that the first one has made, by name.
"""
from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.graph import nest
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies, device, name_scope
from penstock.variables.creators import variable_creator_scope
from penstock.variables.scope import get_variable_scope, variable_scope


class PerReplica:
    """A value for each replica."""

    def __init__(self, values: Any) -> None:
        self.values = tuple(values)

    def __repr__(self) -> str:
        return f"PerReplica({', '.join(map(repr, self.values))})"


class ReplicaContext:
    """``tf.distribute.ReplicaContext``: what a function that is called once per replica can ask."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: int, merge: Callable[..., Any]) -> None:
        self._strategy, self._id, self._merge, self._graph = strategy, replica_id_in_sync_group, merge, default_graph()

    def __enter__(self) -> ReplicaContext:
        _current.contexts.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _current.contexts.pop()

    @property
    def strategy(self) -> Any:
        """The strategy that has made the replicas."""
        return self._strategy

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this replica."""
        return self._id

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are added up."""
        return int(self._strategy.num_replicas_in_sync)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica."""
        devices = self._strategy.extended.worker_devices
        return (devices[self._id % len(devices)],)

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """``merge_fn(strategy, *args)``, called once with the values of all replicas; this replica's part of what it returns."""
        if default_graph() is not self._graph:
            raise RuntimeError("merge_call called while defining a new graph or a tf.function. This can often happen if the function `fn` passed to "
                               "`strategy.experimental_run()` contains a conditional or a loop that updates variables.")
        return self._merge(merge_fn, args, kwargs or {})

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean of the replicas' values, for each of them."""
        def reduced(strategy: Any, values: Any) -> Any:
            return nest.map_structure(lambda each: strategy.extended.reduce_to(reduce_op, each, None), values)

        return self.merge_call(reduced, (value,))


class _Current(threading.local):
    def __init__(self) -> None:
        self.contexts: list[Any] = []  # replica contexts; a strategy where all replicas are dealt with at once


_current = _Current()


def current_context() -> ReplicaContext | None:
    """The replica that is being built in this thread; None outside of strategies, and where all replicas are dealt with at once."""
    context = _current.contexts[-1] if _current.contexts else None
    return context if isinstance(context, ReplicaContext) else None


def current_strategy() -> Any:
    """The strategy of the block that this thread is in, or None."""
    context = _current.contexts[-1] if _current.contexts else None
    return context.strategy if isinstance(context, ReplicaContext) else context


@contextlib.contextmanager
def cross_replica(strategy: Any) -> Iterator[Any]:
    """Inside, ``strategy`` is the current one, and no replica is."""
    _current.contexts.append(strategy)
    try:
        yield strategy
    finally:
        _current.contexts.pop()


def update_with_mean(update: Callable[[Any], Any], value: Any) -> Any:
    """``update(value)``; among replicas called once, with the mean of their values. In a branch or loop each replica updates with its own."""
    context = current_context()
    if context is None or context._graph is not default_graph():
        return update(value)
    return context.merge_call(lambda strategy, values: update(strategy.extended.reduce_to("MEAN", values, None)), (value,))


# --- all replicas in turn --------------------------------------------------------------------------------------------


def part_of(nest_of_values: Any, replica: int) -> Any:
    """What one replica gets of a nest in which some values differ between replicas."""
    return nest.map_structure(lambda value: value.values[replica] if isinstance(value, PerReplica) else value, nest_of_values)


def together(parts: list[Any]) -> Any:
    """One nest of the replicas' nests: values that differ become PerReplica."""
    if any(type(part) is not type(parts[0]) for part in parts) or not nest.is_nested(parts[0]):
        return parts[0] if all(part is parts[0] for part in parts) else PerReplica(parts)
    flat = [nest.flatten(part) for part in parts]
    return nest.pack_sequence_as(parts[0], [each[0] if all(value is each[0] for value in each) else PerReplica(each) for each in zip(*flat)])


def call_for_each_replica(strategy: Any, devices: list[str], function: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
    """``function`` called once per device, in its replica context; results that differ are PerReplica."""
    if len(devices) == 1:
        with single_replica(strategy), device(devices[0]):
            return function(*part_of(list(args), 0), **part_of(kwargs or {}, 0))
    made: dict[str, list[Any]] = {}
    replicas = [_Replica(strategy, number, name, made, function, part_of(list(args), number), part_of(kwargs or {}, number))
                for number, name in enumerate(devices)]
    try:
        while True:
            waiting = [replica for replica in replicas if replica.go_on()]
            if not waiting:
                return together([replica.result for replica in replicas])
            if len(waiting) < len(replicas):
                raise RuntimeError("Some replicas returned while others called merge_call: all must make the same calls in the same order.")
            merge_fns, given, named = zip(*(replica.request for replica in replicas))
            with name_scope(waiting[0].scope):
                merged = _call_merge(strategy, merge_fns[0], together([list(each) for each in given]), together(list(named)))
            for number, replica in enumerate(replicas):
                replica.answer = part_of(merged, number)
    finally:
        for replica in replicas:
            replica.give_up()


def single_replica(strategy: Any) -> ReplicaContext:
    """The context of a replica that is alone, and is built in this thread."""
    return ReplicaContext(strategy, strategy.extended.worker, lambda merge_fn, args, kwargs: _call_merge(strategy, merge_fn, args, kwargs))


def _call_merge(strategy: Any, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with cross_replica(strategy):
        return merge_fn(strategy, *args, **kwargs)


class _GiveUp(BaseException):
    """Ends the thread of a replica when another one has failed."""


class _Replica:
    """One replica, and the thread that builds it. ``go_on`` runs it until it has returned or waits in ``merge_call``."""

    def __init__(self, strategy: Any, number: int, device_name: str, made: dict[str, list[Any]], function: Callable[..., Any], args: Any,
                 kwargs: Any) -> None:
        self._graph, self._outer_scope, self._variable_scope = default_graph(), default_graph().get_name_scope(), get_variable_scope()
        self._function, self._args, self._kwargs = function, args, kwargs
        self._strategy, self._number, self._device, self._made = strategy, number, device_name, made
        self._waits_for = [operation for controller in self._graph._state.control for operation in controller.ops]
        self._may_run, self._has_stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._failure: BaseException | None = None
        self._is_done = self._gives_up = False
        self.result: Any = None
        self.request: Any = None  # what it has given to ``merge_call``
        self.answer: Any = None
        self.scope = self._outer_scope
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_on(self) -> bool:
        """Runs the replica; True if it waits in ``merge_call`` then."""
        if self._is_done:
            return False
        outer, self._graph._name_stack = self._graph._name_stack, self.scope.rstrip("/")
        self._may_run.release()
        self._has_stopped.acquire()
        self.scope, self._graph._name_stack = self._graph._name_stack and self._graph._name_stack + "/", outer
        if self._failure is not None:
            raise self._failure
        return not self._is_done

    def give_up(self) -> None:
        """Ends the thread, if it has not ended."""
        self._gives_up = True
        self._may_run.release()
        self._thread.join()

    def _pause(self) -> None:
        self._has_stopped.release()
        self._may_run.acquire()
        if self._gives_up:
            raise _GiveUp

    def _merge(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.request = (merge_fn, args, kwargs)
        self._pause()
        return self.answer

    def _run(self) -> None:
        self._may_run.acquire()
        try:
            if not self._gives_up:
                self._build()
        except _GiveUp:
            pass
        except BaseException as error:
            self._failure = error
        self._is_done = True
        self._has_stopped.release()

    def _build(self) -> None:
        counts: dict[str, int] = {}

        def creator(next_creator: Callable[..., Any], **arguments: Any) -> Any:
            if current_context() is not context:  # the graph has one stack of creators, which those of all replicas are on
                return next_creator(**arguments)
            name = re.sub(r"_\d+(?=/|$)", "", arguments.get("name") or "Variable")
            index = counts.get(name, 0)
            counts[name] = index + 1
            made = self._made.setdefault(name, [])
            if index == len(made):
                made.append(next_creator(**arguments))
            return made[index]

        prefix = f"replica_{self._number}" if self._number else self._outer_scope + "/" if self._outer_scope else None
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._graph.as_default())
            stack.enter_context(control_dependencies(self._waits_for))
            stack.enter_context(name_scope(prefix))
            stack.enter_context(variable_scope(self._variable_scope, reuse=True if self._number else None, auxiliary_name_scope=False))
            stack.enter_context(device(self._device))
            stack.enter_context(variable_creator_scope(creator))
            context = stack.enter_context(ReplicaContext(self._strategy, self._number, self._merge))
            self.result = self._function(*self._args, **self._kwargs)
