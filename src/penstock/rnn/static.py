"""``tf.nn.static_rnn`` and its kin: cells unrolled when the graph is built, one copy of the cell per step."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.graph.shape import unknown_shape
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat, stack, unstack
from penstock.ops.array.permute import reverse_sequence
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import identity
from penstock.ops.math.reduce import reduce_max, reduce_min
from penstock.rnn.cell import assert_like_rnncell, concat_sizes, imply_static_sizes
from penstock.rnn.dynamic import start_state
from penstock.rnn.steps import MaskedStep, check_sequence_length, infer_state_dtype
from penstock.variables.scope import variable_scope


def static_rnn(cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None,
               scope: Any = None) -> tuple[list[Any], Any]:
    """``tf.nn.static_rnn``: runs ``cell`` over a list of inputs, one [batch, ...] per step; returns the list of outputs, and the last state."""
    assert_like_rnncell("cell", cell)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as entered:
        inputs = [nest.map_structure(to_tensor, item) for item in inputs]
        batch_size, known_batch = _batch_size(inputs)
        state = start_state(cell, batch_size, initial_state, dtype)
        masked = None
        if sequence_length is not None:
            masked = _masked_step(cell, check_sequence_length(sequence_length), batch_size, known_batch, infer_state_dtype(dtype, state))
        for time, item in enumerate(inputs):
            if time > 0:
                entered.reuse_variables()
            if masked is None:
                output, state = cell(item, state)
            else:
                output, state = masked(time, state, _CellCall(cell, item, state), skip_conditionals=False)
            outputs.append(output)
    return outputs, state


class _CellCall:
    """A call of a cell, for later."""

    def __init__(self, cell: Any, inputs: Any, state: Any) -> None:
        self._arguments = cell, inputs, state

    def __call__(self) -> Any:
        cell, inputs, state = self._arguments
        return cell(inputs, state)


def _batch_size(inputs: Any) -> tuple[Any, int | None]:
    """(an int or a tensor, what is known of it); the shapes of all steps must agree."""
    first = nest.flatten(inputs[0])[0]
    known = None
    if first.shape.ndims != 1:
        known = first.shape.with_rank_at_least(2).as_list()[0] if first.shape.ndims is not None else None
        for tensor in nest.flatten(inputs):
            extents = tensor.shape.as_list() if tensor.shape.ndims is not None else [None]
            if known is not None and extents[0] not in (None, known):
                raise ValueError(f"Dimensions {known} and {extents[0]} are not compatible")
            known = extents[0] if known is None else known
            if None in extents[1:]:
                raise ValueError(f"Input size (dimension {extents[1:].index(None)} of inputs) must be accessible via shape inference, "
                                 "but saw value None.")
    else:
        known = first.shape.as_list()[0]
    return (known if known else shape(first)[0]), known


def _masked_step(cell: Any, lengths: Tensor, batch_size: Any, known_batch: int | None, dtype: Any) -> MaskedStep:
    def zero(size: Any) -> Tensor:
        made = zeros(concat_sizes(batch_size, size), dtype)
        made.set_shape(concat_sizes(known_batch, size, static=True))
        imply_static_sizes(known_batch)
        return made

    zero_output = nest.map_structure(zero, cell.output_size)
    return MaskedStep(lengths, reduce_min(lengths), reduce_max(lengths), zero_output)


def static_state_saving_rnn(cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None,
                            scope: Any = None) -> tuple[list[Any], Any]:
    """``tf.nn.static_state_saving_rnn``: starts from the state that ``state_saver`` keeps, and gives it the last one."""
    names = nest.flatten(state_name)
    if nest.is_sequence(cell.state_size) != nest.is_sequence(state_name):
        raise ValueError(f"state_name should be the same type as cell.state_size.  state_name: {state_name}, cell.state_size: {cell.state_size}")
    if len(names) != len(nest.flatten(cell.state_size)):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(nest.flatten(cell.state_size))}")
    initial = nest.pack_sequence_as(cell.state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, initial_state=initial, sequence_length=sequence_length, scope=scope)
    saved = [state_saver.save_state(name, part) for name, part in zip(names, nest.flatten(state))]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        return outputs, nest.map_structure(identity, state)


def _reverse_steps(sequence: list[Any], lengths: Any) -> list[Any]:
    """A list of steps backwards in time; with lengths, each sequence of the batch from its own end."""
    if lengths is None:
        return list(reversed(sequence))
    columns = []
    for parts in zip(*(nest.flatten(item) for item in sequence)):
        common = unknown_shape()
        for part in parts:
            common = common.merge_with(part.shape)
        backwards = unstack(reverse_sequence(stack(list(parts)), lengths, 0, 1), num=len(parts))
        for part in backwards:
            part.set_shape(common)
        columns.append(backwards)
    return [nest.pack_sequence_as(item, list(flat)) for item, flat in zip(sequence, zip(*columns))]


def static_bidirectional_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None, initial_state_bw: Any = None, dtype: Any = None,
                             sequence_length: Any = None, scope: Any = None) -> tuple[list[Any], Any, Any]:
    """``tf.nn.static_bidirectional_rnn``: (outputs of both directions, joined along the last axis; the two last states)."""
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    lengths = None if sequence_length is None else check_sequence_length(sequence_length)
    inputs = [nest.map_structure(to_tensor, item) for item in inputs]
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, lengths, scope=forward)
        with variable_scope("bw") as backward:
            output_bw, state_bw = static_rnn(cell_bw, _reverse_steps(inputs, lengths), initial_state_bw, dtype, lengths, scope=backward)
    pairs = zip(nest.flatten(output_fw), nest.flatten(_reverse_steps(output_bw, lengths)))
    return nest.pack_sequence_as(output_fw, [concat([one, other], 1) for one, other in pairs]), state_fw, state_bw
