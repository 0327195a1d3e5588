"""``batch_norm``: three ways to the same layer.

Most calls are a BatchNormalization of tf.layers. That one can neither update its averages at once (``updates_collections=None``) nor correct them for
their start at zero, and weighs all examples alike; for those calls the layer is put together here, of the fused op where it can be (images and
matrices), else of moments.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.building import check_format, collect_variable, finish, layer_scope
from penstock.contrib.layers.utils import constant_value, get_variable_collections, smart_cond
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collections, control_dependencies
from penstock.layers import scoped_layers
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.constant import constant, identity
from penstock.ops.nn.normalization import batch_normalization, fused_batch_norm, moments, weighted_moments
from penstock.train.moving_averages import assign_moving_average
from penstock.variables.initializers import Ones, Zeros
from penstock.variables.scope import get_variable_scope, variable_scope

_INITIALIZERS = {"beta": Zeros, "gamma": Ones, "moving_mean": Zeros, "moving_variance": Ones}


@dataclass
class _Normalization:
    """The arguments of a batch normalisation that is put together here, and its parts."""

    decay: Any
    center: bool
    scale: bool
    epsilon: float
    initializers: dict[str, Any]
    regularizers: dict[str, Any]
    updates_collections: Any
    is_training: Any
    variables_collections: Any
    trainable: bool
    data_format: str
    zero_debias: bool

    def variable(self, name: str, extents: Any, dtype: Any, trainable: bool) -> Any:
        return model_variable(name, shape=extents, dtype=dtype, initializer=self.initializers.get(name, _INITIALIZERS[name]()),
                              regularizer=self.regularizers.get(name), collections=get_variable_collections(self.variables_collections, name),
                              trainable=trainable)

    def averages(self, extents: Any, dtype: Any) -> tuple[Any, Any]:
        """The moving averages, which are never partitioned: they are assigned as a whole."""
        with variable_scope(get_variable_scope()) as scope:
            scope.set_partitioner(None)
            return self.variable("moving_mean", extents, dtype, False), self.variable("moving_variance", extents, dtype, False)

    def update(self, averages: tuple[Any, Any], mean: Any, variance: Any) -> tuple[Any, Any]:
        return (assign_moving_average(averages[0], mean, self.decay, zero_debias=self.zero_debias),
                assign_moving_average(averages[1], variance, self.decay, zero_debias=False))

    def collect_updates(self, averages: tuple[Any, Any], mean: Any, variance: Any) -> None:
        """The updates go to their collections; they do nothing in a step that does not train."""
        for update in smart_cond(self.is_training, lambda: self.update(averages, mean, variance), lambda: averages):
            add_to_collections(self.updates_collections, update)

    @property
    def may_train(self) -> bool:
        known = constant_value(self.is_training)
        return known is None or bool(known)

    # --- the fused op ------------------------------------------------------------------------------------------------

    def fused(self, original: Any) -> Any:
        """Images, or matrices as images of one pixel."""
        inputs = self._as_images(original)
        extents = inputs.shape[1:2] if self.data_format == "NCHW" else inputs.shape[-1:]
        if not extents.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined `C` dimension {extents}.")
        beta = (self.variable("beta", extents, dtypes.float32, self.trainable) if self.center
                else constant(0.0, dtype=dtypes.float32, shape=extents))
        gamma = (self.variable("gamma", extents, dtypes.float32, self.trainable) if self.scale
                 else constant(1.0, dtype=dtypes.float32, shape=extents))
        averages = self.averages(extents, dtypes.float32)
        options = {"epsilon": self.epsilon, "data_format": self.data_format}
        outputs, mean, variance = smart_cond(
            self.is_training, lambda: fused_batch_norm(inputs, gamma, beta, **options),
            lambda: fused_batch_norm(inputs, gamma, beta, mean=averages[0], variance=averages[1], is_training=False, **options))
        if self.may_train and self.updates_collections is None:
            def updated() -> Any:
                with control_dependencies(list(self.update(averages, mean, variance))):
                    return identity(outputs)
            result = smart_cond(self.is_training, updated, lambda: outputs)
        else:
            result = outputs
            if self.may_train:
                self.collect_updates(averages, mean, variance)
        result.set_shape(inputs.shape)
        return reshape(result, shape(original)) if original.shape.ndims == 2 else result

    def _as_images(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        if rank not in (2, 4):
            raise ValueError(f"Inputs {inputs.name} has unsupported rank. Expected 2 or 4 but got {rank}")
        if rank == 4:
            return inputs
        channels = inputs.shape.as_list()[-1]
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        return reshape(inputs, [-1, channels, 1, 1] if self.data_format == "NCHW" else [-1, 1, 1, channels])

    # --- moments -----------------------------------------------------------------------------------------------------

    def plain(self, inputs: Any, batch_weights: Any) -> Any:
        """Any rank; examples may have weights."""
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        first = self.data_format == "NCHW"
        if batch_weights is not None:
            batch_weights = to_tensor(batch_weights)
            inputs.shape[0:1].assert_is_compatible_with(batch_weights.shape)
            batch_weights = reshape(batch_weights, [-1] + [1] * (rank - 1))
        extents = inputs.shape[1:2] if first else inputs.shape[-1:]
        if not extents.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {extents}.")
        dtype = inputs.dtype.base_dtype
        beta = self.variable("beta", extents, dtype, self.trainable) if self.center else None
        gamma = self.variable("gamma", extents, dtype, self.trainable) if self.scale else None
        averages = self.averages(extents, dtype)
        mean, variance = averages
        if self.may_train:
            axes = [0, *range(2, rank)] if first else list(range(rank - 1))
            mean, variance = self._moments(inputs, axes, batch_weights, averages)
        if first:
            broadcast = [1, inputs.shape.as_list()[1]] + [1] * (rank - 2)
            mean, variance, beta, gamma = (None if each is None else reshape(each, broadcast) for each in (mean, variance, beta, gamma))
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _moments(self, inputs: Any, axes: list[int], batch_weights: Any, averages: tuple[Any, Any]) -> tuple[Any, Any]:
        """Those of the batch in training, else the averages; these are updated, or their updates collected."""
        keep = self.data_format == "NCHW"
        mean, variance = (moments(inputs, axes, keep_dims=keep) if batch_weights is None
                          else weighted_moments(inputs, axes, batch_weights, keep_dims=keep))
        if keep:
            mean, variance = reshape(mean, [-1]), reshape(variance, [-1])
        if self.updates_collections is not None:
            self.collect_updates(averages, mean, variance)
            return smart_cond(self.is_training, lambda: (mean, variance), lambda: averages)

        def updated() -> tuple[Any, Any]:
            with control_dependencies(list(self.update(averages, mean, variance))):
                return identity(mean), identity(variance)
        return smart_cond(self.is_training, updated, lambda: averages)


@add_arg_scope
def batch_norm(inputs: Any, decay: Any = 0.999, center: bool = True, scale: bool = False, epsilon: float = 0.001, activation_fn: Any = None,
               param_initializers: Any = None, param_regularizers: Any = None, updates_collections: Any = GraphKeys.UPDATE_OPS,
               is_training: Any = True, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
               trainable: bool = True, batch_weights: Any = None, fused: bool | None = None, data_format: str = "NHWC",
               zero_debias_moving_mean: bool = False, scope: Any = None, renorm: bool = False, renorm_clipping: Any = None,
               renorm_decay: Any = 0.99, adjustment: Any = None) -> Any:
    """Inputs, normalised by the mean and the variance of their batch, or, in inference, by moving averages of them."""
    fused = True if fused is None else fused
    inputs = to_tensor(inputs)
    initializers, regularizers = param_initializers or {}, param_regularizers or {}
    own = _Normalization(decay, center, scale, epsilon, initializers, regularizers, updates_collections, is_training, variables_collections,
                         trainable, data_format, zero_debias_moving_mean)
    later = updates_collections is GraphKeys.UPDATE_OPS or updates_collections == GraphKeys.UPDATE_OPS
    possible = batch_weights is None and not renorm and inputs.shape.ndims in (2, 4) and adjustment is None
    if fused and possible and (zero_debias_moving_mean or inputs.shape.ndims == 2 or not later):
        check_format(data_format)
        with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as opened:
            return finish(own.fused(inputs), opened.name, outputs_collections, activation_fn)
    check_format(data_format)
    with layer_scope(scope, "BatchNorm", inputs, reuse) as opened:
        if batch_weights is None and later and not zero_debias_moving_mean:
            layer = scoped_layers.BatchNormalization(
                axis=1 if data_format == "NCHW" else -1, momentum=decay, epsilon=epsilon, center=center, scale=scale,
                **{f"{name}_initializer": initializers.get(name, make()) for name, make in _INITIALIZERS.items()},
                beta_regularizer=regularizers.get("beta"), gamma_regularizer=regularizers.get("gamma"), trainable=trainable, renorm=renorm,
                renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay, adjustment=adjustment, name=opened.name, _scope=opened,
                _reuse=reuse, fused=fused)
            outputs = layer.apply(inputs, training=is_training)
            for name in ("moving_mean", "moving_variance", "beta", "gamma"):
                collect_variable(getattr(layer, name), variables_collections, name)
            return finish(outputs, opened.name, outputs_collections, activation_fn)
        if renorm:
            raise ValueError("renorm is not supported with batch_weights, updates_collections or zero_debias_moving_mean")
        own.regularizers = {}  # TensorFlow's layer takes none on this way
        return finish(own.plain(inputs, batch_weights), opened.name, outputs_collections, activation_fn)
