"""Placement: which device each node of a program runs on.

All constraints are solved together: nodes that must share a device (colocation groups; those that use a variable by reference or by its resource
handle) form one group, and a group's device name is the merge of its members' names. Of the devices that fit the name, a group gets the first whose
kind has kernels for all of its members. Devices come in the order of preference, so a group without a name gets the best that can run it.
"""
from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from penstock.errors import InvalidArgumentError, OpError
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec, merge
from penstock.graph.node import Operation
from penstock.platform.logging import get_logger
from penstock.program.devices import Device, supports
from penstock.program.ir import Edge, Node, Program
from penstock.program.resource_groups import contradict, flexibility, handed_on, shares_device

_log = get_logger().getChild("placement")
_TOLD = 10  # tasks that an error tells of


def place(program: Program, devices: list[Device], soft: bool, log: bool = False, preferred: str = "", elsewhere: Sequence[str] = ()) -> None:
    """Gives every node of the program a full device name; InvalidArgumentError, naming the node, if it cannot be had.

    ``soft``: a node whose device does not exist, or has no kernel for it, goes elsewhere in its task. ``preferred`` is the device for nodes without
    a name, as far as it can run them. ``elsewhere``: the tasks whose devices are not among these, since no node names them; errors tell of them.
    """
    devices = sorted(devices, key=lambda device: device.name != preferred)
    if not log and len({device.device_type for device in devices}) == 1 and not any(node.device for node in program.nodes):
        for node in program.nodes:
            node.device = devices[0].name
        return
    if log:
        _log.setLevel(logging.INFO)  # asked for explicitly: shown whatever the verbosity of the rest
    leaders = _leaders(program)
    groups: dict[Node, list[Node]] = {}
    for node in program.nodes:
        groups.setdefault(leaders[node], []).append(node)
    chosen = {leader: _choose(members, devices, soft, elsewhere).name for leader, members in groups.items()}
    for node in program.nodes:
        node.device = chosen[leaders[node]]
        if log:
            _log.info("%s: (%s): %s", node.name, node.definition.type, node.device)


def _leaders(program: Program) -> dict[Node, Node]:
    """Node -> the leader of its group (union-find)."""
    leader = {node: node for node in program.nodes}

    def find(node: Node) -> Node:
        while leader[node] is not node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    by_name = {node.name: node for node in program.nodes}
    for node in program.nodes:
        groups = node.origin._colocation if node.origin is not None else ()
        for group in groups:
            other = by_name.setdefault(group.decode().removeprefix("loc:@"), node)  # the group's own op may not run in this step
            leader[find(node)] = find(other)
        for (producer, _), shared in zip(node.inputs, shares_device(node)):
            if shared:
                leader[find(node)] = find(producer)
        for index in handed_on(node):
            leader[find(node)] = find(node.inputs[index][0])
    return {node: find(node) for node in program.nodes}


def _users_of_state(members: list[Node]) -> list[Node]:
    """Nodes of other steps that use the variables of a group: they need a kernel on its device too, for all steps have to agree on that."""
    names = {node.name for node in members}
    operations = {user for node in members if node.origin is not None for tensor in node.origin.outputs
                  if tensor.dtype.is_ref or tensor.dtype is dtypes.resource for user in tensor.consumers()
                  if user.name not in names and any(shared and item is tensor for item, shared in zip(user.inputs, shares_device(user)))}
    return [_lone(user, [(_lone(tensor.op), tensor.value_index) for tensor in user.inputs]) for user in operations]


def _lone(operation: Operation, inputs: Iterable[Edge] = ()) -> Node:
    """An operation as a node by itself, to ask a device kind about it."""
    return Node(operation.definition, operation.name, operation.attrs, list(inputs), device=operation.device, origin=operation)


def _choose(members: list[Node], devices: list[Device], soft: bool, elsewhere: Sequence[str]) -> Device:
    """The device of a group."""
    spec = _merged_device(members)
    fitting = [device for device in devices if spec.fits(DeviceSpec.from_string(device.name))]
    if len({device.device_type for device in devices}) > 1:
        members = [*members, *_users_of_state(members)]
    able = [device for device in fitting if supports(device, members)]
    if not able and soft:
        task = DeviceSpec(spec.job, spec.replica, spec.task)
        able = [device for device in devices if task.fits(DeviceSpec.from_string(device.name)) and supports(device, members)]
    if not able:
        raise _no_kernel(members, spec, fitting) if fitting else _no_device(members, devices, elsewhere)
    return able[0]


def _merged_device(members: list[Node]) -> DeviceSpec:
    """What the members of a group say together of their device."""
    name = ""
    for node in sorted(members, key=flexibility):
        if contradict(node.device, name):
            if flexibility(node):
                continue  # as if it had no name: the resource is somewhere else
            raise _contradiction(node, members)
        name = merge(name, node.device)
    return DeviceSpec.from_string(name)


def _contradiction(node: Node, members: list[Node]) -> OpError:
    others = ", ".join(f"{member.name} on {member.device}" for member in members if member.device)
    return InvalidArgumentError(None, node.origin, (
        f"Cannot assign a device for operation {node.name}: it must share a device with nodes whose devices contradict each other: {others}"))


def _no_device(members: list[Node], devices: list[Device], elsewhere: Sequence[str]) -> OpError:
    node = next(node for node in members if node.device)
    wanted = DeviceSpec.from_string(node.device)
    task = DeviceSpec(wanted.job, wanted.replica, wanted.task)
    has_task = any(task.fits(DeviceSpec.from_string(device.name)) for device in devices)
    more = f" and {len(elsewhere) - _TOLD} more tasks" if len(elsewhere) > _TOLD else ""
    others = f", and those of {', '.join(elsewhere[:_TOLD])}{more}" if elsewhere else ""
    return InvalidArgumentError(None, node.origin, (
        f"Cannot assign a device for operation {node.name}: Operation was explicitly assigned to {node.device} but available devices are "
        f"[ {', '.join(device.name for device in devices)} ]{others}. Make sure the device specification refers to a valid device.\n"
        f"  made at: {node.origin.origin if node.origin else 'unknown'}\n"
        "  try: " + ("tf.ConfigProto(allow_soft_placement=True), or another tf.device" if has_task else
                     f"another tf.device, or a cluster with a task {task.to_string()}")))


def _no_kernel(members: list[Node], spec: DeviceSpec, fitting: list[Device]) -> OpError:
    """There are such devices, but none of them can run the whole group."""
    node = next(node for node in members if not supports(fitting[0], [node]))
    kind = fitting[0].device_type
    together = ", ".join(f"{member.name} ({member.definition.type})" for member in members)
    return InvalidArgumentError(None, node.origin, (
        f"Cannot assign a device for operation {node.name}: Could not satisfy explicit device specification '{spec.to_string()}' because no "
        f"supported kernel for {kind} devices is available: {node.definition.type} has none"
        + (f", and these share a device: {together}" if len(members) > 1 else "")
        + f".\n  made at: {node.origin.origin if node.origin else 'unknown'}\n"
        "  try: tf.ConfigProto(allow_soft_placement=True), or another tf.device"))
