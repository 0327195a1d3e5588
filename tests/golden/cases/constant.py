"""Constants and placeholders."""


def cases(tf, np):
    """(name, function) pairs."""
    yield "float", lambda: tf.constant(1.5)
    yield "int", lambda: tf.constant([1, 2, 3])
    yield "int64 array", lambda: tf.constant(np.arange(3))
    yield "shape repeats the last value", lambda: tf.constant([1, 2], shape=[2, 3])
    yield "half", lambda: tf.constant([0.1, 2.0], tf.float16)
    yield "bfloat16", lambda: tf.constant([0.1, 2.0], tf.bfloat16)
    yield "complex", lambda: tf.constant(1 + 2j)
    yield "bool", lambda: tf.constant([True, False])
    yield "strings", lambda: tf.constant([["a", b"b\x00c"], ["", "\u00fc"]])
    yield "empty", lambda: tf.constant([])
    yield "empty strings", lambda: tf.constant([], tf.string)
    yield "NaN and inf", lambda: tf.constant([float("nan"), float("inf"), -float("inf")])
    yield "too large for int32", lambda: tf.constant(2 ** 31)
    yield "float to int", lambda: tf.constant(1.5, tf.int32)
    yield "string to float", lambda: tf.constant("a", tf.float32)
    yield "ragged list", lambda: tf.constant([[1], [2, 3]])
    yield "too many values", lambda: tf.constant([1, 2, 3], shape=[2])
    yield "wrong verified shape", lambda: tf.constant([1, 2, 3], shape=[2], verify_shape=True)
    yield "None", lambda: tf.constant(None)
    yield "unfed", lambda: tf.placeholder(tf.float32, [2])
    yield "placeholder with default", lambda: tf.placeholder_with_default([1.0, 2.0], [None])
    yield "identity", lambda: tf.identity([1, 2])
    yield "names", lambda: [tf.constant(1.0, name="a"), tf.constant(2.0, name="a"), tf.constant(3.0, name="A")]
    yield "dict", lambda: {"b": tf.constant(1), "a": tf.constant(2)}
    yield "zeros by a number", lambda: [tf.zeros(3), tf.zeros(3, tf.string), tf.zeros(np.int64(2), tf.int64, name="many")]
    yield "ones by a number", lambda: [tf.ones(3), tf.ones(0), tf.ones([3]), tf.ones(())]
