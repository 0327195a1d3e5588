"""What a person can do while a step waits behind a node: look at what was computed so far, change it, and go on."""
from __future__ import annotations

import argparse
import ast
from typing import Any

import numpy as np

from penstock.debug.tfdbg.analyzer import add_value_arguments, value_lines
from penstock.debug.tfdbg.commands import BadCommand, CommandLine, Leave
from penstock.debug.tfdbg.stops import Stop, Stops, converted, user_line
from penstock.debug.tfdbg.tensor_text import split_slicing
from penstock.debug.tfdbg.watching import add_debug_tensor_watch
from penstock.graph.function import FuncGraph

STEP, GO = "step", "go"


class StopCommands:
    """The commands at one stop."""

    def __init__(self, stops: Stops, stop: Stop) -> None:
        self._stops, self._stop = stops, stop

    def register(self, line: CommandLine) -> None:
        """Adds the commands to a command line."""
        line.add("where", "w", "Tell where the step waits.", self.where)
        line.add("step", "s", "Go on to the next node.", lambda parsed: _leave(STEP))
        line.add("continue", "c", "Go on to the next breakpoint.", lambda parsed: _leave(GO))
        line.add("list_tensors", "lt", "List the tensors of this run so far.", self.list_tensors)
        parser = line.add("print_tensor", "pt", "Print the value of a tensor.", self.print_tensor, lambda: self._stops.values)
        parser.add_argument("tensor_name", help="such as hidden/MatMul:0, or a part of it: hidden/MatMul:0[1, :]")
        add_value_arguments(parser)
        parser = line.add("set", "=", "Change what the node at hand gives to the nodes behind it.", self.set)
        parser.add_argument("value", help="a number, for all elements, or a nested list")
        parser.add_argument("-o", "--output", type=int, default=0, help="which output of the node (default: %(default)s)")

    def where(self, parsed: argparse.Namespace) -> list[str]:
        """``where``: the node, its line, the loops around it, its values."""
        node, (file, number, text) = self._stop.node, user_line(self._stop.node.origin)
        lines = [f"{node.name} = {node.definition.type}({', '.join(producer.name for producer, _ in node.inputs)})", f"  on {self._stop.device}"]
        lines += [f"  made at {file}:{number}: {text.strip()}"] if file else []
        lines += [f"  in {function}, iteration {iteration}" for function, iteration in self._stop.frames]
        for name in (f"{node.name}:{slot}" for slot in range(len(node.output_dtypes))):
            if name in self._stops.values:
                lines += ["", *value_lines(np.asarray(self._stops.values[name]), name, "", _PLAIN)]
        return [*lines, "", "step, continue, set VALUE, pt TENSOR, lt, break; help tells more."]

    def list_tensors(self, parsed: argparse.Namespace) -> list[str]:
        """``lt``: names, types and shapes."""
        rows = [f"  {name}  {np.asarray(value).dtype}{list(np.shape(value))}" for name, value in self._stops.values.items()]
        return [f"{len(rows)} tensor(s) so far:", "", *rows]

    def print_tensor(self, parsed: argparse.Namespace) -> list[str]:
        """``pt``: one value."""
        name, slicing = split_slicing(parsed.tensor_name)
        name = name if ":" in name else f"{name}:0"
        if name not in self._stops.values:
            raise BadCommand(f"{name} has no value yet in this run")
        return value_lines(np.asarray(self._stops.values[name]), name, slicing, parsed)

    def set(self, parsed: argparse.Namespace) -> list[str]:
        """``set``: another value."""
        name = f"{self._stop.node.name}:{parsed.output}"
        if name not in self._stops.values:
            raise BadCommand(f"there is no value {name}")
        if not self._stop.changeable:
            raise BadCommand("the nodes behind it have run already on their tasks: set a breakpoint on the node itself, and change it there")
        try:
            value = converted(ast.literal_eval(parsed.value), self._stops.values[name])
        except (ValueError, SyntaxError) as error:
            raise BadCommand(str(error)) from None
        self._stops.change(parsed.output, value)
        self._stops.values[name] = value
        return value_lines(value, name, "", _PLAIN)


_PLAIN = argparse.Namespace(print_all=False, ranges="", numeric_summary=False, write_path="")


def _leave(answer: str) -> list[str]:
    raise Leave(answer)


def watch_stops(options: Any, stops: Stops) -> None:
    """Has a run with these options tell ``stops`` of all its nodes. What goes to files stays as it is."""
    watches = options.debug_options.debug_tensor_watch_opts
    for watch in watches:
        if watch.node_name == "*":
            watch.debug_urls.append(stops.url)
            return
    add_debug_tensor_watch(options, "*", -1, debug_urls=[stops.url], global_step=options.debug_options.global_step)


def node_names(graph: Any) -> set[str]:
    """The names of the nodes of a graph, those inside of its loops and branches too."""
    names: set[str] = set()
    left = [graph]
    while left:
        for op in left.pop()._ops:
            names.add(op.name)
            left += [value for value in op.attrs.values() if isinstance(value, FuncGraph)]
    return names
