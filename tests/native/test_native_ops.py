"""Every op that can be native, from the example table: native code against the NumPy kernels, through a session."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.native.config import config
from penstock.native.regions import forming as regions
from support import build
from support.build import Call
from support.compare import difference
from support.examples import EXAMPLES, Example, load
from support.plans import regions_of

load()


def _native(name: str) -> bool:
    definition = REGISTRY[name]
    return definition.native is not None or (definition.lower is not None and (definition.elementwise or bool(definition.updates)))


OPS = sorted(name for name, definition in REGISTRY.items() if definition.__module__.startswith("penstock.") and _native(name))
CASES = [example for name in OPS for example in EXAMPLES.get(name, ()) if example.run and example.exact]


def fed_floats(array: np.ndarray) -> Any:
    """Integers, which may be axes and shapes, as constants; the rest fed."""
    small = array.size <= (16 if array.dtype.kind in "iu" else 4 if array.dtype.kind == "b" else 0)
    return build.as_constant(array) if small else build.as_known(array)


@pytest.fixture(autouse=True)
def even_one_node(monkeypatch):
    """A region of one node is a region, also if that node only gives another view."""
    monkeypatch.setattr(regions, "_FEWEST", 1)
    monkeypatch.setattr(regions, "_computes", lambda node: True)


def results(example: Example, source: Any, mode: str, monkeypatch: Any) -> tuple[list[Any], bool]:
    """The outputs and the variables afterwards; and whether the op was native."""
    monkeypatch.setattr(config, "mode", mode)
    with Graph().as_default() as graph:
        call = Call(example, source)
        reads = [REGISTRY["ReadVariableOp"](state, dtype=call.op.graph and state._handle_data[0]) if state.dtype.name == "resource" else
                 REGISTRY["Identity"](state) for state in call._states.values()]
    with build.session(graph) as running:
        found = call.run(running)
        found += running.run(reads) if reads else []
        return found, any(map(_holds, regions_of(running)))


def _holds(region: Any) -> bool:
    return "op" not in region.fallbacks and any(node.name == "op" for node in region.body.nodes) and bool(region._ready)


@pytest.mark.parametrize("example", CASES, ids=[example.label for example in CASES])
def test_native_code_agrees_with_kernel(example, monkeypatch):
    for source in (fed_floats, build.as_known) if example.unknown else (fed_floats,):
        wanted, _ = results(example, source, "off", monkeypatch)
        found, _ = results(example, source, "eager", monkeypatch)
        for index, (a, b) in enumerate(zip(found, wanted)):
            problem = difference(a, b)
            assert problem is None, f"{example.label}, output {index}: {problem}"
            assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.nightly
@pytest.mark.parametrize("each_isa", ["avx2"], indirect=True)
@pytest.mark.parametrize("example", CASES, ids=[example.label for example in CASES])
def test_native_code_for_avx2_agrees_with_kernel(example, each_isa, monkeypatch):
    test_native_code_agrees_with_kernel(example, monkeypatch)


@pytest.mark.parametrize("op_type", [name for name in OPS if REGISTRY[name].native is not None])
def test_some_example_is_native(op_type, monkeypatch):
    """An op that says it can be native is, for at least one of its examples."""
    examples = [example for example in CASES if example.op_type == op_type]
    if examples and not any(results(example, source, "eager", monkeypatch)[1] for example in examples for source in (fed_floats, build.as_known)):
        pytest.fail(f"op {op_type} has a native form, but none of its {len(examples)} examples runs natively", pytrace=False)
