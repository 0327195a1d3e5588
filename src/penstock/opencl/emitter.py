"""The emitter of an OpenCL device: what ``native`` and the fusion say to it becomes kernels of OpenCL C.

It is an ``Emitter`` like that of native code, with families of its own where kernels are written, and the same ones where they only call others.
"""
from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.native.calls import Array, KernelCall
from penstock.native.emitter import FAMILIES, Emitter

if TYPE_CHECKING:
    from penstock.opencl.queue import Traits

OWN = {
    "move": "penstock.opencl.moves:DeviceMoves",
    "index": "penstock.opencl.indexing:DeviceIndexing",
    "lookup": "penstock.opencl.lookups:DeviceLookups",
    "windows": "penstock.opencl.windows:DevicePooling",
    "scans": "penstock.opencl.scans:DeviceScans",
    "order": "penstock.opencl.ordering:DeviceOrdering",
    "images": "penstock.opencl.images:DeviceResampling",
    "random": "penstock.opencl.randomness:DeviceRandomness",
    "arrays": "penstock.opencl.arrays:DeviceArrays",
    "contract": "penstock.opencl.contractions:DeviceContractions",
    "convolve": "penstock.opencl.contractions:DeviceConvolutions",
    "flow": "penstock.opencl.flow:DeviceFlow",
}


NESTS, PRODUCTS = "penstock.opencl.nests:emit_nest", "penstock.opencl.products:emit_product"


@functools.cache
def _load(name: str) -> Callable[..., Any]:
    """What stands above this module, and calls back: it is loaded when it is asked for."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@dataclass(eq=False, slots=True)
class Launch(KernelCall):
    """One kernel in the queue: its text (``code``), and after the operands its numbers."""

    numbers: tuple[int, ...] = ()
    global_size: tuple[int, ...] = (1,)
    local_size: tuple[int, ...] = (1,)


@dataclass(eq=False, slots=True)
class HostCall(KernelCall):
    """Something that the host does between kernels, with the memory of the running step: ``action(instance)``."""

    action: Callable[[Any], None] | None = None


class DeviceEmitter(Emitter):
    """Collects the launches of a region."""

    winograd = takes_rates = False
    most_operands = 24  # of a nest: some drivers take 1 KB of arguments and no more

    def __init__(self, traits: Traits, epilogues: bool = True) -> None:
        super().__init__(1, epilogues)
        self.traits = traits
        self._copies: dict[Any, tuple[Array, int]] = {}  # arrays in another layout, and how many calls there were before them

    def note_copy(self, key: Any, copy: Array) -> None:
        """Remembers the copy of an array that has been made, for others that need the same."""
        self._copies[key] = copy, len(self.calls)

    def known_copy(self, array: Array, key: Any) -> Array | None:
        """The copy that was noted, if it is still what the array is: all calls since then are kernels that run whenever this one does, and none of
        them writes to the array."""
        copy, since = self._copies.get(key, (None, 0))
        later = self.calls[since:]
        fresh = all(isinstance(call, Launch) and all(each.buffer is not array.buffer for each in call.operands[-call.writes:]) for call in later)
        return copy if fresh else None

    def __getattr__(self, name: str) -> Any:
        if name not in FAMILIES:
            raise AttributeError(f"an emitter has no {name}")
        if name not in self._families:
            self._families[name] = _load(OWN.get(name) or FAMILIES[name])(self)
        return self._families[name]

    def run_nest(self, loop: Any, label: str) -> None:
        """A fused loop: see ``nests.py``."""
        _load(NESTS)(self, loop, label)

    def multiply(self, product: Any, a: Array, right: Array, c: Array, label: str, epilogue: Any, items: Any) -> None:
        """A product of matrices: see ``products.py``."""
        _load(PRODUCTS)(self, product, a, right, c, label, epilogue, items)

    def call(self, code: Any, operands: Sequence[Array], parts: Any, label: str, writes: int = 1, flops: int = 0, destination: Any = None,
             uses: Any = ()) -> None:
        """A kernel of native code: there is none for this device, so the host runs the node."""
        self.unsupported(f"there is no OpenCL kernel for its part '{label}'")

    def launch(self, text: str, operands: Sequence[Array], numbers: Sequence[int], size: Sequence[int], label: str, writes: int = 1, flops: int = 0,
               group: Sequence[int] | None = None) -> Launch:
        """One kernel over ``size`` work items. Two axes are rounded up to whole groups, so kernels look at their bounds; a third one is not."""
        group = tuple(group) if group is not None else self.groups(size)
        whole = tuple(-(-int(extent) // each) * each for extent, each in zip(size, group))
        made = Launch(text, list(operands), [], label, writes, flops, list(self.items), numbers=tuple(int(each) for each in numbers),  # type: ignore[arg-type]
                      global_size=whole, local_size=group)
        self.calls.append(made)
        return made

    def groups(self, size: Sequence[int]) -> tuple[int, ...]:
        """The size of groups for kernels that do not care: few sizes, for some drivers compile a kernel for each."""
        most = 16 if self.traits.strips else min(self.traits.group, 64)
        result = []
        for axis, extent in enumerate(size):
            each = 1 if axis > 1 else min(1 << max(int(extent) - 1, 0).bit_length(), most)
            result.append(each)
            most //= each
        return tuple(result)
