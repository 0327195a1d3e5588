"""``tf.compat.v2.summary``: summaries of TensorFlow 2, which take their step and are recorded whenever there is a writer."""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib import summary
from penstock.contrib.summary import SummaryWriter as SummaryWriter
from penstock.contrib.summary import flush as flush


class _ThreadSettings(threading.local):
    """Of this thread: the default step, and the condition of `record_if`."""

    value: Any = None
    condition: Any = None


_state = _ThreadSettings()


def create_file_writer(logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None,
                       name: str | None = None) -> SummaryWriter:
    """A writer of event files below ``logdir``; ``as_default()`` makes it that of the summaries in a block."""
    return summary.create_file_writer(logdir, max_queue, flush_millis, filename_suffix, name)


class experimental:
    """``tf.compat.v2.summary.experimental``: the default step."""

    @staticmethod
    def get_step() -> Any:
        """The step of summaries that are not given one, or None."""
        return _state.value

    @staticmethod
    def set_step(step: Any) -> None:
        """Sets the step of summaries that are not given one."""
        _state.value = step


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Summaries in the block are recorded if ``condition``, or what it returns, is true."""
    before, _state.condition = _state.condition, condition
    try:
        yield
    finally:
        _state.condition = before


def _write(function: Callable[..., Any], name: str, data: Any, step: Any, **options: Any) -> Any:
    step = _state.value if step is None else step
    if step is None:
        raise ValueError("No step set via 'step' argument or via tf.summary.experimental.set_step()")
    condition = _state.condition() if callable(_state.condition) else _state.condition
    if condition is False:
        return tf.constant(False)
    with summary.always_record_summaries():
        if condition is None or condition is True:
            return function(name, data, step=tf.cast(step, tf.int64), **options)
        write = functools.partial(function, name, data, step=tf.cast(step, tf.int64), **options)
        return tf.cond(condition, lambda: _truth(write()), lambda: tf.constant(False))


def _truth(written: Any) -> Any:
    with tf.control_dependencies([written]):
        return tf.constant(True)


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """A number."""
    return _write(summary.scalar, name, tf.cast(data, tf.float32), step)


def histogram(name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None) -> Any:
    """The distribution of numbers."""
    return _write(summary.histogram, name, data, step)


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> Any:
    """Images: [k, height, width, channels]."""
    return _write(summary.image, name, data, step, max_images=max_outputs)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Text, as TensorBoard's plugin shows it."""
    return _write(summary.generic, name, data, step)


def audio(name: str, data: Any, sample_rate: Any, step: Any = None, max_outputs: int = 3, encoding: str | None = None,
          description: str | None = None) -> Any:
    """Sounds: [k, samples, channels] between -1 and 1. They are written as WAV, the one ``encoding`` that there is."""
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    return _write(summary.audio, name, data, step, sample_rate=tf.cast(sample_rate, tf.float32), max_outputs=max_outputs)


def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None) -> Any:
    """A whole tensor, with metadata for a plugin of TensorBoard."""
    return _write(summary.generic, tag, tensor, step, metadata=metadata)
