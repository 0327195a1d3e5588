"""OpenCL devices as a device kind: ``/device:GPU:0``. Without pyopencl, or without a driver, there are none, and nothing changes."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import AlreadyExistsError, InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec
from penstock.graph.dtypes import DType
from penstock.opencl.drivers import find
from penstock.opencl.host import host_kernel
from penstock.opencl.memory import FRACTION, TYPES, DeviceMemory
from penstock.program.devices import Device, DeviceKind, Kernel
from penstock.program.ir import Node, RegionBody

if TYPE_CHECKING:
    from penstock.opencl.queue import DeviceQueue


class Gpu(DeviceKind):
    """The GPUs of this machine, of any vendor, as OpenCL offers them."""

    name = "GPU"
    priority = 210  # TensorFlow's: a node without a device goes to the GPU, if there is one
    native = always = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[int, DeviceQueue] = {}  # by index: a physical device may be several
        self._numbers: dict[int, int] = {}  # which physical device is GPU:0, GPU:1, ... of this process
        self._memories: dict[str, DeviceMemory] = {}

    # --- devices -------------------------------------------------------------------------------------------------------------------------

    def devices(self, config: Any, task: str, incarnation: int) -> list[Device]:
        """Those of the ConfigProto: ``device_count``, and of ``gpu_options`` the ``visible_device_list``, ``per_process_gpu_memory_fraction`` and
        ``experimental.virtual_devices``."""
        count = config.device_count["GPU"] if config is not None and "GPU" in config.device_count else None
        if count == 0:
            return []
        total = self.physical()
        chosen: list[tuple[int, int | None]] = [(number, None) for number in range(total)]
        fraction = 0.0
        if config is not None and total:
            options = config.gpu_options
            chosen = _cut(_visible(options.visible_device_list, total), options.experimental.virtual_devices)
            fraction = options.per_process_gpu_memory_fraction
        chosen = chosen[:count]
        for index, (number, _) in enumerate(chosen):
            before = self._numbers.setdefault(index, number)
            if before != number:
                raise AlreadyExistsError(None, None, f"/device:GPU:{index} is OpenCL device {before} in this process, and cannot become "
                                         f"device {number}: all sessions have to give the same visible_device_list")
        return [self._device(f"{task}/device:GPU:{index}", index, int(find().devices[number].global_mem_size * fraction) if limit is None else limit,
                             incarnation) for index, (number, limit) in enumerate(chosen)]

    def physical(self) -> int:
        """What drivers of OpenCL offer."""
        return len(find().devices)

    def _device(self, name: str, index: int, limit: int, incarnation: int) -> Device:
        if limit:
            self.queue(index).pool.limit = limit
        queue = self._queues.get(index)
        have = queue.pool.limit if queue is not None else int(find().devices[self._numbers[index]].global_mem_size * FRACTION)
        return Device.named(name, have, incarnation)

    def description(self, device: str) -> str:
        """As TensorFlow describes its GPUs: which one it is, and its name."""
        number = self._numbers[DeviceSpec.from_string(device).device_index or 0]
        physical = find().devices[number]
        return f"device: {number}, name: {physical.name.strip()}, platform: {physical.platform.name.strip()}"

    def queue(self, index: int) -> DeviceQueue:
        """What this process does with GPU:index; made when it is first used."""
        from penstock.opencl.queue import DeviceQueue  # brings in pyopencl, which need not be installed

        with self._lock:
            number = self._numbers.get(index)
            if number is None:
                raise InvalidArgumentError(None, None, f"there is no /device:GPU:{index} in this process: {'; '.join(find().reasons)}")
            if index not in self._queues:
                self._queues[index] = DeviceQueue(find().devices[number], f"/device:GPU:{index}")
            return self._queues[index]

    def memory(self, device: str) -> DeviceMemory:
        """The memory of a device, which is looked for when it is used."""
        known = self._memories.get(device)
        if known is None:
            index = DeviceSpec.from_string(device).device_index if device else 0
            known = self._memories[device] = DeviceMemory(lambda: self.queue(index or 0))
        return known

    # --- nodes ---------------------------------------------------------------------------------------------------------------------------

    def supports(self, node: Node) -> bool:
        """What native code can run of types that devices have, the ops of variables, and what regions know before they run (ranges of sizes)."""
        definition = node.definition
        if definition.blocking or definition.touches or definition.kernel is None:
            return False
        types = [*(producer.output_dtypes[index] for producer, index in node.inputs), *node.output_dtypes]
        if any(dtype.base_dtype not in TYPES and dtype not in (dtypes.resource, dtypes.variant) for dtype in types):
            return False
        if not self._has_doubles(node) and any(dtype.base_dtype is dtypes.float64 for dtype in types):
            return False
        return self._has_code(node) or self._follows(node) or self._is_known_ahead(node)

    def _is_known_ahead(self, node: Node) -> bool:
        from penstock.native.regions.eligibility import is_known_ahead  # brings in LLVM

        return is_known_ahead(node)

    def _has_code(self, node: Node) -> bool:
        """Is there device code for a node, or nothing to compute?"""
        definition, types = node.definition, [*(producer.output_dtypes[index] for producer, index in node.inputs), *node.output_dtypes]
        if definition.draws or definition.shape_only or definition.snapshot or definition.forwards is True or not node.inputs:
            return dtypes.variant not in types
        if definition.allows_uninitialized or any(dtype.is_ref for dtype in types):
            return True
        from penstock.native.regions.eligibility import why_not_native  # brings in LLVM

        return why_not_native(node) is None

    def _follows(self, node: Node) -> bool:
        """Does the host run a node for the device, because it has to be where a variable is? Optimizers look for equal ids there, for example."""
        return node.origin is not None and bool(node.origin._colocation) and not node.definition.stateful

    def _has_doubles(self, node: Node) -> bool:
        index = DeviceSpec.from_string(node.device).device_index or 0 if node.device else 0
        number = self._numbers.get(index)
        return number is None or bool(find().devices[number].double_fp_config)

    def kernel(self, node: Node, context: Any) -> Kernel:
        """A node by itself: the host runs it."""
        return host_kernel(node, node.definition.bind(node, context), self.memory(node.device), self._inside(node))

    def _inside(self, node: Node) -> list[bool]:
        """Per output: is it in the memory of the device?"""
        memory, names = self.memory(node.device), node.definition.output_names(node.attrs)
        return [memory.holds(dtype) and not dtype.is_ref and not self.in_host_memory(node, name, dtype)
                for name, dtype in zip(names, node.output_dtypes)]

    def region(self, body: RegionBody, environment: Any, interpret: Any) -> Any:
        """Kernels of OpenCL C, made when the shapes are known."""
        from penstock.opencl.region import DeviceRegion  # brings in LLVM and pyopencl

        on_host = {position for position, (node, index) in enumerate(body.outputs) if node not in body.args and not self._inside(node)[index]}
        return DeviceRegion(body, environment, interpret, self.memory(body.nodes[0].device).queue, on_host)

    def in_host_memory(self, node: Node, argument: str, dtype: DType) -> bool:
        """What the host computes for the device stays there, until a node of the device needs it."""
        return super().in_host_memory(node, argument, dtype) or not self._has_code(node)


def _visible(text: str, count: int) -> list[int]:
    """The devices of ``visible_device_list``; all of them if it is empty."""
    if not text.strip():
        return list(range(count))
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise InvalidArgumentError(None, None, f"visible_device_list '{text}' is not a list of numbers")
    numbers = [int(part) for part in parts]
    unfit = [number for number in numbers if number >= count]
    if unfit or len(set(numbers)) != len(numbers):
        raise InvalidArgumentError(None, None, f"visible_device_list '{text}': there are {count} OpenCL devices, each of which can be named once")
    return numbers


def _cut(numbers: list[int], virtual: Any) -> list[tuple[int, int | None]]:
    """The devices, each as many times as ``virtual_devices`` has memory limits for it: their numbers and limits in bytes, None for the usual one."""
    if not virtual:
        return [(number, None) for number in numbers]
    if len(virtual) != len(numbers):
        raise InvalidArgumentError(None, None, f"virtual_devices has {len(virtual)} entries for {len(numbers)} visible GPUs: there is one for each")
    return [(number, None if limit is None else int(limit) << 20)
            for number, each in zip(numbers, virtual) for limit in each.memory_limit_mb or [None]]
