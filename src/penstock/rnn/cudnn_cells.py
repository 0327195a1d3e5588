"""Cells whose variables are those of networks that were trained with cuDNN: ``tf.contrib.cudnn_rnn.CudnnCompatible*``."""
from __future__ import annotations

from typing import Any

from penstock.ops.array.pack import concat, split
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.nn.bias import bias_add
from penstock.rnn.basic_cells import GRUCell, input_depth
from penstock.rnn.contrib_cells import LSTMBlockCell
from penstock.variables.initializers import Constant, Zeros


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """``tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell``: without a bias of the forget gate, and with cuDNN's scope."""

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """``tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell``: the reset gate acts on the projected state, which has a bias of its own."""

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, inputs_shape: Any) -> None:
        """Kernels and biases of the gates, and of the candidate for inputs and state each."""
        units, depth = self._num_units, input_depth(inputs_shape)
        self._gate_kernel = self.add_variable("gates/kernel", [depth + units, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", [2 * units], initializer=self._bias_or(Constant(1.0, dtype=self._dtype)))
        self._input_kernel, self._hidden_kernel = (
            self.add_variable(f"candidate/{part}_projection/kernel", [size, units], initializer=self._kernel_initializer)
            for part, size in (("input", depth), ("hidden", units)))
        self._input_bias, self._hidden_bias = (
            self.add_variable(f"candidate/{part}_projection/bias", [units], initializer=self._bias_or(Zeros(dtype=self._dtype)))
            for part in ("input", "hidden"))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        gates = sigmoid(bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias))
        reset, update = split(value=gates, num_or_size_splits=2, axis=1)
        candidate = bias_add(matmul(inputs, self._input_kernel), self._input_bias)
        candidate += reset * bias_add(matmul(state, self._hidden_kernel), self._hidden_bias)
        new_state = (1 - update) * self._activation(candidate) + update * state
        return new_state, new_state
