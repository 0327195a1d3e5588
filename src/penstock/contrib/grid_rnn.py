"""``tf.contrib.grid_rnn``: recurrent cells whose state runs along several dimensions of a grid (Kalchbrenner et al., 2015).

Each dimension has a cell of its own, or shares one (``tied``). All of them see the outputs of all dimensions: the last one as the cell's own
output, the others as its input. Priority dimensions come last, and see what the others gave in this step. A dimension may take the input of the
network (in the place of its own output of the step before), give the output of the network, and be not recurrent: a dense layer.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.platform import logging
from penstock.rnn.basic_cells import BasicRNNCell, GRUCell
from penstock.rnn.cell import RNNCell
from penstock.rnn.lstm import BasicLSTMCell, LSTMCell
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope

_Dims = int | Sequence[int] | None


@dataclass(frozen=True)
class _Grid:
    """Which dimensions there are, and what they are for."""

    count: int
    inputs: list[int]
    outputs: list[int]
    priority: list[int]
    dense: list[int]  # not recurrent

    @property
    def recurrent(self) -> list[int]:
        return [index for index in range(self.count) if index not in self.dense]

    @property
    def first(self) -> list[int]:
        return [index for index in range(self.count) if index not in self.priority]


def _dimension_list(dims: _Dims, count: int) -> list[int]:
    """The dimensions as a sorted list; ValueError if one of them is not there."""
    given = [] if dims is None else list(dims) if isinstance(dims, (list, tuple)) else [dims]
    distinct = sorted(set(given))
    if any(not 0 <= index < count for index in distinct):
        raise ValueError(f"Invalid dims: {distinct}. Must be in [0, {count})")
    return distinct


@dataclass
class _GridStep:
    """The values of the dimensions in one step: memories and outputs of the step before, outputs and states of this one."""

    memory: list[Any]
    before: list[Any]
    output: list[Any]
    state: list[Any]

    def newest(self, index: int) -> Any:
        output = self.before[index] if self.output[index] is None else self.output[index]
        if output is None:
            raise ValueError(f"Dimension {index} of the grid has no output yet: it is neither recurrent nor one of input_dims.")
        return output


class GridRNNCell(RNNCell):
    """``tf.contrib.grid_rnn.GridRNNCell``: a grid of any number of dimensions, with cells of ``cell_fn(num_units)`` (LSTMs by default)."""

    def __init__(self, num_units: int, num_dims: int = 1, input_dims: _Dims = None, output_dims: _Dims = None, priority_dims: _Dims = None,
                 non_recurrent_dims: _Dims = None, tied: bool = False, cell_fn: Callable[[int], RNNCell] | None = None,
                 non_recurrent_fn: Callable[[Any], Any] | None = None, state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        super().__init__()
        for name, given in (("state", state_is_tuple), ("output", output_is_tuple)):
            if not given:
                logging.warning("%s: Using a concatenated %s is slower and will soon be deprecated.  Use %s_is_tuple=True.", self, name, name)
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        self._grid = _Grid(num_dims, *(_dimension_list(dims, num_dims) for dims in (input_dims, output_dims, priority_dims, non_recurrent_dims)))
        self._units, self._tied = num_units, tied
        self._transfer = non_recurrent_fn or tf.relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple
        make = cell_fn or (lambda units: LSTMCell(units, state_is_tuple=state_is_tuple))
        self._cells = [make(num_units)] * num_dims if tied else [make(num_units) for _ in range(num_dims)]
        if not isinstance(self._cells[0], RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(self._cells[0])}")

    @property
    def _state_width(self) -> int:
        size = self._cells[0].state_size
        return sum(size) if isinstance(size, tuple) else size

    @property
    def _has_memory(self) -> bool:
        """True for LSTMs, whose state is a memory and an output; the state of other cells is their output."""
        return self._state_width > self._units

    @property
    def output_size(self) -> Any:
        """The size of each output dimension, or of all of them together."""
        size, count = self._cells[0].output_size, len(self._grid.outputs)
        return (size,) * count if self._output_is_tuple else size * count

    @property
    def state_size(self) -> Any:
        """The state of each recurrent dimension, or of all of them together."""
        count = len(self._grid.recurrent)
        return (self._cells[0].state_size,) * count if self._state_is_tuple else self._state_width * count

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step: the outputs of the output dimensions, and the states of the recurrent ones."""
        grid = self._grid
        memory, before = self._previous(state)
        step = _GridStep(memory, before, [None] * grid.count, [None] * grid.count)
        with variable_scope(scope or type(self).__name__):
            self._project(inputs, step)
            self._propagate(grid.first, step, True)
            self._propagate(grid.priority, step, False)
            outputs = [step.output[index] for index in grid.outputs]
            states = [step.state[index] for index in grid.recurrent]
            return (tuple(outputs) if self._output_is_tuple else _concat_features(outputs, inputs.dtype),
                    tuple(states) if self._state_is_tuple else _concat_features([part for pair in states for part in _parts(pair)], inputs.dtype))

    def _previous(self, state: Any) -> tuple[list[Any], list[Any]]:
        """The memory and the output of each dimension in the step before; None where there is none."""
        grid, units = self._grid, self._units
        memory: list[Any] = [None] * grid.count
        before: list[Any] = [None] * grid.count
        if self._state_is_tuple and len(grid.recurrent) != len(state):
            raise ValueError(f"Expected state as a tuple of {len(grid.recurrent)} element")
        for place, index in enumerate(grid.recurrent):
            if self._state_is_tuple:
                own = state[place]
            else:
                start, rest = place * self._state_width, self._state_width - units
                own = tf.slice_(state, [0, start], [-1, units])
                own = (own, tf.slice_(state, [0, start + units], [-1, rest])) if self._has_memory else own
            if self._has_memory:
                memory[index], before[index] = own
            else:
                before[index] = own
        return memory, before

    def _project(self, inputs: Any, step: _GridStep) -> None:
        """Puts the input of the network in the place of the outputs, and memories, of the input dimensions."""
        dims = self._grid.inputs
        if inputs is None or not dims or inputs.shape.with_rank(2).as_list()[1] == 0:
            return
        for index, part in zip(dims, tf.split(inputs, len(dims), axis=1)):
            size = [part.shape.as_list()[1], self._units]
            step.before[index] = tf.matmul(part, get_variable(f"project_m_{index}", size, dtype=inputs.dtype))
            if self._has_memory:
                step.memory[index] = tf.matmul(part, get_variable(f"project_c_{index}", size, dtype=inputs.dtype))

    def _propagate(self, dims: list[int], step: _GridStep, first: bool) -> None:
        """One step of these dimensions, which do not see each other's new outputs."""
        if not dims:
            return
        last = self._grid.count - 1
        if last:
            inputs = tf.concat([step.newest(index) for index in range(last)], 1)
        else:
            rows = step.before[0].shape.as_list()[0]
            inputs = tf.zeros([tf.shape(step.before[0])[0] if rows is None else rows, 0], step.before[0].dtype)
        own = step.newest(last)
        for index in dims:
            kind = "non_recurrent" if index in self._grid.dense else "recurrent"
            with variable_scope(kind if self._tied else f"{kind}/cell_{index}"):
                if self._tied and not (first and index == dims[0]):
                    get_variable_scope().reuse_variables()
                if index in self._grid.dense:
                    step.output[index] = self._dense(tf.concat([inputs, own], 1) if last else own)
                else:
                    state = own if step.memory[index] is None else (step.memory[index], own)
                    step.output[index], step.state[index] = self._cells[index](inputs, state)

    def _dense(self, inputs: Any) -> Any:
        scope = get_variable_scope()
        return fully_connected(inputs, self._units, activation_fn=self._transfer, weights_initializer=scope.initializer or xavier_initializer(),
                               weights_regularizer=scope.regularizer)


def _parts(state: Any) -> Any:
    return state if isinstance(state, tuple) else (state,)


def _concat_features(tensors: list[Any], dtype: Any) -> Any:
    return tf.concat(tensors, 1) if tensors else tf.zeros([0, 0], dtype)


class _FirstDimension(GridRNNCell):
    """A grid whose first dimension takes the input, gives the output, comes last, and is recurrent unless it has a function."""

    def __init__(self, num_units: int, num_dims: int, cell_fn: Callable[[int], RNNCell], tied: bool, non_recurrent_fn: Any, state_is_tuple: bool,
                 output_is_tuple: bool) -> None:
        super().__init__(num_units, num_dims, 0, 0, 0, None if non_recurrent_fn is None else 0, tied, cell_fn, non_recurrent_fn, state_is_tuple,
                         output_is_tuple)


class Grid1BasicRNNCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid1BasicRNNCell``: one dimension, of basic cells."""

    def __init__(self, num_units: int, state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 1, BasicRNNCell, False, None, state_is_tuple, output_is_tuple)


class Grid2BasicRNNCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid2BasicRNNCell``: two dimensions, of basic cells."""

    def __init__(self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None, state_is_tuple: bool = True,
                 output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 2, BasicRNNCell, tied, non_recurrent_fn, state_is_tuple, output_is_tuple)


class Grid1BasicLSTMCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid1BasicLSTMCell``: one dimension, of basic LSTMs."""

    def __init__(self, num_units: int, forget_bias: float = 1, state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 1, lambda units: BasicLSTMCell(units, forget_bias=forget_bias), False, None, state_is_tuple, output_is_tuple)


class Grid2BasicLSTMCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid2BasicLSTMCell``: two dimensions, of basic LSTMs."""

    def __init__(self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None, forget_bias: float = 1, state_is_tuple: bool = True,
                 output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 2, lambda units: BasicLSTMCell(units, forget_bias=forget_bias), tied, non_recurrent_fn, state_is_tuple,
                         output_is_tuple)


def _lstm(use_peepholes: bool, forget_bias: float) -> Callable[[int], RNNCell]:
    return lambda units: LSTMCell(units, use_peepholes=use_peepholes, forget_bias=forget_bias)


class Grid1LSTMCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid1LSTMCell``: one dimension, of LSTMs, with peepholes if asked for."""

    def __init__(self, num_units: int, use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
                 output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 1, _lstm(use_peepholes, forget_bias), False, None, state_is_tuple, output_is_tuple)


class Grid2LSTMCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid2LSTMCell``: two dimensions, of LSTMs, with peepholes if asked for."""

    def __init__(self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None, use_peepholes: bool = False, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 2, _lstm(use_peepholes, forget_bias), tied, non_recurrent_fn, state_is_tuple, output_is_tuple)


class Grid3LSTMCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid3LSTMCell``: three dimensions, of LSTMs, with peepholes if asked for."""

    def __init__(self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None, use_peepholes: bool = False, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 3, _lstm(use_peepholes, forget_bias), tied, non_recurrent_fn, state_is_tuple, output_is_tuple)


class Grid2GRUCell(_FirstDimension):
    """``tf.contrib.grid_rnn.Grid2GRUCell``: two dimensions, of GRUs."""

    def __init__(self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None, state_is_tuple: bool = True,
                 output_is_tuple: bool = True) -> None:
        super().__init__(num_units, 2, GRUCell, tied, non_recurrent_fn, state_is_tuple, output_is_tuple)
