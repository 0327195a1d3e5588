"""``tf.contrib.recurrent``: a function of (weights, state, input) applied along the time, with all states kept; cells unrolled by it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph import nest


def Recurrent(theta: Any, state0: Any, inputs: Any, cell_fn: Callable[..., Any], cell_grad: Callable[..., Any] | None = None,
              extras: Any = None, max_input_length: Any = None, use_tpu: bool = False, aligned_end: bool = False) -> tuple[Any, Any]:
    """``tf.contrib.recurrent.Recurrent``: (all states, stacked along the time; the last state).

    ``cell_fn(theta, state, input)`` gives (state, extras); ``cell_grad(theta, state, input, extras, dstate)`` gives its gradient, if it is not to be
    derived. Steps from ``max_input_length`` on are left out (with ``aligned_end``, as many at the beginning); their states are 0.
    """
    theta, state0, inputs = (nest.map_structure(tf.convert_to_tensor, each) for each in (theta, state0, inputs))
    first = nest.flatten(inputs)[0]
    time = tf.shape(first)[0]
    length = time if max_input_length is None else tf.convert_to_tensor(max_input_length, dtype=tf.int32)
    start, end = (time - length, time) if aligned_end else (tf.constant(0), length)
    step = _one_step(cell_fn, cell_grad)
    histories = [tf.TensorArray(each.dtype, size=time, element_shape=each.shape, clear_after_read=False) for each in nest.flatten(state0)]
    blank = [tf.zeros_like(each) for each in nest.flatten(state0)]

    def body(t: Any, state: Any, kept: Any) -> tuple[Any, Any, Any]:
        # A step that is left out keeps the state and notes zeros, so that all states have a place in the history.
        taken = tf.logical_and(t >= start, t < end)
        new = tf.cond(taken, lambda: nest.flatten(step(theta, state, nest.map_structure(lambda each: tf.gather(each, t), inputs))),
                      lambda: [tf.identity(each) for each in nest.flatten(state)])
        new = new if isinstance(new, (list, tuple)) else [new]
        for each, old in zip(new, nest.flatten(state)):
            each.set_shape(old.shape)
        noted = [tf.where(tf.fill(tf.shape(each), taken), each, zero) for each, zero in zip(new, blank)]
        return t + 1, nest.pack_sequence_as(state0, list(new)), [array.write(t, each) for array, each in zip(kept, noted)]

    _, last, kept = tf.while_loop(lambda t, state, kept: t < time, body, (tf.constant(0), state0, histories))
    stacked = [array.stack() for array in kept]
    for each, one in zip(stacked, nest.flatten(state0)):
        each.set_shape(first.shape[:1].concatenate(one.shape))
    return nest.pack_sequence_as(state0, stacked), last


def _one_step(cell_fn: Callable[..., Any], cell_grad: Callable[..., Any] | None) -> Callable[..., Any]:
    """A step without its extras, which has the gradient that the user gives."""
    if cell_grad is None:
        return lambda theta, state, x: cell_fn(theta, state, x)[0]

    def step(theta: Any, state: Any, x: Any) -> Any:
        structure = (theta, state, x)

        @tf.custom_gradient
        def flat(*values: tf.Tensor) -> Any:
            given = nest.pack_sequence_as(structure, list(values))
            new_state, extras = cell_fn(*given)
            results = nest.flatten(new_state)

            def gradient(*dys: tf.Tensor) -> list[Any]:
                d_state = nest.pack_sequence_as(state, list(dys))
                parts = cell_grad(*given, extras, d_state)
                grads: list[Any] = []
                for wanted, part in zip(given, parts):
                    grads += [None] * len(nest.flatten(wanted)) if part is None else nest.flatten(part)
                return [tf.zeros_like(value) if grad is None else grad for grad, value in zip(grads, values)]

            return results, gradient

        made = flat(*nest.flatten(structure))
        return nest.pack_sequence_as(state, list(made) if isinstance(made, (list, tuple)) else [made])

    return step


def functional_rnn(cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None, dtype: Any = None, time_major: bool = False,
                   scope: Any = None, use_tpu: bool = False, reverse: bool = False) -> tuple[tf.Tensor, Any]:
    """``tf.contrib.recurrent.functional_rnn``: (outputs, last state) of a cell; steps beyond the length of a sequence give 0.

    With ``reverse`` time runs backwards, and a sequence that is shorter begins with its padding.
    """
    with tf.variable_scope(scope or "rnn"):
        if not time_major:
            inputs = nest.map_structure(lambda each: tf.transpose(each, [1, 0, 2]), inputs)
        if initial_state is None:
            initial_state = cell.zero_state(tf.shape(nest.flatten(inputs)[0])[1], dtype)
        if reverse:
            inputs = nest.map_structure(lambda each: tf.reverse(each, [0]), inputs)
        longest = None if sequence_length is None else tf.reduce_max(tf.cast(sequence_length, tf.int32))
        output = _output_like(cell, nest.flatten(inputs)[0], initial_state)

        def step(theta: Any, state: Any, x: Any) -> Any:
            outputs, new_state = cell(x, state[1])
            return (outputs, new_state), []

        (outputs, states), (_, last) = Recurrent([], (output, initial_state), inputs, step, max_input_length=longest, aligned_end=reverse)
    if reverse:
        outputs = tf.reverse(outputs, [0])
    if sequence_length is not None:
        lengths = tf.cast(sequence_length, tf.int32)
        outputs = outputs * tf.expand_dims(tf.transpose(tf.sequence_mask(lengths, tf.shape(outputs)[0], dtype=outputs.dtype)), -1)
        if not reverse:
            last = nest.map_structure(lambda each: _at_lengths(each, lengths), states)
    return outputs if time_major else tf.transpose(outputs, [1, 0, 2]), last


def _output_like(cell: Any, inputs: tf.Tensor, state: Any) -> tf.Tensor:
    """Zeros of the shape of one output."""
    zeros = tf.zeros([tf.shape(inputs)[1], cell.output_size], nest.flatten(state)[0].dtype)
    zeros.set_shape([inputs.shape[1], cell.output_size])
    return zeros


def _at_lengths(states: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Of states [time, batch, ...], those of the last steps; 0 for an empty sequence."""
    is_last = tf.equal(tf.expand_dims(tf.range(tf.shape(states)[0]), 1), tf.expand_dims(lengths - 1, 0))
    return tf.reduce_sum(tf.expand_dims(tf.cast(is_last, states.dtype), -1) * states, 0)


def bidirectional_functional_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None, initial_state_bw: Any = None,
                                 dtype: Any = None, sequence_length: Any = None, time_major: bool = False, use_tpu: bool = False,
                                 fast_reverse: bool = False, scope: Any = None) -> tuple[Any, Any]:
    """``tf.contrib.recurrent.bidirectional_functional_rnn``: ((outputs forward, outputs backward), (states)).

    ``fast_reverse`` turns the whole batch around, with its padding, and not each sequence from its own end.
    """
    time, batch = (0, 1) if time_major else (1, 0)

    def reverse(each: tf.Tensor) -> tf.Tensor:
        if sequence_length is None:
            return tf.reverse(each, [time])
        return tf.reverse_sequence(each, sequence_length, seq_axis=time, batch_axis=batch)

    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as forward:
            outputs_fw, state_fw = functional_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major, forward, use_tpu)
        with tf.variable_scope("bw") as backward:
            given = inputs if fast_reverse else reverse(inputs)
            outputs_bw, state_bw = functional_rnn(cell_bw, given, sequence_length, initial_state_bw, dtype, time_major, backward, use_tpu,
                                                  reverse=fast_reverse)
    return (outputs_fw, outputs_bw if fast_reverse else reverse(outputs_bw)), (state_fw, state_bw)
