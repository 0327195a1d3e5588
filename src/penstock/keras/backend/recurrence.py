"""``tf.keras.backend.rnn``: a step function over the time axis of tensors, unrolled or as a loop; steps that are masked repeat the last output."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock.graph import dtypes, nest
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import stack, unstack
from penstock.ops.array.permute import reverse, tile, transpose
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.tensor_array_class import TensorArray

StepFunction = Callable[[Any, tuple[Any, ...]], tuple[Any, Any]]
Result = tuple[Any, Any, Any]  # last output, all outputs, last states


def swap_batch_and_time(tensor: Any) -> Any:
    """The tensor with its first two axes exchanged."""
    return transpose(tensor, [1, 0, *range(2, tensor.shape.ndims)])


def _broadcast_mask(mask: Any, tensor: Any, fixed: int = 1) -> Any:
    """The mask in the shape of a tensor, whose first ``fixed`` axes it has."""
    for _ in range(tensor.shape.ndims - mask.shape.ndims):
        mask = expand_dims(mask, -1)
    return tile(mask, [1] * fixed + tensor.shape.as_list()[fixed:])


class _Sequence(NamedTuple):
    """What is gone through: inputs and mask with the time axis first, and what each step is given."""

    step: StepFunction
    inputs: Any
    mask: Any
    states: tuple[Any, ...]
    constants: tuple[Any, ...]
    backwards: bool
    zero_output: bool

    @property
    def flat(self) -> list[Any]:
        """The inputs, one after the other."""
        return nest.flatten(self.inputs)


def rnn(step_function: StepFunction, inputs: Any, initial_states: Sequence[Any], go_backwards: bool = False, mask: Any = None,
        constants: Sequence[Any] | None = None, unroll: bool = False, input_length: Any = None, time_major: bool = False,
        zero_output_for_mask: bool = False) -> Result:
    """``tf.keras.backend.rnn``: ``step_function(input, states + constants)`` returns an output and new states."""
    return recur(step_function, inputs, initial_states, go_backwards, mask, constants, unroll, input_length, time_major, zero_output_for_mask)


def recur(step_function: StepFunction, inputs: Any, initial_states: Sequence[Any], go_backwards: bool, mask: Any, constants: Sequence[Any] | None,
          unroll: bool, input_length: Any, time_major: bool, zero_output_for_mask: bool, prepare: Callable[[Any], Any] | None = None) -> Result:
    """``rnn``; ``prepare`` is a function of the rows of all inputs, of all steps at once, that gives what the step function takes."""
    if not time_major:
        inputs = nest.map_structure(swap_batch_and_time, inputs)
    if prepare is not None:
        with default_graph().counting_as(0):  # TensorFlow has it in every step: ``Cell.operations_of_projection``
            inputs = _by_rows(prepare, inputs)
    if mask is not None:
        mask = mask if mask.dtype == dtypes.bool_ else cast(mask, dtypes.bool_)
        mask = expand_dims(mask, -1) if mask.shape.ndims == 2 else mask
        mask = mask if time_major else swap_batch_and_time(mask)
    sequence = _Sequence(step_function, inputs, mask, tuple(initial_states), tuple(constants or ()), go_backwards, zero_output_for_mask)
    steps, batch = sequence.flat[0].shape.as_list()[:2]
    if unroll and not steps:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    last, outputs, states = _unroll(sequence, steps) if unroll else _loop(sequence, input_length)

    def arranged(tensor: Any) -> Any:
        tensor.set_shape([steps, batch, *tensor.shape.as_list()[2:]])
        return tensor if time_major else swap_batch_and_time(tensor)

    return last, nest.map_structure(arranged, outputs), states


def _by_rows(function: Callable[[Any], Any], tensor: Any) -> Any:
    """A function of matrices, of all steps of sequences."""
    steps, batch, size = tensor.shape.as_list()
    result = function(reshape(tensor, [-1, size]))
    width, lengths = result.shape.as_list()[-1], shape(tensor)
    return reshape(result, [lengths[0] if steps is None else steps, lengths[1] if batch is None else batch, width])


def _unroll(sequence: _Sequence, steps: int) -> Result:
    default_graph().imply(5)  # TensorFlow asks for the number of steps, and does not use it here
    columns = [unstack(tensor) for tensor in sequence.flat]
    masks = None if sequence.mask is None else unstack(sequence.mask)
    order = range(steps - 1, -1, -1) if sequence.backwards else range(steps)
    states: Any = sequence.states
    outputs: list[Any] = []
    for number in order:
        given = nest.pack_sequence_as(sequence.inputs, [column[number] for column in columns])
        output, new_states = sequence.step(given, tuple(states) + sequence.constants)
        if masks is not None:
            before = outputs[-1] if outputs else zeros_like(output)
            output = where(_broadcast_mask(masks[number], output), output, before)
            new_states = [where(_broadcast_mask(masks[number], new), new, old) for old, new in zip(states, new_states)]
        states = new_states
        outputs.append(output)
    last, whole = outputs[-1], nest.map_structure(lambda *parts: stack(list(parts)), *outputs)
    if masks is not None and sequence.zero_output:
        last = where(_broadcast_mask(masks[order[-1]], last), last, zeros_like(last))
        whole = where(_broadcast_mask(sequence.mask, whole, fixed=2), whole, zeros_like(whole))
    return last, whole, states


def _loop(sequence: _Sequence, input_length: Any) -> Result:
    steps = shape(sequence.flat[0])[0]

    def array_of(tensor: Any, name: str) -> Any:
        return TensorArray(tensor.dtype, size=steps, tensor_array_name=name).unstack(reverse(tensor, [0]) if sequence.backwards else tensor)

    inputs = [array_of(tensor, f"input_ta_{index}") for index, tensor in enumerate(sequence.flat)]
    # One step outside of the loop tells types and shapes; it also makes what all steps share, such as the masks of dropout.
    first, _ = sequence.step(nest.pack_sequence_as(sequence.inputs, [tensor[0] for tensor in sequence.flat]), sequence.states + sequence.constants)
    flat_first = nest.flatten(first)
    arrays = tuple(TensorArray(output.dtype, size=steps, element_shape=output.shape, tensor_array_name=f"output_ta_{index}")
                   for index, output in enumerate(flat_first))
    masks = None
    if sequence.mask is not None:
        if not sequence.states:
            raise ValueError("No initial states provided! When using masking in an RNN, you should provide initial states (and your step function "
                             "should return as its first state at time `t` the output at time `t-1`).")
        masks = array_of(sequence.mask, "mask_ta")
    zeros = tuple(zeros_like(output) for output in flat_first) if masks is not None else ()

    def body(time: Any, written: Any, before: Any, *states: Any) -> Any:
        given = nest.pack_sequence_as(sequence.inputs, [array.read(time) for array in inputs])
        output, new_states = sequence.step(given, tuple(states) + sequence.constants)
        flat_output, old, new = nest.flatten(output), nest.flatten(states), nest.flatten(new_states)
        for old_state, new_state in zip(old, new):
            if isinstance(new_state, Tensor):
                new_state.set_shape(old_state.shape)
        if masks is not None:
            mask = masks.read(time)
            instead = zeros if sequence.zero_output else before
            flat_output = [where(_broadcast_mask(mask, output), output, other) for output, other in zip(flat_output, instead)]
            new = [where(_broadcast_mask(mask, old_state), new_state, old_state) for old_state, new_state in zip(old, new)]
        written = tuple(array.write(time, output) for array, output in zip(written, flat_output))
        return time + 1, written, tuple(flat_output) if masks is not None else (), *nest.pack_sequence_as(list(sequence.states), new)

    final = while_loop(lambda time, *_: time < steps, body, (constant(0, dtypes.int32, name="time"), arrays, zeros, *sequence.states),
                       maximum_iterations=input_length, parallel_iterations=32, swap_memory=True)
    outputs = [array.stack() for array in final[1]]
    last = nest.pack_sequence_as(first, [output[-1] for output in outputs])
    return last, nest.pack_sequence_as(first, outputs), final[3:]
