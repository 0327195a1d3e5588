"""Traces of several tasks on one time axis, that of the master.

Each task tells times by the clock of its host, and the clocks of two hosts may be seconds apart. The master knows when it sent a task its part of a
step and when the answer came: what the task did lies in between. If by its own clock it does not, that clock is off, and the trace is
moved by the least that brings it there. The order of cause and effect between master and task is right then, and the error at most the time that
a message takes. Tasks of one host are never moved.
"""
from __future__ import annotations

from typing import Any


def shift_into(begin: int, end: int, earliest: int, latest: int) -> int:
    """By how much to move [begin, end] so that it lies in [earliest, latest]; in its middle if it is too long for that.

    >>> shift_into(20, 30, 10, 40), shift_into(105, 115, 10, 40), shift_into(0, 10, 30, 60), shift_into(0, 100, 10, 40)
    (0, -75, 30, -25)
    """
    if end - begin > latest - earliest:
        return (earliest + latest - begin - end) // 2
    return max(0, earliest - begin) + min(0, latest - end)


def align(step_stats: Any, sent: int, answered: int) -> None:
    """Moves the trace of a task into the time, in microseconds, between the message to it and its answer."""
    nodes = [node for device in step_stats.dev_stats for node in device.node_stats]
    if not nodes:
        return
    begin = min(node.all_start_micros for node in nodes)
    end = max(node.all_start_micros + node.all_end_rel_micros for node in nodes)
    shift = shift_into(begin, end, sent, answered)
    for node in nodes if shift else ():
        node.all_start_micros += shift
