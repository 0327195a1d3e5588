"""Links, frames, segments and Unix sockets: each conversation has one end, whatever is lost, and nothing is left behind."""
from __future__ import annotations

import gc
import os
import queue
import random
import socket
import threading
import time

import numpy as np
import pytest

from penstock.distributed import shared_segments, unix_sockets
from penstock.distributed.carrier_socket import SocketCarrier
from penstock.distributed.link import Link
from penstock.distributed.messages import MalformedMessage, Message, encode
from penstock.distributed.unix_sockets import UnixListener
from penstock.distributed.wire import CANCEL, DONE, MORE, OPEN, PART, Splitter, header
from penstock.errors import CancelledError, UnavailableError

pytestmark = pytest.mark.process
LOST = UnavailableError(None, None, "lost")
PATIENCE = 20.0


class Direct:
    """A carrier that hands frames over at once."""

    def __init__(self):
        self.other = None

    def send(self, kind, conversation, buffers):
        if self.other is not None:
            self.other.received(kind, conversation, b"".join(buffers))


@pytest.fixture
def links():
    """(client, server, what the server was asked)."""
    there, back, asked = Direct(), Direct(), []
    client, server = Link(there), Link(back, lambda message, served: asked.append((message, served)))
    there.other, back.other = server, client
    return client, server, asked


def recorder():
    outcomes = []
    return outcomes, lambda reply, error: outcomes.append((reply, error))


def test_a_conversation(links):
    client, _, asked = links
    outcomes, done = recorder()
    parts, more = [], []
    call = client.open(Message("Ask", {"x": 1}), done, parts.append)
    call.send(Message("early"))
    message, served = asked[0]
    assert (message.method, message.fields) == ("Ask", {"x": 1})
    served.on_more(more.append)
    call.send(Message("late"))
    served.part(Message("part"))
    served.reply(Message("ok"))
    served.reply(Message("again"))
    served.part(Message("too late"))
    assert [item.method for item in more] == ["early", "late"] and [item.method for item in parts] == ["part"]
    assert [reply.method for reply, _ in outcomes] == ["ok"]
    call.cancel()
    assert len(outcomes) == 1


@pytest.mark.parametrize("kind", [PART, DONE])
def test_a_call_whose_answer_makes_no_sense(links, kind):
    """The reader gives the link up, and the call learns of it."""
    client, _, _ = links
    outcomes, done = recorder()
    call = client.open(Message("Ask"), done)
    with pytest.raises(MalformedMessage):
        client.received(kind, call.number, b"nonsense")
    assert not outcomes
    client.lost(LOST)
    assert outcomes == [(None, LOST)]


def test_giving_up_tells_the_other_side(links):
    client, _, asked = links
    outcomes, done = recorder()
    gone = []
    call = client.open(Message("Ask"), done)
    asked[0][1].on_gone(lambda: gone.append(1))
    call.cancel()
    assert gone == [1] and isinstance(outcomes[0][1], CancelledError)
    asked[0][1].reply(Message("ok"))
    asked[0][1].on_gone(lambda: gone.append(2))
    assert gone == [1, 2] and len(outcomes) == 1


def test_a_lost_link_ends_everything_once(links):
    client, server, asked = links
    outcomes, done = recorder()
    gone = []
    client.open(Message("Ask"), done)
    asked[0][1].on_gone(lambda: gone.append(1))
    for link in (client, server):
        link.lost(LOST)
        link.lost(LOST)
    assert outcomes == [(None, LOST)] and gone == [1] and not client.alive
    client.open(Message("Ask"), done)
    assert outcomes == [(None, LOST), (None, LOST)] and len(asked) == 1


def test_frames_that_make_no_sense(links):
    client, server, _ = links
    for kind in (PART, DONE, MORE, CANCEL):
        client.received(kind, 99, b"")  # of a conversation that was given up
    for link, frame in ((client, (OPEN, 1, b"")), (server, (OPEN, 1, b"garbage")), (server, (77, 1, b""))):
        with pytest.raises(MalformedMessage):
            link.received(*frame)


# --- frames ----------------------------------------------------------------------------------------------------------

def test_frames_come_out_as_they_went_in_however_they_are_cut():
    chance = random.Random(1)
    frames = [(chance.randrange(1, 6), chance.randrange(1 << 32), chance.randbytes(chance.choice([0, 1, 100, 5000, 300_000]))) for _ in range(50)]
    stream = b"".join(header(kind, number, len(data)) + data for kind, number, data in frames)
    splitter, got, position = Splitter(), [], 0
    while position < len(stream):
        step = chance.choice([1, 7, 16, 1000, 70_000, 400_000])
        got += [(kind, number, bytes(data)) for kind, _, number, data in splitter.feed(stream[position:position + step])]
        position += step
    assert got == frames


@pytest.mark.parametrize("garbage", [bytes(16), b"\xff" * 16, header(OPEN, 1, 1 << 60), header(OPEN, 1, (1 << 38) + 1), b"GET / HTTP/1.1\r\n\r\n"])
def test_garbage_is_no_frame(garbage):
    with pytest.raises(MalformedMessage):
        list(Splitter().feed(garbage))


# --- segments --------------------------------------------------------------------------------------------------------

def test_segments_are_used_again():
    written, read = shared_segments.Written(), shared_segments.Read()
    first = written.take(100_000)
    shared_segments.fill(first.array, [b"abc", np.arange(3, dtype=np.uint8), b""])
    read.add(first.number, first.descriptor)
    first.descriptor = -1
    view = read.view(first.number, 6)
    part = view[3:]
    assert view.tobytes() == b"abc\x00\x01\x02" and written.take(100_000) is not first
    del view
    assert not read.freed, "a part of it is still read"
    del part
    assert list(read.freed) == [first.number]
    assert written.freed(first.number) is None and written.take(50_000) is first
    written.close()


def test_segments_have_limits(monkeypatch):
    monkeypatch.setattr(shared_segments, "_MAX_SEGMENTS", 2)
    monkeypatch.setattr(shared_segments, "_KEPT", 3 << 20)
    written = shared_segments.Written()
    one, two = written.take(1 << 20), written.take(4 << 20)
    assert written.take(1 << 20) is None
    assert written.freed(one.number) is None and written.freed(two.number) is two, "more than is kept"
    for number in (one.number, two.number, 99):
        with pytest.raises(MalformedMessage):
            written.freed(number)
    with pytest.raises(MalformedMessage):
        shared_segments.Read().view(1, 10)
    os.close(two.descriptor)
    written.close()


# --- sockets ---------------------------------------------------------------------------------------------------------

def pair(serve):
    """Two links over a pair of sockets."""
    carriers = [SocketCarrier(end) for end in socket.socketpair()]
    for carrier, handler in zip(carriers, (None, serve)):
        carrier.link = Link(carrier, handler)
        carrier.start()
    return carriers


def echo(message, served):
    served.part(Message("part", {}, [], message.tensors))
    served.reply(Message("ok", {}, [], message.tensors))


@pytest.mark.parametrize("count", [1, 1000, 100_000, 3_000_000])
def test_messages_over_sockets(count):
    client, server = pair(echo)
    values = np.arange(count, dtype=np.float32)
    for _ in range(5):
        (got,) = client.link.call(Message("Ask", {}, [], [values]), PATIENCE).tensors
        np.testing.assert_array_equal(got, values)
    client.close()
    server.close()


def test_large_messages_both_ways_at_once_do_not_lock_up(monkeypatch):
    monkeypatch.setattr(shared_segments, "AVAILABLE", False)  # everything through the socket, more than it can hold
    client, server = pair(echo)
    values = np.arange(2_000_000, dtype=np.float32)
    got = []

    def work():
        got.append(client.link.call(Message("Ask", {}, [], [values]), PATIENCE).tensors[0].sum(dtype=np.float64))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert got == [values.sum(dtype=np.float64)] * 4
    client.close()
    server.close()


def test_nothing_is_left_of_a_connection():
    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    for _ in range(3):
        client, server = pair(echo)
        client.link.call(Message("Ask", {}, [], [np.zeros(1_000_000)]), PATIENCE)
        client.close()
        server.close()
        del client, server
    end = time.monotonic() + PATIENCE
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert descriptors() <= before


def test_a_reply_is_on_its_way_before_the_connection_is_given_up():
    """The last thing that a server says, for example to the request to stop."""
    may_send, asked = threading.Event(), []

    class Slow(Direct):
        def send(self, kind, conversation, buffers):
            may_send.wait(PATIENCE)
            super().send(kind, conversation, buffers)

    back = Slow()
    link = Link(back, lambda message, served: asked.append(served))
    link.received(OPEN, 1, b"".join(encode(Message("Stop"))))
    threading.Thread(target=lambda: asked[0].reply(Message("ok"))).start()
    drained = threading.Thread(target=lambda: link.drain(PATIENCE))
    drained.start()
    drained.join(0.2)
    assert drained.is_alive(), "the reply has not been sent"
    may_send.set()
    drained.join(PATIENCE)
    assert not drained.is_alive()


def test_what_has_come_is_read_before_the_link_is_lost():
    ours, theirs = socket.socketpair()
    carrier = SocketCarrier(ours)
    carrier.link = Link(carrier)
    outcomes, done = recorder()
    carrier.link.open(Message("Stop"), done)
    carrier.link.open(Message("Another"), done)
    reply = b"".join(encode(Message("ok")))
    theirs.sendall(header(DONE, 1, len(reply)) + reply)
    carrier.close(LOST)  # gRPC's side of the connection has ended first
    carrier.start()
    end = time.monotonic() + PATIENCE
    while len(outcomes) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert [(reply and reply.method, error) for reply, error in outcomes] == [("ok", None), (None, LOST)]
    theirs.close()


def test_garbage_on_a_socket_ends_that_connection_only():
    mine, theirs = socket.socketpair()
    carrier = SocketCarrier(theirs)
    carrier.link = Link(carrier, echo)
    carrier.start()
    mine.sendall(os.urandom(64).replace(b"\x01", b"\xff"))
    mine.settimeout(PATIENCE)
    assert mine.recv(1) == b"" and not carrier.link.alive
    mine.close()


def test_tickets_are_good_once():
    listener, accepted = UnixListener(), queue.SimpleQueue()
    ticket = listener.ticket(accepted.put)
    assert unix_sockets.connect(listener.name, os.urandom(32)) is None
    first = unix_sockets.connect(listener.name, ticket)
    assert first is not None and unix_sockets.connect(listener.name, ticket) is None, "a ticket that was overheard"
    listener.close()
    assert unix_sockets.connect(listener.name, ticket) is None
    for connection in [first, accepted.get(timeout=60)]:  # it is handed over after the greeting
        connection.close()
