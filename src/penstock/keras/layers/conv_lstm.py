"""ConvLSTM2D: an LSTM over sequences of images, whose products are convolutions."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.graph import default_graph
from penstock.graph.shape import TensorShape
from penstock.keras.backend.convolutions import bias_add, conv2d
from penstock.keras.layers.cell_operations import CellStep
from penstock.keras.layers.cells import LSTMCell
from penstock.keras.layers.rnn import RNN, state_variable
from penstock.layers import activations, regularizers
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import (
    add_weight,
    input_channels,
    normalize_data_format,
    normalize_padding,
    normalize_tuple,
    ordered_config,
    output_length,
    weight_config,
    windowed_shape,
)
from penstock.layers.sessions import assign_values
from penstock.ops.array.fill import zeros, zeros_like
from penstock.ops.array.pack import split
from penstock.ops.math.reduce import reduce_sum

_WINDOW = ("kernel_size", "strides", "padding", "data_format", "dilation_rate")


class ConvLSTM2DCell(LSTMCell):
    """One step: gates are images."""

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
                 dilation_rate: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(filters, **kwargs)
        self.filters, self.kernel_size, self.strides = filters, normalize_tuple(kernel_size, 2, "kernel_size"), normalize_tuple(strides, 2, "strides")
        self.padding, self.data_format = normalize_padding(padding), normalize_data_format(data_format)
        self.dilation_rate = normalize_tuple(dilation_rate, 2, "dilation_rate")
        self.state_size: Any = (filters, filters)

    def build(self, input_shape: Any) -> None:
        """The kernels of all gates, and the bias."""
        self.kernel_shape = (*self.kernel_size, input_channels(self, input_shape), self.filters * 4)
        self.kernel = add_weight(self, "kernel", self.kernel_shape)
        self.recurrent_kernel = add_weight(self, "recurrent_kernel", (*self.kernel_size, self.filters, self.filters * 4), "recurrent")
        self.bias = self._add_bias() if self.use_bias else None
        self.built = True

    def _input_conv(self, x: Any, kernel: Any, bias: Any = None) -> Any:
        outputs = conv2d(x, kernel, strides=self.strides, padding=self.padding, data_format=self.data_format, dilation_rate=self.dilation_rate)
        return outputs if bias is None else bias_add(outputs, bias, data_format=self.data_format)

    def unseen_operations(self, step: CellStep) -> int:
        """How many operations more than ours TensorFlow has in such a step."""
        return 0  # there, too, each gate has its own; what is made once is counted by the layer

    def projects_sequences(self) -> bool:
        """False: steps are images, of which a whole sequence may be too many."""
        return False

    def project(self, inputs: Any, masks: Any = None) -> Any:
        """A convolution of the inputs for each gate."""
        biases = [None] * 4 if self.bias is None else split(self.bias, 4)
        return [self._input_conv(inputs if masks is None else inputs * masks[index], kernel, biases[index])
                for index, kernel in enumerate(split(self.kernel, 4, axis=3))]

    def _gate_inputs(self, projected: Any, h: Any, masks: Any) -> list[Any]:
        return [part + conv2d(h if masks is None else h * masks[index], kernel, strides=(1, 1), padding="same", data_format=self.data_format)
                for index, (part, kernel) in enumerate(zip(projected, split(self.recurrent_kernel, 4, axis=3)))]


class ConvLSTM2D(RNN):
    """``tf.keras.layers.ConvLSTM2D``."""

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
                 dilation_rate: Any = (1, 1), activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
                 kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
                 unit_forget_bias: bool = True, kernel_regularizer: Any = None, recurrent_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
                 return_sequences: bool = False, go_backwards: bool = False, stateful: bool = False, dropout: float = 0.0,
                 recurrent_dropout: float = 0.0, **kwargs: Any) -> None:
        cell = ConvLSTM2DCell(filters, kernel_size, strides, padding, data_format, dilation_rate, activation=activation,
                              recurrent_activation=recurrent_activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                              recurrent_initializer=recurrent_initializer, bias_initializer=bias_initializer, unit_forget_bias=unit_forget_bias,
                              kernel_regularizer=kernel_regularizer, recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
                              kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint, bias_constraint=bias_constraint,
                              dropout=dropout, recurrent_dropout=recurrent_dropout, dtype=kwargs.get("dtype"))
        super().__init__(cell, return_sequences=return_sequences, go_backwards=go_backwards, stateful=stateful, **kwargs)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.input_spec = [InputSpec(ndim=5)]

    def __getattr__(self, name: str) -> Any:
        if "cell" in self.__dict__ and name in (*_WINDOW, "filters", "activation", "recurrent_activation", "use_bias", "kernel_initializer",
                                                "recurrent_initializer", "bias_initializer", "unit_forget_bias", "dropout", "recurrent_dropout"):
            return getattr(self.cell, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def build(self, input_shape: Any) -> None:
        """Builds the cell, for one image."""
        extents = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        self.input_spec = [InputSpec(shape=(extents[0] if self.stateful else None, None, *extents[2:5]))]
        self.cell.build((extents[0], *extents[2:]))
        self.cell.built = True
        if self.state_spec is None:
            channels = self.cell.filters
            spec = (None, channels, None, None) if self.cell.data_format == "channels_first" else (None, None, None, channels)
            self.state_spec = [InputSpec(shape=spec)] * 2
        if self.stateful:
            self.reset_states()
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None, constants: Any = None) -> Any:
        """The outputs of the steps, or the last one; with ``return_state`` also the states."""
        default_graph().imply(13)  # that TensorFlow has more
        return super().call(inputs, mask, training, initial_state, constants)

    def _image_shape(self, input_shape: Any) -> TensorShape:
        """The shape of one output."""
        extents = TensorShape(input_shape).as_list()
        cell = self.cell
        return windowed_shape([extents[0], *extents[2:]], cell.data_format,
                              lambda axis, length: output_length(length, cell.kernel_size[axis], cell.padding, cell.strides[axis],
                                                                 cell.dilation_rate[axis]), cell.filters)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs, and of the states if they are returned."""
        input_shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        image = self._image_shape(input_shape).as_list()
        steps = TensorShape(input_shape).as_list()[1]
        output = TensorShape([image[0], steps, *image[1:]] if self.return_sequences else image)
        return [output, TensorShape(image), TensorShape(image)] if self.return_state else output

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Zeros of the size of the outputs."""
        shape = (*self.cell.kernel_shape[:-1], self.cell.filters)
        state = self.cell._input_conv(reduce_sum(zeros_like(inputs), axis=1), zeros(shape))
        return [state, state]

    def reset_states(self, states: Any = None) -> None:
        """Sets the states of a stateful layer, to zeros if no others are given."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        image: Any = self._image_shape(self.input_spec[0].shape).as_list()
        if None in image:
            raise ValueError("If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors, and the number of "
                             "rows and columns.")
        if self._states is None:
            self._states = [state_variable(image) for _ in range(2)]
            return
        assign_values(list(zip(self._states, [np.zeros(image)] * 2 if states is None else states)))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        cell = self.cell
        config = {**Layer.get_config(self), **self._sequence_config(), **{name: getattr(cell, name) for name in ("filters", *_WINDOW)},
                  "activation": activations.serialize(cell.activation), "recurrent_activation": activations.serialize(cell.recurrent_activation),
                  "use_bias": cell.use_bias, **weight_config(cell, "kernel", "recurrent", "bias"), "unit_forget_bias": cell.unit_forget_bias,
                  "activity_regularizer": regularizers.serialize(self.activity_regularizer), "dropout": cell.dropout,
                  "recurrent_dropout": cell.recurrent_dropout}
        return ordered_config(config)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer that ``get_config`` describes."""
        return cls(**config)
