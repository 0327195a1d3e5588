"""Generalised divisive normalisation: each channel is divided by a learned combination of the squares of all."""
from __future__ import annotations

from typing import Any

from penstock.contrib.prelude import get_default_graph
from penstock.gradients import RegisterGradient
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.layers.input_spec import InputSpec
from penstock.layers.scoped import Layer
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones
from penstock.ops.array.shape_ops import expand_dims, reshape, shape, squeeze
from penstock.ops.constant import constant
from penstock.ops.linalg.diag import eye
from penstock.ops.math.compare import logical_or
from penstock.ops.math.elementwise import maximum, square
from penstock.ops.math.powers import sqrt
from penstock.ops.nn.bias import bias_add
from penstock.ops.nn.space_to_batch_conv import convolution

_CHANNEL_AXES = {"channels_first": 1, "channels_last": -1}


@RegisterGradient("GDNLowerBound")
def _lower_bound_gradient(op: Any, grad: Any) -> list[Any]:
    """A value at its bound still has a gradient that would raise it."""
    inputs, bound = op.inputs
    return [cast(logical_or(inputs >= bound, grad < 0), grad.dtype) * grad, None]


def _lower_bound(inputs: Any, bound: Any) -> Any:
    with name_scope(None, "GDNLowerBound", [inputs, bound]) as scope:
        inputs, bound = to_tensor(inputs, name="inputs"), to_tensor(bound, name="bound")
        with get_default_graph().gradient_override_map({"Maximum": "GDNLowerBound"}):
            return maximum(inputs, bound, name=scope)


class GDN(Layer):
    """``y[i] = x[i] / sqrt(beta[i] + sum_j gamma[j, i] * x[j]^2)``, or, inverse, the product.

    beta and gamma are squares of the variables, less a small pedestal, and the variables are kept above a bound: so both stay positive.
    """

    def __init__(self, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1, reparam_offset: float = 2 ** -18,
                 data_format: str = "channels_last", activity_regularizer: Any = None, trainable: bool = True, name: Any = None,
                 **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        if data_format not in _CHANNEL_AXES:
            raise ValueError(f"Unsupported `data_format` for GDN layer: {data_format}.")
        self.inverse, self.data_format = inverse, data_format
        self._beta_min, self._gamma_init, self._reparam_offset = beta_min, gamma_init, reparam_offset
        self.input_spec = InputSpec(min_ndim=3, max_ndim=5)

    def build(self, input_shape: Any) -> None:
        """The variables, and beta and gamma made of them."""
        axis, input_shape = _CHANNEL_AXES[self.data_format], TensorShape(input_shape)
        number = input_shape.as_list()[axis]
        if number is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self._input_rank = input_shape.ndims
        self.input_spec = InputSpec(ndim=input_shape.ndims, axes={axis: number})
        offset = self._reparam_offset
        pedestal = constant(offset ** 2, dtype=self.dtype)
        beta_bound = constant((self._beta_min + offset ** 2) ** 0.5, dtype=self.dtype)
        gamma_bound = constant(offset, dtype=self.dtype)

        def beta_initializer(extents: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            pedestal = constant(offset ** 2, dtype=self.dtype)
            return sqrt(ones(extents, dtype=dtype) + pedestal)

        def gamma_initializer(extents: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            identity = eye(int(extents[0]), dtype=dtype)
            pedestal = constant(offset ** 2, dtype=self.dtype)
            return sqrt(self._gamma_init * identity + pedestal)

        beta = self.add_weight("reparam_beta", shape=[number], initializer=beta_initializer, dtype=self.dtype, trainable=True)
        self.beta = square(_lower_bound(beta, beta_bound)) - pedestal
        gamma = self.add_weight("reparam_gamma", shape=[number, number], initializer=gamma_initializer, dtype=self.dtype, trainable=True)
        self.gamma = square(_lower_bound(gamma, gamma_bound)) - pedestal
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The normalised inputs."""
        inputs = to_tensor(inputs)
        rank, extents = self._input_rank, self.gamma.shape.as_list()
        gamma = reshape(self.gamma, (rank - 2) * [1] + extents)
        if self.data_format == "channels_first":
            pool = self._biased_first(convolution(square(inputs), gamma, "VALID", data_format="NC" + "DHW"[-(rank - 2):]))
        else:
            pool = bias_add(convolution(square(inputs), gamma, "VALID"), self.beta, data_format="NHWC")
        pool = sqrt(pool)
        outputs = inputs * pool if self.inverse else inputs / pool
        outputs.set_shape(inputs.shape)
        return outputs

    def _biased_first(self, pool: Any) -> Any:
        """``pool`` plus beta, where channels come first: biases are added to images only."""
        if self._input_rank == 3:
            return squeeze(bias_add(expand_dims(pool, 2), self.beta, data_format="NCHW"), [2])
        if self._input_rank == 4:
            return bias_add(pool, self.beta, data_format="NCHW")
        extents = shape(pool)
        batch, channels, depth = extents[0], extents[1], extents[2]
        return reshape(bias_add(reshape(pool, [batch, channels, depth, -1]), self.beta, data_format="NCHW"), extents)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the inputs."""
        result = TensorShape(input_shape)
        if result.ndims is None or not 3 <= result.ndims <= 5:
            raise ValueError("`input_shape` must be of rank 3 to 5, inclusive.")
        if result.as_list()[_CHANNEL_AXES[self.data_format]] is None:
            raise ValueError("The channel dimension of `input_shape` must be defined.")
        return result


def gdn(inputs: Any, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1, reparam_offset: float = 2 ** -18,
        data_format: str = "channels_last", activity_regularizer: Any = None, trainable: bool = True, name: Any = None, reuse: Any = None) -> Any:
    """A new layer GDN, called on ``inputs``."""
    layer = GDN(inverse=inverse, beta_min=beta_min, gamma_init=gamma_init, reparam_offset=reparam_offset, data_format=data_format,
                activity_regularizer=activity_regularizer, trainable=trainable, name=name, dtype=inputs.dtype.base_dtype, _scope=name, _reuse=reuse)
    return layer.apply(inputs)
