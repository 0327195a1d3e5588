"""Random programs (``support/random_programs.py``), native with all passes against NumPy with none.

The arena has guards behind every buffer, outputs have them on both sides. What may differ is rounding, and how much that is is measured for each
program: see ``support/rounding.py``.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.execute import device_plan, region, regions
from penstock.native.config import config
from penstock.native.table import arena
from penstock.native.table.instance import Instance
from support.native import guarded, untouched
from support.random_updates import Training
from support.rounding import SAMPLES, Rounding, unexplained

pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # of the gradient of a gather


def outcome(seed: int, native: bool, rounded: Callable[[np.ndarray], np.ndarray] = np.asarray) -> list[Any]:
    """What the program of this seed gives in its second step, and its variables after it."""
    settings = tf.ConfigProto(intra_op_parallelism_threads=1 + seed % 3)
    if not native:
        settings.graph_options.optimizer_options.opt_level = -1
    with tf.Graph().as_default():
        program = Training(seed, rounded)
        for _ in range(program.random.randint(3, 25)):
            program.grow()
        fetched = program.random.sample(program.pool, min(len(program.pool), 6))
        with tf.control_dependencies(fetched):
            updates = program.updates()
        with tf.Session(config=settings) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                results = session.run(fetched, program.feeds)
                session.run(updates, program.feeds)
            return [*results, *session.run(tf.global_variables())]


def problem(seed: int, monkeypatch: Any) -> str | None:
    """What is wrong with the native program of a seed."""
    memories: list[np.ndarray] = []

    def with_guards(shape: Any, dtype: Any) -> np.ndarray:
        array, memory = guarded(shape, dtype)
        memories.append(memory)
        return array

    with monkeypatch.context() as patch:
        patch.setattr(region, "empty", with_guards)
        patch.setattr(arena, "GUARD", 128 if seed % 2 else 0)
        found = outcome(seed, native=True)
    if not all(map(untouched, memories)):
        return "something was written outside of an output"
    with monkeypatch.context() as patch:
        patch.setattr(config, "mode", "off")
        wanted = outcome(seed, native=False)
        return unexplained(found, wanted, (_rounded(seed, number, monkeypatch) for number in range(SAMPLES)))


def _rounded(seed: int, number: int, monkeypatch: Any) -> list[Any]:
    with monkeypatch.context() as patch:
        rounding = Rounding(number)
        patch.setattr(device_plan, "kernel_of", rounding.kernel_of)
        return outcome(seed, False, rounding)


@pytest.fixture(autouse=True)
def watched_arena(monkeypatch):
    """Every run looks at the guards of its arena."""
    run = Instance.run

    def watched(self: Any, arrays: Any, between: Any) -> int:
        failed = run(self, arrays, between)
        assert not (arena.GUARD and self.overrun()), "a kernel wrote beyond the end of a buffer"
        return failed

    monkeypatch.setattr(Instance, "run", watched)


def check(seeds: range, monkeypatch: Any) -> None:
    """All programs of these seeds."""
    problems = {seed: text for seed in seeds if (text := problem(seed, monkeypatch)) is not None}
    assert not problems, "\n".join(f"seed {seed}: {text}" for seed, text in problems.items())


@pytest.mark.parametrize("start", range(0, 200, 25))
def test_random_programs(start, monkeypatch):
    check(range(start, start + 25), monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("start", [200, *range(1000, 6000, 100)])
def test_many_random_programs(start, monkeypatch):
    check(range(start, start + 100), monkeypatch)


@pytest.fixture
def split(monkeypatch):
    """Every region is split into some of its nodes and the others, as if their shapes changed; those that come of it stay whole. How many were."""
    make, begin, inside, found = regions.Interpretation.__init__, region.RegionRun.__init__, [], []

    def interpretation(self: Any, *args: Any) -> None:
        inside.append(self)
        try:
            make(self, *args)
        finally:
            inside.pop()

    def run(self: Any, body: Any, *rest: Any) -> None:
        begin(self, body, *rest)
        names = [node.name for node in body.nodes]
        chosen = random.Random(" ".join(names))
        share = chosen.choice([0.1, 0.3, 0.5])
        self._apart = () if inside else {name for name in names if chosen.random() < share}
        found.extend([self] if self._apart else [])

    monkeypatch.setattr(regions.Interpretation, "__init__", interpretation)
    monkeypatch.setattr(region.RegionRun, "__init__", run)
    return found


def test_random_programs_whose_regions_are_split(split, monkeypatch):
    check(range(400, 425), monkeypatch)
    assert len(split) > 25


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(6000, 7000, 100))
def test_many_random_programs_whose_regions_are_split(start, split, monkeypatch):
    check(range(start, start + 100), monkeypatch)


@pytest.mark.parametrize("op_type, mistake", [
    ("Square", lambda y: y * 1.001), ("Transpose", lambda y: y[::-1]), ("Conv2D", lambda y: y * 1.01), ("Sum", lambda y: y + 0.01),
    ("GatherV2", lambda y: np.roll(y, 1))])
def test_mistakes_are_found(op_type, mistake, monkeypatch):
    """What is tolerated does not hide an op whose kernel and native code differ."""
    kernel_of = device_plan.kernel_of

    def mistaken(node: Any, environment: Any) -> Any:
        kernel = kernel_of(node, environment)
        floats = node.definition.type == op_type and node.output_dtypes[0] in (tf.float32, tf.float64)
        return (lambda *inputs: mistake(np.asarray(kernel(*inputs))).astype(node.output_dtypes[0].np)) if floats else kernel

    monkeypatch.setattr(device_plan, "kernel_of", mistaken)
    assert any(problem(seed, monkeypatch) for seed in range(60))
