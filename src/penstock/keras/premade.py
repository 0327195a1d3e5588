"""``tf.keras.experimental``: a linear model, and one that is wide and deep."""
from __future__ import annotations

from typing import Any

from penstock.keras.engine.model import Model
from penstock.keras.layer_classes import deserialize
from penstock.layers import activations, initializers, regularizers
from penstock.layers.base import Layer
from penstock.layers.dense import Dense
from penstock.layers.objects import serialize_object
from penstock.ops.nn.bias import bias_add


class LinearModel(Model):
    """``tf.keras.experimental.LinearModel``: a sum of products, one for each input, and a bias."""

    def __init__(self, units: int = 1, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
                 bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.activation, self.use_bias = units, activations.get(activation), use_bias
        self.kernel_initializer, self.bias_initializer = initializers.get(kernel_initializer), initializers.get(bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = regularizers.get(kernel_regularizer), regularizers.get(bias_regularizer)

    def build(self, input_shape: Any) -> None:
        """Makes a dense layer for each input."""
        count = len(input_shape) if isinstance(input_shape, list) else 1
        self.dense_layers = [Dense(self.units, use_bias=False, kernel_initializer=self.kernel_initializer,
                                   kernel_regularizer=self.kernel_regularizer) for _ in range(count)]
        self.bias = self.add_weight("bias", shape=[self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                                    dtype=self.dtype, trainable=True) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        """The sum."""
        inputs = inputs if isinstance(inputs, (tuple, list)) else [inputs]
        if len(inputs) != len(self.dense_layers):
            raise ValueError(f"Expected {len(self.dense_layers)} inputs, but got {len(inputs)} inputs")
        result = sum((layer(each) for each, layer in zip(inputs[1:], self.dense_layers[1:])), self.dense_layers[0](inputs[0]))
        result = bias_add(result, self.bias) if self.use_bias else result
        return result if self.activation is None else self.activation(result)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the model again."""
        return {**Layer.get_config(self), "units": self.units, "activation": activations.serialize(self.activation), "use_bias": self.use_bias,
                "kernel_initializer": initializers.serialize(self.kernel_initializer),
                "bias_initializer": initializers.serialize(self.bias_initializer),
                "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
                "bias_regularizer": regularizers.serialize(self.bias_regularizer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model that ``get_config`` describes."""
        return cls(**config)


class WideDeepModel(Model):
    """``tf.keras.experimental.WideDeepModel``: the mean of a linear model and a network. ``compile`` may get an optimizer for each."""

    def __init__(self, linear_model: Any, dnn_model: Any, activation: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model, self.activation = linear_model, dnn_model, activations.get(activation)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        """The mean; two inputs are for one of the models each."""
        linear, deep = inputs if isinstance(inputs, (tuple, list)) and len(inputs) == 2 else (inputs, inputs)
        output = 0.5 * (self.linear_model(linear) + self.dnn_model(deep))
        return self.activation(output)

    def _training_updates(self, trained: list[Any], loss: Any) -> list[Any]:
        """The steps of both optimizers."""
        pair = self.optimizer if isinstance(self.optimizer, list) else [self.optimizer] * 2
        return [update for optimizer, model in zip(pair, (self.linear_model, self.dnn_model))
                for update in optimizer.get_updates(params=model.trainable_weights, loss=loss)]

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the model again."""
        return {**Layer.get_config(self), "linear_model": serialize_object(self.linear_model), "dnn_model": serialize_object(self.dnn_model),
                "activation": activations.serialize(self.activation)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model that ``get_config`` describes."""
        models = {name: deserialize(config[name], custom_objects) for name in ("linear_model", "dnn_model")}
        return cls(**{**config, **models})
