"""TensorFlow's MasterService: recorded conversations of real clients, what such clients may not do, and who is let in.

`tests/interop/` has the live clients; the recordings in ``data/`` are what TensorFlow 1.15 and 2.21 sent there, run for 3 steps.
"""
from __future__ import annotations

import base64
import json
import logging
import os
import random
import threading
import time
from pathlib import Path

import grpc
import numpy as np
import pytest
from tensorboard.compat.proto.config_pb2 import CallableOptions

import penstock as tf
from penstock.distributed import foreign_doors, grpc_foreign
from penstock.distributed.master_proto import REQUESTS, RESPONSES
from penstock.distributed.server import Server
from penstock.graph.tensor_proto import array_to_proto, proto_to_array

DATA = Path(__file__).with_name("data")
PATH = "/tensorflow.MasterService/"


@pytest.fixture(autouse=True)
def no_secret(monkeypatch):
    for name in ("PENSTOCK_CLUSTER_SECRET", "PENSTOCK_FOREIGN_PORT", "PENSTOCK_FOREIGN_FILES"):
        monkeypatch.delenv(name, raising=False)


class Client:
    """Calls a server as TensorFlow's C++ does."""

    def __init__(self, server: Server, port: int = 0) -> None:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port or server.target.rpartition(':')[2]}",
                                              options=[("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", -1),
                                                       ("grpc.max_receive_message_length", -1)])
        self.session = ""

    def raw(self, method: str, request: bytes) -> bytes:
        return self._channel.unary_unary(PATH + method)(request, timeout=20)

    def call(self, method: str, **fields):
        request = REQUESTS[method](**fields)
        if self.session and "session_handle" in request.DESCRIPTOR.fields_by_name and not request.session_handle:
            request.session_handle = self.session
        response = RESPONSES[method].FromString(self.raw(method, request.SerializeToString()))
        if method == "CreateSession":
            self.session = response.session_handle
        return response

    def run(self, *fetch, **feeds):
        response = self.call("RunStep", fetch=fetch, store_errors_in_response_body=True,
                             feed=[{"name": name.replace("_", ":"), "tensor": array_to_proto(np.asarray(value))} for name, value in feeds.items()])
        return response.status_code, response.status_error_message, [proto_to_array(item.tensor) for item in response.tensor]

    def close(self):
        self._channel.close()


@pytest.fixture
def server():
    server = Server.create_local_server()
    yield server
    server.stop()


@pytest.fixture
def client(server):
    client = Client(server)
    yield client
    client.close()


@pytest.mark.parametrize("recording", sorted(DATA.glob("*_client.json")), ids=lambda path: path.stem)
def test_a_recorded_conversation(client, recording):
    """Every request is answered; the training goes on as it did when it was recorded."""
    losses, refused = [], []
    partial = ""
    for method, data, *_ in json.loads(recording.read_text()):
        request = REQUESTS[method].FromString(base64.b64decode(data))
        if "session_handle" in request.DESCRIPTOR.fields_by_name:
            request.session_handle = client.session
        if method == "RunStep" and request.partial_run_handle:
            request.partial_run_handle = partial
        response = RESPONSES[method].FromString(client.raw(method, request.SerializeToString()))
        if method == "CreateSession":
            client.session = response.session_handle
        elif method == "PartialRunSetup":
            partial = response.partial_run_handle
        elif method == "ListDevices":
            assert [device.name for device in response.local_device] == ["/job:local/replica:0/task:0/device:CPU:0"]
        elif method == "RunStep" and response.status_code:
            refused.append(response.status_code)
        elif method == "RunStep" and request.target and request.fetch:
            losses.append(float(proto_to_array(response.tensor[0].tensor)))
    assert refused == [tf.errors.PERMISSION_DENIED, tf.errors.INVALID_ARGUMENT]
    assert len(losses) == 3 and losses[0] > losses[1] > losses[2]


def graph():
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.add(x, 1.0, name="y")
        tf.read_file("/etc/hostname", name="read")
        tf.py_func(lambda: np.float32(1), [], tf.float32, name="python")
        tf.cond(tf.constant(True), lambda: tf.read_file("/etc/hostname"), lambda: tf.constant("x"), name="hidden")
        tf.add(1.0, 1.0, name="harmless")
    return made.as_graph_def()


def test_callables(client):
    client.call("CreateSession", graph_def=graph())
    handle = client.call("MakeCallable", options=CallableOptions(feed=["x:0"], fetch=["y:0"])).handle
    for values in ([1.0], [2.0, 3.0]):
        got = client.call("RunCallable", handle=handle, feed=[array_to_proto(np.array(values, np.float32))]).fetch
        np.testing.assert_array_equal(proto_to_array(got[0]), np.array(values, np.float32) + 1)
    client.call("ReleaseCallable", handle=handle)
    with pytest.raises(grpc.RpcError) as caught:
        client.call("RunCallable", handle=handle)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_files_and_python_are_out_of_reach(client, monkeypatch):
    client.call("CreateSession", graph_def=graph())
    for fetch in ("read:0", "python:0", "hidden/Merge:0"):
        code, text, _ = client.run(fetch)
        assert code == tf.errors.PERMISSION_DENIED and "without the cluster's secret" in text, fetch
    assert client.run("harmless:0")[2] == [2.0]
    monkeypatch.setenv("PENSTOCK_FOREIGN_FILES", "1")
    assert client.run("read:0")[0] == 0 and client.run("python:0")[0] == tf.errors.PERMISSION_DENIED


def test_clusters_are_not_theirs_to_bring(server, client):
    """The server would call the addresses that they name."""
    config = tf.ConfigProto()
    config.cluster_def.job.add(name="worker", tasks={0: server.target.removeprefix("grpc://"), 1: "127.0.0.1:9"})
    with pytest.raises(grpc.RpcError) as refusal:
        client.call("CreateSession", graph_def=graph(), config=config)
    assert refusal.value.code() is grpc.StatusCode.PERMISSION_DENIED and "cluster_def" in refusal.value.details()


def test_errors_name_the_node_and_no_line_of_the_server(client):
    with tf.Graph().as_default() as made:
        tf.check_numerics(tf.placeholder_with_default(np.float32(np.inf), []), "too large", name="scope/check")
    client.call("CreateSession", graph_def=made.as_graph_def())
    code, text, _ = client.run("scope/check:0")
    assert code == tf.errors.INVALID_ARGUMENT and "too large" in text and text.endswith("[[{{node scope/check}}]]") and "made at" not in text


def test_strings_come_out_of_queues(client):
    with tf.Graph().as_default() as made:
        queue = tf.FIFOQueue(3, tf.string, [[]])
        queue.enqueue("word", name="put")
        queue.dequeue(name="get")
    client.call("CreateSession", graph_def=made.as_graph_def())
    client.call("RunStep", target=["put"])
    assert client.run("get:0")[2] == [b"word"]


def test_every_op_that_opens_files_says_so():
    from penstock.graph.opdef import REGISTRY

    telling = {name for name, definition in REGISTRY.items() if definition.touches}
    assert {"ReadFile", "WriteFile", "MatchingFiles", "SaveV2", "RestoreV2", "MergeV2Checkpoints", "TFRecordReaderV2", "WholeFileReaderV2",
            "TextLineDataset", "TFRecordDataset", "InitializeTableFromTextFileV2", "PyFunc", "PyFuncStateless", "PrintV2"} <= telling
    assert not {"Add", "VariableV2", "QueueDequeueV2", "Print"} & telling


@pytest.mark.parametrize("secret", ["open sesame, open sesame", ""], ids=["cluster", "user"])
def test_a_port_for_foreign_clients(monkeypatch, caplog, secret):
    """A secret keeps them out, but for those of the user himself; a port of its own lets them in, with requests of more than the tasks' pieces."""
    monkeypatch.setenv("PENSTOCK_CLUSTER_SECRET", secret)
    monkeypatch.setenv("PENSTOCK_FOREIGN_PORT", "0")
    monkeypatch.setattr(foreign_doors, "is_own_user", lambda peer, port: False)
    with caplog.at_level(logging.WARNING, logger="tensorflow.server"):
        server = Server.create_local_server()
        refused, welcome = Client(server), Client(server, server._listener.foreign.port)
        with pytest.raises(grpc.RpcError) as caught:
            refused.call("CreateSession", graph_def=graph())
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED and "PENSTOCK_FOREIGN_PORT" in caught.value.details()
        assert "refused CreateSession" in caplog.text
    welcome.call("CreateSession", graph_def=graph())
    large = np.ones(1 << 20, np.float32)
    np.testing.assert_array_equal(welcome.run("y:0", x_0=large)[2], [large + 1])
    refused.close(), welcome.close(), server.stop()


def test_the_port_must_be_one(monkeypatch):
    monkeypatch.setenv("PENSTOCK_FOREIGN_PORT", "yes")
    with pytest.raises(tf.errors.InvalidArgumentError, match="should be a port"):
        Server.create_local_server()


def test_requests_at_the_port_of_the_task_are_small(client):
    client.call("CreateSession", graph_def=graph())
    with pytest.raises(grpc.RpcError) as caught:
        client.run("y:0", x_0=np.ones(1 << 20, np.float32))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert client.run("harmless:0")[2] == [2.0]


def test_calls_are_counted(server, client, monkeypatch):
    """So many at a time: one more is refused, and nothing of it is read."""
    with tf.Graph().as_default() as made:
        tf.FIFOQueue(1, tf.float32, [[]]).dequeue(name="never")
        tf.constant(1.0, name="one")
    client.call("CreateSession", graph_def=made.as_graph_def())
    calls = server._listener.foreign.at_task._calls
    for _ in range(grpc_foreign.MAX_CALLS - 1):
        assert calls.acquire(blocking=False)
    assert client.run("one:0")[2] == [1.0], "there is one place left"
    calls.acquire()
    with pytest.raises(grpc.RpcError) as caught:
        client.run("one:0")
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "try again" in caught.value.details()


def test_bytes_in_work_are_counted(server, client, monkeypatch):
    """A request is not read before those in work leave room for it."""
    monkeypatch.setattr(grpc_foreign, "MAX_BYTES", 1000)
    monkeypatch.setattr(grpc_foreign, "READ_PATIENCE", 0.3)
    with tf.Graph().as_default() as made:
        tf.placeholder(tf.float32, name="x")
        queue = tf.FIFOQueue(1, tf.float32, [[]], shared_name="bytes_in_work")
        queue.dequeue(name="waits")
        tf.constant(1.0, name="one")
    client.call("CreateSession", graph_def=made.as_graph_def())
    large = REQUESTS["RunStep"](session_handle=client.session, fetch=["waits:0"],
                                feed=[{"name": "x:0", "tensor": array_to_proto(np.ones(500, np.float32))}]).SerializeToString()
    waiting = client._channel.unary_unary(PATH + "RunStep").future(large, timeout=20)
    calls = server._listener.foreign.at_task
    while calls._bytes < len(large):
        time.sleep(0.01)
    with pytest.raises(grpc.RpcError) as caught:
        client.run("one:0")
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "try again" in caught.value.details()
    waiting.cancel()
    while calls._bytes:
        time.sleep(0.01)
    assert client.run("one:0")[2] == [1.0]


def test_a_request_that_does_not_come(server, monkeypatch):
    monkeypatch.setattr(grpc_foreign, "READ_PATIENCE", 0.5)  # and the server looks once a second
    over = threading.Event()

    def nothing():
        over.wait(20)
        yield from ()

    with grpc.insecure_channel(server.target.removeprefix("grpc://")) as channel:
        call = channel.stream_unary(PATH + "RunStep").future(nothing())
        assert call.exception(timeout=20).code() is grpc.StatusCode.CANCELLED
        over.set()


def test_garbage(client, caplog):
    chance = random.Random(0)
    client.call("CreateSession", graph_def=graph())
    good = REQUESTS["RunStep"](session_handle=client.session, fetch=["harmless:0"]).SerializeToString()
    for number in range(60):
        method = chance.choice(sorted(REQUESTS.keys() - {"Reset", "CloseSession"}))
        data = bytearray(good if number % 2 else os.urandom(chance.randrange(200)))
        for _ in range(3):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            client.raw(method, bytes(data))
        except grpc.RpcError as error:
            assert error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED), error
    assert client.run("harmless:0")[2] == [2.0]
