"""What a page may ask for, and the data sets."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.playground.datasets import CLASSIFICATION, REGRESSION
from penstock.playground.settings import BadSettings, Change, Settings, choices, read_changes, read_settings


def test_defaults():
    assert read_settings({}) == Settings()


def test_features_have_the_order_of_the_page():
    assert read_settings({"features": ["sinx", "x"]}).features == ("x", "sinx")


@pytest.mark.parametrize("message", [
    [], None, {"data": "moon"}, {"data": ["circle"]}, {"noise": 51}, {"noise": 1.5}, {"noise": True}, {"layers": [0]},
    {"layers": [1] * 7}, {"layers": "4"},
    {"features": []}, {"features": ["z"]}, {"features": [["x"]]}, {"learning_rate": 0.5}, {"seed": -1}, {"color": 1}, {"problem": "regression"},
    {"problem": "regression", "data": "circle"}, {"optimizer": None}, {"activation": "import os"}])
def test_bad_settings(message):
    with pytest.raises(BadSettings):
        read_settings(message)


def test_changes():
    assert read_changes([[7, "w0.0.1", 2], [3, "batch", 5]]) == [Change(3, "batch", 5), Change(7, "w0.0.1", 2)]


@pytest.mark.parametrize("message", [{}, [[1, "w"]], [[1, 2, 3]], [[-1, "w", 1]], [[0, "w", float("nan")]], [[0, "w", "1"]], [[0, "w", 1e9]],
                                     [[0, "w", 10 ** 400]], [[0, "w", 1]] * 201])
def test_bad_changes(message):
    with pytest.raises(BadSettings):
        read_changes(message)


def test_choices_are_settings():
    told = choices()
    for key in ("activation", "optimizer", "regularization", "learning_rate", "regularization_rate"):
        for value in told[key]:
            read_settings({key: value})
    for problem, sets in told["data"].items():
        for name in sets:
            read_settings({"problem": problem, "data": name})


@pytest.mark.parametrize("function", [*CLASSIFICATION.values(), *REGRESSION.values()], ids=lambda function: function.__name__)
def test_data_sets(function):
    points, labels = function(np.random.RandomState(3), 200, 0.0)
    again, _ = function(np.random.RandomState(3), 200, 0.0)
    noisy, noisy_labels = function(np.random.RandomState(3), 200, 0.4)
    assert points.shape == (200, 2) and labels.shape == (200,)
    assert np.array_equal(points, again)
    assert not (np.array_equal(points, noisy) and np.array_equal(labels, noisy_labels))
    assert np.abs(labels).max() <= 1 and labels.min() < -0.5 and labels.max() > 0.5
    if function in CLASSIFICATION.values():
        assert set(labels) == {1, -1}
        assert 60 < (labels == 1).sum() < 140
    if function is not CLASSIFICATION["gauss"]:
        assert np.abs(points).max() <= 6


def test_labels_follow_the_points():
    for name, label in {"circle": lambda x, y: np.where(np.hypot(x, y) < 3, 1, -1), "xor": lambda x, y: np.sign(x * y),
                        "gauss": lambda x, y: np.sign(x + y)}.items():
        points, labels = CLASSIFICATION[name](np.random.RandomState(0), 400, 0.0)
        assert (labels == label(*points.T)).mean() > 0.98, name
    points, labels = REGRESSION["plane"](np.random.RandomState(0), 400, 0.0)
    assert np.allclose(labels, np.clip(points.sum(axis=1) / 10, -1, 1))
