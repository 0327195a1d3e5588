"""LSTM cells whose kernels have masks."""
from __future__ import annotations

from typing import Any

from penstock.contrib.model_pruning import masks
from penstock.ops.math.elementwise import multiply
from penstock.rnn import lstm
from penstock.variables.initializers import Ones, Zeros


class _MaskedKernel:
    """A cell with a kernel, which a mask multiplies."""

    _kernel: Any

    def build(self, inputs_shape: Any) -> None:
        """The cell's own weights, then the mask and the threshold."""
        super().build(inputs_shape)  # type: ignore[misc]
        weight = self._kernel
        self._mask = self.add_variable("mask", weight.shape, initializer=Ones(), trainable=False)  # type: ignore[attr-defined]
        self._threshold = self.add_variable("threshold", [], initializer=Zeros(), trainable=False)  # type: ignore[attr-defined]
        self._kernel = multiply(self._mask, weight, masks.MASKED_WEIGHT_NAME)
        masks.collect(self._mask, self._threshold, self._kernel, weight)


class MaskedBasicLSTMCell(_MaskedKernel, lstm.BasicLSTMCell):
    """``tf.nn.rnn_cell.BasicLSTMCell`` with a mask of its kernel."""


class MaskedLSTMCell(_MaskedKernel, lstm.LSTMCell):
    """``tf.nn.rnn_cell.LSTMCell`` with a mask of its kernel; that of a projection has none."""
