"""Models of sequences from the first months of ``tf.contrib.learn``, unrolled: one cell call per step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.nn.cross_entropy import softmax_cross_entropy_with_logits
from penstock.rnn.attention_cell import AttentionCellWrapper
from penstock.rnn.basic_cells import BasicRNNCell, GRUCell
from penstock.rnn.cell import RNNCell
from penstock.rnn.lstm import BasicLSTMCell
from penstock.rnn.multi import MultiRNNCell
from penstock.rnn.static import static_rnn
from penstock.variables.scope import get_variable_scope

_CELLS: dict[str, Callable[[int], Any]] = {
    "rnn": BasicRNNCell,
    "gru": GRUCell,
    "lstm": lambda units: BasicLSTMCell(units, state_is_tuple=False),
}


def seq2seq_inputs(x: Any, y: Any, input_length: int, output_length: int, sentinel: Any = None,
                   name: str | None = None) -> tuple[list[Any], list[Any], list[Any]]:
    """``tf.contrib.learn.ops.seq2seq_inputs``: the steps of ``x``, those of ``y`` behind the sentinel, and those of ``y`` before it.

    ``input_length`` and ``output_length`` change nothing, as in TensorFlow: the shapes tell.
    """
    with tf.name_scope(name, "seq2seq_inputs", [x, y]):
        encoder_inputs, steps = tf.unstack(x, axis=1), tf.unstack(y, axis=1)
        if sentinel is None:  # zeros with the batch of x: y is not there when a model is used
            sentinel = tf.zeros(tf.stack([tf.shape(x)[0], steps[0].shape[1]]))
            sentinel.set_shape(steps[0].shape)
        return encoder_inputs, [sentinel, *steps], [*steps, sentinel]


def rnn_decoder(decoder_inputs: list[Any], initial_state: Any, cell: Any, scope: Any = None) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """``tf.contrib.learn.ops.rnn_decoder``: outputs and states for training, fed the inputs, and for sampling, fed its own outputs."""
    with tf.variable_scope(scope or "dnn_decoder"):
        states, outputs = [initial_state], []
        with tf.name_scope("training", values=[decoder_inputs, initial_state]):
            for step, value in enumerate(decoder_inputs):
                if step:
                    get_variable_scope().reuse_variables()
                output, state = cell(value, states[-1])
                outputs.append(output)
                states.append(state)
        sampled, sampled_states = outputs[:1], [initial_state, *states[:1]]
        with tf.name_scope("sampling", values=[initial_state]):
            for _ in decoder_inputs[1:]:
                output, state = cell(sampled[-1], sampled_states[-1])
                sampled.append(output)
                sampled_states.append(state)
    return outputs, states, sampled, sampled_states


def rnn_seq2seq(encoder_inputs: list[Any], decoder_inputs: list[Any], encoder_cell: Any, decoder_cell: Any = None, dtype: Any = tf.float32,
                scope: Any = None) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """``tf.contrib.learn.ops.rnn_seq2seq``: what ``rnn_decoder`` returns, begun in the state in which the encoder ends."""
    with tf.variable_scope(scope or "rnn_seq2seq"):
        _, state = static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, decoder_cell or encoder_cell)


def sequence_classifier(decoding: list[Any], labels: list[Any], sampling_decoding: list[Any] | None = None,
                        name: str | None = None) -> tuple[Any, Any]:
    """``tf.contrib.learn.ops.sequence_classifier``: (probabilities of all steps, the sum of their cross entropies)."""
    with tf.name_scope(name, "sequence_classifier", [decoding, labels]):
        predictions, entropies = [], []
        for step, logits in enumerate(decoding):
            entropies.append(softmax_cross_entropy_with_logits(labels=labels[step], logits=logits, name=f"sequence_loss/xent_raw{step}"))
            predictions.append(tf.softmax(sampling_decoding[step] if sampling_decoding else logits))
        total = tf.add_n(entropies, name="sequence_loss/xent")
        loss = tf.reduce_sum(total, name="sequence_loss")
        return tf.stack(predictions, axis=1), loss


def bidirectional_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None, initial_state_bw: Any = None, dtype: Any = None,
                      sequence_length: Any = None, scope: Any = None) -> tuple[list[Any], Any]:
    """``tf.contrib.learn.models.bidirectional_rnn``: (outputs of both directions side by side, their last states side by side)."""
    for name, cell in (("cell_fw", cell_fw), ("cell_bw", cell_bw)):
        if not isinstance(cell, RNNCell):
            raise TypeError(f"{name} must be an instance of RNNCell")
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list")
    if not inputs:
        raise ValueError("inputs must not be empty")
    name = scope or "BiRNN"
    with tf.variable_scope(f"{name}_FW"):
        forward, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length)
    with tf.variable_scope(f"{name}_BW"):
        backward, state_bw = static_rnn(cell_bw, _reversed(inputs, sequence_length), initial_state_bw, dtype, sequence_length)
    outputs = [tf.concat(pair, 1) for pair in zip(forward, _reversed(backward, sequence_length))]
    return outputs, tf.concat([state_fw, state_bw], 1)


def _reversed(steps: list[Any], lengths: Any) -> list[Any]:
    """The steps from the last to the first; with lengths, each row from its own last one."""
    if lengths is None:
        return steps[::-1]
    reversed_steps: list[Any] = tf.unstack(tf.reverse_sequence(tf.stack(steps), lengths, 0, 1))
    return reversed_steps


def get_rnn_model(rnn_size: int, cell_type: str, num_layers: int, input_op_fn: Callable[[Any], Any], bidirectional: bool,
                  target_predictor_fn: Callable[[Any, Any], Any], sequence_length: Any, initial_state: Any, attn_length: int | None,
                  attn_size: int | None, attn_vec_size: int | None) -> Callable[[Any, Any], Any]:
    """``tf.contrib.learn.models.get_rnn_model``: a function of (x, y) that encodes sequences and predicts from the last state."""
    def stacked_cells() -> MultiRNNCell:
        if cell_type not in _CELLS:
            raise ValueError(f"cell_type {cell_type} is not supported. ")
        cells = [_CELLS[cell_type](rnn_size) for _ in range(num_layers)]
        if attn_length is not None:
            cells = [AttentionCellWrapper(cell, attn_length, attn_size, attn_vec_size, state_is_tuple=False) for cell in cells]
        return MultiRNNCell(cells, state_is_tuple=False)

    def model(x: Any, y: Any) -> Any:
        x = input_op_fn(x)
        if bidirectional:
            _, encoding = bidirectional_rnn(stacked_cells(), stacked_cells(), x, initial_state, initial_state, tf.float32, sequence_length)
        else:
            _, encoding = static_rnn(stacked_cells(), x, dtype=tf.float32, sequence_length=sequence_length, initial_state=initial_state)
        return target_predictor_fn(encoding, y)

    return model
