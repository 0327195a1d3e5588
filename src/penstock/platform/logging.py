"""``tf.logging``: messages of the program, on the logger "tensorflow" of the standard library.

Without any configuration a message goes to stderr as ``INFO:tensorflow:text``. As soon as the program gives Python's root logger a handler,
messages go there and only there. ``TF_CPP_MIN_LOG_LEVEL`` silences, as in TensorFlow, what the runtime itself says (`runtime_logger`), not what
the program logs.
"""
from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter
from functools import cache
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL

_LEVELS_OF_CPP = {"0": INFO, "1": WARN, "2": ERROR, "3": FATAL}
_counts: Counter[tuple[str, int]] = Counter()
_counts_lock = threading.Lock()


class _Terminal(logging.Handler):
    """Writes to the stderr of the moment, unless the program has set up logging itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            print(self.format(record), file=sys.stderr, flush=True)


@cache
def _logger(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    handler = _Terminal()
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    logger.addHandler(handler)
    return logger


def get_logger() -> logging.Logger:
    """The logger behind these functions."""
    return _logger("tensorflow")


@cache
def runtime_logger() -> logging.Logger:
    """The logger of Penstock's own runtime, at the level that ``TF_CPP_MIN_LOG_LEVEL`` asks for (0: info ... 3: fatal only)."""
    logger = _logger("penstock")
    logger.setLevel(_LEVELS_OF_CPP.get(os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0").strip(), INFO))
    return logger


def set_verbosity(v: int | str) -> None:
    """Messages below level ``v`` are dropped."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level below which messages are dropped."""
    return get_logger().getEffectiveLevel()


def log(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs ``msg % args`` at ``level``."""
    get_logger().log(level, msg, *args, **{"stacklevel": 2, **kwargs})


def debug(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level DEBUG."""
    get_logger().debug(msg, *args, **{"stacklevel": 2, **kwargs})


def info(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level INFO."""
    get_logger().info(msg, *args, **{"stacklevel": 2, **kwargs})


def warning(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level WARN."""
    get_logger().warning(msg, *args, **{"stacklevel": 2, **kwargs})


warn = warning


def error(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level ERROR."""
    get_logger().error(msg, *args, **{"stacklevel": 2, **kwargs})


def fatal(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level FATAL. The program goes on."""
    get_logger().critical(msg, *args, **{"stacklevel": 2, **kwargs})


def vlog(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at a numeric level of the standard library."""
    get_logger().log(level, msg, *args, **{"stacklevel": 2, **kwargs})


def log_if(level: int, msg: object, condition: Any, *args: Any) -> None:
    """Logs if ``condition`` holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_every_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Logs the first, the n+1st, the 2n+1st ... time that this line of the program is reached."""
    if _times_here() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Logs the first ``n`` times that this line of the program is reached."""
    if _times_here() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def _times_here() -> int:
    """How often the caller's caller was at its present line before."""
    frame = sys._getframe(2)
    place = frame.f_code.co_filename, frame.f_lineno
    with _counts_lock:
        _counts[place] += 1
        return _counts[place] - 1


def TaskLevelStatusMessage(msg: object) -> None:
    """Logs at level ERROR."""
    get_logger().error(msg, stacklevel=2)


def flush() -> None:
    """Messages are written at once: what a program's own handlers hold back is flushed."""
    for handler in [*get_logger().handlers, *logging.getLogger().handlers]:
        handler.flush()
