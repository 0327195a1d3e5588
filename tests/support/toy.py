"""A device kind that the package has never heard of: its memory holds NumPy arrays in boxes, and counts what is copied in and out."""
from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.graph import dtypes
from penstock.program.devices import DeviceKind
from penstock.state.resources import Ref

_HOST_TYPES = (dtypes.string, dtypes.resource, dtypes.variant)


class Box:
    """A value in the memory of a toy device. NumPy cannot look inside."""

    __array__ = None

    def __init__(self, array):
        self.array = np.asarray(array)


class BoxedVariable(Ref):
    """A variable that lives on a toy device: what is read from it is a box."""

    __slots__ = ()

    def read(self):
        return Box(super().read())


class ToyMemory:
    """The memory of one toy device."""

    def __init__(self):
        self.copies = Counter()

    def holds(self, dtype):
        return dtype not in _HOST_TYPES

    def copy_in(self, array):
        assert not isinstance(array, Box), "it is here already"
        self.copies["in"] += 1
        return Box(np.array(array))

    def copy_out(self, value):
        self.copies["out"] += 1
        return value.array.copy()

    def variable(self, name, dtype):
        return BoxedVariable(name, dtype)


class Toy(DeviceKind):
    """Runs the NumPy kernels of all ops but ``lacks``, which takes and gives boxes; it has no queues, files or strings."""

    name = "TOY"
    memory_limit_bytes = 1 << 20

    def __init__(self, lacks=(), priority=0):
        self.lacks, self.priority, self.memories = set(lacks), priority, {}

    def memory(self, device):
        return self.memories.setdefault(device, ToyMemory())

    def supports(self, node):
        definition = node.definition
        types = [*node.output_dtypes, *(producer.output_dtypes[index] for producer, index in node.inputs)]
        return (definition.type not in self.lacks and definition.kernel is not None and dtypes.string not in types
                and not (definition.blocking or definition.touches or definition.array_role or definition.list_role))

    def kernel(self, node, context):
        compute = node.definition.bind(node, context)

        def run(*inputs):
            result = compute(*map(_unboxed, inputs))
            return tuple(map(_boxed, result)) if isinstance(result, tuple) else _boxed(result)

        return run

    def copies(self, index=0):
        """How often something was copied into the memory of a device of any task, and out of it, since the last call."""
        counts = Counter()
        for device, memory in self.memories.items():
            if device.endswith(f":{index}"):
                counts, memory.copies = counts + memory.copies, Counter()
        return counts["in"], counts["out"]


def _unboxed(value):
    assert not isinstance(value, (np.ndarray, np.generic)) or value.dtype == object, "a host value, where one of the toy's memory is due"
    return value.array if isinstance(value, Box) else value


def _boxed(value):
    return Box(value) if isinstance(value, (np.ndarray, np.generic)) else value
