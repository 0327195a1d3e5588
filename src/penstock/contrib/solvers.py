"""``tf.contrib.solvers``: linear systems, least squares and bidiagonal forms, by iterations that only multiply by an operator."""
from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.ops.nn.nn_ops import l2_loss

# --- operators and vectors (``util``) --------------------------------------------------------------------------------


class LinearOperator(NamedTuple):
    """What solvers know of a matrix."""

    shape: Any
    dtype: Any
    apply: Callable[[Any], Any]
    apply_adjoint: Callable[[Any], Any]


def _shape(matrix: Any) -> Any:
    return matrix.shape.as_list() if matrix.shape.is_fully_defined() else tf.shape(matrix)


def create_operator(matrix: Any) -> LinearOperator:
    """``create_operator``: products with a matrix."""
    return LinearOperator(_shape(matrix), matrix.dtype, lambda v: tf.matmul(matrix, v, adjoint_a=False),
                          lambda v: tf.matmul(matrix, v, adjoint_a=True))


def identity_operator(matrix: Any) -> LinearOperator:
    """``identity_operator``: the identity, of a matrix's shape."""
    return LinearOperator(_shape(matrix), matrix.dtype, lambda v: v, lambda v: v)


def dot(x: Any, y: Any) -> tf.Tensor:
    """The inner product."""
    return tf.reduce_sum(tf.conj(x) * y)


def l2norm_squared(v: Any) -> tf.Tensor:
    """The sum of squares."""
    return tf.constant(2, dtype=v.dtype.base_dtype) * l2_loss(v)


def l2norm(v: Any) -> tf.Tensor:
    """The Euclidean norm."""
    return tf.sqrt(l2norm_squared(v))


def l2normalize(v: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """A vector of norm 1, and the norm that it had."""
    norm = l2norm(v)
    return v / norm, norm


# --- iterations ------------------------------------------------------------------------------------------------------

CGState = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])
CGLSState = collections.namedtuple("CGLSState", ["i", "x", "r", "p", "gamma"])
LanczosBidiagState = collections.namedtuple("LanczosBidiagState", ["u", "v", "alpha", "beta"])


def _iterate(state: Any, goes_on: Callable[[Any, Any], Any], step: Callable[[Any, Any], Any]) -> Any:
    """The state when the iteration ends, with vectors instead of columns."""
    _, state = tf.while_loop(goes_on, lambda i, state: (i + 1, step(i, state)), [state.i, state])
    return state._replace(x=tf.squeeze(state.x), r=tf.squeeze(state.r), p=tf.squeeze(state.p))


def conjugate_gradient(operator: Any, rhs: Any, preconditioner: Any = None, x: Any = None, tol: float = 1e-4, max_iter: int = 20,
                       name: str = "conjugate_gradient") -> CGState:
    """``conjugate_gradient``: solves ``A x = rhs`` for a positive definite, self-adjoint operator (Hestenes and Stiefel 1952)."""
    def conditioned(r: Any) -> Any:
        return r if preconditioner is None else preconditioner.apply(r)

    def step(i: Any, state: CGState) -> CGState:
        z = operator.apply(state.p)
        alpha = state.gamma / dot(state.p, z)
        r = state.r - alpha * z
        q = conditioned(r)
        gamma = dot(r, q)
        return CGState(i + 1, state.x + alpha * state.p, r, q + gamma / state.gamma * state.p, gamma)

    with tf.name_scope(name):
        rhs = tf.expand_dims(rhs, -1)
        if x is None:
            x, r = tf.expand_dims(tf.zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1), rhs
        else:
            x = tf.expand_dims(x, -1)
            r = rhs - operator.apply(x)
        p = conditioned(r)
        bound = tol * tf.norm(r)
        return _iterate(CGState(tf.constant(0, dtype=tf.int32), x, r, p, dot(r, p)),
                         lambda i, state: tf.logical_and(i < max_iter, tf.norm(state.r) > bound), step)


def cgls(operator: Any, rhs: Any, tol: float = 1e-6, max_iter: int = 20, name: str = "cgls") -> CGLSState:
    """``cgls``: the least squares solution of ``A x = rhs``, by conjugate gradients of the normal equations."""
    def step(i: Any, state: CGLSState) -> CGLSState:
        q = operator.apply(state.p)
        alpha = state.gamma / l2norm_squared(q)
        r = state.r - alpha * q
        s = operator.apply_adjoint(r)
        gamma = l2norm_squared(s)
        return CGLSState(i + 1, state.x + alpha * state.p, r, s + gamma / state.gamma * state.p, gamma)

    with tf.name_scope(name):
        rhs = tf.expand_dims(rhs, -1)
        s = operator.apply_adjoint(rhs)
        gamma = l2norm_squared(s)
        bound = tol * tol * gamma
        x = tf.expand_dims(tf.zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1)
        return _iterate(CGLSState(tf.constant(0, dtype=tf.int32), x, rhs, s, gamma),
                         lambda i, state: tf.logical_and(i < max_iter, state.gamma > bound), step)


# --- bidiagonal forms ------------------------------------------------------------------------------------------------


def _column(rows: Any, i: Any) -> tf.Tensor:
    return tf.expand_dims(rows.read(i), -1)


def _orthogonalize(count: Any, basis: Any, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """What is left of ``v`` without its parts along the first vectors of the basis, of norm 1; and the norm that it had."""
    def once(v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def remove(j: Any, v: tf.Tensor) -> tuple[Any, tf.Tensor]:
            vector = _column(basis, j)
            less = v - tf.matmul(vector, v, adjoint_a=True) * vector
            less.set_shape(v.shape)
            return j + 1, less

        _, less = tf.while_loop(lambda j, v: j < count, remove, [tf.constant(0, dtype=tf.int32), v])
        return l2normalize(less)

    before = l2norm(v)
    unit, norm = once(v)
    # Where much was removed, rounding has left a part: it is removed again (Parlett 1980, pp. 105-109).
    return tf.cond(norm < 0.7071 * before, lambda: once(v), lambda: (unit, norm))  # type: ignore[no-any-return]


def lanczos_bidiag(operator: Any, k: int, orthogonalize: bool = True, starting_vector: Any = None,
                   name: str = "lanczos_bidiag") -> LanczosBidiagState:
    """``lanczos_bidiag``: ``A V = U B`` with orthonormal columns and a lower bidiagonal B (diagonal alpha, below it beta)."""
    def rows(size: int, name: str) -> Any:
        return tf.TensorArray(dtype=operator.dtype, size=size, tensor_array_name=name, clear_after_read=False)

    def normalized(count: Any, basis: Any, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return _orthogonalize(count, basis, v) if orthogonalize else l2normalize(v)

    def step(i: Any, state: LanczosBidiagState) -> tuple[Any, LanczosBidiagState]:
        u = _column(state.u, i)
        r = operator.apply_adjoint(u)
        shape = r.shape
        r = tf.cond(i > 0, lambda: r - state.beta.read(i - 1) * _column(state.v, i - 1), lambda: r)
        r.set_shape(shape)
        v, alpha = normalized(i - 1, state.v, r)
        new_u, beta = normalized(i, state.u, operator.apply(v) - alpha * u)
        return i + 1, LanczosBidiagState(state.u.write(i + 1, tf.squeeze(new_u)), state.v.write(i, tf.squeeze(v)), state.alpha.write(i, alpha),
                                         state.beta.write(i, beta))

    with tf.name_scope(name):
        if starting_vector is None:
            starting_vector = tf.random_uniform(operator.shape[:1], -1, 1, dtype=operator.dtype)
        first, _ = l2normalize(starting_vector)
        state = LanczosBidiagState(rows(k + 1, "u").write(0, tf.squeeze(first)), rows(k, "v"), rows(k, "alpha"), rows(k, "beta"))
        _, state = tf.while_loop(lambda i, _: i < k, step, [tf.constant(0, dtype=tf.int32), state])
        return LanczosBidiagState(tf.matrix_transpose(state.u.stack()), tf.matrix_transpose(state.v.stack()), state.alpha.stack(),
                                  state.beta.stack())


def bidiag_matmul(matrix: Any, alpha: Any, beta: Any, adjoint_b: bool = False, name: str = "bidiag_matmul") -> tf.Tensor:
    """``bidiag_matmul``: a matrix times a lower bidiagonal one, or times its adjoint."""
    with tf.name_scope(name):
        alpha = tf.expand_dims(alpha, 0)
        if not adjoint_b:
            return matrix[:, :-1] * alpha + matrix[:, 1:] * tf.expand_dims(beta, 0)
        nothing = tf.expand_dims(tf.zeros(tf.shape(matrix)[:1], dtype=matrix.dtype), 1)
        return matrix * alpha + tf.concat([nothing, matrix[:, :-1] * tf.expand_dims(beta[:-1], 0)], 1)
