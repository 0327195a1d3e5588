"""The pool of a device's memory, without a device."""
from __future__ import annotations

import pytest

from penstock.errors import KernelError
from penstock.opencl.pool import Pool

pytestmark = pytest.mark.process


def _pool(limit=1 << 20, refuse_above=1 << 30):
    made = []

    def allocate(size):
        if size > refuse_above:
            raise MemoryError("no")
        made.append(size)
        return object()

    return Pool(allocate, limit, "/device:GPU:0"), made


def test_blocks_are_used_again():
    pool, made = _pool()
    first = pool.block(1000, "a")
    buffer = first.buffer
    del first
    second = pool.block(1020, "b")
    assert second.buffer is buffer and len(made) == 1
    assert pool.used == second.nbytes and pool.bytes_by_holder() == {"b": second.nbytes}


def test_free_blocks_make_room_for_others():
    pool, made = _pool(limit=11_000)
    pool.block(6000, "a")
    pool.block(9000, "b")  # the free one goes back to the driver
    assert len(made) == 2 and pool.taken <= 11_000


def test_the_limit_is_an_error_that_tells_the_holders():
    pool, _ = _pool(limit=20_000)
    kept = pool.block(15_000, "variable weights")
    with pytest.raises(KernelError, match=r"OOM when allocating .* for the step of loss on /device:GPU:0.* by variable weights"):
        pool.block(15_000, "the step of loss")
    assert kept.nbytes >= 15_000


def test_a_driver_that_refuses_is_an_error():
    pool, _ = _pool(refuse_above=1000)
    with pytest.raises(KernelError, match="the driver says: no"):
        pool.block(5000, "x")
