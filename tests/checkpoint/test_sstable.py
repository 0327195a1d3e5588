"""Sorted string tables: what goes in comes out; damage is noticed."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.checkpoint.snappy import decompress
from penstock.checkpoint.sstable import build_table, read_table
from penstock.errors import DataLossError
from penstock.platform.varints import read_varint, varint

pairs = st.dictionaries(st.binary(max_size=20), st.binary(max_size=50), max_size=60)


def round_trip(tmp_path, contents):
    path = tmp_path / "table"
    path.write_bytes(build_table(sorted(contents.items())))
    return read_table(str(path))


@settings(deadline=None)
@given(contents=pairs)
def test_round_trip(tmp_path_factory, contents):
    assert round_trip(tmp_path_factory.getbasetemp(), contents) == contents


def test_several_blocks(tmp_path):
    contents = {b"%06d" % number * 20: b"x" * 50 for number in range(5000)}
    table = build_table(sorted(contents.items()))
    assert len(table) > 3 * 256 << 10
    assert round_trip(tmp_path, contents) == contents


@settings(deadline=None)
@given(value=st.integers(0, 2**64 - 1))
def test_varint(value):
    assert read_varint(varint(value) + b"rest", 0) == (value, len(varint(value)))


@settings(deadline=None)
@given(at=st.integers(0, 10**6), byte=st.integers(1, 255))
def test_a_changed_byte_is_noticed(tmp_path_factory, at, byte):
    contents = {b"key%d" % number: b"value" * number for number in range(40)}
    table = bytearray(build_table(sorted(contents.items())))
    at %= len(table)
    table[at] ^= byte
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(table)
    try:
        found = read_table(str(path))
    except DataLossError as error:
        assert "damaged" in str(error)
    else:
        assert found == contents  # the byte is part of no value: padding of the footer, the place of the empty meta index


@pytest.mark.parametrize("contents", [b"", b"short", b"\0" * 100, b"<html>" * 100])
def test_other_files(tmp_path, contents):
    (tmp_path / "file").write_bytes(contents)
    with pytest.raises(DataLossError, match="bad magic number"):
        read_table(str(tmp_path / "file"))


@pytest.mark.parametrize(("compressed", "plain"), [
    (b"\x00", b""),
    (b"\x03\x08abc", b"abc"),
    (b"\x06\x04ab\x0e\x02\x00", b"ababab"),  # four bytes, two back, as a copy with a wide offset
    (b"\x46\xf0\x45" + b"x" * 70, b"x" * 70),  # a literal whose length needs a byte of its own
])
def test_snappy(compressed, plain):
    assert decompress(compressed) == plain


@pytest.mark.parametrize("damaged", [b"\x05\x08abc", b"\x02\x08abc", b"\x04\x01\x05", b"\x09\xf0"])
def test_damaged_snappy(damaged):
    with pytest.raises((ValueError, IndexError)):
        decompress(damaged)
