"""Loops and conditionals of a program from the nodes of the paper (Switch, Merge, Enter, ...) back to While and If.

Graphs that come from files have them as such nodes, which only the executor with frames runs; native code knows functions. The way back:

- Every value has a *path*: the loops and branches that it lies in, from the outside in. It follows from its inputs: an Enter adds a loop, the true
  side of a loop's Switch its body, another Switch a branch; an Exit and a Merge go back. What a loop does not change enters an inner loop without
  passing the outer one's body, so paths are compared as sets of steps.
- What lies in a loop's condition, its body, or a branch becomes a function (``_Function``); what that uses from further out is an input of it.
- Merges of one predicate that do not depend on each other are the results of one If.

Raises Unstructured for graphs in which branches and loops are not properly nested: those that ``tf.cond`` and ``tf.while_loop`` write always are.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.graph.dtypes import bool_, resource
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.ops.constant import Const, Identity
from penstock.ops.flow.functional import If, While
from penstock.ops.flow.misc import NoOp
from penstock.ops.flow.primitives import LoopCond
from penstock.program.ir import Edge, Node, Program

Step = tuple[Any, ...]  # ("loop", frame), ("body", frame), or ("branch", predicate, side)
Path = tuple[Step, ...]


class Unstructured(Exception):
    """A node that belongs to no properly nested loop or conditional, and why."""

    def __init__(self, node: Node, why: str) -> None:
        super().__init__(f"{node.name}: {why}")
        self.node, self.why = node, why


def structured(program: Program) -> Program:
    """The program with While and If where it has nodes of control flow."""
    return _Whole(_Nesting(program)).build()


# --- what lies where ---------------------------------------------------------------------------------------------------------------------


@dataclass
class _LoopParts:
    """The nodes of a loop: a Merge per variable, and its condition."""

    merges: list[Node] = field(default_factory=list)
    condition: Node | None = None


class _Nesting:
    """The paths of a program's nodes, its loops, and the Merges that belong together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.position = {node: index for index, node in enumerate(program.nodes)}
        self.paths: dict[Node, Path] = {}
        self.loops: dict[Step, _LoopParts] = {}
        self.group_of: dict[Node, list[Node]] = {}  # Merges of conditionals
        self._latest: dict[tuple[Path, Edge], list[Node]] = {}
        self.effectful: set[Node] = set()  # nodes that somebody may wait for in earnest
        for node in program.nodes:
            self.paths[node] = self._path(node)
            if node.definition.stateful or any(before in self.effectful and self.paths[before] == self.paths[node] for before in _before(node)):
                self.effectful.add(node)

    def path_of(self, edge: Edge) -> Path:
        """Where a value lies."""
        node, index = edge
        path = self.paths[node]
        if node.definition.control_flow != "switch":
            return path
        predicate = _predicate(node)
        if predicate[0].definition is not LoopCond:
            return (*path, ("branch", predicate, bool(index)))
        return (*path, ("body", path[-1][1])) if index else path

    def _path(self, node: Node) -> Path:
        kind = node.definition.control_flow
        if kind == "merge":
            return self._merge_path(node)
        path = self._deepest(node)
        if kind == "enter":
            path = (*path, ("loop", node.attrs["frame_name"]))
            self.loops.setdefault(path[-1], _LoopParts())
        elif kind == "exit":
            if not path or path[-1][0] != "loop":
                raise Unstructured(node, "it leaves a loop that it is not in")
            path = path[:-1]
        elif node.definition is LoopCond:
            if not path or path[-1] not in self.loops:
                raise Unstructured(node, "it is the condition of a loop that it is not in")
            self.loops[path[-1]].condition = node
        return path

    def _deepest(self, node: Node) -> Path:
        """The longest of the paths of what a node needs, in which all others are contained."""
        paths = [self.path_of(edge) for edge in node.inputs] + [self.paths[other] for other in node.control]
        return _longest(node, paths)

    def _merge_path(self, node: Node) -> Path:
        if any(producer.definition.control_flow == "next" for producer, _ in node.inputs):
            first, back = node.inputs
            path = self.path_of(first)
            if first[0].definition.control_flow != "enter" or back[0].definition.control_flow != "next":
                raise Unstructured(node, "it merges something else than the first and the next value of a loop's variable")
            self.loops[path[-1]].merges.append(node)
            return path
        paths = [self.path_of(edge) for edge in node.inputs]
        if len(paths) != 2 or any(not path or path[-1][0] != "branch" for path in paths):
            raise Unstructured(node, "it merges something else than the two branches of a conditional")
        one, other = (path[-1] for path in paths)
        if one[1] != other[1] or one[2] == other[2]:
            raise Unstructured(node, "it merges branches of different conditionals")
        outer = _longest(node, [path[:-1] for path in paths])
        self._join_group(node, outer, one[1])
        return outer

    def _join_group(self, merge: Node, path: Path, predicate: Edge) -> None:
        group = self._latest.get((path, predicate))
        if group is None or not self._behind([merge]).isdisjoint(group):  # it needs one of them: a conditional that follows
            group = self._latest[path, predicate] = []
        group.append(merge)
        self.group_of[merge] = group

    def _behind(self, nodes: Iterable[Node]) -> set[Node]:
        """What nodes depend on."""
        return self.needed(before for node in nodes for before in _before(node))

    def needed(self, nodes: Iterable[Node], inside: Callable[[Path], bool] = lambda path: True) -> set[Node]:
        """Nodes and what they depend on, as far as their paths are ``inside``."""
        found, stack = set[Node](), list(nodes)
        while stack:
            node = stack.pop()
            if node in found or not inside(self.paths[node]):
                continue
            found.add(node)
            stack.extend(_before(node))
        return found


def _before(node: Node) -> list[Node]:
    return [other for other in node.before if other.definition.control_flow != "next"]


def _longest(node: Node, paths: list[Path]) -> Path:
    """The path that contains all others."""
    longest = max(paths, key=len, default=())
    if not all(set(path) <= set(longest) for path in paths):
        raise Unstructured(node, "its inputs lie in different branches or loops")
    return longest


def _predicate(switch: Node) -> Edge:
    """What decides for a Switch, past Identities: a conditional has several of these."""
    node, index = switch.inputs[1]
    while node.definition is Identity and node.inputs:
        node, index = node.inputs[0]
    return node, index


# --- what is built -----------------------------------------------------------------------------------------------------------------------


class _Context:
    """A place where nodes are built again: the program itself, or a function. Its values stand for edges of the old program."""

    path: Path = ()
    parent: _Context | None = None

    def __init__(self, nesting: _Nesting) -> None:
        self.nesting = nesting
        self._values: dict[Edge, Any] = {}
        self._built: dict[Node, Any] = {}
        self._begun: set[Node] = set()

    def value(self, edge: Edge) -> Any:
        """What an edge of the old program is here."""
        if edge not in self._values:
            self._values[edge] = self._find(edge)
        return self._values[edge]

    def _find(self, edge: Edge) -> Any:
        node, index = edge
        if self.is_outside(self.nesting.path_of(edge)):
            return self.captured(edge)
        if node.definition.control_flow in ("switch", "enter"):
            return self.value(node.inputs[0])
        self.built(node)
        if edge in self._values:
            return self._values[edge]
        return self.output(self._built[node], index)

    def built(self, node: Node) -> Any:
        """The node, or the loop or conditional that it is a result of, in its new form."""
        if node not in self._built:
            if node in self._begun:
                raise Unstructured(node, "conditionals that depend on each other share a predicate")
            self._begun.add(node)
            kind = node.definition.control_flow
            if kind == "merge" and node in self.nesting.group_of:
                self._conditional(self.nesting.group_of[node])
            elif kind == "exit":
                self._loop(node)
            elif kind and kind != "trigger":
                raise Unstructured(node, "it stands outside of the loop or conditional that it is part of")
            else:
                inputs = [self.value(edge) for edge in node.inputs]
                self._built[node] = self.replica(node, inputs, self.waits(node.control))
        return self._built[node]

    def waits(self, control: Sequence[Node]) -> list[Any]:
        """What a node that waited for others in the old program waits for here."""
        passing = ("switch", "enter", "next")
        return [self.built(other) for other in control if other in self.nesting.effectful and other.definition.control_flow not in passing
                and not (other.definition.control_flow == "merge" and other not in self.nesting.group_of)
                and not self.is_outside(self.nesting.paths[other])]

    def _conditional(self, group: list[Node]) -> None:
        first = group[0]
        predicate = self.nesting.path_of(first.inputs[0])[-1][1]
        branches = {}
        for side in (True, False):
            branches[side] = _Function(self, (("branch", predicate, side),), f"{first.name}_{'true' if side else 'false'}")
            branches[side].finish([edge for merge in group for edge in merge.inputs if self.nesting.path_of(edge)[-1][2] is side])
        captured = _share(list(branches.values()))
        then, other = branches[True].graph, branches[False].graph
        types = [tensor.dtype.base_dtype for tensor in then.outputs]
        attributes = {"Tcond": bool_, "Tin": [_dtype(edge) for edge in captured], "Tout": types, "then_branch": then, "else_branch": other,
                      "output_shapes": [one.shape.most_specific_compatible_shape(two.shape) for one, two in zip(then.outputs, other.outputs)]}
        inputs = [self.value(edge) for edge in (predicate, *captured)]
        made = self.function_call(If, first, inputs, attributes, self._waits_of(branches.values()))
        for index, merge in enumerate(group):
            self._built[merge] = made
            self._values[merge, 0] = self.output(made, index)

    def _loop(self, exit_node: Node) -> None:
        switch = exit_node.inputs[0][0]
        loop = self.nesting.paths[switch][-1]
        parts = self.nesting.loops[loop]
        if parts.condition is None:
            raise Unstructured(exit_node, "its loop has no condition")
        test = _Function(self, (loop,), f"{exit_node.name}_condition")
        body = _Function(self, (loop, ("body", loop[1])), f"{exit_node.name}_body")
        starts = [merge.inputs[0][0] for merge in parts.merges]
        for function in (test, body):
            for merge in parts.merges:
                function.add_argument(merge)
        test.finish([parts.condition.inputs[0]])
        body.finish([merge.inputs[1][0].inputs[0] for merge in parts.merges])
        captured = _share([test, body])
        body.graph.outputs += body.graph.inputs[len(starts):]
        inputs = [self.value(edge) for edge in (*(start.inputs[0] for start in starts), *captured)]
        attributes = {"T": [_dtype(edge) for edge in (*((merge, 0) for merge in parts.merges), *captured)], "cond": test.graph, "body": body.graph,
                      "output_shapes": [tensor.shape for tensor in body.graph.inputs], "parallel_iterations": starts[0].attrs["parallel_iterations"]}
        waits = self.waits([other for start in starts for other in start.control]) + self._waits_of([test, body])
        made = self.function_call(While, exit_node, inputs, attributes, waits)
        for index, merge in enumerate(parts.merges):
            self._values[merge, 0] = self.output(made, index)
        for node in self.nesting.program.nodes:
            if node.definition.control_flow == "exit" and self.nesting.paths[node.inputs[0][0]][-1] == loop:
                self._built[node] = made
                self._values[node, 0] = self._values[node.inputs[0][0].inputs[0]]

    def _waits_of(self, functions: Iterable[_Function]) -> list[Any]:
        return self.waits(list(dict.fromkeys(other for function in functions for other in function.outer_waits)))

    def is_outside(self, path: Path) -> bool:
        """Does a path end further out than this place?"""
        raise NotImplementedError

    def captured(self, edge: Edge) -> Any:
        """A value from outside."""
        raise NotImplementedError

    def output(self, made: Any, index: int) -> Any:
        """A result of something that was built here."""
        raise NotImplementedError

    def replica(self, node: Node, inputs: list[Any], control: list[Any]) -> Any:
        """The node, with other inputs."""
        raise NotImplementedError

    def function_call(self, definition: Any, like: Node, inputs: list[Any], attributes: dict[str, Any], control: list[Any]) -> Any:
        """A node of an op on functions."""
        raise NotImplementedError


class _Whole(_Context):
    """The new program. Its nodes are those of the old one, rewired."""

    def __init__(self, nesting: _Nesting) -> None:
        super().__init__(nesting)
        self._nodes: list[Node] = []

    def build(self) -> Program:
        """The program."""
        for node, index in self.nesting.program.fetches:
            if self.nesting.path_of((node, index)):
                raise Unstructured(node, "what is fetched lies inside of a branch or loop, and may not be computed")
        for node in list(self.nesting.program.nodes):
            if not self.nesting.paths[node] and node.definition.control_flow not in ("switch", "enter"):
                self.built(node)
        return Program(self._nodes, self.nesting.program.args, [self.value(edge) for edge in self.nesting.program.fetches])

    def is_outside(self, path: Path) -> bool:
        return False

    def output(self, made: Node, index: int) -> Edge:
        return made, index

    def replica(self, node: Node, inputs: list[Edge], control: list[Node]) -> Node:
        if node.definition.control_flow:
            node.definition = NoOp
        node.inputs, node.control = inputs, list(dict.fromkeys(control))
        self._nodes.append(node)
        return node

    def function_call(self, definition: Any, like: Node, inputs: list[Edge], attributes: dict[str, Any], control: list[Node]) -> Node:
        made = Node(definition, like.name, attributes, inputs, list(dict.fromkeys(control)), device=like.device, origin=like.origin)
        self._nodes.append(made)
        return made


class _Function(_Context):
    """A loop's condition or body, or a branch, as a graph."""

    def __init__(self, parent: _Context, steps: Path, name: str) -> None:
        super().__init__(parent.nesting)
        self.parent, self._steps, self.path = parent, steps, (*parent.path, *steps)
        self.graph: FuncGraph = FuncGraph(name, parent.graph if isinstance(parent, _Function) else Graph())
        self.captures: dict[Edge, Tensor] = {}
        self.outer_waits: dict[Node, None] = {}

    def add_argument(self, merge: Node) -> None:
        """The next variable of a loop."""
        self._values[merge, 0] = self.graph.add_input(_dtype((merge, 0)), TensorShape(None), "loop_var")

    def finish(self, ends: Sequence[Edge]) -> None:
        """Builds what the results need, in the order of the program, and says that they are the results."""
        needed = self.nesting.needed((producer for producer, _ in ends), lambda path: not self.is_outside(path))
        for node in sorted(needed, key=self.nesting.position.__getitem__):
            if self._is_own(node):
                self.built(node)
        self.graph.outputs = [self.value(edge) for edge in ends]

    def _is_own(self, node: Node) -> bool:
        kind, path = node.definition.control_flow, self.nesting.paths[node]
        is_variable = kind == "merge" and node not in self.nesting.group_of
        return set(path) <= set(self.path) and kind not in ("switch", "enter", "next") and not is_variable

    def is_outside(self, path: Path) -> bool:
        return not any(step in path for step in self._steps)

    def captured(self, edge: Edge) -> Tensor:
        """An input that stands for a value from outside; constants are made again."""
        assert self.parent is not None
        if edge in self.captures:
            return self.captures[edge]
        node, index = edge
        if node.definition is Const:
            made: Tensor = self.output(self.replica(node, [], []), index)
            return made
        self.parent.value(edge)
        inner = self.graph.add_input(_dtype(edge), _shape(edge), f"captured/{node.name}")
        if _dtype(edge) is resource and node.origin is not None and index < len(node.origin.outputs):
            inner._handle_data = node.origin.outputs[index]._handle_data
        self.captures[edge] = inner
        return inner

    def waits(self, control: Sequence[Node]) -> list[Any]:
        outside = [other for other in control if self.is_outside(self.nesting.paths[other])]
        self.outer_waits.update(dict.fromkeys(outside))
        return super().waits(control)

    def output(self, made: Operation, index: int) -> Tensor:
        return made.outputs[index]

    def replica(self, node: Node, inputs: list[Tensor], control: list[Operation]) -> Operation:
        definition = NoOp if node.definition.control_flow else node.definition
        return self._added(definition, node, inputs, node.attrs, control)

    def function_call(self, definition: Any, like: Node, inputs: list[Tensor], attributes: dict[str, Any], control: list[Operation]) -> Operation:
        return self._added(definition, like, inputs, attributes, control)

    def _added(self, definition: Any, like: Node, inputs: list[Tensor], attributes: dict[str, Any], control: list[Operation]) -> Operation:
        made: Operation = definition.add_node(self.graph, self.graph.unique_name(like.name), tuple(inputs), attributes)
        made._control_inputs = list(dict.fromkeys(control))
        made._set_device(like.device)
        if like.origin is not None:
            made._source = like.origin._source
        return made


def _share(functions: list[_Function]) -> list[Edge]:
    """Has functions take the same values from outside in the same order, after their arguments."""
    captured = list(dict.fromkeys(edge for function in functions for edge in function.captures))
    for function in functions:
        arguments = [tensor for tensor in function.graph.inputs if tensor not in function.captures.values()]
        function.graph.inputs = [*arguments, *(function.captured(edge) for edge in captured)]
    return captured


def _dtype(edge: Edge) -> Any:
    node, index = edge
    return node.output_dtypes[index]


def _shape(edge: Edge) -> TensorShape:
    """What the graph says of a value's shape."""
    node, index = edge
    origin = node.origin
    return origin.outputs[index].shape if origin is not None and index < len(origin.outputs) else TensorShape(None)
