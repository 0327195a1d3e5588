"""Writes as functions."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.variables import KINDS, made


@KINDS
def test_batch_scatter_update(sess, resource):
    v = made(sess, np.zeros((2, 3), np.float32), resource)
    slices = tf.IndexedSlices(tf.constant([[5.0], [6.0]]), tf.constant([[2], [0]]))
    assert sess.run(v.batch_scatter_update(slices)).tolist() == [[0, 0, 5], [6, 0, 0]]
    with pytest.raises(ValueError, match="not IndexedSlices"):
        v.scatter_add([1.0])
