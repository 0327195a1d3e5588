"""Serialized Examples: native code gives what protobuf and the Python code give, for whatever bytes."""
from __future__ import annotations

import random

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.codec import examples as codec
from penstock.codec.examples import located
from penstock.native.config import config

pytestmark = pytest.mark.process


def feature(values):
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature={key: feature(values) for key, values in features.items()})).SerializeToString(
        deterministic=True)


PLAIN = [example(x=[1.5, -2.0, 3e30], n=[-7], s=[b"one"], many=[1, 2, 3], extra=[b"not", b"wanted"]),
         example(n=[2**62], s=[b""], x=[0.0, 0.1, 0.2], pad=[1.0, 2.0, 3.0, 4.0]),
         example(many=list(range(300)), x=[9.0, 8.0, 7.0], s=[b"\xff\x00 bytes" * 9], n=[0], d=[5])]
FEATURES = {"x": tf.FixedLenFeature([3], tf.float32), "n": tf.FixedLenFeature([], tf.int64), "s": tf.FixedLenFeature([1], tf.string),
            "d": tf.FixedLenFeature([1], tf.int64, default_value=[4]), "e": tf.FixedLenFeature([], tf.string, default_value="none"),
            "many": tf.VarLenFeature(tf.int64), "pad": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True, default_value=-1.0),
            "words": tf.VarLenFeature(tf.string)}


def parsed(serialized, features=FEATURES, single=False):
    """What parse_example gives, or the error."""
    with tf.Graph().as_default(), tf.Session() as session:
        if single:
            fetches = tf.parse_single_example(tf.constant(serialized, tf.string), features)
        else:
            fetches = tf.parse_example(tf.constant(np.array(serialized, object), tf.string), features)
        try:
            return session.run(fetches)
        except errors.OpError as error:
            return type(error), error.message.splitlines()[0]


def plain(value):
    """Something that can be compared."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return (value.dtype, value.shape, value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else value


def in_both_ways(monkeypatch, *arguments, **options):
    """(by native code, by Python)."""
    natively = plain(parsed(*arguments, **options))
    with monkeypatch.context() as patch:
        patch.setattr(config, "mode", "off")
        return natively, plain(parsed(*arguments, **options))


def test_plain_examples_are_read_natively():
    assert located(np.array(PLAIN, object), (b"x", b"n")) is not None


@pytest.mark.parametrize("serialized", [PLAIN, PLAIN[:1], []], ids=["three", "one", "none"])
def test_batches(monkeypatch, serialized):
    natively, python = in_both_ways(monkeypatch, serialized)
    assert natively == python


@pytest.mark.parametrize("index", range(len(PLAIN)))
def test_single(monkeypatch, index):
    natively, python = in_both_ways(monkeypatch, PLAIN[index], single=True)
    assert natively == python and isinstance(natively, dict)


def test_order_of_features_may_change(monkeypatch):
    serialized = [example(**{key: [index * 10 + place] for place, key in enumerate(random.Random(index).sample("abcdef", 6))}) for index in range(9)]
    features = {key: tf.FixedLenFeature([], tf.int64) for key in "abcdef"}
    natively, python = in_both_ways(monkeypatch, serialized, features)
    assert natively == python


def test_unusual_encodings(monkeypatch):
    unpacked_floats = b"\x0a\x0f\x0a\x0d\x0a\x01x\x12\x08\x12\x06" + b"\x0d\x00\x00\x80\x3f" + b"\x0a"  # broken on purpose: the list is cut off
    unpacked_ints = bytes([0x0A, 0x0D, 0x0A, 0x0B, 0x0A, 1, ord("n"), 0x12, 6, 0x1A, 4, 0x08, 1, 0x08, 2])
    twice = example(n=[1]) + example(n=[5], x=[1.0])  # the later one counts
    features = {"n": tf.VarLenFeature(tf.int64), "x": tf.VarLenFeature(tf.float32)}
    for serialized in (unpacked_floats, unpacked_ints, twice, b"", b"\x0a\x00", example(n=[])):
        natively, python = in_both_ways(monkeypatch, [serialized], features)
        assert natively == python, serialized


@pytest.mark.parametrize("broken, message", [
    (example(x=[1.0, 2.0], n=[1], s=[b"a"]), "Key: x, Index: 1.  Number of float values != expected"),
    (example(x=[1.0, 2.0, 3.0], s=[b"a"]), "Feature: n (data type: int64) is required but could not be found."),
    (example(x=[1, 2, 3], n=[1], s=[b"a"]), "Key: x, Index: 1.  Data types don't match."),
    (b"\x0a\xff garbage", "Could not parse example input")])
def test_errors_name_the_feature(broken, message):
    kind, told = parsed([PLAIN[0], broken])
    assert kind is errors.InvalidArgumentError and message in told


@pytest.mark.parametrize("seed", range(60))
def test_any_bytes(monkeypatch, seed):
    """Examples with some bytes changed, cut off or added: the values, or the error, are those of the Python code."""
    generator = random.Random(seed)
    data = bytearray(generator.choice(PLAIN))
    for _ in range(generator.randrange(1, 4)):
        place = generator.randrange(len(data))
        change = generator.randrange(4)
        if change == 0:
            data[place] = generator.randrange(256)
        elif change == 1:
            del data[place:place + generator.randrange(1, 9)]
        elif change == 2:
            data[place:place] = generator.randbytes(generator.randrange(1, 9))
        else:
            data = data[:place + 1]
    features = {key: value for key, value in FEATURES.items() if key in ("many", "words", "pad", "d")}
    natively, python = in_both_ways(monkeypatch, [PLAIN[0], bytes(data)], features)
    assert natively == python


@pytest.mark.parametrize("seed", range(300))
def test_bounds(seed):
    """Native code alone, on garbage of any kind: it may refuse, and must not read beyond the end (which would end the process)."""
    generator = random.Random(seed)
    tags = [0x0A, 0x12, 0x1A, 0x08, 0x0D, 0x01, 0x03, 0xFF, 0x7F, 0x80]
    items = [bytes(generator.choice(tags) if generator.random() < 0.7 else generator.randrange(256) for _ in range(generator.randrange(40)))
             for _ in range(8)]
    for item in items:
        place = located(np.array([item], object), (b"x", b"\x0a"))
        if place is not None:
            for kind in ("f", "i8", "O"):
                place.fixed(codec.DenseFeature(b"x", np.dtype(kind), np.empty(0), (3,)))
                place.ragged(codec.Sparse(b"\x0a", np.dtype(kind)))


def test_items_that_are_no_bytes_are_left_to_python():
    assert located(np.array([b"", None], object), (b"x",)) is None
    assert located(np.array(["text"], object), (b"x",)) is None
