"""Runs of regions before there is native code for them."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.execute import region
from penstock.native.config import config
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
