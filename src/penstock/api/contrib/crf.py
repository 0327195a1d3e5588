"""``tf.contrib.crf``: linear-chain conditional random fields."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.crf": "CrfDecodeBackwardRnnCell CrfDecodeForwardRnnCell CrfForwardRnnCell crf_binary_score crf_decode crf_log_likelihood "
                            "crf_log_norm crf_multitag_sequence_score crf_sequence_score crf_unary_score viterbi_decode",
}
publish(__name__, TABLE)
