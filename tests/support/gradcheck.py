"""Symbolic against numeric gradients of an example, first and second order."""
from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np

from penstock.graph.composite import IndexedSlices
from penstock.graph.graph import Graph, Tensor
from support import build, numeric
from support.build import Call
from support.examples import Example

_WIDE = (np.dtype(np.float64), np.dtype(np.complex128))


def check(example: Example) -> None:
    """AssertionError if a gradient of the example's op is wrong."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Converting sparse IndexedSlices")  # second orders do that, and say so
        _check(example)


def _check(example: Example) -> None:
    from penstock.gradients import gradients
    with Graph().as_default() as graph:
        call = Call(example, build.as_known)
        xs, values, names = _variables_of(call)
        ys = [tensor for tensor in call.outputs if tensor.dtype.base_dtype.np in _WIDE]
        if not xs or not ys:
            return
        with build.session(graph) as running:
            weights = _weights(running, call, ys, example.label)
            grad_ys = [build.as_known(weight) for weight in weights]
            first = gradients(ys, xs, grad_ys=grad_ys)
            point = _Point(running, call, xs + grad_ys, values + weights)
            numeric.check(lambda v: _dot(weights, point.at(ys, v)), point.values[:len(xs)],
                          point.dense(first), names, example.tolerance, f"{example.label}, first order")
            if example.second:
                _check_second(example, gradients, point, first, names + [f"the gradient of output {t.value_index}" for t in ys])


def _check_second(example: Example, gradients: Any, point: _Point, first: list[Any], names: list[str]) -> None:
    """The gradient of the gradient, also with respect to what flows in from above (which checks the gradient of the gradient op)."""
    parts = [g.values if isinstance(g, IndexedSlices) else g for g in first if g is not None]
    parts = [part for part in parts if part.dtype.base_dtype.np in _WIDE]
    if not parts:
        return
    label = f"{example.label}, second order"
    weights = [_draw(np.shape(value), value.dtype, f"{label} {i}") for i, value in enumerate(point.at(parts, point.values))]
    fed = [build.as_known(weight) for weight in weights]
    second = gradients(parts, point.xs, grad_ys=fed)
    point.more = dict(zip(fed, weights))
    numeric.check(lambda v: _dot(weights, point.at(parts, v)), point.values, point.dense(second), names, 10 * example.tolerance, label)


class _Point:
    """Where the function is differentiated: tensors with their values, and how to evaluate others from there."""

    def __init__(self, running: Any, call: Call, xs: list[Tensor], values: list[np.ndarray]) -> None:
        self.running, self.call, self.xs, self.values = running, call, xs, values
        self.more: dict[Tensor, np.ndarray] = {}

    def at(self, fetches: list[Any], values: list[np.ndarray]) -> list[Any]:
        """The fetches, with other values for the first tensors."""
        feeds = {**self.call.feeds(), **dict(zip(self.xs, self.values)), **dict(zip(self.xs, values)), **self.more}
        if self.call.setup:
            self.running.run(self.call.setup)
        return self.running.run(fetches, feeds)

    def dense(self, gradients: list[Any]) -> list[np.ndarray | None]:
        """Gradients as arrays, IndexedSlices added up; None stays None."""
        found = iter(self.at([g for g in gradients if g is not None], self.values))
        return [None if g is None else _dense(next(found), np.shape(value)) for g, value in zip(gradients, self.values)]


def _dense(gradient: Any, shape: tuple[int, ...]) -> np.ndarray:
    if not hasattr(gradient, "indices"):
        assert np.shape(gradient) == shape, f"a gradient of shape {np.shape(gradient)} for an input of shape {shape}"
        return gradient
    total = np.zeros(shape, np.asarray(gradient.values).dtype)
    np.add.at(total, gradient.indices, gradient.values)
    return total


def _variables_of(call: Call) -> tuple[list[Tensor], list[np.ndarray], list[str]]:
    """The inputs to differentiate by, their values, and how to call them."""
    wanted = call.example.grad_inputs
    xs, values, names = [], [], []
    for index, (tensors, arrays) in enumerate(zip(call.arguments, call.arrays)):
        for position, (tensor, array) in enumerate(zip(tensors, arrays)):
            if (wanted is None or index in wanted) and isinstance(array, np.ndarray) and array.dtype in _WIDE:
                xs.append(tensor)
                values.append(array)
                names.append(f"input {index}" + (f"[{position}]" if len(tensors) > 1 else "") + f" ({call.op.definition.inputs[index].name})")
    return xs, values, names


def _weights(running: Any, call: Call, ys: list[Tensor], label: str) -> list[np.ndarray]:
    results = build.run_from_state(running, call.setup, ys, call.feeds(), call.op)
    return [_draw(np.shape(value), np.asarray(value).dtype, f"{label} {i}") for i, value in enumerate(results)]


def _draw(shape: tuple[int, ...], dtype: Any, label: str) -> np.ndarray:
    random = np.random.RandomState(zlib.crc32(label.encode()))
    drawn = np.asarray(random.standard_normal(shape))
    return drawn + 1j * random.standard_normal(shape) if dtype.kind == "c" else drawn


def _dot(weights: list[np.ndarray], values: list[Any]) -> float:
    return sum(numeric.inner(weight, value) for weight, value in zip(weights, values))
