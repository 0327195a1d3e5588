"""Lists of devices."""
from __future__ import annotations

from penstock.capi.entries import entry, kind
from penstock.capi.named_sessions import NamedSession
from penstock.capi.sessions import SessionState
from penstock.errors import InvalidArgumentError
from penstock.program.devices import Device


@kind("TF_DeviceList*")
class DeviceList:
    """TF_DeviceList."""

    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices

    def at(self, index: int) -> Device:
        """One of them."""
        if not 0 <= index < len(self.devices):
            raise InvalidArgumentError(None, None, "index out of bounds")
        return self.devices[index]


@entry
def TF_SessionListDevices(session: SessionState) -> DeviceList:
    """Those that steps can use."""
    return DeviceList(session.session.list_devices())


@entry
def TF_DeprecatedSessionListDevices(session: NamedSession) -> DeviceList:
    """The same."""
    return DeviceList(session.session.list_devices())


@entry
def TF_DeleteDeviceList(devices: DeviceList | None) -> None:
    """Nothing else is to be done."""


@entry
def TF_DeviceListCount(devices: DeviceList) -> int:
    """How many there are."""
    return len(devices.devices)


@entry
def TF_DeviceListName(devices: DeviceList, index: int) -> str:
    """The full name of one."""
    return devices.at(index).name


@entry
def TF_DeviceListType(devices: DeviceList, index: int) -> str:
    """Its kind."""
    return devices.at(index).device_type


@entry
def TF_DeviceListMemoryBytes(devices: DeviceList, index: int) -> int:
    """How much memory it has for tensors."""
    return devices.at(index).memory_limit_bytes


@entry
def TF_DeviceListIncarnation(devices: DeviceList, index: int) -> int:
    """A number that is another one after a restart."""
    return devices.at(index).incarnation & (1 << 64) - 1
