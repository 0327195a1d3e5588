"""tf.config.experimental: what programs ask before they take a GPU."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.graph
devices = tf.config.experimental


def test_the_cpu_is_listed():
    (cpu,) = devices.list_physical_devices("CPU")
    assert cpu.name == "/physical_device:CPU:0" and cpu.device_type == "CPU"
    assert cpu in devices.get_visible_devices() and devices.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    assert devices.get_memory_growth(cpu) is True


def test_settings_of_all_devices_are_accepted():
    devices.set_visible_devices(devices.list_physical_devices("CPU"), "CPU")
    for gpu in devices.list_physical_devices("GPU"):
        devices.set_memory_growth(gpu, True)


def test_what_cannot_be_done_says_so():
    (cpu,) = devices.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="non-GPU"):
        devices.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="Unrecognized device"):
        devices.set_visible_devices([type(cpu)("/physical_device:GPU:9", "GPU")], "GPU")
    with pytest.raises(RuntimeError, match="device_count"):
        devices.set_visible_devices([], "CPU")
