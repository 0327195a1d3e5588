"""Runs of regions before there is native code for them."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute import region
from penstock.native.config import config
from penstock.native.table import patience
from penstock.ops.random import distributions, random

pytestmark = pytest.mark.process


def _initial_values(mode: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(config, "mode", mode)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(tf.random_normal([40, 50], 0.7, 0.13, seed=1))
        session.run(tf.global_variables_initializer())
        return session.run(v).tobytes()


@pytest.mark.parametrize(("many", "by_numpy"), [(2000, False), (2001, True)])
def test_variables_with_many_random_numbers_begin_natively(many, by_numpy, monkeypatch):
    wanted, runs, kernel = _initial_values("off", monkeypatch), [], distributions.normal

    def count(*arguments):
        runs.append(1)
        return kernel(*arguments)
    for namespace in (distributions, random.DrawNormal):
        for name in [name for name, value in vars(namespace).items() if value is kernel]:
            monkeypatch.setattr(namespace, name, count)
    monkeypatch.setattr(region, "_MANY", many)
    assert _initial_values("background", monkeypatch) == wanted
    assert bool(runs) == by_numpy


def test_what_a_region_is_given_does_not_depend_on_who_ran_the_one_before(monkeypatch):
    """A small region that NumPy runs for a while gives a number to a large one, which is native at once. When the small one becomes native as well,
    the large one must not be taken for a new one, with other inputs."""
    monkeypatch.setattr(config, "mode", "background")
    monkeypatch.setattr(patience, "SHARE", 0.0002)
    specialise, made = region.RegionRun._specialise, []

    def note(self, signature, arrays):
        made.append([kind.__name__ for kind, *_ in signature])
        return specialise(self, signature, arrays)
    monkeypatch.setattr(region.RegionRun, "_specialise", note)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [8])
        total = tf.reduce_sum(x * 2.0)
        echo = tf.py_func(lambda value: value, [total], tf.float32)
        echo.set_shape([])
        square = tf.fill([400, 400], echo)
        product = tf.reduce_mean(tf.matmul(square, square + 1.0) * total)
        values = {float(session.run(product, {x: np.ones(8, np.float32)})) for _ in range(60)}
    assert len(made) == 2 and values == {400 * 16.0 * 17.0 * 16.0}, made


CHANGING = [7 * turn % 41 + 1 for turn in range(40)]
AROUND_A_MEAN = [int(length) for length in np.random.RandomState(3).binomial(32, 0.5, 60)]  # rows of a batch on one of two shards


def _sums(mode: str, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], list[list[str]], list[str]]:
    """Sums over a tower of products and over so many rows, in one region; the nodes of what became native; and those that were set apart."""
    monkeypatch.setattr(config, "mode", mode)
    monkeypatch.setattr(patience, "SHARE", 0.0002)
    made: list[list[str]] = []
    apart: list[str] = []
    specialise, split = region.RegionRun._specialise, region.RegionRun._split
    monkeypatch.setattr(region.RegionRun, "_specialise",
                        lambda self, *rest: (made.append([node.name for node in self.body.nodes]), specialise(self, *rest))[1])
    monkeypatch.setattr(region.RegionRun, "_split", lambda self, names: (apart.extend(names), split(self, names))[1])
    random = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        x, rows = tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [None, 64])
        layer = x
        for number in range(6):
            layer = tf.tanh(tf.matmul(layer, x), name=f"layer_{number}")
        picked = tf.reduce_sum(tf.exp(rows, name="picked"))
        total = tf.reduce_sum(layer) + picked + tf.reduce_sum(tf.matmul(x * picked, layer, name="behind"))
        feeds = ({x: random.randn(64, 64) / 8, rows: random.randn(length, 64)} for length in lengths)
        return [float(session.run(total, feed)) for feed in feeds], made, apart


@pytest.mark.parametrize("lengths", [CHANGING, AROUND_A_MEAN], ids=["any", "around a mean"])
def test_a_region_is_split_if_the_shapes_of_few_nodes_change(lengths, monkeypatch):
    with monkeypatch.context() as context:
        expected, _, _ = _sums("off", lengths, context)
    values, made, apart = _sums("background", lengths, monkeypatch)
    np.testing.assert_allclose(values, expected, rtol=1e-3)
    assert "picked" in apart and not any(name.startswith(("layer", "behind")) for name in apart), apart
    split = made[next(number for number, nodes in enumerate(made) if "picked" not in nodes or "layer_5" not in nodes):]
    assert any("layer_5" in nodes for nodes in split) and any("behind" in nodes for nodes in split), made
    assert not any("picked" in nodes and {"layer_5", "behind"} & set(nodes) for nodes in split), made


def test_nodes_that_were_set_apart_may_become_native(monkeypatch):
    """Their shapes change for a while only."""
    _, made, apart = _sums("background", [*range(1, 12), *[500] * 20], monkeypatch)
    assert "picked" in apart
    assert any("picked" in nodes and "layer_5" not in nodes for nodes in made), made


def test_a_region_that_was_split_keeps_no_code_of_the_whole(monkeypatch):
    """Its tables have memory for all of the arrays."""
    split, regions = region.RegionRun._split, []
    monkeypatch.setattr(region.RegionRun, "_split", lambda self, names: (regions.append((self, len(self._ready))), split(self, names))[1])
    _sums("background", [*[500] * 12, *CHANGING], monkeypatch)
    assert any(had for _, had in regions), "there was code before"
    assert all(not each._ready and each._last is None and each._shapes is None for each, _ in regions)


def test_a_region_whose_shapes_come_again_stays_whole(monkeypatch):
    _, made, apart = _sums("background", [7, 8, 9, 10] * 8, monkeypatch)
    assert not apart and any("picked" in nodes for nodes in made), (made, apart)
