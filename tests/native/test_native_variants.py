"""Every op that can be native, over types, ranks, broadcasts, odd sizes and arrays without elements: native code against the NumPy kernels.

The variants of an op are made of its examples (``support/variants.py``); those that its NumPy kernel refuses are left out. An op must have some of
each kind, or stand in a table below.
"""
from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.errors import KernelError, OpError
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.native.config import config
from penstock.native.regions import forming as regions
from support import build
from support.build import Call
from support.compare import difference
from support.examples import EXAMPLES, Example, load
from support.variants import in_shapes, in_sizes, in_types, is_empty

load()
MOST = 2  # examples per op, of which variants are made


def can_be_native(name: str) -> bool:
    """As ``regions.why_not_native`` sees it, whatever the types."""
    it = REGISTRY[name]
    return it.__module__.startswith("penstock.") and bool(it.native or it.reduces or it.keeps_order or it.broadcasts or it.compose or
                                                          (it.lower and (it.elementwise or it.updates)))


OPS = sorted(name for name in REGISTRY if can_be_native(name))
NO_EXAMPLE = {
    **dict.fromkeys(("If", "StatelessIf", "While", "StatelessWhile"), "it calls functions: test_flow.py, test_loops.py"),
    **dict.fromkeys(("EmptyTensorList", "TensorListPushBack", "TensorListPopBack"), "it handles a list: test_loops.py"),
    **dict.fromkeys(("_DrawNormal", "_DrawTruncated", "_DrawUniform", "_DrawUniformInt"), "it takes a generator: test_randomness.py"),
    "_Refuse": "it is a part of divisions: test_integers.py"}
# Ops whose inputs hang together so that changing one extent everywhere makes no sense of them. Their own tests have other sizes.
RIGID = {"AccumulateNV2", "BatchToSpace", "BroadcastTo", "Dequantize", "MirrorPad", "MirrorPadGrad", "ParallelConcat", "QuantizedAvgPool",
         "QuantizedBiasAdd", "QuantizedConcat", "QuantizedConv2D", "QuantizedMatMul", "QuantizedMaxPool", "QuantizedRelu", "QuantizedRelu6",
         "QuantizedReluX", "QuantizedReshape", "RequantizationRange", "Requantize", "ResizeNearestNeighborGrad", "ResourceScatterNdAdd",
         "ResourceScatterNdSub", "ResourceScatterNdUpdate", "ResourceStridedSliceAssign", "ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate",
         "SparseToDense", "StridedSliceAssign", "StridedSliceGrad", "TensorArrayGatherV3", "TensorArrayGradV3", "TensorArrayReadV3",
         "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArrayV3", "TensorArrayWriteV3", "TensorScatterAdd"}
SORTED = {"LowerBound", "UpperBound"}  # of numbers in ascending order, which they are no more if they are repeated


def fed(array: np.ndarray) -> Any:
    """Integers, which may be axes and shapes, as constants; the rest fed."""
    small = array.size <= (20 if array.dtype.kind in "iu" else 4 if array.dtype.kind == "b" else 0)
    return build.as_constant(array) if small and array.ndim < 2 else build.as_known(array)


def candidates(name: str) -> list[Example]:
    """Variants, whether or not they make sense."""
    found: list[Example] = []
    for example in [example for example in EXAMPLES.get(name, ()) if example.run and example.exact][:MOST]:
        typed = [*in_types(example)]
        usual = next((each for each in typed if each.label.endswith("=float32")), example)
        found += [example, *typed, *(in_shapes(usual) if REGISTRY[name].elementwise else ()), *in_sizes(usual)]
    return [example for example in found if not (name in SORTED and "->17" in example.label)]


def _has_builders(example: Example) -> bool:
    """Are there inputs that are built as tensors, alone or in lists?"""
    return any(map(callable, itertools.chain.from_iterable(each if isinstance(each, list) else [each] for each in example.inputs)))


def accepted(example: Example) -> list[Any] | None:
    """What NumPy gives: the outputs and the variables afterwards; None if it refuses."""
    definition = REGISTRY[example.op_type]
    try:
        with Graph().as_default() as graph:
            call = Call(example, fed)
            reads = read(call)
        if definition.stateful or _has_builders(example) or "ctx" in definition._kernel_parameters:
            with build.session(graph) as running:
                return [*call.run(running), *running.run(reads)]
        with np.errstate(all="ignore"):
            results = definition.bind(call.op, None)(*[array for arrays in call.arrays for array in arrays])
        return list(results) if isinstance(results, (tuple, list)) else [results]
    except (OpError, KernelError, ValueError, TypeError, IndexError, ArithmeticError, MemoryError):
        return None


def read(call: Call) -> list[Any]:
    return [REGISTRY["ReadVariableOp"](state, dtype=state._handle_data[0]) if state.dtype.name == "resource" else REGISTRY["Identity"](state)
            for state in call._states.values()]


@functools.cache
def variants(name: str) -> list[tuple[Example, list[Any]]]:
    """Those that NumPy accepts, with what it gives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "mode", "off")
        return [(example, wanted) for example in candidates(name) if (wanted := accepted(example)) is not None]


@pytest.mark.parametrize("name", OPS)
def test_variants(name, monkeypatch):
    """All variants of an op in one step."""
    monkeypatch.setattr(regions, "_FEWEST", 1)
    monkeypatch.setattr(regions, "_computes", lambda node: True)
    cases = variants(name)
    if not cases:
        pytest.skip(NO_EXAMPLE[name])
    with Graph().as_default() as graph:
        calls = [Call(example, fed) for example, _ in cases]
        reads = [read(call) for call in calls]
    feeds = {tensor: value for call in calls for tensor, value in call.feeds().items()}
    with build.session(graph) as running:
        running.run([op for call in calls for op in call.setup])
        outputs = running.run([[build.fetchable(call.outputs), call.op] for call in calls], feeds)
        states = running.run(reads)
    problems = []
    for (example, wanted), (found, _), state in zip(cases, outputs, states):
        for index, (one, other) in enumerate(zip([*found, *state], wanted)):
            problem = difference(one, other)
            if problem is not None or np.asarray(one).dtype != np.asarray(other).dtype:
                problems.append(f"{example.label}, output {index}: {problem}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", OPS)
def test_variants_of_all_kinds(name):
    """There is an example; some variant has no elements, some is of an odd size, and each float type that the op takes occurs."""
    labels = {example.label for example, _ in variants(name)}
    assert bool(labels) != (name in NO_EXAMPLE), "no example runs" if not labels else "there is an example"
    if name in NO_EXAMPLE:
        return
    assert name in RIGID or any(is_empty(example) for example, _ in variants(name)), "no variant has an input without elements"
    assert name in RIGID | SORTED or any("->17" in label or "(33,)" in label for label in labels), "no variant has an odd size"
