"""``tf.assign``, ``tf.scatter_add``, ...: writes as functions, for both kinds of variables and for bare ref tensors."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import name_scope
from penstock.ops.array.array import batch_positions
from penstock.ops.state.state import Assign, AssignAdd, AssignSub, CountUpTo, IsVariableInitialized
from penstock.variables.variable import Variable


def assign(ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None, name: str | None = None) -> Any:
    """``tf.assign``: replaces the value of a variable; returns what has the new value.

    With ``validate_shape=False`` the shape of a variable that allows it changes too.
    """
    if isinstance(ref, Variable):
        return ref._assign("Assign", value, True if use_locking is None else use_locking, name, True, validate_shape is not False)
    if hasattr(ref, "assign"):  # a slice of a variable
        return ref.assign(value, name=name)
    return Assign(ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """``tf.assign_add``: adds to a variable."""
    if isinstance(ref, Variable):
        return ref._assign("AssignAdd", value, bool(use_locking), name, True)
    return AssignAdd(ref, value, use_locking=use_locking, name=name)


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """``tf.assign_sub``: subtracts from a variable."""
    if isinstance(ref, Variable):
        return ref._assign("AssignSub", value, bool(use_locking), name, True)
    return AssignSub(ref, value, use_locking=use_locking, name=name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """``tf.count_up_to``: the value of a counter before it is incremented; OutOfRangeError once it has reached ``limit``."""
    if isinstance(ref, Variable):
        return ref.count_up_to(limit)
    return CountUpTo(ref, limit=limit, name=name)


def _scatter(how: str, ref: Any, indices: Any, updates: Any, use_locking: bool, name: str | None) -> Any:
    if isinstance(ref, Variable):
        return ref._scatter(how, indices, updates, use_locking, name)
    return REGISTRY["Scatter" + how](ref, indices, updates, use_locking=use_locking, name=name)


def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """``tf.scatter_update``: replaces rows of a variable."""
    return _scatter("Update", ref, indices, updates, use_locking, name)


def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_add``: adds to rows of a variable; a row that is named twice gets both updates."""
    return _scatter("Add", ref, indices, updates, use_locking, name)


def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_sub``: subtracts from rows of a variable."""
    return _scatter("Sub", ref, indices, updates, use_locking, name)


def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_mul``: multiplies rows of a variable."""
    return _scatter("Mul", ref, indices, updates, use_locking, name)


def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_div``: divides rows of a variable."""
    return _scatter("Div", ref, indices, updates, use_locking, name)


def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_min``: takes the smaller of old and new elements in rows of a variable."""
    return _scatter("Min", ref, indices, updates, use_locking, name)


def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_max``: takes the larger of old and new elements in rows of a variable."""
    return _scatter("Max", ref, indices, updates, use_locking, name)


def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """``tf.scatter_nd_update``: replaces slices of a variable, each named by a vector along the last axis of ``indices``."""
    return _scatter("NdUpdate", ref, indices, updates, use_locking, name)


def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_nd_add``: adds to slices of a variable, each named by a vector along the last axis of ``indices``."""
    return _scatter("NdAdd", ref, indices, updates, use_locking, name)


def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """``tf.scatter_nd_sub``: subtracts from slices of a variable, each named by a vector along the last axis of ``indices``."""
    return _scatter("NdSub", ref, indices, updates, use_locking, name)


def batch_scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """``tf.batch_scatter_update``: ``ref[i, ..., indices[i, ..., j]] = updates[i, ..., j]``, for every combination of the leading axes."""
    with name_scope(name, "batch_scatter_update", [ref, indices, updates]):
        return scatter_nd_update(ref, batch_positions(to_tensor(indices, name="indices")), updates, use_locking)


def is_variable_initialized(variable: Any, name: str | None = None) -> Tensor:
    """``tf.is_variable_initialized``: a bool tensor, true once the variable has a value."""
    if isinstance(variable, Variable):
        return variable.is_initialized(name=name)
    return IsVariableInitialized(variable, name=name)
