"""Closed by default: the secret of a user, where it is kept, and what another user of the machine can do (nothing)."""
from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import penstock
import penstock as tf
from penstock.distributed import client, peer_user, user_secret
from penstock.distributed.peer_user import user_of
from penstock.distributed.security import Access, read_secret
from penstock.distributed.server import Server
from support.process import line_of

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture(autouse=True)
def no_secret(monkeypatch):
    for name in ("PENSTOCK_CLUSTER_SECRET", "PENSTOCK_CLUSTER_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "config" / "penstock"
    monkeypatch.setattr(user_secret, "folders", lambda: [str(path)])
    return path


def test_it_is_made_once_and_hidden(folder):
    secrets, start = [], threading.Barrier(8, timeout=60)

    def ask():
        start.wait()
        secrets.append(user_secret.user_secret())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(set(secrets)) == 1 and len(secrets) == 8 and len(secrets[0]) == 64
    assert [path.name for path in folder.iterdir()] == ["cluster_secret"]
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "cluster_secret").stat().st_mode & 0o777 == 0o600


def test_what_others_could_have_written_or_read_is_refused(folder):
    user_secret.user_secret()
    folder.chmod(0o777)
    with pytest.raises(tf.errors.PermissionDeniedError, match="others may write to"):
        user_secret.user_secret()
    folder.chmod(0o700)
    file = folder / "cluster_secret"
    file.chmod(0o640)
    with pytest.raises(tf.errors.PermissionDeniedError, match="others may read"):
        user_secret.user_secret()
    moved = file.rename(folder / "moved")
    moved.chmod(0o600)
    file.symlink_to(moved)
    with pytest.raises(tf.errors.PermissionDeniedError, match="PENSTOCK_CLUSTER_SECRET"):
        user_secret.user_secret()
    file.unlink()
    file.write_text("short")
    file.chmod(0o600)
    with pytest.raises(tf.errors.PermissionDeniedError, match="damaged"):
        user_secret.user_secret()


@as_root
def test_the_folder_of_another_user_is_refused(folder):
    folder.mkdir(parents=True)
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(tf.errors.PermissionDeniedError, match="belongs to user 65534"):
        user_secret.user_secret()


@as_root
def test_a_secret_that_another_user_knows_is_refused(tmp_path):
    """Root can read what another user has put where the secret was to be, mode 0600 and all."""
    path = tmp_path / "secret"
    path.write_text("known to its owner, too")
    path.chmod(0o600)
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(tf.errors.PermissionDeniedError, match="belongs to user 65534"):
        read_secret(str(path))


def test_a_user_without_a_home_has_a_folder_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(user_secret.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(user_secret.pwd, "getpwuid", {}.__getitem__)
    assert user_secret.folders() == [str(tmp_path / f"penstock-{os.geteuid()}")]
    assert user_secret.user_secret() == user_secret.user_secret()


def test_who_may_connect_is_said(caplog, monkeypatch):
    with caplog.at_level("INFO", logger="penstock"):
        Server.create_local_server().stop()
        monkeypatch.setenv("PENSTOCK_CLUSTER_SECRET", "open sesame, open sesame")
        Server.create_local_server().stop()
    assert f"who may connect: processes of user {os.geteuid()} on this machine; of TensorFlow's own clients: those of this user" in caplog.text
    assert "who may connect: any process that has the cluster's secret; of TensorFlow's own clients: none" in caplog.text
    assert str(Access()) == "anybody on this machine"


_CLIENT = """
import os, sys
import penstock as tf
from penstock.distributed import client, transports
transports.transport_kind("grpc")  # what it imports, it imports here
import grpc
target = sys.argv[1]
if sys.argv[2] != "self":
    os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))  # (not before the imports: it may not be able to read them)
try:
    with tf.Session(target) as session:
        print("ran", session.run(tf.constant(2.0) * 3.0))
except tf.errors.OpError as error:
    print("refused", type(error).__name__)
try:
    client.stop_server(target) if sys.argv[2] != "self" else None
except tf.errors.OpError as error:
    print("refused", type(error).__name__)
with grpc.insecure_channel(target.removeprefix("grpc://")) as channel:
    try:
        channel.unary_unary("/tensorflow.MasterService/CreateSession")(b"", timeout=20)
        print("foreign session")
    except grpc.RpcError as error:
        print("refused", error.code().name)
"""


def run_client(target: str, user: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(penstock.__path__[0]).parent), "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", _CLIENT, target, user], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_another_process_of_this_user_gets_in_without_a_setting(monkeypatch):
    server = Server.create_local_server()
    assert run_client(server.target, "self") == ["ran 6.0", "foreign session"]
    server.stop()


@as_root
def test_another_user_does_not(monkeypatch):
    """Neither as a client of this protocol, nor as one of TensorFlow's; and the server goes on."""
    monkeypatch.setattr(client, "in_process", {})
    server = Server.create_local_server()
    with tf.Session(server.target) as session:
        one = tf.constant(1.0)
        assert run_client(server.target, str(NOBODY)) == ["refused UnauthenticatedError", "refused UnauthenticatedError", "refused UNAUTHENTICATED"]
        assert session.run(one) == 1.0
    server.stop()


@pytest.mark.parametrize("asking", [True, False], ids=["asked of the kernel", "found in its table"])
def test_the_user_of_a_connection_is_known(monkeypatch, asking):
    monkeypatch.setattr(peer_user, "_connections" if asking else "_asked_user", lambda *_: [] if asking else None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as connected:
            own = connected.getsockname()[1]
            assert user_of(f"ipv4:127.0.0.1:{own}", port) == user_of(f"ipv6:%5B::ffff:127.0.0.1%5D:{own}", port) == os.geteuid()
            assert user_of(f"ipv4:127.0.0.2:{own}", port) is None and user_of(f"ipv4:127.0.0.1:{own}", port + 1) is None
            assert user_of(f"ipv4:127.0.0.1:{port}", own + 1) is None  # a socket that listens is not one that is connected
        with socket.socket(socket.AF_INET6) as mapped:
            mapped.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            mapped.connect(("::ffff:127.0.0.1", port))  # as gRPC does it
            assert user_of(f"ipv4:127.0.0.1:{mapped.getsockname()[1]}", port) == os.geteuid()
    assert user_of("ipv4:10.0.0.1:5", 6) is None and user_of("unix:/x", 6) is None and user_of("ipv4:127.0.0.1:x", 6) is None


@pytest.mark.skipif(not hasattr(socket, "AF_NETLINK"), reason="only Linux answers such questions")
def test_an_answer_to_another_question_is_not_taken():
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as connected:
        peer, port = f"ipv4:127.0.0.1:{connected.getsockname()[1]}", listening.getsockname()[1]
        assert user_of(peer, port) == os.geteuid()
        kernel = peer_user._kernel
        header = peer_user._HEADER
        kernel._link.send(header.pack(header.size, peer_user._BY_FAMILY, peer_user._REQUEST, kernel._number + 7, 0))  # its answer is left unread
        assert user_of(peer, port) == os.geteuid() and kernel._link is None  # the table of connections told it
        assert user_of(peer, port) == os.geteuid() and kernel._link is not None


# --- connections that say nothing ------------------------------------------------------------------------------------

_SERVER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
import penstock as tf
server = tf.train.Server.create_local_server()
print(server.target, resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)
for line in sys.stdin:
    with open(os.devnull) as file:
        print("opened", flush=True)
"""


def test_idle_connections_leave_files_and_places():
    """More connections than the server may have files: it can still open some, and a friend gets in when the idle ones have been closed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(penstock.__path__[0]).parent), "TF_CPP_MIN_LOG_LEVEL": "3"}
    server = subprocess.Popen([sys.executable, "-c", _SERVER], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target, limit = line_of(server).split()
    assert limit == "256", "the server raises its limit"
    idle = [socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2])), timeout=5) for _ in range(300)]
    print("open", file=server.stdin, flush=True)
    assert line_of(server) == "opened\n"
    deadline = time.monotonic() + 40
    while True:
        try:
            with tf.Session(target) as session:
                assert session.run(tf.constant(1.0)) == 1.0
                break
        except tf.errors.UnavailableError:
            assert time.monotonic() < deadline
    for connection in idle:
        connection.close()
    server.kill()
    server.communicate()


def test_too_many_open_files_is_a_class_of_its_own(monkeypatch, tmp_path):
    def exhausted(*args, **kwargs):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    value = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(value.initializer)
        saver = tf.train.Saver()
        monkeypatch.setattr("penstock.checkpoint.claims.os.open", exhausted)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Too many open files"):
            saver.save(session, str(tmp_path / "model"))
