"""Device kinds and their registry. A kind says how many devices of it a task has, where their values live, and which nodes they can run, and how.

Placement, copies between memories, plans, sessions and clusters ask the registry; none of them knows a kind by its name. To add a kind, write a
subclass of ``DeviceKind`` and ``register`` an instance. The host, whose values are NumPy arrays, is a kind like the others; it alone has no
``memory`` of its own. ``execute/cpu.py`` is it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.errors import AlreadyExistsError, InvalidArgumentError
from penstock.graph.device import DeviceSpec, device_type
from penstock.graph.dtypes import DType
from penstock.program.ir import Node, RegionBody, functions_of
from penstock.state.resources import Ref

LOCAL_TASK = "/job:localhost/replica:0/task:0"

Kernel = Callable[..., Any]


@dataclass(frozen=True)
class Device:
    """A device of a task, as ``session.list_devices()`` shows it."""

    name: str
    device_type: str
    memory_limit_bytes: int = 256 << 20
    incarnation: int = 1

    @staticmethod
    def named(name: str, memory_limit_bytes: int = 256 << 20, incarnation: int = 1) -> Device:
        """The device of this full name, which tells its kind."""
        return Device(name, device_type(name) or "", memory_limit_bytes, incarnation)

    @property
    def memory_limit(self) -> int:
        """``memory_limit_bytes``."""
        return self.memory_limit_bytes


class Memory(Protocol):
    """The memory of one device, apart from the host's.

    Values stay in it between nodes of the device. They are copied at its border only: where they are fed, fetched, sent or received.
    """

    def holds(self, dtype: DType) -> bool:
        """Do values of this type live here? Those that do not, such as strings and handles of resources, stay NumPy arrays and Python objects."""

    def copy_in(self, array: Any) -> Any:
        """The value in this memory; it shares nothing with the array. MemoryError if there is no room."""

    def copy_out(self, value: Any) -> Any:
        """The value as a NumPy array of its own."""

    def variable(self, name: str, dtype: DType) -> Ref:
        """A variable whose value lives here: its ``read`` gives what kernels of the device take."""


class DeviceKind:
    """One kind of device. Subclasses give ``name``, ``supports`` and ``kernel``, and what differs from the defaults here."""

    name: str  # in upper case, as in /device:NAME:0
    priority: int = 0  # a node without a device goes to the kind of the highest priority that can run it; the host has 70
    count: int = 1  # devices of a task, where ``ConfigProto.device_count`` says nothing
    memory_limit_bytes: int = 256 << 20
    native: bool = False  # may graph passes rewrite its nodes, and gather them to regions? See ``region``
    always: bool = False  # are there regions in every plan, also in that of a first run, and when the compiler is off? NumPy could not do the work

    def devices(self, config: Any, task: str, incarnation: int) -> list[Device]:
        """The devices of a task with this ConfigProto (or None). Override it for kinds that look for hardware, or have a list of visible ones."""
        count = config.device_count[self.name] if config is not None and self.name in config.device_count else self.count
        return [Device.named(f"{task}/device:{self.name}:{index}", self.memory_limit_bytes, incarnation) for index in range(count)]

    def physical(self) -> int:
        """How many of them the machine has, before any session chooses some or cuts them into several."""
        return self.count

    def description(self, device: str) -> str:
        """What the device of this name is, for people; nothing, if there is nothing to say."""
        return ""

    def memory(self, device: str) -> Memory | None:
        """The memory of the device of this name; None for the host's."""
        return None

    def supports(self, node: Node) -> bool:
        """Is there a kernel for this node, with its types and attributes?"""
        raise NotImplementedError

    def kernel(self, node: Node, context: Any) -> Kernel:
        """The function that runs a node: from its inputs to its output, to a tuple of several, or to None. ``context`` is its ``KernelContext``."""
        raise NotImplementedError

    def region(self, body: RegionBody, environment: Any, interpret: Any) -> Any:
        """What runs nodes of this kind as one, if it is ``native``: an ``execute.device_plan.RegionKernel``. ``interpret(body, environment,
        excluded)`` makes something that runs them one by one, but for regions between those that are excluded."""
        raise NotImplementedError

    def in_host_memory(self, node: Node, argument: str, dtype: DType) -> bool:
        """Does the kernel take, or give, this argument as a host value, although the memory could hold it? Shapes, say, that the host reads."""
        return argument in node.definition.host_memory

    def reuses_inputs(self, node: Node) -> bool:
        """Does the kernel take ``spare=``, arrays among its inputs that are not needed any more, to write its result over one of them?"""
        return False


_kinds: dict[str, DeviceKind] = {}


def register(kind: DeviceKind) -> None:
    """Makes a kind known to sessions and servers that are made from now on."""
    if kind.name in _kinds:
        raise AlreadyExistsError(None, None, f"there is a device kind {kind.name} already")
    _kinds[kind.name] = kind


def unregister(name: str) -> None:
    """Removes a kind. Steps that are planned already run on; others that need it fail."""
    kind_named(name)
    del _kinds[name]


def kinds() -> list[DeviceKind]:
    """All kinds, those of the highest priority first."""
    return sorted(_kinds.values(), key=lambda kind: -kind.priority)


def kind_named(name: str) -> DeviceKind:
    """The kind of this name; InvalidArgumentError if there is none."""
    kind = _kinds.get(name)
    if kind is None:
        raise InvalidArgumentError(None, None, f"There is no device kind {name} in this process; there is {', '.join(_kinds)}. A kind that is not "
                                   "part of Penstock has to be registered in every task that uses it.")
    return kind


def kind_of(device: str) -> DeviceKind:
    """The kind of the device of this full name; a node that is on none runs on the host."""
    name = device_type(device)
    return kind_named(name) if name else host_kind()


def memory_of(device: str) -> Memory | None:
    """The memory of the device of this full name; None for the host's."""
    return kind_of(device).memory(device)


def host_kind() -> DeviceKind:
    """The kind whose values are NumPy arrays in the memory of the process."""
    return next(kind for kind in kinds() if kind.memory("") is None)


def host_device(device: str) -> str:
    """The name of the host in the task of a device: the device itself, if it is one of the host's, or the first of those."""
    spec, host = DeviceSpec.from_string(device), host_kind().name
    index = spec.device_index if spec.device_type == host and spec.device_index is not None else 0
    return DeviceSpec(spec.job, spec.replica, spec.task, host, index).to_string()


def runs_on_host(node: Node) -> bool:
    """Does the host run the node whatever its device? It then moves values or calls functions, and computes nothing itself."""
    definition = node.definition
    return definition.on_host or definition.calls_later or bool(definition.control_flow) or bool(functions_of(node))


def supports(device: Device, nodes: Iterable[Node]) -> bool:
    """Can a device run all of these nodes? Of a kind that only another task knows, that task has to say it."""
    kind = _kinds.get(device.device_type)
    return kind is None or all(runs_on_host(node) or kind.supports(node) for node in nodes)


def local_devices(config: Any, task: str = LOCAL_TASK, incarnation: int = 1) -> list[Device]:
    """The devices of this process, those of the kind with the highest priority first."""
    return [device for kind in kinds() for device in kind.devices(config, task, incarnation)]
