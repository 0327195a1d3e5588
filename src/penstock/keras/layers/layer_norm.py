"""LayerNormalization: each sample is normalised by its own mean and variance."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers.base import Layer
from penstock.layers.options import add_weight, set_weight_options, weight_config
from penstock.ops.array.shape_ops import reshape
from penstock.ops.nn.normalization import batch_normalization, moments


class LayerNormalization(Layer):
    """``tf.keras.layers.LayerNormalization``."""

    def __init__(self, axis: Any = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True, beta_initializer: Any = "zeros",
                 gamma_initializer: Any = "ones", beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
                 gamma_constraint: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise ValueError(f"Expected an int or a list/tuple of ints for the argument 'axis', but received instead: {axis}")
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.epsilon, self.center, self.scale, self.supports_masking = epsilon, center, scale, True
        set_weight_options(self, "beta", beta_initializer, beta_regularizer, beta_constraint)
        set_weight_options(self, "gamma", gamma_initializer, gamma_regularizer, gamma_constraint)

    def build(self, input_shape: Any) -> None:
        """Scale and offset, one number each per place on the normalised axes."""
        extents = TensorShape(input_shape).as_list()
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [axis + len(extents) if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if axis < 0 or axis >= len(extents):
                raise ValueError(f"Invalid axis: {axis}")
        if len(self.axis) != len(set(self.axis)):
            raise ValueError(f"Duplicate axis: {tuple(self.axis)}")
        parameters = [extents[axis] for axis in self.axis]
        self.gamma = add_weight(self, "gamma", parameters) if self.scale else None
        self.beta = add_weight(self, "beta", parameters) if self.center else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The normalised inputs."""
        extents = inputs.shape.as_list()
        mean, variance = moments(inputs, self.axis, keep_dims=True)

        def broadcast(value: Any) -> Any:
            if value is None or len(value.shape.as_list()) == len(extents) or self.axis == [len(extents) - 1]:
                return value
            return reshape(value, [extent if axis in self.axis else 1 for axis, extent in enumerate(extents)])

        outputs = batch_normalization(inputs, mean, variance, offset=broadcast(self.beta), scale=broadcast(self.gamma), variance_epsilon=self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "axis": self.axis, "epsilon": self.epsilon, "center": self.center, "scale": self.scale,
                **weight_config(self, "beta", "gamma")}
