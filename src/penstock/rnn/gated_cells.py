"""Cells of ``tf.contrib.rnn`` with gates of their own: coupled, grouped, intersecting, simple, independent, phased."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat, split
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.permute import tile
from penstock.ops.array.select import where
from penstock.ops.array.slicing import slice_
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.division import mod
from penstock.ops.math.powers import exp, log
from penstock.ops.math.trigonometry import sigmoid, tanh
from penstock.ops.nn.activations import relu
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.normalization import batch_normalization, moments
from penstock.ops.random.random import random_uniform
from penstock.rnn.basic_cells import input_depth
from penstock.rnn.cell import LayerRNNCell, RNNCell, activation_function
from penstock.rnn.linear import Linear
from penstock.rnn.lstm import LSTMStateTuple
from penstock.variables.initializers import Constant, RandomUniform, Zeros
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope


class _MemoryCell(RNNCell):
    """A cell with a memory and an output, which may be projected to another size."""

    _num_units: int
    _num_proj: int | None = None

    @property
    def output_size(self) -> int:
        """The number of units, or the size of the projection."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """The sizes of memory and output."""
        return LSTMStateTuple(self._num_units, self.output_size)


class CoupledInputForgetGateLSTMCell(_MemoryCell):
    """``tf.contrib.rnn.CoupledInputForgetGateLSTMCell``: what is forgotten is replaced: the input gate is 1 minus the forget gate."""

    def __init__(self, num_units: int, use_peepholes: bool = False, initializer: Any = None, num_proj: int | None = None,
                 proj_clip: float | None = None, num_unit_shards: int = 1, num_proj_shards: int = 1, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, activation: Any = tanh, reuse: Any = None, layer_norm: bool = False, norm_gain: float = 1.0,
                 norm_shift: float = 0.0) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj, self._proj_clip = num_units, num_proj, proj_clip
        self._use_peepholes, self._forget_bias, self._state_is_tuple = use_peepholes, forget_bias, state_is_tuple
        self._num_unit_shards, self._num_proj_shards, self._activation = num_unit_shards, num_proj_shards, activation
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        """The sizes of memory and output, or their sum."""
        return LSTMStateTuple(self._num_units, self.output_size) if self._state_is_tuple else self._num_units + self.output_size

    def _norm(self, x: Any, scope: str) -> Any:
        if not self._layer_norm:
            return x
        with variable_scope(scope):
            gamma = get_variable("gamma", shape=x.shape[-1:], initializer=Constant(self._norm_gain))
            beta = get_variable("beta", shape=x.shape[-1:], initializer=Constant(self._norm_shift))
            mean, variance = moments(x, [1], keep_dims=True)
            return batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        c, h = state if self._state_is_tuple else split(state, [self._num_units, self.output_size], axis=1)
        dtype, units = inputs.dtype.base_dtype, self._num_units
        kernel = sharded("W", [input_depth(inputs.shape.with_rank(2)) + self.output_size, 3 * units], dtype, self._num_unit_shards)
        bias = get_variable("B", shape=[3 * units], initializer=Zeros(), dtype=dtype)
        gates = matmul(concat([inputs, h], 1), kernel)
        if not self._layer_norm:
            gates = bias_add(gates, bias)
        j, f, o = split(value=gates, num_or_size_splits=3, axis=1)
        j, f, o = (self._norm(gate, scope) for gate, scope in ((j, "transform"), (f, "forget"), (o, "output")))
        f = f + self._forget_bias
        if self._use_peepholes:
            forget_diagonal = get_variable("W_F_diag", shape=[units], dtype=dtype)
            output_diagonal = get_variable("W_O_diag", shape=[units], dtype=dtype)
            f = f + forget_diagonal * c
        f = sigmoid(f)
        new_c = self._norm(f * c + (1 - f) * self._activation(j), "state")
        new_h = sigmoid(o + output_diagonal * new_c if self._use_peepholes else o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, sharded("W_P", [units, self._num_proj], dtype, self._num_proj_shards))
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


def sharded(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """A matrix made of variables that hold some of its rows each: name_0, name_1, ..."""
    if shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={shards}")
    size, more = divmod(shape[0], shards)
    parts = [get_variable(f"{name}_{index}", [size + (index < more), *shape[1:]], dtype=dtype) for index in range(shards)]
    return parts[0] if len(parts) == 1 else concat(parts, 0, name=name + "/concat")


class GLSTMCell(_MemoryCell):
    """``tf.contrib.rnn.GLSTMCell``: an LSTM in groups of units that do not see each other (Kuchaiev and Ginsburg 2017)."""

    def __init__(self, num_units: int, initializer: Any = None, num_proj: int | None = None, number_of_groups: int = 1, forget_bias: float = 1.0,
                 activation: Any = tanh, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        for what, size in (("num_units", num_units), ("num_proj", num_proj)):
            if size and size % number_of_groups != 0:
                raise ValueError(f"{what} must be divisible by number_of_groups")
        self._num_units, self._num_proj, self._groups = num_units, num_proj, number_of_groups
        self._initializer, self._forget_bias, self._activation = initializer, forget_bias, activation
        self._gates: list[Linear | None] = [None] * number_of_groups
        self._projection: Linear | None = None

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        c, h = state
        size = inputs.shape.as_list()[1]
        if size is None:
            raise ValueError("input size must be statically known")
        if size % self._groups != 0:
            raise ValueError(f"input size ({size}) must be divisible by number_of_groups ({self._groups})")
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            parts = [self._group(index, inputs, h, size // self._groups) for index in range(self._groups)]
            biases = [get_variable(f"bias_{gate}", shape=[self._num_units], dtype=inputs.dtype, initializer=Constant(0.0, dtype=inputs.dtype))
                      for gate in "ijfo"]
            i, j, f, o = (bias_add(concat(gate, axis=1), bias) for gate, bias in zip(zip(*parts), biases))
        new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        new_h = sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                self._projection = self._projection or Linear(new_h, self._num_proj, False)
                new_h = self._projection(new_h)
        return new_h, LSTMStateTuple(new_c, new_h)

    def _group(self, index: int, inputs: Any, h: Any, input_size: int) -> list[Any]:
        """The gates of one group."""
        output_size = self.output_size // self._groups
        with variable_scope(f"group{index}"):
            joined = concat([slice_(inputs, [0, index * input_size], [-1, input_size]), slice_(h, [0, index * output_size], [-1, output_size])],
                            axis=1)
            linear = self._gates[index] = self._gates[index] or Linear(joined, 4 * (self._num_units // self._groups), False)
            return split(linear(joined), 4, 1)


class IntersectionRNNCell(RNNCell):
    """``tf.contrib.rnn.IntersectionRNNCell``: gates for the way through time and for the way through layers (Collins et al. 2016)."""

    def __init__(self, num_units: int, num_in_proj: int | None = None, initializer: Any = None, forget_bias: float = 1.0, y_activation: Any = relu,
                 reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._projects, self._initializer = num_units, num_in_proj, initializer
        self._forget_bias, self._y_activation = forget_bias, y_activation
        self._projection: Linear | None = None
        self._linear: Linear | None = None

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    output_size = state_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        units = self._num_units
        size = inputs.shape.with_rank(2).as_list()[1]
        if size is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if size != units:
                if not self._projects:
                    raise ValueError("Must have input size == output size for Intersection RNN. To fix, num_in_proj should be set to num_units at "
                                     "cell init.")
                with variable_scope("in_projection"):
                    self._projection = self._projection or Linear(inputs, units, True)
                    inputs = self._projection(inputs)
            joined = concat([inputs, state], 1)
            self._linear = self._linear or Linear(joined, 4 * units, True)
            numbers = self._linear(joined)
            time_gate, h, depth_gate, y = (numbers[:, begin:begin + units] for begin in range(0, 4 * units, units))
            time_gate, depth_gate = sigmoid(time_gate + self._forget_bias), sigmoid(depth_gate + self._forget_bias)
            new_state = time_gate * state + (1.0 - time_gate) * tanh(h)
            return depth_gate * inputs + (1.0 - depth_gate) * self._y_activation(y), new_state


class SRUCell(LayerRNNCell):
    """``tf.contrib.rnn.SRUCell``: gates see the inputs alone, so that all steps can be multiplied at once (Lei et al. 2017)."""

    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation_function(activation)

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    output_size = state_size

    def build(self, inputs_shape: Any) -> None:
        """The kernel of the new input, two gates and the way past them; the biases of the gates."""
        self._kernel = self.add_variable("kernel", [input_depth(inputs_shape), 4 * self._num_units])
        self._bias = self.add_variable("bias", [2 * self._num_units], initializer=Zeros())

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        new, f, r, passed = split(value=matmul(inputs, self._kernel), num_or_size_splits=4, axis=1)
        f, r = split(value=sigmoid(bias_add(concat([f, r], 1), self._bias)), num_or_size_splits=2, axis=1)
        c = f * state + (1.0 - f) * new
        return r * self._activation(c) + (1.0 - r) * passed, c


# --- each unit for itself --------------------------------------------------------------------------------------------


class _IndependentCell(LayerRNNCell):
    """A cell whose units see their own past only: of the state there is a weight per unit and gate."""

    def __init__(self, num_units: int, activation: Any, reuse: Any, kernel_initializer: Any, bias_initializer: Any, name: str | None,
                 dtype: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, activation_function(activation)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def _make(self, kernel: str, weights: str, bias: str, depth: int, count: int, default: Any) -> tuple[Any, Any, Any]:
        """Kernel over inputs, weights of the state, and bias of ``count`` gates."""
        size = count * self._num_units
        return (self.add_variable(kernel, [depth, size], initializer=self._kernel_initializer),
                self.add_variable(weights, [1, size], initializer=RandomUniform(minval=-1, maxval=1, dtype=self._dtype)),
                self.add_variable(bias, [size], initializer=default if self._bias_initializer is None else self._bias_initializer))


class IndyGRUCell(_IndependentCell):
    """``tf.contrib.rnn.IndyGRUCell``: a GRU of independent units (Gonnet and Deselaers 2019)."""

    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None, bias_initializer: Any = None,
                 name: str | None = None, dtype: Any = None) -> None:
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """Variables of the gates and of the candidate."""
        depth = input_depth(inputs_shape)
        self._gates = self._make("gates/kernel_w", "gates/kernel_u", "gates/bias", depth, 2, Constant(1.0, dtype=self._dtype))
        self._candidate = self._make("candidate/kernel", "candidate/kernel_u", "candidate/bias", depth, 1, Zeros(dtype=self._dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        kernel, weights, bias = self._gates
        reset, update = split(sigmoid(bias_add(matmul(inputs, kernel) + tile(state, [1, 2]) * weights, bias)), num_or_size_splits=2, axis=1)
        kernel, weights, bias = self._candidate
        candidate = self._activation(bias_add(matmul(inputs, kernel) + reset * state * weights, bias))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state


class IndyLSTMCell(_IndependentCell):
    """``tf.contrib.rnn.IndyLSTMCell``: an LSTM of independent units (Gonnet and Deselaers 2019)."""

    def __init__(self, num_units: int, forget_bias: float = 1.0, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None,
                 bias_initializer: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of memory and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape: Any) -> None:
        """Variables of the four gates."""
        self._gates = self._make("kernel_w", "kernel_u", "bias", input_depth(inputs_shape), 4, Zeros(dtype=self._dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        c, h = state
        kernel, weights, bias = self._gates
        i, j, f, o = split(bias_add(matmul(inputs, kernel) + tile(h, [1, 4]) * weights, bias), num_or_size_splits=4, axis=1)
        new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


# --- open at times ---------------------------------------------------------------------------------------------------


class PhasedLSTMCell(_MemoryCell):
    """``tf.contrib.rnn.PhasedLSTMCell``: each unit is open for a part of a period of its own (Neil et al. 2016); inputs are (time, x)."""

    def __init__(self, num_units: int, use_peepholes: bool = False, leak: float = 0.001, ratio_on: float = 0.1, trainable_ratio_on: bool = True,
                 period_init_min: float = 1.0, period_init_max: float = 1000.0, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._period_bounds = period_init_min, period_init_max
        self._linears: dict[str, Linear] = {}

    def _linear(self, scope: str, tensors: list[Any], size: int) -> Any:
        with variable_scope(scope):
            if scope not in self._linears:
                self._linears[scope] = Linear(tensors, size, True)
            return self._linears[scope](tensors)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        c, h = state
        time, x = inputs
        seen = [x, h, c] if self._use_peepholes else [x, h]
        i, f = split(sigmoid(self._linear("mask_gates", seen, 2 * self._num_units)), num_or_size_splits=2, axis=1)
        new_c = c * f + i * tanh(self._linear("new_input", [x, h], self._num_units))
        seen = [x, h, new_c] if self._use_peepholes else [x, h]
        new_h = tanh(new_c) * sigmoid(self._linear("output_gate", seen, self._num_units))
        openness = self._openness(time)
        new_c, new_h = openness * new_c + (1 - openness) * c, openness * new_h + (1 - openness) * h
        return new_h, LSTMStateTuple(new_c, new_h)

    def _openness(self, time: Any) -> Any:
        """How far each unit is open at a time: it rises and falls in the first part of its period, and leaks a little in the rest."""
        def periods(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Any:
            low, high = (log(bound) for bound in self._period_bounds)
            return exp(random_uniform(shape, low, high, dtype))

        size = [self._num_units]
        period = get_variable("period", size, initializer=periods)
        phase = get_variable("phase", size, initializer=RandomUniform(0.0, period.initial_value))
        ratio_on = get_variable("ratio_on", size, initializer=Constant(self._ratio_on), trainable=self._trainable_ratio_on)
        length, shifted = cast(period, time.dtype), time - cast(phase, time.dtype)
        passed = stop_gradient(mod(shifted, length) - shifted) + shifted  # the gradient of mod is that of its first argument
        share = cast(passed / length, dtypes.float32)
        rising = 2 * share / ratio_on
        opened = where(share < ratio_on, 2 - rising, self._leak * share)
        return where(share < 0.5 * ratio_on, rising, opened)
