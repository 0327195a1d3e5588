"""Rows of different lengths as one array."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np


def fill_array(arr: np.ndarray, seq: Any, fillvalue: Any = 0) -> None:
    """Writes nested sequences into an array, in place; where they are too short, ``fillvalue``."""
    if arr.ndim > 1:
        for row, items in zip_longest(arr, seq, fillvalue=()):
            fill_array(row, items, fillvalue)
        return
    length = len(seq) if hasattr(seq, "__len__") else 0
    arr[:length], arr[length:] = seq, fillvalue


def padded_batch(batch_key_item: Sequence[np.ndarray], fillvalue: Any = 0) -> Any:
    """Arrays whose last axes differ, as one; as they are if none is longer. ValueError if they differ otherwise."""
    heads = [each.shape[:-1] if each.ndim else -1 for each in batch_key_item]
    lengths = [each.shape[-1] if each.ndim else 0 for each in batch_key_item]
    if any(head != heads[0] for head in heads):
        raise ValueError("Array shapes must match.")
    if len(set(lengths)) <= 1:
        return batch_key_item
    result = np.zeros([len(heads), *batch_key_item[0].shape[:-1], max(lengths)], batch_key_item[0].dtype)
    fill_array(result, batch_key_item, fillvalue)
    return result
