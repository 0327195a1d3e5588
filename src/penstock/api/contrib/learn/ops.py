"""``tf.contrib.learn.ops``: what the regressions are made of, embeddings, and decoders."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.learn.models": "categorical_variable embedding_lookup mean_squared_error_regressor softmax_classifier",
    "penstock.contrib.learn.recurrent_models": "rnn_decoder rnn_seq2seq seq2seq_inputs sequence_classifier",
}
publish(__name__, TABLE)
