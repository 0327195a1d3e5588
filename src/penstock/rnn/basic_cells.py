"""The plain recurrent cell and the gated recurrent unit."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.ops.array.pack import concat, split
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.nn.bias import bias_add
from penstock.platform.deprecation import dropped_args
from penstock.rnn.cell import Activation, LayerRNNCell, activation_function
from penstock.variables.initializers import Constant, Zeros


def input_depth(input_shape: Any) -> int:
    """The last extent of the inputs, which must be known."""
    shape = input_shape if isinstance(input_shape, TensorShape) else TensorShape(input_shape)
    depth = shape.as_list()[-1] if shape.ndims is not None else None
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
    return depth


class BasicRNNCell(LayerRNNCell):
    """``tf.nn.rnn_cell.BasicRNNCell``: output = state = activation(W [inputs, state] + b)."""

    _described = ("num_units", "activation", "reuse")

    @dropped_args("input_size")
    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, activation_function(activation)

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    output_size = state_size

    def build(self, inputs_shape: Any) -> None:
        """The kernel over inputs and state, and the bias."""
        self._kernel = self.add_variable("kernel", [input_depth(inputs_shape) + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=Zeros(dtype=self._dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        output = self._activation(bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias))
        return output, output


class GRUCell(LayerRNNCell):
    """``tf.nn.rnn_cell.GRUCell``: the gated recurrent unit of Cho et al. 2014."""

    _described = ("num_units", "kernel_initializer", "bias_initializer", "activation", "reuse")

    @dropped_args("input_size")
    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None, bias_initializer: Any = None,
                 name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation: Activation = activation_function(activation)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    output_size = state_size

    def build(self, inputs_shape: Any) -> None:
        """Kernels and biases of the gates and of the candidate."""
        units, depth = self._num_units, input_depth(inputs_shape) + self._num_units
        self._gate_kernel = self.add_variable("gates/kernel", [depth, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", [2 * units], initializer=self._bias_or(Constant(1.0, dtype=self._dtype)))
        self._candidate_kernel = self.add_variable("candidate/kernel", [depth, units], initializer=self._kernel_initializer)
        self._candidate_bias = self.add_variable("candidate/bias", [units], initializer=self._bias_or(Zeros(dtype=self._dtype)))

    def _bias_or(self, default: Any) -> Any:
        return default if self._bias_initializer is None else self._bias_initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step: the reset gate says what of the state the candidate sees, the update gate what of the state is kept."""
        gates = sigmoid(bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias))
        reset, update = split(value=gates, num_or_size_splits=2, axis=1)
        candidate = bias_add(matmul(concat([inputs, reset * state], 1), self._candidate_kernel), self._candidate_bias)
        new_state = update * state + (1 - update) * self._activation(candidate)
        return new_state, new_state
