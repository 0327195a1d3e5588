"""Sessions around sessions, whose runs are watched: on the terminal, or into folders that are looked at later.

A run without the debugger is the wrapped session's own, and costs what it does. A debugged one runs node by node, by NumPy's kernels.
"""
from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions
from tensorboard.compat.proto.event_pb2 import Event

from penstock.debug.tfdbg.local_cli import Debugger
from penstock.debug.tfdbg.tracebacks import TracebackSender, run_key
from penstock.debug.tfdbg.watching import WatchOptions, watch_graph
from penstock.errors import OpError
from penstock.graph import stacks
from penstock.session.debug_ops import IDENTITY
from penstock.session.fetches import Fetches, expand_feeds
from penstock.train.monitored_session import StepContext

WatchFunction = Callable[[Any, Any], Any]  # (fetches, feeds) -> WatchOptions, or (debug_urls, debug_ops, ...) of old
_numbers = itertools.count(1)


class Watcher(Protocol):
    """Says where what a run computes goes."""

    def watch(self, options: Any, fetches: Any, feed_dict: Any) -> None:
        """Adds to the options of a run what is watched."""


class DebugWrapperSession:
    """What the wrappers share: a session that does all but ``run`` as the wrapped one does it."""

    def __init__(self, sess: Any, thread_name_filter: str | None = None) -> None:
        if not callable(getattr(sess, "run", None)) or getattr(sess, "graph", None) is None:
            raise TypeError(f"Expected a tf.Session or a MonitoredSession; got {type(sess)}")
        self._sess, self._thread_filter = sess, threads_matching(thread_name_filter)
        self.run_call_count = 0

    @property
    def session(self) -> Any:
        """The wrapped session."""
        return self._sess

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """``Session.run``, watched."""
        if not self._thread_filter():
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        self.run_call_count += 1
        wanted = RunOptions()
        if options is not None:
            wanted.CopyFrom(options)
        return self.run_watched(fetches, feed_dict, wanted, run_metadata)

    def run_watched(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        """A run whose ``options`` may be added to."""
        raise NotImplementedError

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Callable[..., Any]:
        """``Session.make_callable``: a function whose calls are watched."""
        self._sess.make_callable(fetches, feed_list, accept_options)  # complains if it has to
        return lambda *values, **options: self.run(fetches, dict(zip(feed_list or (), values, strict=True)), **options)

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """``MonitoredSession.run_step_fn``: what the function runs with hooks is watched."""
        return step_fn(StepContext(self._sess, self.run))

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Not watched, so not done."""
        raise NotImplementedError("partial_run_setup is not implemented for debug-wrapper sessions.")

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Not watched, so not done."""
        raise NotImplementedError("partial_run is not implemented for debug-wrapper sessions.")

    def as_default(self) -> AbstractContextManager[Any]:
        """Makes this the default session inside a ``with`` block."""
        return stacks.sessions.using(self)

    def __getattr__(self, name: str) -> Any:
        if name == "_sess":  # before it is set
            raise AttributeError(name)
        return getattr(self._sess, name)

    def __enter__(self) -> Any:
        self._sess.__enter__()
        self._context = self.as_default()
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        self._context.__exit__(*error)
        return self._sess.__exit__(*error)


def threads_matching(pattern: str | None) -> Callable[[], bool]:
    """Is the thread at hand one of those that are debugged?"""
    return lambda: pattern is None or re.match(pattern, threading.current_thread().name) is not None


def names_of(graph: Any, fetches: Any, feed_dict: Any) -> tuple[list[str], dict[str, Any]]:
    """The names of what is fetched, and values by the names of what is fed."""
    wanted = Fetches(graph, fetches)
    names = [tensor.name for tensor in wanted.tensors] + [op.name for op in wanted.targets]
    return names, {tensor.name: value for tensor, value in expand_feeds(graph, feed_dict or {}).items()}


class LocalCLIDebugWrapperSession(DebugWrapperSession):
    """``tf_debug.LocalCLIDebugWrapperSession(sess)``: stops at runs and reads commands from the terminal; `help` tells which.

    ``ui_type``: "curses", a whole screen where the terminal has one; "readline", lines. ``config_file_path``: where the command `config` keeps what
    it sets (default: ~/.tfdbg_config).
    """

    def __init__(self, sess: Any, dump_root: str | None = None, log_usage: bool = True, ui_type: str = "curses",
                 thread_name_filter: str | None = None, config_file_path: Any = False) -> None:
        super().__init__(sess, thread_name_filter)
        self._debugger = Debugger(sess.graph, dump_root, ui_type, config_file_path or None)

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[[Any, Any], bool]) -> None:
        """Names a filter, ``tensor_filter(datum, value) -> bool``, for `run -f` and `lt -f`."""
        self._debugger.add_filter(filter_name, tensor_filter)

    def run_watched(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        """Talks with the person before and after."""
        more = self._debugger.before(*names_of(self._sess.graph, fetches, feed_dict))
        options.MergeFrom(more or RunOptions())
        run_metadata = RunMetadata() if run_metadata is None and more is not None else run_metadata
        try:
            result = self._sess.run(fetches, feed_dict, options, run_metadata)
        except OpError as error:
            self._debugger.after(run_metadata, error)
            raise
        self._debugger.after(run_metadata)
        return result


class NonInteractiveDebugWrapperSession(DebugWrapperSession):
    """What the wrappers share that ask no one: ``watcher`` has each run hand on what is watched."""

    watcher: Watcher

    def run_watched(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        """Runs, watched."""
        self.watcher.watch(options, fetches, feed_dict)
        return self._sess.run(fetches, feed_dict, options, run_metadata)


class DumpingDebugWrapperSession(NonInteractiveDebugWrapperSession):
    """``tf_debug.DumpingDebugWrapperSession(sess, session_root)``: each run writes its tensors into a folder ``run_...`` of its own.

    ``watch_fn(fetches, feeds)`` says what is watched, by a WatchOptions.
    """

    def __init__(self, sess: Any, session_root: str, watch_fn: WatchFunction | None = None, thread_name_filter: str | None = None,
                 pass_through_operrors: bool | None = None, log_usage: bool = True) -> None:
        super().__init__(sess, thread_name_filter)
        self.watcher = RunFolders(session_root, sess.graph, watch_fn)


class RunFolders:
    """A folder per run below a root, which is made if need be."""

    def __init__(self, session_root: str, graph: Any, watch_fn: WatchFunction | None) -> None:
        self._root, self._graph, self._watch_fn = os.fspath(session_root), graph, checked_watch_fn(watch_fn)
        if os.path.isfile(self._root):
            raise ValueError(f"session_root path points to a file: {self._root}")
        os.makedirs(self._root, exist_ok=True)

    def watch(self, options: Any, fetches: Any, feed_dict: Any) -> None:
        """Makes the folder of a run, and has the run write into it."""
        folder = os.path.join(self._root, f"run_{time.time_ns() // 1000}_{next(_numbers)}")
        os.makedirs(folder)
        for name, text in (("fetches", repr(fetches)), ("feed_keys", repr(dict(feed_dict).keys() if feed_dict else []))):
            event = Event()
            event.log_message.message = text
            with open(os.path.join(folder, f"_tfdbg_{name}_info_"), "wb") as file:
                file.write(event.SerializeToString())
        add_watches(options, self._graph, self._watch_fn, fetches, feed_dict, f"file://{folder}")


class GrpcDebugWrapperSession(NonInteractiveDebugWrapperSession):
    """``tf_debug.GrpcDebugWrapperSession(sess, "localhost:6064")``: each run sends its tensors to debug servers.

    ``watch_fn(fetches, feeds)`` says what is watched, by a WatchOptions.
    """

    def __init__(self, sess: Any, grpc_debug_server_addresses: Any, watch_fn: WatchFunction | None = None, thread_name_filter: str | None = None,
                 log_usage: bool = True) -> None:
        super().__init__(sess, thread_name_filter)
        self.watcher = Servers(grpc_debug_server_addresses, sess.graph, watch_fn)


class Servers:
    """Debug servers by their addresses, and what they are shown of a graph."""

    def __init__(self, addresses: Any, graph: Any, watch_fn: WatchFunction | None) -> None:
        self._urls, self._graph, self._watch_fn = debug_urls(addresses), graph, checked_watch_fn(watch_fn)

    def watch(self, options: Any, fetches: Any, feed_dict: Any) -> None:
        """Has a run send what is watched."""
        add_watches(options, self._graph, self._watch_fn, fetches, feed_dict, self._urls)


def debug_urls(addresses: Any) -> list[str]:
    """The addresses of debug servers, one or several, with their scheme."""
    given = [addresses] if isinstance(addresses, str) else addresses
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
        raise TypeError(f"Expected type str or list in grpc_debug_server_addresses, received type {type(addresses)}")
    return [each if each.startswith("grpc://") else f"grpc://{each}" for each in given]


def watch_all_gated(fetches: Any, feeds: Any) -> WatchOptions:
    """All tensors, each as soon as a server asks for it."""
    return WatchOptions(debug_ops=[f"{IDENTITY}(gated_grpc=true)"])


class TensorBoardDebugWrapperSession(GrpcDebugWrapperSession):
    """``tf_debug.TensorBoardDebugWrapperSession(sess, "localhost:6064")``: a server says which tensors it wants to see, and at which to stop.

    That is the debugger of TensorBoard 1 (``tensorboard --debugger_port``), which also shows the lines that made a graph. Without one:
    `penstock debug --browser`.
    """

    def __init__(self, sess: Any, grpc_debug_server_addresses: Any, thread_name_filter: str | None = None,
                 send_traceback_and_source_code: bool = True, log_usage: bool = True) -> None:
        super().__init__(sess, grpc_debug_server_addresses, watch_all_gated, thread_name_filter)
        self._lines = TracebackSender(debug_urls(grpc_debug_server_addresses) if send_traceback_and_source_code else [], sess.graph)

    def run_watched(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        """Runs, watched by the servers, which know the lines of the graph by then."""
        self._lines.send(run_key(*names_of(self._sess.graph, fetches, feed_dict)))
        return super().run_watched(fetches, feed_dict, options, run_metadata)


def checked_watch_fn(watch_fn: Any) -> WatchFunction | None:
    """A function that says what is watched; TypeError if it is none."""
    if watch_fn is not None and not callable(watch_fn):
        raise TypeError(f"watch_fn is not callable: {watch_fn!r}")
    return watch_fn


def add_watches(options: Any, graph: Any, watch_fn: WatchFunction | None, fetches: Any, feed_dict: Any, urls: Any) -> None:
    """Has a run with these options hand what ``watch_fn`` chooses to addresses."""
    chosen = watch_fn(fetches, feed_dict) if watch_fn is not None else WatchOptions()
    if not isinstance(chosen, WatchOptions):
        raise TypeError(f"watch_fn has to return a WatchOptions; it returned {chosen!r}")
    watch_graph(options, graph, chosen.debug_ops, urls, chosen.node_name_regex_whitelist, chosen.op_type_regex_whitelist,
                chosen.tensor_dtype_regex_whitelist, chosen.tolerate_debug_op_creation_failures)
