"""The debugger in monitored sessions and estimators: hooks that add what is watched to each run."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunOptions

from penstock.debug.tfdbg.local_cli import Debugger
from penstock.debug.tfdbg.sessions import RunFolders, Servers, Watcher, WatchFunction, debug_urls, names_of, threads_matching, watch_all_gated
from penstock.debug.tfdbg.tracebacks import TracebackSender, run_key
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class LocalCLIDebugHook(SessionRunHook):
    """``tf_debug.LocalCLIDebugHook()``: `LocalCLIDebugWrapperSession` for monitored sessions. A run that fails ends without its commands."""

    def __init__(self, ui_type: str = "curses", dump_root: str | None = None, thread_name_filter: str | None = None,
                 config_file_path: str | None = None) -> None:
        self._ui_type, self._dump_root, self._is_debugged = ui_type, dump_root, threads_matching(thread_name_filter)
        self._config_file_path = config_file_path
        self._filters: dict[str, Callable[[Any, Any], bool]] = {}
        self._debugger: Debugger | None = None
        self._active = False

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[[Any, Any], bool]) -> None:
        """Names a filter for `run -f` and `lt -f`."""
        self._filters[filter_name] = tensor_filter

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Talks with the person, and adds what is watched."""
        graph, asked = run_context.session.graph, run_context.original_args
        self._active = self._is_debugged()
        if not self._active:
            return None
        if self._debugger is None:
            self._debugger = Debugger(graph, self._dump_root, self._ui_type, self._config_file_path)
            for name, function in self._filters.items():
                self._debugger.add_filter(name, function)
        return SessionRunArgs(None, options=self._debugger.before(*names_of(graph, asked.fetches, asked.feed_dict)))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Shows what was watched."""
        if self._active and self._debugger is not None:
            self._debugger.after(run_values.run_metadata)


class WatchingHook(SessionRunHook):
    """What the hooks share that ask no one: each run hands on what a watcher, made for the graph of the first one, adds to its options."""

    def __init__(self, watcher_of: Callable[[Any], Watcher], thread_name_filter: str | None) -> None:
        self._watcher_of, self._is_debugged = watcher_of, threads_matching(thread_name_filter)
        self._watcher: Watcher | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Adds what is watched."""
        if not self._is_debugged():
            return None
        if self._watcher is None:
            self._watcher = self._watcher_of(run_context.session.graph)
        options = RunOptions()
        self._watcher.watch(options, run_context.original_args.fetches, run_context.original_args.feed_dict)
        return SessionRunArgs(None, options=options)


class DumpingDebugHook(WatchingHook):
    """``tf_debug.DumpingDebugHook(session_root)``: `DumpingDebugWrapperSession` for monitored sessions."""

    def __init__(self, session_root: str, watch_fn: WatchFunction | None = None, thread_name_filter: str | None = None,
                 log_usage: bool = True) -> None:
        super().__init__(lambda graph: RunFolders(session_root, graph, watch_fn), thread_name_filter)


class GrpcDebugHook(WatchingHook):
    """``tf_debug.GrpcDebugHook("localhost:6064")``: `GrpcDebugWrapperSession` for monitored sessions."""

    def __init__(self, grpc_debug_server_addresses: Any, watch_fn: WatchFunction | None = None, thread_name_filter: str | None = None,
                 log_usage: bool = True) -> None:
        super().__init__(lambda graph: Servers(grpc_debug_server_addresses, graph, watch_fn), thread_name_filter)


class TensorBoardDebugHook(GrpcDebugHook):
    """``tf_debug.TensorBoardDebugHook("localhost:6064")``: `TensorBoardDebugWrapperSession` for monitored sessions."""

    def __init__(self, grpc_debug_server_addresses: Any, thread_name_filter: str | None = None, send_traceback_and_source_code: bool = True,
                 log_usage: bool = True) -> None:
        super().__init__(grpc_debug_server_addresses, watch_all_gated, thread_name_filter)
        self._urls = debug_urls(grpc_debug_server_addresses) if send_traceback_and_source_code else []
        self._lines: TracebackSender | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Adds what is watched; the servers know the lines of the graph by then."""
        added = super().before_run(run_context)
        if added is not None and self._urls:
            graph, asked = run_context.session.graph, run_context.original_args
            self._lines = self._lines or TracebackSender(self._urls, graph)
            self._lines.send(run_key(*names_of(graph, asked.fetches, asked.feed_dict)))
        return added
