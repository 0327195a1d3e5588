"""Event files, read back."""
from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event

from penstock.errors import DataLossError
from penstock.platform.records import RecordReader


def summary_iterator(path: str) -> Iterator[Event]:
    """``tf.train.summary_iterator``: the events of a file, in order; DataLossError where it is damaged."""
    with open(path, "rb") as file:
        reader = RecordReader(file)
        for record in reader:
            try:
                yield Event.FromString(record)
            except DecodeError as error:
                raise DataLossError(None, None, f"{path}: the record before byte {reader.offset} holds no event ({error})") from None


def scalar_results(path: str) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, {tag: number}) of each event in a file that has numbers."""
    for event in summary_iterator(path):
        numbers = {value.tag: value.simple_value for value in event.summary.value if value.WhichOneof("value") == "simple_value"}
        if numbers:
            yield event.step, numbers
