"""``tf.nn.dynamic_rnn`` and ``tf.nn.bidirectional_dynamic_rnn``: cells unrolled by a loop."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import reverse, reverse_sequence
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import constant, identity
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.misc import Assert
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import maximum, minimum
from penstock.ops.math.reduce import reduce_all, reduce_max, reduce_min
from penstock.rnn.cell import assert_like_rnncell, concat_sizes, imply_static_sizes
from penstock.rnn.steps import MaskedStep, best_effort_input_batch_size, check_sequence_length, infer_state_dtype, transpose_batch_time
from penstock.variables.scope import variable_scope


def dynamic_rnn(cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None, dtype: Any = None,
                parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = False, scope: Any = None) -> tuple[Any, Any]:
    """``tf.nn.dynamic_rnn``: runs ``cell`` over the time axis of ``inputs``; returns the outputs of all steps, and the last state.

    ``inputs`` is [batch, time, ...], or [time, batch, ...] if ``time_major``; or a structure of such tensors. Past the end of a sequence, where
    ``sequence_length`` says it is, outputs are zeros and the state stays as it is.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), tf.zeros([2, 7, 3]), dtype=tf.float32)
    ...     outputs.shape, state.shape
    (TensorShape([Dimension(2), Dimension(7), Dimension(4)]), TensorShape([Dimension(2), Dimension(4)]))
    """
    assert_like_rnncell("cell", cell)
    with variable_scope(scope or "rnn"):
        flat_input = [convert_to_tensor(tensor) for tensor in nest.flatten(inputs)]
        if not time_major:
            flat_input = [transpose_batch_time(tensor) for tensor in flat_input]
        if sequence_length is not None:
            sequence_length = identity(check_sequence_length(sequence_length), name="sequence_length")
        batch_size = best_effort_input_batch_size(flat_input)
        state = start_state(cell, batch_size, initial_state, dtype)
        if sequence_length is not None:
            with control_dependencies([_assert_has_shape(sequence_length, [batch_size])]):
                sequence_length = identity(sequence_length, name="CheckSeqLen")
        loop = _DynamicLoop(cell, nest.pack_sequence_as(inputs, flat_input), state, sequence_length, dtype)
        outputs, final_state = loop.run(parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
        return outputs, final_state


def start_state(cell: Any, batch_size: Any, initial_state: Any, dtype: Any) -> Any:
    """The state before the first step."""
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _assert_has_shape(x: Tensor, extents: list[Any]) -> Any:
    actual, wanted = shape(x), stack(extents)
    return Assert(reduce_all(equal(actual, wanted)), [f"Expected shape for Tensor {x.name} is ", wanted, " but saw shape: ", actual])


class _DynamicLoop:
    """The loop of one call of ``dynamic_rnn``. Inputs are time-major."""

    def __init__(self, cell: Any, inputs: Any, state: Any, lengths: Tensor | None, dtype: Any) -> None:
        self._cell, self._inputs, self._state, self._lengths = cell, inputs, state, lengths
        self._flat_input = nest.flatten(inputs)
        self._state_dtype = infer_state_dtype(dtype, state)
        self._output_sizes = nest.flatten(cell.output_size)
        self._time_steps = shape(self._flat_input[0])[0]
        self._batch_size = best_effort_input_batch_size(self._flat_input)
        self._known_time, self._known_batch = self._known_extents()
        self._masked: MaskedStep | None = None
        self._longest: Any = self._time_steps
        if lengths is None:
            for _ in self._output_sizes:  # TensorFlow makes zeros for an output also where no sequence ends early
                default_graph().imply(7 if self._known_batch is None else 6)
        else:
            zero_output = nest.map_structure(self._zeros, cell.output_size)
            shortest, self._longest = reduce_min(lengths), reduce_max(lengths)
            self._masked = MaskedStep(lengths, shortest, self._longest, zero_output)

    def _known_extents(self) -> tuple[int | None, int | None]:
        time, batch = self._flat_input[0].shape.with_rank_at_least(2).as_list()[:2] if self._flat_input[0].shape.ndims is not None else (None, None)
        for tensor in self._flat_input:
            extents = tensor.shape.as_list() if tensor.shape.ndims is not None else [None, None]
            if None in extents[2:]:
                raise ValueError("Input size (depth of inputs) must be accessible via shape inference, but saw value None.")
            if extents[0] != time:
                raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
            if extents[1] != batch:
                raise ValueError("Batch_size is not the same for all the elements in the input.")
        return time, batch

    def _zeros(self, size: Any) -> Tensor:
        made = zeros(concat_sizes(self._batch_size, size), self._state_dtype)
        made.set_shape(concat_sizes(self._known_batch, size, static=True))
        return made

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        """(outputs, final state)."""
        time = constant(0, dtype=dt.int32, name="time")
        with name_scope("dynamic_rnn") as scope:  # of the names of arrays alone
            pass
        outputs = tuple(self._array(f"{scope}output_{i}", TensorShape(concat_sizes(self._known_batch, size, static=True)), self._state_dtype)
                        for i, size in enumerate(self._output_sizes))
        self._arrays = [self._array(f"{scope}input_{i}", tensor.shape[1:], tensor.dtype).unstack(tensor) for i, tensor in enumerate(self._flat_input)]
        bound = minimum(self._time_steps, maximum(1, self._longest))
        _, outputs, final_state = while_loop(lambda time, *_: time < bound, self._step, (time, outputs, self._state),
                                             parallel_iterations=parallel_iterations, maximum_iterations=self._time_steps,
                                             swap_memory=swap_memory)
        stacked = [array.stack() for array in outputs]
        for tensor, size in zip(stacked, self._output_sizes):
            tensor.set_shape(concat_sizes(TensorShape([self._known_time, self._known_batch]), size, static=True))
            imply_static_sizes(None if self._known_time is None else self._known_batch)
        return nest.pack_sequence_as(self._cell.output_size, stacked), final_state

    def _array(self, name: str, element_shape: TensorShape, dtype: Any) -> TensorArray:
        return TensorArray(dtype, size=self._time_steps, element_shape=element_shape, tensor_array_name=name)

    def _step(self, time: Tensor, outputs: tuple[TensorArray, ...], state: Any) -> tuple[Any, ...]:
        flat = [array.read(time) for array in self._arrays]
        for tensor, whole in zip(flat, self._flat_input):
            tensor.set_shape(whole.shape[1:])
        step_inputs = nest.pack_sequence_as(self._inputs, flat)
        if self._masked is not None:
            output, new_state = self._masked(time, state, lambda: self._cell(step_inputs, state), skip_conditionals=True)
        else:
            output, new_state = self._cell(step_inputs, state)
        return time + 1, tuple(array.write(time, part) for array, part in zip(outputs, nest.flatten(output))), new_state


def bidirectional_dynamic_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, sequence_length: Any = None, initial_state_fw: Any = None,
                              initial_state_bw: Any = None, dtype: Any = None, parallel_iterations: int | None = None, swap_memory: bool = False,
                              time_major: bool = False, scope: Any = None) -> tuple[Any, Any]:
    """``tf.nn.bidirectional_dynamic_rnn``: one cell goes forward in time, another one backward; returns pairs of outputs and of states."""
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reversed_in_time(tensor: Any) -> Any:
        if sequence_length is not None:
            return reverse_sequence(tensor, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=batch_axis)
        return reverse(tensor, axis=[time_axis])

    def run(cell: Any, given: Any, state: Any, where: Any) -> tuple[Any, Any]:
        return dynamic_rnn(cell, given, sequence_length, state, dtype, parallel_iterations, swap_memory, time_major, where)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, forward)
        with variable_scope("bw") as backward:
            output_bw, state_bw = run(cell_bw, nest.map_structure(reversed_in_time, inputs), initial_state_bw, backward)
    return (output_fw, nest.map_structure(reversed_in_time, output_bw)), (state_fw, state_bw)
