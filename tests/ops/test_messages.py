"""Errors that programs match by their text: the beginning of what TensorFlow 1.15 says, in the same class of error."""
from __future__ import annotations

import re

import numpy as np
import pytest

import penstock as tf
from penstock.ops.queues.barrier import Barrier

pytestmark = pytest.mark.process


def accumulated(indices, values, shape=(2, 2, None), **options):
    return tf.SparseConditionalAccumulator(tf.float32, shape).apply_grad(indices, np.array(values, np.float32), **options)


def fed(function, value, dtype=tf.float32):
    x = tf.placeholder(dtype)
    return function(x), {x: value}


def shared_barriers():
    first, second = (Barrier((dtype,), shapes=((),), shared_name="messages") for dtype in (tf.float32, tf.int32))
    with tf.control_dependencies([first.ready_size()]):
        return second.ready_size()


INVALID = tf.errors.InvalidArgumentError
CASES = {
    "scan": (INVALID, "ScanOp: axis must be a scalar, not [1]", lambda: tf.cumsum(np.ones((2, 3)), [0])),
    "betainc ranks": (ValueError, "Shapes must be equal rank, but are 1 and 2", lambda: tf.betainc(0.5, [0.5], [[0.5]])),
    "betainc": (ValueError, "Dimension 0 in both shapes must be equal, but are 2 and 1", lambda: tf.betainc([0.5, 0.4], [0.5], 0.5)),
    "betainc running": (INVALID, "Shapes of b and x are inconsistent: [2] vs. [1,1]",
                        lambda: tf.betainc(0.5, tf.placeholder_with_default([0.5, 0.4], None), tf.placeholder_with_default([[0.5]], None))),
    "sparse product": (INVALID, "k (9) from index[0,1] out of bounds (>=2)",
                       lambda: tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 9]], [1.0], [2, 2]), np.ones((2, 2), np.float32))),
    "sparse product, adjoint": (INVALID, "m (9) from index[0,1] out of bounds (>=2)", lambda: tf.sparse_tensor_dense_matmul(
        tf.SparseTensor([[0, 9]], [1.0], [2, 2]), np.ones((2, 2), np.float32), adjoint_a=True)),
    "lengths of a transform": (ValueError, "must have rank 1", lambda: tf.spectral.rfft(np.zeros(4, np.float32), [[2]])),
    "number of lengths": (ValueError, "Dimension must be 1 but is 2", lambda: tf.spectral.rfft(np.zeros(4, np.float32), [2, 2])),
    "negative length": (INVALID, "fft_length[0] must be >= 0, but got: -1", lambda: tf.spectral.rfft(np.zeros(4, np.float32), [-1])),
    "gather nothing": (INVALID, "Requested more than 0 entries, but params is empty.  Params shape: [0,3]",
                       lambda: tf.gather_nd(np.zeros((0, 3)), np.zeros((1, 2), np.int32))),
    "gather": (INVALID, "indices[0,1] = [7] does not index into param shape [3]", lambda: tf.gather_nd([0, 1, 2], [[[0], [7]]])),
    "scatter": (INVALID, "indices[0] = [-1] does not index into shape [6]", lambda: tf.scatter_nd([[-1], [0]], [1.0, 2.0], [6])),
    **{f"segments {ids}": (INVALID, words, lambda ids=ids: tf.segment_sum(np.ones((4, 2)), ids)) for ids, words in {
        (0, 0, 0, -1): "segment ids must be >= 0",
        (-1, -1, 0, 0): "Segment id -1 out of range [0, 1), possibly because 'segment_ids' input is not sorted",
        (0, 1, 0, 1): "segment ids are not increasing", (0, 1, 2, 0): "Segment id 1 out of range [0, 1)",
        (0, 2, 1, 1): "segment ids are not increasing"}.items()},
    **{f"segments of rows {ids}": (INVALID, words, lambda ids=ids: tf.sparse_segment_mean(np.ones((9, 2)), [8, 3, 0, 7], ids, num_segments=3))
       for ids, words in {(0, 0, 0, -1): "segment ids are not increasing", (-2, -2, -2, -2): "Segment id -2 out of range [0, 3)",
                          (0, 0, 3, 3): "segment ids must be < num_segments"}.items()},
    "gradient of segments of rows": (INVALID, "Segment id -1 out of range [0, 3).", lambda: tf.raw_ops.SparseSegmentMeanGrad(
        grad=np.ones((3, 2)), indices=[8, 3, 0, 7], segment_ids=[0, -1, -1, 0], output_dim0=9)),
    "unsorted segments": (INVALID, "segment_ids[0,0] = 7 is out of range [0, 2)", lambda: tf.unsorted_segment_sum([[17]], [[7]], 2)),
    "sparse ranks": (INVALID, "Operands do not have the same ranks; got shapes: 2 2 and 2", lambda: tf.sparse_maximum(
        tf.SparseTensor([[0, 0]], [1.0], [2, 2]), tf.SparseTensor([[0]], [1.0], [2])).values),
    "sparse shapes": (INVALID, "Operands' shapes do not match: got 2 and 3 for dimension 1", lambda: tf.sparse_maximum(
        tf.SparseTensor([[0, 0]], [1.0], [2, 2]), tf.SparseTensor([[0, 0]], [1.0], [2, 3])).values),
    "scatter into nothing": (ValueError, "Indices and updates specified for empty output shape",
                             lambda: tf.scatter_nd(tf.zeros([2, 2, 2], tf.int32), tf.zeros([2, 2, 2]), [0, 3, 2])),
    "outer": (ValueError, "The outer 2 dimensions of indices.shape=[3,2,2] must match the outer 2 dimensions of updates.shape=[2,2,2]: "
              "Dimension 0 in both shapes must be equal, but are 3 and 2. Shapes are [3,2] and [2,2].",
              lambda: tf.scatter_nd(tf.zeros([3, 2, 2], tf.int32), tf.zeros([2, 2, 2]), [2, 2, 2])),
    "inner": (ValueError, "The inner 2 dimensions of input.shape=[2,2,2] must match the inner 0 dimensions of updates.shape=[2,2]: "
              "Shapes must be equal rank, but are 2 and 0",
              lambda: tf.scatter_nd_update(tf.Variable(tf.zeros([2, 2, 2])), tf.zeros([2, 2, 1], tf.int32), tf.zeros([2, 2]))),
    "paddings": (ValueError, "paddings cannot be negative", lambda: tf.space_to_batch_nd(np.zeros((1, 3, 3, 1)), [2, 2], [[1, -1], [1, 1]])),
    "packing": (TypeError, "Cannot convert a list containing a tensor of dtype <dtype: 'float32'> to <dtype: 'float64'> (Tensor is: ",
                lambda: tf.convert_to_tensor([tf.constant([0.0], tf.float64), tf.constant([0.0])])),
    "one_hot": (TypeError, "dtype <dtype: 'float32'> of on_value does not match dtype parameter <class 'numpy.int32'>",
                lambda: tf.one_hot([0], 3, on_value=np.float32(1.0), dtype=np.int32)),
    "one_hot values": (TypeError, "dtype <dtype: 'float32'> of on_value does not match dtype <dtype: 'int32'> of off_value",
                       lambda: tf.one_hot([0], 3, on_value=1.0, off_value=0)),
    "constants": (ValueError, "Too many elements provided. Needed at most 2, but received 3", lambda: tf.constant([1, 2, 3], shape=[2])),
    "accumulator indices": (INVALID, "Input indices should be vector but received shape: [2,2]",
                            lambda: accumulated(np.ones((2, 2), np.int64), [1.0, 2.0])),
    "accumulator values": (INVALID, "Values cannot be 0-dimensional.", lambda: accumulated([0], 1.0)),
    "accumulator rank": (INVALID, "Shape mismatch: expected shape rank at least 3, got 2", lambda: accumulated([0], [[1.0]], grad_shape=[2, 2])),
    "barriers": (INVALID, "Shared barrier 'messages' has component types", shared_barriers),
    "barrier without elements": (INVALID, "Tensors with no elements are not supported",
                                 lambda: Barrier((tf.float32,)).insert_many(0, ["a"], np.zeros((1, 0), np.float32))),
    "images": (ValueError, "all dims of 'image.shape' must be > 0: (1, 0, 2, 2)",
               lambda: tf.image.crop_to_bounding_box(np.zeros((0, 2, 2)), 0, 0, 1, 1)),
    "split": (ValueError, "sp_input is required", lambda: tf.sparse_split(num_split=2, axis=1)),
    "split number": (ValueError, "num_split is required", lambda: tf.sparse_split(sp_input=tf.SparseTensor([[0, 0]], [1.0], [1, 1]), axis=1)),
    "join": (ValueError, "Invalid reduction dimension 0 for input with 0 dimensions.", lambda: tf.reduce_join("", 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_texts(case):
    kind, text, build = CASES[case]
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(kind, match=re.escape(text)):
            made = build()
            session.run(tf.global_variables_initializer())
            session.run(made)


def test_what_is_no_error():
    with tf.Graph().as_default(), tf.Session() as session:
        values = [tf.constant([], shape=[2]), tf.constant([1.0, 2.0], shape=[0]), tf.constant(-np.inf, shape=[0, 3]),
                  tf.fft(np.zeros((3, 0), np.complex64)), tf.ifft2d(np.zeros((0, 0), np.complex64))]
        assert [value.shape for value in session.run(values)] == [(2,), (0,), (0, 3), (3, 0), (0, 0)]
        assert tf.convert_to_tensor([tf.constant([0.0], tf.float64)], tf.float32).dtype == tf.float32
        image = tf.placeholder(tf.float32)
        for cropped in (tf.image.crop_to_bounding_box(image, 0, 0, 5, 6), tf.image.pad_to_bounding_box(image, 0, 0, 5, 6),
                        tf.image.resize_image_with_crop_or_pad(image, 5, 6)):
            assert cropped.shape.as_list() == [5, 6, None]
        accumulator = tf.SparseConditionalAccumulator(tf.float32, [2, None])
        session.run(accumulator.apply_grad([0], np.ones((1, 1, 1, 2), np.float32)))
        assert session.run(accumulator.take_grad(1))[2].tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("dtype, kind, same", [(tf.int32, int, False), (tf.string, str, False), (tf.complex128, complex, False),
                                               (tf.float32, float, True), (tf.bool, bool, True), (tf.string, object, True)])
def test_types_of_python(dtype, kind, same):
    assert (dtype == kind) is same
