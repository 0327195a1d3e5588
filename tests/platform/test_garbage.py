"""Blocks without garbage collection: the last one that ends switches it on again, unless the program had switched it off."""
from __future__ import annotations

import gc
import os
import threading

import pytest

import penstock as tf
from penstock.platform.garbage import uncollected


def test_blocks_in_each_other_and_in_threads():
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with uncollected():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    with uncollected():
        with uncollected():
            thread.start()
            assert entered.wait(30) and not gc.isenabled()
    assert not gc.isenabled()  # the other thread is at it
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_an_error_and_a_program_that_wants_none():
    with pytest.raises(ValueError), uncollected():
        raise ValueError
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_was_forked_meanwhile_collects():
    with uncollected():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_step_that_cannot_be_planned_leaves_it_on():
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/job:nowhere/task:3"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.constant(1.0) + 2.0)
    assert gc.isenabled()
