"""What both ends of a gRPC connection share: paths, options, and how a large message travels in chunks.

Messages are plain bytes: there is no generated code and no protobuf around tensors. Five methods. ``Call`` takes a
message and returns its reply. ``Upload`` is Call for a message too large for one piece: it arrives in chunks. A reply
that is too large is kept, and the answer is a ticket, with which ``Take`` fetches it in chunks. So tensors have no size
limit, and small messages cost one round trip. ``Watch`` is held open for as long as a connection lives: its end is
noticed at once, and gRPC's pings go on, so that a peer that hangs is lost within ten seconds. Nothing is retried: a
request is delivered once or not at all.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.distributed.messages import MalformedMessage

PATH = "/penstock.Task/"
TOKEN = "penstock-token"  # the metadata that carries a call's token
INLINE = 8 << 20  # bytes that travel in one piece
TICKET = struct.Struct("<4s16sQ")
TICKET_MAGIC = b"PSKT"
SHARED = "penstock-shared"  # the metadata of a caller that can take replies from shared memory
SHARED_MAGIC = b"PSKF"  # a message that is the name of a shared file, in which the message is
SHARED_MIN = 256 << 10  # bytes from which that is worth it
_CHUNK = 4 << 20
_MAX_MESSAGE = 1 << 40
_SIZE = struct.Struct("<Q")
_SHARED_OPTIONS = [
    ("grpc.keepalive_time_ms", 3000), ("grpc.keepalive_timeout_ms", 4000), ("grpc.http2.ping_timeout_ms", 4000),
    ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", INLINE + (1 << 20)), ("grpc.max_send_message_length", INLINE + (1 << 20))]
CLIENT_OPTIONS = [
    *_SHARED_OPTIONS, ("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 200), ("grpc.min_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 1000)]
SERVER_OPTIONS = [
    *_SHARED_OPTIONS, ("grpc.http2.min_ping_interval_without_data_ms", 500), ("grpc.http2.max_ping_strikes", 0), ("grpc.so_reuseport", 0)]


def chunks_of(buffers: Iterable[Any]) -> Iterator[bytes]:
    """The bytes of a message in pieces, the size of all in front."""
    buffers = list(buffers)
    yield _SIZE.pack(sum(len(buffer) for buffer in buffers))
    for buffer in buffers:
        view = memoryview(buffer)
        for start in range(0, len(view), _CHUNK):
            yield bytes(view[start:start + _CHUNK])


def assemble(chunks: Iterator[bytes]) -> Any:
    """The bytes that ``chunks_of`` took apart. Pages of the buffer are only touched as data arrives, so a declared size alone costs nothing."""
    first = next(chunks, b"")
    if len(first) != _SIZE.size or _SIZE.unpack(first)[0] > _MAX_MESSAGE:
        raise MalformedMessage("a message in chunks begins with its size")
    buffer = np.empty(_SIZE.unpack(first)[0], np.uint8)
    position = 0
    for chunk in chunks:
        if position + len(chunk) > len(buffer):
            raise MalformedMessage(f"more than the {len(buffer)} bytes that were declared")
        buffer[position:position + len(chunk)] = np.frombuffer(chunk, np.uint8)
        position += len(chunk)
    if position != len(buffer):
        raise MalformedMessage(f"{position} of the {len(buffer)} bytes that were declared")
    return buffer
