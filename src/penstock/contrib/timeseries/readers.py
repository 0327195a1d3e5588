"""Where series come from: arrays, CSV files, records of examples."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import TrainEvalFeatures
from penstock.contrib.training.feeding import enqueue_data
from penstock.ops.flow.py_func import py_func
from penstock.ops.queues.reader_classes import TextLineReader, TFRecordReader
from penstock.ops.text.decoding import decode_csv
from penstock.ops.text.parsing import parse_example
from penstock.platform.gfile import GFile
from penstock.platform.tf_record import tf_record_iterator
from penstock.train.input import string_input_producer

TIMES, VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


class TimeSeriesReader(ABC):
    """Reads a series, whole or a part at a time."""

    @abstractmethod
    def read(self) -> dict[str, Any]:
        """The next records, as many as is handy: {feature: tensor}."""

    @abstractmethod
    def read_full(self) -> dict[str, Any]:
        """All records."""

    def check_dataset_size(self, minimum_dataset_size: int) -> None:  # noqa: B027 (most readers do not know the size)
        """An error if the series is known to be shorter."""


def canonicalize_numpy_data(data: dict[str, Any], require_single_batch: bool) -> dict[str, Any]:
    """{feature: array} with the batch first, then the times; dimensions that are missing are 1."""
    features = {key: np.array(value) for key, value in data.items()}
    if TIMES not in features or VALUES not in features:
        raise ValueError(f"{sorted(features)} is missing '{TIMES}' or '{VALUES}'.")
    times = features[TIMES]
    if np.shape(times) != np.shape(features[VALUES])[:times.ndim]:
        raise ValueError(f"The shape of '{VALUES}' begins with that of '{TIMES}', got {np.shape(features[VALUES])} and {times.shape}.")
    if features[VALUES].ndim == times.ndim:  # one feature
        features[VALUES] = features[VALUES][..., None]
    for key, value in features.items():
        if value.shape[:times.ndim] != times.shape:
            raise ValueError(f"The shape of every feature begins with that of '{TIMES}', {times.shape}; got {value.shape} for '{key}'.")
    for _ in range(2 - times.ndim):
        features = {key: value[None] for key, value in features.items()}
    if features[TIMES].ndim != 2:
        raise ValueError(f"'{TIMES}' is a number, a vector, or a matrix with a row for each series, got the shape {times.shape}.")
    if require_single_batch and len(features[TIMES]) != 1:
        raise ValueError(f"Expected a single series, got a batch of {len(features[TIMES])}.")
    return features


class NumpyReader(TimeSeriesReader):
    """``tf.contrib.timeseries.NumpyReader``: a series in arrays, which stay outside of the graph."""

    def __init__(self, data: dict[str, Any], read_num_records_hint: int = 4096) -> None:
        self._features = {key: value[0] for key, value in canonicalize_numpy_data(data, require_single_batch=True).items()}
        self._read_num_records_hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """An error if the arrays are shorter."""
        if len(self._features[TIMES]) < minimum_dataset_size:
            raise ValueError(f"A TimeSeriesInputFn is configured to create windows of size {minimum_dataset_size}, but only "
                             f"{len(self._features[TIMES])} records were available in the dataset. Either decrease the window size or provide more "
                             "records.")

    def read(self) -> dict[str, Any]:
        """The next rows, around and around."""
        names = list(self._features)
        queue = enqueue_data(OrderedDict(self._features), capacity=1000, name="enqueue_input")
        read = queue.dequeue_many(min(self._read_num_records_hint, len(self._features[TIMES])))
        return dict(zip(names, read[1:]))  # the first are the numbers of the rows

    def read_full(self) -> dict[str, Any]:
        """All rows."""
        result = {}
        for key, value in self._features.items():
            result[key] = py_func(lambda value=value: value, [], value.dtype, stateful=False)
            result[key].set_shape(value.shape)
        return result


class ReaderBaseTimeSeriesParser(TimeSeriesReader):
    """Reads files by a ``tf.ReaderBase``."""

    def __init__(self, filenames: Any, read_num_records_hint: int = 4096) -> None:
        self._filenames, self._read_num_records_hint = filenames, read_num_records_hint

    @abstractmethod
    def _get_reader(self) -> Any:
        """The reader of records."""

    @abstractmethod
    def _process_records(self, lines: Any) -> dict[str, Any]:
        """{feature: tensor} of some records."""

    def _names(self) -> Any:
        return tf.convert_to_tensor([self._filenames] if isinstance(self._filenames, str) else list(self._filenames))

    def read(self) -> dict[str, Any]:
        """The next records, around and around."""
        queue = string_input_producer(self._names(), shuffle=False, capacity=1)
        return self._process_records(self._get_reader().read_up_to(queue, self._read_num_records_hint)[1])

    def read_full(self) -> dict[str, Any]:
        """All records of all files, in order: each run reads them from the beginning."""
        names = [self._filenames] if isinstance(self._filenames, str) else list(self._filenames)

        def records() -> Any:
            return np.array([record for name in names for record in self._records(name)], object)
        lines = py_func(records, [], tf.string)
        lines.set_shape([None])
        return self._process_records(lines)

    @abstractmethod
    def _records(self, name: str) -> list[bytes]:
        """All records of a file."""


class CSVReader(ReaderBaseTimeSeriesParser):
    """``tf.contrib.timeseries.CSVReader``: a series in lines of columns; the columns of the values may be several."""

    def __init__(self, filenames: Any, column_names: Any = (TIMES, VALUES), column_dtypes: Any = None, skip_header_lines: int | None = None,
                 read_num_records_hint: int = 4096) -> None:
        for name in (TIMES, VALUES):
            if name not in column_names:
                raise ValueError(f"'{name}' is a required column, got column_names={list(column_names)}.")
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(f"If specified, the length of column_dtypes must match the length of column_names ({len(column_names)}), "
                             f"got {len(column_dtypes)}.")
        self._column_names, self._skip_header_lines = column_names, skip_header_lines
        self._column_dtypes = column_dtypes or [tf.int64 if name == TIMES else tf.float32 for name in column_names]
        super().__init__(filenames=filenames, read_num_records_hint=read_num_records_hint)

    def _get_reader(self) -> Any:
        return TextLineReader(skip_header_lines=self._skip_header_lines)

    def _records(self, name: str) -> list[bytes]:
        with GFile(name, "rb") as file:
            return file.read().splitlines()[self._skip_header_lines or 0:]

    def _process_records(self, lines: Any) -> dict[str, Any]:
        columns = decode_csv(lines, record_defaults=[tf.zeros([1], dtype) if name == TIMES else tf.constant([], dtype)
                                                     for name, dtype in zip(self._column_names, self._column_dtypes)])
        found: dict[str, list[Any]] = {}
        for name, column in zip(self._column_names, columns):
            found.setdefault(name, []).append(column)
        result = {}
        for name, parts in found.items():
            if len(parts) > 1 and name != VALUES:
                raise ValueError(f"Only '{VALUES}' may be the name of several columns, got {list(self._column_names)}.")
            result[name] = tf.stack(parts, 1) if name == VALUES else parts[0]
        return result


class TFExampleReader(ReaderBaseTimeSeriesParser):
    """A series in records of ``tf.train.Example``, one for each time."""

    def __init__(self, filenames: Any, features: dict[str, Any]) -> None:
        if TIMES not in features or VALUES not in features:
            raise ValueError(f"'{TIMES}' and '{VALUES}' are required features, got {sorted(features)}.")
        if features[TIMES].shape not in ((), []) or not tf.as_dtype(features[TIMES].dtype).is_integer:
            raise ValueError(f"'{TIMES}' is one integer per example, got {features[TIMES]}.")
        self._features = features
        super().__init__(filenames=filenames)

    def _get_reader(self) -> Any:
        return TFRecordReader()

    def _records(self, name: str) -> list[bytes]:
        return list(tf_record_iterator(name))

    def _process_records(self, examples: Any) -> dict[str, Any]:
        result = parse_example(examples, self._features)
        if result[VALUES].shape.ndims == 1:
            result[VALUES] = result[VALUES][:, None]
        return result
