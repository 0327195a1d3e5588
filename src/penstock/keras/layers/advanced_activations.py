"""Activations with parameters, as layers."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers import activations, settings
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import add_weight, set_weight_options, weight_config
from penstock.ops.array.cast import cast
from penstock.ops.math.compare import greater
from penstock.ops.nn.activations import relu
from penstock.ops.nn.softmax import softmax


class _Elementwise(Layer):
    """Outputs have the shape of the inputs. ``names`` are the numbers that the layer is made with."""

    names: tuple[str, ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), **{name: float(getattr(self, name)) for name in self.names}}


class LeakyReLU(_Elementwise):
    """``tf.keras.layers.LeakyReLU``: alpha * x below 0."""

    names = ("alpha",)

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = settings.cast_to_floatx(alpha)

    def call(self, inputs: Any) -> Any:
        """The activation."""
        return activations.relu(inputs, alpha=self.alpha)


class PReLU(_Elementwise):
    """``tf.keras.layers.PReLU``: alpha * x below 0, where alpha is learned, for each place or shared along axes."""

    def __init__(self, alpha_initializer: Any = "zeros", alpha_regularizer: Any = None, alpha_constraint: Any = None, shared_axes: Any = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        set_weight_options(self, "alpha", alpha_initializer, alpha_regularizer, alpha_constraint)
        self.shared_axes = None if shared_axes is None else list(shared_axes) if isinstance(shared_axes, (list, tuple)) else [shared_axes]

    def build(self, input_shape: Any) -> None:
        """The slopes."""
        extents = TensorShape(input_shape).as_list()
        shared = self.shared_axes or []
        self.alpha = add_weight(self, "alpha", [1 if axis in shared else extent for axis, extent in enumerate(extents)][1:])  # type: ignore[arg-type]
        axes = {axis: extents[axis] for axis in range(1, len(extents)) if axis not in shared} if shared else {}
        self.input_spec = InputSpec(ndim=len(extents), axes=axes)
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The activation."""
        return relu(inputs) + -self.alpha * relu(-inputs)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), **weight_config(self, "alpha"), "shared_axes": self.shared_axes}


class ELU(_Elementwise):
    """``tf.keras.layers.ELU``: alpha * (exp(x) - 1) below 0."""

    names = ("alpha",)

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = settings.cast_to_floatx(alpha)

    def call(self, inputs: Any) -> Any:
        """The activation."""
        return activations.elu(inputs, self.alpha)


class ThresholdedReLU(_Elementwise):
    """``tf.keras.layers.ThresholdedReLU``: x above theta, else 0."""

    names = ("theta",)

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = settings.cast_to_floatx(theta)

    def call(self, inputs: Any) -> Any:
        """The activation."""
        return inputs * cast(greater(inputs, self.theta), settings.floatx())


class Softmax(_Elementwise):
    """``tf.keras.layers.Softmax``."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        """The activation."""
        return softmax(inputs, axis=self.axis)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "axis": self.axis}


class ReLU(_Elementwise):
    """``tf.keras.layers.ReLU``: with an upper limit, a threshold and a slope below it."""

    def __init__(self, max_value: float | None = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0.0:
            raise ValueError(f"max_value of Relu layer cannot be negative value: {max_value}")
        if negative_slope < 0.0:
            raise ValueError(f"negative_slope of Relu layer cannot be negative value: {negative_slope}")
        self.max_value = None if max_value is None else settings.cast_to_floatx(max_value)
        self.negative_slope, self.threshold = settings.cast_to_floatx(negative_slope), settings.cast_to_floatx(threshold)

    def call(self, inputs: Any) -> Any:
        """The activation."""
        return activations.relu(inputs, alpha=self.negative_slope, max_value=self.max_value, threshold=self.threshold)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "max_value": self.max_value, "negative_slope": self.negative_slope, "threshold": self.threshold}
