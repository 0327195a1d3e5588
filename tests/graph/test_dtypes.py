"""Types: names, numbers, limits, what converts to them."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

NUMBERS = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9, "bool": 10,
           "qint8": 11, "quint8": 12, "qint32": 13, "bfloat16": 14, "qint16": 15, "quint16": 16, "uint16": 17, "complex128": 18, "float16": 19,
           "resource": 20, "variant": 21, "uint32": 22, "uint64": 23}


@pytest.mark.parametrize("name, number", sorted(NUMBERS.items()))
def test_names_and_numbers(name, number):
    dtype = getattr(tf, name)
    assert dtype.name == name and dtype.as_datatype_enum == number
    assert tf.as_dtype(name) is dtype and tf.as_dtype(number) is dtype
    assert repr(dtype) == "tf." + name
    assert str(dtype) == "<dtype: '" + name + "'>"


@pytest.mark.parametrize("value, name", [
    (np.float32, "float32"), (np.dtype("float64"), "float64"), ("double", "float64"), ("half", "float16"), (float, "float32"),
    (bool, "bool"), (np.bool_, "bool"), (object, "string"), (np.dtype("S3"), "string"), (np.dtype("U3"), "string"),
    (np.dtype(">f4"), "float32"), (np.complex64, "complex64"), (101, "float32_ref"), ("float32_ref", "float32_ref"),
])
def test_as_dtype(value, name):
    assert tf.as_dtype(value).name == name


@pytest.mark.parametrize("value", ["nothing", 99, None, 1.5, np.dtype("M8[s]")])
def test_not_a_dtype(value):
    with pytest.raises(TypeError):
        tf.as_dtype(value)


def test_ref_types():
    ref = tf.as_dtype("float32_ref")
    assert ref.base_dtype is tf.float32 and ref != tf.float32
    assert tf.float32.is_compatible_with(ref) and not ref.is_compatible_with(tf.float32)
    assert not tf.float32.is_compatible_with(tf.float64)


def test_kinds():
    def named(what):
        return {name for name in NUMBERS if getattr(getattr(tf, name), what)}
    assert named("is_floating") == {"float16", "bfloat16", "float32", "float64"}
    assert named("is_integer") == {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    assert named("is_complex") == {"complex64", "complex128"}
    assert named("is_bool") == {"bool"}
    assert named("is_unsigned") == {"uint8", "uint16", "uint32", "uint64"}
    assert named("is_quantized") == {"qint8", "quint8", "qint16", "quint16", "qint32"}
    assert named("is_numpy_compatible") == set(NUMBERS) - {"resource", "variant"}


def test_sizes_and_limits():
    assert (tf.float32.size, tf.int8.size, tf.complex128.size, tf.bfloat16.size) == (4, 1, 16, 2)
    assert (tf.int8.min, tf.int8.max, tf.uint8.limits, tf.float32.limits) == (-128, 127, (0, 255), (0, 1))
    assert tf.float32.max == np.finfo(np.float32).max
    with pytest.raises(TypeError):
        assert tf.string.min is None
    assert tf.complex64.real_dtype == tf.float32 and tf.int32.real_dtype == tf.int32


def test_equality_with_other_things():
    assert tf.float32 == np.float32 and tf.float32 == "float32" and tf.int32 == np.dtype("int32") and tf.float32 == 1
    assert tf.float32 != tf.float64 and tf.float32 != "nothing" and tf.float32 != None  # noqa: E711 (the operator is tested)
    assert len({tf.float32, tf.float32, tf.float64}) == 2


def test_as_numpy_dtype():
    assert tf.float32.as_numpy_dtype is np.float32 and np.dtype(tf.string.as_numpy_dtype) == np.dtype(object)
    assert np.zeros(2, tf.int16.as_numpy_dtype).dtype == np.int16


def test_types_by_number():
    assert tf.DType(1) is tf.float32 and tf.DType(101) is tf.float32._as_ref
    for wrong in (0, 24, 99, "float32"):
        with pytest.raises(TypeError, match="type_enum"):
            tf.DType(wrong)


def test_quantized_numpy_types():
    kind = tf.qint8.as_numpy_dtype
    assert kind == np.dtype([("qint8", np.int8)]) and tf.as_dtype(kind) is tf.qint8 and tf.qint32.size == 4
    values = np.array([(1,), (-2,)], kind)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.qint8)
        assert sess.run(tf.identity(x), {x: values}).tolist() == [1, -2]
        for made in (tf.constant(values), tf.constant([(1,), (-2,)], tf.qint8)):
            assert made.dtype is tf.qint8 and sess.run(made).tolist() == [1, -2]
    proto = tf.make_tensor_proto([(21,), (22,)], tf.quint8)
    assert proto.tensor_content == b"\x15\x16" and tf.make_ndarray(proto).dtype == tf.quint8.as_numpy_dtype


def test_fields_of_tensor_protos():
    """Types that TensorFlow writes into fields, one element after the other."""
    assert list(tf.make_tensor_proto([1 + 2j], tf.complex64).scomplex_val) == [1, 2]
    assert list(tf.make_tensor_proto([10.0, 20.0], tf.float16).half_val) == [18688, 19712]
    short = tf.make_tensor_proto(10.0, shape=[1, 3])
    assert list(short.float_val) == [10] and tf.make_ndarray(short).tolist() == [[10, 10, 10]]
