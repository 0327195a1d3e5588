"""Mutual TLS: both sides show certificates of one authority, which the test makes with the openssl command."""
from __future__ import annotations

import shutil

import grpc
import numpy as np
import pytest

import penstock as tf
from penstock.distributed import client
from penstock.distributed.security import Access, certificates
from penstock.distributed.server import Server
from penstock.distributed.transport_grpc import GrpcTransport
from support.certificates import NAMES, make_certificates

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command")


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return make_certificates(folder / "ours", "ours"), make_certificates(folder / "theirs", "theirs")


@pytest.fixture
def use(monkeypatch):
    monkeypatch.setattr(client, "in_process", {})  # over the network
    monkeypatch.delenv("PENSTOCK_CLUSTER_SECRET", raising=False)
    return lambda paths: [monkeypatch.setenv(name, path) if path else monkeypatch.delenv(name, raising=False) for name, path in zip(NAMES, paths)]


def test_both_sides_show_certificates(authorities, use):
    ours, theirs = authorities
    use(ours)
    assert not Access.from_environment().local and Access.from_environment().listening_host("ps0.example.com") == "[::]"
    server = Server.create_local_server()
    try:
        with tf.Graph().as_default():
            double = tf.constant(np.arange(1000.0)) * 2.0
            with tf.Session(server.target) as session:
                assert session.run(double)[999] == 1998.0
            for paths in (theirs, [None] * 3):  # signed by another; none at all
                use(paths)
                with tf.Session(server.target, config=None) as session, pytest.raises(tf.errors.UnavailableError):
                    session._backend._link.call(client.Message("GetStatus"), 3.0)
            use(theirs)
            with pytest.raises(tf.errors.UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):  # it hears why
                address = server.target.replace("grpc://localhost", "127.0.0.1")
                GrpcTransport(Access.from_environment()).call(address, client.Message("GetStatus"), 1.0, wait=True)
            with grpc.insecure_channel(server.target.removeprefix("grpc://"), options=[("grpc.enable_http_proxy", 0)]) as channel:
                with pytest.raises(grpc.RpcError):
                    channel.unary_unary("/tensorflow.MasterService/ListDevices")(b"", timeout=3)
            use(ours)
            with tf.Session(server.target) as session:
                assert session.run(double)[1] == 2.0
    finally:
        server.stop()


def test_all_three_files_are_needed(authorities, use):
    ours, _ = authorities
    use([ours[0], ours[1], None])
    with pytest.raises(tf.errors.InvalidArgumentError, match="PENSTOCK_TLS_CA is missing"):
        certificates()
    use([ours[0], ours[1] + ".gone", ours[2]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"PENSTOCK_TLS_KEY cannot be read: .*No such file"):
        certificates()
    use([None] * 3)
    assert certificates() is None
