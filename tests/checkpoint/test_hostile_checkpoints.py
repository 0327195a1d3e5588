"""Small checkpoints that ask for much memory: DataLossError, before the memory is taken."""
from __future__ import annotations

import struct

import numpy as np
import pytest

from penstock.checkpoint.bundle_writer import BundleWriter
from penstock.checkpoint.protos import BundleEntryProto, SavedTensorSlices
from penstock.checkpoint.publish import index_path
from penstock.checkpoint.slices import TensorSlice, slice_key, whole_slice
from penstock.checkpoint.sstable import build_table, read_table
from penstock.checkpoint.version1 import write_version1
from penstock.checkpoint.versions import open_checkpoint
from penstock.errors import DataLossError
from penstock.graph import dtypes
from penstock.platform.records import masked_crc32c
from penstock.platform.varints import varint
from support.memory import peak_of


def refused(path, name="w"):
    with pytest.raises(DataLossError):
        open_checkpoint(str(path)).read(name)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]], ids=len)
def test_a_version_1_tensor_that_is_not_written_out(tmp_path, values):
    path = tmp_path / "model"
    write_version1(str(path), [("w", None, np.zeros(3, np.float32), dtypes.float32)])
    table = read_table(str(path))
    meta = SavedTensorSlices.FromString(table[b""])
    meta.meta.tensor[0].shape.dim[0].size = 1 << 30
    data = SavedTensorSlices.FromString(table[slice_key("w", whole_slice(1))])
    data.data.data.float_val[:] = values
    path.write_bytes(build_table([(b"", meta.SerializeToString()), (slice_key("w", whole_slice(1)), data.SerializeToString())]))
    assert peak_of(lambda: refused(path)) < 10 << 20


@pytest.mark.parametrize("extent", [1 << 30, 1 << 62])
def test_a_large_shape_of_few_parts(tmp_path, extent):
    path = tmp_path / "model"
    with BundleWriter(str(path)) as writer:
        writer.add_slice("w", [4, 2], TensorSlice((0, 0), (2, -1)), np.ones((2, 2)))
        writer.add_slice("w", [4, 2], TensorSlice((2, 0), (2, -1)), np.ones((2, 2)))
    table = read_table(index_path(str(path)))
    entry = BundleEntryProto.FromString(table[b"w"])
    entry.shape.dim[0].size = extent
    table[b"w"] = entry.SerializeToString()
    (tmp_path / "model.index").write_bytes(build_table(sorted(table.items())))
    assert peak_of(lambda: refused(path)) < 10 << 20
    for part in entry.slices:  # each says that it is the whole, in another way
        part.extent[0].start, part.extent[0].length = 0, extent
    table[b"w"] = entry.SerializeToString()
    (tmp_path / "model.index").write_bytes(build_table(sorted(table.items())))
    assert peak_of(lambda: refused(path)) < 10 << 20


def test_parts_that_overlap(tmp_path):
    with BundleWriter(str(tmp_path / "model")) as writer:
        writer.add_slice("w", [4], TensorSlice((0,), (3,)), np.ones(3))
        writer.add_slice("w", [4], TensorSlice((1,), (3,)), np.ones(3))
    with pytest.raises(DataLossError, match="overlap"):
        open_checkpoint(str(tmp_path / "model")).read("w")


def with_footer(block):
    """A table of one block of pairs."""
    def framed(contents):
        return contents + b"\0" + struct.pack("<I", masked_crc32c(contents + b"\0"))

    handle = varint(0) + varint(len(block))
    index = varint(0) + varint(1) + varint(len(handle)) + b"z" + handle + struct.pack("<II", 0, 1)
    body = framed(block) + framed(index)
    where = varint(len(body)) + varint(0) + varint(len(framed(block))) + varint(len(index))
    return body + where.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def test_keys_that_share_a_long_beginning(tmp_path):
    entries = varint(0) + varint(100_000) + varint(0) + b"k" * 100_000
    entries += b"".join(varint(100_000) + varint(2) + varint(0) + struct.pack(">H", number) for number in range(30_000))
    (tmp_path / "model.index").write_bytes(with_footer(entries + struct.pack("<II", 0, 1)))
    assert peak_of(lambda: refused(tmp_path / "model")) < 700 << 20
