"""``tf.contrib.seq2seq``: decoders, attention, beam search, and the loss of sequences."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.rnn.seq2seq_loss": "sequence_loss",
    "penstock.rnn.decoder": "Decoder dynamic_decode",
    "penstock.rnn.basic_decoder": "BasicDecoder BasicDecoderOutput",
    "penstock.rnn.helpers": "Helper CustomHelper TrainingHelper GreedyEmbeddingHelper SampleEmbeddingHelper InferenceHelper",
    "penstock.rnn.scheduled_helpers": "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper",
    "penstock.rnn.attention": "AttentionMechanism BahdanauAttention LuongAttention hardmax",
    "penstock.rnn.monotonic": "BahdanauMonotonicAttention LuongMonotonicAttention monotonic_attention safe_cumprod",
    "penstock.rnn.attention_wrapper": "AttentionWrapper AttentionWrapperState",
    "penstock.rnn.beam_search": "BeamSearchDecoder FinalBeamSearchDecoderOutput tile_batch",
    "penstock.rnn.beam_step": "BeamSearchDecoderOutput BeamSearchDecoderState",
    "penstock.ops.nn.gather_tree": "gather_tree",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.seq2seq:": "python ops attention_wrapper basic_decoder beam_search_decoder decoder helper loss",
}
publish(__name__, TABLE)
