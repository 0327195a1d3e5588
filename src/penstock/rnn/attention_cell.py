"""``tf.contrib.rnn.AttentionCellWrapper``: a cell that looks back at its own last outputs."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, reshape
from penstock.ops.array.slicing import slice_
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.trigonometry import tanh
from penstock.ops.nn.convolution import conv2d
from penstock.ops.nn.softmax import softmax
from penstock.rnn.cell import RNNCell, assert_like_rnncell
from penstock.rnn.linear import Linear
from penstock.variables.scope import get_variable, variable_scope


class AttentionCellWrapper(RNNCell):
    """Attention over the last ``attn_length`` outputs (Bahdanau et al. 2014), added to the inputs and to the output of a cell."""

    def __init__(self, cell: Any, attn_length: int, attn_size: int | None = None, attn_vec_size: int | None = None, input_size: int | None = None,
                 state_is_tuple: bool = True, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(f"Cell returns tuple of states, but the flag state_is_tuple is not set. State size is: {cell.state_size}")
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._length, self._input_size = cell, attn_length, input_size
        self._size = cell.output_size if attn_size is None else attn_size
        self._vector_size = self._size if attn_vec_size is None else attn_vec_size
        self._state_is_tuple = state_is_tuple
        self._linears: dict[str, Linear] = {}

    @property
    def state_size(self) -> Any:
        """The state of the cell, the last attention, and the outputs that can be looked at."""
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """The size of the attention vectors."""
        return self._size

    def _linear(self, name: str, args: Any, size: int) -> Any:
        if name not in self._linears:
            self._linears[name] = Linear(args, size, True)
        return self._linears[name](args)

    def _taken_apart(self, state: Any) -> Any:
        if self._state_is_tuple:
            return state
        position, parts = 0, []
        for size in (self._cell.state_size, self._size, self._size * self._length):
            parts.append(slice_(state, [0, position], [-1, size]))
            position += size
        return parts

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step."""
        cell_state, attention, seen = self._taken_apart(state)
        seen = reshape(seen, [-1, self._length, self._size])
        mixed = self._linear("input", [inputs, attention], self._input_size or inputs.shape.as_list()[1])
        cell_output, new_state = self._cell(mixed, cell_state)
        query = concat(nest.flatten(new_state), 1) if self._state_is_tuple else new_state
        attention, kept = self._attention(query, seen)
        with variable_scope("attn_output_projection"):
            output = self._linear("output", [cell_output, attention], self._size)
        seen = reshape(concat([kept, expand_dims(output, 1)], 1), [-1, self._length * self._size])
        parts = (new_state, attention, seen)
        return output, parts if self._state_is_tuple else concat(list(parts), 1)

    def _attention(self, query: Any, seen: Any) -> tuple[Any, Any]:
        """(what the query attends to, the outputs without the oldest one)."""
        dtype = seen.dtype.base_dtype
        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, self._size, self._vector_size], dtype=dtype)
            vector = get_variable("attn_v", [self._vector_size], dtype=dtype)
            hidden = reshape(seen, [-1, self._length, 1, self._size])
            features = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            y = reshape(self._linear("query", query, self._vector_size), [-1, 1, 1, self._vector_size])
            weights = softmax(reduce_sum(vector * tanh(features + y), [2, 3]))
            attended = reduce_sum(reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return reshape(attended, [-1, self._size]), slice_(seen, [0, 1, 0], [-1, -1, -1])
