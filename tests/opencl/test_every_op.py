"""Every op that can be native, from the example table: kernels of OpenCL C against the NumPy kernels. Many examples share a step."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
import penstock.ops
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.native.config import config
from support import build
from support.build import Call
from support.compare import difference
from support.examples import EXAMPLES, Example, load
from support.plans import regions_of

pytestmark = pytest.mark.process
load()
_TOGETHER = 60  # examples in a step


def _native(name: str) -> bool:
    definition = REGISTRY[name]
    return definition.native is not None or definition.compose is not None or (
        definition.lower is not None and (definition.elementwise or bool(definition.updates)))


OPS = sorted(name for name, definition in REGISTRY.items() if definition.__module__.startswith("penstock.") and _native(name))
CASES = [example for name in OPS for example in EXAMPLES.get(name, ()) if example.run and example.exact and not name.startswith("_")]
FIRST = [example for index, example in enumerate(CASES) if not index or CASES[index - 1].op_type != example.op_type]


def _chunks(examples: list[Example]) -> list[Any]:
    chunks = [examples[start:start + _TOGETHER] for start in range(0, len(examples), _TOGETHER)]
    return [pytest.param(chunk, id=f"{chunk[0].op_type}..{chunk[-1].op_type}") for chunk in chunks]


def _fed_floats(array: np.ndarray) -> Any:
    """Integers, which may be axes and shapes, as constants; the rest fed."""
    small = array.size <= (16 if array.dtype.kind in "iu" else 4 if array.dtype.kind == "b" else 0)
    return build.as_constant(array) if small else build.as_known(array)


def _results(examples: list[Example], settings: Any) -> tuple[list[list[Any]], list[Any]]:
    """The outputs of each example, and the regions of the session."""
    with Graph().as_default() as graph:
        calls = []
        for index, example in enumerate(examples):
            with tf.name_scope(f"case{index}"), tf.variable_scope(f"case{index}"):
                calls.append(Call(example, _fed_floats))
    feeds = {tensor: array for call in calls for tensor, array in call.feeds().items()}
    with tf.Session(graph=graph, config=settings) as running:
        setup = [op for call in calls for op in call.setup]
        if setup:
            running.run(setup)
        found = running.run([[build.fetchable(call.outputs), call.op] for call in calls], feeds)
        return [outputs for outputs, _ in found], regions_of(running)


@pytest.mark.parametrize("chunk", _chunks(FIRST))
def test_kernels_agree_with_numpy(chunk, opencl, monkeypatch):
    _check(chunk, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", _chunks(CASES))
def test_both_kinds_of_kernels_agree_with_numpy_on_all_examples(chunk, kernels, monkeypatch):
    _check(chunk, monkeypatch)


def _check(chunk: list[Example], monkeypatch: Any) -> None:
    monkeypatch.setattr(config, "mode", "off")
    soft = dict(allow_soft_placement=True)
    wanted, _ = _results(chunk, tf.ConfigProto(device_count={"GPU": 0}, **soft))
    found, regions = _results(chunk, tf.ConfigProto(**soft))
    assert regions, "nothing ran on the device"
    problems = []
    for example, mine, theirs in zip(chunk, found, wanted):
        for index, (a, b) in enumerate(zip(mine, theirs)):
            problem = difference(a, b)
            if problem is not None or np.asarray(a).dtype != np.asarray(b).dtype:
                problems.append(f"{example.label}, output {index}: {problem}")
    assert not problems, "\n".join(problems)
