"""Resampling along one axis: which input elements make an output element, and with which weights, exactly as TensorFlow computes them.

A plan is (indices [out, taps], weights [out, taps]); ``matrix`` makes it a dense [out, in] matrix, whose transpose gives the gradient.
Coordinates are float32 throughout, because TensorFlow's are: with more precision, samples would fall on other elements.
"""
from __future__ import annotations

import functools

import numpy as np

_TABLE = 1024  # steps per unit in which cubic weights are tabulated
Plan = tuple[np.ndarray, np.ndarray]
_f32 = np.float32


def scale(inputs: int, outputs: int, align_corners: bool) -> np.float32:
    """The distance between two samples, in input elements."""
    if align_corners and outputs > 1:
        return _f32(inputs - 1) / _f32(outputs - 1)
    return _f32(inputs) / _f32(max(outputs, 1))


def _coordinates(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    step, places = scale(inputs, outputs, align_corners), np.arange(outputs, dtype=_f32)
    return (places + _f32(0.5)) * step - _f32(0.5) if half_pixel else places * step


def nearest(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """The input element for each output element."""
    step, places = scale(inputs, outputs, align_corners), np.arange(outputs, dtype=_f32)
    position = (places + _f32(0.5)) * step if half_pixel else places * step
    # roundf: halves go away from zero
    index = np.floor(position + _f32(0.5)) if align_corners else np.floor(position)
    return np.clip(index.astype(np.int64), 0, inputs - 1)


def bilinear(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(lower index, upper index, fraction of the upper one) for each output element."""
    position = _coordinates(inputs, outputs, align_corners, half_pixel)
    floor = np.floor(position)
    lower = np.maximum(floor, 0).astype(np.int64)
    upper = np.minimum((np.ceil(position) if half_pixel else floor + 1).astype(np.int64), inputs - 1)
    return np.minimum(lower, inputs - 1), np.maximum(upper, 0), (position - floor).astype(_f32)


def bilinear_plan(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> Plan:
    """``bilinear`` as a plan."""
    lower, upper, fraction = bilinear(inputs, outputs, align_corners, half_pixel)
    return np.stack([lower, upper], 1), np.stack([1 - fraction, fraction], 1)


def nearest_plan(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> Plan:
    """``nearest`` as a plan."""
    return nearest(inputs, outputs, align_corners, half_pixel)[:, None], np.ones((outputs, 1), _f32)


@functools.lru_cache(maxsize=2)
def _cubic_table(a: float) -> np.ndarray:
    """The weights of the elements within one step ([:, 0]) and within two ([:, 1]) of a sample, by distance."""
    x = np.arange(_TABLE + 1, dtype=np.float64) / _TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.stack([near, far], 1).astype(_f32)


def bicubic_plan(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> Plan:
    """Keys' cubic with a = -0.75; with half-pixel centers a = -0.5, and weights outside of the image go to those inside."""
    position = _coordinates(inputs, outputs, align_corners, half_pixel)
    floor = np.floor(position)
    offset = np.rint((position - floor) * _f32(_TABLE)).astype(np.int64)
    table = _cubic_table(-0.5 if half_pixel else -0.75)
    weights = np.stack([table[offset, 1], table[offset, 0], table[_TABLE - offset, 0], table[_TABLE - offset, 1]], 1)
    wanted = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    indices = np.clip(wanted, 0, inputs - 1)
    if half_pixel:
        weights = np.where(indices == wanted, weights, _f32(0))
        total = weights.sum(1, keepdims=True)
        weights = np.divide(weights, total, out=weights, where=np.abs(total) >= 1000 * np.finfo(_f32).tiny)
    return indices, weights


def area_matrix(inputs: int, outputs: int, align_corners: bool) -> np.ndarray:
    """The share of each input element in the stretch that an output element covers."""
    step = scale(inputs, outputs, align_corners)
    start = np.arange(outputs, dtype=_f32) * step
    end = np.arange(1, outputs + 1, dtype=_f32) * step
    taps = int(np.ceil(step)) + 2
    wanted = np.floor(start).astype(np.int64)[:, None] + np.arange(taps)
    covered = np.minimum(wanted + _f32(1), end[:, None]) - np.maximum(wanted.astype(_f32), start[:, None])
    covered = np.where(wanted < np.ceil(end)[:, None], np.maximum(covered, 0), 0).astype(_f32)
    return matrix((np.minimum(wanted, inputs - 1), covered / step), inputs)


def matrix(plan: Plan, inputs: int) -> np.ndarray:
    """A plan as a dense [outputs, inputs] matrix."""
    indices, weights = plan
    dense = np.zeros((len(indices), inputs), weights.dtype)
    np.add.at(dense, (np.arange(len(indices))[:, None], indices), weights)
    return dense


def apply_matrices(images: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """``rows @ image @ columns.T`` for each image of a batch [n, height, width, channels]."""
    batch, height, width, channels = images.shape
    tall = np.matmul(rows, images.reshape(batch, height, width * channels)).reshape(batch, len(rows), width, channels)
    return np.matmul(columns, tall)
