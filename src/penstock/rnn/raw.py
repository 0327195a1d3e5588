"""``tf.nn.raw_rnn``: a loop over a cell in which a function decides, after each step, what comes next."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import colocate_with
from penstock.graph.shape import TensorShape, dimension_at_index
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.fill import zeros
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.compare import logical_not, logical_or
from penstock.ops.math.reduce import reduce_all
from penstock.rnn.cell import assert_like_rnncell, concat_sizes
from penstock.variables.scope import variable_scope


def raw_rnn(cell: Any, loop_fn: Callable[..., Any], parallel_iterations: int | None = None, swap_memory: bool = False,
            scope: Any = None) -> tuple[Any, Any, Any]:
    """``tf.nn.raw_rnn``: (TensorArrays of what was emitted, the last state, the last loop state).

    ``loop_fn(time, cell_output, cell_state, loop_state)`` returns (which sequences have ended, next input, next cell state, what to emit, next loop
    state). The first call, with time 0 and None for the rest, gives the first input and state, and an example of what is emitted (None: the cell's
    output).
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtype=dt.int32)
        finished, first_input, first_state, emitted, loop_state = loop_fn(time, None, None, None)
        nest.assert_same_structure(first_state, cell.state_size)
        state = nest.map_structure(to_tensor, first_state)
        arrays, zero_emit = _Emission(cell, nest.flatten(first_input), nest.flatten(state)[0].dtype, emitted).prepare()
        body = _Body(cell, loop_fn, zero_emit)
        has_loop_state = loop_state is not None
        loop_vars = [time, finished, first_input, arrays, state, loop_state if has_loop_state else constant(0, dtype=dt.int32)]
        returned = while_loop(lambda time, finished, *_: logical_not(reduce_all(finished)), body, loop_vars,
                              parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        arrays, final_state, final_loop_state = returned[-3:]
        return arrays, final_state, final_loop_state if has_loop_state else None


class _Emission:
    """The arrays for what the loop emits, and the zeros that a sequence emits past its end."""

    def __init__(self, cell: Any, flat_input: list[Any], state_dtype: Any, emitted: Any) -> None:
        known = dimension_at_index(flat_input[0].shape, 0)
        for tensor in flat_input:
            known = known.merge_with(dimension_at_index(tensor.shape, 0))
        self._known_batch = known.value
        self._batch = shape(flat_input[0])[0] if known.value is None else known.value
        self._structure = cell.output_size if emitted is None else emitted
        flat = nest.flatten(self._structure)
        self._sizes = flat if emitted is None else [item.shape if item.shape.is_fully_defined() else shape(item) for item in flat]
        self._dtypes = [state_dtype] * len(flat) if emitted is None else [item.dtype for item in flat]

    def prepare(self) -> tuple[Any, Any]:
        """(arrays, zeros), in the structure of what is emitted."""
        arrays = [TensorArray(dtype, dynamic_size=True, size=0, name=f"rnn_output_{i}",
                              element_shape=TensorShape([self._known_batch]).concatenate(_static(size)))
                  for i, (size, dtype) in enumerate(zip(self._sizes, self._dtypes))]
        zero = [zeros(concat_sizes(self._batch, size), dtype) for size, dtype in zip(self._sizes, self._dtypes)]
        return nest.pack_sequence_as(self._structure, arrays), nest.pack_sequence_as(self._structure, zero)


def _static(size: Any) -> TensorShape:
    if isinstance(size, Tensor):
        return constant_value_as_shape(size)
    return TensorShape([size]) if isinstance(size, int) else TensorShape(size)


class _Body:
    """The body of the loop."""

    def __init__(self, cell: Any, loop_fn: Callable[..., Any], zero_emit: Any) -> None:
        self._cell, self._loop_fn, self._zero_emit = cell, loop_fn, zero_emit

    def __call__(self, time: Tensor, finished: Tensor, current_input: Any, arrays: Any, state: Any, loop_state: Any) -> tuple[Any, ...]:
        output, cell_state = self._cell(current_input, state)
        nest.assert_same_structure(state, cell_state)
        nest.assert_same_structure(self._cell.output_size, output)
        after = time + 1
        now_finished, next_input, next_state, emit, next_loop_state = self._loop_fn(after, output, cell_state, loop_state)
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(current_input, next_input)
        nest.assert_same_structure(arrays, emit)
        emit = nest.map_structure(lambda old, new: _old_if_finished(finished, old, new), self._zero_emit, emit)
        next_state = nest.map_structure(lambda old, new: _old_if_finished(finished, old, new), state, next_state)
        arrays = nest.map_structure(lambda array, value: array.write(time, value), arrays, emit)
        return (after, logical_or(finished, now_finished), next_input, arrays, next_state,
                loop_state if next_loop_state is None else next_loop_state)


def _old_if_finished(finished: Tensor, old: Any, new: Any) -> Any:
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return new
    new = to_tensor(new)
    with colocate_with(new.op):
        return where(finished, old, new)
