"""The registry of transports: servers and sessions over any scheme, also one that the package has never heard of."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock import errors
from penstock.distributed import client, transports
from penstock.distributed.status import cluster_status
from penstock.distributed.transport_local import LocalTransportKind
from support.process import python

SPEC = {"ps": ["here:1"], "worker": ["here:2"]}


@pytest.fixture
def over_the_network(monkeypatch):
    """Clients of this process do not take the short way."""
    monkeypatch.setattr(client, "in_process", {})


class Pigeons(LocalTransportKind):
    """The local network under another name, which counts who asked for it."""

    asked = 0

    def transport(self, origin=""):
        Pigeons.asked += 1
        return super().transport(origin)


def train(protocol):
    """Runs a step over two tasks."""
    servers = [tf.train.Server(SPEC, job, 0, protocol=protocol) for job in SPEC]
    try:
        with tf.Graph().as_default(), tf.Session(servers[1].target) as session:
            with tf.device("/job:ps"):
                v = tf.Variable([1.0, 2.0])
            with tf.device("/job:worker"):
                doubled = v * 2.0
            session.run(v.initializer)
            assert session.run(v.assign_add(doubled)).tolist() == [3, 6]
            assert [task["state"] for task in cluster_status(servers[0].target)] == ["up", "up"]
            assert len(session.list_devices()) == 2
        return servers[1].target
    finally:
        for server in servers:
            server.stop()


def test_a_cluster_without_sockets(over_the_network):
    assert train("local") == train("local") == "local://here:2"  # the addresses are free again


def test_servers_of_this_process_need_no_network():
    server = tf.train.Server({"local": ["x:0"]}, protocol="local")
    assert server.target.startswith("local://x:")
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(2.0) * 2.0) == 4.0
    server.stop()


def test_a_transport_of_ones_own(over_the_network):
    transports.register("pigeons", Pigeons)
    try:
        assert train("pigeons") == "pigeons://here:2" and Pigeons.asked >= 3
    finally:
        transports.unregister("pigeons")
    with pytest.raises(errors.NotFoundError, match=r"No server factory registered .*'pigeons' is unknown; there is grpc, local"):
        tf.train.Server(SPEC, "ps", 0, protocol="pigeons")
    with pytest.raises(errors.NotFoundError, match=r"No session factory registered.*pigeons"):
        tf.Session("pigeons://here:2")


def test_an_address_is_taken_once():
    server = tf.train.Server(SPEC, "ps", 0, protocol="local")
    with pytest.raises(errors.UnknownError, match="local://here:1: the address is taken"):
        tf.train.Server(SPEC, "ps", 0, protocol="local")
    server.stop()


def test_a_server_that_never_started_frees_its_address():
    for _ in range(2):
        tf.train.Server(SPEC, "ps", 0, protocol="local", start=False).stop()


def test_nobody_listens():
    with tf.Graph().as_default(), tf.Session("local://nobody:1", config=tf.ConfigProto(operation_timeout_in_ms=50)) as session:
        one = tf.constant(1.0)
        with pytest.raises(errors.DeadlineExceededError):
            session.run(one)
    with pytest.raises(errors.InvalidArgumentError, match="names no task of a cluster: local://name does"):
        tf.Session("local://")


def test_grpc_is_imported_when_it_is_used():
    done = python("""
        import sys, penstock as tf
        server = tf.train.Server({"local": ["x:0"]}, protocol="local")
        with tf.Session(server.target) as session:
            print(session.run(tf.constant(1)), "grpc" in sys.modules)
        server.stop()
        tf.train.Server.create_local_server().stop()
        print("grpc" in sys.modules)""")
    assert done.stdout.split() == ["1", "False", "True"]
