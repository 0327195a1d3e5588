"""``convert_all_kernels_in_model``: kernels of convolutions, flipped."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.layers.sessions import assign_values, values_of

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose")


def convert_all_kernels_in_model(model: Any) -> None:
    """``tf.keras.utils.convert_all_kernels_in_model``: from Theano's convention to TensorFlow's, and back."""
    kernels = [layer.kernel for layer in model.layers if type(layer).__name__ in _CONVOLUTIONS]
    flipped = [np.copy(value[(slice(None, None, -1),) * (value.ndim - 2)]) for value in values_of(kernels)]
    assign_values(list(zip(kernels, flipped)))
