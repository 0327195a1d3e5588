"""Layer: an object that is called on tensors, makes its variables at the first call, and knows its losses, updates and variables.

This is ``tf.keras.layers.Layer``; ``tf.layers.Layer`` and the recurrent cells add variable scopes (``scoped.py``). What must stay true: the ops
that a call adds, their order and their names are TensorFlow's, since the seeds of random ops are counted by them.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from penstock.autograph.conversion import converted_form
from penstock.errors import OperatorNotAllowedInGraphError
from penstock.graph import dtypes, nest, version2
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.function import init_scope, outermost
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.tensor_spec import TensorSpec
from penstock.imperative.symbolic import symbolic_graph_of
from penstock.layers import restoring
from penstock.layers.calls import CallArguments, call_arguments, current_call, enter_call
from penstock.layers.casting import cast_inputs, first_type
from penstock.layers.effects import Effects
from penstock.layers.input_spec import InputSpec, assert_input_compatibility
from penstock.layers.masks import Masking, masks_of
from penstock.layers.module import Module
from penstock.layers.naming import snake_case, unique_object_name
from penstock.layers.nodes import Connected, connect, have_histories
from penstock.layers.tracking import Tracking
from penstock.layers.weights import Weights
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import identity

_KEYWORDS = frozenset(["input_shape", "batch_input_shape", "batch_size", "weights", "activity_regularizer", "autocast"])


class Layer(Tracking, Weights, Effects, Connected, Masking, Module):
    """``tf.keras.layers.Layer``: define ``build`` (makes variables), ``call`` (computes), and ``compute_output_shape`` if shapes must be known."""

    _autocast = True  # are inputs cast to the type of the layer? See ``casting.py``, as of the next ones
    _infers_type = _has_default_type = _has_warned = False

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, dynamic: bool = False, **kwargs: Any) -> None:
        unknown = sorted(kwargs.keys() - _KEYWORDS)
        if unknown:
            raise TypeError("Keyword argument not understood:", unknown[0])
        for part in (Weights, Effects, Connected):
            part.__init__(self)
        self._layers: list[Any] = []
        self._metrics: list[Any] = []
        self._trainable, self.stateful, self.built, self.supports_masking = trainable, False, False, False
        self.input_spec = None
        self._autocast = kwargs.get("autocast", self._autocast)
        self._dtype: DType | None = first_type(self, dtype)
        self._dynamic = dynamic
        self._activity_regularizer = kwargs.get("activity_regularizer")
        self._initial_weights = kwargs.get("weights")
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])
        self._init_set_name(name)

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        self._name = name or unique_object_name(snake_case(type(self).__name__), zero_based=zero_based)

    # --- to be defined by subclasses ---------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the variables. ``input_shape`` are the shapes of the inputs."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs, from those of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define `compute_output_shape`.")

    def compute_output_signature(self, input_signature: Any) -> Any:
        """A TensorSpec for each output, from those of the inputs."""
        for spec in nest.flatten(input_signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError("Only TensorSpec signature types are supported, but saw signature signature entry: " + str(spec))
        shapes = self.compute_output_shape(nest.map_structure(lambda spec: spec.shape, input_signature))
        dtype = self.dtype or next(spec.dtype for spec in nest.flatten(input_signature))
        if isinstance(shapes, list) and any(isinstance(each, (tuple, list, TensorShape)) for each in shapes):
            return [TensorSpec(as_shape(each), dtype) for each in shapes]
        return TensorSpec(as_shape(shapes), dtype)

    def _compute_output_shape(self, input_shape: Any) -> Any:
        """``compute_output_shape`` by the name, and with the result, that it had in TensorFlow 1.4."""
        result = self.compute_output_shape(input_shape)
        return result if isinstance(result, list) else as_shape(result)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        if self.dynamic:
            config["dynamic"] = True
        arguments = [name for name, each in inspect.signature(type(self).__init__).parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
        extra = [name for name in arguments if name not in config and name != "dynamic"]  # `self` is one of them
        if len(extra) > 1 and type(self).get_config is Layer.get_config:
            raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that ``get_config`` describes."""
        return cls(**config)

    # --- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for ``inputs``; the first call makes the variables."""
        symbolic = symbolic_graph_of(inputs)
        if symbolic is not None:
            with symbolic.as_default():
                return self(inputs, *args, **kwargs)
        inputs = nest.map_structure(lambda item: to_tensor(item) if isinstance(item, (np.ndarray, np.generic, float, int)) else item, inputs)
        if version2.enabled():
            inputs = cast_inputs(self, inputs)
        arguments = call_arguments(self.call)
        given = arguments.by_name(args, kwargs)
        masks = given.get("mask") if "mask" in given or not (arguments.expects("mask") or self._computes_masks) else masks_of(inputs)
        injected = self._inject(arguments, given, masks)
        if not arguments.expects("training"):
            kwargs.pop("training", None)
        if current_call() is None:
            connect(inputs)
        with enter_call(self, inputs, given.get("training", injected.get("training"))):
            assert_input_compatibility(self.input_spec, inputs, self.name)
            with self._call_scope():
                self._maybe_build(inputs)
                outputs = self._run_call(inputs, *args, **kwargs, **injected)
                if outputs is None:
                    raise ValueError("A layer's `call` method should return a Tensor or a list of Tensors, not None "
                                     f"(layer: {self.name}).")
                if have_histories(inputs):
                    outputs = self._connect(inputs, outputs, given)
                self._handle_activity_regularization(inputs, outputs)
                self._set_output_masks(inputs, outputs, masks)
        return outputs

    def _run_call(self, *args: Any, **kwargs: Any) -> Any:
        """What ``call`` gives; in a graph AutoGraph converts it."""
        if default_graph().imperative:
            return self.call(*args, **kwargs)
        try:
            return converted_form(self.call)(*args, **kwargs)
        except OperatorNotAllowedInGraphError as error:
            raise TypeError("You are attempting to use Python control flow in a layer that was not declared to be dynamic. Pass `dynamic=True` to "
                            f"the class constructor.\nEncountered error:\n\"\"\"\n{error}\n\"\"\"") from error

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer."""
        return self(inputs, *args, **kwargs)

    def _call_scope(self) -> AbstractContextManager[Any]:
        """The name scope of the ops of a call."""
        return name_scope(self.name)

    def _inject(self, arguments: CallArguments, given: dict[str, Any], masks: Any) -> dict[str, Any]:
        """What ``call`` expects and was not given: masks of the inputs, and whether the layer around this one trains."""
        injected = {}
        if arguments.expects("mask") and "mask" not in given and masks is not None:
            injected["mask"] = masks
        outer = current_call()
        if arguments.expects("training") and "training" not in given and outer is not None and outer.training is not None:
            injected["training"] = cast(outer.training, dtypes.bool_) if isinstance(outer.training, Tensor) else bool(outer.training)
        return injected

    def _maybe_build(self, inputs: Any) -> None:
        """Makes the variables, if that was not done."""
        if not self.built:
            flat = nest.flatten(inputs)
            if self._dtype is None and flat and hasattr(flat[0], "dtype"):
                self._dtype = flat[0].dtype.base_dtype
            shapes = nest.map_structure(lambda item: item.shape, inputs) if all(hasattr(item, "shape") for item in flat) else None
            with self._build_scope():
                self.build(shapes)
            self.built = True
            restoring.retry()
        if self._initial_weights is not None:
            values, self._initial_weights = self._initial_weights, None
            self.set_weights(values)

    @staticmethod
    def _build_scope() -> AbstractContextManager[Any]:
        """Where ``build`` runs: outside of the functions of imperative style, since all their traces use what it makes, constants among it."""
        graph = default_graph()
        return init_scope() if not graph.imperative and outermost(graph).imperative else nullcontext()

    def _connect(self, inputs: Any, outputs: Any, arguments: dict[str, Any]) -> Any:
        """Records the call; an output that is an input becomes a tensor of its own, since a tensor has one history."""
        known = {id(tensor) for tensor in nest.flatten(inputs)}

        def own(tensor: Any) -> Any:
            if id(tensor) not in known:
                return tensor
            with name_scope(self.name):
                return identity(tensor)

        outputs = nest.map_structure(own, outputs)
        self._add_inbound_node(inputs, outputs, arguments)
        return outputs

    def _handle_activity_regularization(self, inputs: Any, outputs: Any) -> None:
        if not self._activity_regularizer:
            return
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                self.add_loss(loss / cast(shape(output)[0], loss.dtype), inputs=inputs)

    # --- what it is --------------------------------------------------------------------------------------------------

    name = property(lambda self: self._name, doc="The name that was given, or one made of the class's.")
    dynamic = property(lambda self: self._dynamic, doc="Whether the layer is to be run imperatively only.")
    metrics = property(lambda self: self._metrics + [metric for layer in self._sublayers() for metric in getattr(layer, "metrics", ())],
                       doc="The metrics of this layer and of those in it.")

    @property
    def dtype(self) -> str | None:
        """The name of the variables' type: the one that was given, or that of the first input."""
        return None if self._dtype is None else self._dtype.name

    @property
    def trainable(self) -> bool:
        """Whether the variables are trained; setting it sets it for all layers in this one."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._sublayers():
            layer.trainable = value

    @property
    def activity_regularizer(self) -> Callable[[Any], Any] | None:
        """A function of the outputs whose value is a loss."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Callable[[Any], Any] | None) -> None:
        self._activity_regularizer = regularizer

    @property
    def input_spec(self) -> Any:
        """What the inputs must be like: an InputSpec, a structure of them, or None."""
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        for spec in nest.flatten(value):
            if spec is not None and not isinstance(spec, InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec}")
        self._input_spec = value
