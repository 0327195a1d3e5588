"""Watched tensors go to a debug server, which says what it wants to see and may change values."""
from __future__ import annotations

import json
from concurrent import futures

import grpc
import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event

import penstock as tf
from penstock.debug.tfdbg.hooks import GrpcDebugHook, TensorBoardDebugHook
from penstock.debug.tfdbg.sessions import GrpcDebugWrapperSession, TensorBoardDebugWrapperSession
from penstock.debug.tfdbg.tracebacks import CallTraceback, DebuggedSourceFiles
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.session import watch_grpc
from penstock.session.watch_grpc import READ_ONLY, READ_WRITE, EventReply


class Listener:
    """A debug server: keeps the events of each stream; ``wants``: what it asks for at the beginning of one; ``gives``: values it answers with."""

    def __init__(self):
        self.streams, self.wants, self.gives = [], {}, {}
        self.tracebacks, self.files = [], []

    def listen(self, events, context):
        stream = []
        self.streams.append(stream)
        for event in events:
            stream.append(event)
            if event.log_message.message:
                reply = EventReply()
                for (node, slot), state in self.wants.items():
                    reply.debug_op_state_changes.add(state=state, node_name=node, output_slot=slot, debug_op="DebugIdentity")
                yield reply
            elif event.summary.value:
                node, slot = event.summary.value[0].node_name.rsplit(":", 2)[:2]
                if self.wants.get((node, int(slot))) == READ_WRITE:
                    given = self.gives.get(node)
                    yield EventReply(tensor=None if given is None else array_to_proto(given))

    def values(self, stream=-1):
        """{"node:slot:op": value}, the pieces of large ones put together."""
        found = {}
        for event in self.streams[stream]:
            for value in event.summary.value:
                found.setdefault(value.node_name, []).append(value.tensor)
        for tensors in found.values():
            tensors[0].tensor_content = b"".join(tensor.tensor_content for tensor in tensors)
        return {name: proto_to_array(tensors[0]) for name, tensors in found.items()}


def keeping(messages, kind):
    """A method that keeps the messages that it is sent."""
    return grpc.unary_unary_rpc_method_handler(lambda message, context: messages.append(message) or EventReply(), kind.FromString,
                                               EventReply.SerializeToString)


@pytest.fixture
def listener(monkeypatch):
    monkeypatch.setattr(watch_grpc, "_wanted", {})
    listener = Listener()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    handler = grpc.stream_stream_rpc_method_handler(listener.listen, Event.FromString, EventReply.SerializeToString)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("tensorflow.EventListener", {
        "SendEvents": handler, "SendTracebacks": keeping(listener.tracebacks, CallTraceback),
        "SendSourceFiles": keeping(listener.files, DebuggedSourceFiles)})])
    listener.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield listener
    server.stop(None).wait()


def model():
    x = tf.placeholder(tf.float32, [2], name="x")
    doubled = tf.multiply(x, 2.0, name="doubled")
    return x, tf.add(doubled, 1.0, name="sum")


def test_all_values_are_sent(listener):
    x, total = model()
    with GrpcDebugWrapperSession(tf.Session(), listener.address) as session:
        assert session.run(total, {x: [1.0, 2.0]}).tolist() == [3.0, 5.0]
    [stream] = listener.streams
    core = json.loads(stream[0].log_message.message)
    assert core["input_names"] == ["x:0"] and core["output_names"] == ["sum:0"] and core["grpc_path"] == ""
    assert listener.values()["doubled:0:DebugIdentity"].tolist() == [2.0, 4.0] and listener.values()["sum:0:DebugIdentity"].tolist() == [3.0, 5.0]
    assert all(event.summary.value[0].tensor.tensor_content for event in stream if event.summary.value)  # others are no values to TensorFlow
    name, index, count, graph = stream[-1].graph_def.split(b"|", 3)
    assert name.split(b",")[1].endswith(b"device:CPU:0") and (index, count) == (b"0", b"1")
    assert {"doubled", "sum"} <= {node.name for node in tf.GraphDef.FromString(graph).node}
    device = json.loads(next(event for event in stream if event.summary.value).summary.value[0].metadata.plugin_data.content)
    assert device["device"].endswith("CPU:0") and (device["numChunks"], device["chunkIndex"]) == (1, 0)


def test_a_large_value_comes_in_pieces(listener):
    large = tf.fill([2_000_000], 3.0, name="large")
    with GrpcDebugWrapperSession(tf.Session(), f"grpc://{listener.address}/some/path") as session:
        session.run(tf.reduce_sum(large))
    assert len([event for event in listener.streams[0] if event.summary.value and event.summary.value[0].tag == "large"]) == 4
    np.testing.assert_array_equal(listener.values()["large:0:DebugIdentity"], np.full(2_000_000, 3.0, np.float32))
    assert json.loads(listener.streams[0][0].log_message.message)["grpc_path"] == "some/path"


def test_gated_values_wait_for_the_server_which_may_change_them(listener):
    x, total = model()
    with TensorBoardDebugWrapperSession(tf.Session(), listener.address) as session:
        assert session.run(total, {x: [1.0, 2.0]}).tolist() == [3.0, 5.0]
        assert listener.values() == {}
        listener.wants = {("doubled", 0): READ_WRITE, ("x", 0): READ_ONLY}
        listener.gives = {"doubled": np.array([10.0, 20.0], np.float32)}
        assert session.run(total, {x: [1.0, 2.0]}).tolist() == [11.0, 21.0]
        assert list(listener.values()) == ["doubled:0:DebugIdentity"]
        listener.gives = {}
        assert session.run(total, {x: [1.0, 2.0]}).tolist() == [3.0, 5.0]


def test_lines_and_files_of_the_program(listener):
    x, total = model()
    with TensorBoardDebugWrapperSession(tf.Session(), listener.address) as session:
        session.run(total, {x: [1.0, 2.0]})
        session.run(total, {x: [1.0, 2.0]})
        [call] = listener.tracebacks
        tf.identity(total)
        session.run(total, {x: [1.0, 2.0]})
    assert len(listener.tracebacks) == 2
    assert call.call_type == 1 and json.loads(call.call_key) == [["x:0"], ["sum:0"]]
    origin = [(call.origin_id_to_string[trace.file_id], call.origin_id_to_string[trace.line_id]) for trace in call.origin_stack.traces]
    assert (__file__, "session.run(total, {x: [1.0, 2.0]})") in origin
    strings = call.graph_traceback.id_to_string
    [made] = [entry for entry in call.graph_traceback.log_entries if entry.name == "sum"]
    assert (__file__, "model") in [(strings[trace.file_id], strings[trace.function_id]) for trace in made.code_def.traces]
    mine = next(file for sent in listener.files for file in sent.source_files if file.file_path == __file__)
    assert mine.lines[made.code_def.traces[-1].lineno - 1].strip() == 'return x, tf.add(doubled, 1.0, name="sum")'


def test_lines_are_not_sent_if_that_is_not_wanted(listener):
    x, total = model()
    with TensorBoardDebugWrapperSession(tf.Session(), listener.address, send_traceback_and_source_code=False) as session:
        session.run(total, {x: [1.0, 2.0]})
    assert not listener.tracebacks and len(listener.streams) == 1


def test_lines_in_a_monitored_session(listener):
    x, total = model()
    with tf.train.MonitoredSession(hooks=[TensorBoardDebugHook(listener.address)]) as session:
        session.run(total, {x: [1.0, 2.0]})
    assert listener.tracebacks[0].graph_version == tf.get_default_graph().version


def test_in_a_monitored_session(listener):
    x, total = model()
    with tf.train.MonitoredSession(hooks=[GrpcDebugHook(listener.address)]) as session:
        session.run(total, {x: [1.0, 2.0]})
    assert "sum:0:DebugIdentity" in listener.values()


def test_no_server(monkeypatch):
    monkeypatch.setattr(watch_grpc, "_PATIENCE", 0.6)
    x, total = model()
    with GrpcDebugWrapperSession(tf.Session(), "127.0.0.1:1") as session, pytest.raises(tf.errors.FailedPreconditionError, match="no debug server"):
        session.run(total, {x: [1.0, 2.0]})


@pytest.mark.parametrize("addresses", [None, 5, [5]])
def test_addresses_that_are_none(addresses):
    model()
    with tf.Session() as session, pytest.raises(TypeError, match="Expected type str or list"):
        GrpcDebugWrapperSession(session, addresses)
