"""``tensorflow.python.eager.context.context()``: what programs ask of TensorFlow's inner state of imperative style."""
from __future__ import annotations

from contextlib import AbstractContextManager

from penstock.contrib.eager.modes import list_devices, num_gpus
from penstock.graph.graph import default_graph
from penstock.graph.scopes import device
from penstock.imperative.context import SYNC, enable_eager_execution, executing_eagerly
from penstock.testing import case


class EagerContext:
    """The answers to ``context.context().num_gpus()`` and the like."""

    def executing_eagerly(self) -> bool:
        """Do operations give values here?"""
        return executing_eagerly()

    in_eager_mode = executing_eagerly

    def in_graph_mode(self) -> bool:
        """Do operations belong to a graph here?"""
        return not executing_eagerly()

    def num_gpus(self) -> int:
        """How many GPUs this process has."""
        return num_gpus()

    def devices(self) -> list[str]:
        """The names of the devices."""
        return list_devices()

    def device(self, name: str) -> AbstractContextManager[None]:
        """``tf.device``."""
        return device(name)

    @property
    def device_name(self) -> str | None:
        """The device that ``tf.device`` asks for here; None if there is no such block."""
        devices = [name for name in default_graph()._state.devices if isinstance(name, str)]
        return devices[-1] if devices else None

    @property
    def execution_mode(self) -> int:
        """SYNC: an error comes no later than a value."""
        return SYNC


_context = EagerContext()


def context() -> EagerContext:
    """The one context."""
    return _context


def test_main(argv: list[str] | None = None) -> None:
    """``tensorflow.python.eager.test.main``: the tests of a program in imperative style."""
    enable_eager_execution()
    case.main(argv)
