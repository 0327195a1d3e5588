"""``tensorflow.contrib.rnn.python.tools.checkpoint_convert``: checkpoints of TensorFlow before 1.2, whose cells named their variables otherwise."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.saver_pb2 import SaverDef

from penstock.checkpoint.contents import CheckpointReader
from penstock.graph.graph import Graph
from penstock.platform import logging
from penstock.session.session import Session
from penstock.train.saver import Saver
from penstock.variables.initialization import global_variables_initializer
from penstock.variables.variable import Variable

# The scopes whose `weights` became a `kernel`, and their `biases` a `bias`.
_SCOPES = (
    "basic_rnn_cell gru_cell gru_cell/gates gru_cell/candidate basic_lstm_cell lstm_cell lstm_cell/projection output_projection_wrapper "
    "input_projection_wrapper lstm_block_wrapper layer_norm_basic_lstm_cell ugrnn_cell intersection_rnn_cell intersection_rnn_cell/in_projection "
    "phased_lstm_cell/mask_gates phased_lstm_cell/new_input phased_lstm_cell/output_gate attention_cell_wrapper "
    "attention_cell_wrapper/attn_output_projection attention_cell_wrapper/attention attention_decoder attention_decoder/Attention_0 "
    "attention_decoder/AttnOutputProjection"
).split()
_LINEAR = "attention_decoder attention_decoder/Attention_0 attention_decoder/AttnOutputProjection".split()
RNN_NAME_REPLACEMENTS: dict[str, str] = {
    **{f"{scope}/{old}": f"{scope}/{new}" for scope in _SCOPES for old, new in (("weights", "kernel"), ("biases", "bias"))},
    "nas_rnn/weights": "nas_rnn/kernel", "nas_rnn/recurrent_weights": "nas_rnn/recurrent_kernel",
    **{f"{scope}/Linear/{old}": f"{scope}/{new}" for scope in _LINEAR for old, new in (("Bias", "bias"), ("Matrix", "kernel"))},
    "attention_decoder/LSTMCell/B": "attention_decoder/lstm_cell/bias", "attention_decoder/LSTMCell/W_0": "attention_decoder/lstm_cell/kernel",
}
RNN_SHARDED_NAME_REPLACEMENTS: dict[str, str] = {
    "LSTMCell/W_": "lstm_cell/weights/part_", "BasicLSTMCell/Linear/Matrix_": "basic_lstm_cell/weights/part_", "GRUCell/W_": "gru_cell/weights/part_",
    "MultiRNNCell/Cell": "multi_rnn_cell/cell_"}


def _new_name(name: str) -> str:
    """The name that the variable has since TensorFlow 1.2."""
    old = next((old for old in RNN_NAME_REPLACEMENTS if old in name), None)
    return name if old is None else name.replace(old, RNN_NAME_REPLACEMENTS[old])


def convert_names(checkpoint_from_path: str, checkpoint_to_path: str, write_v1_checkpoint: bool = False) -> tuple[dict[str, Any], dict[str, str]]:
    """Writes a checkpoint with the variables of another under their new names. Returns {new name: variable} and {old name: new name}."""
    reader = CheckpointReader(checkpoint_from_path)
    with Graph().as_default(), Session() as session:
        names = {name: _new_name(name) for name in reader.get_variable_to_shape_map()}
        variables = {new: Variable(reader.get_tensor(old), name=old) for old, new in names.items()}
        saver = Saver(variables, write_version=SaverDef.V1 if write_v1_checkpoint else SaverDef.V2)
        session.run(global_variables_initializer())
        saver.save(session, checkpoint_to_path)
    changed = {old: new for old, new in names.items() if old != new}
    logging.info("Converted %d of %d variable names.", len(changed), len(names))
    return variables, changed
