"""The file of a cached dataset: blocks of elements with equal shapes, stacked.

A block is a record that tells how many components follow, and two records for each of them: its type and shape, and its elements as they are in
memory. Strings are all lengths, as int64, and then all bytes. The records are those of TFRecord files, so damage is noticed.
"""
from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from penstock.codec.library import functions
from penstock.codec.object_memory import DATA
from penstock.codec.objects import strings_of
from penstock.errors import invalid_argument
from penstock.graph.dtypes import as_dtype
from penstock.platform.records import RecordReader, frame

Block = tuple[Any, ...]


def write_block(file: BinaryIO, components: Block) -> None:
    """Adds some elements to a file."""
    file.write(frame(len(components).to_bytes(4, "little")))
    for component in map(np.asarray, components):
        file.write(frame(json.dumps([as_dtype(component.dtype).name, component.shape]).encode()))
        file.write(frame(_string_data(component) if component.dtype == object else component.tobytes()))


def _string_data(strings: np.ndarray) -> bytes:
    items = strings.reshape(-1).tolist()
    if any(type(item) is not bytes for item in items):
        raise invalid_argument("only numbers and strings can be cached in a file", "cache() without a file name keeps elements in memory")
    return np.array(list(map(len, items)), np.int64).tobytes() + b"".join(items)


def read_blocks(path: str) -> Iterator[Block]:
    """The blocks of a file."""
    with open(path, "rb") as file:
        records = iter(RecordReader(file))
        for header in records:
            yield tuple([_component(next(records), next(records)) for _ in range(int.from_bytes(header, "little"))])


def _component(description: bytes, data: bytes) -> np.ndarray:
    name, shape = json.loads(description)
    dtype = as_dtype(name).np
    return _strings(data, tuple(shape)) if dtype.hasobject else np.frombuffer(bytearray(data), dtype).reshape(shape)


def _strings(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    ends = 8 * count + np.cumsum(np.frombuffer(data, np.int64, count))
    starts = np.concatenate([[8 * count], ends[:-1]])
    if functions("objects") is not None:
        return strings_of(np.stack([id(data) + DATA + starts, ends - starts], axis=1), shape)
    strings = np.empty(count, object)
    strings[:] = [data[start:end] for start, end in itertools.pairwise([8 * count, *ends.tolist()])]
    return strings.reshape(shape)
