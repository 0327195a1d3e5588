"""Cells of ``tf.contrib.rnn`` that run along time and, within a step, along the frequencies of their inputs (Li et al. 2016).

The inputs are cut into overlapping slices of ``feature_size``, ``frequency_skip`` apart. The slices are dealt with one after the other: each sees the
state that it had in the last step, and what the slice before it has given.
"""
from __future__ import annotations

import collections
from typing import Any, NamedTuple

from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat, split
from penstock.ops.array.pad import pad
from penstock.ops.array.shape_ops import shape
from penstock.ops.array.slicing import slice_
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.trigonometry import sigmoid, tanh
from penstock.ops.nn.bias import bias_add
from penstock.platform import logging
from penstock.rnn.cell import RNNCell
from penstock.rnn.gated_cells import sharded
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable, variable_scope


def _input_size(inputs: Any) -> int:
    size = inputs.shape.with_rank(2).as_list()[-1]
    if size is None:
        raise ValueError("Cannot infer input_size from static shape inference.")
    return int(size)


class TimeFreqLSTMCell(RNNCell):
    """``tf.contrib.rnn.TimeFreqLSTMCell``: one LSTM for all slices. Its state has the memory and output of each slice side by side."""

    def __init__(self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None, initializer: Any = None,
                 num_unit_shards: int = 1, forget_bias: float = 1.0, feature_size: int | None = None, frequency_skip: int = 1,
                 reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._num_unit_shards, self._forget_bias = num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    @property
    def output_size(self) -> int:
        """The number of units, of one slice."""
        return self._num_units

    @property
    def state_size(self) -> int:
        """Twice as many."""
        return 2 * self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        units, dtype, size = self._num_units, inputs.dtype, self._feature_size or 0
        count = (_input_size(inputs) - size) // self._frequency_skip + 1
        kernel = sharded("W", [size + 2 * units, 4 * units], dtype, self._num_unit_shards)
        bias = get_variable("B", shape=[4 * units], initializer=Zeros(), dtype=dtype)
        diagonals = {gate: get_variable(f"W_{gate}_diag", shape=[units], dtype=dtype) for gate in "FIO"} if self._use_peepholes else {}

        def seeing(gate: str, value: Any, memory: Any) -> Any:
            return value + diagonals[gate] * memory if diagonals else value

        before: Any = zeros([inputs.shape.as_list()[0] or shape(inputs)[0], units], dtype)
        outputs, states = [], []
        for number in range(count):
            part = slice_(inputs, [0, number * self._frequency_skip], [-1, size])
            c_last, m_last = (slice_(state, [0, place * units], [-1, units]) for place in (2 * number, 2 * number + 1))
            gates = bias_add(matmul(concat([part, m_last, before], 1), kernel), bias)
            i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
            c = sigmoid(seeing("F", f + self._forget_bias, c_last)) * c_last + sigmoid(seeing("I", i, c_last)) * tanh(j)
            if self._cell_clip is not None:
                c = clip_by_value(c, -self._cell_clip, self._cell_clip)
            before = sigmoid(seeing("O", o, c)) * tanh(c)
            outputs.append(before)
            states += [c, before]
        return concat(outputs, 1), concat(states, 1)


class _Weights(NamedTuple):
    """The variables of one of the two LSTMs of a grid; ``diagonals``: {gate: (that of the memory along frequency, along time)}."""

    kernel: Any
    bias: Any
    diagonals: dict[str, tuple[Any, Any]]


class GridLSTMCell(RNNCell):
    """``tf.contrib.rnn.GridLSTMCell``: one LSTM along time, one along frequency; blocks of slices may have weights of their own."""

    def __init__(self, num_units: int, use_peepholes: bool = False, share_time_frequency_weights: bool = False, cell_clip: float | None = None,
                 initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0, feature_size: int | None = None,
                 frequency_skip: int | None = None, num_frequency_blocks: Any = None, start_freqindex_list: Any = None,
                 end_freqindex_list: Any = None, couple_input_forget_gates: bool = False, state_is_tuple: bool = True, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        if not state_is_tuple:
            logging.warning("%s: Using a concatenated state is slower and will soon be deprecated.  Use state_is_tuple=True.", self)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._is_shared, self._is_coupled, self._state_is_tuple = share_time_frequency_weights, couple_input_forget_gates, state_is_tuple
        self._num_unit_shards, self._forget_bias = num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size or 0, frequency_skip or 1
        self._blocks, self._starts, self._ends = list(num_frequency_blocks), start_freqindex_list, end_freqindex_list
        self._set_sizes("GridLSTMStateTuple", ["state"])

    def _set_sizes(self, name: str, prefixes: list[str]) -> None:
        fields = [f"{prefix}_f{place:02}_b{block:02}_{part}" for prefix in prefixes for block, count in enumerate(self._blocks)
                  for place in range(count) for part in "cm"]
        self._state_tuple_type = collections.namedtuple(name, fields) if self._state_is_tuple else None  # type: ignore[misc]
        size = self._num_units * len(fields)
        self._state_size = self._state_tuple_type(*[self._num_units] * len(fields)) if self._state_tuple_type else size
        self._output_size = size

    @property
    def output_size(self) -> int:
        """The outputs of both LSTMs for all slices."""
        return self._output_size

    @property
    def state_size(self) -> Any:
        """A named tuple of the memory and output of each slice, or the sum of their sizes."""
        return self._state_size

    @property
    def state_tuple_type(self) -> Any:
        """The class of states."""
        return self._state_tuple_type

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        outputs, states = self._run(self._slices(inputs), state, "state", _batch_size(inputs))
        return concat(outputs, 1), self._state_tuple_type(*states) if self._state_tuple_type else concat(states, 1)

    def _run(self, blocks: list[list[Any]], state: Any, prefix: str, batch: Any) -> tuple[list[Any], list[Any]]:
        outputs, states = [], []
        for block, parts in enumerate(blocks):
            more = self._run_block(parts, block, state, prefix, batch)
            outputs += more[0]
            states += more[1]
        return outputs, states

    # --- inputs ------------------------------------------------------------------------------------------------------

    def _slices(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """The slices of each block; ``offset`` shifts them, and zeros fill what is missing."""
        size = _input_size(inputs)
        if offset:
            inputs = pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]], "CONSTANT")
            offset = max(offset, 0)
        starts, ends = self._starts or [0], self._ends if self._starts else [size]
        if len(starts) != len(ends):
            raise ValueError(f"Length of start and end freqindex_list does not match {len(starts)} {len(ends)}")
        if len(self._blocks) != len(starts):
            raise ValueError(f"Length of num_frequency_blocks is not {len(starts)}, but instead is {len(self._blocks)}")
        blocks = []
        for start, end, wanted in zip(starts, ends, self._blocks):
            count = (end - start - self._feature_size) // self._frequency_skip + 1
            if count != wanted:
                raise ValueError(f"Invalid num_frequency_blocks, requires {wanted} but gets {count}, please check the input size and filter config "
                                 "are correct.")
            blocks.append([slice_(inputs, [0, start + offset + place * self._frequency_skip], [-1, self._feature_size]) for place in range(count)])
        return blocks

    # --- one block ---------------------------------------------------------------------------------------------------

    def _run_block(self, parts: list[Any], block: int, state: Any, prefix: str, batch: Any) -> tuple[list[Any], list[Any]]:
        units, dtype = self._num_units, parts[0].dtype
        along_frequency, along_time = self._weights(block, dtype, parts[0].shape.as_list()[1])
        m_before: Any = zeros([batch, units], dtype)  # of the slice before, along frequency
        c_before: Any = zeros([batch, units], dtype)
        outputs, states = [], []
        for place, part in enumerate(parts):
            if self._state_is_tuple:
                c_last, m_last = (getattr(state, f"{prefix}_f{place:02}_b{block:02}_{each}") for each in "cm")
            else:
                c_last, m_last = (slice_(state, [0, number * units], [-1, units]) for number in (2 * place, 2 * place + 1))
            gates = concat([part, m_last, m_before], 1)
            frequency = self._memory(gates, along_frequency, c_before, c_last, c_before)
            time = self._memory(gates, along_time, c_before, c_last, c_last)
            m_frequency, m_time = (sigmoid(_seeing(weights, "O", output, frequency[0], time[0])) * tanh(memory)
                                   for (memory, output), weights in ((frequency, along_frequency), (time, along_time)))
            c_before, m_before = frequency[0], m_frequency
            outputs += [m_time, m_frequency]
            states += [time[0], m_time]
        return outputs, states

    def _memory(self, inputs: Any, weights: _Weights, c_frequency: Any, c_time: Any, kept: Any) -> tuple[Any, Any]:
        """(the new memory, what its output gate gets) of one of the LSTMs, whose memory was ``kept``."""
        gates = split(value=bias_add(matmul(inputs, weights.kernel), weights.bias), num_or_size_splits=3 if self._is_coupled else 4, axis=1)
        take = sigmoid(_seeing(weights, "I", gates[0], c_frequency, c_time))
        keep = 1.0 - take if self._is_coupled else sigmoid(_seeing(weights, "F", gates[2] + self._forget_bias, c_frequency, c_time))
        memory = keep * kept + take * tanh(gates[1])
        if self._cell_clip is not None:
            memory = clip_by_value(memory, -self._cell_clip, self._cell_clip)
        return memory, gates[-1]

    def _weights(self, block: int, dtype: Any, depth: int) -> tuple[_Weights, _Weights]:
        """The variables of a block, in TensorFlow's order."""
        units, gates = self._num_units, 3 if self._is_coupled else 4
        kinds = {"f": "freq"} if self._is_shared else {"f": "freq", "t": "time"}
        made = {kind: (sharded(f"W_{kind}_{block}", [depth + 2 * units, gates * units], dtype, self._num_unit_shards),
                       get_variable(f"B_{kind}_{block}", shape=[gates * units], initializer=Zeros(), dtype=dtype)) for kind in kinds}
        seen = [*([] if self._is_coupled else ["F"]), "I", "O"] if self._use_peepholes else []
        diagonals = {kind: {gate: tuple(get_variable(f"W_{gate}_diag_{name}{axis}_{block}", shape=[units], dtype=dtype) for axis in "ft")
                            for gate in seen} for kind, name in kinds.items()}
        weights = [_Weights(*made[kind], diagonals[kind]) for kind in kinds]  # type: ignore[arg-type]
        return weights[0], weights[-1]


def _seeing(weights: _Weights, gate: str, value: Any, c_frequency: Any, c_time: Any) -> Any:
    """What goes into a gate, with what it sees of both memories."""
    if gate not in weights.diagonals:
        return value
    along_frequency, along_time = weights.diagonals[gate]
    return value + along_frequency * c_frequency + along_time * c_time


def _batch_size(inputs: Any) -> Any:
    return inputs.shape.as_list()[0] or shape(inputs)[0]


class BidirectionalGridLSTMCell(GridLSTMCell):
    """``tf.contrib.rnn.BidirectionalGridLSTMCell``: two grids, one from low to high frequencies, one from high to low."""

    def __init__(self, num_units: int, use_peepholes: bool = False, share_time_frequency_weights: bool = False, cell_clip: float | None = None,
                 initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0, feature_size: int | None = None,
                 frequency_skip: int | None = None, num_frequency_blocks: Any = None, start_freqindex_list: Any = None,
                 end_freqindex_list: Any = None, couple_input_forget_gates: bool = False, backward_slice_offset: int = 0,
                 reuse: Any = None) -> None:
        super().__init__(num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards, forget_bias,
                         feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list, end_freqindex_list, couple_input_forget_gates,
                         True, reuse)
        self._backward_slice_offset = int(backward_slice_offset)
        self._set_sizes("BidirectionalGridLSTMStateTuple", ["fwd_state", "bwd_state"])

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        forward, batch = self._slices(inputs), _batch_size(inputs)
        backward = self._slices(inputs, self._backward_slice_offset) if self._backward_slice_offset else forward
        with variable_scope("fwd"):
            outputs, states = self._run(forward, state, "fwd_state", batch)
        with variable_scope("bwd"):
            more = self._run([parts[::-1] for parts in backward], state, "bwd_state", batch)
        return concat(outputs + more[0], 1), self._state_tuple_type(*states, *more[1])
