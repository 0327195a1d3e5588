"""Updates of an optimizer that imperative style records as one block: see ``imperative/repeats.py``.

What an update depends on: the variables, types and shapes of the gradients, and the hyperparameters, which are arguments of the block. That holds for
the optimizers of ``rules.py``; a subclass of the program's own may do anything in its methods, so its updates are recorded one by one.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.graph.composite import IndexedSlices
from penstock.graph.node import Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.variables.resource_variable import ResourceVariable

Pairs = list[tuple[Any, Any]]


def key_of(graph: EagerGraph, pairs: Pairs, global_step: Any) -> Any:
    """What an update is known by; None if it has to be recorded one by one."""
    parts: list[Any] = [global_step.handle._edge[0]._id if isinstance(global_step, ResourceVariable) else global_step]  # type: ignore[attr-defined]
    for grad, variable in pairs:
        if not isinstance(variable, ResourceVariable) or variable.constraint is not None or not variable.handle.imperative:
            return None
        parts.append(variable.handle._edge[0]._id)  # type: ignore[attr-defined]
        for tensor in _tensors_of(grad):
            if tensor is not None and not tensor.imperative:
                return None
            parts.append(None if tensor is None else (tensor._dtype, tensor._shape.extents))
    return tuple(parts) if not graph._state.devices else None


def tensors_of(pairs: Pairs) -> list[Tensor]:
    """The tensors of all gradients."""
    return [tensor for grad, _ in pairs for tensor in _tensors_of(grad) if tensor is not None]


def with_tensors(pairs: Pairs, tensors: Sequence[Tensor]) -> Pairs:
    """The same pairs, whose gradients are these tensors."""
    rest = iter(tensors)
    return [(_gradient_of(grad, rest), variable) for grad, variable in pairs]


def _tensors_of(grad: Any) -> tuple[Any, ...]:
    return (grad.values, grad.indices, grad.dense_shape) if isinstance(grad, IndexedSlices) else (grad,)


def _gradient_of(grad: Any, tensors: Iterator[Tensor]) -> Any:
    if not isinstance(grad, IndexedSlices):
        return next(tensors)
    values, indices = next(tensors), next(tensors)
    return IndexedSlices(values, indices, None if grad.dense_shape is None else next(tensors))
