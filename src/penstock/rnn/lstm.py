"""LSTM cells: the basic one, and the one with peepholes, clipping and projection."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.graph import dtypes
from penstock.ops.array.pack import concat, split
from penstock.ops.array.slicing import slice_
from penstock.ops.constant import constant
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.elementwise import add, multiply
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.nn.bias import bias_add
from penstock.platform import logging
from penstock.platform.deprecation import dropped_args
from penstock.rnn.basic_cells import input_depth
from penstock.rnn.cell import LayerRNNCell, activation_function
from penstock.variables.initializers import Zeros
from penstock.variables.partitioned import fixed_size_partitioner


class LSTMStateTuple(namedtuple("LSTMStateTuple", ("c", "h"))):
    """``tf.nn.rnn_cell.LSTMStateTuple``: what the cell remembers, and its last output."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both parts."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def _warn_about_one_tensor(cell: Any) -> None:
    logging.warning("%s: Using a concatenated state is slower and will soon be deprecated.  Use state_is_tuple=True.", cell)


class BasicLSTMCell(LayerRNNCell):
    """``tf.nn.rnn_cell.BasicLSTMCell``: an LSTM without extras (Zaremba et al. 2014)."""

    _described = ("num_units", "forget_bias", "state_is_tuple", "activation", "reuse")

    @dropped_args("input_size")
    def __init__(self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None, reuse: Any = None,
                 name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        if not state_is_tuple:
            _warn_about_one_tensor(self)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = activation_function(activation)

    @property
    def state_size(self) -> Any:
        """A tuple of two sizes, or their sum."""
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """The kernel over inputs and output, and the bias, of all four gates."""
        self._kernel = self.add_variable("kernel", [input_depth(inputs_shape) + self._num_units, 4 * self._num_units])
        self._bias = self.add_variable("bias", [4 * self._num_units], initializer=Zeros(dtype=self._dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        one = constant(1, dtype=dtypes.int32)
        c, h = state if self._state_is_tuple else split(value=state, num_or_size_splits=2, axis=one)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=one)  # input, new input, forget, output
        forget_bias = constant(self._forget_bias, dtype=f.dtype)
        new_c = add(multiply(c, sigmoid(add(f, forget_bias))), multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """``tf.nn.rnn_cell.LSTMCell``: peepholes let the gates see the memory, a projection makes the output smaller (Sak et al. 2014)."""

    _peephole_names = ("w_f_diag", "w_i_diag", "w_o_diag")  # in the order in which they are made

    _described = ("num_units", "use_peepholes", "cell_clip", "initializer", "num_proj", "proj_clip", "num_unit_shards", "num_proj_shards",
                  "forget_bias", "state_is_tuple", "activation", "reuse")

    def __init__(self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None, initializer: Any = None,
                 num_proj: int | None = None, proj_clip: float | None = None, num_unit_shards: int | None = None,
                 num_proj_shards: int | None = None, forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None,
                 reuse: Any = None, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        if not state_is_tuple:
            _warn_about_one_tensor(self)
        self._num_units, self._num_proj = num_units, num_proj
        self._use_peepholes, self._cell_clip, self._proj_clip = use_peepholes, cell_clip, proj_clip
        self._initializer, self._num_unit_shards, self._num_proj_shards = initializer, num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._activation = activation_function(activation)

    @property
    def output_size(self) -> int:
        """The number of units, or the size of the projection."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """A tuple of two sizes, or their sum."""
        return LSTMStateTuple(self._num_units, self.output_size) if self._state_is_tuple else self._num_units + self.output_size

    def build(self, inputs_shape: Any) -> None:
        """The kernel and bias of all four gates, the peepholes, the projection."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", [input_depth(inputs_shape) + self.output_size, 4 * units], initializer=self._initializer,
                                         partitioner=_partitioner(self._num_unit_shards))
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros(dtype=self._dtype))
        if self._use_peepholes:
            diagonals = {name: self.add_variable(name, [units], initializer=self._initializer) for name in self._peephole_names}
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (diagonals[name] for name in ("w_f_diag", "w_i_diag", "w_o_diag"))
        if self._num_proj is not None:
            self._proj_kernel = self.add_variable("projection/kernel", [units, self._num_proj], initializer=self._initializer,
                                                  partitioner=_partitioner(self._num_proj_shards))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        if inputs.shape.with_rank(2).as_list()[1] is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        c_before, h_before = state if self._state_is_tuple else self._taken_apart(state)
        gates = bias_add(matmul(concat([inputs, h_before], 1), self._kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)  # input, new input, forget, output
        if self._use_peepholes:
            c = sigmoid(f + self._forget_bias + self._w_f_diag * c_before) * c_before + \
                sigmoid(i + self._w_i_diag * c_before) * self._activation(j)
        else:
            c = sigmoid(f + self._forget_bias) * c_before + sigmoid(i) * self._activation(j)
        c = self._clip_state(c)
        h = self._project(sigmoid(o + self._w_o_diag * c if self._use_peepholes else o) * self._activation(c))
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)

    def _taken_apart(self, state: Any) -> tuple[Any, Any]:
        return slice_(state, [0, 0], [-1, self._num_units]), slice_(state, [0, self._num_units], [-1, self.output_size])

    def _clip_state(self, c: Any) -> Any:
        return c if self._cell_clip is None else clip_by_value(c, -self._cell_clip, self._cell_clip)

    def _project(self, h: Any) -> Any:
        if self._num_proj is None:
            return h
        h = matmul(h, self._proj_kernel)
        return h if self._proj_clip is None else clip_by_value(h, -self._proj_clip, self._proj_clip)


def _partitioner(shards: int | None) -> Any:
    return None if shards is None else fixed_size_partitioner(shards)
