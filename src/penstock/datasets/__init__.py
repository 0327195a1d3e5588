"""Real data that ships with the package, small enough to train on in seconds.

The digits are the 1797 test images of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI
Machine Learning Repository, 1998), which UCI lists under CC BY 4.0; `README.md` in this folder tells their story.
"""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

__all__ = ["Digits", "load_digits"]

_DIGITS_FILE = Path(__file__).with_name("digits.npz")
_BRIGHTEST = 16  # a pixel counts the inked dots of a 4x4 block of the scan


class Digits(NamedTuple):
    """Images as float32 `[n, 8, 8]` in 0..1 (1 is ink), labels as int64 `[n]` in 0..9."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load_digits(test_size: int = 360, seed: int = 0) -> Digits:
    """Handwritten digits of 13 people, split at random into training and held-out images.

    The same arguments give the same split on every machine and with every version of NumPy.

    Args:
        test_size: how many of the 1797 images are held out.
        seed: picks the split.

    Origin: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998,
    https://doi.org/10.24432/C50P49 (CC BY 4.0 according to UCI).
    """
    with np.load(_DIGITS_FILE) as file:
        images = file["images"].astype(np.float32) / _BRIGHTEST
        labels = file["labels"].astype(np.int64)
    if not 0 <= test_size <= len(images):
        raise ValueError(f"test_size must be in 0..{len(images)}, not {test_size}")
    # RandomState's stream is frozen by NumPy's compatibility promise; that of default_rng may change.
    order = np.random.RandomState(seed).permutation(len(images))
    test, train = order[:test_size], order[test_size:]
    return Digits(images[train], labels[train], images[test], labels[test])
