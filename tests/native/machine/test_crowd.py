"""The team in a crowd: it rests when its threads are late, and who runs a part changes no bit."""
from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.native.machine import driver
from penstock.native.machine.team import native_alone, team
from penstock.native.table.instance import Instance

pytestmark = pytest.mark.process
FOREVER = (1 << 62) - 1


def word(name: str) -> ctypes.c_int64:
    """A word of the board."""
    return ctypes.c_int64.from_address(team.board + driver.board_offset(name))


@pytest.fixture(autouse=True)
def rested():
    yield
    for name in ("resting", "until", "factor", "spent", "lost"):
        word(name).value = 0
    word("helpers").value = len(team._threads)


@pytest.fixture(name="step")
def _step():
    """Runs a step whose calls have several parts; sums among them, which are added up part by part."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 300])
        y = [tf.reduce_sum(tf.exp(x) * 1.5), tf.matmul(x, x, transpose_a=True)]
        value = np.random.RandomState(0).standard_normal((3000, 300)).astype("f")
        with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=3)) as session:
            yield lambda: b"".join(each.tobytes() for each in session.run(y, {x: value}))


def test_the_caller_does_all_while_the_team_rests(step):
    wanted = step()
    word("until").value, word("resting").value = FOREVER, 1
    ticket = word("ticket").value
    for _ in range(5):
        assert step() == wanted
    assert word("ticket").value == ticket, "nothing was shared"
    assert word("resting").value == 1


def test_who_is_to_be_alone_gets_no_help_of_threads_that_are_awake(step):
    wanted = step()
    ticket = word("ticket").value
    word("runs").value += 1  # of another caller: so they stay awake
    try:
        with native_alone(True):
            assert step() == wanted
        assert word("ticket").value == ticket, "nothing was shared"
        assert step() == wanted
        assert word("ticket").value != ticket
    finally:
        word("runs").value -= 1


def test_a_rest_ends(step):
    wanted = step()
    word("until").value, word("resting").value = 1, 1
    ticket = word("ticket").value
    assert step() == wanted
    assert word("ticket").value != ticket


def lateness(value: int) -> None:
    """All steps learn that their parts took so long before; less than no time makes every join a late one."""
    for each in gc.get_objects():
        if isinstance(each, Instance):
            each._call_table[driver.CALL.index("fastest")::len(driver.CALL)] = value


def test_late_threads_have_the_team_rest(step):
    """The first window in which most of the time is lost is an accident; each one after it makes the rest longer."""
    wanted = step()
    lateness(-(1 << 50))
    factors, resting = [], []
    for _ in range(8):
        word("resting").value, word("until").value, word("spent").value = 0, 0, 1 << 40  # the window is over with the next call
        assert step() == wanted
        factors.append(word("factor").value)
        resting.append(word("resting").value)
        assert word("busy").value == 0
    assert factors == sorted(factors) and {*factors} <= {1, 3, 7, 15, 31, 63} and factors[-1] == 63
    assert resting == [factor > 1 for factor in factors]


def test_a_window_without_loss_ends_the_crowd(step):
    wanted = step()
    lateness(1 << 60)
    word("factor").value, word("spent").value = 7, 1 << 40
    assert step() == wanted
    assert word("factor").value < 7 and word("resting").value == 0  # at most an accident of a later window


def test_a_little_loss_is_no_reason_to_rest(step):
    """Alone, the caller would lose more."""
    wanted = step()
    lateness(1 << 60)
    for helpers, share, rests in ((1, 0.3, 0), (1, 0.5, 1), (7, 0.5, 0), (7, 0.8, 1)):
        word("factor").value, word("resting").value, word("until").value = 1, 0, 0
        word("helpers").value, word("spent").value, word("lost").value = helpers, 1 << 40, int(share * (1 << 40))
        assert step() == wanted
        assert word("resting").value == rests, (helpers, share)


def test_bits_do_not_depend_on_who_is_late(step):
    """Other threads of this process take the CPUs away meanwhile."""
    wanted, stop = step(), threading.Event()

    def spin():
        values = np.ones(1 << 16)
        while not stop.is_set():
            np.sqrt(values, out=values)
    threads = [threading.Thread(target=spin) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        assert {step() for _ in range(40)} == {wanted}
    finally:
        stop.set()
        for thread in threads:
            thread.join()
