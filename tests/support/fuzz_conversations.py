"""Corpus of the fuzzer, second part: what arrives over the network. Frames between tasks, and requests of TensorFlow's clients.

A corpus file is a conversation that was recorded; it is played to a task that is made for it, in this process. A request is answered, or refused by
an error of a proper class: InternalError, which stands for an unexpected exception, is a failure. Names of sessions and parts in a
recording are replaced by those of the task that it is played to.
"""
from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

import penstock as tf
from penstock.distributed.foreign import ForeignMaster
from penstock.distributed.master_proto import REQUESTS, RESPONSES
from penstock.distributed.messages import Message, decode, encode, error_from
from penstock.distributed.service import Service
from penstock.distributed.wire import OPEN, Splitter, header
from penstock.session.backend import step_options
from penstock.session.fetches import Fetches
from penstock.session.remote import RemoteBackend
from support.cluster import LocalCluster

TASK = "/job:worker/replica:0/task:0"
RECORDINGS = Path(__file__).parents[1] / "distributed" / "data"
PATIENCE = 20.0  # seconds for one answer
STEP = 1000  # milliseconds for one step: loops may have no end
HANDLES = ("session", "handle")
CLIENTS = ("tensorflow1_client", "tensorflow2_client")
SEPARATOR = b"\n#request "


class Caller:
    """Takes an answer."""

    def __init__(self) -> None:
        self.connection, self.answer, self._answered = self, Message("none"), threading.Event()

    def part(self, message: Message) -> None:
        """Nothing is done with it."""

    def reply(self, message: Message) -> None:
        self.answer = message
        self._answered.set()

    def on_gone(self, callback: Any) -> None:
        """It never goes."""

    on_lost = on_more = on_gone

    def wait(self) -> Message:
        """The answer; raises the error that it is."""
        if not self._answered.wait(PATIENCE):
            raise TimeoutError("no answer")
        if self.answer.method == "error":
            raise error_from(self.answer.fields)
        return self.answer


@contextlib.contextmanager
def _task() -> Iterator[Service]:
    """The service of a new task."""
    cluster = LocalCluster({"worker": 1})
    try:
        yield cluster.network._services[TASK]
    finally:
        cluster.kill(TASK)


# --- frames between tasks --------------------------------------------------------------------------------------------

def _asked(service: Service, message: Message) -> Message:
    caller = Caller()
    service.handle(message, caller)
    return caller.wait()


def record_frames(graph: tf.Graph, path: Path) -> None:
    """What a client's session sends to its task, as frames."""
    messages: list[bytes] = []

    def call(message: Message, timeout: float | None = None) -> Message:
        reply = _asked(service, message)
        messages.append(b"".join(encode(Message(message.method, {**message.fields, **dict.fromkeys(HANDLES & message.fields.keys(), "?")},
                                                message.blobs, message.tensors))))
        return reply

    with _task() as service, graph.as_default():
        backend = RemoteBackend(SimpleNamespace(call=call, wait_for=call, close=lambda: None), graph, tf.ConfigProto())
        for fetch, feeds in ((tf.global_variables_initializer(), {}), ("out:0", {graph.get_tensor_by_name("x:0"): np.ones((2, 4), np.float32)})):
            backend.run(Fetches(graph, fetch), feeds, step_options(None, True))
        backend.close()
    path.write_bytes(b"".join(header(OPEN, number + 1, len(data)) + data for number, data in enumerate(messages)))


def play_frames(path: Path) -> None:
    """Plays frames to a new task: all of them, until one is refused."""
    with _task() as service:
        handles: dict[str, str] = {}
        for kind, _, _, payload in Splitter().feed((path / "frames").read_bytes()):
            message = decode(payload)
            message.fields.update({key: handles[key] for key in HANDLES if message.fields.get(key) == "?" and key in handles})
            if "timeout_ms" in message.fields:
                message.fields["timeout_ms"] = STEP
            if kind == OPEN:
                handles.update({key: value for key, value in _asked(service, message).fields.items() if key in HANDLES})


# --- TensorFlow's clients --------------------------------------------------------------------------------------------

def record_requests(client: str, folder: Path) -> None:
    """A conversation of ``tests/distributed/data``: for each request a line ``#request METHOD``, then the request."""
    recorded = json.loads((RECORDINGS / f"{client}.json").read_text())
    (folder / "requests").write_bytes(b"".join(SEPARATOR + method.encode() + b"\n" + base64.b64decode(data) for method, data, *_ in recorded))


def play_requests(path: Path) -> None:
    """Plays requests to a new master. An error in one of them does not end the conversation, as it would not for a client."""
    with _task() as service:
        master, handles = ForeignMaster(service.master), {"session_handle": "", "partial_run_handle": ""}
        for request in (path / "requests").read_bytes().split(SEPARATOR)[1:]:
            method, _, data = request.partition(b"\n")
            if master.answers(method.decode("latin-1")):
                _play_request(master, method.decode(), data, handles)


def _play_request(master: ForeignMaster, method: str, data: bytes, handles: dict[str, str]) -> None:
    try:
        request = REQUESTS[method].FromString(data)
        for name, handle in handles.items():
            if getattr(request, name, ""):
                setattr(request, name, handle)
        if method == "RunStep":
            request.options.timeout_in_ms = STEP
        answer = RESPONSES[method].FromString(master.handle(method, request.SerializeToString(), Caller()))
    except DecodeError:
        return
    except tf.errors.InternalError:
        raise
    except tf.errors.OpError as error:
        assert str(error), "an error that says nothing"
        return
    if getattr(answer, "status_code", 0) == tf.errors.INTERNAL:
        raise tf.errors.InternalError(None, None, answer.status_error_message)
    handles.update({name: getattr(answer, name) for name in handles if getattr(answer, name, "")})
