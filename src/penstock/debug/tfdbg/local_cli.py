"""The debugger on a terminal: it stops before the first run, and after each run that is debugged.

``Debugger`` decides, run for run, what is watched, and talks with the person; a wrapped session and a hook both drive it: ``before`` a run, ``after``
it. Answers of the command ``run`` are ``RunOrders``: how many runs to let pass, until which filter, what to watch.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from tensorboard.compat.proto.config_pb2 import RunOptions

from penstock.debug.tfdbg.analyzer import Analyzer, Filters, add_value_arguments, value_lines
from penstock.debug.tfdbg.commands import BadCommand, CommandLine, Leave
from penstock.debug.tfdbg.config import Config
from penstock.debug.tfdbg.dump_dir import DebugDumpDir, has_inf_or_nan
from penstock.debug.tfdbg.profile_view import ProfileView
from penstock.debug.tfdbg.stop_commands import STEP, StopCommands, node_names, watch_stops
from penstock.debug.tfdbg.stops import Breakpoint, Stop, Stops
from penstock.debug.tfdbg.tensor_text import split_slicing
from penstock.debug.tfdbg.watching import watch_graph
from penstock.errors import CancelledError, OpError
from penstock.session.debug_ops import IDENTITY

_BAR = "=" * 38
_UI_TYPES = ("curses", "readline")


@dataclass
class RunOrders:
    """What a person wants of the runs to come."""

    skip: int = 0  # runs that pass without the debugger
    no_debug: bool = False
    until: str = ""  # a filter
    exclude: str | None = None
    patterns: tuple[str | None, str | None, str | None] = (None, None, None)
    step: bool = False  # stop behind every node
    profile: bool = False  # times instead of values


class Debugger:
    """The state of one debugged session."""

    def __init__(self, graph: Any, dump_root: str | None = None, ui_type: str = "curses", config_file_path: str | None = None) -> None:
        if ui_type not in _UI_TYPES:
            raise ValueError(f"Invalid ui_type: {ui_type!r}; there are {', '.join(_UI_TYPES)}")
        if dump_root is not None and os.path.isfile(dump_root):
            raise ValueError(f"dump_root path points to a file: {dump_root}")
        if dump_root is not None and os.path.isdir(dump_root) and os.listdir(dump_root):
            raise ValueError(f"dump_root path points to a non-empty directory: {dump_root}")
        self._graph, self._ui = graph, ui_type
        self._root = dump_root or tempfile.mkdtemp(prefix="tfdbg_")
        self.filters: Filters = {"has_inf_or_nan": has_inf_or_nan}
        self.stops = Stops(self.filters, self._at_stop)
        self._left = False  # the person has left while a step waited
        self._orders: RunOrders | None = None
        self._config = Config(config_file_path or None)
        self._count, self._debugged = 0, False
        self._fetches: list[str] = []
        self._feeds: dict[str, Any] = {}

    def add_filter(self, name: str, function: Any) -> None:
        """Names a filter."""
        if not isinstance(name, str) or not name:
            raise ValueError("Input argument filter_name cannot be empty, and is a string.")
        if not callable(function):
            raise TypeError(f"Input argument tensor_filter is expected to be callable, but is not: {function!r}")
        self.filters[name] = function

    # --- before and after a run --------------------------------------------------------------------------------------

    def before(self, fetches: list[str], feeds: dict[str, Any]) -> Any:
        """Called before a run, with names; returns the RunOptions to debug it with, or None."""
        self._count += 1
        self._fetches, self._feeds = fetches, feeds
        if self._orders is None:
            intro = [*(self._logo() if self._count == 1 else []), "Upcoming run:", *self._run_info()]
            self._converse(self._command_line(intro), "run-start: ", "run_info")
        assert self._orders is not None
        self._debugged = not (self._orders.skip or self._orders.no_debug)
        if not self._debugged:
            return None
        options = RunOptions()
        if self._orders.profile:
            options.trace_level = RunOptions.FULL_TRACE
            return options
        os.makedirs(self._root, exist_ok=True)
        watch_graph(options, self._graph, IDENTITY, f"file://{self._root}", *self._orders.patterns)
        self.stops.stepping = self._orders.step
        if self.stops.wanted:
            self.stops.begin(feeds)
            watch_stops(options, self.stops)
        return options

    def after(self, run_metadata: Any, error: OpError | None = None) -> None:
        """Called after the run, with what it has told of itself; ``run_metadata`` may be None if it was not debugged."""
        orders = self._orders
        assert orders is not None
        if self._left:
            self._leave()
        if not self._debugged:
            orders.skip = max(0, orders.skip - 1)
            self._orders = orders if not orders.no_debug else None
            return
        if orders.profile and error is None:
            line = self._command_line()
            ProfileView(run_metadata.step_stats, self._graph).register(line)
            self._converse(line, "run-end (profiler mode): ", "lp")
            return
        try:
            dump = DebugDumpDir(self._root)
            dump.set_python_graph(self._graph)
            passed = bool(orders.until) and error is None
            if passed and not dump.find(self.filters[orders.until], 1, exclude_node_names=orders.exclude):
                return
            line = self._command_line(_error_lines(error) if error else None)
            Analyzer(dump, self.filters, self._config).register(line)
            first = f"lt -f {orders.until}" + (f" -fenn {orders.exclude}" if orders.exclude else "") if passed else "lt"
            self._converse(line, "run-end: ", "help" if error else first)
        finally:
            shutil.rmtree(self._root, ignore_errors=True)

    def _command_line(self, introduction: list[str] | None = None) -> CommandLine:
        return CommandLine(introduction, self._ui, self._config)

    def _converse(self, line: CommandLine, kind: str, first: str) -> None:
        self._add_commands(line)
        self._orders = line.converse(kind + self._description(), first)
        if self._orders is None:
            self._leave()

    def _leave(self) -> NoReturn:
        shutil.rmtree(self._root, ignore_errors=True)
        print("Note: user exited from debugger CLI: Calling sys.exit(1).", file=sys.stderr)
        sys.exit(1)

    def _at_stop(self, stop: Stop) -> None:
        """A step waits behind a node: the person looks, and says how to go on. It may be any thread's."""
        line = self._command_line()
        commands = StopCommands(self.stops, stop)
        commands.register(line)
        self._add_break(line)
        answer = line.converse(f"stop: {stop.why}: {stop.node.name}", "where")
        if answer is None:
            self._left = True
            raise CancelledError(None, None, "the debugger was left while the step waited")
        self.stops.stepping = answer == STEP

    # --- commands ----------------------------------------------------------------------------------------------------

    def _add_commands(self, line: CommandLine) -> None:
        parser = line.add("run", "r", "Let the program run, with or without watching its tensors.", self._run, lambda: self.filters)
        parser.add_argument("-t", "--times", type=int, default=1, help="stop after this many runs; only the last is debugged")
        parser.add_argument("-n", "--no_debug", action="store_true", help="the next run without the debugger")
        parser.add_argument("-p", "--profile", action="store_true", help="measure the times of the nodes instead of watching their tensors")
        parser.add_argument("-f", "--till_filter_pass", default="", help="until this filter holds for a tensor")
        parser.add_argument("-fenn", "--filter_exclude_node_names", help="with -f: leave out nodes whose names match this regular expression")
        parser.add_argument("--node_name_filter", help="watch only nodes whose names match this regular expression")
        parser.add_argument("--op_type_filter", help="watch only ops whose types match this regular expression")
        parser.add_argument("--tensor_dtype_filter", help="watch only tensors whose types match this regular expression")
        line.add("step", "s", "Debug the next run, and stop behind each of its nodes.", self._step)
        self._add_break(line)
        line.add("run_info", "ri", "Tell of this Session.run() call.", lambda parsed: [*self._logo(), *self._run_info()])
        parser = line.add("print_feed", "pf", "Print a value that is fed.", self._print_feed, lambda: self._feeds)
        parser.add_argument("tensor_name", help="such as x:0, or a part of it: x:0[1, :]")
        add_value_arguments(parser)

    def _run(self, parsed: argparse.Namespace) -> list[str]:
        if parsed.till_filter_pass and parsed.till_filter_pass not in self.filters:
            raise BadCommand(f'tensor filter "{parsed.till_filter_pass}" does not exist.')
        if parsed.filter_exclude_node_names and not parsed.till_filter_pass:
            raise BadCommand("--filter_exclude_node_names goes with --till_filter_pass (-f)")
        if parsed.profile and (parsed.no_debug or parsed.till_filter_pass):
            raise BadCommand("--profile (-p) goes neither with --no_debug (-n) nor with --till_filter_pass (-f)")
        patterns = parsed.node_name_filter, parsed.op_type_filter, parsed.tensor_dtype_filter
        raise Leave(RunOrders(max(0, parsed.times - 1), parsed.no_debug, parsed.till_filter_pass, parsed.filter_exclude_node_names, patterns,
                           profile=parsed.profile))

    def _step(self, parsed: argparse.Namespace) -> list[str]:
        raise Leave(RunOrders(step=True))

    def _add_break(self, line: CommandLine) -> None:
        parser = line.add("break", "b", "List breakpoints; set one, or take it away if it is there.", self._break,
                          lambda: [*self.filters, *(op.name for op in self._graph.get_operations())])
        parser.add_argument("where", nargs="?", help="a node, FILE.py:LINE, or a filter")

    def _break(self, parsed: argparse.Namespace) -> list[str]:
        if parsed.where:
            self.stops.toggle(self._breakpoint(parsed.where))
        return ["Breakpoints:", *(f"  {each}" for each in self.stops.breakpoints)] if self.stops.breakpoints else ["There are no breakpoints."]

    def _breakpoint(self, where: str) -> Breakpoint:
        if where in self.filters:
            return Breakpoint("filter", where)
        if re.fullmatch(r".+\.py:\d+", where):
            return Breakpoint("line", where)
        name = where.rpartition(":")[0] if re.search(r":\d+$", where) else where
        if name not in node_names(self._graph):
            raise BadCommand(f"{where} is neither a node, nor a line (FILE.py:12), nor a filter ({', '.join(self.filters)})")
        return Breakpoint("node", name)

    def _print_feed(self, parsed: argparse.Namespace) -> list[str]:
        name, slicing = split_slicing(parsed.tensor_name)
        if name not in self._feeds:
            raise BadCommand(f"The feed_dict of the current run does not contain the key {name}")
        return value_lines(np.asarray(self._feeds[name]), f"{name} (feed)", slicing, parsed)

    # --- texts -------------------------------------------------------------------------------------------------------

    def _description(self) -> str:
        one = f"1 fetch ({self._fetches[0]})" if len(self._fetches) == 1 else f"{len(self._fetches)} fetches"
        feeds = f"1 feed ({next(iter(self._feeds))})" if len(self._feeds) == 1 else f"{len(self._feeds)} feeds"
        return f"run #{self._count}: {one}; {feeds}"

    @staticmethod
    def _logo() -> list[str]:
        return ["", "tfdbg: the debugger of sessions, in Penstock", ""]

    def _run_info(self) -> list[str]:
        lines = [_BAR, f"Session.run() call #{self._count}:", "", "Fetch(es):", *(f"  {name}" for name in self._fetches), "", "Feed dict:"]
        lines += [*(f"  {name}" for name in self._feeds)] or ["  (Empty)"]
        lines += [_BAR, "", "Select one of the following commands to proceed ---->"]
        for command, text in (("run", "Execute the run() call with debug tensor-watching"), ("run -n", "Execute it without"),
                              ("run -t <T>", "Let T - 1 runs pass, debug the one after them"),
                              ("run -p", "Execute it and show where its time goes"),
                              ("run -f <filter_name>", "Go on until a tensor passes a filter"),
                              ("break <node, FILE.py:LINE or filter>", "Stop inside of a run, look, and change values"),
                              ("step", "Execute it, and stop behind each node")):
            lines += [f"  {command}:", f"    {text}"]
            if command.startswith("run -f"):
                lines += ["    Registered filter(s):", *(f"        * {name}" for name in self.filters)]
        return [*lines, "", "For more details, see help."]


def _error_lines(error: OpError) -> list[str]:
    name = error.op.name if error.op is not None else ""
    bar = "-" * 38
    tries = [(f"ni -a -d -t {name}", "Inspect information about the failing op."), (f"li -r {name}", "List inputs to the failing op, recursively.")]
    tries = (tries if name else []) + [("lt", "List all tensors dumped during the failing run() call.")]
    return [bar, "!!! An error occurred during the run !!!", "", "You may use the following commands to debug:",
            *(line for command, text in tries for line in (f"  {command}:", f"    {text}")), "", f"Op name:    {name}", f"Error type: {type(error)}",
            "", "Details:", *error.message.split("\n"), "", bar, ""]
