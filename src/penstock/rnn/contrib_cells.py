"""Cells of ``tf.contrib.rnn``: LSTM with layer normalization, the cell found by architecture search, and the names of the fused cells."""
from __future__ import annotations

import numbers
from typing import Any

from penstock.graph import dtypes
from penstock.ops.array.pack import concat, split
from penstock.ops.array.passing import stop_gradient
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.trigonometry import sigmoid, tanh
from penstock.ops.nn.activations import relu
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.dropout import dropout
from penstock.ops.nn.normalization import batch_normalization, moments
from penstock.rnn.basic_cells import GRUCell, input_depth
from penstock.rnn.cell import LayerRNNCell, RNNCell, counting_as_kernel
from penstock.rnn.lstm import LSTMCell, LSTMStateTuple
from penstock.variables.initializers import Constant, Zeros
from penstock.variables.scope import get_variable, variable_scope


class LayerNormBasicLSTMCell(RNNCell):
    """``tf.contrib.rnn.LayerNormBasicLSTMCell``: layer normalization of gates and memory, dropout of the new input (Semeniuta et al. 2016)."""

    def __init__(self, num_units: int, forget_bias: float = 1.0, input_size: Any = None, activation: Any = tanh, layer_norm: bool = True,
                 norm_gain: float = 1.0, norm_shift: float = 0.0, dropout_keep_prob: Any = 1.0, dropout_prob_seed: Any = None,
                 reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of memory and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def _norm(self, x: Any, scope: str) -> Any:
        if not self._layer_norm:
            return x
        dtype, size = x.dtype.base_dtype, x.shape[-1:]
        with variable_scope(scope):
            gamma = get_variable("gamma", shape=size, initializer=Constant(self._norm_gain), dtype=dtype)
            beta = get_variable("beta", shape=size, initializer=Constant(self._norm_shift), dtype=dtype)
            mean, variance = moments(x, [1], keep_dims=True)
            return batch_normalization(x, mean, variance, beta, gamma, 1e-3 if dtype is dtypes.float16 else 1e-12)

    def _gates(self, x: Any) -> Any:
        dtype, size = x.dtype.base_dtype, 4 * self._num_units
        gates = matmul(x, get_variable("kernel", [input_depth(x.shape), size], dtype=dtype))
        return gates if self._layer_norm else bias_add(gates, get_variable("bias", [size], dtype=dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        c, h = state
        i, j, f, o = split(value=self._gates(concat([inputs, h], 1)), num_or_size_splits=4, axis=1)
        i, j, f, o = (self._norm(gate, scope) for gate, scope in ((i, "input"), (j, "transform"), (f, "forget"), (o, "output")))
        new_input = self._activation(j)
        if not isinstance(self._keep_prob, numbers.Real) or self._keep_prob < 1:
            new_input = dropout(new_input, keep_prob=self._keep_prob, seed=self._seed)
        new_c = self._norm(c * sigmoid(f + self._forget_bias) + sigmoid(i) * new_input, "state")
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class LSTMBlockCell(LSTMCell):
    """``tf.contrib.rnn.LSTMBlockCell``: the cell that TensorFlow computes in one kernel; here it is an LSTMCell with that one's arguments."""

    _peephole_names = ("w_i_diag", "w_f_diag", "w_o_diag")

    def __init__(self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None, use_peephole: bool = False, dtype: Any = None,
                 reuse: Any = None, name: str = "lstm_cell") -> None:
        super().__init__(num_units, use_peepholes=use_peephole, cell_clip=cell_clip if cell_clip is not None and cell_clip > 0 else None,
                         forget_bias=forget_bias, reuse=reuse, name=name, dtype=dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        with counting_as_kernel(1 if self._use_peepholes else 2):  # without peepholes, zeros stand for them
            return super().call(inputs, state)

    def _clip_state(self, c: Any) -> Any:
        """The fused kernel's gradient takes no notice of the clipping."""
        return c if self._cell_clip is None else c + stop_gradient(super()._clip_state(c) - c)


class GRUBlockCellV2(GRUCell):
    """``tf.contrib.rnn.GRUBlockCellV2``: a GRUCell under the name of the fused one."""

    def __init__(self, num_units: int | None = None, cell_size: int | None = None, reuse: Any = None, name: str = "gru_cell") -> None:
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        units = cell_size if num_units is None else num_units
        assert units is not None
        super().__init__(units, reuse=reuse, name=name)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        with counting_as_kernel(1):
            return super().call(inputs, state)


class GRUBlockCell(GRUBlockCellV2):
    """``tf.contrib.rnn.GRUBlockCell``: as GRUBlockCellV2, with the older names of the variables."""

    def build(self, inputs_shape: Any) -> None:
        """Kernels and biases of the gates and of the candidate."""
        units, depth = self._num_units, input_depth(inputs_shape) + self._num_units
        self._gate_kernel = self.add_variable("w_ru", [depth, 2 * units])
        self._gate_bias = self.add_variable("b_ru", [2 * units], initializer=Constant(1.0))
        self._candidate_kernel = self.add_variable("w_c", [depth, units])
        self._candidate_bias = self.add_variable("b_c", [units], initializer=Constant(0.0))


class NASCell(LayerRNNCell):
    """``tf.contrib.rnn.NASCell``: the cell that Zoph and Le found by search (2016)."""

    def __init__(self, num_units: int, num_proj: int | None = None, use_bias: bool = False, reuse: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def output_size(self) -> int:
        """The number of units, or the size of the projection."""
        return self._num_units if self._num_proj is None else self._num_proj

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of memory and output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    def build(self, inputs_shape: Any) -> None:
        """Kernels over state and inputs for the eight branches, bias, projection."""
        size = 8 * self._num_units
        self._recurrent_kernel = self.add_variable("recurrent_kernel", [self.output_size, size])
        self._kernel = self.add_variable("kernel", [input_depth(inputs_shape), size])
        if self._use_bias:
            self._bias = self.add_variable("bias", [size], initializer=Zeros())
        if self._num_proj is not None:
            self._projection = self.add_variable("projection_weights", [self._num_units, self._num_proj])

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step: eight branches, joined two by two in a tree."""
        c, h = state
        recurrent = matmul(h, self._recurrent_kernel)
        if self._use_bias:
            recurrent = bias_add(recurrent, self._bias)
        branches = list(zip(split(axis=1, num_or_size_splits=8, value=matmul(inputs, self._kernel)),
                            split(axis=1, num_or_size_splits=8, value=recurrent)))
        functions = (sigmoid, relu, sigmoid, relu, tanh, sigmoid, tanh, sigmoid)
        first = [function(x * y if index == 3 else x + y) for index, (function, (x, y)) in enumerate(zip(functions, branches))]
        left = tanh(tanh(first[0] * first[1]) + c)
        new_c = left * tanh(first[2] + first[3])
        right = tanh(tanh(first[4] * first[5]) + sigmoid(first[6] + first[7]))
        new_h = tanh(new_c * right)
        if self._num_proj is not None:
            new_h = matmul(new_h, self._projection)
        return new_h, LSTMStateTuple(new_c, new_h)
