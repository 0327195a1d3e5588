"""Event files, read back."""
from __future__ import annotations

from collections.abc import Iterator

from tensorboard.compat.proto.event_pb2 import Event

from penstock.platform.records import RecordReader


def summary_iterator(path: str) -> Iterator[Event]:
    """``tf.train.summary_iterator``: the events of a file, in order."""
    with open(path, "rb") as file:
        for record in RecordReader(file):
            yield Event.FromString(record)
