"""The program of a step: the part of a graph that some fetches need, as a list of nodes of its own.

Passes and the partitioner work on this copy; the user's graph is never touched. What must stay true of a Program (``check`` tests it): nodes stand
after the nodes they depend on, and every input is an existing output of an earlier node.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.graph import attrs as attr_module
from penstock.graph.dtypes import DType, resource
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import OpDef
from penstock.graph.traverse import operations_behind
from penstock.ops.transfer import Arg


@dataclass(eq=False, slots=True)
class Node:
    """One operation of a program."""

    definition: OpDef
    name: str
    attrs: dict[str, Any]
    inputs: list[Edge] = field(default_factory=list)
    control: list[Node] = field(default_factory=list)
    device: str = ""
    origin: Operation | None = None  # the user's op, for errors
    late: bool = False  # it waits for what it is told to even in native code, where waiting for pure nodes is pointless otherwise
    note: str = ""  # why native code does not run it, if there is more to say than its op and types do
    generators: tuple[str, ...] = ()  # names of random ops in its functions, whose generators are its last inputs
    _dtypes: list[DType] | None = field(default=None, init=False, repr=False)

    @property
    def output_dtypes(self) -> list[DType]:
        """The types of its outputs."""
        if self._dtypes is None:
            self._dtypes = self.definition.output_dtypes(self.attrs)
        return self._dtypes

    def copy(self) -> Node:
        """A node that can be rewired without touching this one; the attributes are shared."""
        twin = Node.__new__(Node)  # planning copies all nodes, some of them several times: half the work of a call of the class
        twin.definition, twin.name, twin.attrs, twin.inputs, twin.control = self.definition, self.name, self.attrs, self.inputs, self.control
        twin.device, twin.origin, twin.late, twin.note, twin._dtypes = self.device, self.origin, self.late, self.note, self._dtypes
        twin.generators = self.generators
        return twin

    @property
    def before(self) -> list[Node]:
        """What has to have run before it: the producers of its inputs, and what it is told to wait for."""
        return [*(producer for producer, _ in self.inputs), *self.control]

    @property
    def node_def(self) -> NodeDef:
        """This node as a proto."""
        proto = NodeDef(name=self.name, op=self.definition.type, device=self.device)
        proto.input.extend(producer.name + (f":{index}" if index else "") for producer, index in self.inputs)
        proto.input.extend("^" + node.name for node in self.control)
        for name, value in self.attrs.items():
            if name in self.definition.implied:
                continue
            proto.attr[name].CopyFrom(attr_module.to_proto(self.definition.attrs[name].kind, value))
        return proto


Edge = tuple[Node, int]  # a value: its producer, and which of the producer's outputs it is


@dataclass(eq=False, slots=True)
class RegionBody:
    """The inside of a node that stands for several: copies of them, whose inputs from outside are stand-ins."""

    nodes: list[Node]
    args: list[Node]  # stand-ins, one per input
    outputs: list[Edge]
    shapes_known: bool  # the graph tells the shapes of all inputs


def duplicate(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Node], list[Edge]]:
    """Copies of nodes, which refer to each other, and edges between them; both can be changed without touching the originals."""
    twins = {node: node.copy() for node in nodes}
    for twin in twins.values():
        twin.inputs = [(twins.get(producer, producer), index) for producer, index in twin.inputs] if twin.inputs else []
        twin.control = [twins.get(other, other) for other in twin.control] if twin.control else []
    return list(twins.values()), [(twins.get(producer, producer), index) for producer, index in edges]


@dataclass(slots=True)
class Program:
    """Nodes in an order in which they can run, where fed values enter, and which outputs are fetched."""

    nodes: list[Node]
    args: list[Node]  # one _Arg per feed, in the order of the feeds
    fetches: list[Edge]

    def copy(self) -> Program:
        """The same program with nodes of its own. Stages that rewire nodes begin with it: what they were given stays as it was."""
        nodes, edges = duplicate(self.nodes, [*((arg, 0) for arg in self.args), *self.fetches])
        return Program(nodes, [arg for arg, _ in edges[:len(self.args)]], edges[len(self.args):])

    @property
    def has_frames(self) -> bool:
        """Are there primitives of control flow (Switch, Merge, Enter, ...), whose tensors may be dead?"""
        return any(node.definition.control_flow for node in self.nodes)


def check(program: Program) -> None:
    """Raises AssertionError if the program breaks a rule: the legality check after every pass."""
    placed: dict[Node, int] = {}  # with the number of their outputs
    for node in program.nodes:
        for producer, index in node.inputs:
            assert producer in placed or producer.definition.control_flow == "next", f"{node.name} runs before its input {producer.name}"
            assert index < placed.get(producer, 1), f"{producer.name} has no output {index}"
        for other in node.control:
            assert other in placed, f"{node.name} runs before {other.name}, which it waits for"
        assert node not in placed, f"{node.name} stands in the program twice"
        placed[node] = len(node.output_dtypes)
    for node, index in program.fetches:
        assert index < placed.get(node, 0), f"the fetch {node.name}:{index} is not computed"


def _fed_dtype(tensor: Tensor) -> DType:
    """What comes instead of a tensor: a value; for an argument of a function that is a reference, a reference."""
    return tensor.dtype if isinstance(tensor.graph, FuncGraph) else tensor.dtype.base_dtype


def prune(fetches: Sequence[Tensor], targets: Iterable[Operation], feeds: Sequence[Tensor]) -> Program:
    """The program that computes ``fetches`` and runs ``targets`` when ``feeds`` are given: nothing else is in it."""
    fed = {tensor: Node(Arg, f"_arg_{tensor.op.name}_{tensor.value_index}_{index}", {"T": _fed_dtype(tensor), "index": index},
                        device=tensor.op.device, origin=tensor.op) for index, tensor in enumerate(feeds)}
    nodes: dict[Operation, Node] = {}
    for operation in operations_behind(fetches, targets, fed):
        nodes[operation] = Node(operation.definition, operation.name, operation.attrs, device=operation.device, origin=operation)
    for operation, node in nodes.items():
        node.inputs = [(fed[tensor], 0) if tensor in fed else (nodes[tensor.op], tensor.value_index) for tensor in operation._inputs]
        node.control = [nodes[other] for other in operation._control_inputs if other in nodes]
    args = list(fed.values())
    program = Program([*args, *nodes.values()], args,
                      [(fed[tensor], 0) if tensor in fed else (nodes[tensor.op], tensor.value_index) for tensor in fetches])
    has_calls = any(node.definition.expands is not None for node in nodes.values())
    return expand(program, _function_and_arguments, "{call}/{inner}") if has_calls else program


def _function_and_arguments(node: Node) -> tuple[FuncGraph, list[Edge]] | None:
    function = None if node.definition.expands is None else node.definition.expands(node.attrs)
    return None if function is None else (function, node.inputs)


def expand(program: Program, function_of: Callable[[Node], tuple[FuncGraph, list[Edge]] | None], name: str = "{whole}") -> Program:
    """The program with the operations of functions in the place of nodes, and on their devices. ``function_of`` tells the function of a node, and its
    arguments; ``name`` how its operations are named: by the ``call`` and the name ``inner`` to the function, or as a ``whole``."""
    values: dict[Edge, Edge] = {}  # what an output of a call is
    ends: dict[Node, list[Node]] = {}  # what has run when a call has
    nodes: list[Node] = []
    strict = program.has_frames  # then a call whose arguments are dead must not run any of its operations
    waiting = program.nodes[::-1]  # the next one last
    while waiting:
        node = waiting.pop()
        node.inputs = [_follow(values, edge) for edge in node.inputs]
        node.control = [end for other in node.control for end in _ends_of(ends, other)]
        call = function_of(node)
        if call is None:
            nodes.append(node)
            continue
        body = _body_of(node, *call, strict, name)
        waiting += body.nodes[::-1]
        values.update(((node, index), edge) for index, edge in enumerate(body.fetches))
        ends[node] = list(dict.fromkeys([producer for producer, _ in body.fetches] + _last(body.nodes))) or node.before
    return Program(nodes, program.args, [_follow(values, edge) for edge in program.fetches])


def _follow(values: dict[Edge, Edge], edge: Edge) -> Edge:
    while edge in values:
        edge = values[edge]
    return edge


def _ends_of(ends: dict[Node, list[Node]], node: Node) -> list[Node]:
    return [last for end in ends[node] for last in _ends_of(ends, end)] if node in ends else [node]


def _body_of(call: Node, function: FuncGraph, arguments: list[Edge], strict: bool, name: str) -> Program:
    """The nodes of a function, without its arguments: those of the call are in their place."""
    body = prune(function.outputs, function.effects, function.inputs)
    given = {(arg, 0): edge for arg, edge in zip(body.args, arguments)}
    inner = [node for node in body.nodes if (node, 0) not in given]
    own = set(inner)
    for node in inner:
        is_first = not any(before in own for before in node.before)
        node.name = name.format(call=call.name, inner=node.name.removeprefix(function.scope + "/"), whole=node.name)
        node.device = node.device or call.device
        node.inputs = [given.get(edge, edge) for edge in node.inputs]
        node.control = [other for other in node.control if other in own]
        if is_first:
            waits = call.before if strict and not node.inputs else call.control
            node.control = list(dict.fromkeys([*node.control, *waits]))
    return Program(inner, [], [given.get(edge, edge) for edge in body.fetches])


def _last(nodes: list[Node]) -> list[Node]:
    """Those that no other one waits for."""
    waited_for = {before for node in nodes for before in node.before}
    return [node for node in nodes if node not in waited_for]


def functions_of(node: Node | Operation) -> list[FuncGraph]:
    """The functions that a node calls."""
    names = node.definition.functions
    return [value for value in map(node.attrs.get, names) if isinstance(value, FuncGraph)] if names else []


def can_begin_anew(program: Program) -> bool:
    """True if a run may be broken off and begun again unnoticed: nothing is written, drawn or told; functions that are called included."""
    stack, seen = list[FuncGraph](), set[FuncGraph]()

    def is_unnoticed(node: Node | Operation) -> bool:
        definition = node.definition
        if definition.blocking or definition.calls_later or definition.updates:
            return False
        functions = functions_of(node)
        stack.extend(functions)
        if functions or definition.snapshot or definition.array_role or not definition.stateful:  # (arrays live as long as a run)
            return True
        handles = node.output_dtypes if isinstance(node, Node) else [tensor.dtype for tensor in node.outputs]
        return bool(handles) and not node.inputs and all(dtype.is_ref or dtype is resource for dtype in handles)

    if not all(node in program.args or is_unnoticed(node) for node in program.nodes):
        return False
    while stack:
        function = stack.pop()
        if function not in seen:
            seen.add(function)
            inputs = {tensor.op for tensor in function.inputs}
            if not all(op in inputs or is_unnoticed(op) for op in operations_behind(function.outputs, function.effects, ())):
                return False
    return True


def blocks(node: Node | Operation) -> bool:
    """True if the node may wait: its own kernel, or a kernel in a function that it calls."""
    definition = node.definition
    if definition.blocking or definition.calls_later or not definition.functions:
        return definition.blocking
    stack, seen = functions_of(node), set[FuncGraph]()  # each function once: those that call each other have more ways through them than ops
    while stack:
        function = stack.pop()
        if function in seen:
            continue
        seen.add(function)
        for op in function._ops:
            if op.definition.blocking:
                return True
            if not op.definition.calls_later:
                stack.extend(functions_of(op))
    return False


def reference_source(edge: Edge, args: Container[Node] = ()) -> Edge | None:
    """If a Ref, rather than a value, runs along an edge: where it comes from, past ops that hand it on. What is fed (``args``) is a value."""
    node, index = edge
    while node not in args:
        if node.output_dtypes[index].is_ref:
            return node, index
        if not node.definition.forwards_reference or not node.inputs:
            return None
        node, index = node.inputs[0]
    return None


def carries_reference(edge: Edge, args: Container[Node] = ()) -> bool:
    """Does a Ref, rather than a value, run along an edge?"""
    return reference_source(edge, args) is not None
