"""``tf.contrib.rnn``: all cells, and what unrolls them."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.rnn.cell": "RNNCell LayerRNNCell",
    "penstock.rnn.basic_cells": "BasicRNNCell GRUCell",
    "penstock.rnn.lstm": "BasicLSTMCell LSTMCell LSTMStateTuple",
    "penstock.rnn.multi": "MultiRNNCell",
    "penstock.rnn.wrappers": "DropoutWrapper ResidualWrapper DeviceWrapper",
    "penstock.rnn.projections": "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper",
    "penstock.rnn.contrib_cells": "LayerNormBasicLSTMCell LSTMBlockCell GRUBlockCell GRUBlockCellV2 NASCell",
    "penstock.rnn.more_cells": "ConvLSTMCell Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell UGRNNCell IndRNNCell HighwayWrapper",
    "penstock.rnn.gated_cells": "CoupledInputForgetGateLSTMCell GLSTMCell IndyGRUCell IndyLSTMCell IntersectionRNNCell PhasedLSTMCell SRUCell",
    "penstock.rnn.grid_cells": "BidirectionalGridLSTMCell GridLSTMCell TimeFreqLSTMCell",
    "penstock.rnn.fused": "FusedRNNCell FusedRNNCellAdaptor LSTMBlockFusedCell LSTMBlockWrapper TimeReversedFusedRNN",
    "penstock.rnn.attention_cell": "AttentionCellWrapper",
    "penstock.contrib.compiler": "CompiledWrapper",
    "penstock.rnn.static": "static_rnn static_state_saving_rnn static_bidirectional_rnn",
    "penstock.rnn.stacked": "stack_bidirectional_rnn stack_bidirectional_dynamic_rnn",
    "penstock.rnn.steps": "transpose_batch_time best_effort_input_batch_size",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.rnn:": "python ops core_rnn rnn_cell rnn",
    "penstock.rnn.core_rnn_cell:": "core_rnn_cell",
}
publish(__name__, TABLE)
