"""Records the next steps of a master as they run: which node ran when on which task, what was received, and by when.

A recorded step runs by the plan that it has anyway, native regions and all, so its numbers are those of any other step; only parts that are quick
have a thread of their own meanwhile. While nothing is recorded, a step asks once whether that is so.
"""
from __future__ import annotations

import threading
import time
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata

Row = list[Any]  # [node, type, start in microseconds since the epoch, length in microseconds, bytes put out, thread]


class Recorder:
    """The recordings of one master."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self.wanted = 0  # steps that are still to be recorded
        self._under_way = 0
        self._steps: list[dict[str, Any]] = []

    def begin(self) -> bool:
        """A step begins; True if it is to be recorded: then ``end`` has to be called."""
        with self._lock:
            if self.wanted <= 0:
                return False
            self.wanted -= 1
            self._under_way += 1
            return True

    def end(self, session: str, metadata: RunMetadata | None) -> None:
        """A recorded step has ended; without metadata it failed."""
        with self._lock:
            self._under_way -= 1
            if metadata is not None:
                self._steps.append({"session": session, "devices": {device.device: [_row(node) for node in device.node_stats]
                                                                    for device in metadata.step_stats.dev_stats}})
            self._lock.notify_all()

    def record(self, steps: int, seconds: float) -> list[dict[str, Any]]:
        """Waits until so many steps have been recorded, or the time is over. Two who ask at the same time get each other's steps, too."""
        end = time.monotonic() + seconds
        with self._lock:
            if not self.wanted and not self._under_way:
                self._steps = []
            self.wanted = max(self.wanted, steps)
            while (self.wanted or self._under_way) and time.monotonic() < end:
                self._lock.wait(max(0.0, end - time.monotonic()))
            self.wanted = 0
            return self._steps[:steps]


def _row(node: Any) -> Row:
    kind = node.timeline_label.partition(" = ")[2].partition("(")[0]
    size = sum(output.tensor_description.allocation_description.requested_bytes for output in node.output)
    return [node.node_name, kind, node.all_start_micros, node.all_end_rel_micros, size, node.thread_id]
