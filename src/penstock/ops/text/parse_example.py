"""Example and SequenceExample protos as tensors: the operations. The functions that programs call are in ``ops/text/parsing.py``."""
from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.codec.examples import Dense, Located, Sparse, located
from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import SHAPES, STRINGS, Attr, count, type_list
from penstock.graph.example_proto import Example, SequenceExample
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
    fixed = [Dense(text(key), dtype.np, np.asarray(default, dtype.np).reshape(-1), shape.extents)
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


def _dense_natively(examples: Located, feature: Dense) -> np.ndarray | None:
    return examples.padded(feature) if feature.shape and feature.shape[0] is None else examples.fixed(feature)


class _Mismatch(Exception):
    """A feature has another type than the program says; ``found`` is the one it has."""

    def __init__(self, dtype: dt.DType) -> None:
        super().__init__(dtype)
        self.dtype = dtype


def _values(feature: Any, dtype: dt.DType) -> np.ndarray | None:
    """The values of a feature; None if it has none of any kind."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _FIELDS[dtype]:
        raise _Mismatch(_TYPES[kind])
    return _array(getattr(feature, kind).value, dtype)


def _array(values: Any, dtype: dt.DType) -> np.ndarray:
    return strings(values) if dtype is dt.string else np.array(values, dtype.np)


def _parse(message: Any, content: Any) -> Any:
    content = text(content)
    try:
        return message.FromString(content)
    except DecodeError:
        shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in content[:60])
        raise invalid_argument(f"Could not parse example input, value: '{shown}'") from None


def _place(names: Any, index: int) -> str:
    names = np.asarray(names, object).reshape(-1)
    return f"Name: {_key(names[index]) if index < names.size else '<unknown>'}, "


def _rows(examples: list[Any], key: str, dtype: dt.DType, where: list[str], wording: str) -> list[np.ndarray | None]:
    """The values of one feature in each example; None where it is missing."""
    rows = []
    for example, place in zip(examples, where):
        features = example.features.feature
        try:
            rows.append(_values(features[key], dtype) if key in features else None)
        except _Mismatch as error:
            difference = wording.format(expected=type_name(dtype), found=type_name(error.dtype))
            raise invalid_argument(f"{place}Data types don't match. {difference}") from None
    return rows


_DENSE, _SPARSE = "Data type: {found} but expected type: {expected}", "Expected type: {expected}, Actual type: {found}"


def _ragged_parts(rows: list[np.ndarray | None], dtype: dt.DType) -> _Parts:
    """The (indices, values, shape) of rows with different lengths."""
    lengths = np.array([0 if row is None else len(row) for row in rows], np.int64)
    present = [row for row in rows if row is not None]
    return sparse_rows(np.concatenate(present) if present else np.empty(0, dtype.np), lengths)


def _stack_rows(rows: list[np.ndarray | None], key: str, dtype: dt.DType, default: np.ndarray, shape: TensorShape, missing: list[str],
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


def _check_sparse(keys: Any, types: Any) -> None:
    if len(keys) != len(types):
        raise ValueError(f"len(sparse_keys) != len(sparse_types): {len(keys)} and {len(types)}")


def _check_dense(keys: Any, types: Any, shapes: Any, defaults: Any) -> None:
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
        _check_sparse(sparse_keys, sparse_types)
        _check_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
        batch = serialized.shape.with_rank(1)
        if names.shape.num_elements() and not names.shape.is_compatible_with(batch):
            raise ValueError(f"Expected len(names) == len(serialized), but got: {names.shape} vs. {batch}")
        n = len(sparse_types)
        return [[None, 2]] * n + [[None]] * n + [[2]] * n + [batch.concatenate(shape) for shape in dense_shapes]

    def kernel(serialized, names, sparse_keys, dense_keys, dense_defaults, sparse_types, Tdense, dense_shapes):
        quick = _natively(np.asarray(serialized, object), sparse_keys, sparse_types, dense_keys, Tdense, dense_defaults, dense_shapes)
        if quick is not None:
            return (*(part[0] for part in quick[0]), *(part[1] for part in quick[0]), *(part[2] for part in quick[0]), *quick[1])
        examples = [_parse(Example, item) for item in np.asarray(serialized, object)]
        who = [_place(names, index) for index in range(len(examples))]
        sparse, dense = [], []
        for key, dtype in zip(map(_key, sparse_keys), sparse_types):
            place = [f"{name}Key: {key}, Index: {index}.  " for index, name in enumerate(who)]
            sparse.append(_ragged_parts(_rows(examples, key, dtype, place, _SPARSE), dtype))
        for key, dtype, default, shape in zip(map(_key, dense_keys), Tdense, dense_defaults, dense_shapes):
            place = [f"{name}Key: {key}, Index: {index}.  " for index, name in enumerate(who)]
            rows = _rows(examples, key, dtype, place, _DENSE)
            dense.append(_stack_padded(rows, key, dtype, default, shape, place) if _variable(shape) else _stack_rows(
                rows, key, dtype, default, shape, who, place, "Number of {kind} values != expected.  Values size: {size} but output shape: {shape}"))
        return (*(part[0] for part in sparse), *(part[1] for part in sparse), *(part[2] for part in sparse), *dense)


def _key(key: Any) -> str:
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
        _check_sparse(sparse_keys, sparse_types)
        _check_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
        n = len(sparse_types)
        return [[None, 1]] * n + [[None]] * n + [[1]] * n + list(dense_shapes)

    def kernel(serialized, dense_defaults, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes):
        one = np.asarray(serialized, object).reshape(1)
        quick = _natively(one, sparse_keys, sparse_types, dense_keys, Tdense, dense_defaults, dense_shapes)
        if quick is not None:
            return (*(part[0][:, 1:] for part in quick[0]), *(part[1] for part in quick[0]), *(part[2][1:] for part in quick[0]),
                    *(value.reshape(value.shape[1:]) for value in quick[1]))
        examples = [_parse(Example, serialized)]
        sparse, dense = [], []
        for key, dtype in zip(map(_key, sparse_keys), sparse_types):
            sparse.append(_ragged_parts(_rows(examples, key, dtype, [f"Key: {key}.  "], _SPARSE), dtype))
        for key, dtype, default, shape in zip(map(_key, dense_keys), Tdense, dense_defaults, dense_shapes):
            place = [f"Key: {key}.  "]
            rows = _rows(examples, key, dtype, place, _DENSE)
            dense.append((_stack_padded(rows, key, dtype, default, shape, place) if _variable(shape) else _stack_rows(
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


# --- sequences -------------------------------------------------------------------------------------------------------

_N = Attr("int", 0, minimum=0)
_KIND_LIST, _SHAPE_LIST = Attr("list(type)", (), frozenset(KINDS)), Attr("list(shape)", ())


@op("ParseSingleSequenceExample", "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse * string, context_dense_keys: Ncontext_dense * string, "
    "feature_list_sparse_keys: Nfeature_list_sparse * string, feature_list_dense_keys: Nfeature_list_dense * string, "
    "context_dense_defaults: Tcontext_dense, debug_name: string -> "
    "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, "
    "context_dense_values: Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: feature_list_dense_types",
    Ncontext_sparse=_N, Ncontext_dense=_N, Nfeature_list_sparse=_N, Nfeature_list_dense=_N, context_sparse_types=_KIND_LIST,
    Tcontext_dense=_KIND_LIST, feature_list_dense_types=_KIND_LIST, context_dense_shapes=_SHAPE_LIST, feature_list_sparse_types=_KIND_LIST,
    feature_list_dense_shapes=_SHAPE_LIST)
class ParseSingleSequenceExample:
    """The context features and the lists of features of one serialized SequenceExample."""

    ranks = {"serialized": 0, "feature_list_dense_missing_assumed_empty": 1, "context_sparse_keys": 0, "context_dense_keys": 0,
             "feature_list_sparse_keys": 0, "feature_list_dense_keys": 0, "debug_name": 0}
    gradient = None

    def shape(context_sparse_keys, context_dense_keys, feature_list_sparse_keys, feature_list_dense_keys, context_dense_defaults,
              context_sparse_types, Tcontext_dense, feature_list_dense_types, context_dense_shapes, feature_list_sparse_types,
              feature_list_dense_shapes):
        _check_sparse(context_sparse_keys, context_sparse_types)
        _check_sparse(feature_list_sparse_keys, feature_list_sparse_types)
        _check_dense(context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults)
        _check_dense(feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes, [])
        n, m = len(context_sparse_types), len(feature_list_sparse_types)
        return ([[None, 1]] * n + [[None]] * n + [[1]] * n + list(context_dense_shapes) + [[None, 2]] * m + [[None]] * m + [[2]] * m
                + [TensorShape([None]).concatenate(shape) for shape in feature_list_dense_shapes])

    def kernel(serialized, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys, feature_list_sparse_keys,
               feature_list_dense_keys, context_dense_defaults, debug_name, context_sparse_types, Tcontext_dense, feature_list_dense_types,
               context_dense_shapes, feature_list_sparse_types, feature_list_dense_shapes):
        sequence = _parse(SequenceExample, serialized)
        context, lists, who = sequence.context.feature, sequence.feature_lists.feature_list, f"Name: {_key(debug_name)}, "
        sparse = [_ragged_parts([_context_values(context, _key(key), dtype, who)], dtype)
                  for key, dtype in zip(context_sparse_keys, context_sparse_types)]
        dense = [_dense_context(context, key, dtype, default, shape, who)
                 for key, dtype, default, shape in zip(map(_key, context_dense_keys), Tcontext_dense, context_dense_defaults, context_dense_shapes)]
        ragged = [_ragged_parts(_list_values(lists, _key(key), dtype, who), dtype)
                  for key, dtype in zip(feature_list_sparse_keys, feature_list_sparse_types)]
        may_miss = {_key(key) for key in np.asarray(feature_list_dense_missing_assumed_empty, object).reshape(-1)}
        stacked = [_dense_list(lists, key, dtype, shape, who, may_miss)
                   for key, dtype, shape in zip(map(_key, feature_list_dense_keys), feature_list_dense_types, feature_list_dense_shapes)]
        return (*(part[0][:, 1:] for part in sparse), *(part[1] for part in sparse), *(part[2][1:] for part in sparse), *dense,
                *(part[0] for part in ragged), *(part[1] for part in ragged), *(part[2] for part in ragged), *stacked)


_WRONG_SIZE = "Number of {kind} values != expected.  values size: {size} but output shape: {shape}"


def _context_values(context: Any, key: str, dtype: dt.DType, who: str) -> np.ndarray | None:
    try:
        return _values(context[key], dtype) if key in context else None
    except _Mismatch:
        raise invalid_argument(f"{who}Context feature '{key}': Data types don't match. Expected type: {type_name(dtype)}  "
                               f"Feature is: {context[key]}") from None


def _dense_context(context: Any, key: str, dtype: dt.DType, default: np.ndarray, shape: TensorShape, who: str) -> np.ndarray:
    rows = [_context_values(context, key, dtype, who)]
    return _stack_rows(rows, key, dtype, default, shape, [who], [f"{who}Key: {key}, Index: 0.  "], _WRONG_SIZE)[0]


def _list_values(lists: Any, key: str, dtype: dt.DType, who: str) -> list[np.ndarray | None]:
    if key not in lists:
        return []
    values = []
    for index, feature in enumerate(lists[key].feature):
        try:
            values.append(_values(feature, dtype))
        except _Mismatch:
            raise invalid_argument(f"{who}Feature list: {key}, Index: {index}.  Data types don't match. Expected type: {type_name(dtype)}  "
                                   f"Feature is: {feature}") from None
    return values


def _dense_list(lists: Any, key: str, dtype: dt.DType, shape: TensorShape, who: str, may_miss: set[str]) -> np.ndarray:
    if key not in lists and key not in may_miss:
        raise invalid_argument(f"{who}Feature list '{key}' is required but could not be found.  Did you mean to include it in "
                               "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?")
    rows = _list_values(lists, key, dtype, who)
    place = [f"{who}Key: {key}, Index: {index}.  " for index in range(len(rows))]
    return _stack_rows(rows, key, dtype, np.empty(0, dtype.np), shape, place, place, _WRONG_SIZE)
