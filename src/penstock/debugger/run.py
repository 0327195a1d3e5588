"""A program under the debugger of a page: where it stops, and what the page may say. Messages in, answers out, without a socket.

The program runs in its own threads and waits there at a stop; the page's messages come in others. ``state`` answers when something has changed since
the page last asked, or after a while. A run is watched node by node only if something could stop it, or if the page wants its values; all others are
the session's own.
"""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
from tensorboard.compat.proto.config_pb2 import RunOptions

from penstock.debug.tfdbg.dump_dir import has_inf_or_nan, has_nan
from penstock.debug.tfdbg.stop_commands import watch_stops
from penstock.debug.tfdbg.stops import Breakpoint, Stop, Stops, converted, user_line
from penstock.debug.values import described
from penstock.debugger import looking
from penstock.debugger.looking import BadRequest
from penstock.errors import OpError
from penstock.pages.server import Message
from penstock.session.observers import RunObserver, SessionRun

FILTERS = {"has_inf_or_nan": has_inf_or_nan, "has_nan": has_nan}
PATIENCE = 10.0  # seconds that ``state`` waits for a change
_COMMANDS = ("step", "finish", "go")


class PageDebugger(RunObserver):
    """One program. ``seen`` is set when a page knows how it ended."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.stops = Stops(dict(FILTERS), self._at_node)
        self.ended = threading.Event()
        self.seen = threading.Event()
        self._changed = threading.Condition()
        self._version = 0
        self._state: dict[str, Any] = {"status": "running", "stop": None, "run": None, "trouble": ""}
        self._command = ""  # what the page has said
        self._pause = True  # before the next run
        self._runs = 0
        self._run: SessionRun | None = None
        self._graph: Any = None
        self._stop: Stop | None = None
        self._sources: tuple[Any, dict[str, dict[int, list[str]]]] = (None, {})

    def messages(self) -> dict[str, Message]:
        """The messages by name."""
        return {"state": self._tell_state, "command": self._take_command, "break": self._toggle, "graph": self._tell_graph,
                "operation": lambda body: looking.operation(self._known_graph(), body.get("name")), "value": self._tell_value,
                "values": lambda body: self._tell_values(), "change": self._change, "source": self._tell_source}

    # --- the program's side ------------------------------------------------------------------------------------------

    def before(self, run: SessionRun) -> None:
        """A run will begin: stops, if that is wanted, and has the run watched, if that is needed."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._runs += 1
        self._run, self._graph = run, run.graph
        self.stops.begin(self._feeds_by_name(run))
        self.stops.stepping = self.stops.watching = False
        told = {"number": self._runs, "fetches": [tensor.name for tensor in run.wanted.tensors] + [op.name for op in run.wanted.targets],
                "feeds": [tensor.name for tensor in run.feeds]}
        self._set(run=told)
        if self._pause:
            self._obey(self._wait("run"))
            self.stops.values.update(self._feeds_by_name(run))  # they may have been changed
        if self.stops.wanted:
            options = RunOptions()
            if run.options is not None:
                options.CopyFrom(run.options)
            watch_stops(options, self.stops)
            run.options = options

    def after(self, run: SessionRun) -> None:
        """A run has ended: stops, if its values are wanted."""
        if self._run is run and self.stops.watching:
            self._obey(self._wait("end"))

    def failed(self, run: SessionRun, error: OpError) -> None:
        """A run has failed: stops, so that the page shows where."""
        if self._run is run:
            op = error.op
            file, line, code = user_line(op)
            self._obey(self._wait("error", error=error.message, node=op.name if op is not None else "", file=file, line=line, code=code.strip()))

    def end(self, code: int, text: str) -> None:
        """The program has ended; ``text`` is its traceback, if it failed."""
        self._set(status="ended", stop=None, trouble=text, code=code)
        self.ended.set()

    def _at_node(self, stop: Stop) -> None:
        self._stop = stop
        file, line, code = user_line(stop.node.origin)
        inputs = [producer.name for producer, _ in stop.node.inputs]
        command = self._wait("node", node=stop.node.name, type=stop.node.definition.type, why=stop.why, file=file, line=line, code=code.strip(),
                             frames=[list(frame) for frame in stop.frames], changeable=stop.changeable, device=stop.device, inputs=inputs)
        self._stop = None
        self._obey(command)

    def _obey(self, command: str) -> None:
        self.stops.stepping, self.stops.watching = command == "step", command != "go"
        self._pause = command != "go"

    def _wait(self, kind: str, **told: Any) -> str:
        """Tells the page that the program stops, and waits for what it says."""
        with self._changed:
            self._command = ""
            self._note(status="stopped", stop={"kind": kind, **told})
            while not self._command:
                self._changed.wait()
            return self._command

    def _set(self, **told: Any) -> None:
        with self._changed:
            self._note(**told)

    def _note(self, **told: Any) -> None:
        self._state = {**self._state, **told}
        self._version += 1
        self._changed.notify_all()

    @staticmethod
    def _feeds_by_name(run: SessionRun) -> dict[str, Any]:
        return {tensor.name: np.asarray(value) for tensor, value in run.feeds.items()}

    # --- the page's side ---------------------------------------------------------------------------------------------

    def _tell_state(self, body: dict[str, Any]) -> dict[str, Any]:
        """How the program is; waits until that is news."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != body.get("seen"), PATIENCE)
            told = {**self._state, "version": self._version, "program": self.program, "filters": list(self.stops.filters),
                    "breakpoints": [[each.kind, each.where] for each in self.stops.breakpoints], "paused": self._pause}
        if told["status"] == "ended":
            self.seen.set()
        return told

    def _take_command(self, body: dict[str, Any]) -> dict[str, Any]:
        command = body.get("command")
        if command == "pause":
            self._pause = True
            self._set()
            return {}
        if command not in _COMMANDS:
            raise BadRequest(f"{command!r} is not one of pause, {', '.join(_COMMANDS)}")
        with self._changed:
            if self._state["status"] != "stopped":
                raise BadRequest("the program is not stopped")
            self._command = command
            self._note(status="running", stop=None)
        return {}

    def _toggle(self, body: dict[str, Any]) -> dict[str, Any]:
        kind, where = body.get("kind"), body.get("where")
        if not isinstance(where, str):
            raise BadRequest("a breakpoint says where it is")
        if not self._is_there(kind, where):
            raise BadRequest(f"there is no {kind} {where}")
        is_set = self.stops.toggle(Breakpoint(str(kind), where))
        self._set()
        return {"set": is_set}

    def _is_there(self, kind: Any, where: str) -> bool:
        if kind == "filter":
            return where in self.stops.filters
        if kind == "node":
            return any(op.name == where for op in looking.all_operations(self._known_graph()))
        file, _, line = where.rpartition(":")
        return kind == "line" and line.isdecimal() and int(line) in self._lines().get(file, {})

    def _tell_graph(self, body: dict[str, Any]) -> dict[str, Any]:
        stop = self._stop
        if body.get("inside") is True and stop is not None and stop.node.origin is not None:
            return looking.function_picture(stop.node.origin.graph)
        if self._run is None:
            raise BadRequest("no run has begun yet")
        return looking.run_picture(self._run)

    def _tell_values(self) -> dict[str, Any]:
        """Which values there are, in the order in which they were computed; those with elements that are not finite are marked."""
        told = []
        for name, value in list(self.stops.values.items()):
            array = np.asarray(value)
            told.append([name, f"{array.dtype}[{','.join(map(str, array.shape))}]", bool(has_inf_or_nan(None, array))])
        return {"values": told}

    def _tell_value(self, body: dict[str, Any]) -> dict[str, Any]:
        value = self.stops.values.get(str(body.get("name")))
        return {"note": "not computed yet in this run"} if value is None else described(value)

    def _change(self, body: dict[str, Any]) -> dict[str, Any]:
        """Another value for a feed, before its run, or for an output of the node behind which the program waits."""
        name, stop, run = body.get("name"), self._stop, self._run
        with self._changed:
            if self._state["status"] != "stopped" or run is None or not isinstance(name, str) or name not in self.stops.values:
                raise BadRequest(f"{name} cannot be changed now")
            value = _fitting(body.get("value"), self.stops.values[name])
            kind = self._state["stop"]["kind"]
            if kind == "run":
                run.feeds[next(tensor for tensor in run.feeds if tensor.name == name)] = value
            elif kind == "node" and stop is not None and name.rpartition(":")[0] == stop.node.name:
                if not stop.changeable:
                    raise BadRequest("the nodes behind it have run already on their tasks: break at this node, and change it then")
                self.stops.change(int(name.rpartition(":")[2]), value)
            else:
                raise BadRequest(f"{name} has been used already: break at its node, and change it there")
            self.stops.values[name] = value
        return described(value)

    def _tell_source(self, body: dict[str, Any]) -> dict[str, Any]:
        """A file that made operations, with their lines; the program itself if none is named. No other file is read."""
        lines = self._lines() if self._graph is not None else {}
        file = str(body.get("file") or self.program)
        if file != self.program and file not in lines:
            raise BadRequest("no line of that file has made an operation")
        try:
            with open(file, encoding="utf-8", errors="replace") as opened:
                text = opened.read()
        except OSError as error:
            raise BadRequest(f"{file}: {error.strerror}") from None
        return {"file": file, "text": text, "lines": lines.get(file, {}), "files": sorted({self.program, *lines})}

    def _known_graph(self) -> Any:
        if self._graph is None:
            raise BadRequest("no run has begun yet")
        return self._graph

    def _lines(self) -> dict[str, dict[int, list[str]]]:
        graph = self._known_graph()
        key = (graph, graph._mutations, len(graph._ops))
        if self._sources[0] != key:
            self._sources = (key, looking.source_lines(graph))
        return self._sources[1]


def _fitting(value: Any, like: Any) -> Any:
    """What a person typed, as JSON, in the place of a value."""
    try:
        return converted(_numbers(value), like)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _numbers(value: Any) -> Any:
    """JSON has no NaN and no infinity: these come as texts."""
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return float(value) if isinstance(value, str) and value.strip().lower().lstrip("+-") in ("nan", "inf", "infinity") else value
