"""Triangular matrices and their elements as vectors; matrices with three diagonals; functions of a diagonal."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.shapes import rank_of


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.distributions.fill_triangular``: the n (n + 1) / 2 elements of ``x`` as a triangle, in a spiral from the bottom row.

    The elements are laid beside themselves in reverse, so that each row of the square has its own part on one side of the diagonal.
    """
    with tf.name_scope(name, "fill_triangular", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        length = tf.dimension_value(x.shape.with_rank_at_least(1)[-1])
        if length is None:
            length = tf.shape(x)[-1]
            rows: Any = tf.cast(tf.sqrt(0.25 + tf.cast(2 * length, dtype=tf.float32)), dtype=tf.int32)
            static = x.shape.with_rank_at_least(1)[:-1].concatenate([None, None])
        else:
            exact = np.sqrt(0.25 + 2.0 * length) - 0.5
            if exact != np.floor(exact):
                raise ValueError(f"Input right-most shape ({length}) does not correspond to a triangular matrix.")
            rows = np.int32(exact)
            static = x.shape[:-1].concatenate([int(rows), int(rows)])
        last = rank_of(x) - 1
        halves = [x, tf.reverse(x[..., rows:], axis=[last])] if upper else [x[..., rows:], tf.reverse(x, axis=[last])]
        shape = static.as_list() if static.is_fully_defined() else tf.concat([tf.shape(x)[:-1], [rows, rows]], axis=0)
        square = tf.reshape(tf.concat(halves, axis=-1), shape)
        triangle = tf.matrix_band_part(square, num_lower=0 if upper else -1, num_upper=-1 if upper else 0)
        triangle.set_shape(static)
        return triangle


def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.distributions.fill_triangular_inverse``: the vector that ``fill_triangular`` made this matrix of."""
    with tf.name_scope(name, "fill_triangular_inverse", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        rows: Any = tf.dimension_value(x.shape.with_rank_at_least(2)[-1])
        if rows is None:
            rows = tf.shape(x)[-1]
            length = (rows * (rows + 1)) // 2
            static = x.shape.with_rank_at_least(2)[:-2].concatenate([None])
        else:
            rows = np.int32(rows)
            length = np.int32((rows * (rows + 1)) // 2)
            static = x.shape[:-2].concatenate([int(length)])
        ndims = rank_of(x)
        if upper:
            first, rest = x[..., 0, :], x[..., 1:, :]
        else:
            first, rest = tf.reverse(x[..., -1, :], axis=[ndims - 2]), x[..., :-1, :]
        flipped = tf.reverse(tf.reverse(rest, axis=[ndims - 1]), axis=[ndims - 2])
        both = rest + flipped
        flat = tf.reshape(both, tf.concat([tf.shape(x)[:-2], [rows * (rows - 1)]], axis=0))
        vector = tf.concat([first, flat[..., :length - rows]], axis=-1)
        vector.set_shape(static)
        return vector


def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.distributions.tridiag``: matrices made of their diagonal and of those beside it."""
    def padded(x: tf.Tensor) -> tf.Tensor:
        zero = tf.zeros(tf.concat([tf.shape(x)[:-1], [1]], axis=0), dtype=x.dtype)
        return tf.concat([zero, x, zero], axis=-1)

    with tf.name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            parts.append(tf.matrix_diag(padded(tf.convert_to_tensor(below, name="below")))[..., :-1, 1:])
        if diag is not None:
            parts.append(tf.matrix_diag(tf.convert_to_tensor(diag, name="diag")))
        if above is not None:
            parts.append(tf.matrix_diag(padded(tf.convert_to_tensor(above, name="above")))[..., 1:, :-1])
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total


def matrix_diag_transform(matrix: Any, transform: Callable[[tf.Tensor], Any] | None = None, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.distributions.matrix_diag_transform``: the matrix with a function of its diagonal."""
    with tf.name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = tf.convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return tf.matrix_set_diag(matrix, transform(tf.matrix_diag_part(matrix)))
