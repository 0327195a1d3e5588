"""Questions about the machine: ``tf.test.is_gpu_available()`` and ``tensorflow.python.client.device_lib``. The registry of device kinds answers."""
from __future__ import annotations

from typing import Any, NamedTuple

from tensorboard.compat.proto.config_pb2 import ConfigProto

import penstock.execute
import penstock.opencl  # noqa: F401 (registers GPUs)
from penstock.program.devices import LOCAL_TASK, kind_of, local_devices


class DeviceAttributes(NamedTuple):
    """What TensorFlow's message of this name holds."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int = 1
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices of this process."""
    devices = local_devices(session_config or ConfigProto())
    return [DeviceAttributes(device.name.removeprefix(LOCAL_TASK), device.device_type, device.memory_limit, device.incarnation,
                             kind_of(device.name).description(device.name)) for device in devices]


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """True if there is a device of the kind GPU; there is no CUDA."""
    return not cuda_only and bool(gpu_device_name())


def is_built_with_cuda() -> bool:
    """False."""
    return False


def is_built_with_rocm() -> bool:
    """False."""
    return False


def is_built_with_gpu_support() -> bool:
    """False."""
    return False


def gpu_device_name() -> str:
    """The name of the first GPU; an empty string if there is none."""
    return next((device.name for device in list_local_devices() if device.device_type == "GPU"), "")
