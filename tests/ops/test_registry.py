"""Every registered op, checked from the example table (``tests/ops/examples``, ``support/examples.py``).

Per op: it has an example, and says how it is differentiated. Per example: the shape function against the result, with everything, with a part
and with nothing known; types; kernels leave their inputs alone; GraphDef round trip; ``lower`` against the kernel; symbolic against numeric
gradients to second order.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from support import build, casting, gradcheck
from support.build import Call
from support.compare import difference
from support.examples import EXAMPLES, LOAD_ERRORS, Example, load
from support.numpy_builder import NumpyBuilder

load()
OPS = sorted(name for name, definition in REGISTRY.items() if definition.__module__.startswith("penstock."))
KNOWN = [example for name in OPS for example in EXAMPLES.get(name, ())]
RUNNABLE = [example for example in KNOWN if example.run]


def per_example(examples: list[Example]) -> Any:
    return pytest.mark.parametrize("example", examples, ids=[example.label for example in examples])


def test_example_files_load():
    assert not LOAD_ERRORS, {name: repr(error) for name, error in LOAD_ERRORS.items()}


def test_examples_are_of_registered_ops():
    unknown = sorted(set(EXAMPLES) - set(REGISTRY))
    assert not unknown, f"examples of ops that are not registered: {unknown}"


@pytest.mark.parametrize("op_type", OPS)
def test_has_example(op_type):
    if op_type not in EXAMPLES:
        pytest.fail(f"op {op_type} ({REGISTRY[op_type].__module__}) has no example in tests/ops/examples", pytrace=False)


@pytest.mark.parametrize("op_type", OPS)
def test_says_how_it_is_differentiated(op_type):
    definition = REGISTRY[op_type]
    takes_floats = any(_may_be_float(definition, arg) for arg in definition.inputs)
    assert definition.has_gradient or not takes_floats, \
        f"op {op_type} takes floats: give it a `gradient`, or `gradient = None` if it is not differentiable"


def _may_be_float(definition: Any, arg: Any) -> bool:
    if arg.dtype is not None:
        return arg.dtype.is_floating or arg.dtype.is_complex
    allowed = definition.attrs[arg.type_attr or arg.type_list_attr].allowed
    return allowed is None or any(dtype.is_floating or dtype.is_complex for dtype in allowed)


@per_example([example for example in KNOWN if not example.run])
def test_builds(example):
    with Graph().as_default():
        Call(example, build.as_constant)


@per_example(RUNNABLE)
def test_shapes_and_types(example):
    """The result has the type and a shape that the graph promised, whatever was known of the inputs; inputs keep their values."""
    sources = [build.as_constant, build.as_partly_known, build.as_unknown] if example.unknown else [build.as_constant]
    with Graph().as_default() as graph:
        calls = [Call(example, source) for source in sources]
    with build.session(graph) as running:
        values = [call.run(running) for call in calls]
    for call, source, results in zip(calls, sources, values):
        for tensor, result in zip(build.fetchable(call.outputs), results):
            where = f"{example.label}, output {tensor.value_index}, inputs {source.__name__.replace('_', ' ')}"
            result = np.asarray(result, object) if isinstance(result, bytes) else np.asarray(result)
            assert result.dtype == tensor.dtype.base_dtype.np, f"{where}: {result.dtype}, but the graph says {tensor.dtype.name}"
            assert tensor.shape.is_compatible_with(result.shape), f"{where}: shape {result.shape}, but the graph says {tensor.shape}"
    if not example.dynamic:
        unclear = [str(tensor.shape) for tensor in calls[0].outputs if not tensor.shape.is_fully_defined()]
        assert not unclear, f"{example.label}: constant inputs, but the output's shape is {unclear} (dynamic=True if it depends on values)"
    if example.exact:
        _assert_same(example, values[0], *values[1:])


def _assert_same(example: Example, wanted: list[Any], *others: list[Any]) -> None:
    for other in others:
        for index, (a, b) in enumerate(zip(other, wanted)):
            problem = difference(a, b)
            assert problem is None, f"{example.label}, output {index}: {problem}"


@per_example([example for example in RUNNABLE if example.unknown])
def test_inputs_are_not_written(example):
    with Graph().as_default() as graph:
        call = Call(example, build.as_known)
    feeds = call.feeds()
    before = {tensor: array.copy() for tensor, array in feeds.items()}
    with build.session(graph) as running:
        call.run(running, feeds)
    for tensor, array in feeds.items():
        assert difference(array, before[tensor], rtol=0) is None, f"{example.label} changed its input {tensor.name}"


@per_example(RUNNABLE)
def test_graph_def_round_trip(example):
    from penstock.graph.graph_def import import_graph_def
    with Graph().as_default() as graph:
        call = Call(example, build.as_constant)
    graph_def = graph.as_graph_def()
    graph_def = type(graph_def).FromString(graph_def.SerializeToString())
    with Graph().as_default() as copy:
        import_graph_def(graph_def, name="copy")
    again = copy.get_operation_by_name(f"copy/{call.op.name}")
    outputs = again.outputs[:len(call.outputs)]  # an op of our own is written as one of TensorFlow's, which may have more
    assert [t.dtype for t in outputs] == [t.dtype for t in call.outputs]
    if again.type == call.op.type:
        assert [str(t.shape) for t in outputs] == [str(t.shape) for t in call.outputs], f"{example.label}: shapes change in a round trip"
    setup = [copy.get_operation_by_name(f"copy/{op.name}") for op in call.setup]
    with build.session(graph) as running, build.session(copy) as running_copy:
        wanted = call.run(running)
        found = build.run_from_state(running_copy, setup, build.fetchable(outputs), {}, again)
    if example.exact:
        _assert_same(example, wanted, found)


@per_example([EXAMPLES[name][0] for name in OPS if name in EXAMPLES and EXAMPLES[name][0].run])
def test_every_allowed_type(example):
    """The op runs with every type that its signature allows, and agrees with itself in the widest one."""
    problems = casting.check(example)
    assert not problems, "\n".join(problems)


@per_example([example for example in RUNNABLE if REGISTRY[example.op_type].lower is not None and REGISTRY[example.op_type].elementwise])
def test_lowering_agrees_with_kernel(example):
    definition = REGISTRY[example.op_type]
    for variant in [example, *casting.narrow_floats(example)]:
        with Graph().as_default():
            call = Call(variant, build.as_constant)
        arrays = [items[0] for items in call.arrays] if all(len(i) == 1 for i in call.arrays) else call.arrays
        flat = [array for items in call.arrays for array in items]
        getters = definition.parameters_of(definition.lower)
        with np.errstate(all="ignore"):
            lowered = definition.lower(*[NumpyBuilder() if g == "b" else arrays[g] if isinstance(g, int) else call.op.attrs[g] for g in getters])
            wanted = definition.bind(call.op, None)(*flat)
        for index, (a, b) in enumerate(zip(_outputs(lowered), _outputs(wanted))):
            b = np.asarray(b)
            a = np.asarray(a)
            a = np.broadcast_to(a.astype(b.dtype) if not isinstance(lowered, np.ndarray) else a, b.shape)
            assert a.dtype == b.dtype, f"{variant.label}, output {index}: `lower` gives {a.dtype}, the kernel {b.dtype}"
            problem = difference(a, b)
            assert problem is None, f"{variant.label} ({b.dtype}), output {index}: `lower` and kernel disagree: {problem}"


def _outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _differentiable(example: Example) -> bool:
    definition = REGISTRY[example.op_type]
    return example.grad and definition.has_gradient and definition.gradient is not None


@per_example([example for example in RUNNABLE if _differentiable(example)])
def test_gradient(example):
    gradcheck.check(example)
