"""Helpers for tests of input pipelines."""
from __future__ import annotations

import gc
import threading
import time
from typing import Any

import numpy as np

import penstock as tf
from support.threads import PATIENCE


def drain(session: Any, fetches: Any) -> list[Any]:
    """What ``fetches`` give until the end of the data."""
    results = []
    while True:
        try:
            results.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            return results


def listed(dataset: Any) -> list[Any]:
    """The elements of a dataset; arrays as lists."""
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        return [value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value for value in drain(session, element)]


def data_threads() -> int:
    """How many threads work ahead."""
    return sum(thread.name == "penstock-data" for thread in threading.enumerate())


def no_threads_left(collecting: bool = False, but: int = 0) -> bool:
    """True as soon as no thread works ahead any more, but for some; ``collecting`` what is not referred to any more."""
    end = time.monotonic() + PATIENCE
    while data_threads() > but and time.monotonic() < end:
        time.sleep(0.01)
        if collecting:
            gc.collect()
    return data_threads() <= but
