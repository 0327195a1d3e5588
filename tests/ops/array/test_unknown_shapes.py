"""Array ops give the same values and gradients whether shapes are known while the graph is built or not."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

GRID = np.arange(12.0).reshape(3, 4)
ROWS = np.array([2, 0, 2], np.int32)

FUNCTIONS = {
    "reshape": lambda x: tf.reshape(x, tf.concat([tf.shape(x)[1:], [-1]], 0)),
    "transpose": lambda x: tf.transpose(x),
    "transpose by perm": lambda x: tf.transpose(x, tf.placeholder_with_default([1, 0], None)),
    "expand_dims": lambda x: tf.expand_dims(x, tf.placeholder_with_default(1, [])),
    "concat": lambda x: tf.concat([x, x * 2, x[:, :1]], 1),
    "concat along unknown axis": lambda x: tf.concat([x, x * 2], tf.placeholder_with_default(0, [])),
    "many values": lambda x: tf.concat([x * float(i) for i in range(20)], 1),
    "stack": lambda x: tf.stack([x, x * x], axis=1),
    "unstack": lambda x: tf.unstack(x, 3)[1],
    "split": lambda x: tf.split(x, 2, axis=1)[1],
    "split sizes": lambda x: tf.split(x, [1, -1], axis=1)[1],
    "slice": lambda x: tf.slice(x, [1, 0], [-1, 2]),
    "strided slice": lambda x: x[1:, ::-2],
    "pad": lambda x: tf.pad(x, [[1, 0], [2, 1]]),
    "pad by tensor": lambda x: tf.pad(x, tf.placeholder_with_default([[1, 0], [2, 1]], [2, 2])),
    "mirror pad": lambda x: tf.pad(x, [[1, 0], [2, 1]], "REFLECT"),
    "tile": lambda x: tf.tile(x, [2, 3]),
    "tile by tensor": lambda x: tf.tile(x, tf.placeholder_with_default([2, 3], [2])),
    "gather": lambda x: tf.gather(x, ROWS),
    "gather matrix": lambda x: tf.gather(x, ROWS[:, None]),
    "gather columns": lambda x: tf.gather(x, ROWS, axis=-1),
    "gather along unknown axis": lambda x: tf.gather(x, ROWS, axis=tf.placeholder_with_default(1, [])),
    "batch gather": lambda x: tf.batch_gather(x, ROWS[:, None]),
    "gather_nd": lambda x: tf.gather_nd(x, np.array([[0, 1], [0, 1], [2, 3]], np.int32)),
    "boolean_mask": lambda x: tf.boolean_mask(x, GRID % 3 == 0),
    "boolean_mask rows": lambda x: tf.boolean_mask(x, [True, False, True]),
    "reverse": lambda x: tf.reverse(x, [0]),
    "roll": lambda x: tf.roll(x, 2, 1),
    "where": lambda x: tf.where(GRID > 5, x * x, x),
    "where_v2": lambda x: tf.where_v2(GRID[:, :1] > 3, x, 1.0),
    "top_k": lambda x: tf.nn.top_k(x, 2).values,
    "sort": lambda x: tf.sort(-x, direction="DESCENDING"),
    "dynamic_partition": lambda x: tf.dynamic_partition(x, ROWS, 3)[2],
    "dynamic_stitch": lambda x: tf.dynamic_stitch([[0, 2], [1, 3, 4]], [x[:2], x]),
    "repeat": lambda x: tf.repeat(x, 2, axis=0),
    "repeat each": lambda x: tf.repeat(x, [1, 0, 2], axis=0),
    "space_to_batch": lambda x: tf.space_to_batch_nd(x, [2], [[0, 0]]),
    "tensor_scatter_update": lambda x: tf.tensor_scatter_update(x, [[1]], x[:1]),
}

GATHERED = {  # ops whose gradient comes in as IndexedSlices
    "row of zeros in front": lambda x: tf.concat([tf.zeros([1, 4], tf.float64), x], 0),
    "rows from two": lambda x: tf.concat([x * 2, x], 0),
    "columns from two": lambda x: tf.concat([x * 2, x], 1),
    "columns, counted from the end": lambda x: tf.concat([x * 2, x], -1),
    "gather": lambda x: tf.gather(x, ROWS),
    "gather_nd": lambda x: tf.gather_nd(x, ROWS[:, None]),
    "reshape": lambda x: tf.reshape(x, [-1, 2]),
    "transpose": lambda x: tf.transpose(x),
    "slice": lambda x: x[:, 1:],
    "pad": lambda x: tf.pad(x, [[1, 1], [0, 1]]),
    "tile": lambda x: tf.tile(x, [2, 1]),
    "where_v2": lambda x: tf.where_v2(GRID > 5, x, 0.0),
    "where": lambda x: tf.where(GRID > 5, x, -x),
    "broadcast_to": lambda x: tf.broadcast_to(x, [2, 3, 4]),
    "stack": lambda x: tf.stack([x, -x]),
    "identity": lambda x: tf.identity(x),
    "stop": lambda x: tf.identity_n([x, x])[1],
}


def _weighted(result):
    """A scalar that depends on each element in its own way."""
    flat = tf.reshape(result, [-1])
    return tf.reduce_sum(flat * flat * tf.cast(tf.range(1, tf.size(flat) + 1), tf.float64))


def _run(function, shape):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, shape)
        result = function(x)
        gradient = tf.convert_to_tensor(tf.gradients(_weighted(result), x)[0])
        return session.run([result, gradient], {x: GRID})


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [[None, 4], [3, None], [None, None], None], ids=str)
def test_same_as_with_known_shapes(name, shape):
    if shape is None and name.startswith("repeat"):
        pytest.skip("tf.repeat needs a known rank")
    function = FUNCTIONS[name]
    for got, wanted in zip(_run(function, shape), _run(function, [3, 4])):
        np.testing.assert_allclose(got, wanted)


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("name", GATHERED)
@pytest.mark.parametrize("shape", [[3, 4], [None, None]], ids=str)
def test_gradients_of_gathered_rows(name, shape):
    """Rows picked by a gather and by a product with a matrix of zeros and ones have the same gradient."""
    def by_index(x):
        return tf.gather(GATHERED[name](x), [1, 0, 1])

    def by_product(x):
        rows = GATHERED[name](x)
        return tf.tensordot(tf.one_hot([1, 0, 1], tf.shape(rows)[0], dtype=tf.float64), rows, 1)

    for got, wanted in zip(_run(by_index, shape), _run(by_product, [3, 4])):
        np.testing.assert_allclose(got, wanted)


def test_rows_of_zeros_in_front_of_an_embedding_leave_its_gradient_sparse():
    table = tf.Variable(np.ones((5, 2), np.float32))
    with_zeros = tf.concat([tf.zeros([1, 2]), table], 0)
    gradient = tf.gradients(tf.gather(with_zeros, [0, 3, 3]), table)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    with tf.Session() as session:
        session.run(table.initializer)
        values, indices = session.run([gradient.values, gradient.indices])
    np.testing.assert_array_equal(indices, [2, 2])
    np.testing.assert_array_equal(values, np.ones((2, 2)))


def test_shapes_of_placeholders_without_one():
    """A size of batches that is fed, ``tf.placeholder(tf.int32)``, beside extents that are known."""
    size = tf.placeholder(tf.int32)
    assert tf.zeros([size, 3]).shape.as_list() == [None, 3]
    assert tf.fill([4, size], 1.0).shape.as_list() == [4, None]
    assert tf.reshape(tf.placeholder(tf.float32), tf.stack([size, size, 5])).shape.as_list() == [None, None, 5]
