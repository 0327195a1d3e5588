"""The devices of a task, and which one each node of a program runs on.

Placement solves all constraints together: nodes that must share a device (colocation groups; whoever touches a variable by reference or by
its resource handle) form one group, a group's device name is the merge of its members' names, and a group without a wish goes to the first device.
"""
from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError, OpError
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec, merge
from penstock.platform.logging import get_logger
from penstock.program.ir import Node, Program

_log = get_logger().getChild("placement")

LOCAL_TASK = "/job:localhost/replica:0/task:0"


@dataclass(frozen=True)
class Device:
    """A device of a task, as ``session.list_devices()`` shows it."""

    name: str
    device_type: str = "CPU"
    memory_limit_bytes: int = 256 << 20
    incarnation: int = 1

    @property
    def memory_limit(self) -> int:
        """``memory_limit_bytes``."""
        return self.memory_limit_bytes


def local_devices(config: Any, task: str = LOCAL_TASK, incarnation: int = 1) -> list[Device]:
    """The devices of this process: as many CPU devices as ``ConfigProto.device_count`` says, one by default."""
    count = config.device_count.get("CPU", 1) if config is not None and "CPU" in config.device_count else 1
    return [Device(f"{task}/device:CPU:{index}", incarnation=incarnation) for index in range(max(count, 1))]


def place(program: Program, devices: list[Device], soft: bool, log: bool = False) -> None:
    """Gives every node of the program a full device name; InvalidArgumentError, naming the node, if it cannot be had."""
    if not any(node.device for node in program.nodes) and not log:
        for node in program.nodes:
            node.device = devices[0].name
        return
    if log:
        _log.setLevel(logging.INFO)  # asked for explicitly: shown whatever the verbosity of the rest
    groups = _groups(program)
    members: dict[Node, list[Node]] = {}
    for node in program.nodes:
        members.setdefault(groups[node], []).append(node)
    chosen = {leader: _choose(group, devices, soft) for leader, group in members.items()}
    for node in program.nodes:
        node.device = chosen[groups[node]]
        if log:
            _log.info("%s: (%s): %s", node.name, node.definition.type, node.device)


def _groups(program: Program) -> dict[Node, Node]:
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
        for (producer, _), shared in zip(node.inputs, _shares_device(node)):
            if shared:
                leader[find(node)] = find(producer)
    return {node: find(node) for node in program.nodes}


def _shares_device(node: Node) -> list[bool]:
    """Per input: must its producer be on the node's own device? True for references and resource handles."""
    flags: list[bool] = []
    for arg, items in node.definition.group(node.inputs, node.attrs):
        flags.extend(arg.is_ref or (arg.dtype or node.attrs.get(arg.type_attr or "")) is dtypes.resource for _ in items)
    return flags


def _choose(members: list[Node], devices: list[Device], soft: bool) -> str:
    wish = ""
    arrays = any(node.definition.array_role for node in members)
    for node in sorted(members, key=_obedience) if arrays else members:
        if _contradicts(node.device, wish):
            if arrays and _obedience(node):
                continue  # as if it had no wish: the array is somewhere else
            raise _contradiction(node, members)
        wish = merge(wish, node.device)
    spec = DeviceSpec.from_string(wish)
    for device in devices:
        if spec.fits(DeviceSpec.from_string(device.name)):
            return device.name
    if soft:
        spec.device_type, spec.device_index = "CPU", None
        for device in devices:
            if spec.fits(DeviceSpec.from_string(device.name)):
                return device.name
    node = next(node for node in members if node.device)
    raise InvalidArgumentError(None, node.origin, (
        f"Cannot assign a device for operation {node.name}: Operation was explicitly assigned to {node.device} but available devices are "
        f"[ {', '.join(device.name for device in devices)} ]. Make sure the device specification refers to a valid device.\n"
        f"  made at: {node.origin.origin if node.origin else 'unknown'}\n"
        "  try: tf.ConfigProto(allow_soft_placement=True), or another tf.device"))


def _obedience(node: Node) -> int:
    """How readily a node goes where its array is: computations stay, then come the ops on arrays; what only passes the handle on goes anywhere."""
    return 2 if node.definition.control_flow else 1 if node.definition.array_role else 0


def _contradicts(name: str, other: str) -> bool:
    """Members of a group may complete each other's names, not contradict them."""
    mine, theirs = DeviceSpec.from_string(name), DeviceSpec.from_string(other)
    pairs = [(getattr(mine, part), getattr(theirs, part)) for part in ("job", "replica", "task", "device_type", "device_index")]
    return any(a is not None and b is not None and a != b for a, b in pairs)


def _contradiction(node: Node, members: list[Node]) -> OpError:
    others = ", ".join(f"{member.name} on {member.device}" for member in members if member.device)
    return InvalidArgumentError(None, node.origin, (
        f"Cannot assign a device for operation {node.name}: it must share a device with nodes whose devices contradict each other: {others}"))
