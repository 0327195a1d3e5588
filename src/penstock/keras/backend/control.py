"""Decisions, loops and phases: functions of ``tf.keras.backend``."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.graph import dtypes
from penstock.layers.branching import learning_phase, phase_state, set_learning_phase
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.permute import tile
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, shape
from penstock.ops.flow import functional_loops
from penstock.ops.flow.control_flow import cond


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """``tf.keras.backend.switch``: one of two values, as a whole or elementwise."""
    condition = condition if condition.dtype == dtypes.bool_ else cast(condition, dtypes.bool_)

    def branch(expression: Any) -> Callable[[], Any]:
        return expression if callable(expression) else lambda: expression

    if condition.shape.ndims == 0:
        return cond(condition, branch(then_expression), branch(else_expression))
    then, other = branch(then_expression)(), branch(else_expression)()
    rank, wanted = condition.shape.ndims, then.shape.ndims
    if rank > wanted:
        raise ValueError(f"Rank of `condition` should be less than or equal to rank of `then_expression` and `else_expression`. "
                         f"ndim(condition)={rank}, ndim(then_expression)={wanted}")
    if rank > 1:
        for _ in range(wanted - rank):
            condition = expand_dims(condition, -1)
        extents = shape(then)
        condition = tile(condition, where(extents > shape(condition), extents, ones_like(extents)))
    return where(condition, then, other)


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """``tf.keras.backend.in_train_phase``: ``x`` in training, else ``alt``; both may be functions."""
    training = learning_phase() if training is None else training
    if isinstance(training, (bool, int)) and training in (0, 1):
        chosen = x if training else alt
        return chosen() if callable(chosen) else chosen
    return switch(training, x, alt)


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """``tf.keras.backend.in_test_phase``: ``x`` in inference, else ``alt``."""
    return in_train_phase(alt, x, training=training)


@contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """``tf.keras.backend.learning_phase_scope``: inside, the phase is ``value``."""
    state = phase_state()
    before = list(state)
    set_learning_phase(value)
    try:
        yield
    finally:
        state[:] = before


def map_fn(fn: Callable[..., Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """``tf.keras.backend.map_fn``."""
    return functional_loops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.foldl``."""
    return functional_loops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.foldr``."""
    return functional_loops.foldr(fn, elems, initializer=initializer, name=name)
