"""Whole pipelines for files of Examples and of comma-separated values."""
from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

from penstock.data.dataset import AUTOTUNE, Dataset
from penstock.data.file_datasets import TextLineDataset, TFRecordDataset
from penstock.data.interleave import Transformation, parallel_interleave
from penstock.data.transformations import ignore_errors as without_errors
from penstock.data.transformations import shuffle_and_repeat
from penstock.graph import dtypes as dt
from penstock.ops.constant import constant
from penstock.ops.text.decoding import decode_csv
from penstock.ops.text.parsing import parse_example
from penstock.platform import gfile

_NUMBERS = ((int, dt.int32), (int, dt.int64), (float, dt.float32), (float, dt.float64), (str, dt.string))


def parse_example_dataset(features: Any, num_parallel_calls: Any = 1) -> Transformation:
    """Batches of serialized Examples as {name: Tensor or SparseTensor}."""
    return lambda dataset: dataset.map(lambda serialized: parse_example(serialized, features), num_parallel_calls=num_parallel_calls)


def _shuffle_and_repeat(dataset: Dataset, num_epochs: Any, shuffle: bool, buffer_size: int, seed: Any) -> Dataset:
    if num_epochs != 1 and shuffle:
        return dataset.apply(shuffle_and_repeat(buffer_size, num_epochs, seed))
    if shuffle:
        return dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def make_batched_features_dataset(file_pattern: Any, batch_size: Any, features: dict[str, Any], reader: Callable[..., Dataset] = TFRecordDataset,
                                  label_key: str | None = None, reader_args: Any = None, num_epochs: int | None = None, shuffle: bool = True,
                                  shuffle_buffer_size: int = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
                                  reader_num_threads: int | None = None, parser_num_threads: int | None = None, sloppy_ordering: bool = False,
                                  drop_final_batch: bool = False) -> Dataset:
    """Batches of the features of the Examples in some files, shuffled; with ``label_key``, pairs of the other features and that one."""
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
    arguments = list(reader_args or ())
    dataset = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = dataset.apply(parallel_interleave(lambda name: reader(name, *arguments), reader_num_threads or 1, sloppy=sloppy_ordering))
    if dataset.output_types == (dt.string, dt.string):  # keys and records
        dataset = dataset.map(lambda _, record: record)
    dataset = _shuffle_and_repeat(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        dataset = dataset.map(lambda parsed: (parsed, parsed.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def read_batch_features(file_pattern: Any, batch_size: Any, features: dict[str, Any], reader: Callable[..., Dataset] = TFRecordDataset,
                        reader_args: Any = None, randomize_input: bool = True, num_epochs: int | None = None, capacity: int = 10000) -> Any:
    """``tf.contrib.data.read_batch_features``: the next batch of the features of the Examples in some files."""
    dataset = make_batched_features_dataset(file_pattern, batch_size, features, reader, reader_args=reader_args, num_epochs=num_epochs,
                                            shuffle=randomize_input, shuffle_buffer_size=capacity)
    return dataset.make_one_shot_iterator().get_next()


# --- comma-separated values ------------------------------------------------------------------------------------------

class CsvDataset(Dataset):
    """The rows of CSV files: tuples with a scalar per column. ``record_defaults`` has a type, or a default value, for each column that is read."""

    def __init__(self, filenames: Any, record_defaults: Any, compression_type: Any = None, buffer_size: Any = None, header: bool = False,
                 field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "", select_cols: Any = None) -> None:
        defaults = [constant([], dt.as_dtype(item)) if _is_type(item) else item for item in record_defaults]

        def lines(name: Any) -> Dataset:
            rows: Dataset = TextLineDataset(name, compression_type, buffer_size)
            return rows.skip(1) if header else rows

        names = filenames if isinstance(filenames, Dataset) else Dataset.from_tensor_slices(
            [filenames] if isinstance(filenames, (str, bytes)) else filenames)
        parsed = names.flat_map(lines).filter(lambda line: line != "").map(lambda line: tuple(decode_csv(
            line, defaults, field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value, select_cols=select_cols)))
        super().__init__(parsed._variant_tensor, parsed._structure)


def _is_type(item: Any) -> bool:
    return isinstance(item, (dt.DType, type))


def make_csv_dataset(file_pattern: Any, batch_size: Any, column_names: Any = None, column_defaults: Any = None, label_name: str | None = None,
                     select_columns: Any = None, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "", header: bool = True,
                     num_epochs: int | None = None, shuffle: bool = True, shuffle_buffer_size: int = 10000, shuffle_seed: Any = None,
                     prefetch_buffer_size: Any = None, num_parallel_reads: int | None = None, sloppy: bool = False,
                     num_rows_for_inference: int | None = 100, compression_type: Any = None, ignore_errors: bool = False) -> Dataset:
    """Batches of the rows of CSV files as {column name: vector}; with ``label_name``, pairs of the other columns and that one."""
    paths = sorted({path for pattern in ([file_pattern] if isinstance(file_pattern, str) else file_pattern) for path in gfile.Glob(pattern)})
    if not paths:
        raise ValueError(f"No files match {file_pattern}.")
    if column_names is None and not header:
        raise ValueError("Cannot infer column names without a header line.")
    names = list(column_names) if column_names is not None else _first_row(paths, field_delim)
    if len(set(names)) != len(names):
        raise ValueError("Cannot have duplicate column names.")
    chosen = sorted(names.index(item) if isinstance(item, str) else item for item in select_columns) if select_columns is not None \
        else list(range(len(names)))
    defaults = list(column_defaults) if column_defaults is not None else \
        _infer_defaults(paths, chosen, field_delim, na_value, header, num_rows_for_inference)
    kept = [names[index] for index in chosen]
    if label_name is not None and label_name not in kept:
        raise ValueError("`label_name` provided must be one of the columns.")

    def rows(name: Any) -> Dataset:
        dataset: Dataset = CsvDataset(name, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value,
                                    chosen if select_columns is not None else None)
        return dataset.apply(without_errors()) if ignore_errors else dataset

    def as_features(*columns: Any) -> Any:
        features = dict(zip(kept, columns))
        return features if label_name is None else (features, features.pop(label_name))

    dataset = Dataset.from_tensor_slices(paths)
    dataset = dataset.shuffle(len(paths), shuffle_seed) if shuffle else dataset
    dataset = dataset.apply(parallel_interleave(lambda name: rows([name]), num_parallel_reads or 1, sloppy=sloppy))
    dataset = _shuffle_and_repeat(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(as_features)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _rows(path: str, delimiter: str) -> Any:
    with open(path, newline="", encoding="utf-8") as file:
        yield from csv.reader(file, delimiter=delimiter)


def _first_row(paths: list[str], delimiter: str) -> list[str]:
    first = next(_rows(paths[0], delimiter), None)
    if first is None:
        raise ValueError(f"Received CSV file with no rows: {paths[0]}")
    for path in paths[1:]:
        if next(_rows(path, delimiter), None) != first:
            raise ValueError("Files have different column names in the header row.")
    return first


def _infer_defaults(paths: list[str], chosen: list[int], delimiter: str, na_value: str, header: bool, limit: int | None) -> list[Any]:
    """A default per column: of the narrowest type that holds all values of the first rows."""
    kinds = [0] * len(chosen)
    seen = 0
    for path in paths:
        for number, row in enumerate(_rows(path, delimiter)):
            if (header and number == 0) or not row:
                continue
            if limit is not None and seen == limit:
                break
            seen += 1
            for place, index in enumerate(chosen):
                kinds[place] = max(kinds[place], _narrowest_kind(row[index], na_value))
    return [constant(["" if _NUMBERS[kind][1] is dt.string else 0], _NUMBERS[kind][1]) for kind in kinds]


def _narrowest_kind(text: str, na_value: str) -> int:
    """Which of _NUMBERS a field is."""
    if text in ("", na_value):
        return 0
    for kind, (parse, dtype) in enumerate(_NUMBERS):
        try:
            value: Any = parse(text)
        except ValueError:
            continue
        if dtype is dt.string or (dtype.is_integer and dtype.min <= value <= dtype.max) or (dtype.is_floating and abs(value) <= dtype.max):
            return kind
    return len(_NUMBERS) - 1
