"""Ops that pass values on: with or without gradients, checked, or several at once."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import SHAPE, STRING, TYPE, type_list
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import as_shape
from penstock.ops.common import FLOATS, like, shape_text
from penstock.ops.constant import Passing


@op("StopGradient", "input: T -> output: T", T=TYPE)
class StopGradient(Passing):
    """The input; gradients end here. Of a reference variable it is not a copy, like Identity."""

    forwards_reference = True
    gradient = None


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """``tf.stop_gradient``: the input, as a constant for gradients."""
    return StopGradient(input, name=name)


@op("PreventGradient", "input: T -> output: T", T=TYPE, message="")
class PreventGradient(Passing):
    """The input; asking for a gradient through it is an error. Of a reference variable it is not a copy, like Identity."""

    forwards_reference = True

    def gradient(op, dy):
        raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message']!r}")


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    """``tf.raw_ops.PreventGradient``: the input; asking for a gradient through it is an error."""
    return PreventGradient(input, message=message, name=name)


@op("CheckNumerics", "tensor: T -> output: T", T=FLOATS, message=STRING)
class CheckNumerics:
    """The input; an error if it holds a NaN or an infinity."""

    stateful = aliases = watches = True  # it must run even if its result is not needed
    shape = like("tensor")

    def kernel(tensor, message):
        if not np.isfinite(tensor).all():
            nan, inf = bool(np.isnan(tensor).any()), bool(np.isinf(tensor).any())
            kinds = "Inf and NaN" if nan and inf else "NaN" if nan else "Inf"
            raise invalid_argument(f"{message} : Tensor had {kinds} values")
        return tensor

    def compose(b, tensor):
        wide = b.wide(tensor)
        b.refuse(b.is_nan(wide - wide))  # of an infinity it is a NaN
        return tensor

    def gradient(op, dy):
        return CheckNumerics(dy, message=f"Not a number (NaN) or infinity (Inf) values detected in gradient. {op.attrs['message']}")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """``tf.check_numerics``: the input; an error with ``message`` if it holds a NaN or an infinity."""
    return CheckNumerics(tensor, message=message, name=name)


@op("Snapshot", "input: T -> output: T", T=TYPE)
class Snapshot:
    """A copy of the input."""

    elementwise = rearranges = forwards = True
    shape = like("input")

    def kernel(input):
        return np.array(input)

    def lower(b, input):
        return input

    def native(emit, input):
        return emit.move.copy_of(input)

    def gradient(op, dy):
        return dy


@op("GuaranteeConst", "input: T -> output: T", T=TYPE)
class GuaranteeConst:
    """The input; the program promises that it is the same in every step."""

    stateful = aliases = True  # as in TensorFlow: never folded before its input is final
    shape = like("input")

    def kernel(input):
        return input

    gradient = None


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """``tf.guarantee_const``: the input, promised to be the same in every step."""
    return GuaranteeConst(input, name=name)


@op("EnsureShape", "input: T -> output: T", shape=SHAPE, T=TYPE)
class EnsureShape:
    """The input; an error if it does not have this shape."""

    aliases = rearranges = True

    def shape(input, shape):
        return input.shape.merge_with(shape)

    def kernel(input, shape):
        if not shape.is_compatible_with(np.shape(input)):
            raise invalid_argument(f"Shape of tensor {shape_text(input)} is not compatible with expected shape {shape}.")
        return input

    def native(emit, input, shape):
        return input if shape.is_compatible_with(input.shape) else emit.unsupported(f"the shape is not compatible with {shape}")

    def gradient(op, dy):
        return dy


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """``tf.ensure_shape``: the input, known from here on to have this shape; an error in a step where it has not."""
    return EnsureShape(x, shape=as_shape(shape), name=name)


@op("IdentityN", "input: T -> output: T", T=type_list(1))
class IdentityN:
    """Several inputs, passed on together."""

    def shape(input):
        return [tensor.shape for tensor in input]

    def kernel(input):
        return tuple(input)

    def native(emit, input):
        return tuple(input)

    def gradient(op, *dys):
        return list(dys)


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """``tf.identity_n``: several tensors, passed on together."""
    return IdentityN(list(input), name=name)
