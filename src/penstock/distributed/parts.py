"""A step's program, cut by task, on its way from the master to the workers: what each task runs, is fed and is asked
for.

A part travels as a GraphDef with its Send and Recv nodes; the worker makes it a Program again. Parts keep the names of
their nodes, so that a node has the same state (its random numbers, say) in all the steps of a session.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.distributed import spanning_loops
from penstock.distributed.cluster_spec import task_of
from penstock.errors import InvalidArgumentError
from penstock.graph.exporter import Kept
from penstock.graph.function_def import called_functions, to_function_def
from penstock.graph.graph import Graph
from penstock.graph.graph_def import extend_graph
from penstock.ops.transfer import Arg
from penstock.program import ir
from penstock.program.ir import Node, Program
from penstock.program.partition import Partition, cut, send_less


@dataclass(slots=True)
class Part:
    """What one task runs: its nodes; which of the step's feeds it takes; the outputs it is asked for, and which of the step's fetches they are."""

    task: str
    nodes: list[Node]
    feeds: list[int] = field(default_factory=list)
    fetches: list[str] = field(default_factory=list)  # "name:index"
    results: list[int] = field(default_factory=list)
    frames: bool = False  # tensors that come from other tasks may be dead

    def graph_def(self) -> GraphDef:
        """The nodes as a proto, with the functions that they call."""
        kept, proto = Kept(lambda op: True), GraphDef()
        own = [node.origin for node in self.nodes if node.origin is not None and node.origin.definition is node.definition]
        functions = called_functions(own, kept)
        for node in self.nodes:
            proto.node.append(node.node_def)
            kept.rename(proto.node[-1], node.attrs)
        proto.library.function.extend(to_function_def(function, kept) for function in functions)
        return proto


def split(program: Program, every_edge: bool = False) -> list[Part]:
    """The parts of a placed program, one for each task that has nodes. ``every_edge``: also tensors travel that need not, as a debugger may look at
    them, and change them."""
    program, frames = program.copy(), program.has_frames
    if not (frames or every_edge):
        send_less(program)
    cuts = _cut_loops(program) if frames else cut(program, task_of)
    parts = {each.device: Part(each.device, each.nodes, frames=frames) for each in cuts}
    for number, arg in enumerate(program.args):
        part = parts[task_of(arg.device)]
        arg.attrs = {**arg.attrs, "index": len(part.feeds)}
        part.feeds.append(number)
    for number, (node, index) in enumerate(program.fetches):
        part = parts[task_of(node.device)]
        part.fetches.append(f"{node.name}:{index}")
        part.results.append(number)
    return list(parts.values())


def _cut_loops(program: Program) -> list[Partition]:
    """The parts of a program with loops, which may span tasks; its nodes are rewired."""
    spanning_loops.gather(program)
    frames = spanning_loops.frames_of(program)
    cuts = cut(program, task_of)
    spanning_loops.drive(cuts, frames, task_of)
    return cuts


def program_of(graph_def: GraphDef, fetches: Sequence[str]) -> Program:
    """The program in a part's GraphDef: all of its nodes, in a runnable order."""
    graph = Graph()
    try:
        operations = extend_graph(graph, graph_def, runtime_names=True)
        tensors: list[Any] = [graph.as_graph_element(name, allow_operation=False) for name in fetches]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidArgumentError(None, None, f"the part of a graph is malformed: {error}") from None
    program = ir.prune(tensors, operations, ())
    args = {node.attrs["index"]: node for node in program.nodes if node.definition is Arg}
    if sorted(args) != list(range(len(args))):
        raise InvalidArgumentError(None, None, f"the feeds of a part are numbered {sorted(args)}")
    program.args = [args[index] for index in range(len(args))]
    return program
