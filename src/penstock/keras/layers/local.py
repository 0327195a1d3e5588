"""Locally connected layers: convolutions whose kernel is another one at each place."""
from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from penstock.graph.composite import SparseTensor
from penstock.graph.shape import TensorShape
from penstock.keras.backend.convolutions import bias_add, local_conv
from penstock.layers import activations, regularizers
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import (
    add_weight,
    channel_axis,
    input_channels,
    normalize_data_format,
    normalize_padding,
    normalize_tuple,
    ordered_config,
    output_length,
    set_weight_options,
    weight_config,
    windowed_shape,
)
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.linalg.matmul import matmul
from penstock.ops.sparse.sparse_functions import sparse_tensor_dense_matmul


class _LocallyConnected(Layer):
    """The three implementations differ in the shape of the kernel: a matrix per place; a masked matrix; a sparse matrix."""

    rank = 1

    def __init__(self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
                 activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
                 kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
                 bias_constraint: Any = None, implementation: int = 1, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.filters, self.use_bias, self.activation, self.implementation = filters, use_bias, activations.get(activation), implementation
        self.kernel_size, self.strides = normalize_tuple(kernel_size, self.rank, "kernel_size"), normalize_tuple(strides, self.rank, "strides")
        self.padding, self.data_format = normalize_padding(padding), normalize_data_format(data_format)
        if self.padding != "valid" and implementation == 1:
            raise ValueError(f'Invalid border mode for {type(self).__name__} (only "valid" is supported if implementation is 1): {padding}')
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}.")
        set_weight_options(self, "kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        set_weight_options(self, "bias", bias_initializer, bias_regularizer, bias_constraint)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _lengths(self, input_shape: Any) -> tuple[int, ...]:
        extents = TensorShape(input_shape).as_list()
        inner = extents[2:] if self.data_format == "channels_first" else extents[1:-1]
        lengths = tuple(extent for extent in inner if extent is not None)
        if len(lengths) < len(inner):
            raise ValueError(f"The spatial dimensions of the inputs to {type(self).__name__} should be fully-defined, but layer received the inputs "
                             f"shape {tuple(extents)}")
        return lengths

    def build(self, input_shape: Any) -> None:
        """The kernel of each place, and the bias."""
        channels, lengths = input_channels(self, input_shape), self._lengths(input_shape)
        self.output_lengths = tuple(output_length(length, window, self.padding, stride) or 0
                                    for length, window, stride in zip(lengths, self.kernel_size, self.strides))
        first = self.data_format == "channels_first"
        if self.implementation == 1:
            extents: tuple[int, ...] = (math.prod(self.output_lengths), math.prod(self.kernel_size) * channels, self.filters)
        elif self.implementation == 2:
            extents = (channels, *lengths, self.filters, *self.output_lengths) if first else (*lengths, channels, *self.output_lengths, self.filters)
            self.kernel_mask = self._mask(lengths)
        else:
            self.kernel_idxs = self._indices(lengths, channels)
            extents = (len(self.kernel_idxs),)
        self.kernel = add_weight(self, "kernel", extents)
        self.bias = add_weight(self, "bias", (*self.output_lengths, self.filters)) if self.use_bias else None
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={channel_axis(self): channels})
        self.built = True

    def _connections(self, lengths: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """(place of the output, place of the input) of all connections."""
        pairs = []
        for place in itertools.product(*(range(length) for length in self.output_lengths)):
            ranges = []
            for axis, index in enumerate(place):
                size, start = self.kernel_size[axis], index * self.strides[axis]
                if self.padding != "valid":
                    start -= size // 2
                ranges.append(range(max(0, start), min(lengths[axis], start + size)))
            pairs += [(place, source) for source in itertools.product(*ranges)]
        return pairs

    def _mask(self, lengths: tuple[int, ...]) -> np.ndarray:
        mask = np.zeros((*lengths, *self.output_lengths), bool)
        for place, source in self._connections(lengths):
            mask[source + place] = True
        if self.data_format == "channels_first":
            return np.expand_dims(np.expand_dims(mask, 0), -self.rank - 1)
        return np.expand_dims(np.expand_dims(mask, self.rank), -1)

    def _indices(self, lengths: tuple[int, ...], channels: int) -> list[tuple[int, int]]:
        """(row, column) of the connections in a matrix from flat inputs to flat outputs."""
        first, pairs = self.data_format == "channels_first", []
        for place, source in self._connections(lengths):
            for f_in, f_out in itertools.product(range(channels), range(self.filters)):
                out_place, out_shape = ((f_out, *place), (self.filters, *self.output_lengths)) if first else (
                    (*place, f_out), (*self.output_lengths, self.filters))
                in_place, in_shape = ((f_in, *source), (channels, *lengths)) if first else ((*source, f_in), (*lengths, channels))
                pairs.append((int(np.ravel_multi_index(out_place, out_shape)), int(np.ravel_multi_index(in_place, in_shape))))
        return sorted(pairs)

    def call(self, inputs: Any) -> Any:
        """The products of all places, the bias, the activation."""
        if self.implementation == 1:
            outputs = local_conv(inputs, self.kernel, self.kernel_size, self.strides, self.output_lengths, self.data_format)
        else:
            flat = reshape(inputs, (shape(inputs)[0], -1))
            size_in, size_out = math.prod(inputs.shape.as_list()[1:]), math.prod(self.output_lengths) * self.filters
            if self.implementation == 2:
                product = matmul(flat, reshape(self.kernel * self.kernel_mask.astype(np.float32), (size_in, size_out)))
            else:
                matrix = SparseTensor(np.array(self.kernel_idxs, np.int64), self.kernel, (size_out, size_in))
                product = transpose(sparse_tensor_dense_matmul(matrix, flat, adjoint_b=True))
            outputs = reshape(product, [shape(product)[0], *self.compute_output_shape(inputs.shape).as_list()[1:]])
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=self.data_format)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs."""
        return windowed_shape(input_shape, self.data_format,
                              lambda axis, length: output_length(length, self.kernel_size[axis], self.padding, self.strides[axis]), self.filters)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        names = ("filters", "kernel_size", "strides", "padding", "data_format", "use_bias", "implementation")
        return ordered_config({
            **super().get_config(), **{name: getattr(self, name) for name in names}, "activation": activations.serialize(self.activation),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer), **weight_config(self, "kernel", "bias")})


class LocallyConnected1D(_LocallyConnected):
    """``tf.keras.layers.LocallyConnected1D``."""


class LocallyConnected2D(_LocallyConnected):
    """``tf.keras.layers.LocallyConnected2D``."""

    rank = 2

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
                 activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
                 kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
                 bias_constraint: Any = None, implementation: int = 1, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer, bias_initializer,
                         kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, implementation, **kwargs)
