"""Example protos as tensors: the operations (sequences: ``parse_sequence.py``). The functions that programs call are in ``ops/text/parsing.py``."""
from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.codec.examples import DenseFeature, Located, Sparse, located
from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import SHAPES, STRINGS, count, type_list
from penstock.graph.example_proto import Example
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, brackets
from penstock.ops.common import sparse_rows, strings
from penstock.ops.text.decoding import type_name
from penstock.ops.text.files import text

KINDS = [dt.float32, dt.int64, dt.string]
_FIELDS = {dt.float32: "float_list", dt.int64: "int64_list", dt.string: "bytes_list"}
_TYPES = {field: dtype for dtype, field in _FIELDS.items()}


_Parts = tuple[np.ndarray, np.ndarray, np.ndarray]  # of a sparse tensor: indices, values, shape


def _natively(serialized: np.ndarray, sparse_keys: Any, sparse_types: Any, dense_keys: Any, dense_types: Any, defaults: Any,
              shapes: Any) -> tuple[list[_Parts], list[np.ndarray]] | None:
    """The features, sparse and dense ones, as native code finds them; None where the examples are not plain, and have to be looked at one by one."""
    wanted = [Sparse(text(key), dtype.np) for key, dtype in zip(sparse_keys, sparse_types)]
    fixed = [DenseFeature(text(key), dtype.np, np.asarray(default, dtype.np).reshape(-1), shape.extents)
             for key, dtype, default, shape in zip(dense_keys, dense_types, defaults, shapes)]
    examples = located(serialized, tuple(feature.key for feature in (*wanted, *fixed)))
    if examples is None:
        return None
    sparse, dense = [], []
    for one in wanted:
        ragged = examples.ragged(one)
        if ragged is None:
            return None
        sparse.append(sparse_rows(*ragged))
    for feature in fixed:
        values = _dense_natively(examples, feature)
        if values is None:
            return None
        dense.append(values)
    return sparse, dense


def _dense_natively(examples: Located, feature: DenseFeature) -> np.ndarray | None:
    return examples.padded(feature) if feature.shape and feature.shape[0] is None else examples.fixed(feature)


class TypeMismatch(Exception):
    """A feature has another type than the program says; ``found`` is the one it has."""

    def __init__(self, dtype: dt.DType) -> None:
        super().__init__(dtype)
        self.dtype = dtype


def feature_values(feature: Any, dtype: dt.DType) -> np.ndarray | None:
    """The values of a feature; None if it has none of any kind."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _FIELDS[dtype]:
        raise TypeMismatch(_TYPES[kind])
    return _array(getattr(feature, kind).value, dtype)


def _array(values: Any, dtype: dt.DType) -> np.ndarray:
    return strings(values) if dtype is dt.string else np.array(values, dtype.np)


def parse_message(message: Any, content: Any) -> Any:
    content = text(content)
    try:
        return message.FromString(content)
    except DecodeError:
        shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in content[:60])
        raise invalid_argument(f"Could not parse example input, value: '{shown}'") from None


def _place(names: Any, index: int) -> str:
    names = np.asarray(names, object).reshape(-1)
    return f"Name: {key_text(names[index]) if index < names.size else '<unknown>'}, "


def _rows(examples: list[Any], key: str, dtype: dt.DType, where: list[str], wording: str) -> list[np.ndarray | None]:
    """The values of one feature in each example; None where it is missing."""
    rows = []
    for example, place in zip(examples, where):
        features = example.features.feature
        try:
            rows.append(feature_values(features[key], dtype) if key in features else None)
        except TypeMismatch as error:
            difference = wording.format(expected=type_name(dtype), found=type_name(error.dtype))
            raise invalid_argument(f"{place}Data types don't match. {difference}") from None
    return rows


_DENSE, _SPARSE = "Data type: {found} but expected type: {expected}", "Expected type: {expected}, Actual type: {found}"


def ragged_parts(rows: list[np.ndarray | None], dtype: dt.DType) -> _Parts:
    """The (indices, values, shape) of rows with different lengths."""
    lengths = np.array([0 if row is None else len(row) for row in rows], np.int64)
    present = [row for row in rows if row is not None]
    return sparse_rows(np.concatenate(present) if present else np.empty(0, dtype.np), lengths)


def stack_rows(rows: list[np.ndarray | None], key: str, dtype: dt.DType, default: np.ndarray, shape: TensorShape, missing: list[str],
           place: list[str], wording: str) -> np.ndarray:
    """One array of rows that all have this shape."""
    size, out = shape.num_elements(), []
    default = np.asarray(default, dtype.np)
    for index, row in enumerate(rows):
        if row is None:
            if default.size != size or (default.size == 0 and size != 0):
                raise invalid_argument(f"{missing[index]}Feature: {key} (data type: {type_name(dtype)}) is required but could not be found.")
            row = default.reshape(-1)
        if len(row) != size:
            raise invalid_argument(place[index] + wording.format(kind=type_name(dtype), size=len(row), shape=brackets(shape.extents)))
        out.append(row)
    return (np.stack(out) if out else np.empty((0, size or 0), dtype.np)).reshape(len(rows), *(shape.extents or ()))


def _stack_padded(rows: list[np.ndarray | None], key: str, dtype: dt.DType, default: np.ndarray, shape: TensorShape, place: list[str]) -> np.ndarray:
    """One array of rows whose first axis may differ: the short ones are filled up with the default."""
    inner = shape[1:].as_list()
    width = int(np.prod(inner))
    parts = [np.empty(0, dtype.np) if row is None else row for row in rows]
    for index, row in enumerate(parts):
        if len(row) % max(width, 1):
            raise invalid_argument(f"{place[index]}Number of {type_name(dtype)} values is not a multiple of stride length. "
                                   f"Saw {len(row)} values but output shape is: {brackets([1, *inner])}")
    longest = max((len(row) for row in parts), default=0)
    out = np.empty((len(rows), longest), dtype.np)
    filler = np.asarray(default, dtype.np).reshape(-1)
    out[...] = filler[0] if filler.size else (b"" if dtype is dt.string else 0)
    for index, row in enumerate(parts):
        out[index, :len(row)] = row
    return out.reshape(len(rows), longest // max(width, 1), *inner)


def check_sparse(keys: Any, types: Any) -> None:
    if len(keys) != len(types):
        raise ValueError(f"len(sparse_keys) != len(sparse_types): {len(keys)} and {len(types)}")


def check_dense(keys: Any, types: Any, shapes: Any, defaults: Any) -> None:
    """ValueError unless there is a type, a shape that is known but for its first extent, and a default that fits, for each key."""
    if len(keys) != len(types):
        raise ValueError(f"len(dense_keys) != len(dense_types): {len(keys)} and {len(types)}")
    if len(keys) != len(shapes):
        raise ValueError(f"len(dense_keys) != len(dense_shapes): {len(keys)} and {len(shapes)}")
    for index, (shape, default) in enumerate(zip(shapes, defaults)):
        if shape.ndims is None or None in shape.extents[1:]:
            raise ValueError(f"dense_shapes[{index}] has unknown rank or unknown inner dimensions: {shape}")
        size = default.shape.num_elements()
        if _variable(shape):
            if size not in (None, 0, 1):
                raise ValueError(f"dense_defaults[{index}] must have one element, which fills up, for dense_shapes[{index}] == {shape}")
        elif size and not default.shape.is_compatible_with(shape):
            raise ValueError(f"dense_defaults[{index}].shape == {default.shape} is not compatible with dense_shapes[{index}] == {shape}")


def _variable(shape: TensorShape) -> bool:
    return bool(shape.ndims) and shape.extents[0] is None


@op("ParseExample", "serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string, dense_defaults: Tdense -> "
    "sparse_indices: Nsparse * int64, sparse_values: sparse_types, sparse_shapes: Nsparse * int64, dense_values: Tdense",
    Nsparse=count(), Ndense=count(), sparse_types=type_list(0, KINDS), Tdense=type_list(0, KINDS), dense_shapes=SHAPES)
class ParseExample:
    """The features of a batch of serialized Examples."""

    ranks = {"serialized": 1, "names": 1, "sparse_keys": 0, "dense_keys": 0}
    gradient = None

    def shape(serialized, names, sparse_keys, dense_keys, dense_defaults, sparse_types, Tdense, dense_shapes):
        check_sparse(sparse_keys, sparse_types)
        check_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
        batch = serialized.shape.with_rank(1)
        if names.shape.num_elements() and not names.shape.is_compatible_with(batch):
            raise ValueError(f"Expected len(names) == len(serialized), but got: {names.shape} vs. {batch}")
        n = len(sparse_types)
        return [[None, 2]] * n + [[None]] * n + [[2]] * n + [batch.concatenate(shape) for shape in dense_shapes]

    def kernel(serialized, names, sparse_keys, dense_keys, dense_defaults, sparse_types, Tdense, dense_shapes):
        quick = _natively(np.asarray(serialized, object), sparse_keys, sparse_types, dense_keys, Tdense, dense_defaults, dense_shapes)
        if quick is not None:
            return (*(part[0] for part in quick[0]), *(part[1] for part in quick[0]), *(part[2] for part in quick[0]), *quick[1])
        examples = [parse_message(Example, item) for item in np.asarray(serialized, object)]
        who = [_place(names, index) for index in range(len(examples))]
        sparse, dense = [], []
        for key, dtype in zip(map(key_text, sparse_keys), sparse_types):
            place = [f"{name}Key: {key}, Index: {index}.  " for index, name in enumerate(who)]
            sparse.append(ragged_parts(_rows(examples, key, dtype, place, _SPARSE), dtype))
        for key, dtype, default, shape in zip(map(key_text, dense_keys), Tdense, dense_defaults, dense_shapes):
            place = [f"{name}Key: {key}, Index: {index}.  " for index, name in enumerate(who)]
            rows = _rows(examples, key, dtype, place, _DENSE)
            dense.append(_stack_padded(rows, key, dtype, default, shape, place) if _variable(shape) else stack_rows(
                rows, key, dtype, default, shape, who, place, "Number of {kind} values != expected.  Values size: {size} but output shape: {shape}"))
        return (*(part[0] for part in sparse), *(part[1] for part in sparse), *(part[2] for part in sparse), *dense)


def key_text(key: Any) -> str:
    return text(key).decode("utf-8", "replace")


@op("ParseSingleExample", "serialized: string, dense_defaults: Tdense -> "
    "sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense",
    num_sparse=count(), sparse_keys=STRINGS, dense_keys=STRINGS, sparse_types=type_list(0, KINDS), Tdense=type_list(0, KINDS), dense_shapes=SHAPES)
class ParseSingleExample:
    """The features of one serialized Example."""

    ranks = {"serialized": 0}
    gradient = None

    def shape(dense_defaults, num_sparse, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes):
        if num_sparse != len(sparse_keys):
            raise ValueError(f"num_sparse (={num_sparse}) != len(sparse_keys) (={len(sparse_keys)})")
        check_sparse(sparse_keys, sparse_types)
        check_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
        n = len(sparse_types)
        return [[None, 1]] * n + [[None]] * n + [[1]] * n + list(dense_shapes)

    def kernel(serialized, dense_defaults, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes):
        one = np.asarray(serialized, object).reshape(1)
        quick = _natively(one, sparse_keys, sparse_types, dense_keys, Tdense, dense_defaults, dense_shapes)
        if quick is not None:
            return (*(part[0][:, 1:] for part in quick[0]), *(part[1] for part in quick[0]), *(part[2][1:] for part in quick[0]),
                    *(value.reshape(value.shape[1:]) for value in quick[1]))
        examples = [parse_message(Example, serialized)]
        sparse, dense = [], []
        for key, dtype in zip(map(key_text, sparse_keys), sparse_types):
            sparse.append(ragged_parts(_rows(examples, key, dtype, [f"Key: {key}.  "], _SPARSE), dtype))
        for key, dtype, default, shape in zip(map(key_text, dense_keys), Tdense, dense_defaults, dense_shapes):
            place = [f"Key: {key}.  "]
            rows = _rows(examples, key, dtype, place, _DENSE)
            dense.append((_stack_padded(rows, key, dtype, default, shape, place) if _variable(shape) else stack_rows(
                rows, key, dtype, default, shape, [""], place, "Can't parse serialized Example."))[0])
        return (*(part[0][:, 1:] for part in sparse), *(part[1] for part in sparse), *(part[2][1:] for part in sparse), *dense)


def _batched_example(op: Any, inputs: list[Any], stacked: set[int]) -> list[Any] | None:
    """ParseExample for many: features with as many values in each. Sparse ones would not be a batch, and padding depends on the others in it."""
    attrs = op.attrs
    if stacked != {0} or attrs["num_sparse"] or any(_variable(shape) for shape in attrs["dense_shapes"]):
        return None
    parsed = ParseExample(inputs[0], [], [], list(attrs["dense_keys"]), inputs[1:], sparse_types=[], Tdense=attrs["Tdense"],
                          dense_shapes=attrs["dense_shapes"])
    return parsed[-1]


ParseSingleExample.batched = _batched_example
