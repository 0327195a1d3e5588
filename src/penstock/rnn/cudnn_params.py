"""The parameters of cuDNN's recurrent networks in their three forms, and how they are saved.

*Opaque* is one vector: the matrices of all layers and directions, then all biases. *cuDNN's canonical* form is lists of those: per layer and
direction a matrix for the inputs and one for the state of each gate, and as many biases. *TensorFlow's canonical* form is that of the cells which
compute the same (``cudnn_cells.py``), with their names: checkpoints have it, so that what was trained with one can be used with the other.
"""
from __future__ import annotations

import math
from typing import Any

from penstock.ops.array.pack import concat, split
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import reshape
from penstock.ops.constant import identity
from penstock.train.saveable import SaveableObject, SaveSpec
from penstock.variables.assign import assign

UNIDIRECTIONAL, BIDIRECTIONAL = "unidirectional", "bidirectional"
LINEAR_INPUT, SKIP_INPUT, AUTO_SELECT = "linear_input", "skip_input", "auto_select"
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def check_direction(direction: str) -> None:
    """ValueError unless it is one of the two."""
    if direction not in (UNIDIRECTIONAL, BIDIRECTIONAL):
        raise ValueError(f"Invalid direction: {direction}, expecting {UNIDIRECTIONAL} or {BIDIRECTIONAL}")


def check_input_mode(input_mode: str) -> None:
    """ValueError unless it is one of three; NotImplementedError if the first layer would have no matrix for its inputs."""
    if input_mode not in (LINEAR_INPUT, SKIP_INPUT, AUTO_SELECT):
        raise ValueError(f"Invalid input_mode: {input_mode}, expect one of ({LINEAR_INPUT}, {SKIP_INPUT}, {AUTO_SELECT})")
    if input_mode == SKIP_INPUT:
        raise NotImplementedError(f"input_mode {SKIP_INPUT!r}: Penstock's cuDNN networks multiply their inputs by a matrix; use {LINEAR_INPUT!r}.")


class CudnnParamsFormatConverter:
    """Converts between the three forms. Subclasses say how the gates of one layer and direction are arranged."""

    _rnn_mode = ""
    _order: tuple[int, ...] = (0,)  # TensorFlow's gates in the place of cuDNN's

    def __init__(self, num_layers: int, num_units: int, input_size: int, num_proj: int | None = None, input_mode: str = LINEAR_INPUT,
                 direction: str = UNIDIRECTIONAL) -> None:
        if num_proj:
            raise NotImplementedError("num_proj: Penstock's cuDNN networks have no projections.")
        check_direction(direction)
        check_input_mode(input_mode)
        self._num_layers, self._num_units, self._input_size = num_layers, num_units, input_size
        self._num_dirs = 1 if direction == UNIDIRECTIONAL else 2
        self._gates = GATES[self._rnn_mode]

    def depth(self, layer: int) -> int:
        """The size of the inputs of a layer."""
        return self._num_units * self._num_dirs if layer else self._input_size

    @property
    def weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of cuDNN's matrices, for all layers and directions."""
        units = self._num_units
        return [shape for layer in range(self._num_layers) for _ in range(self._num_dirs)
                for shape in [(units, self.depth(layer))] * self._gates + [(units, units)] * self._gates]

    @property
    def bias_shapes(self) -> list[list[int]]:
        """Those of the biases."""
        return [[self._num_units]] * (2 * self._gates * self._num_layers * self._num_dirs)

    # --- cuDNN's canonical form and the vector -----------------------------------------------------------------------

    def to_opaque(self, weights: list[Any], biases: list[Any]) -> Any:
        """The vector of matrices and biases."""
        return concat([reshape(each, [-1]) for each in (*weights, *biases)], 0)

    def from_opaque(self, params: Any) -> tuple[list[Any], list[Any]]:
        """The matrices and biases of a vector."""
        shapes = [list(shape) for shape in (*self.weight_shapes, *self.bias_shapes)]
        parts = [reshape(part, shape) for part, shape in zip(split(params, [math.prod(shape) for shape in shapes], axis=0), shapes)]
        return parts[:len(self.weight_shapes)], parts[len(self.weight_shapes):]

    def per_direction(self, params: list[Any]) -> list[list[Any]]:
        """A list for each layer and direction."""
        count = 2 * self._gates
        return [params[start:start + count] for start in range(0, len(params), count)]

    # --- TensorFlow's canonical form ---------------------------------------------------------------------------------

    def opaque_to_tf_canonical(self, opaque_param: Any) -> tuple[list[Any], list[Any]]:
        """The kernels and biases of cells that compute the same."""
        weights, biases = map(self.per_direction, self.from_opaque(opaque_param))
        return [each for one in weights for each in self._tf_weights(one)], [each for one in biases for each in self._tf_biases(one)]

    def tf_canonical_to_opaque(self, tf_canonicals: list[Any], weights_proj: Any = None) -> Any:
        """The vector of a network that computes what cells with these kernels and biases do."""
        if weights_proj is not None:
            raise NotImplementedError("weights_proj: Penstock's cuDNN networks have no projections.")
        half, count = len(tf_canonicals) // 2, len(tf_canonicals) // 2 // (self._num_layers * self._num_dirs)
        weights, biases = ([params[start:start + count] for start in range(0, half, count)]
                           for params in (tf_canonicals[:half], tf_canonicals[half:]))
        cu_weights = [each for number, one in enumerate(weights) for each in self._cu_weights(self.depth(number // self._num_dirs), one)]
        return self.to_opaque(cu_weights, [each for one in biases for each in self._cu_biases(one)])

    def _join_gates(self, weights: list[Any], gates: tuple[int, ...]) -> Any:
        """One kernel of some gates, for inputs and state side by side."""
        return transpose(concat([concat([weights[gate], weights[self._gates + gate]], axis=1) for gate in gates], axis=0))

    def _split_kernel(self, kernel: Any, depth: int, count: int) -> list[list[Any]]:
        """The matrices for inputs, and those for the state, of the gates of one kernel."""
        pairs = [split(gate, [depth, self._num_units], axis=1) for gate in split(transpose(kernel), count, axis=0)]
        return [list(each) for each in zip(*pairs)]

    def _tf_weights(self, weights: list[Any]) -> list[Any]:
        return [self._join_gates(weights, self._order)]

    def _cu_weights(self, depth: int, kernels: list[Any]) -> list[Any]:
        inputs, states = self._split_kernel(kernels[0], depth, self._gates)
        return [*(inputs[gate] for gate in self._order), *(states[gate] for gate in self._order)]

    def _tf_biases(self, biases: list[Any]) -> list[Any]:
        gates = self._gates
        return [concat([biases[gate] for gate in self._order], axis=0) + concat([biases[gates + gate] for gate in self._order], axis=0)]

    def _cu_biases(self, biases: list[Any]) -> list[Any]:
        halves = split(biases[0] * 0.5, self._gates, axis=0)  # cells have one bias per gate: each of the two gets half of it
        return [halves[gate] for gate in self._order] * 2


class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    """``tf.contrib.cudnn_rnn.CudnnParamsFormatConverterLSTM``: cuDNN's gates are input, forget, new, output."""

    _rnn_mode, _order = "lstm", (0, 2, 1, 3)


class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverter):
    """``tf.contrib.cudnn_rnn.CudnnParamsFormatConverterTanh``."""

    _rnn_mode = "rnn_tanh"


class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverter):
    """``tf.contrib.cudnn_rnn.CudnnParamsFormatConverterRelu``."""

    _rnn_mode = "rnn_relu"


class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """``tf.contrib.cudnn_rnn.CudnnParamsFormatConverterGRU``: reset, update, new; the new one has kernels and biases for inputs and state."""

    _rnn_mode = "gru"

    def _tf_weights(self, weights: list[Any]) -> list[Any]:
        return [self._join_gates(weights, (0, 1)), transpose(weights[2]), transpose(weights[5])]

    def _cu_weights(self, depth: int, kernels: list[Any]) -> list[Any]:
        inputs, states = self._split_kernel(kernels[0], depth, 2)
        return [*inputs, transpose(kernels[1]), *states, transpose(kernels[2])]

    def _tf_biases(self, biases: list[Any]) -> list[Any]:
        return [concat(biases[0:2], axis=0) + concat(biases[3:5], axis=0), biases[2], biases[5]]

    def _cu_biases(self, biases: list[Any]) -> list[Any]:
        halves = list(split(biases[0] * 0.5, 2, axis=0))
        return [*halves, biases[1], *halves, biases[2]]


# --- checkpoints -----------------------------------------------------------------------------------------------------


class CudnnOpaqueParamsSaveable(SaveableObject):
    """A vector of parameters that is saved as the variables of cells which compute the same."""

    _converter: type[CudnnParamsFormatConverter]
    _cell_name = ""
    _kernels, _biases = ["kernel"], ["bias"]

    def __init__(self, opaque_params: Any, num_layers: int, num_units: int, input_size: int, input_mode: str = LINEAR_INPUT,
                 direction: str = UNIDIRECTIONAL, scope: Any = None, name: str = "cudnn_rnn_saveable") -> None:
        self._variable = opaque_params
        self.format_converter = self._converter(num_layers, num_units, input_size, None, input_mode, direction)
        path = ["rnn/multi_rnn_cell/cell_{}"] if direction == UNIDIRECTIONAL else [
            f"stack_bidirectional_rnn/cell_{{}}/bidirectional_rnn/{way}" for way in ("fw", "bw")]
        cells = [f"{each.format(layer)}/{self._cell_name}" for layer in range(num_layers) for each in path]
        prefix = getattr(scope, "name", scope) or ""
        names = [f"{cell}/{name}" for kind in (self._kernels, self._biases) for cell in cells for name in kind]
        weights, biases = self.format_converter.opaque_to_tf_canonical(opaque_params)
        super().__init__(identity(opaque_params), [SaveSpec(tensor, "", f"{prefix}/{name}" if prefix else name)
                                                   for tensor, name in zip([*weights, *biases], names)], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """The vector of the cells' variables."""
        return assign(self._variable, self.format_converter.tf_canonical_to_opaque(list(restored_tensors)), validate_shape=False)


class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    """``tf.contrib.cudnn_rnn.CudnnLSTMSaveable``."""

    _converter, _cell_name = CudnnParamsFormatConverterLSTM, "cudnn_compatible_lstm_cell"


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """``tf.contrib.cudnn_rnn.CudnnGRUSaveable``."""

    _converter, _cell_name = CudnnParamsFormatConverterGRU, "cudnn_compatible_gru_cell"
    _kernels, _biases = ([f"{part}/{kind}" for part in ("gates", "candidate/input_projection", "candidate/hidden_projection")]
                         for kind in ("kernel", "bias"))


class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    """``tf.contrib.cudnn_rnn.CudnnRNNTanhSaveable``."""

    _converter, _cell_name = CudnnParamsFormatConverterTanh, "basic_rnn_cell"


class CudnnRNNReluSaveable(CudnnOpaqueParamsSaveable):
    """``tf.contrib.cudnn_rnn.CudnnRNNReluSaveable``."""

    _converter, _cell_name = CudnnParamsFormatConverterRelu, "basic_rnn_cell"
