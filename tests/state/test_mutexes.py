"""Critical sections: one step at a time, and no lock is lost."""
from __future__ import annotations

import time

import numpy as np
import pytest

import penstock as tf
from support.threads import LONG, in_threads


def test_critical_section_excludes_others():
    section = tf.CriticalSection()
    inside, most = [0], [0]

    def work():
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        inside[0] -= 1
        return np.int64(1)

    one = section.execute(lambda: tf.py_func(work, [], tf.int64))
    two = section.execute(lambda: tf.py_func(work, [], tf.int64))
    with tf.Session() as session:
        in_threads(*[lambda: [session.run([one, two], options=LONG) for _ in range(5)]] * 4)
    assert most == [1]


def test_critical_section_makes_updates_whole():
    section = tf.CriticalSection(name="section")
    v = tf.get_variable("v", [], tf.int64, initializer=tf.zeros_initializer(), use_resource=True)

    def increment():
        read = v.read_value()
        with tf.control_dependencies([read]):
            return v.assign(read + 1)

    update = section.execute(increment)
    with tf.Session() as session:
        session.run(v.initializer)
        in_threads(*[lambda: [session.run(update, options=LONG) for _ in range(10)]] * 4)
        assert session.run(v) == 40


def test_a_failure_gives_the_lock_back():
    section = tf.CriticalSection()
    x = tf.placeholder(tf.float32, [])
    checked = section.execute(lambda: tf.check_numerics(x, "not a number"))
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: np.nan})
        assert session.run(checked, {x: 1.0}, options=LONG) == 1


def test_structures_and_operations():
    section = tf.CriticalSection()
    found = section.execute(lambda: (tf.constant(1.0), [tf.constant(2)]))
    with tf.Session() as session:
        assert session.run(found) == (1.0, [2])
        assert session.run(section.execute(tf.no_op)) is None


def test_critical_section_mistakes():
    one, two = tf.CriticalSection(), tf.CriticalSection()
    v = tf.get_variable("v", [], use_resource=True)
    with pytest.raises(ValueError, match="would cause deadlocks"):
        one.execute(lambda: one.execute(lambda: tf.constant(1)))
    one.execute(lambda: v.read_value())
    with pytest.raises(ValueError, match="This execution would access resources"):
        two.execute(lambda: v.read_value())
