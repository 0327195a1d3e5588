"""Which OpenCL devices this process may use, and why there are none.

    PENSTOCK_OPENCL=gpu    GPUs and accelerators (the default)
    PENSTOCK_OPENCL=all    also CPUs that an OpenCL driver offers, such as PoCL: native code is quicker there, but this is how programs are tested
    PENSTOCK_OPENCL=off    none; no driver is loaded

Loading pyopencl and the drivers takes a tenth of a second, the first of every program. So by default they are left alone on a Linux machine in which
no driver could find more than CPUs: one that has no device file of a GPU or an accelerator.
"""
from __future__ import annotations

import functools
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.native.machine import target

CHOICES = ("gpu", "all", "off")
# The files by which Linux offers GPUs and accelerators: any with a driver of the kernel, NVIDIA, AMD, Adreno, Mali, PowerVR, Vivante, WSL, FPGAs.
_DEVICE_FILES = ("dri/*", "accel/*", "nvidia*", "kfd", "kgsl*", "mali*", "pvr*", "galcore", "dxg", "xclmgmt*", "aclpci*", "intel-fpga*", "dfl-*")
_SETTINGS = ("OCL_ICD_", "OPENCL_", "POCL_")  # of what finds drivers, and of PoCL, which reaches devices of other machines: somebody expects one


@dataclass(frozen=True)
class Found:
    """What the drivers offer: the devices that are used, and for the others, or for their absence, the reasons."""

    devices: tuple[Any, ...]
    reasons: tuple[str, ...]


def choice() -> str:
    """The setting of PENSTOCK_OPENCL; ValueError if it is none."""
    chosen = os.environ.get("PENSTOCK_OPENCL", "gpu")
    if chosen not in CHOICES:
        raise ValueError(f"PENSTOCK_OPENCL={chosen}: it can be {', '.join(CHOICES)}")
    return chosen


@functools.cache
def find() -> Found:
    """The devices, looked for once per process."""
    chosen = choice()
    if chosen == "off":
        return Found((), ("PENSTOCK_OPENCL=off: OpenCL devices are not looked for",))
    if importlib.util.find_spec("pyopencl") is None:
        return Found((), ("pyopencl is not installed: pip install 'penstock[opencl]'",))
    if chosen == "gpu" and not may_have_device():
        return Found((), ("this machine has no device file of a GPU or an accelerator, such as /dev/dri or /dev/nvidia0, so the OpenCL drivers were "
                          "not asked: they can only have CPUs. PENSTOCK_OPENCL=all asks them, and uses CPUs too",))
    try:
        import pyopencl as cl  # installed with the extra only, and it loads the drivers
        failures, platforms_of = cl.Error, cl.get_platforms
    except (ImportError, OSError, AttributeError) as error:  # a half of it was installed, or the library that finds drivers is missing
        return Found((), (f"pyopencl cannot be loaded ({error}): pip install --force-reinstall pyopencl",))
    try:
        platforms = platforms_of()
    except failures as error:
        return Found((), (f"there is no OpenCL driver ({error}). Install that of your GPU's vendor; PoCL runs on any CPU",))
    devices, reasons = [], []
    for platform in platforms:
        offered, why = _devices_of(cl, platform)
        reasons += why
        for device in offered:
            reason = _why_not(cl, device, chosen)
            if reason:
                reasons.append(f"{device.name.strip()} ({platform.name.strip()}): {reason}")
            else:
                devices.append(device)
    return Found(tuple(devices), tuple(reasons or ([] if devices else ["the OpenCL drivers offer no device"])))


def may_have_device(root: Path = Path("/")) -> bool:
    """Could a driver find a GPU or an accelerator? ``root`` is where /dev is."""
    if sys.platform != "linux" or any(name.startswith(_SETTINGS) for name in os.environ):
        return True
    return any(next((root / "dev").glob(pattern), None) is not None for pattern in _DEVICE_FILES)


def _devices_of(cl: Any, platform: Any) -> tuple[list[Any], list[str]]:
    try:
        return platform.get_devices(), []
    except cl.Error as error:
        return [], [f"{platform.name.strip()}: it offers no device ({error})"]


def _why_not(cl: Any, device: Any, chosen: str) -> str:
    if not device.available or not device.compiler_available:
        return "it is not available, or has no compiler"
    if not device.endian_little:
        return "it is big-endian"
    if device.type & cl.device_type.CPU and chosen != "all":
        return "it is a CPU, for which native code is quicker; PENSTOCK_OPENCL=all uses it nevertheless"
    if "PoCL" in device.version and "znver3" in device.version and target.has("avx512f"):
        return "this PoCL takes the CPU for an older one, and its compiler fails (seen with 3.0-rc2 on Zen 4); PoCL 3.1 knows it"
    return ""
