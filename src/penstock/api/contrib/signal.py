"""``tf.contrib.signal``: signal processing, before it was ``tf.signal``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.signal.frames": "frame hamming_window hann_window inverse_stft inverse_stft_window_fn overlap_and_add stft",
    "penstock.ops.signal.mel": "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms",
}
publish(__name__, TABLE)
