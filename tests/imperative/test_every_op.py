"""Every registered op, called imperatively: its values are those of a session, recorded or computed at the call."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.graph import dtypes
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from support import build
from support.build import Call
from support.compare import difference
from support.examples import Example, State, load
from support.imperative import imperative

pytestmark = pytest.mark.process

EXAMPLES = [example for name, examples in sorted(load().items()) if name in REGISTRY for example in examples[:2]]


_BY_NAME = ("IteratorFromStringHandle", "IteratorFromStringHandleV2", "DeserializeIterator")  # what they name is gone with its tensor


def _flat(inputs: Any) -> list[Any]:
    return [leaf for item in inputs for leaf in (_flat(item) if isinstance(item, (list, tuple)) else [item])]


def _can_run(example: Example) -> bool:
    """Not those on references, which imperative style does not have, nor what exists inside of graphs only."""
    definition = REGISTRY[example.op_type]
    if not example.run or not example.exact or definition.control_flow or definition.array_role or example.op_type.startswith("_"):
        return False
    if (any(arg.dtype is dtypes.resource for arg in definition.inputs) and "Iterator" in example.op_type) or example.op_type in _BY_NAME:
        return False
    on_references = any(isinstance(item, State) and not item.is_resource for item in _flat(example.inputs))
    return not on_references and not any(arg.is_ref for arg in (*definition.inputs, *definition.outputs))


@pytest.mark.parametrize("example", [example for example in EXAMPLES if _can_run(example)], ids=lambda example: example.label)
def test_values_are_those_of_a_session(example):
    with Graph().as_default() as graph:
        call = Call(example, build.as_constant)
    with build.session(graph) as running:
        wanted = call.run(running)
    for sync in (False, True):
        with imperative(sync):
            for _ in range(1 if "seed2" in REGISTRY[example.op_type].attrs else 3):  # by kernels, by the first plan, by the plan again
                called = Call(example, _value)
                values = [tensor.numpy() for tensor in build.fetchable(called.outputs)]
                for tensor, value, other in zip(build.fetchable(called.outputs), values, wanted):
                    assert difference(value, other) is None, f"{example.label}, output {tensor.value_index}: {difference(value, other)}"
                    assert tensor.shape.as_list() == list(np.shape(value)) and tensor.shape.is_fully_defined()


def _value(array: np.ndarray) -> Any:
    tensor = build.as_constant(array)
    # Identity of floats: the example's op is recorded and runs in a segment, not at its call.
    return REGISTRY["Identity"](tensor) if tensor.dtype in (dtypes.float32, dtypes.float64) else tensor
