"""Waiting for the checkpoints that another process writes: ``tf.train.checkpoints_iterator``."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.platform import logging


def wait_for_new_checkpoint(checkpoint_dir: str, last_checkpoint: str | None = None, seconds_to_sleep: float = 1,
                            timeout: float | None = None) -> str | None:
    """The latest checkpoint as soon as it is another one than ``last_checkpoint``; None if it is not there within ``timeout`` seconds."""
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop_time = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logging.info("Found new checkpoint at %s", path)
            return path
        if stop_time is not None and time.monotonic() + seconds_to_sleep > stop_time:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(checkpoint_dir: str, min_interval_secs: float = 0, timeout: float | None = None,
                         timeout_fn: Callable[[], bool] | None = None) -> Iterator[str]:
    """``tf.train.checkpoints_iterator``: each new checkpoint of a folder, at least ``min_interval_secs`` after the one before.

    When none comes within ``timeout`` seconds, it ends; with ``timeout_fn`` only if that returns True.
    """
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if timeout_fn is None:
                logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        start, path = time.monotonic(), new
        yield path
        time.sleep(max(0.0, start + min_interval_secs - time.monotonic()))
