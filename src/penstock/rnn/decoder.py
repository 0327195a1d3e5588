"""``dynamic_decode``: the loop in which a decoder says a sequence, one step at a time."""
from __future__ import annotations

from contextlib import suppress
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value
from penstock.ops.array.fill import fill, zeros_like
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.compare import greater_equal, logical_not, logical_or
from penstock.ops.math.reduce import reduce_all
from penstock.rnn.cell import zero_state_tensors
from penstock.rnn.steps import transpose_batch_time
from penstock.variables.scope import variable_scope


class Decoder:
    """``tf.contrib.seq2seq.Decoder``: what ``dynamic_decode`` drives."""

    @property
    def batch_size(self) -> Any:
        """How many sequences are decoded."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of the outputs of a step."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The types of the outputs of a step."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """(which sequences have ended, first inputs, first state)."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """(outputs, next state, next inputs, which sequences have ended)."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """What is done with all outputs at the end; a decoder that does nothing does not define it."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """True if ``step`` knows of sequences that ended before (beams change places)."""
        return False


def dynamic_decode(decoder: Decoder, output_time_major: bool = False, impute_finished: bool = False, maximum_iterations: Any = None,
                   parallel_iterations: int = 32, swap_memory: bool = False, scope: Any = None, **kwargs: Any) -> tuple[Any, Any, Any]:
    """``tf.contrib.seq2seq.dynamic_decode``: (outputs of all steps, the last state, the lengths of the sequences).

    With ``impute_finished`` a sequence that has ended gives zeros, and its state stays as it is.
    """
    if not all(callable(getattr(decoder, name, None)) for name in ("initialize", "step")):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        if maximum_iterations is not None:
            maximum_iterations = to_tensor(maximum_iterations, dtype=dt.int32, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        loop = _Loop(decoder, impute_finished, maximum_iterations)
        outputs, state, lengths = loop.run(parallel_iterations, swap_memory)
        with suppress(NotImplementedError):  # the decoder's way to say that there is nothing to do
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


class _Loop:
    """One call of ``dynamic_decode``."""

    def __init__(self, decoder: Decoder, impute_finished: bool, limit: Tensor | None) -> None:
        self._decoder, self._impute, self._limit = decoder, impute_finished, limit
        self._finished, self._inputs, self._state = decoder.initialize()
        self._zero_outputs = nest.map_structure(lambda size, kind: zero_state_tensors(size, decoder.batch_size, kind),
                                                decoder.output_size, decoder.output_dtype)
        if limit is not None:
            self._finished = logical_or(self._finished, greater_equal(0, limit))

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any, Any]:
        """(outputs, state, lengths)."""
        lengths, time = zeros_like(self._finished, dtype=dt.int32), constant(0, dtype=dt.int32)
        arrays = nest.map_structure(self._array, self._decoder.output_size, self._decoder.output_dtype)
        result = while_loop(lambda time, arrays, state, inputs, finished, lengths: logical_not(reduce_all(finished)), self._step,
                            (time, arrays, self._state, self._inputs, self._finished, lengths), parallel_iterations=parallel_iterations,
                            maximum_iterations=self._limit, swap_memory=swap_memory)
        return nest.map_structure(lambda array: array.stack(), result[1]), result[2], result[5]

    def _array(self, size: Any, dtype: Any) -> TensorArray:
        element = None
        if isinstance(size, (TensorShape, int)):
            batch = constant_value(to_tensor(self._decoder.batch_size))
            element = TensorShape([None if batch is None else int(batch)]).concatenate([size] if isinstance(size, int) else size)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=element)

    def _step(self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> tuple[Any, ...]:
        outputs, new_state, next_inputs, decoder_finished = self._decoder.step(time, inputs, state)
        next_finished = decoder_finished if self._decoder.tracks_own_finished else logical_or(decoder_finished, finished)
        next_lengths = where(logical_not(finished), fill(shape(lengths), time + 1), lengths)
        nest.assert_same_structure(state, new_state)
        nest.assert_same_structure(arrays, outputs)
        nest.assert_same_structure(inputs, next_inputs)
        if self._impute:
            outputs = nest.map_structure(lambda out, zero: where(finished, zero, out), outputs, self._zero_outputs)
            new_state = nest.map_structure(lambda new, old: _old_if_finished(finished, new, old), new_state, state)
        arrays = nest.map_structure(lambda array, out: array.write(time, out), arrays, outputs)
        return time + 1, arrays, new_state, next_inputs, next_finished, next_lengths


def _old_if_finished(finished: Tensor, new: Any, old: Any) -> Any:
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else where(finished, old, new)
