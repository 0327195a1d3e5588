"""``tf.config.experimental``: which devices this machine has, as programs ask that were written for TensorFlow's GPUs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.testing.local_devices import list_local_devices

_growth: dict[str, bool] = {}  # what programs have set, by the device's name


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """``tf.config.experimental.list_physical_devices``: the devices of this machine, or those of one kind.

    >>> list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return [PhysicalDevice(f"/physical_device:{device.name.rpartition('device:')[2]}", device.device_type) for device in list_local_devices()
            if device_type in (None, device.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """``tf.config.experimental.list_logical_devices``: the same, by the names that ``tf.device`` takes."""
    return [LogicalDevice(device.name, device.device_type) for device in list_local_devices() if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """``tf.config.experimental.get_visible_devices``: all of them."""
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """``tf.config.experimental.set_visible_devices``: accepts all devices of a kind. Sessions hide some by their ``ConfigProto``."""
    chosen = list(devices) if isinstance(devices, Sequence) and not isinstance(devices, PhysicalDevice) else [devices]
    known = list_physical_devices(device_type)
    for device in chosen:
        _check_known(device, known)
    if {*chosen} != {*known}:
        raise RuntimeError("here devices are hidden session by session: tf.ConfigProto(device_count={'GPU': 0}), or "
                           "gpu_options=tf.GPUOptions(visible_device_list='1')")


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
