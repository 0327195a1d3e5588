"""Further cells of ``tf.contrib.rnn``: convolutional LSTM, update-gate RNN, independently recurrent units, highway connections."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import nest
from penstock.graph.shape import TensorShape
from penstock.ops.array.pack import concat, split
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.trigonometry import sigmoid, tanh
from penstock.ops.nn.bias import bias_add, xw_plus_b
from penstock.ops.nn.convolution import conv1d, conv2d, conv3d
from penstock.rnn.basic_cells import input_depth
from penstock.rnn.cell import LayerRNNCell, RNNCell, activation_function
from penstock.rnn.linear import Linear
from penstock.rnn.lstm import LSTMStateTuple
from penstock.rnn.wrappers import CellWrapper
from penstock.variables.initializers import Constant, RandomUniform, Zeros
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope


class ConvLSTMCell(RNNCell):
    """``tf.contrib.rnn.ConvLSTMCell``: an LSTM over images, whose gates are convolutions (Shi et al. 2015)."""

    def __init__(self, conv_ndims: int, input_shape: Any, output_channels: int, kernel_shape: Any, use_bias: bool = True,
                 skip_connection: bool = False, forget_bias: float = 1.0, initializers: Any = None, name: str = "conv_lstm_cell") -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._ndims, self._channels, self._kernel_shape = conv_ndims, output_channels, list(kernel_shape)
        self._use_bias, self._skip, self._forget_bias = use_bias, skip_connection, forget_bias
        self._place, self._input_channels = list(input_shape)[:-1], list(input_shape)[-1]

    @property
    def output_size(self) -> TensorShape:
        """The image of the outputs, and behind it that of the inputs if there is a skip connection."""
        return TensorShape([*self._place, self._channels + (self._input_channels if self._skip else 0)])

    @property
    def state_size(self) -> LSTMStateTuple:
        """Two images."""
        size = TensorShape([*self._place, self._channels])
        return LSTMStateTuple(size, size)

    def _convolve(self, x: Any) -> Any:
        dtype, features = x.dtype.base_dtype, 4 * self._channels
        kernel = get_variable("kernel", [*self._kernel_shape, input_depth(x.shape), features], dtype=dtype)
        if self._ndims == 1:
            result = conv1d(x, kernel, 1, padding="SAME")
        else:
            convolve = conv2d if self._ndims == 2 else conv3d
            result = convolve(x, kernel, [1] * (self._ndims + 2), padding="SAME")
        if not self._use_bias:
            return result
        return result + get_variable("biases", [features], dtype=dtype, initializer=Constant(0.0, dtype=dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        c, h = state
        gates = self._convolve(concat([inputs, h], axis=self._ndims + 1))
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=self._ndims + 1)
        new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        output = tanh(new_c) * sigmoid(o)
        if self._skip:
            output = concat([output, inputs], axis=-1)
        return output, LSTMStateTuple(new_c, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """``tf.contrib.rnn.Conv1DLSTMCell``."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """``tf.contrib.rnn.Conv2DLSTMCell``."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """``tf.contrib.rnn.Conv3DLSTMCell``."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)


class UGRNNCell(RNNCell):
    """``tf.contrib.rnn.UGRNNCell``: one gate mixes the state with what is new (Collins et al. 2016)."""

    def __init__(self, num_units: int, initializer: Any = None, forget_bias: float = 1.0, activation: Any = tanh, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer, self._forget_bias, self._activation = num_units, initializer, forget_bias, activation
        self._linear: Linear | None = None

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    output_size = state_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            joined = concat([inputs, state], 1)
            self._linear = self._linear or Linear(joined, 2 * self._num_units, True)
            gate, new = split(axis=1, num_or_size_splits=2, value=self._linear(joined))
            gate = sigmoid(gate + self._forget_bias)
            new_state = gate * state + (1.0 - gate) * self._activation(new)
        return new_state, new_state


class IndRNNCell(LayerRNNCell):
    """``tf.contrib.rnn.IndRNNCell``: each unit sees its own past only (Li et al. 2018)."""

    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, activation_function(activation)

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    output_size = state_size

    def build(self, inputs_shape: Any) -> None:
        """A kernel over the inputs, a weight per unit for the state, the bias."""
        units = self._num_units
        self._kernel = self.add_variable("kernel_w", [input_depth(inputs_shape), units])
        self._weights = self.add_variable("kernel_u", [1, units], initializer=RandomUniform(minval=-1, maxval=1, dtype=self._dtype))
        self._bias = self.add_variable("bias", [units], initializer=Zeros(dtype=self._dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        output = self._activation(bias_add(matmul(inputs, self._kernel) + state * self._weights, self._bias))
        return output, output


class HighwayWrapper(CellWrapper):
    """``tf.contrib.rnn.HighwayWrapper``: gates say how much of the inputs passes by the cell (Srivastava et al. 2015)."""

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__(cell)
        self._coupled, self._carry_bias = couple_carry_transform_gates, carry_bias_init

    def _gate(self, name: str, inputs: Any, bias: float) -> Any:
        depth, dtype = input_depth(inputs.shape), inputs.dtype.base_dtype
        weights = get_variable(f"{name}_w", [depth, depth], dtype=dtype)
        biases = get_variable(f"{name}_b", [depth], dtype=dtype, initializer=Constant(bias))
        return sigmoid(xw_plus_b(inputs, weights, biases))

    def _highway(self, inputs: Any, outputs: Any) -> Any:
        inputs.shape.assert_is_compatible_with(outputs.shape)
        carry = self._gate("carry", inputs, self._carry_bias)
        transform = 1 - carry if self._coupled else self._gate("transform", inputs, -self._carry_bias)
        return inputs * carry + outputs * transform

    def _around(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        outputs, new_state = step(inputs, state)
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._highway, inputs, outputs), new_state
