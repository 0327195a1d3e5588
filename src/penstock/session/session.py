"""Session: runs parts of a graph and keeps the state that its variables hold between the runs.

The life of ``run``: the fetches are taken apart (``fetches.py``), the feeds converted; a plan is looked up, or made by pruning, placing,
cutting and packing the graph (``program/ir.py``, ``placement.py``, ``partition.py``, ``plan.py``); the executor runs it; the results are joined.
"""
from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from tensorboard.compat.proto.config_pb2 import ConfigProto, RunOptions

from penstock import errors
from penstock.execute.environment import Environment
from penstock.execute.executor import execute
from penstock.execute.failures import describe
from penstock.execute.plan import Plan
from penstock.execute.results import LARGE, RESULTS
from penstock.execute.step import Step
from penstock.execute.trace import Recorder, Trace, fill_partition_graphs
from penstock.graph import stacks
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.native.config import config as compiler_config
from penstock.platform.logging import get_logger
from penstock.program import ir
from penstock.program.devices import Device, local_devices
from penstock.program.passes import options_of
from penstock.session import backends, partial
from penstock.session.fetches import Fetches, expand_feeds, feed_value, handed_out

_log = get_logger()

_CLOSED = "Session has been closed."
_GROWTH_LIMIT = 10  # runs in a row, each after the graph grew, until a warning


class BaseSession:
    """What Session and InteractiveSession share."""

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = graph or default_graph()
        self._config = config if config is not None else ConfigProto()
        self._environment = Environment(local_devices(self._config), self._config.allow_soft_placement, self._config.log_device_placement,
                                        threads=self._config.intra_op_parallelism_threads, passes=options_of(self._config))
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target)}")
        self._target = target.decode() if isinstance(target, bytes) else target
        self._remote = backends.connect(self._target, self._graph, self._config) if self._target else None
        self._plans: dict[Any, Plan] = {}
        self._timeout = self._config.operation_timeout_in_ms
        self._run_once: set[Any] = set()  # keys of plans that have run once, without native code
        self._plans_of = -1  # the graph's mutation count that the plans were made for
        self._fetches: dict[Any, Fetches] = {}
        self._lock = threading.Lock()
        self._steps: set[Step] = set()
        self._closed = False
        self._before_close: dict[Callable[[], None], None] = {}
        self._seen_ops, self._growth = 0, 0
        self._partial_runs: dict[str, partial.PartialRun] = {}
        self._partial_numbers = itertools.count()
        _open_sessions.add(self)

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Computes ``fetches`` (tensors, operations, names, variables, or any nest of them), given the values in ``feed_dict``.

        The result has the structure of ``fetches``: arrays for tensors, None for operations.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     x = tf.placeholder(tf.float32)
        ...     sess.run({"double": x * 2.0, "same": [x]}, {x: 3.0})
        {'double': np.float32(6.0), 'same': [np.float32(3.0)]}
        """
        self._check_open()
        wanted = self._take_apart(fetches)
        feeds = expand_feeds(self._graph, feed_dict) if feed_dict else {}
        if not wanted.tensors and not wanted.targets:
            return wanted.build([])
        return wanted.build(self._run(wanted, feeds, options, run_metadata))

    def run_recorded(self, fetches: Any, record: Recorder, feed_dict: Any = None) -> Any:
        """``run``, with ``record(device, node, start, end, outputs)`` called for each node that has run: for debuggers."""
        self._check_open()
        wanted = Fetches(self._graph, fetches)
        feeds = expand_feeds(self._graph, feed_dict or {})
        return wanted.build(self._execute(self._plan(wanted, tuple(feeds), native=False), feeds, Step(), record))

    def _run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> list[Any]:
        if self._remote is not None:
            return self._remote.run(wanted, feeds, options, run_metadata)
        seen = options is not None and (options.trace_level > RunOptions.NO_TRACE or options.output_partition_graphs)
        plan = self._plan(wanted, tuple(feeds), native=not seen)  # a step that is looked at runs node by node
        step = Step((options.timeout_in_ms if options is not None else 0) or self._timeout)
        trace = Trace() if options is not None and run_metadata is not None and options.trace_level > RunOptions.NO_TRACE else None
        results = self._execute(plan, feeds, step, trace)
        if run_metadata is not None:
            if trace is not None:
                run_metadata.step_stats.CopyFrom(trace.step_stats())
            if options is not None and options.output_partition_graphs:
                fill_partition_graphs(plan, run_metadata)
        return results

    def _execute(self, plan: Plan, feeds: dict[Tensor, Any], step: Step, record: Recorder | None) -> list[Any]:
        """Runs a plan as one step that ``close`` can cancel."""
        self._steps.add(step)
        if self._closed:  # ``close`` came after the check, and may not have seen the step
            step.cancel(errors.CancelledError(None, None, _CLOSED))
        try:
            slots = execute(plan, list(feeds.values()), step, record)
        finally:
            self._steps.discard(step)
        return [self._result(slots[part], slot, node) for part, slot, node in plan.fetch_places]

    @staticmethod
    def _result(slots: list[Any], slot: int, node: ir.Node) -> Any:
        try:
            value = handed_out(slots, slot)
        except errors.KernelError as error:  # a variable without a value, fetched by reference
            raise describe(error, node, []) from None
        if type(value) is np.ndarray and value.nbytes >= LARGE:
            RESULTS.keep(value)
        return value

    def _take_apart(self, fetches: Any) -> Fetches:
        """The Fetches of a nest, remembered for tensors and flat lists of them, which training loops fetch again and again."""
        if isinstance(fetches, (Tensor, Operation)):
            key = fetches
        elif isinstance(fetches, list) and all(isinstance(item, (Tensor, Operation)) for item in fetches):
            key = tuple(fetches)  # type: ignore[assignment]
        else:
            return Fetches(self._graph, fetches)
        found = self._fetches.get(key)
        if found is None:
            found = self._fetches[key] = Fetches(self._graph, fetches)
        return found

    def _plan(self, wanted: Fetches, feeds: tuple[Tensor, ...], native: bool = True) -> Plan:
        graph, last = self._graph, wanted.last
        if last is not None and native and last[0] == graph._mutations and last[1] == feeds:
            return last[2]
        if self._plans_of != graph._mutations:
            self._plans, self._plans_of, self._run_once = {}, graph._mutations, set()
        key = (*wanted.tensors, None, *wanted.targets, native, *feeds)
        plan = self._plans.get(key)
        if plan is None:
            self._notice_growth()
            later = native and compiler_config.mode == "background"  # many steps run once: they need no compiler
            if later:
                self._run_once.add(key)
            plan = self._plans[key] = self._environment.plan(ir.prune(wanted.tensors, wanted.targets, feeds), native and not later)
        elif key in self._run_once:
            self._run_once.discard(key)
            plan = self._plans[key] = self._environment.plan(ir.prune(wanted.tensors, wanted.targets, feeds), native)
        else:
            self._growth = 0
            if native:
                wanted.last = (graph._mutations, feeds, plan)
        return plan

    def _notice_growth(self) -> None:
        """Warns, once, of a program that adds ops to the graph inside its loop: each run then needs a new plan."""
        ops = self._graph._ops
        self._growth = self._growth + 1 if len(ops) > self._seen_ops else 0
        self._seen_ops = len(ops)
        if self._growth == _GROWTH_LIMIT:
            _log.warning("The graph grew before each of the last %d runs, to %d operations; the newest is '%s', made at %s. Operations that are "
                         "made inside a loop pile up and make every run slower: build the graph once, before the loop (graph.finalize() finds "
                         "the line).", _GROWTH_LIMIT, len(ops), ops[-1].name, ops[-1].origin)

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Callable[..., Any]:
        """A function of the values of ``feed_list`` that returns ``fetches``: the fastest way to run one step again and again."""
        self._check_open()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        wanted = Fetches(self._graph, fetches)
        tensors = [self._graph.as_graph_element(item, allow_operation=False) for item in feed_list or ()]

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            self._check_open()
            if len(values) != len(tensors):
                raise ValueError(f"Expected {len(tensors)} values for the feeds of this callable, got {len(values)}")
            feeds = {tensor: feed_value(self._graph, tensor, value) for tensor, value in zip(tensors, values)}  # type: ignore[arg-type]
            return wanted.build(self._run(wanted, feeds, options, run_metadata))  # type: ignore[arg-type]

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Prepares a step that is run in parts; returns the handle for ``partial_run``."""
        self._check_open()
        wanted = Fetches(self._graph, fetches)
        tensors: list[Any] = [self._graph.as_graph_element(item, allow_operation=False) for item in feeds or ()]
        if self._remote is not None:
            return self._remote.partial_run_setup(wanted, tensors)
        program = ir.prune(wanted.tensors, wanted.targets, tensors)
        handle = f"partial_run_{next(self._partial_numbers)}"
        self._partial_runs[handle] = partial.PartialRun(program, tensors, wanted, self._environment)
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Goes on with a step that ``partial_run_setup`` prepared: what earlier parts computed is not computed again."""
        self._check_open()
        if self._remote is not None:
            wanted = Fetches(self._graph, fetches)
            return wanted.build(self._remote.partial_run(handle, wanted, expand_feeds(self._graph, feed_dict or {})))
        run = self._partial_runs.get(handle)
        if run is None:
            raise errors.InvalidArgumentError(None, None, f"Must run 'setup' before performing partial runs! There is no handle {handle!r}.")
        wanted = Fetches(self._graph, fetches)
        values = run.run(wanted, expand_feeds(self._graph, feed_dict or {}))
        if run.over:
            self._partial_runs.pop(handle, None)
        return wanted.build(values)

    # --- life --------------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef proto."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> bytes:
        """The target as bytes; empty for this process."""
        return self._target.encode()

    def list_devices(self) -> list[Device]:
        """The devices that steps can use."""
        if self._remote is not None:
            return self._remote.list_devices()
        return list(self._environment.devices)

    def as_default(self) -> AbstractContextManager[Any]:
        """Makes this the default session inside a ``with`` block; ``tensor.eval()`` and ``op.run()`` use it."""
        return stacks.sessions.using(self)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph._ops:
            raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")

    def before_close(self, function: Callable[[], None]) -> None:
        """Has ``close`` call ``function`` first, once, while the session still runs: for work in other threads that needs it to the end."""
        self._before_close[function] = None

    def close(self) -> None:
        """Ends the session: steps under way are cancelled, its variables and queues are freed."""
        try:
            while self._before_close:
                self._before_close.popitem()[0]()
        finally:
            self._end()

    def _end(self) -> None:
        if self._remote is not None and not self._closed:
            self._remote.close()
        self._closed = True
        for step in list(self._steps):
            step.cancel(errors.CancelledError(None, None, _CLOSED))
        self._plans, self._fetches = {}, {}
        self._environment.clear()
        RESULTS.clear()


_open_sessions: weakref.WeakSet[BaseSession] = weakref.WeakSet()


class Session(BaseSession):
    """Runs operations of a graph; also a context manager that makes itself and its graph the default.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.constant(2) + 3)
    np.int32(5)
    """

    def __enter__(self) -> Session:
        self._context = _entered(self)
        return self._context.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._context.__exit__(kind, error, trace)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Clears the resource containers (all of them, if none is named) on a target."""
        if target:
            backends.reset(target, list(containers or ()), config)
            return
        for session in list(_open_sessions):
            session._environment.resources.clear(containers)


@contextmanager
def _entered(session: Session) -> Iterator[Session]:
    with session.graph.as_default(), session.as_default():
        yield session


class InteractiveSession(BaseSession):
    """A session that is the default from its creation to its ``close()``: for shells and notebooks."""

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        stacks.sessions.items.append(self)
        self._graph_context = self._graph.as_default() if graph is not None else None
        if self._graph_context is not None:
            self._graph_context.__enter__()

    def close(self) -> None:
        """Ends the session and stops being the default."""
        if self._closed:
            return
        super().close()
        if self in stacks.sessions.items:
            stacks.sessions.items.remove(self)
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)
