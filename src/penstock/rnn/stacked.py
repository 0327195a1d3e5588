"""Several bidirectional layers: each one sees both directions of the one below."""
from __future__ import annotations

from typing import Any

from penstock.ops.array.pack import concat
from penstock.rnn.dynamic import bidirectional_dynamic_rnn
from penstock.rnn.static import static_bidirectional_rnn
from penstock.variables.scope import variable_scope


def _check(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if cells is None:
            raise ValueError("Must specify at least one fw cell for BidirectionalRNN." if name == "cells_fw" else
                             "Must specify at least one bw cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"{name} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for name, states in (("initial_states_fw", states_fw), ("initial_states_bw", states_bw)):
        if states is not None and (not isinstance(states, (list, tuple)) or len(states) != len(cells_fw)):
            raise ValueError(f"{name} must be a list of state tensors (one per layer).")


def stack_bidirectional_rnn(cells_fw: Any, cells_bw: Any, inputs: Any, initial_states_fw: Any = None, initial_states_bw: Any = None,
                            dtype: Any = None, sequence_length: Any = None, scope: Any = None) -> tuple[Any, Any, Any]:
    """``tf.contrib.rnn.stack_bidirectional_rnn``: (outputs of the last layer, the forward states, the backward states)."""
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw, layer = [], [], inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (forward, backward) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{i}") as cell_scope:
                layer, state_fw, state_bw = static_bidirectional_rnn(
                    forward, backward, layer, initial_states_fw and initial_states_fw[i], initial_states_bw and initial_states_bw[i], dtype,
                    sequence_length, cell_scope)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_dynamic_rnn(cells_fw: Any, cells_bw: Any, inputs: Any, initial_states_fw: Any = None, initial_states_bw: Any = None,
                                    dtype: Any = None, sequence_length: Any = None, parallel_iterations: int | None = None,
                                    time_major: bool = False, scope: Any = None, swap_memory: bool = False) -> tuple[Any, Any, Any]:
    """``tf.contrib.rnn.stack_bidirectional_dynamic_rnn``: (outputs of the last layer, the forward states, the backward states)."""
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw, layer = [], [], inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (forward, backward) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    forward, backward, layer, sequence_length, initial_states_fw and initial_states_fw[i],
                    initial_states_bw and initial_states_bw[i], dtype, parallel_iterations, swap_memory, time_major)
                layer = concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)
