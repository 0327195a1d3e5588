"""``tf.config.experimental``: the devices of this machine."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.testing.physical_devices": "VirtualDeviceConfiguration get_memory_growth get_virtual_device_configuration get_visible_devices "
                                         "list_logical_devices list_physical_devices set_memory_growth set_virtual_device_configuration "
                                         "set_visible_devices",
}
publish(__name__, TABLE, missing="get_device_policy get_synchronous_execution set_device_policy set_synchronous_execution")
