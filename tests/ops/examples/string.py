"""Strings, files, and records of bytes."""
import os
import tempfile
import zlib

import numpy as np

from penstock.graph.example_proto import Example, Feature, FeatureList, FeatureLists, Features, FloatList, Int64List, SequenceExample
from support.examples import example, ints, normal, strings

example("StringJoin", [strings(2, 3), strings(2, 3), np.array(b"!", object)], separator="-")
example("ReduceJoin", strings(2, 3), ints(1), separator="+")
example("ReduceJoin", strings(2, 3), ints(0, 1), keep_dims=True)
example("StringSplit", strings("a b", "", "c  d e"), np.array(b" ", object), dynamic=True)
example("StringSplitV2", strings("a b", "", "c  d e"), np.array(b"", object), dynamic=True)
example("StringToNumber", strings("1.5", "-2e3"))
example("AsString", normal(2, 3), precision=3, types=())
example("StringToHashBucket", strings(2, 3), num_buckets=100)
example("StringToHashBucketFast", strings(2, 3), num_buckets=100)
example("StringToHashBucketStrong", strings(2, 3), num_buckets=100, key=[1, 2])
example("StringLength", strings(2, 3))
example("Substr", strings("hello", "world"), ints(1, 2), ints(2, 2))
example("StringLower", strings("AbC", "d"))
example("StringUpper", strings("AbC", "d"))
example("StringStrip", strings(" a ", "b\n"))
example("EncodeBase64", strings(2, 3))
example("DecodeBase64", strings("YWJj", "ZA"))
example("RegexReplace", strings("hello", "foo"), np.array(b"l+", object), np.array(b"L", object))
example("StaticRegexReplace", strings("hello", "foo"), pattern="(o)", rewrite="<\\1>")
example("RegexFullMatch", strings("abc", "abcd"), np.array(b"a.c", object))
example("StaticRegexFullMatch", strings("abc", "abcd"), pattern="a.c")
example("UnicodeDecode", strings("h\u00e9", "", "ab"), input_encoding="UTF-8", dynamic=True)
example("UnicodeDecodeWithOffsets", strings("h\u00e9", "", "ab"), input_encoding="UTF-8", dynamic=True)
example("UnicodeEncode", ints(104, 233, 98), np.array([0, 2, 2, 3]), output_encoding="UTF-8")
example("UnicodeTranscode", strings("h\u00e9", "ab"), input_encoding="UTF-8", output_encoding="UTF-16-BE")
example("UnsortedSegmentJoin", strings(2, 3), ints(1, 0), np.array(2, np.int32), separator="-")
example("StringNGrams", strings("a", "b", "c"), np.array([0, 2, 3]), separator=" ", ngram_widths=[1, 2], left_pad="<", right_pad=">", pad_width=0,
        preserve_short_sequences=False, dynamic=True)

FILE = os.path.join(tempfile.gettempdir(), f"penstock_example_{os.getpid()}.txt")
with open(FILE, "w") as file:
    file.write("contents")
example("ReadFile", np.array(FILE.encode(), object))
example("WriteFile", np.array(FILE.encode(), object), np.array(b"contents", object))
example("MatchingFiles", np.array((FILE + "*").encode(), object), dynamic=True)

example("DecodeJSONExample", strings('{"features": {"feature": {"x": {"int64List": {"value": [1, 2]}}}}}', "{}"))
example("DecodeRaw", strings("abcdabcd", "efghefgh"), out_type="int16", dynamic=True)
example("SerializeTensor", normal(2, 3), grad=False)
example("ParseTensor", np.array(b"\x08\x03\x12\x04\x12\x02\x08\x02\x22\x08\x01\x00\x00\x00\x02\x00\x00\x00", object), out_type="int32", dynamic=True,
        types=())
example("DecodeCompressed", strings(zlib.compress(b"abc"), zlib.compress(b"")), compression_type="ZLIB")
example("Fingerprint", strings("abc", "d"), np.array(b"farmhash64", object), types=())
example("Fingerprint", ints(1, 2, 3), np.array(b"farmhash64", object), grad=False)
example("Fingerprint", np.zeros((0, 3), np.int32), np.array(b"farmhash64", object), grad=False)
example("DecodeCSV", strings("1.5,abc", ",d"), [np.zeros(1), strings("default")], grad=False, types=())

NUMBERS = Feature(int64_list=Int64List(value=[1, 2]))
RECORD = Example(features=Features(feature={"numbers": NUMBERS, "more": Feature(float_list=FloatList(value=[0.5]))})).SerializeToString()
NO_DEFAULT = np.empty(0, np.int64)
example("ParseExample", strings(RECORD, RECORD), strings("first", "second"), [np.array(b"more", object)], [np.array(b"numbers", object)],
        [NO_DEFAULT], sparse_types=["float32"], dense_shapes=[[2]], dynamic=True, grad=False, types=())
example("ParseSingleExample", np.array(RECORD, object), [NO_DEFAULT], num_sparse=1, sparse_keys=["more"], dense_keys=["numbers"],
        sparse_types=["float32"], dense_shapes=[[2]], dynamic=True, grad=False, types=())
SEQUENCE = SequenceExample(context=Features(feature={"numbers": NUMBERS}),
                           feature_lists=FeatureLists(feature_list={"steps": FeatureList(feature=[NUMBERS, NUMBERS])})).SerializeToString()
example("ParseSingleSequenceExample", np.array(SEQUENCE, object), strings("absent"), [np.array(b"nothing", object)], [np.array(b"numbers", object)],
        [np.array(b"steps", object)], [np.array(b"steps", object)], [NO_DEFAULT], np.array(b"name", object), context_sparse_types=["string"],
        context_dense_shapes=[[2]], feature_list_sparse_types=["int64"], feature_list_dense_types=["int64"], feature_list_dense_shapes=[[2]],
        dynamic=True, grad=False, types=())
example("ParseSequenceExample", strings(SEQUENCE, SEQUENCE), strings("first", "second"), [NO_DEFAULT],
        feature_list_dense_missing_assumed_empty=["absent"], context_sparse_keys=["nothing"], context_dense_keys=["numbers"],
        feature_list_sparse_keys=["steps"], feature_list_dense_keys=["steps"], Ncontext_sparse=1, Ncontext_dense=1, Nfeature_list_sparse=1,
        Nfeature_list_dense=1, context_sparse_types=["string"], context_dense_shapes=[[2]], feature_list_sparse_types=["int64"],
        feature_list_dense_types=["int64"], feature_list_dense_shapes=[[2]], dynamic=True, grad=False, types=())
