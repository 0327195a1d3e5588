"""``tf.spectral``: Fourier transforms."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.signal.transforms": "dct fft fft2d fft3d idct ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
}
publish(__name__, TABLE)
