"""Roots of positive matrices by Newton's iterations, which are products only."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf


def matrix_square_root(mat_a: tf.Tensor, mat_a_size: int, iter_count: int = 100, ridge_epsilon: float = 1e-4) -> tf.Tensor:
    """The root of mat_a + ridge_epsilon, by the coupled Newton iteration; it ends when the error does not fall any more."""
    identity = tf.eye(mat_a_size)
    mat_a = mat_a + ridge_epsilon * identity
    scale = tf.sqrt(tf.reduce_sum(tf.square(mat_a)))

    def improves(i: Any, y: Any, old_y: Any, z: Any, error: Any, old_error: Any) -> tf.Tensor:
        return tf.logical_and(i < iter_count, error < old_error)

    def step(i: Any, y: Any, old_y: Any, z: Any, error: Any, old_error: Any) -> tuple[Any, ...]:
        factor = 0.5 * (3.0 * identity - tf.matmul(z, y))
        new_y, new_z = tf.matmul(y, factor), tf.matmul(factor, z)
        root = new_y * tf.sqrt(scale)
        residual = mat_a - tf.matmul(root, root)
        return i + 1, new_y, y, new_z, tf.sqrt(tf.reduce_sum(tf.square(residual))) / scale, error

    first = mat_a / scale
    _, _, last_but_one, *_ = tf.while_loop(improves, step, [0, first, first, identity, scale, scale + 1.0])
    return last_but_one * tf.sqrt(scale)


def _whole_power(matrix: tf.Tensor, power: float) -> tf.Tensor:
    if power != int(power) or power <= 0:
        raise ValueError(f"Roots by iteration need an exponent -1/p with a whole p, not -1/{power}")
    result, rest = None, int(power)
    while rest:
        if rest % 2:
            result = matrix if result is None else tf.matmul(matrix, result)
        rest //= 2
        matrix = tf.matmul(matrix, matrix) if rest else matrix
    assert result is not None
    return result


def matrix_inverse_pth_root(mat_g: tf.Tensor, mat_g_size: int, alpha: float, iter_count: int = 100, epsilon: float = 1e-6,
                            ridge_epsilon: float = 1e-6) -> tf.Tensor:
    """mat_g ** alpha for alpha = -1/p: a Newton iteration for the inverse root, without an inverse (Schur-Newton)."""
    if mat_g_size == 1:
        return tf.pow(mat_g + ridge_epsilon, alpha)
    identity = tf.eye(mat_g_size)
    damped = mat_g + ridge_epsilon * identity
    z = (1 - 1 / alpha) / (2 * tf.norm(damped))

    def not_there(i: Any, m: Any, x: Any) -> tf.Tensor:
        return tf.logical_and(i < iter_count, tf.reduce_max(tf.abs(m - identity)) > epsilon)

    def step(i: Any, m: Any, x: Any) -> tuple[Any, ...]:
        factor = (1 - alpha) * identity + alpha * m
        return i + 1, tf.matmul(_whole_power(factor, -1.0 / alpha), m), tf.matmul(x, factor)

    return tf.while_loop(not_there, step, [0, damped * z, identity * tf.pow(z, -alpha)])[2]
