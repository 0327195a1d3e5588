"""Bidirectional: a recurrent layer that reads sequences in both directions."""
from __future__ import annotations

import inspect
from typing import Any

from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.keras.layer_classes import deserialize
from penstock.keras.layers.rnn import standardize_args
from penstock.keras.layers.wrappers import Wrapper
from penstock.layers.base import Layer
from penstock.layers.calls import call_arguments
from penstock.layers.input_spec import InputSpec
from penstock.layers.nodes import history_of
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import reverse

_MODES = ("sum", "mul", "ave", "concat", None)


class Bidirectional(Wrapper):
    """``tf.keras.layers.Bidirectional``: ``merge_mode`` says what becomes of the two outputs; None leaves them as two."""

    _untracked = Wrapper._untracked | {"layer"}  # the weights are those of the two copies

    def __init__(self, layer: Any, merge_mode: str | None = "concat", weights: Any = None, backward_layer: Any = None, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(f"Please initialize `Bidirectional` layer with a `Layer` instance. You passed: {layer}")
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(f"`backward_layer` need to be a `Layer` instance. You passed: {backward_layer}")
        if merge_mode not in _MODES:
            raise ValueError('Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}')
        super().__init__(layer, **kwargs)
        self._backward_layer_config = None if backward_layer is None else backward_layer.get_config()
        self.forward_layer: Any = _copy(layer)
        self.backward_layer: Any = _copy(layer, reverse=True) if backward_layer is None else backward_layer
        self.forward_layer._name = f"forward_{self.forward_layer.name}"
        self.backward_layer._name = f"backward_{self.backward_layer.name}"
        self._check_layers()
        for each in (self.forward_layer, self.backward_layer):
            if getattr(each, "zero_output_for_mask", None) is not None:
                each.zero_output_for_mask = each.return_sequences  # type: ignore[union-attr]
        self.merge_mode, self.supports_masking, self._num_constants = merge_mode, True, 0
        self.stateful = self.forward_layer.stateful
        self.return_sequences, self.return_state = self.forward_layer.return_sequences, self.forward_layer.return_state
        if weights:
            half = len(weights) // 2
            self.forward_layer._initial_weights, self.backward_layer._initial_weights = weights[:half], weights[half:]
        self.input_spec = layer.input_spec

    def _check_layers(self) -> None:
        if self.forward_layer.go_backwards == self.backward_layer.go_backwards:
            raise ValueError("Forward layer and backward layer should have different `go_backwards` value.")
        for name in ("stateful", "return_sequences", "return_state"):
            forward, backward = getattr(self.forward_layer, name), getattr(self.backward_layer, name)
            if forward != backward:
                raise ValueError(f"Forward layer and backward layer are expected to have the same value for attribute {name}, got {forward} and "
                                 f"{backward}")

    def build(self, input_shape: Any = None) -> None:
        """Builds both layers."""
        for each in (self.forward_layer, self.backward_layer):
            with name_scope(each.name):
                each.build(input_shape)
                each.built = True
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the merged outputs, and of the states if they are returned."""
        shapes = self.forward_layer.compute_output_shape(input_shape)
        output, states = (shapes[0], list(shapes[1:])) if self.return_state else (shapes, [])
        extents = TensorShape(output).as_list()
        if self.merge_mode == "concat":
            extents[-1] = None if extents[-1] is None else 2 * extents[-1]
        outputs = [TensorShape(extents)] * (2 if self.merge_mode is None else 1)
        return [*outputs, *states, *states] if self.return_state or self.merge_mode is None else outputs[0]

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        """The outputs. Half of the initial states is for each direction."""
        inputs, initial_state, constants = standardize_args(inputs, initial_state, constants, self._num_constants)
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        specs: list[Any] = []
        if initial_state is not None:
            half, odd = divmod(len(initial_state), 2)
            if odd:
                raise ValueError("When passing `initial_state` to a Bidirectional RNN, the state should be a list containing the states of the "
                                 f"underlying RNNs. Found: {initial_state}")
            specs = [InputSpec(shape=tuple(state.shape.as_list())) for state in initial_state]
            self.forward_layer.state_spec, self.backward_layer.state_spec = specs[:half], specs[half:]
        if constants is not None:
            specs += [InputSpec(shape=tuple(each.shape.as_list())) for each in constants]
            for each in (self, self.forward_layer, self.backward_layer):
                each._num_constants = len(constants)
        extra = [*(initial_state or []), *(constants or [])]
        from_layers = {history_of(tensor) is not None for tensor in extra}
        if len(from_layers) > 1:
            raise ValueError("The initial state of a Bidirectional layer cannot be specified with a mix of Keras tensors and non-Keras tensors (a "
                             '"Keras tensor" is a tensor that was returned by a Keras layer, or by `Input`)')
        if from_layers == {True}:
            before, self.input_spec = self.input_spec, [None, *specs]
            outputs = super().__call__([inputs, *extra], **kwargs)
            self.input_spec = before
            return outputs
        given = {"initial_state": initial_state, "constants": constants}
        return super().__call__(inputs, **{key: value for key, value in given.items() if value is not None}, **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None, initial_state: Any = None, constants: Any = None) -> Any:
        """The merged outputs of both directions."""
        takes = call_arguments(self.layer.call)
        given = {name: value for name, value in {"training": training, "mask": mask}.items() if takes.expects(name)}
        if constants and takes.expects("constants"):
            given["constants"] = constants
        forward_inputs = backward_inputs = inputs
        forward_state = backward_state = None
        if isinstance(inputs, list) and len(inputs) > 1:
            end = len(inputs) - self._num_constants
            pivot = (end - 1) // 2 + 1
            forward_inputs = [inputs[0], *inputs[1:pivot], *inputs[end:]]
            backward_inputs = [inputs[0], *inputs[pivot:end], *inputs[end:]]
        elif initial_state is not None:
            half = len(initial_state) // 2
            forward_state, backward_state = initial_state[:half], initial_state[half:]
        forward = self.forward_layer(forward_inputs, **given, **({"initial_state": forward_state} if forward_state else {}))
        backward = self.backward_layer(backward_inputs, **given, **({"initial_state": backward_state} if backward_state else {}))
        states = []
        if self.return_state:
            states, forward, backward = [*forward[1:], *backward[1:]], forward[0], backward[0]
        if self.return_sequences:
            backward = reverse(backward, [1])
        merged = self._merge(forward, backward)
        return [*(merged if isinstance(merged, list) else [merged]), *states] if self.return_state else merged

    def _merge(self, forward: Any, backward: Any) -> Any:
        if self.merge_mode is None:
            return [forward, backward]
        if self.merge_mode == "concat":
            return concat([forward, backward], -1)
        if self.merge_mode == "mul":
            return forward * backward
        return forward + backward if self.merge_mode == "sum" else (forward + backward) / 2

    def reset_states(self) -> None:
        """Resets the states of both layers."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the steps, if they are returned."""
        mask = mask[0] if isinstance(mask, list) else mask
        output = mask if self.return_sequences else None
        outputs = [output, output] if self.merge_mode is None else [output]
        if self.return_state:
            return outputs + [None] * (2 * len(self.forward_layer.states))
        return outputs if self.merge_mode is None else output

    @property
    def constraints(self) -> dict[Any, Any]:
        """The constraints of the two layers, by variable; those of layers that have such a table."""
        return {**getattr(self.forward_layer, "constraints", {}), **getattr(self.backward_layer, "constraints", {})}

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the wrapper again."""
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self._backward_layer_config is not None:
            config["backward_layer"] = {"class_name": type(self.backward_layer).__name__, "config": self._backward_layer_config}
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The wrapper that ``get_config`` describes."""
        config = dict(config)
        constants, backward = config.pop("num_constants", 0), config.pop("backward_layer", None)
        if backward is not None:
            config["backward_layer"] = deserialize(backward, custom_objects=custom_objects)
        layer = super().from_config(config, custom_objects=custom_objects)
        layer._num_constants = constants
        return layer


def _copy(layer: Any, reverse: bool = False) -> Any:
    """A layer of the same configuration, which reads the other way with ``reverse``."""
    config = layer.get_config()
    if reverse:
        config["go_backwards"] = not config["go_backwards"]
    if "custom_objects" not in inspect.signature(type(layer).from_config).parameters:
        return type(layer).from_config(config)
    cell = getattr(layer, "cell", None)
    cells = [] if cell is None else [cell, *getattr(cell, "cells", [])]
    return type(layer).from_config(config, custom_objects={type(each).__name__: type(each) for each in cells})
