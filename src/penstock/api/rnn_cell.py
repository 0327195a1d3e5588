"""``tf.nn.rnn_cell``: the cells of recurrent networks."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.rnn.cell": "RNNCell",
    "penstock.rnn.basic_cells": "BasicRNNCell GRUCell",
    "penstock.rnn.lstm": "BasicLSTMCell LSTMCell LSTMStateTuple",
    "penstock.rnn.multi": "MultiRNNCell",
    "penstock.rnn.wrappers": "DropoutWrapper ResidualWrapper DeviceWrapper",
    "penstock.rnn.projections": "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper",
    "penstock.rnn.linear": "linear",
}
OLDER = {"EmbeddingWrapper": "contrib.rnn.EmbeddingWrapper", "InputProjectionWrapper": "contrib.rnn.InputProjectionWrapper",
         "OutputProjectionWrapper": "contrib.rnn.OutputProjectionWrapper", "linear": "layers.dense"}
publish(__name__, TABLE, older=OLDER)
