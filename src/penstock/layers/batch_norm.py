"""BatchNormalization: inputs are normalised by the mean and the variance of their batch, or, in inference, by moving averages of them."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import colocate_with, control_dependencies, name_scope
from penstock.graph.shape import TensorShape
from penstock.layers import constraints, initializers, regularizers
from penstock.layers.base import Layer
from penstock.layers.branching import learning_phase, smart_cond, static_truth
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import set_weight_options
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.shape_ops import reshape, shape, size
from penstock.ops.constant import constant, identity
from penstock.ops.math.elementwise import maximum, minimum
from penstock.ops.math.powers import sqrt
from penstock.ops.math.reduce import reduce_mean
from penstock.ops.nn.activations import relu
from penstock.ops.nn.normalization import batch_normalization, fused_batch_norm, moments
from penstock.variables.assign import assign, assign_sub
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.replicas import update_with_mean

_CLIPPINGS = ["rmax", "rmin", "dmax"]


class BatchNormalization(Layer):
    """``tf.keras.layers.BatchNormalization``.

    The moving averages change by updates (``layer.updates``), which must be run with each training step. Images are normalised by one fused op.
    """

    def __init__(self, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
                 beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", moving_mean_initializer: Any = "zeros",
                 moving_variance_initializer: Any = "ones", beta_regularizer: Any = None, gamma_regularizer: Any = None,
                 beta_constraint: Any = None, gamma_constraint: Any = None, renorm: bool = False, renorm_clipping: dict[str, Any] | None = None,
                 renorm_momentum: float = 0.99, fused: bool | None = None, trainable: bool = True, virtual_batch_size: int | None = None,
                 adjustment: Any = None, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (int, list)):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis: Any = axis[:] if isinstance(axis, list) else axis
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        set_weight_options(self, "beta", beta_initializer, beta_regularizer, beta_constraint)
        set_weight_options(self, "gamma", gamma_initializer, gamma_regularizer, gamma_constraint)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self._bessels_correction_test_only = True  # TensorFlow's name: tests clear it to compare the fused op's variance with the plain one
        self.renorm, self.virtual_batch_size, self.adjustment = renorm, virtual_batch_size, adjustment
        self.fused, self.supports_masking = True if fused is None else fused, True
        if renorm:
            self.renorm_clipping, self.renorm_momentum = renorm_clipping or {}, renorm_momentum
            if set(self.renorm_clipping) - set(_CLIPPINGS):
                raise ValueError(f"renorm_clipping {self.renorm_clipping} contains keys not in {_CLIPPINGS}")

    # --- variables ---------------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Scale, offset and moving averages, one number each per place on the normalised axes."""
        extents = self._checked_extents(TensorShape(input_shape))
        self._decide_fusion(len(extents))
        self.input_spec = InputSpec(ndim=len(extents), axes={axis: extents[axis] for axis in self.axis})
        parameters = self._parameter_shape(extents)
        self.gamma = self._parameter("gamma", parameters) if self.scale else None
        if self.fused and not self.scale:
            self._gamma_const = constant(1.0, dtype=self._param_dtype, shape=parameters)
        self.beta = self._parameter("beta", parameters) if self.center else None
        if self.fused and not self.center:
            self._beta_const = constant(0.0, dtype=self._param_dtype, shape=parameters)
        self._build_averages(parameters)
        self.built = True

    def _checked_extents(self, input_shape: TensorShape) -> list[int | None]:
        """The extents of the inputs; ``axis`` becomes a list of positive axes."""
        if not input_shape.ndims:
            raise ValueError("Input has undefined rank:", input_shape)
        extents = input_shape.as_list()
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [len(extents) + axis if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if axis < 0 or axis >= len(extents):
                raise ValueError(f"Invalid axis: {axis}")
        if len(self.axis) != len(set(self.axis)):
            raise ValueError(f"Duplicate axis: {self.axis}")
        if self.virtual_batch_size is not None:
            self._check_virtual_batches()
        if any(extents[axis] is None for axis in self.axis):
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", input_shape)
        return extents

    def _check_virtual_batches(self) -> None:
        if self.virtual_batch_size <= 0:  # type: ignore[operator]
            raise ValueError("virtual_batch_size must be a positive integer that divides the true batch size of the input Tensor")
        if 0 in self.axis:
            raise ValueError("When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0")
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def _decide_fusion(self, rank: int) -> None:
        plain = not self.renorm and self.virtual_batch_size is None and self.adjustment is None
        self.fused = bool(self.fused) and rank == 4 and plain and self.axis in ([1], [3])
        self._data_format = "NCHW" if self.axis == [1] else "NHWC"

    def _parameter_shape(self, extents: list[int | None]) -> list[int | None]:
        if len(self.axis) == 1 and self.virtual_batch_size is None:
            return [extents[self.axis[0]]]
        parameters = [extent if axis in self.axis else 1 for axis, extent in enumerate(extents)]
        if self.virtual_batch_size is not None:
            parameters.insert(1, 1)  # inputs get an axis of virtual batches behind the first one
            self.axis = [axis + 1 for axis in self.axis]
        return parameters

    @property
    def _param_dtype(self) -> Any:
        """The type of the variables: half precision is too coarse for averages."""
        return dtypes.float32 if self._dtype in (None, dtypes.float16, dtypes.bfloat16) else self._dtype

    def _parameter(self, name: str, extents: Any) -> Any:
        return self.add_weight(name, extents, dtype=self._param_dtype, initializer=getattr(self, f"{name}_initializer"),
                               regularizer=getattr(self, f"{name}_regularizer"), constraint=getattr(self, f"{name}_constraint"), trainable=True,
                               experimental_autocast=False)

    def _average(self, name: str, extents: Any, initializer: Any) -> Any:
        return self.add_weight(name, extents, dtype=self._param_dtype, initializer=initializer, trainable=False,
                               synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN, experimental_autocast=False)

    def _build_averages(self, extents: Any) -> None:
        """The moving averages, which are never partitioned: they are assigned as a whole."""
        scope = getattr(self, "_scope", None)
        partitioner = scope.partitioner if scope else None
        if scope:
            scope.set_partitioner(None)
        try:
            self.moving_mean = self._average("moving_mean", extents, self.moving_mean_initializer)
            self.moving_variance = self._average("moving_variance", extents, self.moving_variance_initializer)
            if self.renorm:
                self._build_renorm(extents)
        finally:
            if scope and partitioner:
                scope.set_partitioner(partitioner)

    def _build_renorm(self, extents: Any) -> None:
        def stddev_initializer(*args: Any, **kwargs: Any) -> Any:
            return sqrt(self.moving_variance_initializer(*args, **kwargs))

        self.moving_stddev = self._average("moving_stddev", extents, stddev_initializer)
        self.renorm_mean = self._average("renorm_mean", extents, self.moving_mean_initializer)
        self.renorm_stddev = self._average("renorm_stddev", extents, stddev_initializer)

    # --- updates -----------------------------------------------------------------------------------------------------

    def _assign_moving_average(self, variable: Any, value: Any, momentum: Any) -> Any:
        """Moves ``variable`` towards ``value`` by 1 - momentum of the way."""
        with name_scope("AssignMovingAvg") as scope, colocate_with(variable):
            decay = to_tensor(1.0 - momentum, name="decay")
            if decay.dtype != variable.dtype.base_dtype:
                decay = cast(decay, variable.dtype.base_dtype)
            return update_with_mean(
                lambda value: assign_sub(variable, (variable - cast(value, variable.dtype.base_dtype)) * decay, name=scope), value)

    def _update_variance(self, variance: Any, momentum: Any) -> Any:
        if not self.renorm:
            return self._assign_moving_average(self.moving_variance, variance, momentum)
        stddev = self._assign_moving_average(self.moving_stddev, sqrt(variance + self.epsilon), momentum)
        value = relu(stddev * stddev - self.epsilon)
        with name_scope("AssignNewValue") as scope, colocate_with(self.moving_variance):
            return assign(self.moving_variance, value, name=scope)

    # --- calling -----------------------------------------------------------------------------------------------------

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The normalised inputs."""
        training = learning_phase() if training is None else training
        if self.fused:
            return self._call_fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._call_plain(inputs, training)
        whole = [-1, *inputs.shape.as_list()[1:]]
        return reshape(self._call_plain(reshape(inputs, [self.virtual_batch_size, *whole]), training), whole)

    def _call_fused(self, inputs: Any, training: Any) -> Any:
        beta = self.beta if self.center else self._beta_const
        gamma = self.gamma if self.scale else self._gamma_const
        options = {"epsilon": self.epsilon, "data_format": self._data_format}
        output, mean, variance = smart_cond(
            training, lambda: fused_batch_norm(inputs, gamma, beta, **options),
            lambda: fused_batch_norm(inputs, gamma, beta, mean=self.moving_mean, variance=self.moving_variance, is_training=False, **options))
        if not self._bessels_correction_test_only:
            number = cast(size(inputs) / size(variance), variance.dtype)
            variance *= (number - cast(1.0, variance.dtype)) / number
        known = static_truth(training)
        momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0) if known is None else to_tensor(self.momentum)
        if known is not False:
            self.add_update(lambda: self._assign_moving_average(self.moving_mean, mean, momentum))
            self.add_update(lambda: self._update_variance(variance, momentum))
        return output

    def _call_plain(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.ndims
        reduced = [axis for axis in range(rank) if axis not in self.axis]
        if self.virtual_batch_size is not None:
            del reduced[1]  # each virtual batch has moments of its own

        def broadcast(value: Any) -> Any:
            if value is None or value.shape.ndims == rank or reduced == list(range(rank - 1)):
                return value
            extents = [1] * rank
            extents[self.axis[0]] = inputs.shape.as_list()[self.axis[0]]
            return reshape(value, extents)

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        if static_truth(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            scale, offset = self._adjust(inputs, training, scale, offset)
            mean, variance = self._moments(inputs, reduced, training)
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean, new_variance = (reduce_mean(value, axis=1, keepdims=True) for value in (mean, variance))
            if self.renorm:
                r, d, new_mean, new_variance = self._renorm_correction(new_mean, new_variance, training)
                r, d = broadcast(stop_gradient(r, name="renorm_r")), broadcast(stop_gradient(d, name="renorm_d"))
                scale, offset = _compose(r, d, scale, offset)
            # Replicas meet outside of the conditional: inside they cannot.
            self.add_update(lambda: update_with_mean(lambda value: smart_cond(
                training, lambda: self._assign_moving_average(self.moving_mean, value, self.momentum), lambda: self.moving_mean), new_mean))
            self.add_update(lambda: update_with_mean(lambda value: smart_cond(
                training, lambda: self._update_variance(value, self.momentum), lambda: self.moving_variance), new_variance))
        mean, variance = cast(mean, inputs.dtype), cast(variance, inputs.dtype)
        offset = None if offset is None else cast(offset, inputs.dtype)
        scale = None if scale is None else cast(scale, inputs.dtype)
        outputs = batch_normalization(inputs, broadcast(mean), broadcast(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _adjust(self, inputs: Any, training: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
        """Scale and offset behind those that the user's ``adjustment`` adds in training."""
        if not self.adjustment:
            return scale, offset
        own_scale, own_bias = self.adjustment(shape(inputs))
        own_scale = smart_cond(training, lambda: own_scale, lambda: ones_like(own_scale))
        own_bias = smart_cond(training, lambda: own_bias, lambda: zeros_like(own_bias))
        return _compose(own_scale, own_bias, scale, offset)

    def _moments(self, inputs: Any, axes: list[int], training: Any) -> tuple[Any, Any]:
        """Mean and variance of the batch in training, else their moving averages."""
        mean, variance = moments(cast(inputs, self._param_dtype), axes, keep_dims=self.virtual_batch_size is not None or len(self.axis) > 1)
        return (smart_cond(training, lambda: mean, lambda: to_tensor(self.moving_mean)),
                smart_cond(training, lambda: variance, lambda: to_tensor(self.moving_variance)))

    def _renorm_correction(self, mean: Any, variance: Any, training: Any) -> tuple[Any, Any, Any, Any]:
        """(r, d, mean, variance): what turns the batch's normalisation into that by averages; those averages are updated here."""
        stddev = sqrt(variance + self.epsilon)
        floor = maximum(self.renorm_stddev, sqrt(self.epsilon))
        r, d = stddev / floor, (mean - self.renorm_mean) / floor
        with control_dependencies([r, d]):  # the averages change only after r and d were computed of them
            mean, stddev = identity(mean), identity(stddev)
        r, d = _clip(r, d, *(self.renorm_clipping.get(key) for key in ("rmin", "rmax", "dmax")))
        r, d = smart_cond(training, lambda: r, lambda: ones_like(r)), smart_cond(training, lambda: d, lambda: zeros_like(d))

        def update(variable: Any, value: Any) -> Any:
            return update_with_mean(lambda value: smart_cond(
                training, lambda: self._assign_moving_average(variable, value, self.renorm_momentum), lambda: identity(variable)), identity(value))

        with control_dependencies([update(self.renorm_mean, mean), update(self.renorm_stddev, stddev)]):
            return r, d, identity(mean), identity(variance)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        config = {**super().get_config(), **{name: getattr(self, name) for name in ("axis", "momentum", "epsilon", "center", "scale")}}
        config.update({f"{name}_initializer": initializers.serialize(getattr(self, f"{name}_initializer"))
                       for name in ("beta", "gamma", "moving_mean", "moving_variance")})
        for kind, serialize in (("regularizer", regularizers.serialize), ("constraint", constraints.serialize)):
            config.update({f"{name}_{kind}": serialize(getattr(self, f"{name}_{kind}")) for name in ("beta", "gamma")})
        if self.renorm:
            config.update(renorm=True, renorm_clipping=self.renorm_clipping, renorm_momentum=self.renorm_momentum)
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return config


def _compose(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """One scale and offset for two that follow each other."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


def _clip(r: Any, d: Any, rmin: Any, rmax: Any, dmax: Any) -> tuple[Any, Any]:
    r = r if rmin is None else maximum(r, rmin)
    r = r if rmax is None else minimum(r, rmax)
    return r, d if dmax is None else minimum(maximum(d, -dmax), dmax)
