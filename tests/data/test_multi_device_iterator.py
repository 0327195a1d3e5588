"""Iterators whose elements go to several devices in turn."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.data.multi_device_iterator import MultiDeviceIterator
from support.process import python

DEVICES = ["/cpu:0", "/cpu:1"]


def test_devices_take_turns_and_an_initializer_begins_anew():
    iterator = MultiDeviceIterator(tf.data.Dataset.range(5).map(lambda x: {"x": x, "y": 2 * x}), DEVICES, max_buffer_size=2)
    first, second = iterator.get_next()
    assert [element["x"].device for element in (first, second)] == ["/device:CPU:0", "/device:CPU:1"]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        for _ in range(2):
            sess.run(iterator.initializer)
            assert sess.run([first, second]) == [{"x": 0, "y": 0}, {"x": 1, "y": 2}]
            assert sess.run([first, second]) == [{"x": 2, "y": 4}, {"x": 3, "y": 6}]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run([first, second])


def test_the_element_of_one_device():
    iterator = MultiDeviceIterator(tf.data.Dataset.range(4), DEVICES)
    element = iterator.get_next(DEVICES[1])
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(iterator.initializer)
        assert [sess.run(element), sess.run(element)] == [1, 3]
    with pytest.raises(ValueError, match="not among the devices"):
        iterator.get_next("/cpu:2")
    with pytest.raises(ValueError, match="one device at least"):
        MultiDeviceIterator(tf.data.Dataset.range(4), [])


def test_benchmarks_of_networks_import_them():
    python("""
        import penstock
        penstock.install_as_tensorflow()
        import tensorflow as tf
        from tensorflow.python.data.ops import multi_device_iterator_ops
        from tensorflow.python.ops import collective_ops

        assert multi_device_iterator_ops.MultiDeviceIterator.__module__ == "penstock.data.multi_device_iterator"
        try:
            collective_ops.all_reduce(tf.constant(1.0), 2, 1, 1, "Add", "Id")
        except tf.errors.UnimplementedError as error:
            assert "tf.distribute" in str(error)
        else:
            raise AssertionError("collectives are not there")""")
