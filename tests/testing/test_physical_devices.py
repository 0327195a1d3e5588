"""tf.config.experimental: what programs ask before they take a GPU."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.imperative.context import eager_mode, renew_devices
from penstock.program.default_config import choose
from penstock.testing import physical_devices

pytestmark = pytest.mark.graph
devices = tf.config.experimental


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """What programs set is set for the process."""
    for name, value in (("_visible", None), ("_virtual", {}), ("_initialized", False)):
        monkeypatch.setattr(physical_devices, name, value)
    yield
    choose(tf.ConfigProto())
    renew_devices()


def names(session):
    return [device.name.rpartition("device:")[2] for device in session.list_devices()]


def test_the_cpu_is_listed():
    (cpu,) = devices.list_physical_devices("CPU")
    assert cpu.name == "/physical_device:CPU:0" and cpu.device_type == "CPU"
    assert cpu in devices.get_visible_devices() and devices.list_logical_devices("CPU")[0].name.endswith("/device:CPU:0")
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
    with pytest.raises(ValueError, match="Unrecognized device"):
        devices.set_visible_devices(cpu, "GPU")
    with pytest.raises(ValueError, match="memory limit on CPU"):
        devices.set_virtual_device_configuration(cpu, [devices.VirtualDeviceConfiguration(memory_limit=3)])


def test_several_devices_of_one():
    """As TensorFlow 1.15: sessions without a ConfigProto have them, and imperative style; those with one have what it says."""
    (cpu,) = devices.list_physical_devices("CPU")
    assert devices.get_virtual_device_configuration(cpu) is None
    two = [devices.VirtualDeviceConfiguration()] * 2
    devices.set_virtual_device_configuration(cpu, two)
    assert devices.get_virtual_device_configuration(cpu) == two
    with tf.device("/cpu:1"):
        y = tf.placeholder(tf.float32, []) + 1
    with tf.Session() as session:
        assert names(session) == ["CPU:0", "CPU:1"] and session.run(y, {y.op.inputs[0]: 2}) == 3
    assert names(tf.Session(config=tf.ConfigProto())) == ["CPU:0"]
    assert names(tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}))) == ["CPU:0", "CPU:1", "CPU:2"]
    with eager_mode(), tf.device("/cpu:1"):
        assert (tf.constant(1.0) + 1).device.endswith("CPU:1")
    assert [each.name for each in devices.list_logical_devices("CPU")] == [f"/job:localhost/replica:0/task:0/device:CPU:{index}" for index in (0, 1)]
    devices.set_virtual_device_configuration(cpu, two)  # the same
    with pytest.raises(RuntimeError, match="Virtual devices cannot be modified after being initialized"):
        devices.set_virtual_device_configuration(cpu, two * 2)
    with pytest.raises(RuntimeError, match="Visible devices cannot be modified after being initialized"):
        devices.set_visible_devices([], "CPU")


def test_without_a_cpu_there_are_no_sessions():
    (cpu,) = devices.list_physical_devices("CPU")
    devices.set_visible_devices([], "CPU")
    assert devices.get_visible_devices("CPU") == []
    for ask in (tf.Session, devices.list_logical_devices):
        with pytest.raises(tf.errors.NotFoundError, match="No CPU devices are available in this process"):
            ask()
    assert names(tf.Session(config=tf.ConfigProto())) == ["CPU:0"]
    devices.set_visible_devices(cpu, "CPU")
    assert names(tf.Session()) == ["CPU:0"]
