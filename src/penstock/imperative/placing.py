"""Which device an operation of imperative style runs on.

That of the scopes around its call, if the process has it; what uses a variable runs where that is. Without a scope the host runs an operation: values
are in its memory from segment to segment, and a kernel for an operation that may never come again costs more than the operation.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec, device_type, merge
from penstock.program.devices import host_kind, kind_of
from penstock.program.ir import functions_of

if TYPE_CHECKING:
    from penstock.execute.environment import Environment
    from penstock.graph.node import Operation
    from penstock.imperative.operation import EagerOperation
    from penstock.program.ir import Node

HOST = "/job:localhost/replica:0/task:0/device:CPU:0"  # where operations run that nothing puts elsewhere


def is_compiled_only(device: str) -> bool:
    """Is it a device that NumPy cannot stand in for? Its operations are compiled from the first run on."""
    return bool(device) and kind_of(device).always


def names_other_device(op: Operation) -> bool:
    """Does the device that scopes give an operation, or one in a function that it calls, have another type than the host's?"""
    kind = device_type(op._device)
    return bool(kind and kind != host_kind().name) or any(names_other_device(inner) for function in functions_of(op) for inner in function._ops)


def device_of(op: EagerOperation, node: Node, environment: Environment) -> str:
    """The device of an operation, whose ``_device`` is what the scopes around its call say; ``node`` is the operation as a node.

    RuntimeError if there is no such device. If the device has no kernel for the operation the host runs it, or, without soft placement, it is an
    InvalidArgumentError.
    """
    device = _full_name(op, environment)
    used = [producer.call.device for producer, index in op.edges if producer.call.expected[index][0] is dtypes.resource]
    compiled_only = next(filter(is_compiled_only, used), "")
    if functions_of(op) and not op.definition.calls_later:
        return device or compiled_only  # their operations may use variables of several devices
    if used:
        device = compiled_only or ("" if is_compiled_only(device) else device)
    if not is_compiled_only(device) or _can_run(device, op, node):
        return device
    kind = kind_of(device).name
    if used:
        raise InvalidArgumentError(None, op, f"no supported kernel for {kind} devices is available: {op.type} has none, and the variable that it "
                                   f"uses is on {device}.\n  try: with tf.device('/cpu:0') where the variable is made")
    if environment.soft_placement:
        return ""
    raise InvalidArgumentError(None, op, f"Could not satisfy explicit device specification '{device}' because no supported kernel for {kind} "
                               f"devices is available: {op.type} has none.\n  try: with tf.device('/cpu:0')")


def _can_run(device: str, op: EagerOperation, node: Node) -> bool:
    """Has a device a kernel for an operation? Of resources it has variables, of types that its memory holds."""
    definition, kind = op.definition, kind_of(device)
    if definition.refers_to is not None:
        return kind.memory(device).holds(op.attrs[definition.refers_to[0]])  # type: ignore[union-attr]
    if definition.calls_later or any(dtype in (dtypes.resource, dtypes.variant) for dtype in node.output_dtypes):
        return False
    node.device = device
    return kind.supports(node)


def _full_name(op: EagerOperation, environment: Environment) -> str:
    """The device that a scope names, by its full name if that matters; RuntimeError if this process does not have it."""
    if not op._device:
        return ""
    wanted = DeviceSpec.from_string(op._device)
    name = next((device.name for device in environment.devices if wanted.fits(DeviceSpec.from_string(device.name))), None)
    if name is None:
        raise RuntimeError(f"{merge(HOST, op._device)} unknown device.")
    return name if wanted.device_type and is_compiled_only(name) else op._device
