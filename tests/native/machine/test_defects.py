"""An error of the compiler costs speed, not the program; it is told once, and fails a test."""
from __future__ import annotations

import logging

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from penstock.native.machine import defects
from penstock.native.specialise.specialisation import Specialisation


@pytest.fixture
def broken(monkeypatch):
    """A compiler that cannot make anything."""
    def fail(*_):
        raise ZeroDivisionError("a bug")
    monkeypatch.setattr(Specialisation, "__init__", fail)
    yield
    defects.reported.clear()


def double(value):
    x = tf.placeholder(tf.float32, [3])
    with tf.Session() as session:
        return session.run(tf.exp(x) * 2.0, {x: value})


def test_numpy_runs_the_region_and_one_line_asks_for_a_report(broken, monkeypatch, caplog):
    monkeypatch.setattr(config, "strict", False)
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            np.testing.assert_allclose(double(np.zeros(3, "f")), [2, 2, 2])
    (line,) = [record for record in caplog.records if "please report it" in record.getMessage()]
    assert line.levelno == logging.WARNING and line.exc_info is not None
    assert len(defects.reported) == 2


def test_tests_are_strict(broken):
    with pytest.raises(tf.errors.OpError, match="a bug"):
        double(np.zeros(3, "f"))
    assert defects.reported
