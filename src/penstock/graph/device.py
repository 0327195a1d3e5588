"""Device names: ``/job:worker/replica:0/task:7/device:GPU:3``, of which any part may be missing, and how nested ones merge."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_PARTS = ("job", "replica", "task", "device_type", "device_index")


class DeviceSpec:
    """A device name, part by part; None is an open part.

    >>> DeviceSpec.from_string("/job:ps/task:1/cpu:0").to_string()
    '/job:ps/task:1/device:CPU:0'
    """

    def __init__(self, job: str | None = None, replica: int | None = None, task: int | None = None,
                 device_type: str | None = None, device_index: int | None = None) -> None:
        self.job = None if job is None else str(job)
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        if device_type is not None and device_type.lower() in ("cpu", "gpu"):
            device_type = device_type.upper()
        self.device_type = device_type
        self.device_index = None if device_index is None else int(device_index)

    @staticmethod
    def from_string(spec: str) -> DeviceSpec:
        """Reads a device name; ValueError if it is malformed."""
        return DeviceSpec().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes over all parts of a device name."""
        job = replica = task = device_type = device_index = None
        for part in filter(None, (spec or "").split("/")):
            key, *values = part.split(":")
            if key in ("job", "replica", "task") and len(values) == 1:
                job = values[0] if key == "job" else job
                replica = int(values[0]) if key == "replica" else replica
                task = int(values[0]) if key == "task" else task
                continue
            if key.lower() in ("cpu", "gpu") and len(values) <= 1:
                values = [key.upper(), *(values or "*")]
            elif key != "device" or len(values) != 2:
                raise ValueError(f"Unknown attribute: '{key}' in '{spec}'")
            if device_type is not None:
                raise ValueError(f"Cannot specify multiple device types: {spec}")
            device_type, device_index = values[0], None if values[1] == "*" else int(values[1])
        DeviceSpec.__init__(self, job, replica, task, device_type, device_index)
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes over the parts that ``dev`` names."""
        for part in _PARTS:
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """A new name: this one, with the parts that ``dev`` names."""
        return self.replace(**{part: value for part in _PARTS if (value := getattr(dev, part)) is not None})

    def replace(self, **parts: Any) -> DeviceSpec:
        """A new name: this one, with other parts."""
        return DeviceSpec(**{part: getattr(self, part) for part in _PARTS} | parts)

    def to_string(self) -> str:
        """The canonical name."""
        parts = [f"/{key}:{value}" for key, value in (("job", self.job), ("replica", self.replica), ("task", self.task))
                 if value is not None]
        if self.device_type is not None:
            parts.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(parts)

    def fits(self, full: DeviceSpec) -> bool:
        """True if the device ``full`` is one of those that this name may mean."""
        return all(mine is None or mine == theirs for mine, theirs in (
            (self.job, full.job), (self.replica, full.replica), (self.task, full.task),
            (self.device_type, full.device_type), (self.device_index, full.device_index)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


def canonical_name(device: Any) -> str:
    """The canonical spelling of a device name or DeviceSpec; empty for None."""
    if device is None:
        return ""
    return device.to_string() if isinstance(device, DeviceSpec) else _canonical(device)


@functools.lru_cache(maxsize=4096)
def _canonical(device: str) -> str:
    return DeviceSpec.from_string(device).to_string()


@functools.lru_cache(maxsize=4096)
def device_type(name: str) -> str | None:
    """The kind of device in a name: "CPU"; None if that part is open."""
    return DeviceSpec.from_string(name).device_type


@functools.lru_cache(maxsize=4096)
def merge(outer: str, inner: str) -> str:
    """What nested ``tf.device`` blocks mean together: the inner name, completed by the outer one.

    >>> merge("/job:ps/task:1", "/task:3/gpu:2")
    '/job:ps/task:3/device:GPU:2'
    """
    if not inner:
        return outer
    spec = DeviceSpec.from_string(outer)
    spec.merge_from(DeviceSpec.from_string(inner))
    return spec.to_string()


def merge_device(spec: Any) -> Callable[[Any], str]:
    """A device function that completes what an op already has by ``spec``, as replica setters use it."""
    name = canonical_name(spec)
    return lambda op: merge(name, canonical_name(op.device))


def check_valid(spec: str) -> None:
    """ValueError if a device name is malformed."""
    DeviceSpec.from_string(spec)
