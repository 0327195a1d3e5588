"""How many operations more than ours a step of a recurrent cell has in TensorFlow.

Seeds that are not given follow from the number of operations (``graph/seeds.py``). TensorFlow has products and slices for each gate where we have one
for all, and has those of the inputs in every step where we have them once. The numbers are those of TensorFlow 1.15, by its cells' options.
"""
from __future__ import annotations

from typing import Any, NamedTuple


class CellStep(NamedTuple):
    """How a step is computed: with masks of dropout for the inputs, for the states; with states that are variables, which each use reads; with the
    products of the inputs made before."""

    masked: bool
    recurrent_masked: bool
    of_variables: bool = False
    projected: bool = False


def of_simple(cell: Any, step: CellStep) -> int:
    """Of a SimpleRNNCell."""
    return 2 + 2 * cell.use_bias if step.projected else 0


def of_lstm(cell: Any, step: CellStep) -> int:
    """Of an LSTMCell."""
    if cell.implementation != 1:
        return 2 if step.projected else 0
    of_inputs = (8 if step.projected else 0 if step.masked else 6) * (1 + cell.use_bias)
    of_states = (16 if step.masked else 13) if step.masked or step.recurrent_masked else 22
    return of_inputs + of_states + 3 * step.of_variables


def of_gru(cell: Any, step: CellStep) -> int:
    """Of a GRUCell."""
    bias = cell.use_bias
    if cell.implementation != 1:
        of_inputs = 2 + (3 if cell.reset_after else 2) * bias if step.projected else 0
        return of_inputs + (18 - 2 * bias if cell.reset_after else 14)
    for_kernel, for_bias = (18, 17 if cell.reset_after else 18) if step.projected else (
        (11, 9 if cell.reset_after else 11) if step.masked else (16, 14 if cell.reset_after else 16))
    of_gates = 3 if step.masked else 0
    if cell.reset_after:
        of_gates += 8 + 7 * bias if step.recurrent_masked else 10 + 12 * bias
        of_gates += 2 * step.of_variables
    else:
        of_gates += step.of_variables - step.recurrent_masked
    return for_kernel + for_bias * bias + of_gates


def captures_of_projection(cell: Any) -> int:
    """How many variables more a loop captures if its steps make the products of the inputs."""
    keeps_bias = getattr(cell, "implementation", 1) != 1 if cell.gates == 4 else getattr(cell, "reset_after", False)
    return 1 + (cell.use_bias and not keeps_bias)
