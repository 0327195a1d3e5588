"""Inputs that are moved to other tensors, and control inputs that are added and removed. A session notices that its graph has changed."""
from __future__ import annotations

from typing import Any

from penstock.contrib.graph_editor.elements import joined, make_list_of_op, make_list_of_t
from penstock.graph.node import Operation, Tensor


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """``reroute_ts``: what used a tensor of ``ts1`` uses that of ``ts0`` from now on; how many inputs were moved."""
    return sum(_move(old, new, users) for new, old, _, users in _pairs(ts0, ts1, can_modify, cannot_modify))


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """``swap_ts``: what used a tensor of ``ts0`` uses that of ``ts1`` from now on, and the other way round."""
    return sum(_move(second, first, second_users) + _move(first, second, first_users)
               for first, second, first_users, second_users in _pairs(ts0, ts1, can_modify, cannot_modify))


Users = list[tuple[Operation, int]]  # with the number of the input


def _pairs(ts0: Any, ts1: Any, can_modify: Any, cannot_modify: Any) -> list[tuple[Tensor, Tensor, Users, Users]]:
    """(first, second, users of the first, users of the second), before anything is moved."""
    first, second = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(first) != len(second):
        raise ValueError(f"ts0 and ts1 have different sizes: {len(first)} != {len(second)}")
    for one, other in zip(first, second):
        if not one.dtype.is_compatible_with(other.dtype):
            raise ValueError(f"Dtypes {one.dtype} and {other.dtype} are not compatible.")
        if not one.shape.is_compatible_with(other.shape):
            raise ValueError(f"Shapes {one.shape} and {other.shape} are not compatible.")
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    refused = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))

    def users(tensor: Tensor) -> Users:
        return [(op, index) for op in joined(tensor.consumers()) if (allowed is None or op in allowed) and op not in refused
                for index, each in enumerate(op.inputs) if each is tensor]

    return [(one, other, users(one), users(other)) for one, other in zip(first, second) if one is not other]


def _move(old: Tensor, new: Tensor, users: Users) -> int:
    for op, index in users:
        op._update_input(index, new)
    return len(users)


def add_control_inputs(op: Operation, cops: Any) -> None:
    """``add_control_inputs``: ``op`` waits for ``cops``, which it must not do yet."""
    _check_op(op)
    cops = make_list_of_op(cops, allow_graph=False)
    for other in cops:
        if other in op.control_inputs:
            raise ValueError(f"{other.name} is already a control_input of {op.name}")
    op._add_control_inputs(cops)


def remove_control_inputs(op: Operation, cops: Any) -> None:
    """``remove_control_inputs``: ``op`` does not wait for ``cops`` any more."""
    _check_op(op)
    cops = make_list_of_op(cops, allow_graph=False)
    for other in cops:
        if other not in op.control_inputs:
            raise ValueError(f"{op.name} is not a control_input of {other.name}")
    kept = [other for other in op.control_inputs if other not in cops]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)


def _check_op(op: Any) -> None:
    if not isinstance(op, Operation):
        raise TypeError(f"Expected a tf.Operation, got: {type(op)}")
