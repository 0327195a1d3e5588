"""Operations as NodeDefs.

Conditionals and loops are written as the nodes of the paper's diagrams, Switch, Merge, Enter, Exit, NextIteration, LoopCond, so that every
TensorFlow can read them; between the tasks of a cluster those that ``Kept`` says stay operations on functions.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.errors import UnimplementedError
from penstock.graph import dtypes
from penstock.graph.attrs import to_proto
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor

_INITIALIZED_VALUE = {"_InitializedValue": "IsVariableInitialized", "_ResourceInitializedValue": "VarIsInitializedOp"}


def _all_names(graph: Graph) -> set[str]:
    names, stack, seen = set[str](), [graph], set[Graph]()
    while stack:
        each = stack.pop()
        if each not in seen:
            seen.add(each)
            names.update(each._by_name)
            stack.extend(function for op in each._ops for function in _functions(op))
    return names


def _functions(op: Operation) -> list[FuncGraph]:
    return [value for value in op.attrs.values() if isinstance(value, FuncGraph)]


def is_flow(op: Operation) -> bool:
    """True for a conditional or a loop."""
    return "then_branch" in op.attrs or ("body" in op.attrs and bool(_functions(op)))


class Kept:
    """Which conditionals and loops stay operations on functions in an export, none by default, and what their functions are called there."""

    def __init__(self, keeps: Callable[[Operation], bool] = lambda op: False) -> None:
        self.keeps = keeps
        self.names: dict[FuncGraph, str] = {}

    def add(self, op: Operation) -> None:
        """Names the functions of an operation that stays. They are traced, and called alike in all operations."""
        for key, value in op.attrs.items():
            if isinstance(value, FuncGraph):
                self.names.setdefault(value, f"{op.name}_{key}")

    def rename(self, node: NodeDef, attrs: dict[str, Any]) -> None:
        """Has a node call functions by the names that they have in the export."""
        for key, value in attrs.items():
            if isinstance(value, FuncGraph) and value in self.names:
                node.attr[key].func.name = self.names[value]


NONE_KEPT = Kept()


class Exporter:
    """Collects NodeDefs; knows what a tensor of a function, or of an op that calls functions, is called in the export."""

    def __init__(self, graph: Graph, add_shapes: bool, kept: Kept = NONE_KEPT) -> None:
        self.nodes: list[NodeDef] = []
        self._add_shapes, self._kept = add_shapes, kept
        self._taken = _all_names(graph)
        self._numbers: dict[str, int] = {}  # the last number that was added to a name
        self._emitted: set[Graph] = set()
        self._names: dict[Tensor, str] = {}
        self._waits: dict[Operation, str] = {}  # op that calls functions -> the node that runs when it has run
        self._replaced: set[Operation] = set()
        self._invariant: set[str] = set()  # what comes into loops and is the same in each iteration

    def emit(self, graph: Graph, pivot: str | None, from_version: int | None = None) -> None:
        """All ops of a graph; those that no input keeps from running wait for ``pivot``, which is dead when they must not run."""
        if graph in self._emitted:  # its nodes would have the same names again; and nested calls would double the nodes at each level
            raise UnimplementedError(None, None, f"the function {getattr(graph, 'name', '')!r} is the branch or body of several ops: only a graph in "
                                     "which each has a function of its own can be written as Switch and Merge")
        self._emitted.add(graph)
        for op in graph._ops:
            if op in self._replaced or op.type == "_FuncInput" or (from_version is not None and op._id <= from_version):
                continue
            if is_flow(op) and not self._kept.keeps(op):
                self._conditional(op, pivot) if "then_branch" in op.attrs else self._loop(op, pivot)
            elif op.type in _INITIALIZED_VALUE and not self._kept.keeps(op):
                self._initialized_value(op, pivot)
            else:
                self._plain(op, pivot)

    def rename(self, names: dict[Tensor, str]) -> None:
        """These tensors have other names in the export: they are the arguments of a function."""
        self._names.update(names)

    def name_of(self, element: Operation | Tensor) -> str:
        """What a tensor, or an operation that is run for its effects, is called in the export."""
        if isinstance(element, Operation):
            return self._waits.get(element, element.name).partition(":")[0]
        name = self.input_name(element)
        return name if ":" in name else f"{name}:0"

    def _plain(self, op: Operation, pivot: str | None) -> None:
        node = op.node_def
        del node.input[:]
        node.input.extend(self.input_name(tensor) for tensor in op._inputs)
        node.input.extend(self._control(op, pivot))
        self._kept.rename(node, op.attrs)
        if isinstance(op.graph, FuncGraph) and "_class" in node.attr:
            del node.attr["_class"]  # names an op outside of the function
        if self._add_shapes and op.outputs:
            node.attr["_output_shapes"].list.shape.extend(tensor.shape.as_proto() for tensor in op.outputs)
        self.nodes.append(node)

    def input_name(self, tensor: Tensor) -> str:
        """What a tensor is called where it is an input of a node."""
        return self._names.get(tensor, tensor._input_name)

    def _control(self, op: Operation, pivot: str | None) -> list[str]:
        return self._awaited(op, op._inputs, pivot)

    def _awaited(self, op: Operation, inputs: Sequence[Tensor], pivot: str | None) -> list[str]:
        names = ["^" + self._waits.get(other, other.name) for other in op._control_inputs]
        is_free = all(self.input_name(tensor) in self._invariant for tensor in inputs)
        return names + ["^" + pivot] if pivot is not None and is_free else names

    def _unique(self, name: str) -> str:
        number, unique = self._numbers.get(name, 0), name
        while unique in self._taken:
            number += 1
            unique = f"{name}_{number}"
        self._numbers[name] = number
        self._taken.add(unique)
        return unique

    def _node(self, op_type: str, name: str, inputs: list[str], device: str, element_type: dtypes.DType | None = None, **attrs: Any) -> str:
        node = NodeDef(name=self._unique(name), op=op_type, device=device)
        node.input.extend(inputs)
        if element_type is not None:
            node.attr["T"].CopyFrom(to_proto("type", element_type.base_dtype))
        for key, value in attrs.items():
            kind = "type" if isinstance(value, dtypes.DType) else "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
            node.attr[key].CopyFrom(to_proto(kind, value))
        self.nodes.append(node)
        return node.name

    def _result_name(self, output: Tensor, kind: str, fallback: str) -> str:
        """The name for the node that gives a result: that of the Identity which the program sees, and which the node replaces."""
        for consumer in output._consumers:
            if consumer.type == "Identity" and consumer.name.rpartition("/")[2].startswith(kind) and consumer.graph is output.graph:
                self._replaced.add(consumer)
                self._taken.discard(consumer.name)
                self._names[consumer.outputs[0]] = consumer.name
                return consumer.name
        return fallback

    # --- conditionals ------------------------------------------------------------------------------------------------

    def _conditional(self, op: Operation, pivot: str | None) -> None:
        scope = op.name.rpartition("/")[0] or op.name
        then_branch, else_branch = op.attrs["then_branch"], op.attrs["else_branch"]
        predicate, control, device = self.input_name(op._inputs[0]), self._control(op, pivot), op.device
        switch = self._node("Switch", f"{scope}/Switch", [predicate, predicate, *control], device, dtypes.bool_)
        pivots = [self._node("Identity", f"{scope}/switch_t", [f"{switch}:1"], device, dtypes.bool_),
                  self._node("Identity", f"{scope}/switch_f", [switch], device, dtypes.bool_)]
        for index, tensor in enumerate(op._inputs[1:]):
            kind = "RefSwitch" if tensor.dtype.is_ref and then_branch.inputs[index].dtype.is_ref else "Switch"
            name = self._node(kind, f"{scope}/{tensor.op.name.rpartition('/')[2]}/Switch", [self.input_name(tensor), predicate], device, tensor.dtype)
            self._names[then_branch.inputs[index]], self._names[else_branch.inputs[index]] = f"{name}:1", name
        for branch, branch_pivot in zip((then_branch, else_branch), pivots):
            self.emit(branch, branch_pivot)
        for index, output in enumerate(op.outputs):
            inputs = [self.input_name(branch.outputs[index]) for branch in (else_branch, then_branch)]
            name = self._result_name(output, "Merge", f"{scope}/Merge")
            self._names[output] = self._node("Merge", name, inputs, device, output.dtype, N=2)
        self._waits[op] = self._names[op.outputs[0]] if op.outputs else pivots[0]

    def _initialized_value(self, op: Operation, pivot: str | None) -> None:
        """The value of a variable if it has one, else its initial value, is an op here and a conditional in TensorFlow."""
        is_ref, (source, initial), dtype = op._inputs[0].dtype.is_ref, map(self.input_name, op._inputs), op.outputs[0].dtype
        test = self._node(_INITIALIZED_VALUE[op.type], f"{op.name}/IsVariableInitialized", [source, *self._control(op, pivot)], op.device,
                          **({"dtype": dtype} if is_ref else {}))
        switch = self._node("RefSwitch" if is_ref else "Switch", f"{op.name}/Switch", [source, test], op.device, op._inputs[0].dtype)
        there = self._node("Identity", f"{op.name}/read", [f"{switch}:1"], op.device, dtype) if is_ref else \
            self._node("ReadVariableOp", f"{op.name}/read", [f"{switch}:1"], op.device, dtype=dtype)
        missing = self._node("Switch", f"{op.name}/initial_value/Switch", [initial, test], op.device, dtype)
        self._taken.discard(op.name)
        self._names[op.outputs[0]] = self._waits[op] = self._node("Merge", op.name, [missing, there], op.device, dtype, N=2)

    # --- loops -------------------------------------------------------------------------------------------------------

    def _loop(self, op: Operation, pivot: str | None) -> None:
        scope = op.name.rpartition("/")[0] or op.name
        test, body, device = op.attrs["cond"], op.attrs["body"], op.device
        frame = {"frame_name": self._unique(f"{scope}/while_context"), "parallel_iterations": op.attrs["parallel_iterations"]}
        changing = []
        merges: dict[int, str] = {}
        for index, tensor in enumerate(op._inputs):
            constant = body.outputs[index] is body.inputs[index] and not op.outputs[index]._consumers
            by_reference = tensor.dtype.is_ref and body.inputs[index].dtype.is_ref
            inputs = [self.input_name(tensor), *self._awaited(op, [tensor], pivot)]
            enter = self._node("RefEnter" if by_reference else "Enter", f"{scope}/Enter", inputs, device, tensor.dtype, is_constant=constant, **frame)
            if constant:
                self._invariant.add(enter)
                self._names[test.inputs[index]] = self._names[body.inputs[index]] = enter
                continue
            changing.append(index)
            # The back edge is named before its node exists.
            merges[index] = self._node("Merge", f"{scope}/Merge", [enter, ""], device, tensor.dtype, N=2)
            self._names[test.inputs[index]] = merges[index]
        self.emit(test, merges[changing[0]])
        go_on = self._node("LoopCond", f"{scope}/LoopCond", [self.input_name(test.outputs[0])], device)
        switches = {index: self._node("Switch", f"{scope}/Switch", [merges[index], go_on], device, op._inputs[index].dtype) for index in changing}
        for index, name in switches.items():
            self._names[body.inputs[index]] = f"{name}:1"
        first = changing[0]
        self.emit(body, self._node("Identity", f"{scope}/Identity", [f"{switches[first]}:1"], device, op._inputs[first].dtype))
        self._close_loop(op, scope, changing, merges, switches)

    def _close_loop(self, op: Operation, scope: str, changing: list[int], merges: dict[int, str], switches: dict[int, str]) -> None:
        by_name = {node.name: node for node in self.nodes[-1::-1]}
        for index in changing:
            dtype = op._inputs[index].dtype
            back = self._node("NextIteration", f"{scope}/NextIteration", [self.input_name(op.attrs["body"].outputs[index])], op.device, dtype)
            by_name[merges[index]].input[1] = back
            output = op.outputs[index]
            self._names[output] = self._node("Exit", self._result_name(output, "Exit", f"{scope}/Exit"), [switches[index]], op.device, dtype)
        self._waits[op] = self._names[op.outputs[changing[0]]]
