"""What a TPUEstimator logs: examples per second beside steps, and which of its loops have ended."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.errors import AbortedError, UnavailableError
from penstock.platform import logging
from penstock.train.file_hooks import StepCounterHook

_SECONDS = {"s": 1, "m": 60, "h": 3600}


class ExamplesPerSecondHook(StepCounterHook):
    """``tf.contrib.tpu``'s hook: steps and examples per second, in the log and in an event file."""

    def __init__(self, batch_size: int, every_n_steps: int | None = 100, every_n_secs: float | None = None, output_dir: str | None = None,
                 summary_writer: Any = None) -> None:
        self._batch_size = batch_size
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        steps = elapsed_steps / elapsed_time if elapsed_time else math.inf
        for tag, speed in (("global_step/sec", steps), ("examples/sec", self._batch_size * steps)):
            if self._writer is not None:
                self._writer.add_summary(Summary(value=[Summary.Value(tag=tag, simple_value=speed)]), global_step)
            logging.info("%s: %g", tag, speed)


def times_of_reports(log_every_n_steps: int | None, iterations_per_loop: Any, use_tpu: bool) -> dict[str, Any] | None:
    """When to report, as arguments of a hook; None: never.

    TensorFlow counts runs, which are ``iterations_per_loop`` steps of a TPU, or take a time (``"30s"``). Those of a CPU are one step each.
    """
    match = re.fullmatch(r"([1-9][0-9]*)([smh]?)", str(iterations_per_loop))
    if match is None:
        raise ValueError("Invalid TPUConfig `iterations_per_loop` value. It is a positive number of iterations, or a time: `3600s`, `60m`, `1h`. "
                         f"Given: {iterations_per_loop!r}")
    number, unit = int(match[1]), match[2]
    if unit:
        return {"every_n_steps": None, "every_n_secs": number * _SECONDS[unit]}
    if log_every_n_steps is None:
        return None
    return {"every_n_steps": log_every_n_steps if use_tpu else math.ceil(log_every_n_steps / number), "every_n_secs": None}


@contextmanager
def reported_end(loop: str) -> Iterator[None]:
    """Logs that a loop has ended, and the error that ended it."""
    try:
        yield
    except (AbortedError, UnavailableError):  # a session that is lost is made again
        raise
    except Exception as error:
        logging.error("Error recorded from %s: %s", loop, error)
        raise
    finally:
        logging.info("%s marked as finished", loop)
