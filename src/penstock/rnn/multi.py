"""MultiRNNCell: cells on top of one another, as one cell."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.pack import concat
from penstock.ops.array.slicing import slice_
from penstock.platform import logging
from penstock.rnn.cell import RNNCell, assert_like_rnncell
from penstock.variables.scope import variable_scope


class MultiRNNCell(RNNCell):
    """``tf.nn.rnn_cell.MultiRNNCell``: the output of each cell is the input of the next. Its state is the tuple of their states."""

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            logging.warning("At least two cells provided to MultiRNNCell are the same object and will share weights.")
        for number, cell in enumerate(cells):
            assert_like_rnncell(f"cells[{number}]", cell)
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_sequence(cell.state_size) for cell in cells):
            raise ValueError(f"Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                             f"{[cell.state_size for cell in cells]}")

    @property
    def cells(self) -> list[Any]:
        """The cells, the first one first."""
        return self._cells

    @property
    def state_size(self) -> Any:
        """The sizes of the states, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the output of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros for all cells."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size] if isinstance(batch_size, Tensor) else []):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of all cells that are trained."""
        return [weight for cell in self._cells for weight in getattr(cell, "trainable_weights", ())] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables of all cells."""
        weights = [weight for cell in self._cells for weight in getattr(cell, "non_trainable_weights", ())]
        if self.trainable:
            return weights
        return [weight for cell in self._cells for weight in getattr(cell, "trainable_weights", ())] + weights

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step of each cell."""
        if self._state_is_tuple and not nest.is_sequence(state):
            raise ValueError(f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}")
        current, position, new_states = inputs, 0, []
        for index, cell in enumerate(self._cells):
            with variable_scope(f"cell_{index}"):
                if self._state_is_tuple:
                    before = state[index]
                else:
                    before = slice_(state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                current, new_state = cell(current, before)
                new_states.append(new_state)
        return current, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
