"""The control-flow nodes of the paper: Switch, Merge, Enter, Exit, NextIteration, LoopCond.

Programs get conditionals and loops as If and While; these nodes come in with imported graphs, and go out when a graph is exported. Their meaning is
in how they are scheduled, with frames, iterations and dead tensors: see ``execute/frames.py``, which runs programs that contain them.
"""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import STRING, TYPE, count
from penstock.graph.opdef import OpDef, op
from penstock.graph.shape import TensorShape
from penstock.ops.common import fixed, like, nothing

NOT_DIFFERENTIABLE = ("Gradients of imported control-flow nodes are not supported: build the loop or conditional with tf.while_loop or tf.cond, or "
                      "import the graph with its gradients")


def _no_gradient(op, *dys):
    raise LookupError(f"{NOT_DIFFERENTIABLE} ('{op.name}', type {op.type}).")


def _two(data):
    return [data.shape, data.shape]


def _switch(name: str, kind: str) -> OpDef:
    @op(name, f"data: {kind}, pred: bool -> output_false: {kind}, output_true: {kind}", T=TYPE)
    class Switch:
        """Passes ``data`` on to one of two outputs; the other one is dead."""

        ranks = {"pred": 0}
        host_memory = ("pred",)
        control_flow = "switch"
        allows_uninitialized = kind != "T"
        shape = _two

        def kernel(data, pred):
            pred = np.asarray(pred)
            if pred.ndim:
                raise invalid_argument(f"The second input must be a scalar, but it has shape {list(pred.shape)}")
            return data, bool(pred)

        gradient = _no_gradient

    return Switch


def _merge(name: str, kind: str) -> OpDef:
    @op(name, f"inputs: {kind.replace('T', 'N * T')} -> output: {kind}, value_index: int32", T=TYPE, N=count(1))
    class Merge:
        """Passes on the input that is not dead; ``value_index`` says which one it was."""

        control_flow = "merge"
        host_memory = ("value_index",)

        def shape(inputs):
            shape = inputs[0].shape
            for tensor in inputs[1:]:
                shape = shape.most_specific_compatible_shape(tensor.shape)
            return [shape if len(inputs) == 1 or all(tensor.shape.ndims is not None for tensor in inputs) else TensorShape(None), TensorShape(())]

        gradient = _no_gradient

    return Merge


def _passing(name: str, kind: str, what: str, text: str, **attrs) -> OpDef:
    body = type(name, (), {"__doc__": text, "__module__": __name__, "control_flow": what, "shape": like("data"), "gradient": _no_gradient,
                           "kernel": lambda data: data})
    return op(name, f"data: {kind} -> output: {kind}", T=TYPE, **attrs)(body)


Switch, RefSwitch = _switch("Switch", "T"), _switch("RefSwitch", "Ref(T)")
Merge, RefMerge = _merge("Merge", "T"), _merge("RefMerge", "Ref(T)")
_frame = {"frame_name": STRING, "is_constant": False, "parallel_iterations": 10}
Enter, RefEnter = (_passing(name, kind, "enter", "Brings a value into a frame: a loop that runs.", **_frame)
                   for name, kind in (("Enter", "T"), ("RefEnter", "Ref(T)")))
Exit, RefExit = (_passing(name, kind, "exit", "Brings a value out of a frame.") for name, kind in (("Exit", "T"), ("RefExit", "Ref(T)")))
NextIteration, RefNextIteration = (_passing(name, kind, "next", "Hands a value over to the next iteration of its frame.")
                                   for name, kind in (("NextIteration", "T"), ("RefNextIteration", "Ref(T)")))


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
