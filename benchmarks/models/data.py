"""The same inputs for every framework."""
from __future__ import annotations

import numpy as np

from models import architectures as sizes


def images(case: str) -> tuple[np.ndarray, np.ndarray]:
    """A batch of images (batch, height, width, channels) and its labels for a case such as ``alexnet_16``."""
    batch, size = sizes.batch_of(case), sizes.NETS[case.partition("_")[0]].size
    random = np.random.RandomState(0)
    return random.standard_normal((batch, size, size, 3)).astype(np.float32), random.randint(0, sizes.CLASSES, batch).astype(np.int32)


def digits(batch: int) -> tuple[np.ndarray, np.ndarray]:
    """A batch of flat digits and their labels."""
    random = np.random.RandomState(0)
    return random.rand(batch, sizes.MLP[0]).astype(np.float32), random.randint(0, sizes.MLP[-1], batch).astype(np.int32)


def words(batch: int, length: int, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """A batch of sentences, and each word's successor."""
    text = np.random.RandomState(0).randint(0, vocabulary, (batch, length + 1)).astype(np.int32)
    return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Normally distributed floats."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def ids() -> np.ndarray:
    """The rows of the embedding that a step touches."""
    return np.random.RandomState(0).randint(0, sizes.ROWS, sizes.IDS).astype(np.int32)


def epoch(model: str) -> tuple[np.ndarray, np.ndarray]:
    """All samples of an epoch and their labels, for a model of ``architectures.FITS``."""
    batch, batches = sizes.FITS[model]
    if model == "resnet":
        return images(f"resnet_{batch * batches}")
    return words(batch * batches, sizes.LSTM_STEPS, sizes.LSTM_WORDS) if model == "lstm" else digits(batch * batches)
