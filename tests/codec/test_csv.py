"""Lines of comma-separated values: native code gives what the Python code gives, for whatever lines."""
from __future__ import annotations

import random

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.codec.csv import fields_of
from penstock.native.config import config

pytestmark = pytest.mark.process

DEFAULTS = [("f", [1.5]), ("l", [0]), ("s", [""]), ("d", []), ("i", [3])]
LINES = [b"1.5,2,word,3.25,4", b"-1e3,-9223372036854775808,two words,1e22,-2147483648", b",,,0.1,", b'"7.5","8","quoted, with comma",9,"10"',
         b"+1,+2,x,.5,5\r\n", b"5.,007,\xc3\xa9,1E-5,0", b'1,2,"with ""quotes""",3,4', b"123456789012345678901234567890,1,a,3.14159265358979323846,2",
         b"1e-300,1,b,1e300,2", b"inf,1,c,nan,2", b"0.30000001192092896,1,d,9007199254740993,2"]


def decoded(lines, defaults, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        columns = tf.decode_csv(tf.constant(np.array(lines, object), tf.string), made(defaults), **options)
        try:
            return [(column.dtype, column.tolist()) for column in session.run(columns)]
        except errors.OpError as error:
            return type(error), error.message.splitlines()[0]


def made(defaults):
    kinds = {"f": tf.float32, "d": tf.float64, "i": tf.int32, "l": tf.int64, "s": tf.string}
    return [tf.constant(value, kinds[kind]) for kind, value in defaults]


def in_both_ways(monkeypatch, *arguments, **options):
    natively = decoded(*arguments, **options)
    with monkeypatch.context() as patch:
        patch.setattr(config, "mode", "off")
        return repr(natively), repr(decoded(*arguments, **options))


def test_lines(monkeypatch):
    natively, python = in_both_ways(monkeypatch, LINES, DEFAULTS)
    assert natively == python and "two words" in natively


def test_plain_lines_are_read_natively():
    fields = fields_of(np.array(LINES[:3], object), b",", True, b"", 5, True)
    column, left = fields.column(0, np.dtype(np.float32))
    assert column[:2].tolist() == [1.5, -1000.0] and left == [2]
    assert fields.text(1, 2) == b"two words"


@pytest.mark.parametrize("options", [
    {"select_cols": [0, 3], "field_delim": ","}, {"na_value": "NA"}, {"use_quote_delim": False}, {"field_delim": ";"}], ids=str)
def test_options(monkeypatch, options):
    lines = [b"1,2,a,4,5", b"NA,3,NA,1e1,7"] if "field_delim" not in options or options["field_delim"] == "," else [b"1;2;a,b;4;5"]
    defaults = [DEFAULTS[0], DEFAULTS[3]] if "select_cols" in options else DEFAULTS
    natively, python = in_both_ways(monkeypatch, lines, defaults, **options)
    assert natively == python


@pytest.mark.parametrize("line, message", [
    (b"1,2,a,4", "Expect 5 fields but have 4 in record 1"), (b"x,2,a,4,5", "Field 0 in record 1 is not a valid float: x"),
    (b"1,2.5,a,4,5", "Field 1 in record 1 is not a valid int64: 2.5"), (b"1,2,a,4,2147483648", "Field 4 in record 1 is not a valid int32"),
    (b"1,2,a,,5", "Field 3 is required but missing in record 1!"), (b'1,2,a"b,4,5', "Unquoted fields cannot have quotes/CRLFs inside"),
    (b'1,2,"a"b,4,5', "Quoted field has to end with quote followed by delim or end")])
def test_errors(line, message):
    kind, told = decoded([LINES[0], line], DEFAULTS)
    assert kind is errors.InvalidArgumentError and message in told


@pytest.mark.parametrize("seed", range(60))
def test_any_bytes(monkeypatch, seed):
    generator = random.Random(seed)
    lines = []
    for _ in range(3):
        line = bytearray(generator.choice(LINES))
        for _ in range(generator.randrange(3)):
            line[generator.randrange(len(line))] = generator.choice(b',"\n\r0123456789.eE+-x \xff_')
        lines.append(bytes(line))
    natively, python = in_both_ways(monkeypatch, lines, DEFAULTS)
    assert natively == python


def test_numbers_round_as_python_rounds_them(monkeypatch):
    generator = random.Random(3)
    values = [generator.uniform(-1, 1) * 10.0 ** generator.randrange(-25, 25) for _ in range(500)]
    texts = [f"{value:.{generator.randrange(18)}{generator.choice('eg')}}" for value in values]
    natively, python = in_both_ways(monkeypatch, [f"{text},{text}".encode() for text in texts], [("f", [0.0]), ("d", [0.0])])
    assert natively == python
