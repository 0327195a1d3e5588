"""The switches of ``tf.contrib.eager``, and tests that run in both modes."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.data.iterator import EagerIterator
from penstock.graph.graph import Graph, default_graph
from penstock.imperative.context import ASYNC, SYNC, eager_graph, ensure_eager_graph
from penstock.imperative.eager_graph import EagerGraph
from penstock.program.devices import local_devices


class Iterator_(EagerIterator):
    """``tfe.Iterator(dataset)``: goes over a dataset."""

    def __init__(self, dataset: Any) -> None:
        if not default_graph().imperative:
            raise RuntimeError("tf.contrib.eager.Iterator objects should not be instantiated inside graphs: use dataset.make_one_shot_iterator().")
        super().__init__(dataset)


def list_devices() -> list[str]:
    """The names of the devices."""
    return [device.name for device in local_devices(None)]


def num_gpus() -> int:
    """How many of the devices are GPUs."""
    return sum(device.device_type == "GPU" for device in local_devices(None))


def in_eager_mode() -> bool:
    """Do operations give values?"""
    return default_graph().imperative


def set_execution_mode(mode: int | None) -> None:
    """SYNC or ASYNC: changes nothing, since values are computed when they are looked at."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")


@contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """``set_execution_mode`` for a ``with`` block."""
    set_execution_mode(mode)
    yield


def async_wait() -> None:
    """Computes what was called and not looked at yet; its errors come here."""
    eager_graph().flush()


def async_clear_error() -> None:
    """Nothing is left of an error after it was raised."""


def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """The variables of an optimizer."""
    variables: list[Any] = optimizer.variables()
    return variables


def run_test_in_graph_and_eager_modes(func: Callable[..., Any] | None = None, config: Any = None, use_gpu: bool = True, reset_test: bool = True,
                                      assert_no_eager_garbage: bool = False) -> Any:
    """Decorates a test method: it runs in a graph with a session, and again in imperative style."""
    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            with Graph().as_default(), self.test_session(use_gpu=use_gpu, config=config):
                test(self, *args, **kwargs)
            if reset_test:
                self.tearDown()
                self._tempdir = None
                self.setUp()
            graph: EagerGraph = ensure_eager_graph()
            with graph.as_default():
                test(self, *args, **kwargs)
        return decorated

    return decorate if func is None else decorate(func)


def run_all_tests_in_graph_and_eager_modes(cls: Any) -> Any:
    """``run_test_in_graph_and_eager_modes`` for all test methods of a class."""
    for name, value in list(vars(cls).items()):
        if callable(value) and name.startswith("test") and name != "test_session":
            setattr(cls, name, run_test_in_graph_and_eager_modes(value))
    return cls
