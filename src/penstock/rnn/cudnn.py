"""``tf.contrib.cudnn_rnn``: the networks of cuDNN, computed here by loops over products. Their numbers are cuDNN's, but for those of dropout."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import convert_to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection
from penstock.graph.shape import TensorShape
from penstock.layers.branching import smart_cond
from penstock.layers.input_spec import InputSpec
from penstock.layers.scoped import Layer
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat, split, stack
from penstock.ops.array.permute import reverse, reverse_sequence, transpose
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.trigonometry import sigmoid, tanh
from penstock.ops.nn.activations import relu
from penstock.ops.nn.dropout import dropout as dropped
from penstock.rnn import cudnn_params as params
from penstock.rnn.cell import RNNCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.lstm import LSTMStateTuple
from penstock.variables.initializers import Constant, GlorotUniform
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope


class _DirectionCell(RNNCell):
    """One step of one direction of a layer. Its inputs are multiplied already; their biases are added."""

    def __init__(self, mode: str, units: int, kernel: Any, bias: Any) -> None:
        super().__init__()
        self._mode, self._units, self._kernel, self._state_bias = mode, units, kernel, bias

    @property
    def state_size(self) -> Any:
        """The sizes of memory and output, or that of the output."""
        return LSTMStateTuple(self._units, self._units) if self._mode == "lstm" else self._units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        before = state.h if self._mode == "lstm" else state
        recurrent = matmul(before, self._kernel) + self._state_bias
        if self._mode == "lstm":
            i, f, new, o = split(inputs + recurrent, 4, axis=1)
            c = sigmoid(f) * state.c + sigmoid(i) * tanh(new)
            h = sigmoid(o) * tanh(c)
            return h, LSTMStateTuple(c, h)
        if self._mode == "gru":
            (r, u, new), (more_r, more_u, more_new) = split(inputs, 3, axis=1), split(recurrent, 3, axis=1)
            u = sigmoid(u + more_u)
            h = (1 - u) * tanh(new + sigmoid(r + more_r) * more_new) + u * before
            return h, h
        h = (tanh if self._mode == "rnn_tanh" else relu)(inputs + recurrent)
        return h, h


def _reverse(sequence: Any, lengths: Any) -> Any:
    """Along time, which comes first; each sequence within its length."""
    return reverse(sequence, [0]) if lengths is None else reverse_sequence(sequence, lengths, seq_axis=0, batch_axis=1)


def run(converter: params.CudnnParamsFormatConverter, inputs: Any, input_h: Any, input_c: Any, opaque: Any, is_training: Any = True,
        sequence_lengths: Any = None, time_major: bool = True, dropout: float = 0.0, seed: Any = None) -> tuple[Any, Any, Any]:
    """(outputs of all steps, last outputs, last memories); states are [layers * directions, batch, units]."""
    mode, units, directions, gates = converter._rnn_mode, converter._num_units, converter._num_dirs, converter._gates
    weights, biases = map(converter.per_direction, converter.from_opaque(opaque))
    sequence = inputs if time_major else transpose(inputs, [1, 0, 2])
    last_h, last_c = [], []
    for layer in range(converter._num_layers):
        if layer and dropout:
            sequence = smart_cond(is_training, lambda sequence=sequence: dropped(sequence, rate=dropout, seed=seed),  # type: ignore[misc]
                                  lambda sequence=sequence: sequence)  # type: ignore[misc]
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            given = _reverse(sequence, sequence_lengths) if direction else sequence
            kernels = [transpose(concat(each, 0)) for each in (weights[number][:gates], weights[number][gates:])]
            bias, state_bias = (concat(each, 0) for each in (biases[number][:gates], biases[number][gates:]))
            extents = shape(given)
            projected = reshape(matmul(reshape(given, [-1, converter.depth(layer)]), kernels[0]) + bias, [extents[0], extents[1], gates * units])
            projected.set_shape([*given.shape.as_list()[:2], gates * units])
            start = LSTMStateTuple(input_c[number], input_h[number]) if mode == "lstm" else input_h[number]
            output, state = dynamic_rnn(_DirectionCell(mode, units, kernels[1], state_bias), projected, sequence_lengths, start, time_major=True,
                                        scope=f"layer_{number}")
            outputs.append(_reverse(output, sequence_lengths) if direction else output)
            last_h.append(state.h if mode == "lstm" else state)
            last_c.append(state.c if mode == "lstm" else zeros([0], inputs.dtype))
        sequence = outputs[0] if directions == 1 else concat(outputs, 2)
    return sequence if time_major else transpose(sequence, [1, 0, 2]), stack(last_h), stack(last_c)


class _CudnnRNN(Layer):
    """What the layers share: one variable, the opaque vector, and calls that give all outputs and the last state."""

    _converter: type[params.CudnnParamsFormatConverter]
    _saveable_cls: type[params.CudnnOpaqueParamsSaveable]

    def __init__(self, num_layers: int, num_units: int, input_mode: str = params.LINEAR_INPUT, direction: str = params.UNIDIRECTIONAL,
                 dropout: float = 0.0, seed: Any = None, dtype: Any = dtypes.float32, kernel_initializer: Any = None, bias_initializer: Any = None,
                 name: str | None = None) -> None:
        super().__init__(dtype=dtype, name=name)
        params.check_direction(direction)
        params.check_input_mode(input_mode)
        if dtypes.as_dtype(dtype) not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._plain_dtype = dtypes.as_dtype(dtype)
        self.num_layers, self.num_units, self.input_mode, self.direction = num_layers, num_units, input_mode, direction
        self.rnn_mode, self.num_dirs = self._converter._rnn_mode, 1 if direction == params.UNIDIRECTIONAL else 2
        self._dropout, self._seed = dropout, seed
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self._input_size: int | None = None
        self.saveable: Any = None

    @property
    def input_size(self) -> int:
        """The size of the inputs of the first layer."""
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    def _format(self) -> params.CudnnParamsFormatConverter:
        return self._converter(self.num_layers, self.num_units, self.input_size, None, self.input_mode, self.direction)

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of cuDNN's matrices."""
        if not self._input_size:
            raise RuntimeError(f"{type(self).__name__}.canonical_weight_shapes invoked before input shape is known")
        return self._format().weight_shapes

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of cuDNN's biases."""
        return [[self.num_units]] * (2 * params.GATES[self.rnn_mode] * self.num_layers * self.num_dirs)

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the state's parts."""
        extents = [self.num_layers * self.num_dirs, batch_size, self.num_units]
        return (extents, extents) if self.rnn_mode == "lstm" else (extents,)

    def build(self, input_shape: Any) -> None:
        """The variable ``opaque_kernel``, and what saves it."""
        input_shape = TensorShape(input_shape)
        if input_shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {input_shape.ndims}")
        if input_shape.as_list()[-1] is None:
            raise ValueError("The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`.")
        self._input_size = input_shape.as_list()[-1]
        self.input_spec = InputSpec(ndim=3, axes={-1: self._input_size})
        self._set_scope(None)
        converter, dtype = self._format(), self._plain_dtype
        outer = get_variable_scope()
        with variable_scope(self._scope, reuse=self.built or None):
            matrix = self._kernel_initializer or GlorotUniform(seed=self._seed, dtype=dtype)
            vector = self._bias_initializer or Constant(0.0, dtype=dtype)
            start = converter.to_opaque([matrix(list(each), dtype=dtype) for each in converter.weight_shapes],
                                        [vector(each, dtype=dtype) for each in converter.bias_shapes])
            self.kernel = get_variable("opaque_kernel", dtype=dtype, initializer=start)
        if self.kernel not in self._trainable_weights:
            self._trainable_weights.append(self.kernel)
        if self.saveable is None and outer.reuse is not True:
            self.saveable = self._saveable_cls(self.kernel, self.num_layers, self.num_units, self.input_size, self.input_mode, self.direction,
                                               outer, f"{self.kernel.op.name}_saveable")
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self.saveable)
        self.built = True

    def call(self, inputs: Any, initial_state: Any = None, sequence_lengths: Any = None, time_major: bool = True, training: Any = True) -> Any:
        """(outputs of all steps, last state): the state is (h, c) for LSTMs, (h,) for others."""
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        inputs = convert_to_tensor(inputs, dtype=self._plain_dtype)
        if initial_state is None:
            batch = inputs.shape.as_list()[1 if time_major else 0] or shape(inputs)[1 if time_major else 0]
            initial_state = tuple(zeros(extents, dtype=self._plain_dtype) for extents in self.state_shape(batch))
        state = [convert_to_tensor(part, dtype=self._plain_dtype) for part in initial_state]
        outputs, h, c = run(self._format(), inputs, state[0], state[-1], self.kernel, training, sequence_lengths, time_major, self._dropout,
                            self._seed)
        return outputs, (h, c) if self.rnn_mode == "lstm" else (h,)


class CudnnLSTM(_CudnnRNN):
    """``tf.contrib.cudnn_rnn.CudnnLSTM``."""

    _converter, _saveable_cls = params.CudnnParamsFormatConverterLSTM, params.CudnnLSTMSaveable


class CudnnGRU(_CudnnRNN):
    """``tf.contrib.cudnn_rnn.CudnnGRU``."""

    _converter, _saveable_cls = params.CudnnParamsFormatConverterGRU, params.CudnnGRUSaveable


class CudnnRNNTanh(_CudnnRNN):
    """``tf.contrib.cudnn_rnn.CudnnRNNTanh``."""

    _converter, _saveable_cls = params.CudnnParamsFormatConverterTanh, params.CudnnRNNTanhSaveable


class CudnnRNNRelu(_CudnnRNN):
    """``tf.contrib.cudnn_rnn.CudnnRNNRelu``."""

    _converter, _saveable_cls = params.CudnnParamsFormatConverterRelu, params.CudnnRNNReluSaveable
