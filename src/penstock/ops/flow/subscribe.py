"""Side effects of tensors: what reads a subscribed tensor afterwards reads an identity that runs after the side effects."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies, device, name_scope
from penstock.ops.constant import identity

_SCOPE = "/subscription/"
_IDENTITY = _SCOPE + "Identity"

SideEffect = Callable[[Tensor], Iterable[Any]]


def subscribe(tensors: Any, side_effects: SideEffect | Iterable[SideEffect]) -> Any:
    """The tensors (one, or lists, tuples and dicts of them) as identities that wait for the operations that ``side_effects`` make of each.

    What consumed a tensor consumes its identity from now on, and what waited for its operation waits for that of the identity. Subscribing a
    tensor again adds to the side effects that it has. Resources and variants, which have no values, stay as they are.
    """
    effects = [side_effects] if callable(side_effects) else list(side_effects)
    if isinstance(tensors, Tensor):
        return _subscribe(tensors, effects)
    if hasattr(tensors, "initialized_value"):  # a variable: its value is what is read
        return _subscribe(tensors.value(), effects)
    if isinstance(tensors, (list, tuple)):
        parts = [subscribe(tensor, effects) for tensor in tensors]
        return type(tensors)(*parts) if hasattr(tensors, "_fields") else type(tensors)(parts)
    if isinstance(tensors, dict):
        return {key: subscribe(tensor, effects) for key, tensor in tensors.items()}
    raise TypeError(f"subscribe argument {tensors!r} has invalid type {type(tensors)!r}")


def is_subscribed_identity(tensor: Tensor) -> bool:
    """Whether ``subscribe`` made this tensor."""
    if tensor.op.type != "Identity" or tensor.dtype.is_ref:
        return False
    return (tensor.op.name.startswith(tensor.op.inputs[0].op.name + _IDENTITY))


def _subscribe(tensor: Tensor, effects: list[SideEffect]) -> Tensor:
    if not tensor.dtype.is_numpy_compatible:
        return tensor
    made = tensor if is_subscribed_identity(tensor) else next(
        (op.outputs[0] for op in tensor.consumers() if op.outputs and is_subscribed_identity(op.outputs[0]) and op.inputs[0] is tensor), None)
    with tensor.graph.as_default(), device(tensor.op.device):
        if made is None:
            return _new(tensor, effects)
        made.op._add_control_inputs(_run(made.op.inputs[0], effects))
        return made


def _run(tensor: Tensor, effects: list[SideEffect]) -> list[Operation]:
    """The operations of the side effects, in the scope of the tensor's operation."""
    with name_scope(tensor.op.name + _SCOPE):
        parts = [part for effect in effects for part in _as_list(effect(tensor))]
    return [part.op if isinstance(part, Tensor) else part for part in parts]


def _as_list(parts: Any) -> Iterable[Any]:
    return parts if isinstance(parts, (list, tuple)) else [parts]


def _new(tensor: Tensor, effects: list[SideEffect]) -> Tensor:
    consumers = [(op, index) for op in tensor.consumers() for index, each in enumerate(op.inputs) if each is tensor]
    waiting = [op for op in tensor.graph.get_operations() if tensor.op in op.control_inputs or
               any(is_identity_of(other, tensor.op) for other in op.control_inputs)]
    with control_dependencies(_run(tensor, effects)), name_scope(tensor.op.name + _SCOPE):
        result = identity(tensor)
    for op, index in dict.fromkeys(consumers):
        op._update_input(index, result)
    for op in waiting:
        kept = [other for other in op.control_inputs if other is not tensor.op]
        op._remove_all_control_inputs()
        op._add_control_inputs([*kept, result.op])
    return result


def is_identity_of(op: Operation, source: Operation) -> bool:
    """Whether ``subscribe`` made ``op`` for an output of ``source``: what waited for an operation waits for the identities of all its outputs."""
    return bool(op.outputs) and is_subscribed_identity(op.outputs[0]) and op.inputs[0].op is source
