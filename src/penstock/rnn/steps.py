"""What the ways to unroll a cell share: batch sizes, axes, and the step in which some sequences of the batch have ended."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import colocate_with
from penstock.graph.shape import TensorShape
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import transpose
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import rank, shape
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.tensor_array_class import TensorArray


def transpose_batch_time(x: Any) -> Any:
    """Swaps the first two axes of a tensor; one of lower rank stays as it is."""
    static = x.shape
    if static.ndims is not None and static.ndims < 2:
        return x
    transposed = transpose(x, concat(([1, 0], range_(2, rank(x))), axis=0))
    if static.ndims is not None:
        extents = static.as_list()
        transposed.set_shape(TensorShape([extents[1], extents[0]]).concatenate(static[2:]))
    return transposed


def best_effort_input_batch_size(flat_input: Any) -> Any:
    """The batch size of time-major inputs: an int if one of them knows it, else a tensor."""
    for tensor in flat_input:
        extents = tensor.shape.as_list() if tensor.shape.ndims is not None else []
        if tensor.shape.ndims is not None and len(extents) < 2:
            raise ValueError(f"Input tensor should have rank >= 2: {tensor}")
        if len(extents) > 1 and extents[1] is not None:
            return extents[1]
    return shape(flat_input[0])[1]


def infer_state_dtype(explicit: Any, state: Any) -> Any:
    """The type of a state, unless one is given; ValueError if its parts differ."""
    if explicit is not None:
        return dt.as_dtype(explicit)
    if not nest.is_sequence(state):
        return state.dtype.base_dtype
    types = {part.dtype.base_dtype for part in nest.flatten(state)}
    if not types:
        raise ValueError("Unable to infer dtype from empty state.")
    if len(types) > 1:
        raise ValueError(f"State has tensors of different inferred_dtypes. Unable to infer a single representative dtype: "
                         f"{sorted(kind.name for kind in types)}")
    return types.pop()


def check_sequence_length(sequence_length: Any) -> Tensor:
    """An int32 vector of lengths."""
    lengths = cast(to_tensor(sequence_length), dt.int32)
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}")
    return lengths


class MaskedStep:
    """One step of a cell for sequences of different lengths: past its end a sequence gives zeros, and its state stays as it is."""

    def __init__(self, lengths: Tensor, shortest: Tensor, longest: Tensor, zero_output: Any) -> None:
        self._lengths, self._shortest, self._longest = lengths, shortest, longest
        self._zero_output, self._flat_zero_output = zero_output, nest.flatten(zero_output)

    def __call__(self, time: Any, state: Any, call_cell: Callable[[], Any], skip_conditionals: bool) -> tuple[Any, Any]:
        """(output, new state). Without conditionals the cell runs at each step; with them only when it has to."""
        flat_state = nest.flatten(state)
        zero, start = self._flat_zero_output, flat_state
        ended = time >= self._lengths  # first, as in TensorFlow: the seeds of the cell's weights follow from the operations before them
        if skip_conditionals:
            final = self._copy_finished(ended, flat_state, self._run(state, call_cell))
        else:
            final = cond(time >= self._longest, lambda: zero + start, lambda: self._some(time, ended, state, flat_state, call_cell), strict=True)
        outputs, states = final[:len(zero)], final[len(zero):]
        for tensor, like in zip((*outputs, *states), (*zero, *flat_state)):
            if isinstance(tensor, Tensor):
                tensor.set_shape(like.shape)
        return nest.pack_sequence_as(self._zero_output, outputs), nest.pack_sequence_as(state, states)

    def _run(self, state: Any, call_cell: Callable[[], Any]) -> list[Any]:
        output, new_state = call_cell()
        nest.assert_same_structure(self._zero_output, output)
        nest.assert_same_structure(state, new_state)
        return nest.flatten(output) + nest.flatten(new_state)

    def _some(self, time: Any, ended: Tensor, state: Any, flat_state: list[Any], call_cell: Callable[[], Any]) -> list[Any]:
        new = self._run(state, call_cell)
        return cond(time < self._shortest, lambda: new, lambda: self._copy_finished(ended, flat_state, new), strict=True)

    def _copy_finished(self, ended: Tensor, flat_state: list[Any], new: list[Any]) -> list[Any]:
        return [_select(ended, old, fresh) for old, fresh in zip((*self._flat_zero_output, *flat_state), new)]


def _select(ended: Tensor, old: Any, fresh: Any) -> Any:
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return fresh
    with colocate_with(fresh.op):
        return where(ended, old, fresh)
