"""Flips and turns: shapes that are not known, and a number of turns that is known only when it runs."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

OPS = [tf.image.flip_left_right, tf.image.flip_up_down, tf.image.random_flip_left_right, tf.image.transpose_image, tf.image.rot90]


@pytest.mark.parametrize("build", OPS)
def test_unknown_rank_is_one_image(build):
    with tf.Graph().as_default():
        assert build(tf.placeholder(tf.uint8)).shape.as_list() == [None] * 3
        with pytest.raises(ValueError, match="at least three-dimensional"):
            build(tf.placeholder(tf.uint8, [None, None]))
        with pytest.raises(ValueError, match="must be > 0"):
            build(tf.placeholder(tf.uint8, [64, 0, 3]))


def test_turns_by_a_tensor():
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        k = tf.placeholder(tf.int32, [])
        rotated = tf.image.rot90(image, k)
        assert rotated.shape.as_list() == [None, None, 3]
        assert tf.image.rot90(image[None], k).shape.as_list() == [1, None, None, 3]
        for turns in (-1, 0, 1, 2, 3, 4, 6):
            np.testing.assert_array_equal(sess.run(rotated, {k: turns}), np.rot90(image, turns))


@pytest.mark.parametrize("build", [lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 1, 1), lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 4, 4),
                                   lambda x: tf.image.resize_image_with_crop_or_pad(x, 1, 1)])
def test_empty_images(build):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None] * 3)
        cut = build(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be > 0"):
            sess.run(cut, {x: np.zeros([2, 2, 0])})
        with pytest.raises(ValueError, match="must be > 0"):
            build(np.zeros([0, 2, 2]))
        assert sess.run(cut, {x: np.ones([1, 1, 1])}).max() == 1


@pytest.mark.parametrize("size", [[6, 4.5], [6, None]])
def test_sizes_are_integers(size):
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be a 1-D int32 Tensor"):
        tf.image.resize_images(np.zeros([2, 2, 3]), size)
