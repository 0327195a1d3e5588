"""Which OpenCL devices this process may use, and why there are none.

    PENSTOCK_OPENCL=gpu    GPUs and accelerators (the default)
    PENSTOCK_OPENCL=all    also CPUs that an OpenCL driver offers, such as PoCL: native code is quicker there, but this is how programs are tested
    PENSTOCK_OPENCL=off    none; no driver is loaded
"""
from __future__ import annotations

import functools
import importlib.util
import os
from dataclasses import dataclass
from typing import Any

from penstock.native.machine import target

CHOICES = ("gpu", "all", "off")


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
