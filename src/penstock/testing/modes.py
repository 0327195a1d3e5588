"""Decorators of ``tensorflow.python.framework.test_util``: tests that run in graphs and imperatively, and what tests ask of a mode or a device.

Libraries of TensorFlow's time test themselves with them.
"""
from __future__ import annotations

import functools
import inspect
import itertools
import unittest
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from penstock.graph.graph import default_graph, set_global_graph
from penstock.graph.scopes import device
from penstock.imperative.context import ensure_eager_graph, executing_eagerly, graph_mode
from penstock.imperative.function import function as traced_function
from penstock.ops.array.permute import transpose
from penstock.testing.local_devices import is_gpu_available

Test = Callable[..., Any]


def run_in_graph_and_eager_modes(func: Test | None = None, config: Any = None, use_gpu: bool = True, reset_test: bool = True,
                                 assert_no_eager_garbage: bool = False) -> Any:
    """A decorator of a test method: it runs in a graph with a session, and, after a new ``setUp``, imperatively."""
    def decorate(test: Test) -> Test:
        if inspect.isclass(test):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                             "`run_all_in_graph_and_eager_modes`?")

        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                with graph_mode(), self.test_session(use_gpu=use_gpu, config=config):
                    test(self, *args, **kwargs)
            except unittest.SkipTest:
                pass  # the test skips graphs, and may still run imperatively
            if reset_test:
                self.tearDown()
            with _imperative_below():
                if reset_test:
                    self.setUp()
                with nullcontext() if use_gpu else device("/device:CPU:0"):
                    test(self, *args, **kwargs)

        return decorated

    return decorate if func is None else decorate(func)


@contextmanager
def _imperative_below() -> Iterator[None]:
    """Imperative style lies below the stacks of graphs, as after ``tf.enable_eager_execution()``: ``setUp`` may ask for a new default graph."""
    graph = default_graph()
    set_global_graph(ensure_eager_graph())
    try:
        yield
    finally:
        set_global_graph(graph)


def for_all_test_methods(decorator: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[type], type]:
    """A decorator of a class of tests that decorates each of its test methods."""
    def decorate(cls: type) -> type:
        for name in unittest.defaultTestLoader.getTestCaseNames(cls):  # type: ignore[arg-type]
            setattr(cls, name, decorator(*args, **kwargs)(getattr(cls, name)))
        return cls

    return decorate


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """A decorator of a class: `run_in_graph_and_eager_modes` for each of its tests."""
    return for_all_test_methods(run_in_graph_and_eager_modes)(cls)


def run_deprecated_v1(func: Test | None = None) -> Any:
    """A decorator of a test that is written for graphs: it runs in one, whatever the style of the program."""
    def decorate(test: Test) -> Any:
        if inspect.isclass(test):
            raise ValueError("`run_deprecated_v1` only supports test methods.")

        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            with graph_mode() if executing_eagerly() else nullcontext():
                test(self, *args, **kwargs)

        return decorated

    return decorate if func is None else decorate(func)


def run_v1_only(reason: str, func: Any = None) -> Any:
    """A decorator of a test, or a class of tests, that TensorFlow 2 leaves out: it runs here."""
    if not isinstance(reason, str):
        raise ValueError(f"'reason' should be string, got {type(reason)}")
    return (lambda test: test) if func is None else func


def run_v2_only(func: Test | None = None) -> Any:
    """A decorator of a test that only TensorFlow 2 runs: it is skipped."""
    return _skipping("Test is only compatible with v2", func)


def run_gpu_only(func: Test | None = None) -> Any:
    """A decorator of a test that is skipped where there is no GPU."""
    return _skipping("Test requires GPU", func, lambda: not is_gpu_available())


def run_cuda_only(func: Test | None = None) -> Any:
    """A decorator of a test that is skipped, as there is no CUDA."""
    return _skipping("Test requires CUDA GPU", func)


def skip_if(condition: Any) -> Callable[[Test], Test]:
    """A decorator of a test that is left out if the condition, or what it returns, is true."""
    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            if not (condition() if callable(condition) else condition):
                test(self, *args, **kwargs)

        return decorated

    return decorate


def _skipping(reason: str, func: Test | None, condition: Callable[[], bool] = lambda: True) -> Any:
    def decorate(test: Test) -> Any:
        if inspect.isclass(test):
            raise ValueError(f"This decorator only supports test methods, not the class {test.__name__}.")

        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            if condition():
                self.skipTest(reason)
            test(self, *args, **kwargs)

        return decorated

    return decorate if func is None else decorate(func)


def also_run_as_tf_function(test: Test) -> Test:
    """A decorator of a test that runs once imperatively and once as a traced function; in graphs, once."""
    @functools.wraps(test)
    def decorated(*args: Any, **kwargs: Any) -> None:
        def without_result() -> None:
            test(*args, **kwargs)

        without_result()
        if executing_eagerly():
            traced_function(without_result, autograph=False)()

    return decorated


@contextmanager
def use_gpu() -> Iterator[None]:
    """Nodes of the body go to a GPU if there is one."""
    with device("/device:GPU:0") if is_gpu_available() else nullcontext():
        yield


@contextmanager
def force_gpu() -> Iterator[None]:
    """Nodes of the body go to the first GPU."""
    with device("/device:GPU:0"):
        yield


@contextmanager
def force_cpu() -> Iterator[None]:
    """Nodes of the body go to the CPU."""
    with device("/device:CPU:0"):
        yield


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """The nodes of a graph by name. ValueError if one of those expected, type by name, is not there or is of another type."""
    nodes = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, op_type in expected_ops.items():
        if name not in nodes:
            raise ValueError(f"Not all expected ops are present. Expected {sorted(expected_ops)}, found {sorted(nodes)}")
        if nodes[name].op != op_type:
            raise ValueError(f"Expected op for node {name} is different. {op_type} vs {nodes[name].op}")
    return nodes


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """The node of a GraphDef with a name; None if there is none."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def generate_combinations_with_testcase_name(**kwargs: Iterable[Any]) -> list[OrderedDict[str, Any]]:
    """All combinations of the values, for parameterized tests, each with a ``testcase_name`` made of them."""
    combined = []
    for values in itertools.product(*kwargs.values()):
        case = OrderedDict(zip(kwargs, values, strict=True))
        name = "".join(f"_{''.join(filter(str.isalnum, key))}_{''.join(filter(str.isalnum, str(value)))}" for key, value in case.items())
        combined.append(OrderedDict([*case.items(), ("testcase_name", f"_test{name}")]))
    repeated = {name for name, count in Counter(case["testcase_name"] for case in combined).items() if count > 1}
    for number, case in enumerate(combined):
        if case["testcase_name"] in repeated:
            case["testcase_name"] += f"_{number}"
    return combined


# --- shapes and values of images in other orders of axes ------------------------------------------------------------------------------------------

def nhwc_to_nchw(value: Any) -> Any:
    """A shape given as a list, or a tensor, of 4 or 5 axes, with the channels second."""
    return _reordered(value, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def nchw_to_nhwc(value: Any) -> Any:
    """A shape given as a list, or a tensor, of 4 or 5 axes, with the channels last."""
    return _reordered(value, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def _reordered(value: Any, orders: dict[int, list[int]]) -> Any:
    if isinstance(value, (list, tuple)):
        return [value[axis] for axis in orders[len(value)]]
    return transpose(value, orders[value.shape.ndims])
