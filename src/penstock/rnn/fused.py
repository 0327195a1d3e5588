"""Cells that take a whole sequence, [time, batch, depth], at once: ``cell(inputs, initial_state, dtype, sequence_length)``."""
from __future__ import annotations

import abc
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.layers.input_spec import InputSpec
from penstock.layers.scoped import Layer
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.fill import zeros
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.pack import concat, stack, unstack
from penstock.ops.array.permute import reverse, reverse_sequence, transpose
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, shape
from penstock.rnn.contrib_cells import LSTMBlockCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.lstm import LSTMStateTuple
from penstock.rnn.static import static_rnn
from penstock.variables.initializers import Constant


class FusedRNNCell(abc.ABC):
    """``tf.contrib.rnn.FusedRNNCell``: what takes a whole sequence and gives (outputs, last state)."""

    @abc.abstractmethod
    def __call__(self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None) -> Any:
        """All steps."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """``tf.contrib.rnn.FusedRNNCellAdaptor``: a plain cell, unrolled when the graph is built or by a loop."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    def __call__(self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None) -> Any:
        """All steps; outputs are a list if inputs are."""
        is_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            outputs, state = dynamic_rnn(self._cell, stack(inputs) if is_list else inputs, sequence_length=sequence_length,
                                         initial_state=initial_state, dtype=dtype, time_major=True, scope=scope)
            return unstack(outputs) if is_list else outputs, state
        outputs, state = static_rnn(self._cell, inputs if is_list else unstack(inputs), initial_state=initial_state, dtype=dtype,
                                    sequence_length=sequence_length, scope=scope)
        return outputs if is_list else stack(outputs), state


class TimeReversedFusedRNN(FusedRNNCell):
    """``tf.contrib.rnn.TimeReversedFusedRNN``: a fused cell from the last step to the first."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None) -> Any:
        """All steps."""
        outputs, state = self._cell(_reverse(inputs, sequence_length), initial_state=initial_state, dtype=dtype, sequence_length=sequence_length,
                                    scope=scope)
        return _reverse(outputs, sequence_length), state


def _reverse(steps: Any, lengths: Any) -> Any:
    if isinstance(steps, list):
        return steps[::-1]
    return reverse(steps, [0]) if lengths is None else reverse_sequence(steps, lengths, 0, 1)


class LSTMBlockWrapper(Layer):
    """``tf.contrib.rnn.LSTMBlockWrapper``: what a fused LSTM needs besides its steps: first states, lengths, last states."""

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """The number of units."""

    @abc.abstractmethod
    def _call_cell(self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, sequence_length: Any) -> tuple[Any, Any]:
        """(memories, outputs) of all steps."""

    def call(self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None) -> tuple[Any, LSTMStateTuple]:
        """(outputs, last state); outputs behind the end of a sequence are 0."""
        is_list = isinstance(inputs, list)
        inputs = stack(inputs) if is_list else inputs
        steps, batch, depth = inputs.shape.with_rank(3).as_list()
        if not depth:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {inputs.shape}")
        steps, batch = shape(inputs)[0] if steps is None else steps, shape(inputs)[1] if batch is None else batch
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            nothing = zeros(stack([batch, self.num_units]), dtype=dtype)
            initial_state = nothing, nothing
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        dtype = initial_state[0].dtype if dtype is None else dtype
        lengths = None if sequence_length is None else to_tensor(sequence_length)
        memories, outputs = self._call_cell(inputs, *initial_state, dtype, lengths)
        if lengths is None:
            last = memories[-1], outputs[-1]
        else:
            outputs *= expand_dims(transpose(sequence_mask(lengths, steps, dtype=dtype), [1, 0]), -1)
            places = stack([lengths, range_op(batch)], axis=1)
            last = tuple(gather_nd(concat([expand_dims(first, 0), values], 0), places)
                         for first, values in zip(initial_state, (memories, outputs)))
        return unstack(outputs) if is_list else outputs, LSTMStateTuple(*last)


class _MemoryToo(LSTMBlockCell):
    """The steps of a fused LSTM over variables that it is given; its output is memory and output."""

    def __init__(self, fused: LSTMBlockFusedCell) -> None:
        super().__init__(fused.num_units, fused._forget_bias, fused._cell_clip, fused._use_peephole)
        self._kernel, self._bias, self.built = fused._kernel, fused._bias, True
        if fused._use_peephole:
            self._w_i_diag, self._w_f_diag, self._w_o_diag = fused._w_i_diag, fused._w_f_diag, fused._w_o_diag

    @property
    def output_size(self) -> Any:
        """Memory and output."""
        return self._num_units, self._num_units

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of memory and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """One step."""
        _, state = self.call(inputs, state)
        return tuple(state), state


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """``tf.contrib.rnn.LSTMBlockFusedCell``: an LSTM over a whole sequence; its steps are a loop, which is compiled."""

    def __init__(self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None, use_peephole: bool = False, reuse: Any = None,
                 dtype: Any = None, name: str = "lstm_fused_cell") -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias, self._cell_clip, self._use_peephole = num_units, forget_bias, cell_clip, use_peephole
        self.input_spec = InputSpec(ndim=3)

    @property
    def num_units(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """The kernel and bias of all four gates, and the peepholes."""
        self._kernel = self.add_variable("kernel", [input_shape.as_list()[2] + self._num_units, self._num_units * 4])
        self._bias = self.add_variable("bias", [self._num_units * 4], initializer=Constant(0.0))
        if self._use_peephole:
            self._w_i_diag, self._w_f_diag, self._w_o_diag = (self.add_variable(name, [self._num_units])
                                                              for name in ("w_i_diag", "w_f_diag", "w_o_diag"))
        super().build(input_shape)

    def _call_cell(self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, sequence_length: Any) -> tuple[Any, Any]:
        (memories, outputs), _ = dynamic_rnn(_MemoryToo(self), inputs, initial_state=LSTMStateTuple(initial_cell_state, initial_output),
                                             dtype=dtype, time_major=True)
        return memories, outputs
