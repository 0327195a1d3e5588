"""How a failing kernel becomes an error for people."""
from __future__ import annotations

from typing import Any

from penstock import errors
from penstock.errors import KernelError, OpError
from penstock.execute.recheck import complaint
from penstock.ops.flow.functional import in_iteration
from penstock.program.failure import InnerFailure
from penstock.program.ir import Node
from penstock.state.resources import Ref, held_value

_TOO_LARGE = ("array is too big", "Maximum allowed dimension exceeded", "maximum supported dimension")  # NumPy's words
_INVALID = (ValueError, TypeError, IndexError, ArithmeticError, LookupError)


def describe(error: Exception, node: Node, inputs: list[Any]) -> OpError:
    """The error for people: what happened, in which op on which device, with which inputs, made where, and what to try."""
    if isinstance(error, OpError):
        return error
    if isinstance(error, InnerFailure):
        described = describe(error.error, error.node, error.inputs)
        for loop, iteration in error.loops:
            described = in_iteration(described, iteration, loop.name, loop.origin)
        return described
    hint, cause = "", error.__cause__ if isinstance(error, KernelError) else error
    if isinstance(error, (AttributeError, TypeError)) and not isinstance(error, KernelError) and (kind := _wrong_kind(error, inputs)) is not None:
        error, cause = errors.invalid_argument(f"Trying to access a resource of the wrong kind: this op cannot use a {kind}"), None
    if isinstance(error, _INVALID) and (text := complaint(node, inputs)) is not None:
        error, cause = KernelError(errors.InvalidArgumentError, text), None
    if isinstance(error, KernelError):
        cls, message, hint = error.error_class, error.message, error.hint
    elif isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(_TOO_LARGE)):
        cls, message = errors.ResourceExhaustedError, f"out of memory: {error}"
    elif isinstance(error, _INVALID):
        cls, message = errors.InvalidArgumentError, str(error) or type(error).__name__
    else:
        cls, message = errors.InternalError, f"{type(error).__name__}: {error}"
    lines = [message, f"  op: '{node.name}' (type {node.definition.type}) on {node.device or 'no device'}"]
    if inputs:
        names = [f"{producer.origin.name if producer.origin is not None else producer.name}:{index}" for producer, index in node.inputs]
        lines.append("  inputs: " + ", ".join(f"{name} {_type_and_shape(value)}" for name, value in zip(names, inputs)))
    if node.origin is not None and node.origin.origin:
        lines.append(f"  made at: {node.origin.origin}")
    if hint:
        lines.append(f"  try: {hint}")
    described = cls(None, node.origin, "\n".join(lines))
    described.__cause__ = cause  # KernelErrors say it all; of other errors the original traceback is kept
    return described


def waiting_at(node: Node, inputs: list[Any]) -> str:
    """The name of a node that waits, and of the queue or other resource that it waits at."""
    return f"'{node.name}'" + "".join(f" at {item.kind} '{item.name}'" for item in inputs if hasattr(item, "kind"))


def _wrong_kind(error: Exception, inputs: list[Any]) -> str | None:
    """The kind of an input that the kernel took for something else (a variable for a queue), if that is what the error says."""
    kinds = [type(value).__name__ for value in inputs if hasattr(value, "__dict__") or isinstance(value, Ref)]
    return next((kind for kind in kinds if f"'{kind}'" in str(error)), None)


def _type_and_shape(value: Any) -> str:
    value = held_value(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{'string' if value.dtype == object else value.dtype}{list(value.shape)}"
    return "uninitialized" if value is None else type(value).__name__
