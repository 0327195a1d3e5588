"""Every device gets the reduction of all tensors, by whichever way; the devices of the results are those of the tensors."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import all_reduce

pytestmark = pytest.mark.process
DEVICES = [f"/job:localhost/replica:0/task:{task}/device:CPU:{index}" for task in (0, 0) for index in (0, 1)]


def reduced(build, shape, count=4):
    """What each device gets, of tensors with known numbers; also their sum."""
    values = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * (number + 1) for number in range(count)]
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        tensors = []
        for value, device in zip(values, DEVICES):
            with tf.device(device):
                tensors.append(tf.constant(value))
        results = build(tensors)
        assert [each.device for each in results] == [each.device for each in tensors]
        return sess.run(results), sum(values)


def _mean(value):
    return value / 4.0


WAYS = {
    "ring": lambda tensors: all_reduce.build_ring_all_reduce(tensors, 1, 1, [0, 1, 2, 3], tf.add, _mean),
    "ring of workers": lambda tensors: all_reduce.build_ring_all_reduce(tensors, 2, 2, [1, 0], tf.add, _mean),
    "halving": lambda tensors: all_reduce.build_recursive_hd_all_reduce(tensors, tf.add, _mean),
    "shuffle": lambda tensors: all_reduce.build_shuffle_all_reduce(tensors, DEVICES[:2], tf.add_n, _mean),
    "nccl": lambda tensors: all_reduce.build_nccl_all_reduce(tensors, tf.add, _mean),
    "nccl, ring": lambda tensors: all_reduce.build_nccl_then_ring(tensors, 1, tf.add, _mean),
    "nccl, shuffle": lambda tensors: all_reduce.build_nccl_then_shuffle(tensors, DEVICES[:1], tf.add, tf.add_n, _mean),
    "shuffle, ring": lambda tensors: all_reduce.build_shuffle_then_ring(tensors, DEVICES[:1], 1, tf.add_n, tf.add, _mean),
    "shuffle, shuffle": lambda tensors: all_reduce.build_shuffle_then_shuffle(tensors, DEVICES[:1], DEVICES[:2], tf.add_n, _mean),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(16,), (4, 4), (4, 7)])
def test_everyone_gets_the_mean(way, shape):
    results, total = reduced(WAYS[way], shape)
    for each in results:
        np.testing.assert_allclose(each, total / 4, rtol=1e-6)


@pytest.mark.parametrize("length", [1, 3, 5])
def test_lengths_that_do_not_divide(length):
    results, total = reduced(WAYS["ring of workers"], (length,))
    np.testing.assert_allclose(results, [total / 4] * 4)


def test_errors():
    three = [tf.constant([1.0, 2.0])] * 3
    with pytest.raises(ValueError, match="length 2 or longer"):
        all_reduce.build_ring_all_reduce(three[:1], 1, 1, [0], tf.add)
    with pytest.raises(ValueError, match="power of 2"):
        all_reduce.build_recursive_hd_all_reduce(three, tf.add)
    with pytest.raises(ValueError, match="must be <= num_gpus"):
        all_reduce.build_ring_all_reduce(three, 1, 4, [0, 1, 2], tf.add)
    with pytest.raises(ValueError, match="NCCL"):
        all_reduce.build_nccl_all_reduce(three, tf.multiply)
    with pytest.raises(ValueError, match="statically known"):
        all_reduce.build_shuffle_all_reduce([tf.placeholder(tf.float32, [None])] * 2, [""], tf.add_n)


def test_programs_import_it_by_its_path():
    from penstock.api.contrib.all_reduce import python
    assert python.all_reduce.build_ring_all_reduce is all_reduce.build_ring_all_reduce
