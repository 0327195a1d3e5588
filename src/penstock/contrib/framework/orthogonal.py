"""Initializers of convolutions that keep the length of their input (Xiao et al., 2018): ``tf.contrib.framework.convolutional_*orthogonal*``.

A kernel here is a dict {position: matrix}. Kernels of two positions per axis, made of projections P and I - P, keep lengths, and so do
convolutions of such kernels; an orthogonal matrix in front maps the channels.
"""
from __future__ import annotations

import itertools
from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.array.scatter_nd import scatter_nd
from penstock.ops.linalg.decompositions import qr
from penstock.variables.initializers import Initializer

_Kernel = dict[tuple[int, ...], Any]


class _Convolutional(Initializer):
    """What they share: a gain, a seed, a floating type."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = tf.float32) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")
        self.gain, self.seed = gain, seed

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}

    def _orthogonal_matrix(self, size: int, dtype: Any) -> Any:
        q, r = qr(tf.random_normal([size, size], dtype=dtype, seed=self.seed), full_matrices=False)
        return q * tf.sign(tf.diag_part(r))


def _check_channels(shape: list[int]) -> None:
    if shape[-2] > shape[-1]:
        raise ValueError("In_filters cannot be greater than out_filters.")


class convolutional_delta_orthogonal(_Convolutional):
    """``tf.contrib.framework.convolutional_delta_orthogonal``: an orthogonal matrix in the middle of the kernel, zeros around it."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        shape = [int(extent) for extent in shape]
        if not 3 <= len(shape) <= 5:
            raise ValueError("The tensor to initialize must be at least three-dimensional and at most five-dimensional")
        _check_channels(shape)
        dtype = self.dtype if dtype is None else tf.as_dtype(dtype)
        matrix = self._orthogonal_matrix(shape[-1], dtype)[:shape[-2]] * tf.cast(self.gain, dtype)
        middle = [(extent - 1) // 2 for extent in shape[:-2]]
        return scatter_nd([middle], tf.expand_dims(matrix, 0), shape)


class _Orthogonal(_Convolutional):
    """Convolutions of random kernels of two positions per axis; each draw takes the next seed."""

    rank = 0
    words = ""
    first = 0  # the position of P in its axis

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        shape = [int(extent) for extent in shape]
        if len(shape) != self.rank + 2:
            raise ValueError(f"The tensor to initialize must be {self.words}-dimensional")
        _check_channels(shape)
        if len(set(shape[:-2])) > 1:
            raise ValueError("Kernel sizes must be equal.")
        kernel = self._kernel(shape[0], shape[-2], shape[-1])
        return kernel * tf.cast(self.gain, self.dtype if dtype is None else tf.as_dtype(dtype))

    def _kernel(self, extent: int, inputs: int, outputs: int) -> Any:
        channels = self._draw(outputs)[:inputs]
        kernel: _Kernel = {(0,) * self.rank: tf.eye(outputs, dtype=self.dtype)}
        for turn in range(extent - 1):
            factor = self._pair(outputs)
            kernel = _convolve(kernel, factor) if turn else factor
        return _stack_positions({at: tf.matmul(channels, matrix) for at, matrix in kernel.items()}, extent, self.rank)

    def _draw(self, size: int) -> Any:
        matrix = self._orthogonal_matrix(size, self.dtype)
        self._next_seed()
        return matrix

    def _next_seed(self) -> None:
        if self.seed:
            self.seed += 1

    def _projection(self, size: int) -> Any:
        """A symmetric P with P P = P, onto a random part of the axes of a random basis."""
        basis = self._draw(size)
        chosen = basis * tf.cast(tf.random_normal([size], seed=self.seed) > 0, self.dtype)
        self._next_seed()
        return tf.matmul(chosen, tf.matrix_transpose(chosen))

    def _pair(self, size: int) -> _Kernel:
        identity = tf.eye(size, dtype=self.dtype)
        projections = [self._projection(size) for _ in range(self.rank)]
        kernel = {}
        for at in itertools.product((0, 1), repeat=self.rank):
            factors = [p if position == self.first else identity - p for position, p in zip(at, projections)]
            kernel[at] = factors[0]
            for factor in factors[1:]:
                kernel[at] = tf.matmul(kernel[at], factor)
        return kernel


class convolutional_orthogonal_1d(_Orthogonal):
    """``tf.contrib.framework.convolutional_orthogonal_1d``."""

    rank, words = 1, "three"


class convolutional_orthogonal_2d(_Orthogonal):
    """``tf.contrib.framework.convolutional_orthogonal_2d``."""

    rank, words = 2, "four"


class convolutional_orthogonal_3d(_Orthogonal):
    """``tf.contrib.framework.convolutional_orthogonal_3d``."""

    rank, words, first = 3, "five", 1


def _convolve(one: _Kernel, other: _Kernel) -> _Kernel:
    kernel: _Kernel = {}
    for (at, matrix), (step, factor) in itertools.product(one.items(), other.items()):
        position = tuple(map(sum, zip(at, step)))
        product = tf.matmul(matrix, factor)
        kernel[position] = kernel[position] + product if position in kernel else product
    return kernel


def _stack_positions(kernel: _Kernel, extent: int, rank: int, at: tuple[int, ...] = ()) -> Any:
    if len(at) == rank:
        return kernel[at]
    return tf.stack([_stack_positions(kernel, extent, rank, (*at, position)) for position in range(extent)])
