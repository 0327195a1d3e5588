"""Checkpoints of version 2 without a graph: round trips, parts, merging, damage."""
from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from penstock.checkpoint.bundle import BundleReader
from penstock.checkpoint.bundle_writer import BundleWriter, merge
from penstock.checkpoint.contents import CheckpointReader
from penstock.checkpoint.slices import TensorSlice, parse_shape_and_slice, slice_key
from penstock.checkpoint.version1 import write_version1
from penstock.checkpoint.versions import open_checkpoint
from penstock.errors import DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError
from penstock.graph import dtypes

KINDS = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
         "complex128", ml_dtypes.bfloat16]


def write(prefix, **tensors):
    with BundleWriter(str(prefix)) as writer:
        for name, value in tensors.items():
            writer.add(name, value)
    return BundleReader(str(prefix))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_round_trip(tmp_path, kind, shape):
    value = np.random.default_rng(0).integers(0, 2, shape).astype(kind)
    found = write(tmp_path / "model", value=value).read("value")
    assert found.dtype == value.dtype and found.shape == shape
    np.testing.assert_array_equal(found, value)


@settings(deadline=None)
@given(value=arrays.arrays(np.dtype(object), arrays.array_shapes(min_dims=0, min_side=0), elements=st.binary(max_size=300)))
def test_strings(tmp_path_factory, value):
    found = write(tmp_path_factory.getbasetemp() / "strings", value=value).read("value")
    assert found.shape == value.shape and found.tolist() == value.tolist()


def test_arrays_in_other_layouts(tmp_path):
    value = np.arange(24.0).reshape(2, 3, 4)
    reader = write(tmp_path / "model", fortran=np.asfortranarray(value), view=value[:, ::-1, ::2], big=value.astype(">f8"))
    np.testing.assert_array_equal(reader.read("fortran"), value)
    np.testing.assert_array_equal(reader.read("view"), value[:, ::-1, ::2])
    np.testing.assert_array_equal(reader.read("big"), value)


def test_types_that_numpy_does_not_know(tmp_path):
    with BundleWriter(str(tmp_path / "model")) as writer:
        writer.add("quantized", np.arange(3, dtype=np.int8), dtypes.qint8)
    assert BundleReader(str(tmp_path / "model")).stored("quantized").dtype is dtypes.qint8
    with pytest.raises(UnimplementedError, match="resource"), BundleWriter(str(tmp_path / "other")) as writer:
        writer.add("handle", np.zeros(1, object), dtypes.resource)
    assert sorted(os.listdir(tmp_path)) == ["model.data-00000-of-00001", "model.index"]


# --- parts -----------------------------------------------------------------------------------------------------------

TABLE = np.arange(70.0).reshape(7, 10)


def write_parts(prefix, *specs):
    with BundleWriter(str(prefix)) as writer:
        for spec in specs:
            shape, part = parse_shape_and_slice(spec)
            writer.add_slice("table", shape, part, TABLE[part.place()])


def test_parts_make_a_whole(tmp_path):
    write_parts(tmp_path / "model", "7 10 0,3:0,10", "7 10 3,2:-", "7 10 5,2:0,4", "7 10 5,2:4,6")
    reader = open_checkpoint(str(tmp_path / "model"))
    np.testing.assert_array_equal(reader.read("table"), TABLE)
    assert list(reader.tensors) == ["table"] and len(reader.stored("table").parts) == 4


@settings(deadline=None)
@given(rows=st.tuples(st.integers(0, 6), st.integers(1, 7)), columns=st.tuples(st.integers(0, 9), st.integers(1, 10)), parts=st.booleans())
def test_any_part_can_be_read(tmp_path_factory, rows, columns, parts):
    prefix = tmp_path_factory.getbasetemp() / f"parts{parts}"
    if not os.path.exists(f"{prefix}.index"):
        write_parts(prefix, *["7 10 0,4:-", "7 10 4,3:-"] if parts else ["7 10 -:-"])
    part = TensorSlice((rows[0], columns[0]), (min(rows[1], 7 - rows[0]), min(columns[1], 10 - columns[0])))
    np.testing.assert_array_equal(BundleReader(str(prefix)).read_slice("table", (7, 10), part), TABLE[part.place()])


def test_missing_parts(tmp_path):
    write_parts(tmp_path / "model", "7 10 0,3:0,10")
    with pytest.raises(DataLossError, match="40 of its 70 elements"):
        BundleReader(str(tmp_path / "model")).read("table")


@pytest.mark.parametrize("spec", ["7 10", "7 10 0,3", "7 0,8", "7 -1,3", "7 a,b", "x -", ""])
def test_bad_specifications(spec):
    with pytest.raises(InvalidArgumentError):
        parse_shape_and_slice(spec)


def test_wrong_shape(tmp_path):
    reader = write(tmp_path / "model", table=TABLE)
    with pytest.raises(InvalidArgumentError, match=r"\[7, 10\].*\[8, 10\]"):
        reader.read_slice("table", (8, 10), TensorSlice((0, 0), (1, 1)))
    with pytest.raises(InvalidArgumentError, match="slice of shape"), BundleWriter(str(tmp_path / "other")) as writer:
        writer.add_slice("table", (7, 10), TensorSlice((0, 0), (2, 10)), TABLE)


numbers = st.one_of(st.integers(-1, 300), st.integers(0, 2**62))


@settings(deadline=None)
@given(keys=st.lists(st.tuples(st.text(max_size=5), st.lists(st.tuples(numbers, numbers), min_size=2, max_size=2)), min_size=2, max_size=2))
def test_keys_of_parts_sort_like_what_they_name(keys):
    def key(name, pairs):
        return slice_key(name, TensorSlice(tuple(start for start, _ in pairs), tuple(length for _, length in pairs)))

    (one, other) = sorted(keys, key=lambda item: (item[0].encode(), item[1]))
    assert key(*one) <= key(*other)


# --- merging ---------------------------------------------------------------------------------------------------------

def test_merge(tmp_path):
    write_parts(tmp_path / "temp" / "0", "7 10 0,3:-")
    write_parts(tmp_path / "temp" / "1", "7 10 3,4:-")
    write(tmp_path / "temp" / "2", other=np.ones(3))
    merge([str(tmp_path / "temp" / str(number)) for number in range(3)], str(tmp_path / "model"))
    reader = BundleReader(str(tmp_path / "model"))
    np.testing.assert_array_equal(reader.read("table"), TABLE)
    np.testing.assert_array_equal(reader.read("other"), np.ones(3))
    assert os.listdir(tmp_path / "temp") == []
    assert sorted(os.listdir(tmp_path)) == [*(f"model.data-0000{shard}-of-00003" for shard in range(3)), "model.index", "temp"]


def test_merging_the_same_name_twice(tmp_path):
    write(tmp_path / "0", same=np.ones(3))
    write(tmp_path / "1", same=np.ones(3))
    with pytest.raises(InvalidArgumentError, match="same"):
        merge([str(tmp_path / "0"), str(tmp_path / "1")], str(tmp_path / "model"))
    with pytest.raises(InvalidArgumentError, match="duplicate"), BundleWriter(str(tmp_path / "model")) as writer:
        writer.add("same", np.ones(1))
        writer.add("same", np.ones(1))
    assert not os.path.exists(tmp_path / "model.index")


@pytest.mark.parametrize("shards", [1, 2])
def test_replacing_a_checkpoint_of_the_same_name(tmp_path, shards):
    for round_number in range(3):
        parts = [str(tmp_path / f"part{number}") for number in range(shards)]
        for number, part in enumerate(parts):
            write(part, **{f"v{number}": np.full(5, round_number)})
        merge(parts, str(tmp_path / "model"))
        reader = BundleReader(str(tmp_path / "model"))
        assert all(reader.read(f"v{number}").tolist() == [round_number] * 5 for number in range(shards))
        assert sorted(os.listdir(tmp_path)) == [*(f"model.data-0000{shard}-of-0000{shards}" for shard in range(shards)), "model.index"]


# --- damage ----------------------------------------------------------------------------------------------------------

@pytest.fixture
def saved(tmp_path):
    write(tmp_path / "model", weights=np.arange(1000.0), words=np.array([b"one", b"two"], object))
    return tmp_path


def damage(path, at, byte):
    contents = bytearray(path.read_bytes())
    contents[at] ^= byte
    path.write_bytes(contents)


@pytest.mark.parametrize("at", [0, 4000, 7999])
def test_a_changed_byte_of_numbers(saved, at):
    damage(saved / "model.data-00000-of-00001", at, 0x10)
    reader = CheckpointReader(str(saved / "model"))
    with pytest.raises(DataLossError, match=r"model\.data-00000-of-00001, tensor weights: Checksum does not match"):
        reader.get_tensor("weights")
    assert reader.get_tensor("words").tolist() == [b"one", b"two"]


@settings(deadline=None)
@given(at=st.integers(8000, 8011), byte=st.integers(1, 255))
def test_a_changed_byte_of_strings(tmp_path_factory, at, byte):
    folder = tmp_path_factory.getbasetemp()
    write(folder / "model", weights=np.arange(1000.0), words=np.array([b"one", b"two"], object))
    damage(folder / "model.data-00000-of-00001", at, byte)
    with pytest.raises(DataLossError, match="tensor words"):
        BundleReader(str(folder / "model")).read("words")


def test_truncated_data(saved):
    path = saved / "model.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataLossError, match=r"tensor weights.*truncated"):
        BundleReader(str(saved / "model")).read("weights")


def test_truncated_index(saved):
    path = saved / "model.index"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataLossError, match=r"model\.index"):
        BundleReader(str(saved / "model"))


def test_missing_data(saved):
    os.remove(saved / "model.data-00000-of-00001")
    with pytest.raises(NotFoundError, match=r"model\.data-00000-of-00001.*weights"):
        BundleReader(str(saved / "model")).read("weights")


def test_missing_names_are_explained(saved):
    write(saved / "other", **{"layer1/kernel": np.zeros(1), "layer1/bias": np.zeros(1)})
    reader = BundleReader(str(saved / "other"))
    with pytest.raises(NotFoundError, match=r"Key layer1/kernels not found in checkpoint .*other.*layer1/kernel"):
        reader.read("layer1/kernels")
    with pytest.raises(NotFoundError, match="It has: layer1/bias"):
        reader.read("a_completely_different_scope/bias")
    with pytest.raises(NotFoundError, match="other"):
        open_checkpoint(str(saved / "nothing"))


def test_a_table_that_is_no_index(tmp_path):
    write_version1(str(tmp_path / "model.index"), [("v", None, np.zeros(3, np.float32), dtypes.float32)])
    with pytest.raises(DataLossError, match="index"):
        BundleReader(str(tmp_path / "model")).read("v")


def test_version1_round_trip(tmp_path):
    shape, part = parse_shape_and_slice("4 2 1,3:-")
    rest = parse_shape_and_slice("4 2 0,1:-")[1]
    table = np.arange(8, dtype=np.float64).reshape(4, 2)
    write_version1(str(tmp_path / "model"), [
        ("table", (shape, part), table[1:], dtypes.float64), ("table", (shape, rest), table[:1], dtypes.float64),
        ("half", None, np.float16([1.5]), dtypes.float16), ("words", None, np.array([b"x"], object), dtypes.string)])
    reader = open_checkpoint(str(tmp_path / "model"))
    np.testing.assert_array_equal(reader.read("table"), table)
    assert reader.read("half").tolist() == [1.5] and reader.read("words").tolist() == [b"x"]
    np.testing.assert_array_equal(reader.read_slice("table", shape, TensorSlice((0, 1), (3, 1))), table[:3, 1:])
