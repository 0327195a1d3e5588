"""How many float operations a node takes, counted as ``tf.profiler`` counts them (an op that is not in the table counts nothing).

Each entry is a function of an OpNode, which knows the shapes of the node's inputs and outputs; a shape that is not known raises Unknown.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.graph.node import Operation

Shape = tuple[int, ...]


class Unknown(Exception):
    """A shape that is needed is not fully known."""


class OpNode:
    """A node and its shapes; ``known`` gives the shapes that outputs had in a traced step: {(op, which output): shape}."""

    def __init__(self, op: Operation, known: dict[tuple[str, int], Shape]) -> None:
        self.op, self._known = op, known

    def _shape(self, tensor: Any) -> Shape:
        if tensor.shape.is_fully_defined():
            return tuple(tensor.shape.as_list())
        shape = self._known.get((tensor.op.name, tensor.value_index))
        if shape is None:
            raise Unknown(tensor.name)
        return shape

    def input(self, index: int) -> Shape:
        """The shape of an input."""
        return self._shape(self.op._inputs[index])

    def extent(self, index: int, axis: int) -> int:
        """One extent of an input: a batch may have any size, and this be known."""
        shape = self.op._inputs[index].shape
        known = shape.as_list()[axis] if shape.ndims is not None else None
        return self.input(index)[axis] if known is None else known

    def output(self) -> Shape:
        """The shape of the first output."""
        return self._shape(self.op.outputs[0])

    def window(self, name: str) -> int:
        """The size of a window that an attribute tells, or the product of strides."""
        return math.prod(self.op.attrs[name])


Count = Callable[[OpNode], int]


def _per_output(each: int) -> Count:
    return lambda node: each * math.prod(node.output())


def _reduction(final: int = 0) -> Count:
    """One for each element that goes into another, and ``final`` for each result."""
    return lambda node: math.prod(node.input(0)) - math.prod(node.output()) + final * math.prod(node.output())


def _matmul(node: OpNode) -> int:
    depth = node.extent(0, -2 if node.op.attrs.get("transpose_a") or node.op.attrs.get("adj_x") else -1)
    return 2 * depth * math.prod(node.output())


def _convolution(spatial: int, whole: bool = True) -> Count:
    """Two for each number of the filter that goes into a result; ``whole`` if the channels of the input are added up too."""
    return lambda node: 2 * math.prod(node.input(1)[:spatial + whole]) * math.prod(node.output())


def _convolution_gradient(image: Callable[[OpNode], Shape], kernel: Callable[[OpNode], Shape]) -> Count:
    return lambda node: 2 * math.prod(image(node)[:3]) * math.prod(kernel(node)) // node.window("strides")


def _pool_gradient(node: OpNode) -> int:
    return (node.window("ksize") + 1) * math.prod(node.input(1))


def _average_gradient(node: OpNode) -> int:
    return 2 * node.window("ksize") * math.prod(node.input(1))


COUNTS: dict[str, Count] = {
    **dict.fromkeys("Reciprocal Square Log Neg Add Sub Mul RealDiv Maximum Minimum Pow Greater GreaterEqual Less LessEqual Equal NotEqual AssignAdd "
                    "AssignSub BiasAdd".split(), _per_output(1)),
    "Rsqrt": _per_output(2),
    "SquaredDifference": _per_output(2),
    "RsqrtGrad": _per_output(4),
    "Softmax": _per_output(5),
    "L2Loss": lambda node: 3 * math.prod(node.input(0)) - 1,
    "AddN": lambda node: (len(node.op._inputs) - 1) * math.prod(node.output()),
    **dict.fromkeys("Sum ArgMax ArgMin BiasAddGrad".split(), _reduction()),
    "Mean": _reduction(final=1),
    "MatMul": _matmul,
    "BatchMatMul": _matmul,
    "Conv2D": _convolution(2),
    "Conv3D": _convolution(3),
    "DepthwiseConv2dNative": _convolution(2, whole=False),
    "Dilation2D": _convolution(2, whole=False),
    "Conv2DBackpropInput": _convolution_gradient(lambda node: node.output(), lambda node: node.input(1)),
    "Conv2DBackpropFilter": _convolution_gradient(lambda node: node.input(0), lambda node: node.output()),
    "AvgPool": lambda node: node.window("ksize") * math.prod(node.output()),
    "MaxPool": lambda node: node.window("ksize") * math.prod(node.output()),
    "MaxPoolGrad": _pool_gradient,
    "AvgPoolGrad": _average_gradient,
}


def float_operations(op: Operation, known: dict[tuple[str, int], Shape]) -> int:
    """The float operations of a node; Unknown if a shape is missing."""
    count = COUNTS.get(op.type)
    return count(OpNode(op, known)) if count is not None else 0
