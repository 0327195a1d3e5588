"""Dense, Flatten, Dropout."""
from __future__ import annotations

import math
from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.shape import TensorShape
from penstock.layers import activations, regularizers, settings
from penstock.layers.base import Layer
from penstock.layers.branching import learning_phase, smart_cond
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import add_weight, normalize_data_format, ordered_config, set_weight_options, weight_config
from penstock.ops.array.cast import cast
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.constant import identity
from penstock.ops.linalg.einsum import tensordot
from penstock.ops.linalg.matmul import matmul
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.dropout import dropout
from penstock.ops.sparse.sparse_functions import sparse_tensor_dense_matmul


class Dense(Layer):
    """``tf.keras.layers.Dense``: activation(inputs x kernel + bias), over the last axis."""

    def __init__(self, units: int, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
                 bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        if "input_shape" not in kwargs and "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.units, self.use_bias, self.activation = int(units), use_bias, activations.get(activation)
        set_weight_options(self, "kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        set_weight_options(self, "bias", bias_initializer, bias_regularizer, bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        """The kernel and the bias."""
        dtype = dtypes.as_dtype(self.dtype or settings.floatx())
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        depth = TensorShape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: depth})
        self.kernel = add_weight(self, "kernel", [depth, self.units])
        self._add_bias()
        self.built = True

    def _add_bias(self) -> None:
        self.bias = add_weight(self, "bias", [self.units]) if self.use_bias else None

    def call(self, inputs: Any) -> Any:
        """The product, the bias, the activation."""
        rank = inputs.shape.ndims
        if rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        elif isinstance(inputs, SparseTensor):
            outputs = sparse_tensor_dense_matmul(cast(inputs, self._dtype), self.kernel)
        else:
            outputs = matmul(cast(inputs, self._dtype), self.kernel)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs) if self.activation is not None else outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the inputs with ``units`` as its last extent."""
        known = TensorShape(input_shape).with_rank_at_least(2)
        if known.as_list()[-1] is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {known}")
        return known[:-1].concatenate([self.units])

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return ordered_config({
            **super().get_config(), "units": self.units, "activation": activations.serialize(self.activation), "use_bias": self.use_bias,
            "activity_regularizer": regularizers.serialize(self.activity_regularizer), **weight_config(self, "kernel", "bias")})


class Dropout(Layer):
    """``tf.keras.layers.Dropout``: in training, sets elements to 0 with probability ``rate`` and scales the others up."""

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs: Any) -> Any:
        """The shape of the mask: None in ``noise_shape`` means the extent of the inputs."""
        if self.noise_shape is None:
            return None
        extents = shape(inputs)
        return to_tensor([extents[axis] if extent is None else extent for axis, extent in enumerate(self.noise_shape)])

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The inputs, or what is left of them."""
        return smart_cond(learning_phase() if training is None else training,
                          lambda: dropout(inputs, noise_shape=self._get_noise_shape(inputs), seed=self.seed, rate=self.rate),
                          lambda: identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}


class Flatten(Layer):
    """``tf.keras.layers.Flatten``: all axes but the first become one; channels that come first are moved to the end before."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        """The inputs as a matrix."""
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        outputs = reshape(inputs, (inputs.shape.as_list()[0] or shape(inputs)[0], -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the matrix."""
        first, *rest = TensorShape(input_shape).as_list() or [1]
        return TensorShape([first, math.prod(rest) if all(rest) else None])

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "data_format": self.data_format}
