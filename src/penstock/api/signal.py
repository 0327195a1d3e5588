"""``tf.signal``: signal processing."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.signal.transforms": "dct fft fft2d fft3d fftshift idct ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d rfft rfft2d rfft3d",
    "penstock.ops.signal.frames": "frame hamming_window hann_window inverse_stft inverse_stft_window_fn overlap_and_add stft",
    "penstock.ops.signal.mel": "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms",
}
publish(__name__, TABLE)
