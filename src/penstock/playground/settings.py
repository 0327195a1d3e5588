"""What can be set on a board: one table, which checks the messages of a page, makes its controls, and is what an address says.

An address names the settings of the last reset, the step that the board has come to, and the changes on the way (``Change``). Training is
deterministic, so these make the same board again, weights and all.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from penstock.playground.datasets import CLASSIFICATION, REGRESSION

POINTS = 500
MOST_STEPS = 50_000  # that an address may ask for
MOST_CHANGES = 200
_PICTURE = 120  # points of a data set on its button

# The expressions are those of the program. In the order of the page.
FEATURES = {"x": "x", "y": "y", "x2": "tf.square(x)", "y2": "tf.square(y)", "xy": "x * y", "sinx": "tf.sin(x)", "siny": "tf.sin(y)"}
ACTIVATIONS = {"tanh": "tf.tanh", "relu": "tf.nn.relu", "sigmoid": "tf.sigmoid", "elu": "tf.nn.elu", "linear": ""}
OPTIMIZERS = {"sgd": "tf.train.GradientDescentOptimizer(learning_rate)", "momentum": "tf.train.MomentumOptimizer(learning_rate, 0.9)",
              "adagrad": "tf.train.AdagradOptimizer(learning_rate)", "rmsprop": "tf.train.RMSPropOptimizer(learning_rate)",
              "adam": "tf.train.AdamOptimizer(learning_rate)"}
REGULARIZATIONS = {"none": "", "l1": "tf.reduce_sum(tf.abs(w))", "l2": "tf.nn.l2_loss(w)"}
PROBLEMS = {"classification": CLASSIFICATION, "regression": REGRESSION}
RATES = (0.00001, 0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
REGULARIZATION_RATES = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
MOST_LAYERS, MOST_NEURONS = 6, 8


class BadSettings(ValueError):
    """A message or an address that asks for what there is not."""


@dataclass(frozen=True)
class Change:
    """What a person changed at a step: the learning rate, the rate of regularisation, the batch size, or a weight (``w0.1.2``, ``b0.2``)."""

    step: int
    key: str
    value: float


def one_of(choices: Any) -> Callable[[Any], Any]:
    """A check: a value must be one of these."""
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value not in choices:
            raise BadSettings(f"{value!r} is not one of {', '.join(map(str, choices))}")
        return value
    return check


def whole_number(low: int, high: int) -> Callable[[Any], int]:
    """A check: a value must be a whole number in this range."""
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadSettings(f"{value!r} is not a whole number between {low} and {high}")
        return value
    return check


def _features(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not set(map(str, value)) <= set(FEATURES):
        raise BadSettings(f"{value!r} must name one or more of the features {', '.join(FEATURES)}")
    return tuple(name for name in FEATURES if name in value)


def _layers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MOST_LAYERS:
        raise BadSettings(f"{value!r} must be a list of at most {MOST_LAYERS} hidden layers")
    return tuple(map(whole_number(1, MOST_NEURONS), value))


def _setting(default: Any, check: Callable[[Any], Any]) -> Any:
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True)
class Settings:
    """A board at its reset. Noise and the share of training data are percentages."""

    problem: str = _setting("classification", one_of(PROBLEMS))
    data: str = _setting("circle", one_of({**CLASSIFICATION, **REGRESSION}))
    noise: int = _setting(0, whole_number(0, 50))
    share: int = _setting(50, whole_number(10, 90))
    batch: int = _setting(10, whole_number(1, 30))
    seed: int = _setting(1, whole_number(0, 99_999))
    features: tuple[str, ...] = _setting(("x", "y"), _features)
    layers: tuple[int, ...] = _setting((4, 2), _layers)
    activation: str = _setting("tanh", one_of(ACTIVATIONS))
    regularization: str = _setting("none", one_of(REGULARIZATIONS))
    regularization_rate: float = _setting(0, one_of(REGULARIZATION_RATES))
    learning_rate: float = _setting(0.03, one_of(RATES))
    optimizer: str = _setting("sgd", one_of(OPTIMIZERS))


CHECKS: dict[str, Callable[[Any], Any]] = {each.name: each.metadata["check"] for each in fields(Settings)}
LIVE = ("learning_rate", "regularization_rate", "batch")  # may change while a board trains


def read_settings(message: Any) -> Settings:
    """The settings in a message; what it does not name has its default.

    >>> read_settings({"data": "xor", "layers": [3]}).layers
    (3,)
    """
    if not isinstance(message, Mapping):
        raise BadSettings("settings must be an object")
    if unknown := set(message) - set(CHECKS):
        raise BadSettings(f"there is no setting {', '.join(sorted(map(str, unknown)))}")
    values = {}
    for key, value in message.items():
        try:
            values[key] = CHECKS[key](value)
        except BadSettings as error:
            raise BadSettings(f"{key}: {error}") from None
    settings = Settings(**values)
    if settings.data not in PROBLEMS[settings.problem]:
        raise BadSettings(f"data: {settings.data!r} is not a data set for {settings.problem}")
    return settings


def read_changes(message: Any) -> list[Change]:
    """The changes in a message, ``[[step, key, value], ...]`` in the order of steps."""
    if not isinstance(message, list) or len(message) > MOST_CHANGES:
        raise BadSettings(f"changes must be a list of at most {MOST_CHANGES}")
    changes = []
    for item in message:
        if not isinstance(item, list) or len(item) != 3 or not isinstance(item[1], str):
            raise BadSettings(f"{item!r} is not a change: [step, key, value]")
        changes.append(Change(whole_number(0, MOST_STEPS)(item[0]), item[1], number(item[2])))
    return sorted(changes, key=lambda change: change.step)


def read_step(value: Any) -> int:
    """A number of steps."""
    return whole_number(0, MOST_STEPS)(value)


def number(value: Any) -> float:
    """A finite number of ordinary size."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e6:  # (so NaN is not)
        raise BadSettings(f"{value!r} is not a number between -1,000,000 and 1,000,000")
    return value


def choices() -> dict[str, Any]:
    """What the controls of a page are made of."""
    pictures = {problem: {name: _picture(function) for name, function in sets.items()} for problem, sets in PROBLEMS.items()}
    return {"defaults": {each.name: each.default for each in fields(Settings)}, "features": list(FEATURES), "activation": list(ACTIVATIONS),
            "optimizer": list(OPTIMIZERS), "regularization": list(REGULARIZATIONS), "learning_rate": RATES,
            "regularization_rate": REGULARIZATION_RATES, "data": pictures,
            "most_layers": MOST_LAYERS, "most_neurons": MOST_NEURONS, "live": LIVE}


def _picture(function: Any) -> list[list[float]]:
    """A data set in small: points with their labels."""
    points, labels = function(np.random.RandomState(0), _PICTURE, 0.0)
    return np.column_stack([points, labels]).round(2).tolist()
