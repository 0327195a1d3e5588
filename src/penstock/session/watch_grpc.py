"""Watched tensors on their way to a debug server: TensorFlow's ``EventListener`` service, as its debugger and TensorBoard 1's had it.

A run is one stream of events: what was fed and fetched, values, at last the graphs. The server may answer with what it wants to see from then on
(READ_ONLY), or to stop at (READ_WRITE): a value of the latter is sent, and the step waits for an answer, which may hold another value to go on with.
What a server wants holds for later runs too. Values that are not gated are all sent.
"""
from __future__ import annotations

import hashlib
import json
import queue
import threading
from collections.abc import Iterator
from typing import Any

import grpc
from tensorboard.compat.proto import tensor_pb2
from tensorboard.compat.proto.event_pb2 import Event

from penstock import errors
from penstock.graph.tensor_proto import proto_to_array
from penstock.platform.proto import messages
from penstock.session.debug_ops import DebugOp

_TEXT = """
message DebugOpStateChange { int32 state = 1; string node_name = 2; int32 output_slot = 3; string debug_op = 4; }
message EventReply { repeated DebugOpStateChange debug_op_state_changes = 1; TensorProto tensor = 2; }
"""
_, EventReply = messages("debug_service.proto", _TEXT, "DebugOpStateChange", "EventReply", package="penstock.debug_service", borrowed=(tensor_pb2,))
DISABLED, READ_ONLY, READ_WRITE = 1, 2, 3
_METHOD = "/tensorflow.EventListener/SendEvents"
_CHUNK = 2 << 20  # bytes of a value or a graph in one event: gRPC takes 4 MB
_PATIENCE = 60.0  # seconds for a server that is to answer
_wanted: dict[str, dict[str, int]] = {}  # address -> what its server wants: "node:slot:op" -> state


class DebugServer:
    """The stream of one run to a server; see ``watches.Sink``."""

    answers = True

    def __init__(self, address: str) -> None:
        host, _, self._path = address.partition("/")
        self._address, self._states = host, _wanted.setdefault(host, {})
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lost: grpc.RpcError | None = None
        self._channel = grpc.insecure_channel(host, [("grpc.enable_http_proxy", 0)])
        try:
            grpc.channel_ready_future(self._channel).result(_PATIENCE / 6)
        except grpc.FutureTimeoutError:
            self._channel.close()
            raise errors.FailedPreconditionError(None, None, f"there is no debug server at grpc://{host}") from None
        send = self._channel.stream_stream(_METHOD, request_serializer=Event.SerializeToString, response_deserializer=EventReply.FromString)
        self._replies = send(self._stream())
        self._reader = threading.Thread(target=self._read, name="penstock-debug-server", daemon=True)
        self._reader.start()

    def core(self, event: Event) -> None:
        """What was fed and fetched. The server may say at once what it wants to see: that is waited for."""
        event.log_message.message = json.dumps({**json.loads(event.log_message.message), "grpc_path": self._path}, separators=(",", ":"))
        self._events.put(event)
        self._answer("what was fed and fetched")

    def value(self, device: str, node: str, slot: int, debug_op: DebugOp, event: Event) -> Any:
        """Sends a value, in pieces if it is large; the one to go on with, if the server stops here and gives another."""
        state = self._states.get(f"{node}:{slot}:{debug_op.name}", DISABLED if debug_op.gated else READ_ONLY)
        if state == DISABLED:
            return None
        pieces = _pieces(event)
        for index, piece in enumerate(pieces):
            plugin = piece.summary.value[0].metadata.plugin_data
            plugin.plugin_name = "debugger"
            plugin.content = json.dumps({"device": device, "outputSlot": slot, "numChunks": len(pieces), "chunkIndex": index}).encode()
            self._events.put(piece)
        if state != READ_WRITE:
            return None
        reply = self._answer(f"{node}:{slot}, at which it wants to stop")
        return proto_to_array(reply.tensor) if reply.HasField("tensor") else None

    def graph(self, device: str, event: Event) -> None:
        """The nodes that ran on a device, in pieces."""
        content = event.graph_def
        name = f"{hashlib.blake2b(content, digest_size=8).hexdigest()},{device},{int(event.wall_time)}"
        parts = [content[start:start + _CHUNK] for start in range(0, len(content), _CHUNK)]
        for index, part in enumerate(parts):
            self._events.put(Event(wall_time=event.wall_time, graph_def=f"{name}|{index}|{len(parts)}|".encode() + part))

    def close(self) -> None:
        """Waits until the server has taken everything."""
        self._events.put(None)
        self._reader.join(_PATIENCE)
        self._channel.close()
        if self._lost is not None:
            raise errors.UnavailableError(None, None, f"the debug server at grpc://{self._address} was lost: {self._lost.details()}")

    def _stream(self) -> Iterator[Event]:
        while (event := self._events.get()) is not None:
            yield event

    def _read(self) -> None:
        try:
            for reply in self._replies:
                for change in reply.debug_op_state_changes:
                    self._states[f"{change.node_name}:{change.output_slot}:{change.debug_op}"] = change.state
                self._answers.put(reply)
        except grpc.RpcError as error:
            self._lost = error
        self._answers.put(None)

    def _answer(self, what: str) -> Any:
        try:
            reply = self._answers.get(timeout=_PATIENCE)
        except queue.Empty:
            raise errors.DeadlineExceededError(None, None, f"no answer from the debug server at grpc://{self._address} to {what}") from None
        if reply is None:
            raise errors.UnavailableError(None, None, f"the debug server at grpc://{self._address} was lost")
        return reply


def _pieces(event: Event) -> list[Event]:
    """An event whose value has at most ``_CHUNK`` bytes, or several."""
    content = event.summary.value[0].tensor.tensor_content
    if len(content) <= _CHUNK:
        return [_copy(event)]
    pieces = []
    for start in range(0, len(content), _CHUNK):
        piece = _copy(event)
        piece.summary.value[0].tensor.tensor_content = content[start:start + _CHUNK]
        pieces.append(piece)
    return pieces


def _copy(event: Event) -> Event:
    copy = Event()
    copy.CopyFrom(event)
    return copy
