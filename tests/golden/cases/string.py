"""Strings, serialized records, and checks."""
import zlib


def cases(tf, np):
    """(name, function) pairs."""
    def fed(value, shape=None):
        return tf.placeholder_with_default(value, shape)

    texts = ["", "a", "abc", "abcd", "hello wo", "hello world", "0123456789abcdef", "0123456789abcdefg", "x" * 33, "q" * 64, "z" * 65, "y" * 200]

    # hashes
    yield "hash fast", lambda: tf.string_to_hash_bucket_fast(texts, 2**62)
    yield "hash old", lambda: tf.string_to_hash_bucket(texts, 2**62)
    yield "hash strong", lambda: tf.string_to_hash_bucket_strong(texts, 2**62, [123, 456])
    yield "hash buckets", lambda: tf.strings.to_hash_bucket_fast([["a", "b"]], 10)

    # joining and splitting
    yield "join", lambda: tf.string_join(["a", ["b", "c"]], "-")
    yield "join scalars", lambda: tf.strings.join(["a", "b"])
    yield "join shapes", lambda: tf.string_join([["a"], ["b", "c"]])
    yield "reduce_join all", lambda: tf.reduce_join([["a", "b"], ["c", "d"]])
    yield "reduce_join axis", lambda: tf.reduce_join([["a", "b"], ["c", "d"]], 0, separator="-")
    yield "reduce_join order", lambda: [tf.reduce_join([["a", "b"], ["c", "d"]], axes) for axes in ([0, 1], [1, 0], -1)]
    yield "reduce_join keep", lambda: tf.reduce_join([["a", "b"], ["c", "d"]], 1, keep_dims=True)
    yield "split", lambda: tf.string_split(["a b", "", "c  d e"])
    yield "split keeping empty", lambda: tf.string_split(["a b", "", "c  d e"], skip_empty=False)
    yield "split any of", lambda: tf.string_split(["ab", "c,d;e"], ",;")
    yield "split characters", lambda: tf.string_split(["ab", "cd"], "")
    yield "strings.split", lambda: tf.strings.split(["a b ", " c  d e"])
    yield "strings.split sep", lambda: tf.strings.split(["a,b,", ",c,d,e"], sep=",", maxsplit=1)
    yield "substr", lambda: tf.substr(["hello", "world"], 1, 3)
    yield "substr negative", lambda: tf.substr("hello", -3, 2)
    yield "substr vector", lambda: tf.substr(["hello", "worl"], [1, 2], [3, 9])
    yield "substr out of range", lambda: tf.substr(["hello", "worl"], [1, 7], [3, 9])
    yield "substr characters", lambda: tf.strings.substr("h\u00e9llo", 1, 2, unit="UTF8_CHAR")

    # numbers
    yield "to_number", lambda: tf.string_to_number(["1.5", "-2e3", " 7 ", "inf"])
    yield "to_number int", lambda: tf.string_to_number(["12", "-3"], tf.int32)
    yield "to_number wrong", lambda: tf.string_to_number("abc")
    yield "to_number float as int", lambda: tf.string_to_number("1.5", tf.int64)
    yield "as_string", lambda: tf.as_string([1.5, 1 / 3])
    yield "as_string precision", lambda: tf.as_string([1.5, 1e10], precision=2)
    yield "as_string forms", lambda: [tf.as_string([1.5], scientific=True), tf.as_string([1.5], shortest=True), tf.as_string([1.5], width=10)]
    yield "as_string int", lambda: [tf.as_string([7, -8]), tf.as_string([7], width=5), tf.as_string([7], width=5, fill="0")]
    yield "as_string others", lambda: [tf.as_string([True, False]), tf.as_string([1 + 2j])]
    yield "as_string precision of int", lambda: tf.as_string([7], precision=1)

    # characters
    yield "length", lambda: tf.strings.length(["abc", "h\u00e9"])
    yield "length characters", lambda: tf.strings.length(["h\u00e9"], unit="UTF8_CHAR")
    yield "case", lambda: [tf.strings.lower(["ABC\u00c9"]), tf.strings.upper(["abc"])]
    yield "strip", lambda: tf.string_strip([" a b\n", ""])
    yield "base64", lambda: [tf.encode_base64([b"ab\xff\xfe?"]), tf.encode_base64(["abcd"], pad=True), tf.decode_base64(["YWJjZA", "YWI_"])]
    yield "base64 wrong", lambda: tf.decode_base64("a!")
    yield "regex_replace", lambda: tf.regex_replace(["hello", "foo"], "l+(o)?", "<\\1>")
    yield "regex_replace first", lambda: tf.regex_replace("aaa", "a", "b", replace_global=False)
    yield "regex_replace tensors", lambda: tf.regex_replace(tf.constant("aaa"), tf.constant("a"), "\\0x")
    yield "regex_replace wrong", lambda: tf.regex_replace("aaa", "(a", "b")
    yield "regex_full_match", lambda: tf.strings.regex_full_match(["abc", "abcd"], "a.c")
    yield "format", lambda: tf.strings.format("a {} b {} c", [tf.constant([1, 2, 3, 4, 5, 6, 7, 8, 9]), tf.constant(b"hey")])
    yield "format matrix", lambda: tf.strings.format("{}", [tf.reshape(tf.range(100), [10, 10])])
    yield "format floats", lambda: tf.strings.format("{}", [tf.constant([1e10, 1.5, 0.1, 1 / 3, 1e-7, float("nan"), float("inf")])], summarize=-1)
    yield "format doubles", lambda: tf.strings.format("{}", [tf.constant([1e10, 1.5, 0.1, 1 / 3, 1e-7], tf.float64)], summarize=-1)

    # bytes
    yield "decode_raw", lambda: tf.decode_raw(["abcd", "efgh"], tf.int16)
    yield "decode_raw big endian", lambda: tf.decode_raw("abcd", tf.int16, little_endian=False)
    yield "decode_raw lengths", lambda: tf.decode_raw(["abcd", "efghi"], tf.uint8)
    yield "decode_raw multiple", lambda: tf.decode_raw(["abc"], tf.int16)
    yield "serialize_tensor", lambda: tf.parse_tensor(tf.serialize_tensor([[1.5, 2.0]]), tf.float32)
    yield "parse_tensor wrong type", lambda: tf.parse_tensor(tf.serialize_tensor([1, 2]), tf.float32)
    yield "decode_csv", lambda: tf.decode_csv(["1,2.5,abc", '4,,"q,""r"'], [[0], [1.0], ["d"]])
    yield "decode_csv scalar", lambda: tf.decode_csv("1;2;c", [[0], [1.0], ["d"]], field_delim=";")
    yield "decode_csv select", lambda: tf.decode_csv("1,2,c", [[0], ["d"]], select_cols=[0, 2])
    yield "decode_csv missing value", lambda: tf.decode_csv("1,NA", [[0], [5.0]], na_value="NA")
    yield "decode_csv wrong", lambda: tf.decode_csv("1,x", [[0], [1.0]])
    yield "decode_csv too few", lambda: tf.decode_csv("1", [[0], [1.0]])
    yield "decode_csv open quote", lambda: tf.decode_csv('1,"2', [[0], ["d"]])

    # records
    feature = tf.train.Feature
    numbers = feature(int64_list=tf.train.Int64List(value=[1, 2]))
    floats = feature(float_list=tf.train.FloatList(value=[0.5, 1.5, 2.5]))
    words = feature(bytes_list=tf.train.BytesList(value=[b"x"]))

    def record(**features):
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    one, two = record(a=numbers, b=words), record(a=numbers, c=floats)
    fixed, variable, sequence = tf.FixedLenFeature, tf.VarLenFeature, tf.FixedLenSequenceFeature
    yield "parse_example", lambda: tf.parse_example([one, two], {"a": fixed([2], tf.int64), "b": fixed([], tf.string, ""), "c": variable(tf.float32)})
    yield "parse_example padded", lambda: tf.parse_example([one, two], {"c": sequence([], tf.float32, allow_missing=True)})
    yield "parse_example missing", lambda: tf.parse_example([one, two], {"b": fixed([], tf.string)})
    yield "parse_example wrong size", lambda: tf.parse_example([one, two], {"a": fixed([3], tf.int64)})
    yield "parse_example wrong type", lambda: tf.parse_example([one, two], {"a": fixed([2], tf.float32)})
    yield "parse_example fed", lambda: tf.parse_example(fed([one, two], [None]), {"a": fixed([2], tf.int64)})
    yield "parse_example sparse", lambda: tf.parse_example([record(i=numbers, v=feature(float_list=tf.train.FloatList(value=[5.0, 6.0])))],
                                                           {"s": tf.SparseFeature("i", "v", tf.float32, 5)})["s"].values
    yield "parse_single_example", lambda: tf.parse_single_example(
        one, {"a": fixed([2], tf.int64), "b": fixed([], tf.string), "c": variable(tf.float32)})
    yield "parse_single_example sequence", lambda: tf.parse_single_example(two, {"c": sequence([], tf.float32, allow_missing=True)})
    yield "parse_single_example missing", lambda: tf.parse_single_example(two, {"b": fixed([], tf.string)})
    lists = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=[numbers, numbers]), "y": tf.train.FeatureList(feature=[floats])})
    steps = tf.train.SequenceExample(context=tf.train.Features(feature={"k": words}), feature_lists=lists).SerializeToString()
    yield "parse_single_sequence_example", lambda: tf.parse_single_sequence_example(
        steps, {"k": fixed([], tf.string)}, {"x": sequence([2], tf.int64), "y": variable(tf.float32)})
    yield "parse_single_sequence_example missing", lambda: tf.parse_single_sequence_example(steps, None, {"z": sequence([], tf.int64)})
    yield "parse_single_sequence_example empty", lambda: tf.parse_single_sequence_example(
        steps, None, {"z": sequence([2], tf.float32, allow_missing=True)})

    def many(k, x, y):
        rows = {"x": [feature(int64_list=tf.train.Int64List(value=row)) for row in x],
                "y": [feature(float_list=tf.train.FloatList(value=row)) for row in y]}
        context = {"k": feature(bytes_list=tf.train.BytesList(value=k))} if k else {}
        return tf.train.SequenceExample(context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(
            feature_list={key: tf.train.FeatureList(feature=row) for key, row in rows.items() if row})).SerializeToString()

    batch = [many([b"p"], [[1, 2], [3, 4]], [[0.5], [], [1, 2, 3]]), many([b"q", b"r"], [[5, 6]], []), many([], [], [[7.0]])]
    yield "parse_sequence_example", lambda: tf.io.parse_sequence_example(
        batch, {"k": variable(tf.string)}, {"x": sequence([2], tf.int64, allow_missing=True), "y": variable(tf.float32)})
    yield "parse_sequence_example dense", lambda: tf.io.parse_sequence_example(
        fed(batch[:1], [None]), {"k": fixed([], tf.string)}, {"x": sequence([2, 1], tf.int64)}, name="both")
    yield "parse_sequence_example default", lambda: tf.io.parse_sequence_example([batch[0], batch[2]], {"k": fixed([], tf.string, "none")})
    yield "parse_sequence_example absent", lambda: tf.io.parse_sequence_example(
        batch, {"w": variable(tf.int64)}, {"v": variable(tf.string), "w": sequence([3], tf.float32, allow_missing=True)})
    yield "parse_sequence_example nothing", lambda: tf.io.parse_sequence_example(
        np.zeros([0], object), {"k": variable(tf.string)}, {"x": sequence([2], tf.int64), "y": variable(tf.float32)})
    yield "parse_sequence_example missing", lambda: tf.io.parse_sequence_example(batch, None, {"x": sequence([2], tf.int64)}, ["a", "b", "c"])
    yield "parse_sequence_example no context", lambda: tf.io.parse_sequence_example(batch, {"k": fixed([], tf.string)})
    yield "parse_sequence_example ragged", lambda: tf.io.parse_sequence_example(batch[:1], None, {"y": sequence([], tf.float32)})
    yield "parse_sequence_example wrong type", lambda: tf.io.parse_sequence_example(batch[:1], None, {"x": sequence([2], tf.float32)})
    yield "parse_sequence_example names", lambda: tf.io.parse_sequence_example(batch, {"k": variable(tf.string)}, example_names=["one"])
    yield "parse_sequence_example one", lambda: tf.io.parse_sequence_example(batch[0], {"k": variable(tf.string)})
    yield "parse_sequence_example filler", lambda: tf.io.parse_sequence_example(
        batch, None, {"x": sequence([2], tf.int64, allow_missing=True, default_value=3)})

    # checks
    yield "Assert fails", lambda: _after(tf, tf.Assert(fed(False, []), ["abc", tf.range(10)]))
    yield "assert_equal holds", lambda: _after(tf, tf.assert_equal(fed([1, 2]), [1, 2]))
    yield "assert_equal fails", lambda: _after(tf, tf.assert_equal(fed([1, 2]), [1, 3], message="different"))
    yield "assert_equal known", lambda: tf.assert_equal(tf.constant([1, 2]), [1, 3])
    yield "assert_positive", lambda: _after(tf, tf.assert_positive(fed([1, -2])))
    yield "assert_less_equal", lambda: _after(tf, tf.assert_less_equal(fed([1, 2]), 2))
    yield "assert_rank known", lambda: tf.assert_rank(tf.zeros([2, 2]), 3)
    yield "assert_rank fed", lambda: _after(tf, tf.assert_rank(fed([1, 2]), 2))
    yield "assert_rank_at_least", lambda: _after(tf, tf.assert_rank_at_least(fed([1, 2]), 1))
    yield "assert_type", lambda: tf.assert_type(tf.constant(1), tf.float32)
    yield "is_non_decreasing", lambda: [tf.is_non_decreasing([1, 2, 2]), tf.is_strictly_increasing([1, 2, 2])]
    yield "decode_compressed", lambda: [tf.io.decode_compressed([zlib.compress(b"abc"), zlib.compress(b"")], "ZLIB"), tf.io.decode_compressed(["x"])]
    yield "decode_compressed cut", lambda: tf.io.decode_compressed([zlib.compress(b"abc" * 100)[:-8], b"", zlib.compress(b"abc") + b"more"], "ZLIB")
    yield "decode_compressed junk", lambda: tf.io.decode_compressed([b"junkjunk"], "GZIP")
    yield "decode_json_example junk", lambda: tf.decode_json_example(['{"featu'])
    yield "fingerprint", lambda: [tf.fingerprint(texts), tf.fingerprint([[1, 2], [3, 4]]), tf.fingerprint([["a", "b"]])]
    yield "fingerprint unknown", lambda: tf.fingerprint(["a"], method="md5")
    yield "verify_tensor_all_finite", lambda: tf.verify_tensor_all_finite(fed([1.0, float("nan")]), "bad")
    yield "tuple", lambda: tf.tuple([fed(1.0, []), tf.constant(2.0)])
    yield "py_func", lambda: tf.py_func(lambda x: x + 1, [np.array([1.0, 2.0], np.float32)], tf.float32)
    yield "py_func strings", lambda: tf.py_func(lambda x: x + b"!", [b"abc"], tf.string)
    yield "py_func wrong type", lambda: tf.py_func(lambda x: x.astype(np.float64), [1.0], tf.float32)
    yield "py_func fails", lambda: tf.py_func(lambda x: [][0], [1.0], tf.float32)


def _after(tf, check):
    """A tensor that is there if a check passes."""
    with tf.control_dependencies([check]):
        return tf.constant(1)
