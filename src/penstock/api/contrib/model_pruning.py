"""``tf.contrib.model_pruning``: masks that set the smallest weights to 0 while a model trains."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.model_pruning.cells": "MaskedBasicLSTMCell MaskedLSTMCell",
    "penstock.contrib.model_pruning.layers": "masked_conv2d masked_convolution masked_fully_connected",
    "penstock.contrib.model_pruning.learning": "train",
    "penstock.contrib.model_pruning.masks": "apply_mask get_masked_weights get_masks get_thresholds get_weight_sparsity get_weights",
    "penstock.contrib.model_pruning.pruning": "Pruning get_pruning_hparams",
    "penstock.contrib.model_pruning.strip": "graph_def_from_checkpoint strip_pruning_vars_fn",
}
publish(__name__, TABLE)
