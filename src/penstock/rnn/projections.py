"""Cells around a cell that change the size of what goes in or comes out: projections and embeddings."""
from __future__ import annotations

import math
from typing import Any

from penstock.graph.scopes import device
from penstock.ops.array.shape_ops import reshape
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.rnn.cell import RNNCell, activation_function, assert_like_rnncell
from penstock.rnn.linear import Linear
from penstock.variables.initializers import RandomUniform
from penstock.variables.scope import get_variable, get_variable_scope


class _Around(RNNCell):
    """A cell with another one inside, whose state it has."""

    def __init__(self, cell: Any, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        self._cell = cell
        self._linear: Linear | None = None

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Around):
    """``tf.contrib.rnn.EmbeddingWrapper``: inputs are ids, of which the cell gets the embeddings."""

    def __init__(self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}.")
        self._classes, self._size, self._initializer = embedding_classes, embedding_size, initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        with device("/cpu:0"):
            bound = math.sqrt(3)  # uniform with variance 1
            initializer = self._initializer or get_variable_scope().initializer or RandomUniform(-bound, bound)
            first = state[0] if isinstance(state, tuple) else state
            embedding = get_variable("embedding", [self._classes, self._size], initializer=initializer, dtype=first.dtype.base_dtype)
            embedded = embedding_lookup(embedding, reshape(inputs, [-1]))
        return self._cell(embedded, state)


class InputProjectionWrapper(_Around):
    """``tf.contrib.rnn.InputProjectionWrapper``: a linear layer before the cell."""

    def __init__(self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        self._num_proj, self._activation = num_proj, activation_function(activation, lambda x: x)

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        self._linear = self._linear or Linear(inputs, self._num_proj, True)
        return self._cell(self._activation(self._linear(inputs)), state)


class OutputProjectionWrapper(_Around):
    """``tf.contrib.rnn.OutputProjectionWrapper``: a linear layer after the cell."""

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size, self._activation = output_size, activation_function(activation, lambda x: x)

    @property
    def output_size(self) -> int:
        """The size of the projection."""
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        output, new_state = self._cell(inputs, state)
        self._linear = self._linear or Linear(output, self._output_size, True)
        return self._activation(self._linear(output)), new_state
