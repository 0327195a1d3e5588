"""What an error says about a checkpoint that does not fit the graph."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.checkpoints import saved


@pytest.mark.parametrize("use_resource", [False, True])
def test_what_does_not_fit_is_told(tmp_path, use_resource):
    """Each variable whose shape or type differs: what it is in the file, and what in the graph."""
    path = saved(tmp_path, fits=np.float32([1, 2]), shape=np.float32([1, 2]), parts=np.zeros((4, 2), np.float32))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("fits", [2], use_resource=use_resource)
        tf.get_variable("shape", [3], use_resource=use_resource)
        tf.get_variable("parts", [6, 2], partitioner=tf.fixed_size_partitioner(2), use_resource=use_resource)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.train.Saver().restore(sess, path)
    text = caught.value.message
    assert "\n  shape: float32[2] in the checkpoint, float32(3,) in the graph\n" in text and "fits:" not in text
    assert "\n  parts: float32[4, 2] in the checkpoint, float32(6, 2) in the graph\n" in text
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("shape", [2], tf.int32, use_resource=use_resource, initializer=tf.zeros_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape: float32\[2\] in the checkpoint, int32\(2,\) in the graph"):
            tf.train.Saver().restore(sess, path)
    assert tf.train.NewCheckpointReader(path).debug_string() == b"fits (DT_FLOAT) [2]\nparts (DT_FLOAT) [4,2]\nshape (DT_FLOAT) [2]\n"
