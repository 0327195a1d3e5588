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


def _sums(mode: str, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], list[list[str]], list[str]]:
    """Sums over a tower of products and over so many rows, in one region; the nodes of what became native; and those that it was cut around."""
    monkeypatch.setattr(config, "mode", mode)
    monkeypatch.setattr(patience, "SHARE", 0.0002)
    made: list[list[str]] = []
    cut: list[str] = []
    specialise, give_up = region.RegionRun._specialise, region.RegionRun._cut
    monkeypatch.setattr(region.RegionRun, "_specialise",
                        lambda self, *rest: (made.append([node.name for node in self.body.nodes]), specialise(self, *rest))[1])
    monkeypatch.setattr(region.RegionRun, "_cut", lambda self, name, reason: (cut.append(name), give_up(self, name, reason))[1])
    random = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        x, rows = tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [None, 64])
        layer = x
        for number in range(6):
            layer = tf.tanh(tf.matmul(layer, x), name=f"layer_{number}")
        total = tf.reduce_sum(layer) + tf.reduce_sum(tf.exp(rows, name="picked"))
        feeds = ({x: random.randn(64, 64) / 8, rows: random.randn(length, 64)} for length in lengths)
        return [float(session.run(total, feed)) for feed in feeds], made, cut


def test_a_region_is_cut_around_nodes_whose_shapes_change_in_every_run(monkeypatch):
    with monkeypatch.context() as context:
        expected, _, _ = _sums("off", CHANGING, context)
    values, made, cut = _sums("background", CHANGING, monkeypatch)
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    assert "picked" in cut and not any(name.startswith("layer") for name in cut), cut
    assert any("layer_5" in nodes and "picked" not in nodes for nodes in made), made


def test_a_region_whose_shapes_come_again_stays_whole(monkeypatch):
    _, made, cut = _sums("background", [7, 8, 9, 10] * 8, monkeypatch)
    assert not cut and any("picked" in nodes for nodes in made), (made, cut)
