"""``tf.contrib.learn.models``: regressions and models of sequences, as functions."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.learn.models": "linear_regression linear_regression_zero_init logistic_regression logistic_regression_zero_init",
    "penstock.contrib.learn.recurrent_models": "bidirectional_rnn get_rnn_model",
}
publish(__name__, TABLE)
