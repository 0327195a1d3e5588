"""The team in a crowd: it rests when its threads are late, and who runs a part changes no bit."""
from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.native.machine import driver
from penstock.native.machine.team import team
from penstock.native.table.instance import Instance

pytestmark = pytest.mark.process
FOREVER = (1 << 62) - 1


def word(name: str) -> ctypes.c_int64:
    """A word of the board."""
    return ctypes.c_int64.from_address(team.board + driver._offset(name))


@pytest.fixture(autouse=True)
def rested():
    yield
    for name in ("resting", "until", "factor"):
        word(name).value = 0


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


def test_a_rest_ends(step):
    wanted = step()
    word("until").value, word("resting").value = 1, 1
    ticket = word("ticket").value
    assert step() == wanted
    assert word("ticket").value != ticket


def test_late_threads_have_the_team_rest(step):
    """Parts that, as far as the table knows, took less than no time before: every join is late, and each makes the rest longer."""
    wanted = step()
    tables = [each._call_table for each in gc.get_objects() if isinstance(each, Instance)]
    for table in tables:
        table[driver.CALL.index("fastest")::len(driver.CALL)] = -(1 << 50)
    factors = []
    for _ in range(8):
        word("resting").value, word("until").value = 0, FOREVER  # the last time was just now
        assert step() == wanted
        factors.append(word("factor").value)
        assert word("resting").value == 1 and word("busy").value == 0
    assert factors == sorted(factors) and factors[0] > 0 and factors[-1] == driver._MOST_REST


def test_a_thread_that_is_late_once_is_an_accident():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=3)) as session:
        x = tf.placeholder(tf.float32, [None, 300])
        y, value = tf.exp(x) * 1.5, np.ones((3000, 300), "f")
        for _ in range(3):
            session.run(y, {x: value})
        known = [each._call_table for each in gc.get_objects() if isinstance(each, Instance)]
        for _ in range(8):
            for table in known:
                table[driver.CALL.index("fastest")::len(driver.CALL)] = -(1 << 50)
            word("until").value = 0  # the last time was long ago, and this step has one call
            session.run(y, {x: value})
            assert word("until").value > 0, "it was noticed"
            assert word("factor").value == 0 and word("resting").value == 0


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
