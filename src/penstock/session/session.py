"""Session: takes fetches and feeds apart, has its back end run the step, and puts the results together.

Where a step runs is the affair of the back end (``backend.py``): in this process (``local.py``), or on a cluster (``remote.py``).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from tensorboard.compat.proto.config_pb2 import ConfigProto, RunMetadata

from penstock.errors import OpError
from penstock.execute.probe import Probe
from penstock.graph import stacks
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.program.default_config import default_config
from penstock.program.devices import Device
from penstock.session import backends
from penstock.session.backend import PLAIN, step_options
from penstock.session.fetches import Fetches, expand_feeds, feed_value
from penstock.session.handles import moved
from penstock.session.observers import SessionRun, run_observers
from penstock.session.watches import dumping

_ELEMENTS = frozenset((Tensor, Operation))


class BaseSession:
    """What Session and InteractiveSession share."""

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = graph or _graph_for_sessions()
        self._config = config if config is not None else default_config()
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target)}")
        self._target = target.decode() if isinstance(target, bytes) else target
        self._backend = backends.connect(self._target, self._graph, self._config)
        self._fetches: dict[Any, Fetches] = {}
        self._dead_handles: list[str] = []  # of tensors that it keeps and nothing can ask for any more
        self._closed = False
        self._before_close: dict[Callable[[], None], None] = {}

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
        wanted = (self._fetches.get(fetches) if type(fetches) is Tensor else None) or self._take_apart(fetches)
        feeds = expand_feeds(self._graph, feed_dict) if feed_dict else {}
        if options is None and run_metadata is None and not (run_observers or wanted.is_empty or self._graph._handle_feeders):
            return wanted.build(self._backend.run(wanted, feeds, PLAIN)[0])
        return self._run_specially(wanted, feeds, options, run_metadata)

    def _run_specially(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> Any:
        """``run``, with options or observers, of nothing, or where handles of tensors may be fed."""
        if feeds and self._graph._handle_feeders:
            return self._run_with_handles(wanted, feeds, options, run_metadata)
        return wanted.build([] if wanted.is_empty else self._run(wanted, feeds, options, run_metadata))

    def _run_with_handles(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> Any:
        """``run``, where handles of tensors may be among the feeds."""
        copies = moved(self, feeds)  # alive until the step has run
        feeds.update((holder, np.array(copy.handle.encode(), object)) for holder, copy in copies.items())
        return wanted.build(self._run(wanted, feeds, options, run_metadata))

    def run_probed(self, fetches: Any, probe: Probe, feed_dict: Any = None) -> Any:
        """``run``, with ``probe`` told of each node that has run: for debuggers."""
        self._check_open()
        wanted = Fetches(self._graph, fetches, self)
        return wanted.build(self._backend.run_probed(wanted, expand_feeds(self._graph, feed_dict or {}), probe))

    def _run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> list[Any]:
        if run_observers:
            return self._run_observed(wanted, feeds, options, run_metadata)
        values, metadata = self._run_with(wanted, feeds, options, run_metadata is not None)
        if run_metadata is not None:
            run_metadata.CopyFrom(metadata if metadata is not None else RunMetadata())
        return values

    def _run_observed(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> list[Any]:
        run = SessionRun(self._graph, self._backend, wanted, feeds, options, run_metadata)
        observers = list(run_observers)
        for observer in observers:
            observer.before(run)
        try:
            values, metadata = self._run_with(wanted, feeds, run.options, run.metadata is not None)
        except OpError as error:
            for observer in observers:
                observer.failed(run, error)
            raise
        for asked in (run_metadata, run.metadata):
            if asked is not None:
                asked.CopyFrom(metadata if metadata is not None else RunMetadata())
        for observer in observers:
            observer.after(run)
        return values

    def _run_with(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, wants_metadata: bool) -> tuple[list[Any], RunMetadata | None]:
        if options is not None and options.debug_options.debug_tensor_watch_opts:
            with dumping(options.debug_options, wanted, feeds) as probe:
                return self._backend.run_probed(wanted, feeds, probe), None
        return self._backend.run(wanted, feeds, step_options(options, wants_metadata))

    def _take_apart(self, fetches: Any) -> Fetches:
        """The Fetches of a nest, remembered for tensors and flat lists of them, which training loops fetch again and again."""
        self._check_open()
        if isinstance(fetches, (Tensor, Operation)):
            key = fetches
        elif type(fetches) is list and _ELEMENTS.issuperset(map(type, fetches)):
            key = tuple(fetches)  # type: ignore[assignment]
        else:
            return Fetches(self._graph, fetches, self)
        wanted = self._fetches.get(key)
        if wanted is None:
            wanted = self._fetches[key] = Fetches(self._graph, fetches, self)
        return wanted

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Callable[..., Any]:
        """A function of the values of ``feed_list`` that returns ``fetches``: the fastest way to run one step again and again."""
        self._check_open()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        wanted = Fetches(self._graph, fetches, self)
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
        wanted = Fetches(self._graph, fetches, self)
        tensors: list[Any] = [self._graph.as_graph_element(item, allow_operation=False) for item in feeds or ()]
        return self._backend.partial_run_setup(wanted, tensors)

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Goes on with a step that ``partial_run_setup`` prepared: what earlier parts computed is not computed again."""
        self._check_open()
        wanted = Fetches(self._graph, fetches, self)
        return wanted.build(self._backend.partial_run(handle, wanted, expand_feeds(self._graph, feed_dict or {})))

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
        return self._backend.list_devices()

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
        if not self._closed:
            self._closed = True
            self._backend.close()
        self._fetches = {}


def _graph_for_sessions() -> Graph:
    """The default graph; an empty one in imperative style, whose operations have no graph."""
    graph = default_graph()
    return Graph() if graph.imperative else graph


class Session(BaseSession):
    """Runs operations of a graph; also a context manager that makes itself and its graph the default.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.constant(2) + 3)
    np.int32(5)
    """

    _context: AbstractContextManager[Session] | None = None

    def __enter__(self) -> Session:
        if self._context is not None:
            raise RuntimeError("Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session multiple "
                               "times.")
        self._context = _as_default(self)
        return self._context.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(kind, error, trace)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Clears the resource containers (all of them, if none is named) on a target."""
        backends.reset(target, list(containers or ()), config)


@contextmanager
def _as_default(session: Session) -> Iterator[Session]:
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
