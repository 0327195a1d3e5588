"""How many threads LAPACK has while a small matrix is factored, and afterwards."""
from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (brings a second OpenBLAS)
from threadpoolctl import ThreadpoolController

import penstock as tf
from penstock.platform.lapack_threads import suited_to

pytestmark = pytest.mark.process
SMALL, LARGE = np.eye(20), np.zeros((513, 512))


@pytest.fixture
def threads():
    """The numbers of threads of all pools, which are two at first."""
    pools = ThreadpoolController().select(user_api="blas")
    with pools.limit(limits=2):
        yield lambda: {pool.num_threads for pool in pools.lib_controllers}


def test_one_for_small_matrices(threads):
    with suited_to(SMALL, np.zeros((100, 20, 30))):
        assert threads() == {1}
        with suited_to(SMALL):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_all_for_large_ones(threads):
    with suited_to(SMALL, LARGE):
        assert threads() == {2}


def test_they_come_back_after_an_error(threads):
    with pytest.raises(ZeroDivisionError), suited_to(SMALL):
        raise ZeroDivisionError
    assert threads() == {2}


def test_they_come_back_when_calls_of_several_threads_overlap():
    pools = ThreadpoolController().select(user_api="blas").lib_controllers
    before, entered, leave = [pool.num_threads for pool in pools], threading.Event(), threading.Event()

    def other():
        with suited_to(SMALL):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(10)
    with suited_to(SMALL):
        assert {pool.num_threads for pool in pools} == {1}
        leave.set()
        thread.join(10)
        with suited_to(SMALL):
            assert {pool.num_threads for pool in pools} == {1}
    assert [pool.num_threads for pool in pools] == before


def test_a_kernel_has_one(threads, monkeypatch):
    seen = []
    factor = np.linalg.cholesky
    monkeypatch.setattr(np.linalg, "cholesky", lambda a: (seen.append(threads()), factor(a))[1])
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.cholesky(tf.constant(4.0 * SMALL)))[0, 0] == 2.0
    assert seen == [{1}] and threads() == {2}
