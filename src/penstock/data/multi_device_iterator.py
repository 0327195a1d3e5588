"""``tensorflow.python.data.ops.multi_device_iterator_ops``: one pass over a dataset that deals its elements out to several devices in turn."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.data.dataset import Dataset
from penstock.graph.nest import flatten
from penstock.graph.node import Operation
from penstock.graph.scopes import control_dependencies, device


class MultiDeviceIterator:
    """Gives the first of ``devices`` the elements 0, n, 2n, ..., the second 1, n + 1, ...

    The elements of a step are taken one after the other, so a step that asks for the element of one device takes those of the devices before it, too.
    """

    def __init__(self, dataset: Dataset, devices: Sequence[str], max_buffer_size: int = 1, prefetch_buffer_size: int = 1,
                 source_device: str = "/cpu:0") -> None:
        if not devices:
            raise ValueError("A MultiDeviceIterator needs one device at least.")
        self._devices = list(devices)
        with device(source_device):
            self._iterator = dataset.prefetch(max(max_buffer_size, 1)).make_initializable_iterator()

    @property
    def initializer(self) -> Operation:
        """The operation that begins at the first element."""
        return self._iterator.initializer

    @property
    def element_spec(self) -> Any:
        """The types and shapes of an element."""
        return self._iterator.element_spec

    def get_next(self, device: str | None = None) -> Any:
        """A list of the next elements, one for each device; with ``device``, the element of that one."""
        if device is not None and device not in self._devices:
            raise ValueError(f"{device} is not among the devices {self._devices}.")
        elements: list[Any] = []
        for name in self._devices:
            elements.append(self._next_on(name, elements))
        return elements if device is None else elements[self._devices.index(device)]

    def _next_on(self, name: str, before: list[Any]) -> Any:
        with device(name), control_dependencies([tensor.op for tensor in flatten(before[-1:])]):
            return self._iterator.get_next()
