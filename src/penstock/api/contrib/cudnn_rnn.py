"""``tf.contrib.cudnn_rnn``: of it, the cells that run networks trained with cuDNN."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.rnn.cudnn_cells": "CudnnCompatibleGRUCell CudnnCompatibleLSTMCell",
}
publish(__name__, TABLE,
        missing="CudnnGRU CudnnGRUSaveable CudnnLSTM CudnnLSTMSaveable CudnnParamsFormatConverterGRU CudnnParamsFormatConverterLSTM "
                "CudnnParamsFormatConverterRelu CudnnParamsFormatConverterTanh CudnnRNNRelu CudnnRNNReluSaveable CudnnRNNTanh CudnnRNNTanhSaveable")
