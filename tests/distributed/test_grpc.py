"""Servers over gRPC in this process, called through the network: large tensors, strings, garbage, secrets, stopping."""
from __future__ import annotations

import logging
import os
import queue
import socket
import threading
import time

import grpc
import numpy as np
import pytest

import penstock as tf
from penstock.distributed import client, master, strangers, unix_sockets
from penstock.distributed.grpc_common import CONNECT
from penstock.distributed.link import Link
from penstock.distributed.messages import MalformedMessage, Message
from penstock.distributed.security import Access, Greeting, cluster_secret
from penstock.distributed.server import Server, in_process
from penstock.distributed.transport_grpc import GrpcTransport
from penstock.distributed.user_secret import user_secret
from penstock.distributed.wire import OPEN, header
from support.cluster import PATIENCE, free_ports

SECRET = "PENSTOCK_CLUSTER_SECRET"


@pytest.fixture(autouse=True)
def no_secret(monkeypatch):
    monkeypatch.delenv(SECRET, raising=False)


@pytest.fixture
def over_the_network(monkeypatch):
    """Clients of this process do not take the short way."""
    monkeypatch.setattr(client, "in_process", {})


@pytest.fixture
def servers(over_the_network):
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    spec = {"ps": addresses[:1], "worker": addresses[1:]}
    started = [Server(spec, job, 0) for job in spec]
    yield started
    for server in started:
        server.stop()


@pytest.fixture
def server(over_the_network):
    server = Server.create_local_server()
    yield server
    server.stop()


def address(server):
    return server.target.removeprefix("grpc://").replace("localhost", "127.0.0.1")


def alive(server):
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        return session.run(tf.constant(1.0) + 1.0) == 2.0


@pytest.mark.parametrize("one_host", [True, False], ids=["shared", "over the network"])
def test_large_tensors_travel(servers, monkeypatch, one_host):
    """100 MB from the client to the worker, on to the ps, and all the way back: in shared memory, and over the network."""
    if not one_host:
        monkeypatch.setattr(unix_sockets, "connect", lambda name, ticket: None)
    values = np.arange(25_000_000, dtype=np.float32)
    with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/job:ps/task:0"):
            y = x * 2.0
        got, mean = session.run([y, tf.reduce_mean(x)], {x: values})
    assert got.shape == values.shape and got[-1] == 2 * values[-1] and got.flags.writeable
    np.testing.assert_array_equal(got[::100_003], 2 * values[::100_003])
    np.testing.assert_allclose(mean, values.mean(dtype=np.float64), rtol=1e-3)


def test_strings_travel(servers):
    with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
        x = tf.placeholder(tf.string, [None])
        with tf.device("/job:ps/task:0"):
            y = tf.string_join([x, x])
        assert session.run(y, {x: [b"\xff\x00", b"", "ä" * 1000]}).tolist() == [b"\xff\x00" * 2, b"", ("ä" * 2000).encode()]


def test_errors_and_devices(servers):
    with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(1.0, name="v")
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v + 1.0)
        assert [device.name for device in session.list_devices()] == [
            "/job:worker/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:0/device:CPU:0"]
        assert session.sess_str == servers[1].target.encode()


def test_reset(servers):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(1.0, name="v")
        with tf.Session(servers[1].target) as session:
            session.run(v.initializer)
        tf.Session.reset(servers[1].target)
        with tf.Session(servers[1].target) as session, pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)


def test_reset_of_containers(server):
    """Not only of variables."""
    with tf.Graph().as_default():
        with tf.container("one"):
            v, inside = tf.Variable(1.0, name="v"), tf.FIFOQueue(10, tf.float32, shared_name="q")
            table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        other = tf.FIFOQueue(10, tf.float32, shared_name="q")
        assert [op.get_attr("container") for op in (v.op, inside.queue_ref.op, other.queue_ref.op)] == [b"one", b"one", b""]
        sizes = [inside.size(), other.size(), table.size()]
        with tf.Session(server.target) as session:
            session.run([v.initializer, inside.enqueue(1.0), other.enqueue_many([[1.0, 2.0]]), table.insert(["a"], tf.constant([1], tf.int64))])
            assert session.run(sizes) == [1, 2, 1]
        tf.Session.reset(server.target, ["one"])
        with tf.Session(server.target) as session:
            assert session.run(sizes) == [0, 2, 0]
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(v)


def test_a_step_from_another_thread_ends_with_its_session(server):
    with tf.Graph().as_default():
        never = tf.FIFOQueue(1, tf.float32).dequeue()
        session, outcome = tf.Session(server.target), []

        def work():
            try:
                session.run(never)
            except tf.errors.OpError as error:
                outcome.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(0.5)
        session.close()
        thread.join(PATIENCE)
        assert len(outcome) == 1 and isinstance(outcome[0], tf.errors.CancelledError)


# --- what does not belong there --------------------------------------------------------------------------------------

def test_garbage_on_the_port(server):
    host, port = address(server).split(":")
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(512), b"\x00" * 100):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.settimeout(5)
            try:
                connection.sendall(garbage)
                while connection.recv(4096):
                    if garbage[:3] != b"GET":
                        break
            except OSError:
                continue  # the server hung up
    assert alive(server)


def connect(server, *pieces):
    """What a server answers to the first pieces on a connection; the code with which it refuses them."""
    with grpc.insecure_channel(address(server), options=[("grpc.enable_http_proxy", 0)]) as channel, pytest.raises(grpc.RpcError) as caught:
        for _ in channel.stream_stream(CONNECT)(iter(pieces), timeout=5):
            continue
    return caught.value.code()


def befriend(server, frame):
    """The code with which a server ends a connection of a friend that sends this."""
    greeting, proof = Greeting(user_secret().encode()), queue.SimpleQueue()

    def pieces():
        yield greeting.hello()
        yield proof.get()
        yield greeting.seal(b"client").close(frame)

    with grpc.insecure_channel(address(server), options=[("grpc.enable_http_proxy", 0)]) as channel, pytest.raises(grpc.RpcError) as caught:
        call = channel.stream_stream(CONNECT)(pieces(), timeout=5)
        proof.put(greeting.prove(next(call)))
        for _ in call:
            continue
    return caught.value.code()


def test_garbage_in_calls(server, caplog):
    with caplog.at_level(logging.WARNING, logger="tensorflow.server"):
        for first in (b"", b"PSK1" + bytes(16), os.urandom(1000), b"PSK3", b"PSK3" + bytes(17)):
            assert connect(server, first) is grpc.StatusCode.INVALID_ARGUMENT
        assert "refused a connection" in caplog.text and "another version" in caplog.text
        for frame in (b"\xff" * 16, os.urandom(64), bytes(16), header(OPEN, 1, 1 << 60), header(OPEN, 1, 4) + b"PSK1"):
            assert befriend(server, frame) in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN)
        assert "refused a message" in caplog.text
    with grpc.insecure_channel(address(server), options=[("grpc.enable_http_proxy", 0)]) as channel:
        for method in ("/penstock.Task/Other", "/tensorflow.Nothing/X"):
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(method)(b"", timeout=5)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert alive(server)


@pytest.mark.parametrize("message", [
    Message("RunStep"), Message("RunStep", {"session": 3}), Message("RunStep", {"session": "x"}), Message("Nonsense"), Message("CreateSession"),
    Message("CreateSession", {}, [b"\xff\xff"]),
    Message("RegisterGraph", {"session": "s", "fetches": [], "frames": False}, [b"\xff", b""]),
    Message("RegisterGraph", {"session": "s", "fetches": [], "frames": False}, [b"", b"\xff"]),
    Message("RegisterGraph", {"session": "s", "fetches": [], "frames": False}, [b""]),
    Message("RegisterGraph", {"session": "s", "fetches": ["x"], "frames": False}, [b"", b""]),
    Message("RunGraph", {"handle": "x", "step": 1, "timeout_ms": 0, "trace": False, "partition_graphs": False, "master": ""}),
    Message("AbortStep", {"step": 1, "error": {}}),
    Message("RecvTensors", {"step": "1", "receiver": "x"}), Message("Reset", {"containers": [1]})],
    ids=lambda message: message.method)
def test_messages_that_make_no_sense(server, message):
    transport = GrpcTransport(Access.from_environment())
    reply = transport.call(address(server), message, 5.0)
    transport.close()
    assert reply.method == "error"
    assert alive(server)


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("one_host", [True, False], ids=["shared", "over the network"])
def test_a_reader_that_fails_ends_its_connection(server, monkeypatch, caplog, side, one_host):
    """A bug in what reads: the link must not be deaf and stay open. Both sides get an error, it is logged, and the next connection works."""
    if not one_host:
        monkeypatch.setattr(unix_sockets, "connect", lambda name, ticket: None)
    received = Link.received

    def failing(self, kind, number, data):
        if (self._serve is not None) == (side == "server"):
            raise ZeroDivisionError("a bug")
        received(self, kind, number, data)

    with tf.Graph().as_default(), tf.Session(server.target) as session:
        one = tf.constant(1.0)
        session.run(one)
        monkeypatch.setattr(Link, "received", failing)
        with caplog.at_level(logging.ERROR), pytest.raises(tf.errors.UnavailableError):
            session.run(one)
        assert "is given up" in caplog.text
        monkeypatch.setattr(Link, "received", received)
    assert alive(server)


# --- secrets ---------------------------------------------------------------------------------------------------------

def test_the_secret_is_needed(monkeypatch, over_the_network, caplog):
    monkeypatch.setenv(SECRET, "open sesame, open sesame")
    server = Server.create_local_server()
    try:
        assert alive(server)
        for wrong in ("open barley, open barley", ""):
            monkeypatch.setenv(SECRET, wrong)
            with caplog.at_level(logging.WARNING, logger="tensorflow.server"), pytest.raises(tf.errors.UnauthenticatedError, match="secret"):
                alive(server)
        assert "refused a connection" in caplog.text
        monkeypatch.setenv(SECRET, "open sesame, open sesame")
        assert alive(server)
    finally:
        server.stop()


def test_greetings_are_not_repeated():
    client, server = Greeting(b"s"), Greeting(b"s")
    hello = client.hello()
    proof = client.prove(server.answer(hello))
    client.check(server.finish(proof))
    other = Greeting(b"s")
    other.answer(hello)  # an eavesdropper repeats all of it
    with pytest.raises(tf.errors.UnauthenticatedError, match="wrong"):
        other.finish(proof)
    for secret in (b"t", None):
        client, server = Greeting(b"s"), Greeting(secret)
        with pytest.raises(tf.errors.UnauthenticatedError, match="does not know"):
            client.check(Greeting.finish(server, client.prove(server.answer(client.hello()))) if secret is None else bytes(32))
    client, server = Greeting(None), Greeting(b"s")
    with pytest.raises(tf.errors.UnauthenticatedError, match="PENSTOCK_CLUSTER_SECRET"):
        server.finish(client.prove(server.answer(client.hello())))


def test_seals_cover_every_byte_and_the_order():
    client, server = Greeting(b"s"), Greeting(b"s")
    server.finish(client.prove(server.answer(client.hello())))
    pieces = [bytearray(piece) for piece in map(client.seal(b"client").close, (b"one", b"two"))]
    assert bytes(server.seal(b"client").open(pieces[0])) == b"one"
    for position in range(len(pieces[0])):
        forged = bytearray(pieces[0])
        forged[position] ^= 1
        with pytest.raises(MalformedMessage, match="forged"):
            server.seal(b"client").open(forged)
    with pytest.raises(MalformedMessage, match="out of order"):
        server.seal(b"client").open(pieces[1])
    with pytest.raises(MalformedMessage):
        server.seal(b"server").open(pieces[0])  # sent back to where it came from


def test_without_a_secret_only_the_loopback_listens(tmp_path, monkeypatch):
    assert Access().listening_host("ps0.example.com") == "127.0.0.1" == Access(b"s", personal=True).listening_host("ps0.example.com")
    assert Access(b"s").listening_host("localhost") == "127.0.0.1"
    assert Access(b"s").listening_host("ps0.example.com") == "[::]"
    path = tmp_path / "secret"
    path.write_text("hidden, well hidden\n")
    monkeypatch.setenv(SECRET + "_FILE", str(path))
    path.chmod(0o644)
    with pytest.raises(tf.errors.PermissionDeniedError, match="chmod 600"):
        cluster_secret()
    path.chmod(0o600)
    assert cluster_secret() == b"hidden, well hidden"
    monkeypatch.setenv(SECRET, "short enough")
    with pytest.raises(tf.errors.InvalidArgumentError, match="12 bytes, and needs 16"):
        cluster_secret()
    monkeypatch.setenv(SECRET, "")
    assert cluster_secret() == b"hidden, well hidden"
    path.write_text("hidden\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="6 bytes, and needs 16"):
        cluster_secret()
    path.write_text("\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="is empty"):
        cluster_secret()
    path.write_bytes(b"\xff")
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be read"):
        cluster_secret()
    path.unlink()
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        cluster_secret()
    monkeypatch.setenv(SECRET + "_FILE", str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Is a directory"):
        cluster_secret()


def test_the_loopback_of_ipv6(over_the_network):
    assert Access().listening_host("[::1]") == Access(b"s").listening_host("[::1]") == "[::1]"
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = Server({"local": ["[::1]:0"]})
    for host in ("[::1]", "localhost"):
        with tf.Graph().as_default(), tf.Session(f"grpc://{host}:{server.target.rpartition(':')[2]}") as session:
            assert session.run(tf.constant(2.0) * 2.0) == 4.0
    server.stop()


@pytest.fixture
def closed_server(monkeypatch, over_the_network):
    """One that has a secret."""
    monkeypatch.setenv(SECRET, "open sesame, open sesame")
    server = Server.create_local_server()
    yield server
    server.stop()


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_strangers_may_not_say_much(closed_server, compression):
    """A client that has not shown the secret cannot make the server take more than a piece, be it as one message or by compression."""
    large, piece = bytes(8 << 20), bytes(1 << 20)
    codes = {}
    with grpc.insecure_channel(address(closed_server), compression=compression, options=[
            ("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", -1)]) as channel:
        for name, call in {"hello": lambda data: list(channel.stream_stream(CONNECT)(iter([data]), timeout=PATIENCE)),
                           "proof": lambda data: list(channel.stream_stream(CONNECT)(iter([Greeting(None).hello(), data]), timeout=PATIENCE)),
                           "session": lambda data: channel.unary_unary("/tensorflow.MasterService/CreateSession")(data, timeout=PATIENCE)}.items():
            for data in (large, piece):
                with pytest.raises(grpc.RpcError) as caught:
                    call(data)
                codes[name, len(data)] = caught.value.code()
    if compression is grpc.Compression.NoCompression:
        too_much, wrong, secret = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED
        assert codes == {("hello", len(large)): too_much, ("hello", len(piece)): wrong, ("proof", len(large)): too_much,
                         ("proof", len(piece)): secret, ("session", len(large)): secret, ("session", len(piece)): secret}
    else:
        assert set(codes.values()) == {grpc.StatusCode.UNIMPLEMENTED}, codes
    assert alive(closed_server)


def test_an_overheard_greeting_opens_nothing(closed_server, caplog):
    """What was right on one connection is wrong on the next."""
    greeting, proof = Greeting(b"open sesame, open sesame"), queue.SimpleQueue()

    def pieces():
        yield hello
        yield proof.get()

    hello = greeting.hello()
    with grpc.insecure_channel(address(closed_server), options=[("grpc.enable_http_proxy", 0)]) as channel:
        call = channel.stream_stream(CONNECT)(pieces(), timeout=PATIENCE)
        overheard = greeting.prove(next(call))
        proof.put(overheard)
        assert next(call), "the server's offer: the connection is open"
        call.cancel()
    with caplog.at_level(logging.WARNING, logger="tensorflow.server"):
        assert connect(closed_server, hello, overheard) is grpc.StatusCode.UNAUTHENTICATED
    assert "the secret is wrong" in caplog.text and alive(closed_server)


@pytest.fixture
def silent(closed_server):
    """Opens connections that say nothing."""
    over = threading.Event()

    def nothing():
        over.wait(PATIENCE)
        yield from ()

    with grpc.insecure_channel(address(closed_server)) as channel:
        yield lambda count: [channel.stream_stream(CONNECT)(nothing()) for _ in range(count)]
        over.set()


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_strangers_who_say_nothing_are_sent_away(closed_server, silent, monkeypatch, caplog):
    monkeypatch.setattr(strangers, "PATIENCE", 0.5)  # and the server looks once a second
    with caplog.at_level(logging.WARNING, logger="tensorflow.server"):
        assert [call.code() for call in silent(3)] == [grpc.StatusCode.CANCELLED] * 3 and "not said in 0.5 s" in caplog.text
    assert alive(closed_server) and not len(closed_server._listener.tasks._strangers)


def test_one_host_cannot_keep_the_others_out(closed_server, silent, monkeypatch, caplog):
    """Silent connections, more than there is room for: the oldest go, friends get in, and the log stays short."""
    monkeypatch.setattr(strangers, "MAX_PER_ADDRESS", 5)
    with caplog.at_level(logging.WARNING, logger="tensorflow.server"):
        calls = silent(40)
        wait_until(lambda: sum(call.done() for call in calls) == 35)
        assert len(closed_server._listener.tasks._strangers) == 5
        for _ in range(3):
            assert alive(closed_server)
    assert 1 <= len([record for record in caplog.records if "refused" in record.message]) <= 10


# --- life ------------------------------------------------------------------------------------------------------------

def test_stopping(server):
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        one = tf.constant(1.0)
        session.run(one)
        joined = threading.Thread(target=server.join)
        joined.start()
        client.stop_server(server.target)
        joined.join(PATIENCE)
        assert not joined.is_alive()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(one)
    server.stop()
    with pytest.raises(tf.errors.FailedPreconditionError):
        server.start()


def test_servers_of_this_process_are_called_directly():
    server = Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(2.0) * 2.0) == 4.0
        assert type(session._backend._link).__name__ == "_InProcess"
    server.stop()
    assert not in_process


def test_a_port_that_is_taken(server):
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
        Server({"local": [address(server)]})


def test_a_server_that_is_started_later(over_the_network):
    server = Server.create_local_server(start=False)
    assert not in_process
    server.start()
    server.start()
    assert alive(server)
    server.stop()


def test_a_limit_for_a_master_that_does_not_start():
    with tf.Session(f"grpc://127.0.0.1:{free_ports(1)[0]}", config=tf.ConfigProto(operation_timeout_in_ms=200)) as session:
        started = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match="200 ms"):
            session.run(tf.constant(1.0))
        assert time.monotonic() - started < PATIENCE


def test_a_call_that_waits_for_a_server_holds_up_no_other():
    """One session waits for a task to come back; the step of another one fails at once, as it should."""
    transport, nowhere = GrpcTransport(Access.from_environment()), f"127.0.0.1:{free_ports(1)[0]}"

    def wait():
        with pytest.raises(tf.errors.OpError):
            transport.call(nowhere, Message("GetStatus"), 3 * PATIENCE, wait=True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    with pytest.raises(tf.errors.UnavailableError, match=nowhere):
        transport.call(nowhere, Message("GetStatus"))
    assert waiting.is_alive()
    transport.close()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()


def test_unknown_targets():
    for target in ("smoke://x", "localhost:1"):
        with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
            tf.Session(target)


# --- steps in parts --------------------------------------------------------------------------------------------------

def test_a_step_in_parts(servers):
    with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("counter", [], initializer=tf.zeros_initializer())
            once = tf.assign_add(v, 1.0)
            first = a + once
        with tf.control_dependencies([once]):
            second = first * b
        session.run(v.initializer)
        handle = session.partial_run_setup([first, second], [a, b])
        assert session.partial_run(handle, first, {a: 10.0}) == 11.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been fed"):
            session.partial_run(handle, second, {a: 1.0, b: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been fetched"):
            session.partial_run(handle, first)
        assert session.partial_run(handle, second, {b: 3.0}) == 33.0 and session.run(v) == 1.0, "what was computed once is not computed again"
        with pytest.raises(tf.errors.InvalidArgumentError, match="setup"):  # nothing is kept of a step whose last part has run
            session.partial_run(handle, second)
        handle = session.partial_run_setup([second], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match="missing"):
            session.partial_run(handle, second, {a: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="was not specified in partial_run_setup"):
            session.partial_run(handle, v)
        with pytest.raises(tf.errors.InvalidArgumentError, match="setup"):
            session.partial_run("nothing", v)


# --- clients that vanish ---------------------------------------------------------------------------------------------

def test_the_session_of_a_vanished_client_ends(server, monkeypatch):
    monkeypatch.setattr(master, "LEASE", 0.3)  # and the server looks once a second
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        session, other = tf.Session(server.target), tf.Session(server.target)
        session.run(one)
        other.run(one)
        assert len(server._master.sessions()) == 2
        session._backend._link.close()  # as if its process had ended, without a good-bye
        end = time.monotonic() + PATIENCE
        while len(server._master.sessions()) == 2 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(server._master.sessions()) == 1 and other.run(one) == 1.0
        other.close()
    assert not server._master.sessions() and not server._worker._graphs, "nothing is left of them"


def test_a_client_that_comes_back_keeps_its_session(server, monkeypatch):
    monkeypatch.setattr(master, "LEASE", 1.0)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        one = tf.constant(1.0)
        session.run(one)
        for connection in list(server._listener.tasks._connections):
            connection.lost()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                assert session.run(one) == 1.0
                break
            except tf.errors.UnavailableError:
                assert time.monotonic() < deadline
        time.sleep(1.3)
        assert session.run(one) == 1.0 and len(server._master.sessions()) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("one_host", [True, False], ids=["shared", "over the network"])
def test_more_than_four_gigabytes_travel(servers, monkeypatch, one_host):
    if not one_host:
        monkeypatch.setattr(unix_sockets, "connect", lambda name, ticket: None)
    with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
        with tf.device("/job:ps/task:0"):
            large = tf.fill([1 << 16, (1 << 16) + 1], tf.constant(7, tf.uint8))
        with tf.device("/job:worker/task:0"):
            corners = tf.stack([large[0, 0], large[-1, -1]])
        assert session.run(corners).tolist() == [7, 7]
