"""Initializers from matrices of a checkpoint, by the words that rows and columns stand for: ``tf.contrib.framework.load_*_initializer``."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.state.remapping import GenerateVocabRemapping, LoadAndRemapMatrix
from penstock.variables.initializers import TruncatedNormal


@dataclass(frozen=True)
class _Axis:
    """The rows or the columns: how many words they have now, in which files the words stand, and how many are appended for others."""

    what: str
    size: int
    old_file: Any
    new_file: Any
    buckets: int
    old_size: int = -1

    def check(self) -> None:
        if self.buckets < 0:
            raise ValueError(f"num_{self.what}_oov_buckets must be >= 0, but received {self.buckets}")
        if (self.old_file is None) != (self.new_file is None):
            raise ValueError(f"old_{self.what}_vocab_file and new_{self.what}_vocab_file must both be specified or left unspecified. "
                             f"old_{self.what}_vocab_file='{self.old_file}', new_{self.what}_vocab_file='{self.new_file}'")

    def places(self, start: int, count: int) -> tuple[Any, Any]:
        """(where each word stood, how many did)."""
        if self.new_file is None:
            return tf.range(start, start + count, dtype=tf.int64), count
        return GenerateVocabRemapping(self.new_file, self.old_file, new_vocab_offset=start, num_new_vocab=count, old_vocab_size=self.old_size)


def load_and_remap_matrix_initializer(ckpt_path: Any, old_tensor_name: Any, new_row_vocab_size: int, new_col_vocab_size: int,
                                      old_row_vocab_size: int = -1, old_row_vocab_file: Any = None, new_row_vocab_file: Any = None,
                                      old_col_vocab_file: Any = None, new_col_vocab_file: Any = None, num_row_oov_buckets: int = 0,
                                      num_col_oov_buckets: int = 0, initializer: Any = None, max_rows_in_memory: int = -1) -> Callable[..., Any]:
    """``tf.contrib.framework.load_and_remap_matrix_initializer``: words that are new get values of ``initializer``, zeros by default."""
    initializer = tf.zeros_initializer() if initializer is None else initializer
    if not callable(initializer):
        raise TypeError(f"initializer must be callable, instead of being {initializer} of type {type(initializer)}.")
    rows = _Axis("row", new_row_vocab_size, old_row_vocab_file, new_row_vocab_file, num_row_oov_buckets, old_row_vocab_size)
    columns = _Axis("col", new_col_vocab_size, old_col_vocab_file, new_col_vocab_file, num_col_oov_buckets)

    def initialize(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        if dtype != tf.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        shape = [int(extent) for extent in shape]
        start = 0 if partition_info is None else partition_info.single_offset(shape)
        _check_shape(shape, start, rows, columns)
        buckets = min(shape[0], max(0, start + shape[0] - rows.size))
        if start > rows.size:  # a part with nothing but buckets
            return initializer(shape)
        return _matrix(ckpt_path, old_tensor_name, (rows, columns), (start, shape[0] - buckets), buckets, initializer, max_rows_in_memory)

    return initialize


def _check_shape(shape: list[int], start: int, rows: _Axis, columns: _Axis) -> None:
    if len(shape) != 2:
        raise ValueError(f"Expected 2-dim shape, but received: {shape}")
    if shape[0] <= 0:
        raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
    if shape[1] != columns.size + columns.buckets:
        raise ValueError(f"Expected 2nd dim of shape to be new_col_vocab_size ({columns.size}) + num_col_oov_buckets ({columns.buckets}) = "
                         f"{columns.size + columns.buckets}, but received shape: {shape}")
    if start + shape[0] > rows.size + rows.buckets:
        raise ValueError(f"Trying to initialize {shape[0]} additional rows after {start} rows have already been initialized, which would exceed "
                         f"expected total row count of new_row_vocab_size ({rows.size}) + num_row_oov_buckets ({rows.buckets}) = "
                         f"{rows.size + rows.buckets}.")


def _matrix(path: Any, name: Any, axes: tuple[_Axis, _Axis], part: tuple[int, int], buckets: int, initializer: Any, max_rows: int) -> Any:
    """Rows of a part, and below and beside them what stands for unknown words."""
    rows, columns = axes
    rows.check()
    columns.check()
    if rows.new_file is None and columns.new_file is None:
        raise ValueError("Must provide either row or column vocab files. If no remapping is necessary, consider using "
                         "`tf.contrib.framework.init_from_checkpoint` instead.")
    start, count = part
    row_places, rows_present = rows.places(start, count)
    column_places, columns_present = ([], columns.size) if columns.new_file is None else columns.places(0, columns.size)
    missing = initializer([count * columns.size - rows_present * columns_present, 1])
    matrix = LoadAndRemapMatrix(path, name, row_places, column_places, missing, num_rows=count, num_cols=columns.size, max_rows_in_memory=max_rows)
    if buckets:
        matrix = tf.concat([matrix, initializer([buckets, columns.size])], 0)
    if columns.buckets:
        matrix = tf.concat([matrix, initializer([count + buckets, columns.buckets])], 1)
    return matrix


def load_embedding_initializer(ckpt_path: Any, embedding_tensor_name: Any, new_vocab_size: int, embedding_dim: int, old_vocab_file: Any,
                               new_vocab_file: Any, old_vocab_size: int = -1, num_oov_buckets: int = 0, initializer: Any = None,
                               max_rows_in_memory: int = -1) -> Callable[..., Any]:
    """``tf.contrib.framework.load_embedding_initializer``: the rows of an embedding table; new words get random ones."""
    initializer = TruncatedNormal(stddev=1.0 / math.sqrt(embedding_dim)) if initializer is None else initializer
    return load_and_remap_matrix_initializer(ckpt_path, embedding_tensor_name, new_vocab_size, embedding_dim, old_vocab_size, old_vocab_file,
                                             new_vocab_file, None, None, num_oov_buckets, 0, initializer, max_rows_in_memory)


def load_linear_multiclass_bias_initializer(ckpt_path: Any, bias_tensor_name: Any, new_class_vocab_size: int, old_class_vocab_file: Any,
                                            new_class_vocab_file: Any, num_class_oov_buckets: int = 0, initializer: Any = None,
                                            max_rows_in_memory: int = -1) -> Callable[..., Any]:
    """``tf.contrib.framework.load_linear_multiclass_bias_initializer``: one bias per class."""
    return load_and_remap_matrix_initializer(ckpt_path, bias_tensor_name, new_class_vocab_size, 1, -1, old_class_vocab_file, new_class_vocab_file,
                                             None, None, num_class_oov_buckets, 0, initializer, max_rows_in_memory)


def load_variable_slot_initializer(ckpt_path: Any, old_tensor_name: Any, primary_partition_info: Any, new_row_vocab_size: int,
                                   new_col_vocab_size: int, old_row_vocab_file: Any = None, new_row_vocab_file: Any = None,
                                   old_col_vocab_file: Any = None, new_col_vocab_file: Any = None, num_row_oov_buckets: int = 0,
                                   num_col_oov_buckets: int = 0, initializer: Any = None, max_rows_in_memory: int = -1) -> Callable[..., Any]:
    """``tf.contrib.framework.load_variable_slot_initializer``: a slot has no parts of its own; its variable's say which rows it needs."""
    whole = load_and_remap_matrix_initializer(ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size, -1, old_row_vocab_file,
                                              new_row_vocab_file, old_col_vocab_file, new_col_vocab_file, num_row_oov_buckets, num_col_oov_buckets,
                                              initializer, max_rows_in_memory)

    def initialize(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        return whole(shape, dtype, primary_partition_info)

    return initialize
