"""Values and shapes that TensorFlow 1.15 refuses, or takes in a way of its own."""
import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("make", [lambda: tf.placeholder(tf.float32, [2, -1]), lambda: tf.TensorShape([-1]),
                                  lambda: tf.placeholder(tf.float32).set_shape([-1])])
def test_minus_one_is_no_extent(make):
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        make()


def test_minus_one_is_an_unknown_extent_of_sparse_placeholders_and_padded_batches():
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.sparse_placeholder(tf.float32, [2, -1]).shape.as_list() == [None, None]
        batch = tf.data.Dataset.range(3).map(lambda n: tf.fill([n], n)).padded_batch(3, [-1]).make_one_shot_iterator().get_next()
        np.testing.assert_array_equal(session.run(batch), [[0, 0], [1, 0], [2, 2]])


@pytest.mark.parametrize("make", [lambda: tf.constant([tf.constant(1), 2]), lambda: tf.constant([None]), lambda: tf.constant([None], tf.float32),
                                  lambda: tf.constant([1, None])])
def test_what_has_no_value_inside_a_list_is_a_type_error(make):
    with tf.Graph().as_default(), pytest.raises(TypeError):
        make()


def test_none_alone_is_a_value_error():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="None values"):
        tf.constant(None)


def test_case_of_python_results():
    with tf.Graph().as_default(), tf.Session() as session:
        picked = tf.placeholder(tf.bool, [])
        assert tf.case([(picked, lambda: 1)]) == 1
        chosen = tf.case([(picked, lambda: 1), (tf.constant(False), lambda: 5)], lambda: 2, exclusive=True)
        assert [session.run(chosen, {picked: value}) for value in (True, False)] == [1, 2]


def test_switch_case_keeps_lists_of_one():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.switch_case(tf.constant(1), [lambda: [1], lambda: [2]])) == [2]


def test_einsum_of_one_label_twice_is_the_trace():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.einsum("ii", tf.constant([[1.0, 2.0], [3.0, 4.0]]))) == 5.0


def test_a_cast_to_its_own_type_leaves_a_resource_variable():
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [2], use_resource=True)
        assert tf.cast(variable, tf.float32) is variable


def test_a_scalar_size_with_a_method_is_no_height_and_width():
    with tf.Graph().as_default():
        images = tf.zeros([1, 6, 4, 1])
        with pytest.raises(ValueError, match="size"):
            tf.image.resize_images(images, tf.constant(4), tf.image.ResizeMethod.BILINEAR)
        assert tf.image.resize_images(images, tf.constant(4), 5).shape.as_list()[-1] == 1
