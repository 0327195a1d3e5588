"""Inputs of wrong ranks that are known only in the step: the errors have the words of TensorFlow's kernels."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

# {name: (the fed value, what is computed of it, the words of TensorFlow 1.15)}
CASES = {
    "concat": ([0], lambda p: tf.concat([[1], [2]], p), "axis tensor should be a scalar integer, but got shape [1]"),
    "fill": (3, lambda p: tf.fill(p, 1), "dims must be a vector, got shape []"),
    "value of fill": ([3], lambda p: tf.fill([2], p), "value must be a scalar, got shape [1]"),
    "random_uniform": (3, lambda p: tf.random_uniform(p), "shape must be a vector of {int32,int64}, got shape []"),
    "broadcast_to": (3, lambda p: tf.broadcast_to([1], p), "shape must be a vector of {int32,int64}, got shape []"),
    "range": ([0], lambda p: tf.range(p, 5, 1), "start must be a scalar, not shape [1]"),
    "linspace": ([4], lambda p: tf.linspace(0.0, 1.0, p), "num must be a scalar, not shape [1]"),
    "reshape": (1, lambda p: tf.reshape([7], p), "sizes input must be 1-D, not []"),
    "reshape of a matrix": ([[1]], lambda p: tf.reshape([7], p), "sizes input must be 1-D, not [1,1]"),
    "ShardedFilename": ([1], lambda p: tf.raw_ops.ShardedFilename(basename="a", shard=0, num_shards=p), "num_shards must be a scalar, got shape [1]"),
    "slice": (0, lambda p: tf.slice(np.arange(10), p, p),
              "Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [] and [] instead."),
    "strided_slice": ([3], lambda p: tf.constant([1, 2])[p],
                      "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [1,1], [1,1], and [1] instead."),
    "sparse_to_dense": (3, lambda p: tf.sparse_to_dense(1, p, 4), "output_shape should be a vector, got shape []"),
    "values of sparse_to_dense": ([[5], [3]], lambda p: tf.sparse_to_dense([1, 3], [5], p, -1),
                                  "sparse_values has incorrect shape [2,1], should be [] or [2]"),
    "default of sparse_to_dense": ([0], lambda p: tf.sparse_to_dense([1, 3], [5], [1, 2], p), "default_value should be a scalar."),
    "tile": (1, lambda p: tf.tile([7], p), "Expected multiples to be 1-D, but got shape []"),
    "unsorted_segment_sum": ([4], lambda p: tf.unsorted_segment_sum([1, 2], [0, 1], p), "num_segments should be a scalar, not shape [1]"),
    "one_hot": ([4], lambda p: tf.one_hot([1, 2], p), "depth must be a scalar, but got: [1]"),
    "argmax": ([0], lambda p: tf.argmax([1, 2], p), "dim must be a scalar, but received tensor of shape: [1]"),
    "reverse": (0, lambda p: tf.reverse([1, 2], p), "'dims' must be 1-dimension, not 0"),
    "top_k": ([1], lambda p: tf.nn.top_k([1, 2], p), "k must be scalar, got shape [1]"),
    "multinomial": ([1], lambda p: tf.multinomial([[0.0, 1.0]], p), "num_samples should be a scalar, got shape [1]"),
    "cross entropy": (0, lambda p: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p, logits=[[1.0]]), "labels must be 1-D, but got shape []"),
    "transpose": ([0, 1, 1], lambda p: tf.transpose(np.zeros([2, 3, 5]), p), "2 is missing from {0,1,1}."),
}


@pytest.mark.parametrize("name", CASES)
def test_words_of_kernels(name):
    value, compute, words = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.int32)
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(compute(fed), {fed: value})
    assert str(error.value).startswith(words)


def test_what_the_graph_does_not_refuse():
    with tf.Graph().as_default(), tf.Session() as session:
        for made, words in ((tf.transpose(np.zeros([2, 3, 5]), [0, 1, 1]), "2 is missing from {0,1,1}"),
                            (tf.sparse_to_dense([1, 3], [5], [1, 2], [0]), "default_value should be a scalar")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(made)
        with pytest.raises(ValueError, match="Shape must be at least rank 2 but is rank 1"):
            tf.gather([1, 2], [0], axis=1)
        with pytest.raises(ValueError, match="should evenly divide the split dimension"):
            tf.split(tf.zeros([4]), 3)
        with pytest.raises(ValueError, match="Can not squeeze dim"):
            tf.confusion_matrix([1, 2, 3], [[1, 2, 3]])
        with pytest.raises(ValueError, match=r"also pass a local_init_op , .*ready_for_local_init_op \["):
            tf.train.SessionManager(ready_for_local_init_op=tf.no_op())
