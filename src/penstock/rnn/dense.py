"""The linear layer that attention is made of."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers.scoped import Layer
from penstock.ops.linalg.einsum import tensordot
from penstock.ops.linalg.matmul import matmul
from penstock.rnn.basic_cells import input_depth


class Projection(Layer):
    """A matrix over the last axis, without a bias; its variable is called ``kernel``."""

    def __init__(self, units: int, name: str, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.units = units

    def build(self, input_shape: Any) -> None:
        """The matrix."""
        self.kernel = self.add_variable("kernel", [input_depth(input_shape), self.units])

    def call(self, inputs: Any) -> Any:
        """The product."""
        if inputs.shape.ndims == 2:
            return matmul(inputs, self.kernel)
        outputs = tensordot(inputs, self.kernel, [[inputs.shape.ndims - 1], [0]])
        outputs.set_shape(inputs.shape[:-1].concatenate([self.units]))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the product."""
        return TensorShape(input_shape)[:-1].concatenate([self.units])
