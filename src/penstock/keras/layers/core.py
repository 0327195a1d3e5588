"""Small layers without weights: Activation, Reshape, Permute, RepeatVector, Masking, ActivityRegularization."""
from __future__ import annotations

import math
from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers import activations, regularizers
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import tile, transpose
from penstock.ops.array.shape_ops import expand_dims, reshape, shape, squeeze
from penstock.ops.math.compare import not_equal
from penstock.ops.math.reduce import reduce_any


class Activation(Layer):
    """``tf.keras.layers.Activation``: a function, by name or itself."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.activation = True, activations.get(activation)

    def call(self, inputs: Any) -> Any:
        """The function of the inputs."""
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "activation": activations.serialize(self.activation)}


class Masking(Layer):
    """``tf.keras.layers.Masking``: steps whose features all have the value ``mask_value`` do not count."""

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.mask_value, self._compute_output_and_mask_jointly = True, mask_value, True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which steps count."""
        return reduce_any(not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Any:
        """The inputs, with zeros in the steps that do not count."""
        counted = reduce_any(not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = inputs * cast(counted, inputs.dtype)
        outputs._keras_mask = squeeze(counted, axis=-1)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "mask_value": self.mask_value}


class Reshape(Layer):
    """``tf.keras.layers.Reshape``: another shape for each sample; one extent may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def _target_extents(self, extents: list[int]) -> list[int]:
        """The target shape for samples of a known shape."""
        problem = ValueError("total size of new array must be unchanged")
        known, total = math.prod(extent for extent in self.target_shape if extent >= 0), math.prod(extents)
        unknown = sum(extent < 0 for extent in self.target_shape)
        if unknown > 1:
            raise ValueError("Can only specify one unknown dimension.")
        if unknown:
            if known == 0 or total % known:
                raise problem
            return [total // known if extent < 0 else extent for extent in self.target_shape]
        if known != total:
            raise problem
        return list(self.target_shape)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The batch and the target shape."""
        first, *rest = TensorShape(input_shape).as_list()
        if None in rest:
            return TensorShape([first, *(None if extent == -1 else extent for extent in self.target_shape)])
        return TensorShape([first, *self._target_extents([extent for extent in rest if extent is not None])])

    def call(self, inputs: Any) -> Any:
        """The reshaped inputs."""
        return reshape(inputs, (shape(inputs)[0], *self.target_shape))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "target_shape": self.target_shape}


class Permute(Layer):
    """``tf.keras.layers.Permute``: the axes of each sample in another order, counted from 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in `dims` must be consecutive "
                             "and start from 1.")
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The extents in the new order."""
        extents = TensorShape(input_shape).as_list()
        return TensorShape([extents[0], *(extents[axis] for axis in self.dims)])

    def call(self, inputs: Any) -> Any:
        """The transposed inputs."""
        return transpose(inputs, perm=(0, *self.dims))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "dims": self.dims}


class RepeatVector(Layer):
    """``tf.keras.layers.RepeatVector``: (batch, features) becomes (batch, n, features)."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n, self.input_spec = n, InputSpec(ndim=2)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """With an axis of ``n`` steps."""
        first, last = TensorShape(input_shape).as_list()
        return TensorShape([first, self.n, last])

    def call(self, inputs: Any) -> Any:
        """The inputs, ``n`` times."""
        return tile(expand_dims(inputs, 1), stack([1, self.n, 1]))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "n": self.n}


class ActivityRegularization(Layer):
    """``tf.keras.layers.ActivityRegularization``: a loss for large inputs."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking, self.l1, self.l2 = True, l1, l2

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}
