"""The graph of a client's session as its master keeps it: as the client sent it, and as steps are planned from it.

Conditionals and loops come as operations on functions. One that lies on one task stays that: its task runs it natively. One whose body names several
tasks becomes Switch, Merge, Enter, ... nodes, which are cut like any others (``spanning_loops.py``). Which those are is known when a program has been
placed; from then on they are nodes in all further plans of the session.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock import errors
from penstock.distributed.cluster_spec import task_of
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec
from penstock.graph.export import export_with_names
from penstock.graph.exporter import is_flow
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.graph_def import extend_graph
from penstock.graph.node import Operation, Tensor
from penstock.program.ir import Node, Program, functions_of
from penstock.program.resource_groups import ResourceGroups
from penstock.program.variants import variant_groups


class SessionGraph:
    """A graph that grows. Not thread-safe: the session has a lock."""

    def __init__(self) -> None:
        self._graph = Graph()
        self._as_nodes: set[str] = set()  # conditionals and loops that span tasks
        self._lowered: Graph | None = None  # with those as nodes; None if there are none, or the graph has grown since
        self._groups = ResourceGroups()
        self._name_of: Callable[[Operation | Tensor], str] = lambda element: element.name

    def extend(self, graph_def: GraphDef) -> None:
        """Adds nodes."""
        try:
            extend_graph(self._graph, graph_def)
        except (ValueError, TypeError) as error:
            raise errors.InvalidArgumentError(None, None, f"the graph cannot be extended: {error}") from None
        self._lowered = None

    def elements(self, feeds: Iterable[str], fetches: Iterable[str], targets: Iterable[str]) -> tuple[list[Any], list[Any], list[Any]]:
        """The fetches, the feeds and the targets, by their names."""
        graph = self._graph
        try:
            tensors: list[Any] = [[graph.as_graph_element(name, allow_operation=False) for name in group] for group in (fetches, feeds)]
            operations: Any = [graph.as_graph_element(name, allow_tensor=False) for name in targets]
        except (KeyError, ValueError) as error:
            raise errors.NotFoundError(None, None, f"the step names what is not in the session's graph: {error}") from None
        return tensors[0], tensors[1], operations

    def planned(self, elements: Collection[Any]) -> list[Any]:
        """What tensors and operations of the client's graph are in the one that steps are planned from."""
        if not self._as_nodes:
            return list(elements)
        if self._lowered is None:
            graph_def, self._name_of = export_with_names(self._graph, lambda op: op.name not in self._as_nodes)
            self._lowered = Graph()
            extend_graph(self._lowered, graph_def, runtime_names=True)
        return [self._lowered.as_graph_element(self._name_of(element)) for element in elements]

    def name_devices(self, program: Program) -> None:
        """Gives the nodes of a program the devices of the resources that they use."""
        self._groups.name_devices(program, self._graph if self._lowered is None or not self._as_nodes else self._lowered)

    def lower(self, names: set[str]) -> None:
        """From now on these conditionals and loops are nodes."""
        self._as_nodes |= names
        self._lowered = None


def spanning(program: Program) -> set[str]:
    """The conditionals and loops of a placed program that do not lie on one task.

    Lists of tensors and TensorArrays cannot travel: the nodes that use one, such as a loop and its gradient, are put on one device here, if the
    functions of the loops among them allow it.
    """
    names, grouped = set[str](), set[Node]()
    for group in variant_groups(program, arrays=True):
        flow = [node for node in group if _is_flow(node)]
        device = next((node.device for node in flow if node.origin is not None and node.origin.device), flow[0].device if flow else "")
        if flow and not program.has_frames and all(_lies_on(node, task_of(device), set(group)) for node in flow):
            for node in group:
                node.device = device
        else:
            names.update(node.name for node in flow)
        grouped.update(flow)
    return names | {node.name for node in program.nodes if _is_flow(node) and node not in grouped and not _lies_on(node, task_of(node.device))}


def _is_flow(node: Node) -> bool:
    return node.origin is not None and is_flow(node.origin)


def _lies_on(node: Node, task: str, moved: Collection[Node] = ()) -> bool:
    """Could a task run the whole of a conditional or loop? What it refers to (``moved`` will be there) must be there."""
    functions, here = functions_of(node), DeviceSpec.from_string(task)
    names = {op.device for function in functions for op in _operations(function)}
    if not all(_task_part(name).fits(here) for name in names):
        return False
    arguments: Sequence[Tensor] = functions[0].inputs
    for (producer, _), argument in zip(node.inputs[-len(arguments):], arguments):
        is_reference = argument.dtype.is_ref or argument.dtype.base_dtype is dtypes.resource
        if is_reference and producer not in moved and task_of(producer.device) != task:
            return False
    return True


def _operations(function: FuncGraph) -> Iterable[Operation]:
    """Those of a function and of the functions that they call."""
    stack, seen = [function], {function}
    while stack:
        for op in stack.pop()._ops:
            yield op
            inner = [value for value in op.attrs.values() if isinstance(value, FuncGraph) and value not in seen]
            seen.update(inner)
            stack += inner


def _task_part(device: str) -> DeviceSpec:
    spec = DeviceSpec.from_string(device)
    return DeviceSpec(spec.job, spec.replica, spec.task)
