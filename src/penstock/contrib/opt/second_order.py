"""Optimizers that precondition gradients by matrices of earlier ones: Shampoo and GGT."""
from __future__ import annotations

import builtins
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.opt.matrix_roots import matrix_inverse_pth_root, matrix_square_root
from penstock.ops.array.scatter_nd import scatter_nd
from penstock.ops.linalg.decompositions import svd
from penstock.ops.linalg.einsum import tensordot
from penstock.platform import logging
from penstock.train.optimizer import Optimizer


def _at(value: Any, step: tf.Tensor) -> Any:
    """A hyperparameter, which may be a function of the step."""
    return value(step) if callable(value) else value


def _decay(slot: Any, decay: Any, decay_now: Any, addend: tf.Tensor) -> tf.Tensor:
    """decay * slot + addend, which the slot becomes; without decay to 0 it need not be kept."""
    if decay == 0.0:
        return addend
    if decay == 1.0:
        return tf.convert_to_tensor(tf.assign_add(slot, addend))
    return tf.convert_to_tensor(tf.assign_add(slot, (decay_now - 1) * slot + addend))


class ShampooOptimizer(Optimizer):
    """``tf.contrib.opt.ShampooOptimizer``: along each axis, a root of the sum of outer products of gradients (Gupta et al., 2018).

    Axes longer than ``max_matrix_size`` keep the diagonal only.
    """

    def __init__(self, global_step: Any = 0, max_matrix_size: int = 768, gbar_decay: Any = 0.0, gbar_weight: Any = 1.0, mat_gbar_decay: Any = 1.0,
                 mat_gbar_weight: Any = 1.0, learning_rate: Any = 1.0, svd_interval: Any = 1, precond_update_interval: Any = 1,
                 epsilon: float = 0.0001, alpha: Any = 0.5, use_iterative_root: bool = False, use_locking: bool = False,
                 name: str = "Shampoo") -> None:
        super().__init__(use_locking, name)
        self._global_step = tf.cast(global_step, tf.float32)
        self._max_matrix_size, self._epsilon, self._alpha, self._use_iterative_root = max_matrix_size, epsilon, alpha, use_iterative_root
        self._gbar_decay, self._gbar_weight, self._learning_rate = gbar_decay, gbar_weight, learning_rate
        self._mat_gbar_decay, self._mat_gbar_weight = mat_gbar_decay, mat_gbar_weight
        self._svd_interval, self._precond_update_interval = svd_interval, precond_update_interval

    def _keeps_roots(self) -> bool:
        return callable(self._svd_interval) or self._svd_interval > 1

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gbar", self._name)
            for axis, size in enumerate(var.shape.as_list()):
                is_matrix = size <= self._max_matrix_size
                if is_matrix and self._keeps_roots():
                    self._get_or_make_slot(var, tf.eye(size), f"H_{axis}", self._name)
                self._get_or_make_slot(var, tf.zeros([size, size] if is_matrix else [size]), f"Gbar_{axis}", self._name)

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> Any:
        return self._apply_gradient(grad, var, None)

    def _resource_apply_dense(self, grad: tf.Tensor, handle: Any) -> Any:
        return self._apply_gradient(grad, handle, None)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: tf.Tensor, handle: Any, indices: tf.Tensor) -> Any:
        if handle.shape.as_list()[0] <= self._max_matrix_size or self._gbar_decay != 0.0:
            dense = scatter_nd(tf.expand_dims(indices, 1), grad, tf.shape(handle, out_type=indices.dtype))
            return self._apply_gradient(dense, handle, None)
        return self._apply_gradient(grad, handle, indices)

    def _apply_gradient(self, grad: tf.Tensor, var: Any, indices: tf.Tensor | None) -> Any:
        step = self._global_step + 1
        if indices is None:
            direction = _decay(self.get_slot(var, "gbar"), self._gbar_decay, _at(self._gbar_decay, step), _at(self._gbar_weight, step) * grad)
        else:
            if self._gbar_decay != 0.0:
                logging.warning("Not applying momentum for variable: %s", var.name)
            direction = grad
        sizes = var.shape.as_list()
        exponent = -_at(self._alpha, step) / len(sizes)
        for axis, size in enumerate(sizes):
            # Each turn multiplies along the first axis and moves it to the end: after as many turns as axes, all are where they were.
            if size <= self._max_matrix_size:
                direction = tensordot(direction, self._matrix_root(grad, var, axis, exponent, step), axes=([0], [0]), name=f"precond_{axis}")
            else:
                last = [*builtins.range(1, len(sizes)), 0]
                direction = tf.transpose(direction, last) * self._diagonal_root(grad, var, axis, exponent, step, indices)
        move = _at(self._learning_rate, step) * direction
        return tf.assign_sub(var, move) if indices is None else tf.scatter_add(var, indices, -move)

    def _matrix_root(self, grad: tf.Tensor, var: Any, axis: int, exponent: Any, step: tf.Tensor) -> tf.Tensor:
        slot, size = self.get_slot(var, f"Gbar_{axis}"), var.shape.as_list()[axis]
        others = [each for each in builtins.range(var.shape.ndims) if each != axis]
        interval, svd_interval = _at(self._precond_update_interval, step), _at(self._svd_interval, step)

        def updated() -> tf.Tensor:
            outer = tensordot(grad, grad, axes=(others, others), name=f"grad_outer_{axis}")
            return _decay(slot, self._mat_gbar_decay, _at(self._mat_gbar_decay, step), _at(self._mat_gbar_weight, step) * interval * outer)

        matrix = tf.cond(tf.mod(step, interval) < 1, updated, lambda: tf.convert_to_tensor(slot)) / float(size)
        if not self._keeps_roots():
            return self._power(matrix, size, exponent)
        root = self.get_slot(var, f"H_{axis}")
        return tf.cond(tf.mod(step, svd_interval) < 1, lambda: tf.convert_to_tensor(tf.assign(root, self._power(matrix, size, exponent))),
                       lambda: tf.convert_to_tensor(root))

    def _power(self, matrix: tf.Tensor, size: int, exponent: Any) -> tf.Tensor:
        with tf.name_scope("matrix_iterative_power"):
            if self._use_iterative_root:
                root = matrix_square_root(matrix, size, 100, self._epsilon)
                return matrix_inverse_pth_root(root, size, 2 * exponent, 100, 1e-6, ridge_epsilon=0.0)
            if size == 1:
                return tf.pow(matrix + self._epsilon, exponent)
            values, left, right = svd(matrix + self._epsilon * tf.eye(size), full_matrices=True)
            return tf.matmul(right * tf.pow(tf.maximum(values, self._epsilon), exponent), tf.transpose(left))

    def _diagonal_root(self, grad: tf.Tensor, var: Any, axis: int, exponent: Any, step: tf.Tensor, indices: tf.Tensor | None) -> tf.Tensor:
        slot, others = self.get_slot(var, f"Gbar_{axis}"), [each for each in builtins.range(var.shape.ndims) if each != axis]
        squares = tf.square(grad)
        if others:
            squares = tf.reduce_sum(squares, axis=others) / (1.0 if indices is not None else float(var.shape.as_list()[axis]))
        squares = _at(self._mat_gbar_weight, step) * squares
        if axis == 0 and indices is not None:
            if self._mat_gbar_decay != 1.0:
                raise ValueError(f"Shampoo cannot decay rows of {var.name}, whose gradient is sparse: mat_gbar_decay must be 1.0, "
                                 f"not {self._mat_gbar_decay}")
            sums = tf.gather(tf.scatter_add(slot, indices, squares), indices)
        else:
            sums = _decay(slot, self._mat_gbar_decay, _at(self._mat_gbar_decay, step), squares)
        return tf.where(tf.greater(sums, 0), tf.pow(sums, exponent), tf.zeros_like(sums))


class GGTOptimizer(Optimizer):
    """``tf.contrib.opt.GGTOptimizer``: preconditions by the last ``window`` gradients of all variables at once (Agarwal et al., 2018)."""

    def __init__(self, learning_rate: Any = 0.001, beta1: Any = 0.9, use_locking: bool = False, name: str = "GGT", window: int = 10,
                 eps: Any = 0.0001, svd_eps: Any = 1e-6, sigma_eps: Any = 0.01) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._window, self._eps, self._svd_eps, self._sigma_eps = \
            learning_rate, beta1, window, eps, svd_eps, sigma_eps
        self._spans: dict[str, tuple[int, int]] = {}  # where the numbers of each variable stand among those of all

    def _create_slots(self, var_list: list[Any]) -> None:
        start, dtype = 0, var_list[0].dtype.base_dtype
        for var in sorted(var_list, key=lambda var: var.name):
            self._spans[var.name] = (start, start + var.shape.num_elements())
            start += var.shape.num_elements()
        first = var_list[0]
        for name, value in (("global_step", tf.zeros([], dtype)), ("grad_buffer", tf.zeros([self._window, start], dtype)),
                            ("moment1", tf.zeros([start], dtype)), ("flat_grad", tf.zeros([start], dtype))):
            self._create_non_slot_variable(value, name, first)

    def _prepare(self) -> None:
        self._updated: list[Any] = []

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> Any:
        self._updated.append(var)
        rows = tf.range(*self._spans[var.name])
        return tf.scatter_update(self._get_non_slot_variable("flat_grad"), rows, tf.reshape(grad, [-1]))

    def _resource_apply_dense(self, grad: tf.Tensor, handle: Any) -> Any:
        return self._apply_dense(grad, handle)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        dtype = self._updated[0].dtype.base_dtype
        lr, beta1, eps, svd_eps, sigma_eps = (tf.cast(self._call_if_callable(each), dtype) for each in (
            self._learning_rate, self._beta1, self._eps, self._svd_eps, self._sigma_eps))
        counter, buffer, moment, flat = (self._get_non_slot_variable(name) for name in ("global_step", "grad_buffer", "moment1", "flat_grad"))
        with tf.control_dependencies(update_ops):
            step = tf.convert_to_tensor(tf.assign_add(counter, tf.ones([], dtype)))
            mean = tf.convert_to_tensor(tf.assign(moment, beta1 * moment + (1 - beta1) * flat.read_value()))
            rows = tf.convert_to_tensor(tf.scatter_update(buffer, tf.mod(tf.cast(step - 1, tf.int32), self._window), mean))
        move = self._precondition(rows / tf.sqrt(tf.minimum(step, tf.cast(self._window, dtype))), tf.expand_dims(mean, -1), eps, svd_eps, sigma_eps)
        moves = []
        for var in self._updated:
            start, end = self._spans[var.name]
            moves.append(tf.assign_sub(var, lr * tf.reshape(move[start:end], var.shape)))
        return tf.group(*update_ops, *moves, name=name_scope)

    def _precondition(self, rows: tf.Tensor, mean: tf.Tensor, eps: tf.Tensor, svd_eps: tf.Tensor, sigma_eps: tf.Tensor) -> tf.Tensor:
        """The mean times (sigma_eps + sqrt(G G^T))^-1, as far as the rows of G span it, and what is left, scaled by the smallest of them."""
        gram = tf.matmul(rows, rows, transpose_b=True) + tf.eye(self._window, dtype=rows.dtype) * svd_eps
        sigma, basis, _ = svd(gram)
        roots = tf.sqrt(sigma)
        within = tf.matmul(basis, tf.matmul(rows, mean), transpose_a=True)

        def back(scales: tf.Tensor) -> tf.Tensor:
            return tf.matmul(rows, tf.matmul(basis, tf.expand_dims(scales, -1) * within), transpose_a=True)

        head, least = back(1 / tf.pow(roots + sigma_eps, 3)), tf.reduce_min(roots)
        return tf.cond(least > eps, lambda: head + (mean - back(1 / sigma)) / least, lambda: tf.identity(head))
