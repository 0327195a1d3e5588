"""Datasets of files: ``tf.data.TextLineDataset``, ``TFRecordDataset``, ``FixedLengthRecordDataset``, and of databases."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data import element_nest, structure
from penstock.data.dataset import Dataset, int64
from penstock.data.interleave import parallel_interleave
from penstock.data.structure import TensorSpec
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.ops.array.shape_ops import reshape
from penstock.ops.data import dataset_files, dataset_sql

_BUFFER_SIZE = 256 * 1024
_LINE = TensorSpec(dt.string, TensorShape(()))


class _FileDataset(Dataset):
    """Elements of one file after the other, or of several at a time."""

    def _read(self, filenames: Any, of_file: Callable[[Tensor], Tensor], parallel_reads: int | None = None) -> None:
        names = _dataset_of_names(filenames)

        def contents(name: Tensor) -> Dataset:
            return Dataset(of_file(name), _LINE)

        read = names.flat_map(contents) if parallel_reads is None else names.apply(parallel_interleave(contents, parallel_reads))
        super().__init__(read._variant_tensor, _LINE)


def _dataset_of_names(filenames: Any) -> Dataset:
    if isinstance(filenames, Dataset):
        if filenames.output_types is not dt.string:
            raise TypeError(f"`filenames` must be a `tf.data.Dataset` of `tf.string` elements, not {filenames.output_types}.")
        return filenames
    names = to_tensor(filenames, dt.string)
    return Dataset.from_tensor_slices(reshape(names, [-1], name="flat_filenames"))


def _text(value: Any, name: str) -> Tensor:
    return to_tensor("" if value is None else value, dt.string, name=name)


class TextLineDataset(_FileDataset):
    """The lines of text files, without their ends."""

    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: int | None = None) -> None:
        compression, size = compression_type, _BUFFER_SIZE if buffer_size is None else buffer_size
        self._read(filenames, lambda name: dataset_files.TextLineDataset(name, _text(compression, "compression_type"), int64(size, "buffer_size")),
                   num_parallel_reads)


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files."""

    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: int | None = None) -> None:
        compression, size = compression_type, _BUFFER_SIZE if buffer_size is None else buffer_size
        self._read(filenames, lambda name: dataset_files.TFRecordDataset(name, _text(compression, "compression_type"), int64(size, "buffer_size")),
                   num_parallel_reads)


class FixedLengthRecordDataset(_FileDataset):
    """Pieces of ``record_bytes`` bytes each of binary files."""

    def __init__(self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None, buffer_size: Any = None,
                 compression_type: Any = None, num_parallel_reads: int | None = None) -> None:
        numbers = {"header_bytes": header_bytes or 0, "record_bytes": record_bytes, "footer_bytes": footer_bytes or 0,
                   "buffer_size": _BUFFER_SIZE if buffer_size is None else buffer_size}
        self._read(filenames, lambda name: dataset_files.FixedLengthRecordDatasetV2(
            name, *[int64(number, label) for label, number in numbers.items()], _text(compression_type, "compression_type")), num_parallel_reads)


class LMDBDataset(Dataset):
    """``tf.contrib.data.LMDBDataset``: (key, value) of each entry of LMDB databases, in the order of the keys."""

    def __init__(self, filenames: Any) -> None:
        specs = (_LINE, _LINE)
        super().__init__(dataset_files.LMDBDataset(to_tensor(filenames, dt.string, name="filenames"), **structure.output_attrs(specs)), specs)


class SqlDataset(Dataset):
    """``tf.data.experimental.SqlDataset``: the rows that a query gives, as tuples of scalars; the driver is "sqlite"."""

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> None:
        specs = element_nest.map_structure(lambda dtype: TensorSpec(dt.as_dtype(dtype), TensorShape(())), output_types)
        inputs = [to_tensor(value, dt.string, name=name)
                  for name, value in (("driver_name", driver_name), ("data_source_name", data_source_name), ("query", query))]
        super().__init__(dataset_sql.SqlDataset(*inputs, **structure.output_attrs(specs)), specs)


class TFRecordWriter:
    """``tf.data.experimental.TFRecordWriter``: writes a dataset of strings to a file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename, self._compression = to_tensor(filename, dt.string, name="filename"), _text(compression_type, "compression_type")

    def write(self, dataset: Dataset) -> Operation:
        """The operation that writes."""
        if dataset.output_types is not dt.string or not dataset.output_shapes.is_compatible_with([]):
            raise TypeError(f"`dataset` must produce scalar `DT_STRING` tensors, not {dataset!r}.")
        made: Operation = dataset_files.DatasetToTFRecord(dataset._variant_tensor, self._filename, self._compression)
        return made
