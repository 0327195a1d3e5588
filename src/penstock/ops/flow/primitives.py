"""The control-flow nodes of the paper: Switch, Merge, Enter, Exit, NextIteration, LoopCond.

Programs get conditionals and loops as If and While; these nodes come in with imported graphs, and go out when a graph is exported. Their meaning is
in how they are scheduled, with frames, iterations and dead tensors: see ``execute/frames.py``, which runs programs that contain them.
"""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import STRING, TYPE, count
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.common import fixed, like, nothing

NOT_DIFFERENTIABLE = ("Gradients of imported control-flow nodes are not supported: build the loop or conditional with tf.while_loop or tf.cond, or "
                      "import the graph with its gradients")


def _no_gradient(op, *dys):
    raise LookupError(f"{NOT_DIFFERENTIABLE} ('{op.name}', type {op.type}).")


class _Switch:
    ranks = {"pred": 0}
    host_memory = ("pred",)
    control_flow = "switch"
    gradient = _no_gradient

    def shape(data):
        return [data.shape, data.shape]

    def kernel(data, pred):
        pred = np.asarray(pred)
        if pred.ndim:
            raise invalid_argument(f"The second input must be a scalar, but it has shape {list(pred.shape)}")
        return data, bool(pred)


@op("Switch", "data: T, pred: bool -> output_false: T, output_true: T", T=TYPE)
class Switch(_Switch):
    """Passes ``data`` on to one of two outputs; the other one is dead."""


@op("RefSwitch", "data: Ref(T), pred: bool -> output_false: Ref(T), output_true: Ref(T)", T=TYPE)
class RefSwitch(_Switch):
    """Passes a reference on to one of two outputs; the other one is dead."""

    allows_uninitialized = True


class _Merge:
    control_flow = "merge"
    host_memory = ("value_index",)
    gradient = _no_gradient

    def shape(inputs):
        shape = inputs[0].shape
        for tensor in inputs[1:]:
            shape = shape.most_specific_compatible_shape(tensor.shape)
        return [shape if len(inputs) == 1 or all(tensor.shape.ndims is not None for tensor in inputs) else TensorShape(None), TensorShape(())]


@op("Merge", "inputs: N * T -> output: T, value_index: int32", T=TYPE, N=count(1))
class Merge(_Merge):
    """Passes on the input that is not dead; ``value_index`` says which one it was."""


@op("RefMerge", "inputs: Ref(N * T) -> output: Ref(T), value_index: int32", T=TYPE, N=count(1))
class RefMerge(_Merge):
    """Passes on the reference that is not dead; ``value_index`` says which one it was."""


class _Passing:
    """Hands its input on: to another frame, or to another iteration."""

    shape = like("data")
    gradient = _no_gradient

    def kernel(data):
        return data


_FRAME = {"frame_name": STRING, "is_constant": False, "parallel_iterations": 10}
_VALUE, _REFERENCE = "data: T -> output: T", "data: Ref(T) -> output: Ref(T)"


@op("Enter", _VALUE, T=TYPE, **_FRAME)
class Enter(_Passing):
    """Brings a value into a frame: a loop that runs."""

    control_flow = "enter"


@op("RefEnter", _REFERENCE, T=TYPE, **_FRAME)
class RefEnter(_Passing):
    """Brings a reference into a frame."""

    control_flow = "enter"


@op("Exit", _VALUE, T=TYPE)
class Exit(_Passing):
    """Brings a value out of a frame."""

    control_flow = "exit"


@op("RefExit", _REFERENCE, T=TYPE)
class RefExit(_Passing):
    """Brings a reference out of a frame."""

    control_flow = "exit"


@op("NextIteration", _VALUE, T=TYPE)
class NextIteration(_Passing):
    """Hands a value over to the next iteration of its frame."""

    control_flow = "next"


@op("RefNextIteration", _REFERENCE, T=TYPE)
class RefNextIteration(_Passing):
    """Hands a reference over to the next iteration of its frame."""

    control_flow = "next"


@op("LoopCond", "input: bool -> output: bool")
class LoopCond:
    """Marks the condition of a loop."""

    ranks = {"input": 0}
    on_host = True
    host_memory = ("input", "output")
    shape = fixed()

    def kernel(input):
        return input

    gradient = None


@op("ControlTrigger", "->")
class ControlTrigger:
    """Does nothing, and runs even if what it waits for is dead."""

    control_flow = "trigger"
    shape = nothing()

    def kernel():
        return None

    gradient = None
