"""``tf.contrib.cudnn_rnn``: the networks of cuDNN, and cells that compute the same."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.rnn.cudnn_cells": "CudnnCompatibleGRUCell CudnnCompatibleLSTMCell",
    "penstock.rnn.cudnn": "CudnnGRU CudnnLSTM CudnnRNNRelu CudnnRNNTanh",
    "penstock.rnn.cudnn_params": "CudnnGRUSaveable CudnnLSTMSaveable CudnnParamsFormatConverterGRU CudnnParamsFormatConverterLSTM "
                                 "CudnnParamsFormatConverterRelu CudnnParamsFormatConverterTanh CudnnRNNReluSaveable CudnnRNNTanhSaveable",
}
publish(__name__, TABLE)
