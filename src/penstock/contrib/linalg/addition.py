"""Sums of operators, of the simplest kind that holds them: a multiple of the identity, a diagonal, a lower triangle, or a matrix."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.matrices import LinearOperatorDiag, LinearOperatorFullMatrix, LinearOperatorLowerTriangular

# The sum of two operators is of the kind of the later one. The last kind takes all others.
_KINDS: tuple[Any, ...] = ((LinearOperatorIdentity, LinearOperatorScaledIdentity), LinearOperatorDiag, LinearOperatorLowerTriangular)


def add_operators(operators: Sequence[LinearOperator]) -> LinearOperator:
    """One operator: the sum of all."""
    with tf.name_scope("add_operators", values=[parent for operator in operators for parent in operator.graph_parents]):
        return functools.reduce(_sum, sorted(operators, key=_kind))


def _kind(operator: LinearOperator) -> int:
    return next((place for place, kind in enumerate(_KINDS) if isinstance(operator, kind)), len(_KINDS))


def _sum(simple: LinearOperator, other: LinearOperator) -> LinearOperator:
    """The sum of two operators, of which ``other`` is not of a simpler kind."""
    positive = simple.is_positive_definite and other.is_positive_definite
    hints = {"is_non_singular": True if positive else None, "is_positive_definite": positive,
             "is_self_adjoint": simple.is_self_adjoint and other.is_self_adjoint}
    kind = _kind(other)
    if kind == 0:
        return LinearOperatorScaledIdentity(simple.range_dimension_tensor(), _multiplier(simple) + _multiplier(other), **hints)
    if kind == 1:
        return LinearOperatorDiag(simple.diag_part() + other.diag_part(), **hints)
    matrix = simple.add_to_tensor(other.to_dense())
    return LinearOperatorLowerTriangular(matrix, **hints) if kind == 2 else LinearOperatorFullMatrix(matrix, **hints)


def _multiplier(operator: Any) -> tf.Tensor:
    if isinstance(operator, LinearOperatorScaledIdentity):
        return operator.multiplier
    return tf.ones(operator.batch_shape_tensor(), dtype=operator.dtype)


def scale_operator(weight: tf.Tensor, operator: Any) -> LinearOperator:
    """``operator`` times numbers above 0, one for each matrix of the batch."""
    with tf.name_scope("linop_scale", values=[weight]):
        hints = {name: getattr(operator, name) for name in ("is_non_singular", "is_self_adjoint", "is_positive_definite")}
        if isinstance(operator, LinearOperatorIdentity):
            return LinearOperatorScaledIdentity(operator.range_dimension_tensor(), weight, **hints)
        if isinstance(operator, LinearOperatorScaledIdentity):
            return LinearOperatorScaledIdentity(operator.range_dimension_tensor(), weight * operator.multiplier, **hints)
        if isinstance(operator, LinearOperatorDiag):
            return LinearOperatorDiag(weight[..., None] * operator.diag_part(), **hints)
        if isinstance(operator, LinearOperatorLowerTriangular):
            return LinearOperatorLowerTriangular(weight[..., None, None] * operator.to_dense(), **hints)
        raise NotImplementedError(f"Unsupported Linop type ({type(operator).__name__}): an operator is scaled if it is a multiple of the identity, "
                                  "a diagonal, or a lower triangle (tf.linalg.LinearOperatorLowerTriangular)")
