"""Lambda: a function as a layer."""
from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from penstock.graph import nest
from penstock.graph.graph import Graph
from penstock.graph.shape import TensorShape
from penstock.keras.engine.config import placeholders
from penstock.keras.utils.code import dump_function, load_function
from penstock.layers.base import Layer
from penstock.layers.objects import deserialize_object
from penstock.layers.sessions import track_variable
from penstock.variables.creators import variable_creator_scope


class Lambda(Layer):
    """``tf.keras.layers.Lambda``: variables that the function makes belong to the layer, and are made once."""

    def __init__(self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None, arguments: dict[str, Any] | None = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments, self.mask, self._output_shape = function, arguments or {}, mask, output_shape
        self.supports_masking = mask is not None
        self._variable_dict: dict[str, Any] = {}
        takes = inspect.signature(function).parameters
        self._fn_expects_training_arg, self._fn_expects_mask_arg = "training" in takes, "mask" in takes

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        """The value of the function."""
        arguments = dict(self.arguments)
        if self._fn_expects_mask_arg:
            arguments["mask"] = mask
        if self._fn_expects_training_arg:
            arguments["training"] = training
        with variable_creator_scope(self._create_variable):
            return self.function(inputs, **arguments)

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        name = kwargs["name"]
        if name not in self._variable_dict:
            variable = self._variable_dict[name] = next_creator(**kwargs)
            self._track_variable(variable)
            track_variable(variable)
        return self._variable_dict[name]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape that was given, or the shape of what the function makes of a placeholder."""
        if self._output_shape is None:
            with Graph().as_default():
                return nest.map_structure(lambda tensor: tensor.shape, self.call(placeholders(input_shape)))
        if callable(self._output_shape):
            return TensorShape(self._output_shape(input_shape))
        return TensorShape([TensorShape(input_shape).as_list()[0], *self._output_shape])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask that was given, or what the given function makes of the inputs'."""
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again; functions as byte code."""
        config = super().get_config()
        for key, module, value, raw in (("function", "module", self.function, False), ("mask", "mask_module", self.mask, False),
                                        ("output_shape", "output_shape_module", self._output_shape, True)):
            if key != "mask" or value is not None:
                config[key], config[f"{key}_type"], config[module] = _serialize_function(value, raw)
        config["arguments"] = self.arguments
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer that ``get_config`` describes."""
        config = dict(config)
        for key, module in (("function", "module"), ("output_shape", "output_shape_module"), ("mask", "mask_module")):
            if f"{key}_type" in config:
                config[key] = _restore(config[key], config.pop(f"{key}_type"), config.pop(module, None), custom_objects)
        arguments = config.get("arguments") or {}
        config["arguments"] = {name: np.array(value["value"]) if isinstance(value, dict) and value.get("type") == "ndarray" else value
                               for name, value in arguments.items()}
        return cls(**config)


def _serialize_function(value: Any, raw: bool) -> tuple[Any, str, str | None]:
    """(description, its kind, the module) of a function or, where it is allowed, of a plain value."""
    if isinstance(value, FunctionType):
        return dump_function(value), "lambda", value.__module__
    if callable(value):
        return value.__name__, "function", value.__module__
    if raw:
        return value, "raw", None
    raise ValueError(f"Invalid input for serialization, type: {type(value)} ")


def _restore(value: Any, kind: str, module: str | None, custom_objects: Any) -> Any:
    if kind == "raw":
        return value
    if kind == "function":
        return deserialize_object(value, {}, custom_objects, "function in Lambda layer")
    if kind != "lambda":
        raise TypeError("Unknown function type:", kind)
    if module is not None and module not in sys.modules:
        warnings.warn(f"{module} is not loaded, but a Lambda layer uses it. It may cause errors.", UserWarning, stacklevel=2)
    names = dict(vars(sys.modules[module])) if module in sys.modules else {"__builtins__": __builtins__}
    return load_function(value, {**names, **(custom_objects or {})})
