"""``tf.config.experimental``: which devices this machine has, and which of them sessions get that have no ConfigProto of their own."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorboard.compat.proto.config_pb2 import ConfigProto, GPUOptions

import penstock.execute
import penstock.opencl  # noqa: F401 (registers GPUs)
from penstock.imperative import context
from penstock.program.default_config import choose, default_config
from penstock.program.devices import host_kind, kind_of, kinds, local_devices


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it."""

    name: str
    device_type: str


class VirtualDeviceConfiguration(NamedTuple):
    """``tf.config.experimental.VirtualDeviceConfiguration``: one of the devices that a physical device becomes, with its memory in MB."""

    memory_limit: int | None = None


_growth: dict[str, bool] = {}  # what programs have set, by the device's name
_visible: list[PhysicalDevice] | None = None  # None: all
_virtual: dict[PhysicalDevice, list[VirtualDeviceConfiguration]] = {}
_initialized = False


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """``tf.config.experimental.list_physical_devices``: the devices of this machine, or those of one kind.

    >>> list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return [PhysicalDevice(f"/physical_device:{kind.name}:{index}", kind.name) for kind in sorted(kinds(), key=lambda kind: kind.priority)
            if device_type in (None, kind.name) for index in range(kind.physical())]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """``tf.config.experimental.list_logical_devices``: those that programs name. From then on they stay what they are."""
    global _initialized
    devices = local_devices(default_config())
    _initialized = True
    return [LogicalDevice(device.name, device.device_type) for device in sorted(devices, key=lambda device: kind_of(device.name).priority)
            if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """``tf.config.experimental.get_visible_devices``: those that are not hidden."""
    return [device for device in (list_physical_devices() if _visible is None else _visible) if device_type in (None, device.device_type)]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """``tf.config.experimental.set_visible_devices``: hides all others, of one kind or of every kind, from imperative style and from sessions that
    are made without a ConfigProto."""
    global _visible
    chosen = list(devices) if isinstance(devices, Sequence) and not isinstance(devices, (str, PhysicalDevice)) else [devices]
    known = list_physical_devices(device_type)
    for device in chosen:
        _check_known(device, known)
    others = [device for device in get_visible_devices() if device.device_type != device_type] if device_type is not None else []
    if others + chosen != get_visible_devices():
        _check_open("Visible")
        _visible = others + chosen
        _apply()


def get_virtual_device_configuration(device: PhysicalDevice) -> list[VirtualDeviceConfiguration] | None:
    """``tf.config.experimental.get_virtual_device_configuration``: what it was set to; None if it was not."""
    _check_known(device, list_physical_devices())
    return _virtual.get(device)


def set_virtual_device_configuration(device: PhysicalDevice, virtual_devices: Sequence[VirtualDeviceConfiguration]) -> None:
    """``tf.config.experimental.set_virtual_device_configuration``: makes several devices of one. Those of a GPU have memory of their own, up to a
    limit each; those of the CPU show how programs are placed and cut."""
    _check_known(device, list_physical_devices())
    limits = [each.memory_limit for each in virtual_devices]
    if device.device_type == host_kind().name and any(limit is not None for limit in limits):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if device.device_type == "GPU" and None in limits:
        raise ValueError("Setting memory limit is required for GPU virtual devices")
    if _virtual.get(device) != list(virtual_devices):
        _check_open("Virtual")
        _virtual[device] = list(virtual_devices)
        _apply()


def get_memory_growth(device: PhysicalDevice) -> bool:
    """``tf.config.experimental.get_memory_growth``: True, unless it was set; memory is always taken when it is needed."""
    _check_known(device, list_physical_devices())
    return _growth.get(device.name, True)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """``tf.config.experimental.set_memory_growth``: is remembered; memory is always taken when it is needed."""
    _check_known(device, list_physical_devices())
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    _growth[device.name] = bool(enable)


def _check_known(device: Any, known: Sequence[PhysicalDevice]) -> None:
    if device not in known:
        raise ValueError(f"Unrecognized device: {device!r}. There are {[each.name for each in known]}.")


def _check_open(what: str) -> None:
    if _initialized:
        raise RuntimeError(f"{what} devices cannot be modified after being initialized: do it before tf.config.experimental.list_logical_devices")


def _apply() -> None:
    """Gives what was chosen to sessions to come, and to imperative style."""
    config, visible = ConfigProto(), get_visible_devices()
    for device in list_physical_devices():
        config.device_count[device.device_type] += len(_virtual.get(device, [device])) if device in visible else 0
    gpus = [(index, device) for index, device in enumerate(list_physical_devices("GPU")) if device in visible]
    config.gpu_options.visible_device_list = ",".join(str(index) for index, _ in gpus)
    if any(device in _virtual for _, device in gpus):
        limits = [[each.memory_limit for each in _virtual.get(device, [])] for _, device in gpus]
        config.gpu_options.experimental.virtual_devices.extend(GPUOptions.Experimental.VirtualDevices(memory_limit_mb=each) for each in limits)
    choose(config)
    context.renew_devices()
