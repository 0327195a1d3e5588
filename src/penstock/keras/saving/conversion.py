"""Weights of files in the form that a layer has: files of other versions, and recurrent layers that were made for cuDNN."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = list[Any]


def converted_weights(layer: Any, values: Values, keras_version: str = "2", backend: str | None = None) -> Values:
    """The weights of a layer, as it wants them."""
    kind = type(layer).__name__
    if kind == "Bidirectional":
        half = len(values) // 2
        return converted_weights(layer.forward_layer, values[:half], keras_version, backend) + \
            converted_weights(layer.backward_layer, values[half:], keras_version, backend)
    if kind == "TimeDistributed":
        return converted_weights(layer.layer, values, keras_version, backend)
    if kind in ("Model", "Sequential"):
        return _nested_weights(layer, values, keras_version, backend)
    if keras_version.startswith("1"):
        raise ValueError(f"The weights of layer {layer.name} were written by Keras 1, whose files are not supported. Load and save them "
                         "with Keras 2.")
    if backend == "theano" and kind in ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "ConvLSTM2D"):
        values = [_flip(values[0]), *(values[1:] if kind != "ConvLSTM2D" else [_flip(values[1]), *values[2:]])]
    if kind in ("LSTM", "CuDNNLSTM") and len(values) == 3:
        return _lstm(kind, values)
    if kind in ("GRU", "CuDNNGRU") and len(values) == 3:
        return _gru(layer, kind, values)
    return values


def _flip(kernel: np.ndarray) -> np.ndarray:
    """Theano convolves with the kernel flipped."""
    return np.copy(kernel[(slice(None, None, -1),) * (kernel.ndim - 2)])


def _nested_weights(model: Any, values: Values, keras_version: str, backend: str | None) -> Values:
    """The weights of a model in a model: all that are trained first, then the others."""
    trained, others = list(values[:len(model.trainable_weights)]), list(values[len(model.trainable_weights):])
    new_trained: Values = []
    new_others: Values = []
    for layer in model.layers:
        first, second = len(layer.trainable_weights), len(layer.non_trainable_weights)
        if first + second:
            made = converted_weights(layer, trained[:first] + others[:second], keras_version, backend)
            new_trained += made[:first]
            new_others += made[first:]
            trained, others = trained[first:], others[second:]
    return new_trained + new_others


# --- cuDNN -----------------------------------------------------------------------------------------------------------


def _each_gate(kernels: np.ndarray, change: Callable[[np.ndarray], np.ndarray], gates: int) -> np.ndarray:
    return np.hstack([change(kernel) for kernel in np.hsplit(kernels, gates)])


def _transpose(from_cudnn: bool) -> Callable[[np.ndarray], np.ndarray]:
    """cuDNN keeps each kernel transposed, in the order of the other language."""
    return lambda kernel: kernel.T.reshape(kernel.shape, order="F" if from_cudnn else "C")


def _lstm(kind: str, values: Values) -> Values:
    units, size = values[1].shape[0], values[2].shape
    if size not in ((8 * units,), (4 * units,)):
        raise ValueError(f"Invalid bias shape: {size}")
    source = "CuDNNLSTM" if size == (8 * units,) else "LSTM"
    if source == kind:
        return values
    cudnn = source == "CuDNNLSTM"
    bias = np.sum(np.split(values[2], 2, axis=0), axis=0) if cudnn else np.tile(0.5 * values[2], 2)
    return [_each_gate(values[0], _transpose(cudnn), 4), _each_gate(values[1], np.transpose, 4), bias]


def _gru(layer: Any, kind: str, values: Values) -> Values:
    units, size = values[1].shape[0], values[2].shape
    sources = {(6 * units,): "CuDNNGRU", (2, 3 * units): "GRU(reset_after=True)", (3 * units,): "GRU(reset_after=False)"}
    if size not in sources:
        raise ValueError(f"Invalid bias shape: {size}")
    source, target = sources[size], kind if kind == "CuDNNGRU" else f"GRU(reset_after={bool(layer.reset_after)})"
    if source == target:
        return values
    if "GRU(reset_after=False)" in (source, target):
        raise ValueError(f"{source} is not compatible with {target}")
    cudnn = source == "CuDNNGRU"
    return [_each_gate(values[0], _transpose(cudnn), 3), _each_gate(values[1], np.transpose, 3), np.reshape(values[2], (2, -1) if cudnn else -1)]
