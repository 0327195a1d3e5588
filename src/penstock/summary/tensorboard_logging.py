"""``tensorflow.python.training.tensorboard_logging``: messages that go to the log and, as events, to a summary writer."""
from __future__ import annotations

import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, LogMessage

from penstock.platform import logging

DEBUG, INFO, WARN, ERROR, FATAL = LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_EVENT_LEVELS = {DEBUG: LogMessage.DEBUGGING, INFO: LogMessage.INFO, WARN: LogMessage.WARN, ERROR: LogMessage.ERROR, FATAL: LogMessage.FATAL}
_UNSET = object()  # None says that no writer is wanted
_state: dict[str, Any] = {"verbosity": WARN, "writer": _UNSET}


def get_verbosity() -> str:
    """The level below which messages are not written as events."""
    return str(_state["verbosity"])


def set_verbosity(verbosity: str) -> None:
    """Messages below this level are not written as events."""
    _state["verbosity"] = _check(verbosity)


def _check(level: str) -> str:
    if level not in LEVELS:
        raise ValueError(f"Level {level} is not a valid tensorboard_logging level")
    return level


def set_summary_writer(summary_writer: Any) -> None:
    """The writer that gets the events; None for none."""
    _state["writer"] = summary_writer


def _clear_summary_writer() -> None:
    _state["writer"] = _UNSET


def log(level: str, message: str, *args: Any) -> None:
    """Logs ``message % args``; as an event too, if the level is high enough."""
    writer = _state["writer"]
    if writer is _UNSET:
        raise RuntimeError("Must call set_summary_writer before doing any logging from tensorboard_logging")
    rank = LEVELS.index(_check(level))
    if rank >= LEVELS.index(_state["verbosity"]) and writer is not None:
        writer.add_event(Event(wall_time=time.time(), log_message=LogMessage(level=_EVENT_LEVELS[level], message=message % args)))
    logging.log(getattr(logging, level), message, *args)


def debug(message: str, *args: Any) -> None:
    """Logs at level DEBUG."""
    log(DEBUG, message, *args)


def info(message: str, *args: Any) -> None:
    """Logs at level INFO."""
    log(INFO, message, *args)


def warn(message: str, *args: Any) -> None:
    """Logs at level WARN."""
    log(WARN, message, *args)


def error(message: str, *args: Any) -> None:
    """Logs at level ERROR."""
    log(ERROR, message, *args)


def fatal(message: str, *args: Any) -> None:
    """Logs at level FATAL."""
    log(FATAL, message, *args)
