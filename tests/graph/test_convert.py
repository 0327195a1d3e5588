"""convert_to_tensor: Python values, arrays, users' types; and arrays as TensorProtos."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("value, dtype, shape", [
    (1, "int32", []), (1.5, "float32", []), (True, "bool", []), ("text", "string", []), (b"bytes", "string", []), (1j, "complex128", []),
    (2 ** 40, "int64", []), ([1, 2], "int32", [2]), ([1, 2.5], "float32", [2]), ([[1], [2]], "int32", [2, 1]), ([], "float32", [0]),
    ([[]], "float32", [1, 0]), ((1, 2), "int32", [2]), (np.float64(1), "float64", []), (np.int64(3), "int64", []), (np.arange(3), "int64", [3]),
    (np.zeros((2, 3), np.float16), "float16", [2, 3]), ([np.float32(1), np.float32(2)], "float32", [2]), (np.array(["a", "b"]), "string", [2]),
    ([True, False], "bool", [2]), ([np.log(2.0), 3.0], "float32", [2]), ([np.float64(1)], "float32", [1]), ([np.int64(1), 2], "int32", [2]),
    ([np.int32(1), 2.5], "float32", [2]), ([np.int64(2 ** 40)], "int64", [1]), ([np.float16(1)], "float16", [1]), ([np.zeros(2)], "float64", [1, 2]),
])
def test_types_and_shapes_of_python_values(value, dtype, shape):
    tensor = tf.convert_to_tensor(value)
    assert tensor.dtype.name == dtype
    assert tensor.shape.as_list() == shape


@pytest.mark.parametrize("value, dtype", [(1, tf.float32), (1.0, tf.float64), ([1, 2], tf.int64), (1, tf.complex64), (np.float64(1.5), tf.float32),
                                          ([1, 2], tf.uint8), (True, tf.bool), (np.arange(3), tf.int32), (0.1, tf.float16), (1, tf.bfloat16)])
def test_requested_types(value, dtype):
    assert tf.convert_to_tensor(value, dtype).dtype == dtype


@pytest.mark.parametrize("value, dtype, error", [
    (1.5, tf.int32, TypeError), ("a", tf.float32, (TypeError, ValueError)), (1, tf.string, TypeError), (300, tf.bool, TypeError),
    (None, None, ValueError),
    ([None], None, (TypeError, ValueError)), ([1, "a"], None, (TypeError, ValueError)), ([[1], [2, 3]], None, ValueError),
    (object(), None, TypeError), ({"a": 1}, None, TypeError), (1j, tf.float32, TypeError),
])
def test_what_does_not_convert(value, dtype, error):
    with pytest.raises(error):
        tf.convert_to_tensor(value, dtype)


def test_a_tensor_is_itself():
    tensor = tf.constant(1.0)
    assert tf.convert_to_tensor(tensor) is tensor
    assert tf.convert_to_tensor(tensor, tf.float32) is tensor
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tensor, tf.int32)


def test_preferred_type():
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor("a", preferred_dtype=tf.float32).dtype == tf.string


def test_constants_do_not_follow_their_array():
    array = np.zeros(2)
    tensor = tf.constant(array)
    array[0] = 5
    with tf.Session() as session:
        assert session.run(tensor).tolist() == [0, 0]


def test_lists_of_tensors_are_stacked():
    a, b = tf.constant(1.0), tf.constant(2.0)
    tensor = tf.convert_to_tensor([a, b])
    assert tensor.op.type == "Pack" and tensor.shape.as_list() == [2]
    mixed = tf.convert_to_tensor([[a, 3.0], [4.0, b]])
    with tf.Session() as session:
        assert session.run(mixed).tolist() == [[1, 3], [4, 2]]


class Celsius:
    def __init__(self, degrees):
        self.degrees = degrees


def test_conversion_functions_of_users():
    tf.register_tensor_conversion_function(Celsius, lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees, dtype, name=name))
    tensor = tf.identity(Celsius(20.0))
    assert tensor.dtype == tf.float32
    with tf.Session() as session:
        assert session.run(tensor) == 20.0


def test_shapes_convert():
    assert tf.convert_to_tensor(tf.TensorShape([2, 3])).dtype == tf.int32
    assert tf.convert_to_tensor(tf.Dimension(3)).dtype == tf.int32
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.TensorShape([2, None]))


@pytest.mark.parametrize("value, dtype, shape", [
    (np.arange(6, dtype=np.float32).reshape(2, 3), None, None), (np.arange(3, dtype=np.int64), None, None), ([1, 2, 3], tf.int16, None),
    ([True, False], None, None), ([b"a", b"bc"], None, None), ([1 + 2j], tf.complex64, None), (np.array([0.5, 1.5], np.float16), None, None),
    (7, tf.int32, [2, 2]), (np.zeros((0, 3), np.float64), None, None), ([1, 2], tf.uint8, None),
])
def test_tensor_protos_round_trip(value, dtype, shape):
    proto = tf.make_tensor_proto(value, dtype=dtype, shape=shape)
    again = tf.make_ndarray(type(proto).FromString(proto.SerializeToString()))
    wanted = np.full(shape, value) if shape else np.asarray(value)
    assert again.tolist() == wanted.tolist() and again.shape == wanted.shape


def test_tensor_protos_of_one_value_or_exactly_as_many():
    assert tf.make_ndarray(tf.make_tensor_proto([3], shape=[2, 2], allow_broadcast=True)).tolist() == [[3, 3], [3, 3]]
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[2, 1], allow_broadcast=True)).tolist() == [[1], [2]]
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[3])).tolist() == [1, 2, 2]
    for wanted in ({"allow_broadcast": True}, {"verify_shape": True}):
        with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), got \(2,\)."):
            tf.make_tensor_proto([1, 2], shape=[3], **wanted)
    with pytest.raises(ValueError, match="not both allowed"):
        tf.make_tensor_proto([1, 2], allow_broadcast=True, verify_shape=True)


def test_tensor_protos_of_repeated_values():
    """Old programs write one value for many."""
    proto = tf.make_tensor_proto(0.0, dtype=tf.float32)
    proto.ClearField("tensor_content")
    del proto.float_val[:]
    proto.float_val.append(3.0)
    proto.tensor_shape.dim.add(size=4)
    assert tf.make_ndarray(proto).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("value, dtype", [(0.1, tf.float32), (3, tf.int64), (True, tf.bool), (0.5, tf.bfloat16), (1 + 2j, tf.complex64)])
def test_a_large_constant_of_one_value_is_written_as_that_value(value, dtype):
    """As by TensorFlow: the slots of an optimizer begin so, and every worker of a cluster sends its graph."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        many = tf.constant(value, dtype, shape=[1025, 1024], name="many")
        assert graph.as_graph_def().ByteSize() < 500
        variable = tf.Variable(many)
        session.run(variable.initializer)
        wanted = np.full([1025, 1024], value, dtype.as_numpy_dtype)
        assert np.array_equal(session.run(variable), wanted) and np.array_equal(session.run(many), wanted)
        definition = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        again, = tf.import_graph_def(definition, return_elements=["many:0"])
        result = session.run(again)
        assert np.array_equal(result, wanted) and result.dtype == wanted.dtype
        result[0, 0] = 0  # it is the caller's
        assert np.array_equal(session.run(again), wanted)


@pytest.mark.parametrize("value, dtype, wanted", [(True, tf.float32, 1.0), ([True, False], tf.float32, [1.0, 0.0]), ([True, False], tf.int32, [1, 0]),
                                                  (True, tf.complex64, 1 + 0j)])
def test_truth_values_are_numbers_where_numbers_are_asked_for(value, dtype, wanted):
    with tf.Session() as session:
        assert session.run(tf.constant(value, dtype)).tolist() == wanted
        assert session.run(tf.constant([2.0, 3.0]) * True).tolist() == [2.0, 3.0]


def test_integers_beyond_all_types_are_a_type_error():
    with pytest.raises(TypeError, match="Failed to convert"):
        tf.constant(2 ** 64)


def test_a_constant_without_elements_takes_any_value():
    assert tf.constant(1.5, tf.float32, shape=[0, 3]).shape.as_list() == [0, 3]
    with pytest.raises(ValueError, match="Too many elements"):
        tf.constant(np.ones(2), tf.float32, shape=[0])


def packed_strings(content, *extents):
    proto = tf.make_tensor_proto("")
    proto.tensor_shape.CopyFrom(tf.TensorShape(extents).as_proto())
    proto.tensor_content = content
    return proto


def test_strings_as_tensorflow_sends_them():
    """A real client's feeds: b"\\x02\\x00\\xac\\x02" are the lengths 2, 0 and 300."""
    found = tf.make_ndarray(packed_strings(b"\x02\x00\xac\x02" + b"\xc3\xa9" + b"x" * 300, 3, 1))
    assert found.shape == (3, 1) and found.ravel().tolist() == [b"\xc3\xa9", b"", b"x" * 300]


@pytest.mark.parametrize("content", [b"\x02\x00", b"\x02\x00\x01ab", b"\x02\x00\x00abc", b"\x80", b"\xff" * 30, b"\x80" * 30])
def test_packed_strings_that_are_cut_or_too_long(content):
    with pytest.raises(ValueError, match="a TensorProto of 3 strings"):
        tf.make_ndarray(packed_strings(content, 3))
    with pytest.raises(ValueError, match="strings ends among"):
        tf.make_ndarray(packed_strings(content, 1 << 31))


class _Lazy:
    """A value that becomes a tensor when it is used, as stochastic tensors of Bayesian libraries do; it says its type and shape."""

    def __init__(self, value):
        self.tensor = tf.convert_to_tensor(value)
        self.dtype, self.shape = self.tensor.dtype, self.tensor.shape

    def __add__(self, other):
        return self.tensor + other


def _tensor_of_lazy(value, dtype=None, name=None, as_ref=False):
    if dtype and not dtype.is_compatible_with(value.dtype):
        raise ValueError(f"Incompatible type conversion requested to type {dtype.name}")
    return value.tensor


@pytest.fixture
def lazy():
    tf.register_tensor_conversion_function(_Lazy, _tensor_of_lazy)
    return _Lazy


def test_registered_values_of_another_type_are_refused_as_tensors_are(lazy):
    with pytest.raises(TypeError, match="Input 'y' of 'Add' Op has type float32 that does not match type int32 of argument 'x'"):
        tf.add(1, lazy(1.0))
    with pytest.raises(TypeError, match="Input 'b' of 'MatMul' Op has type int32 that does not match type float32 of argument 'a'"):
        tf.matmul([[1.0]], lazy([[1]]))


def test_registered_values_stand_between_brackets(lazy):
    x = tf.constant(np.arange(12).reshape(3, 4))
    with tf.Session() as sess:
        for result, wanted in ((x[lazy(1)], [4, 5, 6, 7]), (x[lazy(1), 2], 6), (x[lazy(1):, lazy(0)::lazy(2)], [[4, 6], [8, 10]])):
            np.testing.assert_array_equal(sess.run(result), wanted)
