"""Nodes that the host runs for a device: their inputs are copied out, the op's NumPy kernel runs, and its results are copied in.

That is how a node runs by itself, when a step is traced or debugged, and where an op has no device code for the shapes at hand; ``penstock explain``
tells of the latter. A variable that such a node writes is copied out before, and in after it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.opencl.memory import DeviceArray, DeviceMemory, DeviceVariable
from penstock.program.ir import Node
from penstock.state.resources import Ref


def host_kernel(node: Node, compute: Callable[..., Any], memory: DeviceMemory, inside: list[bool]) -> Callable[..., Any]:
    """The kernel of a node, by ``compute``, its NumPy kernel. ``inside``: per output, does it belong into the device's memory?"""
    definition = node.definition
    direct = definition.snapshot or definition.forwards is True or definition.forwards_reference or definition.allows_uninitialized or not node.inputs
    single = len(node.output_dtypes) == 1

    def run(*inputs: Any) -> Any:
        stand_ins: dict[DeviceVariable, Ref] = {}
        values = inputs if direct else [_on_host(value, stand_ins) for value in inputs]
        if definition.borrows:
            values = [value.read() if isinstance(value, Ref) else value for value in values]
        result = compute(*values)
        originals = {id(stand_in): variable for variable, stand_in in stand_ins.items()}
        for variable, stand_in in stand_ins.items():
            _write_back(variable, stand_in)
        if result is None:
            return None
        outputs = [originals.get(id(each), each) for each in ([result] if single else result)]
        outputs = [_on_device(each, memory) if there else each for each, there in zip(outputs, inside)]
        return outputs[0] if single else tuple(outputs)

    return run


def _on_host(value: Any, stand_ins: dict[DeviceVariable, Ref]) -> Any:
    if isinstance(value, DeviceArray):
        return value.numpy()
    if not isinstance(value, DeviceVariable):
        return value
    if value not in stand_ins:
        stand_in = stand_ins[value] = Ref(value.name, value.dtype)
        with value.lock:
            stand_in.value = None if value.value is None else value.value.numpy()  # type: ignore[attr-defined]
    return stand_ins[value]


def _write_back(variable: DeviceVariable, stand_in: Ref) -> None:
    with variable.lock:
        if stand_in.value is None:
            variable.clear()
        else:
            variable.assign(stand_in.value)


def _on_device(value: Any, memory: DeviceMemory) -> Any:
    return memory.copy_in(value) if isinstance(value, (np.ndarray, np.generic, bool, int, float)) else value
