"""A board: the program of its settings in a session of its own, how far it has come, and what a page draws of it.

Nothing runs by itself: a page asks for steps, and each answer is a frame. So a board whose page is closed or hidden costs nothing, and the same
requests give the same numbers.
"""
from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from penstock.graph.graph import Graph
from penstock.playground.program import ProgramNames, build, write_program
from penstock.playground.settings import CHECKS, LIVE, BadSettings, Change, Settings, number
from penstock.session.session import Session
from penstock.variables.initialization import global_variables_initializer

GRID = 48  # points of a heat map in each direction
EDGE = 6.0  # the plane that is drawn ends here
CURVE = 60  # points of the curves that are computed when a board is trained again up to a step
_WEIGHT = re.compile(r"w(\d+)\.(\d+)\.(\d+)|b(\d+)\.(\d+)")


class Board:
    """One network that is trained."""

    def __init__(self, settings: Settings, changes: Sequence[Change] = (), step: int = 0) -> None:
        """A board that has been trained up to ``step``, with what was changed on the way."""
        self.text = write_program(settings)
        self.graph = Graph()
        with self.graph.as_default():
            self.names: ProgramNames = build(self.text)
            self.initializer = global_variables_initializer()
        self.session = Session(graph=self.graph)
        self.session.run(self.initializer)
        self.settings = settings
        self._batches = self.names.batches(settings.batch)
        self._set_live(settings)
        self.step = 0
        self.curve: list[list[Any]] = []  # [step, training loss, test loss], those that no frame has had yet
        self.batch: Any = None  # the indices of the last one
        self._grid = _grid(GRID)
        self._note_losses()
        self._replay(changes, step)

    def close(self) -> None:
        """Ends the session."""
        self.session.close()

    # --- training ----------------------------------------------------------------------------------------------------

    def advance(self, steps: int, seconds: float = float("inf")) -> None:
        """Trains for a number of steps, or for as long as a frame may take."""
        end = perf_counter() + seconds
        for _ in range(steps):
            self.batch = next(self._batches)
            self.session.run(self.names.train, self.step_feeds())
            self.step += 1
            if perf_counter() > end:
                break
        if steps:
            self._note_losses()

    def step_feeds(self) -> dict[Any, Any]:
        """What a step is fed: the last batch (before the first step, all training points) and the rates."""
        return {**self._points(self.names.train_set if self.batch is None else self.batch), **self._rates}

    @property
    def epoch_steps(self) -> int:
        """How many steps see all training points once."""
        return -(-len(self.names.train_set) // self.settings.batch)

    def change(self, key: str, value: float) -> None:
        """Changes a rate, the batch size, or a weight."""
        if key in LIVE:
            value = int(value) if key == "batch" else value
            self._set_live(replace(self.settings, **{key: CHECKS[key](value)}))
        else:
            self._set_weight(key, number(value))
            self._note_losses()

    def _set_live(self, settings: Settings) -> None:
        if settings.batch != self.settings.batch:
            self._batches = self.names.batches(settings.batch)
        self.settings = settings
        self._rates = {self.names.learning_rate: settings.learning_rate}
        if self.names.regularization_rate is not None:
            self._rates[self.names.regularization_rate] = settings.regularization_rate

    def _set_weight(self, key: str, value: float) -> None:
        match = _WEIGHT.fullmatch(key)
        if match is None:
            raise BadSettings(f"{key!r} is neither a weight, such as w0.1.2, nor a bias, such as b0.1")
        layer, *place = (int(group) for group in match.groups() if group is not None)
        variables = self.names.weights if key[0] == "w" else self.names.biases
        if layer >= len(variables) or any(index >= size for index, size in zip(place, variables[layer].shape.as_list())):
            raise BadSettings(f"there is no weight {key}: the network has {len(variables)} layers")
        values = self.session.run(variables[layer]).copy()
        values[tuple(place)] = value
        variables[layer].load(values, self.session)

    def _replay(self, changes: Sequence[Change], step: int) -> None:
        stops = sorted({change.step for change in changes} | set(np.linspace(0, step, CURVE).astype(int).tolist()) | {step})
        for start, stop in pairwise([*stops, step]):
            for change in changes:
                if change.step == start <= step:
                    self.change(change.key, change.value)
            self.advance(min(stop, step) - self.step)

    # --- what is drawn -----------------------------------------------------------------------------------------------

    def show(self, step: int, weights: Sequence[Any], biases: Sequence[Any]) -> None:
        """Takes over what was trained elsewhere."""
        for variable, value in zip((*self.names.weights, *self.names.biases), (*weights, *biases)):
            variable.load(value, self.session)
        self.step = step
        self._note_losses()

    def frame(self, **told: Any) -> bytes:
        """The numbers of a moment as JSON, and behind it the heat maps of all neurons, a byte per point; its length stands before."""
        wanted = [self.names.weights, self.names.biases, self.names.neurons]
        weights, biases, neurons = self.session.run(wanted, {self.names.position: self._grid})
        curve, self.curve = self.curve, []
        numbers = {"step": self.step, "epoch": self.step // self.epoch_steps, "epoch_steps": self.epoch_steps, "curve": curve, "grid": GRID,
                   "weights": [_finite(each) for each in weights], "biases": [_finite(each) for each in biases], **told}
        text = json.dumps(numbers, allow_nan=False).encode()
        return struct.pack("<I", len(text)) + text + b"".join(map(_planes, neurons))

    def outline(self) -> dict[str, Any]:
        """What stays the same: the points, and the heat maps of the features."""
        names = self.names
        features = self.session.run(names.inputs, {names.position: self._grid})
        return {"points": np.column_stack([names.points, names.labels]).round(3).tolist(), "train": names.train_set.tolist(),
                "features": [(plane * 100).clip(-100, 100).astype(int).tolist() for plane in features.T], "program": self.text}

    def _note_losses(self) -> None:
        losses = [self.session.run(self.names.loss, self._points(part)) for part in (self.names.train_set, self.names.test_set)]
        self.curve.append([self.step, *_finite(np.array(losses))])

    def _points(self, indices: Any) -> dict[Any, Any]:
        return {self.names.position: self.names.points[indices], self.names.target: self.names.labels[indices]}


def _grid(count: int) -> Any:
    """Points of the plane, from the upper left to the lower right."""
    line = np.linspace(-EDGE, EDGE, count)
    return np.stack(np.meshgrid(line, -line), axis=-1).reshape(-1, 2)


def _planes(values: Any) -> bytes:
    """One plane per neuron, -1 to 1 as -127 to 127."""
    return (np.nan_to_num(values.T, nan=0.0).clip(-1, 1) * 127).astype(np.int8).tobytes()


def _finite(values: Any) -> Any:
    """Nested lists; JSON has no infinity and no NaN, which become null."""
    numbers = values.astype(object)
    numbers[~np.isfinite(values)] = None
    return numbers.tolist()
