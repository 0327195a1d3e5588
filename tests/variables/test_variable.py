"""Variables of both kinds: what they are, how they are read and written, and what they refuse."""
from __future__ import annotations

import numpy as np
import pytest
from tensorboard.compat.proto.variable_pb2 import VariableDef

import penstock as tf
from penstock.state.resources import Ref
from support.variables import KINDS, made


@KINDS
def test_is_a_variable(sess, resource):
    v = made(sess, [1.0, 2.0], resource, name="v")
    assert isinstance(v, tf.Variable) and v.name == "v:0" and v.op.name == "v" and v.graph is sess.graph
    assert v.dtype.base_dtype is tf.float32 and v.dtype.is_ref != resource and v.shape == (2,) and v.trainable
    assert v.op.type == ("VarHandleOp" if resource else "VariableV2")
    assert v.initializer.name == "v/Assign" and sess.run(v.initial_value).tolist() == [1, 2]
    assert {v: 1}[v] == 1 and v == v and v != tf.Variable(1.0)
    with pytest.raises(TypeError, match="not iterable"):
        list(v)


@KINDS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool", "complex64"])
def test_types(sess, resource, dtype):
    dtype = tf.as_dtype(dtype)
    v = made(sess, np.array([0, 1, 1]).astype(dtype.as_numpy_dtype), resource)
    assert sess.run(v).dtype == dtype.np and sess.run(v).tolist() == [0, 1, 1]


@KINDS
def test_writes_return_the_new_value(sess, resource):
    v = made(sess, [1.0, 2.0], resource)
    assert sess.run(v.assign([3.0, 4.0])).tolist() == [3, 4]
    assert sess.run(v.assign_add([1.0, 1.0])).tolist() == [4, 5]
    assert sess.run(v.assign_sub([2.0, 2.0]) * 10).tolist() == [20, 30]
    operation = v.assign([0.0, 0.0], read_value=False)
    assert isinstance(operation, tf.Operation) and sess.run(operation) is None and sess.run(v).tolist() == [0, 0]
    assert sess.run(tf.assign(tf.assign(v, [1.0, 1.0]), [2.0, 2.0])).tolist() == [2, 2]  # a write can be written to


@KINDS
def test_what_was_fetched_never_changes(sess, resource):
    v = made(sess, np.zeros(1000, np.float32), resource)
    seen = sess.run(v.read_value())
    also = sess.run(v)
    sess.run(v.assign_add(np.ones(1000, np.float32)))
    sess.run(tf.scatter_add(v, [0], [5.0]))
    assert not seen.any() and not also.any()
    seen[:] = 7  # and belongs to the caller
    assert sess.run(v)[:2].tolist() == [6, 1]


@KINDS
def test_what_a_write_does_to_an_earlier_read(sess, resource):
    """A resource is read once, by value; a reference is read when it is used, as in TensorFlow 1."""
    v = made(sess, [1.0, 2.0], resource)
    before = v.read_value()
    with tf.control_dependencies([before]):
        write = v.assign_add([10.0, 10.0])
    with tf.control_dependencies([write.op]):
        total = before + v.read_value()
    assert sess.run(total).tolist() == ([12, 14] if resource else [22, 24])


@KINDS
def test_sparse_update_is_in_place(sess, resource, monkeypatch):
    addresses = []

    def spy(ref, mutable=Ref.mutable):
        array = mutable(ref)
        addresses.append(array.ctypes.data)
        return array

    monkeypatch.setattr(Ref, "mutable", spy)
    v = made(sess, np.zeros((1000, 4), np.float32), resource)
    update = tf.scatter_add(v, [3, 3], np.ones((2, 4), np.float32)).op
    for _ in range(5):
        sess.run(update)
    assert len(set(addresses)) == 1 and sess.run(v)[3].tolist() == [10] * 4


@KINDS
def test_initial_value_belongs_to_the_graph(sess, resource):
    start = np.zeros(2, np.float32)
    v = made(sess, start, resource)
    start[0] = 5
    sess.run(v.assign_add([1.0, 1.0]))
    sess.run(v.initializer)
    assert sess.run(v).tolist() == [0, 0]


@KINDS
def test_state_belongs_to_the_session(sess, resource):
    v = made(sess, 1.0, resource, name="v")
    with tf.Session() as other:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            other.run(v.read_value())
        other.run(v.assign(5.0))
        assert other.run(v) == 5 and sess.run(v) == 1


@KINDS
def test_load_and_eval(sess, resource):
    v = made(sess, [1.0, 2.0], resource)
    nodes = len(sess.graph.get_operations())
    v.load([3.0, 4.0], sess)
    assert v.eval(sess).tolist() == [3, 4] and len(sess.graph.get_operations()) == nodes


def test_load_without_a_session():
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="session"):
        v.load(2.0)


@KINDS
def test_slices(sess, resource):
    v = made(sess, np.arange(6.0).reshape(2, 3), resource)
    assert sess.run(v[1]).tolist() == [3, 4, 5] and sess.run(v[:, 1:]).tolist() == [[1, 2], [4, 5]]
    assert sess.run(v[0, 1:].assign([8.0, 9.0])).tolist() == [[0, 8, 9], [3, 4, 5]]
    assert sess.run(v[v > 7.0]).tolist() == [8, 9]
    piece = v[1]
    assert sess.run(tf.gradients(piece * piece, piece)[0]).tolist() == [6, 8, 10]  # one tensor, whichever way it is reached
    assert piece is piece.op.outputs[0] and not hasattr(tf.identity(piece), "assign")


@KINDS
def test_operators(sess, resource):
    v = made(sess, [1.0, 4.0], resource)
    results = sess.run([v + 1.0, 1.0 - v, v * v, 8.0 / v, -v, v ** 2.0, abs(v), v > 2.0, v // 3.0, v % 3.0, np.ones(2, np.float32) + v])
    expected = [[2, 5], [0, -3], [1, 16], [8, 2], [-1, -4], [1, 16], [1, 4], [False, True], [0, 1], [1, 1], [2, 5]]
    assert [r.tolist() for r in results] == expected


@KINDS
def test_gradients(sess, resource):
    v = made(sess, [[1.0, 2.0], [3.0, 4.0]], resource)
    dense = tf.gradients(v * v, v)[0]
    sparse = tf.gradients(tf.gather(v, [1, 1]) * 2.0, v)[0]
    assert sess.run(dense).tolist() == [[2, 4], [6, 8]]
    assert isinstance(sparse, tf.IndexedSlices) and sess.run(sparse.indices).tolist() == [1, 1]
    assert sess.run(tf.convert_to_tensor(sparse)).tolist() == [[0, 0], [4, 4]]
    second = tf.gradients(tf.gradients(v ** 3.0, v)[0], v)[0]
    assert sess.run(second).tolist() == [[6, 12], [18, 24]]


def test_gather_gradient_of_an_unknown_shape(sess):
    v = tf.Variable(tf.placeholder_with_default(np.ones((3, 2), np.float32), None), validate_shape=False, use_resource=True)
    sess.run(v.initializer)
    gradient = tf.gradients(v.sparse_read([1, 1]), v)[0]
    with pytest.warns(UserWarning, match="unknown shape"):
        dense = tf.convert_to_tensor(gradient)
    assert sess.run(dense).tolist() == [[0, 0], [2, 2], [0, 0]]


@KINDS
def test_reads_follow_control_dependencies(sess, resource):
    v = made(sess, 1.0, resource)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v.read_value()
    assert sess.run(after) == 5


@KINDS
def test_proto_round_trip(sess, resource):
    v = made(sess, [1.0, 2.0], resource, name="v", trainable=False)
    proto = v.to_proto()
    assert isinstance(proto, VariableDef) and proto.is_resource == resource and proto.variable_name == "v:0"
    again = tf.Variable.from_proto(proto)
    assert type(again) is type(v) and again.name == v.name and again.initializer is v.initializer and not again.trainable
    assert sess.run(again.assign_add([1.0, 1.0])).tolist() == [2, 3] and sess.run(v).tolist() == [2, 3]
    assert v.to_proto(export_scope="elsewhere") is None


@KINDS
def test_import_scope(sess, resource):
    with tf.name_scope("copy"):
        inner = tf.Variable(1.0, name="v", use_resource=resource)
    proto = inner.to_proto(export_scope="copy")
    assert proto.variable_name == "v:0" and tf.Variable.from_proto(proto, import_scope="copy").name == "copy/v:0"


@KINDS
def test_shape_may_be_left_open(sess, resource):
    v = made(sess, [1.0], resource, validate_shape=False)
    assert v.shape.ndims is None
    assert sess.run(tf.assign(v, [1.0, 2.0], validate_shape=False)).tolist() == [1, 2]
    v.set_shape([None])
    assert v.shape.as_list() == [None]


def test_a_resource_variable_may_begin_with_a_value_of_unknown_shape(sess):
    begin = tf.placeholder_with_default(tf.zeros([2, 3]), shape=None)
    made = [tf.Variable(begin, use_resource=True), tf.get_variable("got", initializer=begin, use_resource=True)]
    assert [v.shape.ndims for v in made] == [None, None]
    sess.run(tf.global_variables_initializer())
    for variable in made:
        grown = tf.assign(variable, tf.concat([variable, tf.ones([1, 3])], 0), validate_shape=False)
        np.testing.assert_array_equal(sess.run(grown), [[0, 0, 0], [0, 0, 0], [1, 1, 1]])


@KINDS
def test_constructor_refuses(sess, resource):
    kind = {"use_resource": resource}
    with pytest.raises(ValueError, match=r"initial_value must be specified"):
        tf.Variable(**kind)
    if not resource:
        with pytest.raises(ValueError, match="must have a shape specified"):
            tf.Variable(tf.placeholder(tf.float32), **kind)
    with pytest.raises(ValueError, match="constraint"):
        tf.Variable(1.0, constraint=3, **kind)
    with pytest.raises(ValueError, match="collections argument"):
        tf.Variable(1.0, collections=3, **kind)
    with pytest.raises(ValueError, match="ON_READ"):
        tf.Variable(1.0, trainable=True, synchronization=tf.VariableSynchronization.ON_READ, **kind)
    with pytest.raises((TypeError, ValueError)):
        tf.Variable([1.5], dtype=tf.int32, **kind)


@KINDS
def test_concurrent_updates_are_not_lost(sess, resource):
    from concurrent.futures import ThreadPoolExecutor
    v = made(sess, np.zeros(50, np.float32), resource)
    update = v.assign_add(np.ones(50, np.float32)).op
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: sess.run(update), range(200)))
    assert sess.run(v).tolist() == [200] * 50
