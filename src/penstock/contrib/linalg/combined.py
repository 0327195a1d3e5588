"""Operators that are made of others: products, blocks on a diagonal, adjoints, inverses."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.linear_operator import adjoint as adjoint_of


def _check(operators: Any) -> list[LinearOperator]:
    operators = list(operators)
    if not operators:
        raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
    if len({operator.dtype for operator in operators}) > 1:
        described = ", ".join(f"{operator.name}: {operator.dtype}" for operator in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found: {described}")
    return operators


class Several(LinearOperator):
    """What operators over several others share."""

    def __init__(self, operators: Any, joined: str, is_non_singular: bool | None, is_self_adjoint: bool | None, is_positive_definite: bool | None,
                 is_square: bool | None, name: str | None) -> None:
        self._operators = _check(operators)
        if all(operator.is_non_singular for operator in self._operators):
            if is_non_singular is False:
                raise ValueError("The operators are all non-singular, and so is this one, but the hint says otherwise.")
            is_non_singular = True
        name = name or joined.join(operator.name for operator in self._operators)
        with tf.name_scope(name):
            super().__init__(dtype=self._operators[0].dtype, graph_parents=[parent for each in self._operators for parent in each.graph_parents],
                             is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite,
                             is_square=is_square, name=name)

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators that it is made of."""
        return self._operators

    def _batch(self) -> tf.TensorShape:
        return reduce(tf.broadcast_static_shape, (operator.batch_shape for operator in self.operators))

    def _batch_tensor(self) -> tf.Tensor:
        return reduce(tf.broadcast_dynamic_shape, (operator.batch_shape_tensor() for operator in self.operators))

    def _combine(self, extents: list[Any], fold: Callable[[Any], Any]) -> Any:
        known = [tf.dimension_value(extent) for extent in extents]
        return None if None in known else fold(known)

    def _assert_all(self, what: str) -> Any:
        return tf.group(*(getattr(operator, what)() for operator in self.operators))


class LinearOperatorComposition(Several):
    """``tf.linalg.LinearOperatorComposition``: the product of operators, the last of which is applied first."""

    def __init__(self, operators: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        super().__init__(operators, "_o_", is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _shape(self) -> tf.TensorShape:
        for first, second in zip(self.operators, self.operators[1:]):
            first.domain_dimension.assert_is_compatible_with(second.range_dimension)
        return self._batch().concatenate([self.operators[0].range_dimension, self.operators[-1].domain_dimension])

    def _shape_tensor(self) -> tf.Tensor:
        matrix = tf.stack([self.operators[0].range_dimension_tensor(), self.operators[-1].domain_dimension_tensor()])
        return tf.concat([self._batch_tensor(), matrix], 0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        order = self.operators if adjoint else self.operators[::-1]
        result = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            result = operator.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        order = self.operators[::-1] if adjoint else self.operators
        result = order[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            result = operator.solve(result, adjoint=adjoint)
        return result

    def _determinant(self) -> tf.Tensor:
        return reduce(lambda a, b: a * b, (operator.determinant() for operator in self.operators))

    def _log_abs_determinant(self) -> tf.Tensor:
        return reduce(lambda a, b: a + b, (operator.log_abs_determinant() for operator in self.operators))

    def _assert_non_singular(self) -> Any:
        if all(operator.is_square for operator in self.operators):
            return self._assert_all("assert_non_singular")
        return super()._assert_non_singular()


class LinearOperatorBlockDiag(Several):
    """``tf.linalg.LinearOperatorBlockDiag``: operators along the diagonal, zeros elsewhere."""

    def __init__(self, operators: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = True, name: str | None = None) -> None:
        operators = list(operators)
        for hint in ("is_self_adjoint", "is_positive_definite"):
            if operators and all(getattr(operator, hint) for operator in operators):
                is_self_adjoint = True if hint == "is_self_adjoint" else is_self_adjoint
                is_positive_definite = True if hint == "is_positive_definite" else is_positive_definite
        super().__init__(operators, "_ds_", is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _shape(self) -> tf.TensorShape:
        rows = self._combine([operator.range_dimension for operator in self.operators], sum)
        columns = self._combine([operator.domain_dimension for operator in self.operators], sum)
        return self._batch().concatenate([rows, columns])

    def _shape_tensor(self) -> tf.Tensor:
        rows = tf.add_n([operator.range_dimension_tensor() for operator in self.operators])
        columns = tf.add_n([operator.domain_dimension_tensor() for operator in self.operators])
        return tf.concat([self._batch_tensor(), tf.stack([rows, columns])], 0)

    def _by_block(self, method: str, value: tf.Tensor, adjoint: bool, adjoint_arg: bool, by_rows: bool) -> tf.Tensor:
        """``method`` of each operator on its rows of ``value``."""
        value = adjoint_of(value) if adjoint_arg else value
        extents = [(operator.range_dimension_tensor() if by_rows else operator.domain_dimension_tensor()) for operator in self.operators]
        parts = tf.split(value, tf.stack(extents), axis=-2, num=len(extents))
        batch = tf.broadcast_dynamic_shape(self.batch_shape_tensor(), tf.shape(value)[:-2])
        results = []
        for operator, part in zip(self.operators, parts):
            result = getattr(operator, method)(part, adjoint=adjoint)
            results.append(tf.broadcast_to(result, tf.concat([batch, tf.shape(result)[-2:]], 0)))
        return tf.concat(results, axis=-2)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._by_block("matmul", x, adjoint, adjoint_arg, by_rows=adjoint)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._by_block("solve", rhs, adjoint, adjoint_arg, by_rows=not adjoint)

    def _determinant(self) -> tf.Tensor:
        return reduce(lambda a, b: a * b, (operator.determinant() for operator in self.operators))

    def _log_abs_determinant(self) -> tf.Tensor:
        return reduce(lambda a, b: a + b, (operator.log_abs_determinant() for operator in self.operators))

    def _trace(self) -> tf.Tensor:
        return reduce(lambda a, b: a + b, (operator.trace() for operator in self.operators))

    def _assert_non_singular(self) -> Any:
        return self._assert_all("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return self._assert_all("assert_positive_definite")


class LinearOperatorAdjoint(LinearOperator):
    """``tf.linalg.LinearOperatorAdjoint``: the conjugate transpose of an operator."""

    def __init__(self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        self._operator = operator
        name = name or f"{operator.name}_adjoint"
        hints = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite,
                 "is_square": is_square}
        for hint, value in hints.items():
            own = getattr(operator, hint)
            if value is not None and own is not None and value != own:
                raise ValueError(f"operator {operator.name} and its adjoint differ in the hint {hint}.")
            hints[hint] = own if value is None else value
        with tf.name_scope(name):
            super().__init__(dtype=operator.dtype, graph_parents=operator.graph_parents, name=name, **hints)

    @property
    def operator(self) -> LinearOperator:
        """The operator whose adjoint this is."""
        return self._operator

    def _shape(self) -> tf.TensorShape:
        return self.operator.batch_shape.concatenate([self.operator.domain_dimension, self.operator.range_dimension])

    def _shape_tensor(self) -> tf.Tensor:
        shape = self.operator.shape_tensor()
        return tf.concat([shape[:-2], shape[-1:], shape[-2:-1]], 0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> tf.Tensor:
        return tf.conj(self.operator.determinant()) if self.dtype.is_complex else self.operator.determinant()

    def _log_abs_determinant(self) -> tf.Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> tf.Tensor:
        return tf.conj(self.operator.trace()) if self.dtype.is_complex else self.operator.trace()

    def _to_dense(self) -> tf.Tensor:
        return adjoint_of(self.operator.to_dense())

    def _assert_non_singular(self) -> Any:
        return self.operator.assert_non_singular()


class LinearOperatorInversion(LinearOperator):
    """``tf.linalg.LinearOperatorInversion``: the inverse of an operator, never written out: a product with it solves."""

    def __init__(self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        self._operator = operator
        if operator.is_square is False or operator.is_non_singular is False or is_non_singular is False:
            raise ValueError(f"operator {operator.name} must be square and non-singular to have an inverse.")
        name = name or f"{operator.name}_inv"
        with tf.name_scope(name):
            super().__init__(dtype=operator.dtype, graph_parents=operator.graph_parents, is_non_singular=True,
                             is_self_adjoint=operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
                             is_positive_definite=operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
                             is_square=True, name=name)

    @property
    def operator(self) -> LinearOperator:
        """The operator whose inverse this is."""
        return self._operator

    def _shape(self) -> tf.TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> tf.Tensor:
        return self.operator.shape_tensor()

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> tf.Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> tf.Tensor:
        return -1.0 * self.operator.log_abs_determinant()

    def _assert_non_singular(self) -> Any:
        return self.operator.assert_non_singular()
