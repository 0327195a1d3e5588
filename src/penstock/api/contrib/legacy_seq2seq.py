"""``tf.contrib.legacy_seq2seq``: models from one list of tensors to another, unrolled when the graph is built."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.rnn.legacy_decoders": "rnn_decoder attention_decoder embedding_rnn_decoder embedding_attention_decoder",
    "penstock.rnn.legacy_models": "basic_rnn_seq2seq tied_rnn_seq2seq embedding_rnn_seq2seq embedding_tied_rnn_seq2seq embedding_attention_seq2seq "
                                  "one2many_rnn_seq2seq",
    "penstock.rnn.legacy_loss": "sequence_loss sequence_loss_by_example model_with_buckets",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.legacy_seq2seq:": "python ops seq2seq",
}
publish(__name__, TABLE)
