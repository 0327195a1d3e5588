"""Matrices of linear models: powers, blocks, covariances that optimizers can train."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.connected import fully_connected
from penstock.ops.nn.activations import softsign


def batch_times_matrix(batch: Any, matrix: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    """Each matrix of a batch times one matrix."""
    return tf.matmul(batch, matrix[None], adjoint_a=adj_x, adjoint_b=adj_y)


def matrix_times_batch(matrix: Any, batch: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    """One matrix times each of a batch."""
    return tf.matmul(matrix[None], batch, adjoint_a=adj_x, adjoint_b=adj_y)


def batch_matrix_pow(matrices: Any, powers: Any) -> Any:
    """Each matrix to a power of its own, by squaring."""
    powers = tf.convert_to_tensor(powers)
    matrices = tf.convert_to_tensor(matrices)
    result = tf.eye(tf.shape(matrices)[-1], batch_shape=tf.shape(matrices)[:-2], dtype=matrices.dtype)

    def body(remaining: Any, result: Any, square: Any) -> tuple[Any, Any, Any]:
        is_odd = tf.equal(tf.mod(remaining, 2), 1)
        result = tf.where_v2(is_odd[..., None, None], tf.matmul(result, square), result)
        return remaining // 2, result, tf.matmul(square, square)
    result.set_shape(matrices.shape)
    return tf.while_loop(lambda remaining, *_: tf.reduce_any(remaining > 0), body, (powers, result, matrices))[1]


def matrix_to_powers(matrix: Any, powers: Any) -> Any:
    """One matrix to many powers."""
    matrix, powers = tf.convert_to_tensor(matrix), tf.convert_to_tensor(powers)
    tiled = tf.tile(matrix[None], [tf.size(powers), 1, 1])
    result = batch_matrix_pow(tiled, tf.reshape(powers, [-1]))
    return tf.reshape(result, tf.concat([tf.shape(powers), tf.shape(matrix)], 0))


def power_sums_tensor(array_size: Any, power_matrix: Any, multiplier: Any) -> Any:
    """Sums of A^i B (A^i)^T: S[n] has the first n of them."""
    power_matrix, multiplier = tf.convert_to_tensor(power_matrix), tf.convert_to_tensor(multiplier)
    array = tf.TensorArray(multiplier.dtype, array_size + 1)
    zero = tf.zeros_like(multiplier)

    def body(number: Any, total: Any, array: Any) -> tuple[Any, Any, Any]:
        total = tf.matmul(power_matrix, tf.matmul(total, power_matrix, adjoint_b=True)) + multiplier
        return number + 1, total, array.write(number, total)
    result = tf.while_loop(lambda number, *_: number < array_size + 1, body, (tf.constant(1), zero, array.write(0, zero)))[2].stack()
    result.set_shape([array_size + 1 if isinstance(array_size, int) else None, *multiplier.shape])
    return result


def block_diagonal(matrices: Any, dtype: Any = tf.float32, name: str = "block_diagonal") -> Any:
    """Batches of matrices as the blocks of one."""
    with tf.name_scope(name):
        matrices = [tf.convert_to_tensor(each, dtype=dtype) for each in matrices]
        batch = matrices[0].shape[:-2]
        for each in matrices[1:]:
            batch = tf.broadcast_static_shape(batch, each.shape[:-2])
        widths = [tf.shape(each)[-1] for each in matrices]
        rows, before, total = [], 0, sum(widths[1:], widths[0])
        for each, width in zip(matrices, widths):
            padding = [[0, 0]] * (each.shape.ndims - 1) + [[before, total - before - width]]
            rows.append(tf.pad(each, padding))
            before = before + width
        result = tf.concat(rows, -2)
        columns = [each.shape[-1].value for each in matrices]
        lines = [each.shape[-2].value for each in matrices]
        result.set_shape(batch.concatenate([None if None in lines else sum(lines), None if None in columns else sum(columns)]))
        return result


def make_toeplitz_matrix(inputs: Any, name: str | None = None) -> Any:
    """The symmetric Toeplitz matrix whose first row of blocks is ``inputs``."""
    with tf.name_scope(name, "make_toeplitz_matrix", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        count, size = inputs.shape[0].value, inputs.shape[1].value
        rows = [tf.concat([inputs[abs(column - row)] for column in range(count)], 1) for row in range(count)]
        return tf.reshape(tf.concat(rows, 0), [count * size, count * size])


def clip_covariance(covariance_matrix: Any, maximum_variance_ratio: float, minimum_variance: float) -> Any:
    """A covariance without variances that are too small, beside the largest or in themselves; a larger variance adds to the diagonal alone."""
    diagonal = tf.matrix_diag_part(covariance_matrix)
    largest = tf.reduce_max(diagonal, axis=-1, keepdims=True)
    return tf.matrix_set_diag(covariance_matrix, tf.maximum(diagonal, tf.maximum(largest / maximum_variance_ratio, minimum_variance)))


def sign_magnitude_positive_definite(raw: Any, off_diagonal_scale: Any = 0.0, overall_scale: Any = 0.0) -> Any:
    """A positive definite matrix of any square one: logarithms of magnitudes in and above the diagonal, signs below it."""
    raw = tf.convert_to_tensor(raw)
    off, overall = tf.convert_to_tensor(off_diagonal_scale, raw.dtype), tf.convert_to_tensor(overall_scale, raw.dtype)
    magnitude = tf.exp((raw + off[..., None, None] + overall[..., None, None]) / 2)
    upper = tf.matrix_band_part(magnitude * softsign(tf.matrix_transpose(raw)), 0, -1)
    factor = tf.matrix_set_diag(upper, tf.exp((tf.matrix_diag_part(raw) + overall[..., None]) / 2))
    return tf.matmul(factor, factor, transpose_a=True)


def transform_to_covariance_matrices(input_vectors: Any, matrix_size: int) -> Any:
    """A covariance for each vector, by a dense layer."""
    numbers = fully_connected(input_vectors, matrix_size**2 + 2, activation_fn=None, scope="fully_connected")
    raw = tf.reshape(numbers[..., :-2], tf.concat([tf.shape(numbers)[:-1], [matrix_size, matrix_size]], 0))
    return sign_magnitude_positive_definite(raw, off_diagonal_scale=numbers[..., -2], overall_scale=numbers[..., -1])


def variable_covariance_matrix(size: int, name: str, dtype: Any, initial_diagonal_values: Any = None, initial_overall_scale_log: Any = 0.0) -> Any:
    """A covariance made of variables: its elements, and scales of all of them and of those beside the diagonal."""
    raw = tf.get_variable(f"{name}_pre_transform", [size, size], dtype, tf.zeros_initializer())
    if initial_diagonal_values is not None:
        raw = raw + tf.matrix_diag(tf.log(initial_diagonal_values))
    off = tf.get_variable(f"{name}_off_diagonal_scale", initializer=tf.constant(-5.0, dtype))
    overall = initial_overall_scale_log + tf.get_variable(f"{name}_overall_scale", [], dtype, tf.zeros_initializer())
    return tf.identity(sign_magnitude_positive_definite(raw, off, overall), name=name)


def log_noninformative_covariance_prior(covariance: Any) -> Any:
    """The logarithm of det(covariance)^(-(p + 1) / 2)."""
    size = covariance.shape[-1].value
    return -(size + 1) / 2 * tf.log_matrix_determinant(covariance + 1e-8 * tf.eye(size, dtype=covariance.dtype))[1]
