"""SequenceExample protos as tensors: the operations, for one and for a batch. The functions that programs call are in ``ops/text/parsing.py``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import STRINGS, Attr
from penstock.graph.example_proto import SequenceExample
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.text.decoding import type_name
from penstock.ops.text.parse_example import (
    KINDS,
    TypeMismatch,
    check_dense,
    check_sparse,
    feature_values,
    key_text,
    parse_message,
    ragged_parts,
    stack_rows,
)

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
        check_sparse(context_sparse_keys, context_sparse_types)
        check_sparse(feature_list_sparse_keys, feature_list_sparse_types)
        check_dense(context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults)
        check_dense(feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes, [])
        n, m = len(context_sparse_types), len(feature_list_sparse_types)
        return ([[None, 1]] * n + [[None]] * n + [[1]] * n + list(context_dense_shapes) + [[None, 2]] * m + [[None]] * m + [[2]] * m
                + [TensorShape([None]).concatenate(shape) for shape in feature_list_dense_shapes])

    def kernel(serialized, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys, feature_list_sparse_keys,
               feature_list_dense_keys, context_dense_defaults, debug_name, context_sparse_types, Tcontext_dense, feature_list_dense_types,
               context_dense_shapes, feature_list_sparse_types, feature_list_dense_shapes):
        sequence = parse_message(SequenceExample, serialized)
        context, lists, who = sequence.context.feature, sequence.feature_lists.feature_list, f"Name: {key_text(debug_name)}, "
        sparse = [ragged_parts([_context_values(context, key_text(key), dtype, who)], dtype)
                  for key, dtype in zip(context_sparse_keys, context_sparse_types)]
        dense = [_dense_context(context, key, dtype, default, shape, who)
                 for key, dtype, default, shape
                 in zip(map(key_text, context_dense_keys), Tcontext_dense, context_dense_defaults, context_dense_shapes)]
        ragged = [ragged_parts(_list_values(lists, key_text(key), dtype, who), dtype)
                  for key, dtype in zip(feature_list_sparse_keys, feature_list_sparse_types)]
        may_miss = {key_text(key) for key in np.asarray(feature_list_dense_missing_assumed_empty, object).reshape(-1)}
        stacked = [_dense_list(lists, key, dtype, shape, who, may_miss)
                   for key, dtype, shape in zip(map(key_text, feature_list_dense_keys), feature_list_dense_types, feature_list_dense_shapes)]
        return (*(part[0][:, 1:] for part in sparse), *(part[1] for part in sparse), *(part[2][1:] for part in sparse), *dense,
                *(part[0] for part in ragged), *(part[1] for part in ragged), *(part[2] for part in ragged), *stacked)


_WRONG_SIZE = "Number of {kind} values != expected.  values size: {size} but output shape: {shape}"


def _context_values(context: Any, key: str, dtype: dt.DType, who: str) -> np.ndarray | None:
    try:
        return feature_values(context[key], dtype) if key in context else None
    except TypeMismatch:
        raise invalid_argument(f"{who}Context feature '{key}': Data types don't match. Expected type: {type_name(dtype)}  "
                               f"Feature is: {context[key]}") from None


def _dense_context(context: Any, key: str, dtype: dt.DType, default: np.ndarray, shape: TensorShape, who: str) -> np.ndarray:
    rows = [_context_values(context, key, dtype, who)]
    return stack_rows(rows, key, dtype, default, shape, [who], [f"{who}Key: {key}, Index: 0.  "], _WRONG_SIZE)[0]


def _list_values(lists: Any, key: str, dtype: dt.DType, who: str) -> list[np.ndarray | None]:
    if key not in lists:
        return []
    values = []
    for index, feature in enumerate(lists[key].feature):
        try:
            values.append(feature_values(feature, dtype))
        except TypeMismatch:
            raise invalid_argument(f"{who}Feature list: {key}, Index: {index}.  Data types don't match. Expected type: {type_name(dtype)}  "
                                   f"Feature is: {feature}") from None
    return values


def _dense_list(lists: Any, key: str, dtype: dt.DType, shape: TensorShape, who: str, may_miss: set[str]) -> np.ndarray:
    if key not in lists and key not in may_miss:
        raise invalid_argument(f"{who}Feature list '{key}' is required but could not be found.  Did you mean to include it in "
                               "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?")
    rows = _list_values(lists, key, dtype, who)
    place = [f"{who}Key: {key}, Index: {index}.  " for index in range(len(rows))]
    return stack_rows(rows, key, dtype, np.empty(0, dtype.np), shape, place, place, _WRONG_SIZE)


# --- a batch of them -------------------------------------------------------------------------------------------------

@op("ParseSequenceExample", "serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense -> "
    "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, "
    "context_dense_values: Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64",
    feature_list_dense_missing_assumed_empty=STRINGS, context_sparse_keys=STRINGS, context_dense_keys=STRINGS, feature_list_sparse_keys=STRINGS,
    feature_list_dense_keys=STRINGS, Ncontext_sparse=_N, Ncontext_dense=_N, Nfeature_list_sparse=_N, Nfeature_list_dense=_N,
    context_sparse_types=_KIND_LIST, Tcontext_dense=_KIND_LIST, feature_list_dense_types=_KIND_LIST, context_dense_shapes=_SHAPE_LIST,
    feature_list_sparse_types=_KIND_LIST, feature_list_dense_shapes=_SHAPE_LIST)
class ParseSequenceExample:
    """The context features and the lists of features of a batch of serialized SequenceExamples; short lists are filled up with zeros."""

    ranks = {"serialized": 1, "debug_name": 1}
    gradient = None

    def shape(serialized, context_dense_defaults, context_sparse_keys, context_dense_keys, feature_list_sparse_keys, feature_list_dense_keys,
              context_sparse_types, Tcontext_dense, feature_list_dense_types, context_dense_shapes, feature_list_sparse_types,
              feature_list_dense_shapes):
        check_sparse(context_sparse_keys, context_sparse_types)
        check_sparse(feature_list_sparse_keys, feature_list_sparse_types)
        check_dense(context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults)
        check_dense(feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes, [])
        for key, shape in zip(feature_list_dense_keys, feature_list_dense_shapes):
            if not shape.is_fully_defined():
                raise ValueError(f"Shape {shape} of the feature list '{key_text(key)}' is not fully defined")
        batch = serialized.shape.with_rank(1)
        n, m = len(context_sparse_types), len(feature_list_sparse_types)
        return ([[None, 2]] * n + [[None]] * n + [[2]] * n + [batch.concatenate(shape) for shape in context_dense_shapes]
                + [[None, 3]] * m + [[None]] * m + [[3]] * m
                + [batch.concatenate([None]).concatenate(shape) for shape in feature_list_dense_shapes] + [batch] * len(feature_list_dense_shapes))

    def kernel(serialized, debug_name, context_dense_defaults, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys,
               feature_list_sparse_keys, feature_list_dense_keys, context_sparse_types, Tcontext_dense, feature_list_dense_types,
               context_dense_shapes, feature_list_sparse_types, feature_list_dense_shapes):
        batch = _Batch(serialized, debug_name)
        sparse = [ragged_parts(batch.context(key_text(key), dtype), dtype) for key, dtype in zip(context_sparse_keys, context_sparse_types)]
        dense = [batch.dense_context(key_text(key), dtype, default, shape) for key, dtype, default, shape
                 in zip(context_dense_keys, Tcontext_dense, context_dense_defaults, context_dense_shapes)]
        ragged = [_cube_parts(batch.lists(key_text(key), dtype), dtype) for key, dtype in zip(feature_list_sparse_keys, feature_list_sparse_types)]
        may_miss = {key_text(key) for key in feature_list_dense_missing_assumed_empty}
        padded = [batch.dense_lists(key_text(key), dtype, shape, key_text(key) in may_miss) for key, dtype, shape
                  in zip(feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes)]
        return (*(part[0] for part in sparse), *(part[1] for part in sparse), *(part[2] for part in sparse), *dense,
                *(part[0] for part in ragged), *(part[1] for part in ragged), *(part[2] for part in ragged),
                *(values for values, _ in padded), *(lengths for _, lengths in padded))


class _Batch:
    """SequenceExamples and what they are called in errors."""

    def __init__(self, serialized: Any, names: Any) -> None:
        contents, names = np.asarray(serialized, object), np.asarray(names, object)
        if names.size not in (0, contents.size):
            raise invalid_argument(
                f"example_names must be empty or have the correct number of elements: {names.size} names, {contents.size} examples")
        self.names = [f"'{key_text(name)}'" for name in names] or [f"{index} of the batch" for index in range(contents.size)]
        self.examples = [parse_message(SequenceExample, content) for content in contents]

    def context(self, key: str, dtype: dt.DType) -> list[np.ndarray | None]:
        """The values of a context feature in each example; None where it is missing."""
        return [_context_values(example.context.feature, key, dtype, f"Example {name}: ") for name, example in zip(self.names, self.examples)]

    def dense_context(self, key: str, dtype: dt.DType, default: np.ndarray, shape: TensorShape) -> np.ndarray:
        where = [f"Example {name}: " for name in self.names]
        return stack_rows(self.context(key, dtype), key, dtype, default, shape, where, [f"{place}Key: {key}.  " for place in where], _WRONG_SIZE)

    def lists(self, key: str, dtype: dt.DType) -> list[list[np.ndarray | None]]:
        """The values of each step of a feature list, for each example."""
        return [_list_values(example.feature_lists.feature_list, key, dtype, f"Example {name}, ") for name, example in zip(self.names, self.examples)]

    def dense_lists(self, key: str, dtype: dt.DType, shape: TensorShape, may_miss: bool) -> tuple[np.ndarray, np.ndarray]:
        """The lists as one array, and how long each one is."""
        nothing = np.empty(0, dtype.np)
        parts = []
        for name, example, steps in zip(self.names, self.examples, self.lists(key, dtype)):
            if key not in example.feature_lists.feature_list and not may_miss:
                raise invalid_argument(f"Missing feature {key} in example {name}",
                                       "Use FixedLenSequenceFeature(allow_missing=True) if it may be missing.")
            place = [f"Example {name}, feature list {key}, step {step}.  " for step in range(len(steps))]
            parts.append(stack_rows(steps, key, dtype, nothing, shape, place, place, _WRONG_SIZE))
        lengths = np.array([len(part) for part in parts], np.int64)
        padded = np.zeros((len(parts), lengths.max(initial=0), *(shape.extents or ())), dtype.np)
        if dtype is dt.string:
            padded[...] = b""
        for row, part in zip(padded, parts):
            row[:len(part)] = part
        return padded, lengths


def _cube_parts(lists: list[list[np.ndarray | None]], dtype: dt.DType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The (indices, values, shape) of lists of rows: example, step, place in the step."""
    steps = np.array([len(rows) for rows in lists], np.int64)
    indices, values, shape = ragged_parts([row for rows in lists for row in rows], dtype)
    starts = np.cumsum(steps) - steps
    example = np.repeat(np.arange(len(lists)), steps)[indices[:, 0]]
    cube = np.stack([example, indices[:, 0] - starts[example], indices[:, 1]], 1).astype(np.int64).reshape(-1, 3)
    return cube, values, np.array([len(lists), steps.max(initial=0), shape[1]], np.int64)
