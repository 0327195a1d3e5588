"""The commands that look into a dump: tensors, nodes, what is before and behind them, and the lines of Python that made them."""
from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.debug.tfdbg.commands import BadCommand, CommandLine, Parser
from penstock.debug.tfdbg.dump_dir import DebugDumpDir, DebugTensorDatum
from penstock.debug.tfdbg.tensor_text import describe, readable, split_slicing

_SORT_KEYS: dict[str, Callable[[DebugDumpDir, DebugTensorDatum], Any]] = {
    "timestamp": lambda dump, datum: datum.timestamp, "dump_size": lambda dump, datum: datum.dump_size_bytes,
    "op_type": lambda dump, datum: dump.node_op_type(datum.node_name), "tensor_name": lambda dump, datum: datum.tensor_name}

Filters = dict[str, Callable[[Any, Any], bool]]


def add_value_arguments(parser: Parser) -> None:
    """Those of all commands that print a value."""
    parser.add_argument("-r", "--ranges", default="", help="count the elements in these ranges: 0,1e-8 or [[-inf,-0.1],[0.1,inf]]")
    parser.add_argument("-a", "--all", dest="print_all", action="store_true", help="all elements, without ellipses")
    parser.add_argument("-s", "--numeric_summary", action="store_true", help="how many elements are zero, positive, nan, ..., and their range")
    parser.add_argument("-w", "--write_path", default="", help="write the value to this file, with numpy.save()")


def value_lines(value: Any, name: str, slicing: str, parsed: argparse.Namespace) -> list[str]:
    """A value as the arguments ask for it."""
    return describe(value, name, slicing, parsed.print_all, parsed.ranges, parsed.numeric_summary, parsed.write_path)


class Analyzer:
    """The commands over one dump; ``filters`` are the predicates that people can name."""

    def __init__(self, dump: DebugDumpDir, filters: Filters, config: Mapping[str, Any]) -> None:
        self._dump, self._filters, self._config = dump, filters, config

    def register(self, line: CommandLine) -> None:
        """Adds the commands to a command line."""
        parser = line.add("list_tensors", "lt", "List the dumped tensors.", self.list_tensors, lambda: self._filters)
        parser.add_argument("-f", "--tensor_filter", help="only those for which this filter holds")
        parser.add_argument("-fenn", "--filter_exclude_node_names", help="with a filter: leave out nodes whose names match this regular expression")
        parser.add_argument("-n", "--node_name_filter", help="a regular expression for names of nodes")
        parser.add_argument("-t", "--op_type_filter", help="a regular expression for types of ops")
        parser.add_argument("-s", "--sort_by", choices=_SORT_KEYS, default="timestamp")
        parser.add_argument("-r", "--reverse", action="store_true", help="the last first")

        parser = line.add("print_tensor", "pt", "Print the value of a tensor.", self.print_tensor,
                          lambda: (datum.tensor_name for datum in self._dump.dumped_tensor_data))
        parser.add_argument("tensor_name", help="such as hidden/MatMul:0, or a part of it: hidden/MatMul:0[1, :]")
        parser.add_argument("-n", "--number", type=int, default=-1, help="which of several dumps, from 0")
        add_value_arguments(parser)

        parser = line.add("node_info", "ni", "Show what is known of a node.", self.node_info, self._dump.nodes)
        parser.add_argument("node_name")
        parser.add_argument("-a", "--attributes", action="store_true", help="with its attributes")
        parser.add_argument("-d", "--dumps", action="store_true", help="with its dumped tensors")
        parser.add_argument("-t", "--traceback", action="store_true", help="with the lines that made it")

        for name, alias, inputs in (("list_inputs", "li", True), ("list_outputs", "lo", False)):
            parser = line.add(name, alias, f"Show the {'inputs' if inputs else 'recipients'} of a node.", self._neighbours(inputs), self._dump.nodes)
            parser.add_argument("node_name")
            parser.add_argument("-c", "--control", action="store_true", help="control edges too")
            parser.add_argument("-d", "--depth", type=int, help="how far to go")
            parser.add_argument("-r", "--recursive", action="store_true", help="the whole tree")
            parser.add_argument("-t", "--op_type", action="store_true", help="with types of ops")

        parser = line.add("list_source", "ls", "List the files of Python that made nodes.", self.list_source)
        parser.add_argument("-p", "--path_filter", help="a regular expression for paths")
        parser.add_argument("-n", "--node_name_filter", help="a regular expression for names of nodes")

        parser = line.add("print_source", "ps", "Print a file of Python with the nodes that its lines made.", self.print_source)
        parser.add_argument("source_file_path")
        parser.add_argument("-t", "--tensors", action="store_true", help="dumped tensors instead of nodes")
        parser.add_argument("-m", "--max_elements_per_line", type=int, default=10)
        parser.add_argument("-b", "--line_begin", type=int, default=1, help="the first line that is printed")

        parser = line.add("eval", "ev", "Evaluate an expression of Python. `name:0` is the value of a tensor, np is NumPy.", self.evaluate)
        parser.add_argument("expression", help="in quotes, if it has spaces")
        parser.add_argument("-a", "--all", dest="print_all", action="store_true", help="all elements, without ellipses")
        parser.add_argument("-w", "--write_path", default="", help="write the value to this file, with numpy.save()")

    # --- tensors -----------------------------------------------------------------------------------------------------

    def list_tensors(self, parsed: argparse.Namespace) -> list[str]:
        """``lt``: time, size, op type and name of each tensor."""
        data = self._dump.dumped_tensor_data
        passing = ""
        if parsed.tensor_filter:
            if parsed.tensor_filter not in self._filters:
                raise BadCommand(f'There is no tensor filter named "{parsed.tensor_filter}".')
            data = self._dump.find(self._filters[parsed.tensor_filter], exclude_node_names=parsed.filter_exclude_node_names)
            passing = f' passing filter "{parsed.tensor_filter}"'
        times = [f"[{(datum.timestamp - (self._dump.t0 or 0)) / 1000:.3f}]" for datum in data]
        widths = [max(map(len, ["t (ms)", *times])) + 2, max(map(len, ["Size (B)", *(readable(datum.dump_size_bytes) for datum in data)])) + 1,
                  max(map(len, ["Op type", *(self._dump.node_op_type(datum.node_name) for datum in data)])) + 1]
        rows = sorted(zip(data, times), key=lambda row: _SORT_KEYS[parsed.sort_by](self._dump, row[0]), reverse=parsed.reverse)
        shown = [self._row([time, readable(datum.dump_size_bytes), self._dump.node_op_type(datum.node_name), datum.tensor_name], widths)
                 for datum, time in rows if _matches(parsed.node_name_filter, datum.node_name)
                 and _matches(parsed.op_type_filter, self._dump.node_op_type(datum.node_name))]
        lines = [f"{len(shown)} dumped tensor(s){passing}:"]
        lines += [f'Op type regex filter: "{parsed.op_type_filter}"'] if parsed.op_type_filter else []
        lines += [f'Node name regex filter: "{parsed.node_name_filter}"'] if parsed.node_name_filter else []
        return [*lines, "", self._row(["t (ms)", "Size (B)", "Op type", "Tensor name"], widths), *shown]

    @staticmethod
    def _row(cells: list[str], widths: list[int]) -> str:
        return "".join(cell.ljust(width) for cell, width in zip(cells, widths)) + cells[-1]

    def print_tensor(self, parsed: argparse.Namespace) -> list[str]:
        """``pt``: one value, or which there are."""
        name, slicing = split_slicing(parsed.tensor_name)
        data = self._data_of(name)
        if len(data) > 1 and parsed.number < 0:
            lines = [f"#{number} [{self._milliseconds(datum)} ms] {datum.watch_key}" for number, datum in enumerate(data)]
            return [f'Tensor "{parsed.tensor_name}" generated {len(data)} dumps:', *lines, "",
                    "You can use the -n (--number) flag to specify which dump to print.", "For example:", f"  print_tensor {parsed.tensor_name} -n 0"]
        if parsed.number >= len(data):
            raise BadCommand(f"Specified number ({parsed.number}) exceeds the number of available dumps ({len(data)}) for tensor {name}")
        datum = data[max(0, parsed.number)]
        label = datum.watch_key + (f" (dump #{parsed.number})" if len(data) > 1 else "")
        return value_lines(datum.get_tensor(), label, slicing, parsed)

    def _data_of(self, name: str) -> list[DebugTensorDatum]:
        """The dumps of ``name:0``, or of the one output of ``name``."""
        node, colon, slot = name.partition(":")
        if not self._dump.node_exists(node):
            raise BadCommand(f'Node "{node}" does not exist in partition graphs')
        data = [datum for datum in self._dump.dumped_tensor_data if datum.node_name == node and (not colon or str(datum.output_slot) == slot)]
        if not data:
            raise BadCommand(f'Tensor "{name}" did not generate any dumps.')
        slots = sorted({datum.tensor_name for datum in data})
        if len(slots) > 1:
            raise BadCommand(f'Node "{node}" generated debug tensors from {len(slots)} output slots: {", ".join(slots)}. Name one of them.')
        return data

    def _milliseconds(self, datum: DebugTensorDatum) -> str:
        return f"{(datum.timestamp - (self._dump.t0 or 0)) / 1000:.3f}"

    def evaluate(self, parsed: argparse.Namespace) -> list[str]:
        """``eval``: an expression over values."""
        values: dict[str, Any] = {"np": np}

        def name_of(match: re.Match[str]) -> str:
            tensor, slicing = split_slicing(match[1])
            data = self._data_of(tensor if ":" in tensor else f"{tensor}:0")
            values[f"_value_{len(values)}"] = data[int(slicing[1:-1]) if slicing else 0].get_tensor()
            return f"_value_{len(values) - 1}"

        result = eval(re.sub(r"`([^`]*)`", name_of, parsed.expression), values)
        label = f"from eval of expression '{parsed.expression}'"
        return describe(result, label, everything=parsed.print_all, summary=True, write_path=parsed.write_path)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def node_info(self, parsed: argparse.Namespace) -> list[str]:
        """``ni``: type, device, neighbours."""
        name = self._node_of(parsed.node_name)
        lines = [f"Node {name}", "", f"  Op: {self._dump.node_op_type(name)}", f"  Device: {self._dump.node_device(name)}", ""]
        lines += [*self._group("input", self._dump.node_inputs(name), self._dump.node_inputs(name, True)), "",
                  *self._group("recipient", self._dump.node_recipients(name), self._dump.node_recipients(name, True))]
        if parsed.attributes:
            lines += ["", "Node attributes:"]
            for key, value in sorted(self._dump.node_attributes(name).items()):
                lines += [f"  {key}:", *(f"    {line}" for line in str(value).rstrip().split("\n")), ""]
        if parsed.dumps:
            data = [datum for datum in self._dump.dumped_tensor_data if datum.node_name == name]
            lines += [*([] if parsed.attributes else [""]), f"{len(data)} dumped tensor(s):", "",
                      *(f"  Slot {datum.output_slot} @ {datum.debug_op} @ {self._milliseconds(datum)} ms" for datum in data)]
        return lines + (["", "", *self._traceback(name)] if parsed.traceback else [])

    def _node_of(self, text: str) -> str:
        name = text.partition(":")[0]
        if not self._dump.node_exists(name):
            raise BadCommand(f'There is no node named "{name}" in the partition graphs')
        return name

    def _group(self, what: str, plain: list[str], control: list[str]) -> list[str]:
        lines = [f"  {len(plain)} {what}(s) + {len(control)} control {what}(s):"]
        for names, word in ((plain, what), (control, f"control {what}")):
            if names:
                lines += [*([""] if len(lines) > 1 else []), f"    {len(names)} {word}(s):",
                          *(f"      [{self._type_of(name)}] {name}" for name in names)]
        return lines

    def _type_of(self, name: str) -> str:
        return self._dump.node_op_type(name) if self._dump.node_exists(name) else "?"  # on another device, or it did not run

    def _traceback(self, name: str) -> list[str]:
        lines = ["Traceback of node construction:"]
        try:
            frames = self._dump.node_traceback(name)
        except KeyError:  # a node of the runtime, such as that of a feed
            return [*lines, "(Node unavailable in the loaded Python graph)"]
        except LookupError:  # a dump that is looked at offline
            return [*lines, "(Unavailable because no Python graph has been loaded)"]
        for number, (path, line, function, text) in enumerate(frames):
            lines += [f"{number}: {path}", f"  Line:     {line}", f"  Function: {function}", f'  Text:     "{text}"', ""]
        return lines

    def _neighbours(self, inputs: bool) -> Callable[[argparse.Namespace], list[str]]:
        following = self._dump.node_inputs if inputs else self._dump.node_recipients

        def handle(parsed: argparse.Namespace) -> list[str]:
            name = self._node_of(parsed.node_name)
            depth = parsed.depth or (self._config["graph_recursion_depth"] if parsed.recursive else 1)
            control = ", control " + ("inputs" if inputs else "recipients") + " included" if parsed.control else ""
            lines = [f'{"Inputs to" if inputs else "Recipients of"} node "{name}" (Depth limit = {depth}{control}):']

            def walk(node: str, level: int, hang: str, path: tuple[str, ...]) -> None:
                edges = [(each, False) for each in following(node)] + [(each, True) for each in (following(node, True) if parsed.control else ())]
                for place, (each, is_control) in enumerate(edges):
                    kind = ("(Ctrl) " if is_control else "") + (f"[{self._type_of(each)}] " if parsed.op_type else "")
                    lines.append(f"{hang}|- ({level}) {kind}{each}")
                    below = hang + ("|  " if place < len(edges) - 1 else "   ")
                    if not self._dump.node_exists(each) or each in path:
                        continue
                    if level < depth:
                        walk(each, level + 1, below, (*path, each))
                    elif following(each) or (parsed.control and following(each, True)):
                        lines.append(f"{below}|- ...")

            walk(name, 1, "", (name,))
            lines += [] if len(lines) > 1 else ["  [None]"]
            lines += ["", "Legend:", "  (d): recursion depth = d."]
            lines += ["  (Ctrl): Control input." if inputs else "  (Ctrl): Control recipient."] if parsed.control else []
            return lines + (["  [Op]: Input node has op type Op." if inputs else "  [Op]: Output node has op type Op."] if parsed.op_type else [])
        return handle

    # --- source ------------------------------------------------------------------------------------------------------

    def _made_by(self) -> list[tuple[Any, str, int]]:
        """Each operation with each line that took part in making it."""
        if self._dump.python_graph is None:
            raise BadCommand("The graph of the program is not loaded, so its lines are not known")
        return [(op, os.path.abspath(path), line) for op in self._dump.python_graph.get_operations() for path, line, _, _ in op.traceback]

    def list_source(self, parsed: argparse.Namespace) -> list[str]:
        """``ls``: files, with how many nodes they made."""
        files: dict[str, set[Any]] = {}
        for op, path, _ in self._made_by():
            if _matches(parsed.path_filter, path) and _matches(parsed.node_name_filter, op.name):
                files.setdefault(path, set()).add(op)
        dumps: dict[str, int] = {}
        for datum in self._dump.dumped_tensor_data:
            dumps[datum.node_name] = dumps.get(datum.node_name, 0) + 1
        rows = [[path, str(len(ops)), str(sum(len(op.outputs) for op in ops)), str(sum(dumps.get(op.name, 0) for op in ops))]
                for path, ops in sorted(files.items())]
        header = ["Source file path", "#(nodes)", "#(tensors)", "#(tensor dumps)"]
        widths = [max(len(row[column]) for row in [header, *rows]) + 1 for column in range(3)]
        patterns = {"File path": parsed.path_filter, "Node name": parsed.node_name_filter}
        filters = [f'{what} regex filter: "{text}"' for what, text in patterns.items() if text]
        listed = ["File(s) outside TensorFlow Python library:", *(self._row(row, widths) for row in [header, *rows])]
        return ["List of source files that created nodes in this run", *filters, "", *(listed if rows else ["[No source file information.]"])]

    def print_source(self, parsed: argparse.Namespace) -> list[str]:
        """``ps``: a file, with the names of what its lines made below them."""
        path = os.path.abspath(os.path.expanduser(parsed.source_file_path))
        with open(path, encoding="utf-8") as file:
            text = file.read().split("\n")
        dumped = {datum.node_name: datum.tensor_name for datum in self._dump.dumped_tensor_data}
        made: dict[int, set[str]] = {}
        for op, source, line in self._made_by():
            if source == path and (not parsed.tensors or op.name in dumped):
                made.setdefault(line, set()).add(dumped[op.name] if parsed.tensors else op.name)
        width, most, lines = len(f"L{len(text)}") + 2, parsed.max_elements_per_line, []
        for number, content in enumerate(text, 1):
            if number >= parsed.line_begin:
                names = sorted(made.get(number, ()))
                omitted = [f"    (... Omitted {len(names) - most} of {len(names)} {'tensor' if parsed.tensors else 'op'}(s) ...) +5"]
                lines += [f"L{number}".ljust(width) + content, *(f"    {name}" for name in names[:most]), *(omitted if len(names) > most else [])]
        return lines


def _matches(pattern: str | None, text: str) -> bool:
    return not pattern or re.match(pattern, text) is not None
