"""RNN: a cell over the steps of sequences, with initial states, constants, masks, and states that stay from batch to batch."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import nest
from penstock.graph.function import init_scope
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.keras.backend.recurrence import recur
from penstock.keras.layer_classes import deserialize
from penstock.keras.layers.cell_operations import CellStep, captures_of_projection
from penstock.keras.layers.cells import Cell, zero_state
from penstock.keras.layers.stacked import StackedRNNCells, is_multiple, output_size
from penstock.layers import settings
from penstock.layers.base import Layer
from penstock.layers.calls import call_arguments
from penstock.layers.input_spec import InputSpec
from penstock.layers.nodes import history_of
from penstock.layers.sessions import assign_values, track_variable
from penstock.ops.array.fill import zeros
from penstock.ops.array.shape_ops import shape
from penstock.variables.variable import Variable


def _dims(size: Any) -> list[Any]:
    return [size] if isinstance(size, int) else TensorShape(size).as_list()


class RNN(Layer):
    """``tf.keras.layers.RNN``."""

    _untracked = Layer._untracked | {"_states", "state_spec", "constants_spec"}

    def __init__(self, cell: Any, return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False, stateful: bool = False,
                 unroll: bool = False, time_major: bool = False, **kwargs: Any) -> None:
        cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        if not hasattr(cell, "call"):
            raise ValueError("`cell` should have a `call` method. The RNN was passed:", cell)
        if not hasattr(cell, "state_size"):
            raise ValueError("The RNN cell should have an attribute `state_size` (tuple of integers, one integer per RNN state).")
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
        super().__init__(**kwargs)
        self.cell, self.return_sequences, self.return_state, self.go_backwards = cell, return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.time_major, self.supports_masking = stateful, unroll, time_major, True
        self.state_spec: Any = None
        self.constants_spec: Any = None
        self._states: Any = None
        self._num_constants = 0

    # --- states ------------------------------------------------------------------------------------------------------

    @property
    def states(self) -> Any:
        """The states, one per size; variables of a stateful layer."""
        if self._states is None:
            state = nest.map_structure(lambda _: None, self.cell.state_size) if is_multiple(self.cell.state_size) else None
            return state if nest.is_nested(state) else [state]
        return self._states

    @states.setter
    def states(self, states: Any) -> None:
        self._states = states

    def _state_sizes(self) -> list[Any]:
        return list(self.cell.state_size) if is_multiple(self.cell.state_size) else [self.cell.state_size]

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The states that a sequence begins with."""
        tensor = nest.flatten(inputs)[0]
        batch = shape(tensor)[1 if self.time_major else 0]
        if hasattr(self.cell, "get_initial_state"):
            state = self.cell.get_initial_state(inputs=None, batch_size=batch, dtype=tensor.dtype)
        else:
            state = zero_state(batch, self.cell.state_size, tensor.dtype)
        return list(state) if nest.is_nested(state) else [state]

    def _batch_size(self) -> int:
        spec = self.input_spec[0] if isinstance(self.input_spec, list) and self.input_spec else None
        extents = nest.flatten(spec)[0].shape if spec is not None else None
        size = None if extents is None else extents[1 if self.time_major else 0]
        if not size:
            raise ValueError("If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: \n- If using a "
                             "Sequential model, specify the batch size by passing a `batch_input_shape` argument to your first layer.\n- If using "
                             "the functional API, specify the batch size by passing a `batch_shape` argument to your Input layer.")
        return int(size)

    def reset_states(self, states: Any = None) -> None:
        """Sets the states of a stateful layer, to zeros if no others are given."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        batch = self._batch_size()
        if nest.flatten(self.states)[0] is None:
            made = nest.map_structure(lambda size: state_variable([batch, *_dims(size)]), self.cell.state_size) \
                if is_multiple(self.cell.state_size) else [state_variable([batch, *_dims(self.cell.state_size)])]
            self.states = made
            return
        variables = nest.flatten(self.states)
        values = [np.zeros(variable.shape.as_list()) for variable in variables] if states is None else [np.asarray(v) for v in nest.flatten(states)]
        if len(values) != len(variables):
            raise ValueError(f"Layer {self.name} expects {len(variables)} states, but it received {len(values)} state values. Input received: "
                             f"{states}")
        for index, (variable, value) in enumerate(zip(variables, values)):
            if tuple(variable.shape.as_list()) != value.shape:
                raise ValueError(f"State {index} is incompatible with layer {self.name}: expected shape={tuple(variable.shape.as_list())}, found "
                                 f"shape={value.shape}")
        assign_values(list(zip(variables, values)))

    # --- shapes ------------------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Builds the cell, for one step."""
        input_shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        nested = nest.is_nested(input_shape) and not isinstance(input_shape, TensorShape) and not all(
            each is None or isinstance(each, int) for each in input_shape)
        first = nest.map_structure(self._spec_for, input_shape) if nested else self._spec_for(input_shape)
        self.input_spec = [first, *self.input_spec[1:]] if isinstance(self.input_spec, list) else [first]
        step_shape = nest.map_structure(self._step_shape, input_shape) if nested else self._step_shape(input_shape)
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(step_shape)
            self.cell.built = True
        sizes = self._state_sizes()
        if self.state_spec is None:
            self.state_spec = nest.map_structure(lambda size: InputSpec(shape=[None, *_dims(size)]), sizes)
        else:
            _check_state_spec(sizes, self.state_spec)
        if self.stateful:
            self.reset_states()
        self.built = True

    def _spec_for(self, given: Any) -> InputSpec:
        extents = TensorShape(given).as_list()
        batch, time = (1, 0) if self.time_major else (0, 1)
        if not self.stateful:
            extents[batch] = None
        extents[time] = None
        return InputSpec(shape=tuple(extents))

    def _step_shape(self, given: Any) -> tuple[Any, ...]:
        extents = TensorShape(given).as_list()
        return tuple(extents[1:]) if self.time_major else (extents[0], *extents[2:])

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs, and of the states if they are returned."""
        input_shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        extents = TensorShape(input_shape).as_list()
        batch, steps = (extents[1], extents[0]) if self.time_major else (extents[0], extents[1])
        lead = ([steps, batch] if self.time_major else [batch, steps]) if self.return_sequences else [batch]
        output = TensorShape([*lead, *_dims(output_size(self.cell))])
        if not self.return_state:
            return output
        return [output, *(TensorShape([batch, *_dims(size)]) for size in nest.flatten(self._state_sizes()))]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the steps, if they are returned."""
        mask = nest.flatten(mask)[0]
        output = mask if self.return_sequences else None
        return [output, *(None for _ in self.states)] if self.return_state else output

    # --- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        """The outputs. Initial states and constants that come from layers are inputs of the layer, too."""
        inputs, initial_state, constants = standardize_args(inputs, initial_state, constants, self._num_constants)
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        specs: list[Any] = []
        if initial_state is not None:
            self.state_spec = nest.map_structure(_spec_of, initial_state)
            specs += self.state_spec
        if constants is not None:
            self.constants_spec, self._num_constants = [_spec_of(each) for each in constants], len(constants)
            specs += self.constants_spec
        extra = [*(initial_state or []), *(constants or [])]
        from_layers = {history_of(tensor) is not None for tensor in nest.flatten(extra)}
        if len(from_layers) > 1:
            raise ValueError("The initial state or constants of an RNN layer cannot be specified with a mix of Keras tensors and non-Keras tensors "
                             '(a "Keras tensor" is a tensor that was returned by a Keras layer, or by `Input`)')
        if from_layers == {True}:
            self.input_spec = [*nest.flatten(nest.map_structure(lambda _: None, inputs)), *specs]
            outputs = super().__call__([inputs, *extra], **kwargs)
            self.input_spec = self.input_spec[:-len(specs)]
            return outputs
        given = {"initial_state": initial_state, "constants": constants}
        return super().__call__(inputs, **{key: value for key, value in given.items() if value is not None}, **kwargs)

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None, constants: Any = None) -> Any:
        """The outputs of the steps, or the last one; with ``return_state`` also the states."""
        self._reset_dropout_masks()
        inputs, initial_state, constants = self._process_inputs(inputs, initial_state, constants)
        mask = None if mask is None else nest.flatten(mask)[0]
        steps = nest.flatten(inputs)[0].shape.as_list()[0 if self.time_major else 1]
        if self.unroll and steps is None:
            raise ValueError("Cannot unroll a RNN if the time dimension is undefined. \n- If using a Sequential model, specify the time dimension by "
                             "passing an `input_shape` or `batch_input_shape` argument to your first layer. If your first layer is an Embedding, "
                             "you can also use the `input_length` argument.\n- If using the functional API, specify the time dimension by passing "
                             "a `shape` or `batch_shape` argument to your Input layer.")
        prepare = self.cell.project if isinstance(self.cell, Cell) and self.cell.projects_sequences() and not constants else None
        step = self._step(training, constants) if prepare is None else self._step_behind_projection(training)
        last, outputs, states = recur(step, inputs, initial_state, self.go_backwards, mask, constants, self.unroll, None, self.time_major,
                                      self.zero_output_for_mask, prepare)
        return self._finish(last, outputs, states)

    def _finish(self, last: Any, outputs: Any, states: Any) -> Any:
        """Keeps the states of a stateful layer, and returns what was asked for."""
        if self.stateful:
            self.add_update([variable.assign(state) for variable, state in zip(nest.flatten(self.states), nest.flatten(states))])
        output = outputs if self.return_sequences else last
        return [*(output if isinstance(output, list) else [output]), *list(states)] if self.return_state else output

    def _step(self, training: Any, constants: Any) -> Any:
        takes = call_arguments(self.cell.call)
        given = {"training": training} if "training" in takes.names else {}  # stacked cells follow the learning phase, as in TensorFlow
        if constants and not takes.expects("constants"):
            raise ValueError("RNN cell does not support constants")
        plain = getattr(self.cell, "_is_tf_rnn_cell", False)  # cells of tf.nn.rnn_cell take a single state as it is

        def step(inputs: Any, states: Any) -> Any:
            more = dict(given)
            if constants:
                more["constants"], states = states[-len(constants):], states[:-len(constants)]
            output, new_states = self.cell.call(inputs, states[0] if plain and len(states) == 1 else states, **more)
            return output, new_states if nest.is_nested(new_states) else [new_states]

        return step

    def _step_behind_projection(self, training: Any) -> Any:
        """The step of a cell that was given the inputs of all steps at once."""
        cell, outside = self.cell, default_graph()

        def step(projected: Any, states: Any) -> Any:
            masks, graph = cell.get_recurrent_dropout_mask_for_cell(states[0], training, cell.gates), default_graph()
            graph.imply(cell.unseen_operations(CellStep(False, masks is not None, not isinstance(states[0], Tensor), projected=True)))
            if graph is not outside:
                graph.imply(captures_of_projection(cell))
            return cell.advance(projected, states, masks)

        return step

    def _reset_dropout_masks(self) -> None:
        for name in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
            if hasattr(self.cell, name):
                getattr(self.cell, name)()

    def _process_inputs(self, inputs: Any, initial_state: Any, constants: Any) -> tuple[Any, Any, Any]:
        """(inputs, initial states, constants), of which the latter two may be among the inputs."""
        if isinstance(inputs, list):
            end = len(inputs) - self._num_constants
            initial_state = inputs[1:end] or initial_state
            constants = inputs[end:] if self._num_constants else constants
            inputs = inputs[0]
        if initial_state is None or len(initial_state) == 0:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        if len(initial_state) != len(self.states):
            raise ValueError(f"Layer has {len(self.states)} states but was passed {len(initial_state)} initial states.")
        return inputs, list(initial_state), constants

    # --- configurations ----------------------------------------------------------------------------------------------

    def _sequence_config(self) -> dict[str, Any]:
        config = {name: getattr(self, name) for name in ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = self.zero_output_for_mask
        return config

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), **self._sequence_config(),
                "cell": {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer that ``get_config`` describes."""
        config = dict(config)
        cell = deserialize(config.pop("cell"), custom_objects=custom_objects)
        constants = config.pop("num_constants", 0)
        layer = cls(cell, **config)
        layer._num_constants = constants
        return layer


def _spec_of(tensor: Any) -> InputSpec:
    return InputSpec(shape=tuple(tensor.shape.as_list()))


def state_variable(extents: list[int]) -> Any:
    """A state that stays from batch to batch. Like weights, it belongs to the graph around placeholders and functions."""
    with init_scope():
        variable = Variable(zeros(extents, settings.floatx()), trainable=False, use_resource=True)
    track_variable(variable)
    return variable


def _check_state_spec(sizes: Any, specs: Any) -> None:
    flat_sizes, flat_specs = nest.flatten(sizes), nest.flatten(specs)
    if len(flat_sizes) != len(flat_specs) or not all(TensorShape(spec.shape[1:]).is_compatible_with(TensorShape(_dims(size)))
                                                     for size, spec in zip(flat_sizes, flat_specs)):
        raise ValueError(f"An `initial_state` was passed that is not compatible with `cell.state_size`. Received `state_spec`={specs}; however "
                         f"`cell.state_size` is {sizes}")


def standardize_args(inputs: Any, initial_state: Any, constants: Any, count: int) -> tuple[Any, Any, Any]:
    """(inputs, initial states, constants): those in a list of inputs are taken out of it."""
    if isinstance(inputs, list):
        if initial_state is not None or constants is not None:
            raise ValueError("Initial states and constants are given twice: in the list of inputs, and as arguments.")
        if count:
            constants, inputs = inputs[-count:], inputs[:-count]
        if len(inputs) > 1:
            initial_state, inputs = inputs[1:], inputs[:1]
        inputs = inputs[0] if len(inputs) == 1 else tuple(inputs)

    def listed(value: Any) -> Any:
        return value if value is None or isinstance(value, list) else list(value) if isinstance(value, tuple) else [value]

    return inputs, listed(initial_state), listed(constants)
