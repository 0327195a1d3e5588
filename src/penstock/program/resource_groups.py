"""Operations on one resource share its device in all steps of a session, whichever of them a step runs.

A step is planned from the operations that it needs. Where a variable or a queue is must not depend on them: an initializer without a device would put
it somewhere else than the step does in which an operation with a device reads it. So the groups of operations that must share a device (because of a
reference, a resource handle, or ``colocate_with``) are those of the whole graph, and what a group's members say together of their device is decided
when a session first sees them: operations that are added later follow those that were there.

The function of a conditional or of a loop belongs to the graph: what its operations on a captured resource say counts, too.
"""
from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec, merge
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.program.ir import Node, Program, functions_of


class ResourceGroups:
    """The groups of one session's graph, by the names of their members; the graph may grow, and be made anew."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._seen = 0  # operations of the graph
        self._leader: dict[str, str] = {}
        self._device: dict[str, str] = {}  # of leaders: what their groups agreed on
        self._error: dict[str, str] = {}  # of leaders whose groups cannot agree

    def name_devices(self, program: Program, graph: Graph) -> None:
        """Gives the nodes of a program, of this graph, the device that their groups agreed on; InvalidArgumentError if one cannot agree."""
        self._update(graph)
        for node in program.nodes:
            if node.origin is None or node.origin.graph is not graph or node.name not in self._leader:
                continue
            leader = self._find(node.name)
            if leader in self._error:
                raise InvalidArgumentError(None, node.origin, self._error[leader])
            node.device = self._device.get(leader, node.device)

    def _update(self, graph: Graph) -> None:
        if graph is not self._graph or len(graph._ops) < self._seen:
            self._graph, self._seen = graph, 0
        new, self._seen = graph._ops[self._seen:], len(graph._ops)
        fresh = [op for op in new if op.name not in self._leader]
        pairs = [(op, other) for op in fresh for other in _partners(op)]
        if not pairs:
            return
        touched = dict.fromkeys(each for pair in pairs for each in pair)
        decided = {name for op in touched if (name := op.name) in self._leader}
        for op in touched:
            self._leader.setdefault(op.name, op.name)
        for op, other in pairs:
            self._join(op, other)
        groups: dict[str, list[Operation]] = {}
        for op in touched:
            if op.name not in decided:
                groups.setdefault(self._find(op.name), []).append(op)
        for leader, members in groups.items():
            if leader not in self._device:
                self._decide(leader, members)

    def _find(self, name: str) -> str:
        leader = self._leader
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    def _join(self, op: Operation, other: Operation) -> None:
        """Makes two groups one; one that has decided leads."""
        one, two = self._find(op.name), self._find(other.name)
        if one == two:
            return
        if two not in self._device:
            one, two = two, one
        elif one in self._device and contradict(self._device[one], self._device[two]):
            self._error[two] = _refusal(other, self._device[one], self._device[two])
        self._leader[one] = two

    def _decide(self, leader: str, members: list[Operation]) -> None:
        """What the members of a new group say together of their device."""
        name = ""
        wishes = [(flexibility(op), op.device, op) for op in members]
        wishes += [(1, device, op) for op in members for device in _devices_inside(op)]
        makers = {op.device: op for op in members if op.device and _makes_handle(op)}
        if len(makers) > 1:  # TensorFlow merges no names of two resources, also if one completes the other
            (name_of_one, _), (name_of_other, other) = list(makers.items())[:2]
            self._error[leader] = _refusal(other, name_of_one, name_of_other)
        for flexible, device, op in sorted(wishes, key=lambda wish: wish[0]):
            if not contradict(device, name):
                name = merge(name, device)
            elif not flexible:
                self._error[leader] = _refusal(op, name, device)
        self._device[leader] = name


def shares_device(op: Node | Operation) -> list[bool]:
    """Per input: must its producer be on the operation's own device? True for references and resource handles."""
    flags: list[bool] = []
    for arg, items in op.definition.group(op.inputs, op.attrs):
        flags.extend(arg.is_ref or (arg.dtype or op.attrs.get(arg.type_attr or "")) is dtypes.resource for _ in items)
    return flags


def flexibility(op: Node | Operation) -> int:
    """How readily it goes where a resource is: what makes one stays, ops that use one follow it, what only passes the handle on goes anywhere."""
    if op.definition.control_flow or op.definition.captures or op.definition.expands is not None:
        return 2
    return 1 if op.definition.array_role or _uses_resource(op) else 0


def _uses_resource(op: Node | Operation) -> bool:
    """True for an op on a queue, a table, a reader, ..., which runs where that is, whatever the device around its call says."""
    return any((arg.dtype or op.attrs.get(arg.type_attr or "")) is dtypes.resource for arg in op.definition.inputs)


def _makes_handle(op: Operation) -> bool:
    return bool(op.outputs) and (op.outputs[0]._dtype is dtypes.resource or op.outputs[0]._dtype.is_ref) and not any(
        tensor._dtype is dtypes.resource or tensor._dtype.is_ref for tensor in op._inputs)


def contradict(name: str, other: str) -> bool:
    """Members of a group may complete each other's names, not contradict them."""
    if not name or not other:
        return False
    mine, theirs = DeviceSpec.from_string(name), DeviceSpec.from_string(other)
    pairs = [(getattr(mine, part), getattr(theirs, part)) for part in ("job", "replica", "task", "device_type", "device_index")]
    return any(a is not None and b is not None and a != b for a, b in pairs)


def handed_on(op: Node | Operation) -> list[int]:
    """The inputs of a conditional or loop whose handles may be among its outputs."""
    if not op.definition.captures or not any(tensor.dtype is dtypes.resource for function in functions_of(op)[:1] for tensor in function.outputs):
        return []
    given = [item.dtype if isinstance(item, Tensor) else item[0].output_dtypes[item[1]] for item in op.inputs]
    return [index for index, dtype in enumerate(given) if dtype is dtypes.resource]


def _partners(op: Operation) -> Iterable[Operation]:
    """The operations that an operation must share its device with."""
    for group in op._colocation:
        other = op.graph._by_name.get(group.decode().removeprefix("loc:@"))
        if other is not None:
            yield other
    tensors = op._inputs
    if any(tensor._dtype is dtypes.resource or tensor._dtype.is_ref for tensor in tensors):
        if op.definition.expands is not None:  # a call: all that it is given are its own
            yield from (tensor.op for tensor in tensors if tensor._dtype is dtypes.resource or tensor._dtype.is_ref)
            return
        yield from (tensor.op for tensor, shared in zip(tensors, shares_device(op)) if shared)
        yield from (tensors[index].op for index in handed_on(op))


def _devices_inside(op: Operation) -> list[str]:
    """The devices that operations on a resource name in the functions of conditionals and loops that capture it."""
    return [device for tensor in op.outputs if tensor._dtype is dtypes.resource or tensor._dtype.is_ref for device in _named_behind(tensor)]


def _named_behind(tensor: Tensor) -> Iterable[str]:
    for user in tensor.consumers():
        definition = user.definition
        if not definition.captures:
            continue
        for function in functions_of(user):
            skipped = len(user._inputs) - len(function.inputs)
            for index, item in enumerate(user._inputs):
                if item is tensor and index >= skipped:
                    yield from _named_in(function, function.inputs[index - skipped])


def _named_in(function: FuncGraph, parameter: Tensor) -> Iterable[str]:
    for op in parameter.consumers():
        if op.device and any(shared and item is parameter for item, shared in zip(op._inputs, shares_device(op))):
            yield op.device
    yield from _named_behind(parameter)


def _refusal(op: Operation, name: str, other: str) -> str:
    return (f"Cannot place the graph because a reference or resource edge connects colocation groups with incompatible resource devices: {name} vs "
            f"{other}. It meets the second one at {op.name} ({op.definition.type}).\n  made at: {op.origin or 'unknown'}\n"
            "  try: make both resources under one tf.device, or do not hand one to operations on the other")

