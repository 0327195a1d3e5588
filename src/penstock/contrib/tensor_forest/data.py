"""Features and labels as forests take them: one matrix of floats, or one sparse one, and a description of their columns."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph import dtypes
from penstock.ops.sparse.sparse_functions import sparse_concat, sparse_tensor_to_dense
from penstock.ops.trees.forests import ReinterpretStringToFloat
from penstock.platform import logging

DATA_FLOAT, DATA_CATEGORICAL = 0, 1
DTYPE_TO_FTYPE = {dtypes.string: DATA_CATEGORICAL, dtypes.int32: DATA_CATEGORICAL, dtypes.int64: DATA_CATEGORICAL,
                  dtypes.float32: DATA_FLOAT, dtypes.float64: DATA_FLOAT}


def CastToFloat(tensor: Any) -> Any:
    """Numbers as float32, strings by their hashes."""
    if tensor.dtype == dtypes.string:
        return ReinterpretStringToFloat(tensor)
    return tf.cast(tensor, tf.float32)


class DataColumn:
    """A column: its name, type and width."""

    def __init__(self) -> None:
        self.name, self.original_type, self.size = "", "", 0

    def SerializeToString(self) -> str:
        """As the operations read it."""
        return f"name: {self.name} original_type: {self.original_type} size: {self.size}"


class DataColumnCollection:
    """A list of columns."""

    def __init__(self) -> None:
        self.cols: list[DataColumn] = []

    def add(self) -> DataColumn:
        """A new column at its end."""
        self.cols.append(DataColumn())
        return self.cols[-1]

    def size(self) -> int:
        """The number of columns."""
        return len(self.cols)

    def SerializeToString(self) -> str:
        """As the operations read it."""
        return "".join(f"{{{column.SerializeToString()}}}" for column in self.cols)


class TensorForestDataSpec:
    """Which columns there are."""

    def __init__(self) -> None:
        self.sparse, self.dense, self.dense_features_size = DataColumnCollection(), DataColumnCollection(), 0

    def SerializeToString(self) -> str:
        """As the operations read it."""
        return (f"dense_features_size: {self.dense_features_size} dense: [{self.dense.SerializeToString()}] "
                f"sparse: [{self.sparse.SerializeToString()}]")


def GetColumnName(column_key: Any, col_num: int) -> str:
    """The name of a feature or of a feature column."""
    return column_key if isinstance(column_key, str) else getattr(column_key, "column_name", str(col_num))


def ParseDataTensorOrDict(data: Any) -> tuple[Any, Any, TensorForestDataSpec]:
    """(dense features or None, sparse ones or None, their description) of a tensor or of tensors by name."""
    spec = TensorForestDataSpec()
    if isinstance(data, dict):
        dense, sparse = _columns(data, spec)
        logging.info(spec.SerializeToString())
        return tf.concat(dense, 1) if dense else None, sparse_concat(1, sparse) if sparse else None, spec
    if isinstance(data, tf.SparseTensor):
        _describe(spec.sparse.add(), "sparse_features", data.dtype, -1)
        return None, tf.SparseTensor(data.indices, CastToFloat(data.values), data.dense_shape), spec
    data = tf.convert_to_tensor(data)
    width = data.shape.with_rank(2).extent(1)
    if width is None:
        raise ValueError(f"The number of features of {data.name} is unknown: give it a shape, as [None, num_features].")
    _describe(spec.dense.add(), "dense_features", data.dtype, width)
    spec.dense_features_size = width
    return CastToFloat(data), None, spec


def _columns(data: dict[Any, Any], spec: TensorForestDataSpec) -> tuple[list[Any], list[Any]]:
    dense: list[Any] = []
    sparse: list[Any] = []
    for key in sorted(data):
        feature = data[key]
        if isinstance(feature, tf.SparseTensor):
            if feature.dtype == dtypes.float32:
                logging.info("TensorForest does not support sparse continuous.")
                continue
            if not spec.sparse.size():
                _describe(spec.sparse.add(), "all_sparse", dtypes.int32, -1)
            sparse.append(tf.SparseTensor(feature.indices, CastToFloat(feature.values), feature.dense_shape))
        else:
            feature = tf.expand_dims(feature, 1) if feature.shape.ndims == 1 else feature
            _describe(spec.dense.add(), GetColumnName(key, len(dense)), feature.dtype, feature.shape.extent(1))
            spec.dense_features_size += feature.shape.extent(1)
            dense.append(CastToFloat(feature))
    return dense, sparse


def _describe(column: Any, name: str, dtype: Any, size: int) -> None:
    if dtype not in DTYPE_TO_FTYPE:
        raise TypeError(f"Feature {name} is of {dtype.name}; a forest takes {', '.join(known.name for known in DTYPE_TO_FTYPE)}.")
    column.name, column.original_type, column.size = name, DTYPE_TO_FTYPE[dtype], size


def ParseLabelTensorOrDict(labels: Any) -> Any:
    """Labels as floats; those of a dict side by side, sparse ones made dense with -1."""
    if isinstance(labels, dict):
        return tf.cast(tf.concat([_dense(labels[key]) for key in sorted(labels)], 1), tf.float32)
    return tf.cast(_dense(labels), tf.float32)


def _dense(labels: Any) -> Any:
    return sparse_tensor_to_dense(labels, default_value=-1) if isinstance(labels, tf.SparseTensor) else labels
