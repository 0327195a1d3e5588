"""Lookup-table operations, most in two forms (see ``handles.py``). The state of a table is a ``penstock.state.tables.LookupTable``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import TYPE, Attr
from penstock.graph.dtypes import DType
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, scalar, unknown_shape
from penstock.ops.common import fixed, itemwise, nothing
from penstock.ops.queues.handles import SHARING, find_or_create, plain, two_forms
from penstock.ops.text.files import text
from penstock.state import table_files, tables

_CREATION: dict[str, Any] = {**SHARING, "use_node_name_sharing": False, "key_dtype": TYPE, "value_dtype": TYPE}
_KIND = "LookupTable"  # of resource: tables of all kinds share their names


def _check_types(table: Any, key_dtype: DType, value_dtype: DType) -> Any:
    """A table that was made or found; InvalidArgumentError if it has other types than the node asks for."""
    if (table.key_dtype, table.value_dtype) != (key_dtype, value_dtype):
        raise invalid_argument(f"Conflicting key/value dtypes {key_dtype.name}->{value_dtype.name} with {table.key_dtype.name}-"
                               f"{table.value_dtype.name} for table {table.name}")
    return table


class _HashTable:
    """A table that an initializer fills once."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, container, shared_name, use_node_name_sharing, key_dtype, value_dtype):
        table = find_or_create(ctx, _KIND, container, shared_name, lambda name: tables.StaticTable(name, key_dtype, value_dtype),
                     use_node_name_sharing)
        return _check_types(table, key_dtype, value_dtype)


class _MutableHashTable:
    """A table of scalars that steps may change."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, container, shared_name, use_node_name_sharing, key_dtype, value_dtype):
        table = find_or_create(ctx, _KIND, container, shared_name, lambda name: tables.LookupTable(name, key_dtype, value_dtype),
                               use_node_name_sharing)
        return _check_types(table, key_dtype, value_dtype)


class _MutableHashTableOfTensors:
    """A table of vectors that steps may change."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, value_shape):
        if value_shape.ndims != 1:
            raise invalid_argument(f"Default value must be a vector, got shape {value_shape}")
        table = find_or_create(ctx, _KIND, container, shared_name, lambda name: tables.LookupTable(name, key_dtype, value_dtype, value_shape.extents),
                               use_node_name_sharing)
        return _check_types(table, key_dtype, value_dtype)


_, HashTableV2 = two_forms("HashTable", "-> table_handle: HANDLE", _HashTable, **_CREATION)
_, MutableHashTableV2 = two_forms("MutableHashTable", "-> table_handle: HANDLE", _MutableHashTable, **_CREATION)
_, MutableHashTableOfTensorsV2 = two_forms("MutableHashTableOfTensors", "-> table_handle: HANDLE", _MutableHashTableOfTensors, **_CREATION,
                                           value_shape=scalar())

_DENSE: dict[str, Any] = {**_CREATION, "value_shape": scalar(), "initial_num_buckets": 131072, "max_load_factor": float(np.float32(0.8))}


def _dense(ctx: Any, sharing: tuple[str, str, bool], dtypes: tuple[DType, DType], value_shape: TensorShape, buckets: int, max_load_factor: float,
           *reserved: Any) -> Any:
    if buckets < tables.LEAST_PLACES or buckets & (buckets - 1):
        raise invalid_argument(f"Number of buckets must be at least {tables.LEAST_PLACES} and a power of 2, got: {buckets}")
    if not 0 < max_load_factor < 1:
        raise invalid_argument(f"max_load_factor must be between 0 and 1, got: {max_load_factor:g}")
    container, shared_name, by_node = sharing

    def create(name: str) -> tables.DenseTable:
        return tables.DenseTable(name, *dtypes, value_shape.extents or (), buckets, max_load_factor, *reserved)

    table = find_or_create(ctx, _KIND, container, shared_name, create, by_node)
    return _check_types(table, *dtypes)


@op("MutableDenseHashTable", "empty_key: key_dtype -> table_handle: Ref(string)", **_DENSE)
class MutableDenseHashTable:
    """A table of tensors that steps may change; ``empty_key`` may not be used as a key."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(empty_key, ctx, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, value_shape, initial_num_buckets,
               max_load_factor):
        return _dense(ctx, (container, shared_name, use_node_name_sharing), (key_dtype, value_dtype), value_shape, initial_num_buckets,
                      max_load_factor, empty_key)


@op("MutableDenseHashTableV2", "empty_key: key_dtype, deleted_key: key_dtype -> table_handle: resource", **_DENSE)
class MutableDenseHashTableV2:
    """A table of tensors that steps may change; ``empty_key`` and ``deleted_key`` may not be used as keys."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(empty_key, deleted_key, ctx, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, value_shape, initial_num_buckets,
               max_load_factor):
        return _dense(ctx, (container, shared_name, use_node_name_sharing), (key_dtype, value_dtype), value_shape, initial_num_buckets,
                      max_load_factor, empty_key, deleted_key)


# --- reading and writing ---------------------------------------------------------------------------------------------

def _maker(handle: Tensor) -> Operation:
    """The op that made a handle, which may have come into branches and loops since."""
    while True:
        inside = handle.op.inputs if handle.op.definition.aliases else ()  # of imperative style, none once it has run
        outer = inside[0] if inside else handle.op.graph.outer_tensor(handle)
        if outer is None:
            return handle.op
        handle = outer


def _key_and_value_shapes(handle: Tensor, key_dtype: DType | None = None, value_dtype: DType | None = None) -> tuple[TensorShape, TensorShape]:
    """The shapes of a key and of a value, as far as the node that made the handle tells them; ValueError if its types are others."""
    made_by = _maker(handle)
    attrs = made_by.attrs
    if "key_dtype" not in attrs:
        return unknown_shape(), unknown_shape()
    for expected, given in ((attrs["key_dtype"], key_dtype), (attrs["value_dtype"], value_dtype)):
        if given is not None and given is not expected:
            raise ValueError(f"Trying to read value with wrong dtype. Expected {expected.name} got {given.name}")
    key_shape = made_by.inputs[0].shape if made_by.inputs else scalar()
    return key_shape, attrs.get("value_shape", scalar())


def _of_types(handle: Any, key_dtype: DType, value_dtype: DType) -> Any:
    """The table; InvalidArgumentError if its keys or values have other types than the node expects."""
    table = plain(handle)
    if (table.key_dtype, table.value_dtype) != (key_dtype, value_dtype):
        raise invalid_argument(f"Table '{table.name}' maps {table.key_dtype.name} to {table.value_dtype.name}, not {key_dtype.name} to "
                               f"{value_dtype.name}")
    return table


def _batch(keys: Tensor, key_shape: TensorShape) -> TensorShape:
    if keys.shape.ndims is None or key_shape.ndims is None:
        return unknown_shape()
    rank = keys.shape.ndims - key_shape.ndims
    if rank < 0 or not keys.shape[rank:].is_compatible_with(key_shape):
        raise ValueError(f"Keys of shape {keys.shape} for a table whose keys have shape {key_shape}")
    return keys.shape[:rank]


class _Find:
    """The values of keys; ``default_value`` for those that are not in the table."""

    stateful = True
    gradient = None

    def shape(table_handle, keys, Tin, Tout):
        key_shape, value_shape = _key_and_value_shapes(table_handle, Tin, Tout)
        return _batch(keys, key_shape).concatenate(value_shape)

    def kernel(table_handle, keys, default_value, Tin, Tout):
        return _of_types(table_handle, Tin, Tout).find(keys, default_value)

    def batched(op, inputs, stacked):
        return itemwise(op, inputs, stacked) if stacked == {1} and inputs[2].shape.ndims == 0 else None


class _Filling:
    stateful = True
    gradient = None

    def shape(table_handle, keys, Tin, Tout):
        _batch(keys, _key_and_value_shapes(table_handle, Tin, Tout)[0])
        return []


class _Insert(_Filling):
    """Adds entries, or changes the values of keys that are there."""

    def kernel(table_handle, keys, values, Tin, Tout):
        _of_types(table_handle, Tin, Tout).insert(keys, values)
        return ()


class _Import(_Filling):
    """Replaces all entries of a table."""

    def kernel(table_handle, keys, values, Tin, Tout):
        _of_types(table_handle, Tin, Tout).replace(keys, values)
        return ()


class _Export:
    """All keys and values of a table."""

    stateful = True
    gradient = None

    def shape(table_handle, Tkeys, Tvalues):
        return [TensorShape([None]).concatenate(shape) for shape in _key_and_value_shapes(table_handle, Tkeys, Tvalues)]

    def kernel(table_handle, Tkeys, Tvalues):
        return _of_types(table_handle, Tkeys, Tvalues).export()


class _Size:
    """The number of entries."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(table_handle):
        return np.int64(len(plain(table_handle)))

    batched = itemwise


_ENTRIES = "table_handle: HANDLE, keys: Tin, values: Tout ->"
_IN_OUT: dict[str, Any] = {"Tin": TYPE, "Tout": TYPE}
_, LookupTableFindV2 = two_forms("LookupTableFind", "table_handle: HANDLE, keys: Tin, default_value: Tout -> values: Tout", _Find, **_IN_OUT)
_, LookupTableInsertV2 = two_forms("LookupTableInsert", _ENTRIES, _Insert, **_IN_OUT)
_, LookupTableImportV2 = two_forms("LookupTableImport", _ENTRIES, _Import, **_IN_OUT)
_, LookupTableExportV2 = two_forms("LookupTableExport", "table_handle: HANDLE -> keys: Tkeys, values: Tvalues", _Export, Tkeys=TYPE, Tvalues=TYPE)
_, LookupTableSizeV2 = two_forms("LookupTableSize", "table_handle: HANDLE -> size: int64", _Size)


@op("LookupTableRemoveV2", "table_handle: resource, keys: Tin ->", Tin=TYPE)
class LookupTableRemoveV2:
    """Removes entries; keys that are not there are no error."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(table_handle, keys):
        plain(table_handle).remove(keys)
        return ()


# --- initializers ----------------------------------------------------------------------------------------------------

class _Initialize:
    """Fills a table that is filled once."""

    stateful = True
    ranks = {"keys": 1}
    gradient = None

    def shape(keys, values):
        keys.shape.merge_with(values.shape)
        return []

    def kernel(table_handle, keys, values, Tkey, Tval):
        _of_types(table_handle, Tkey, Tval).initialize(keys, values)
        return ()


class _InitializeFromTextFile:
    """Fills a table from the lines of a file; an index is a column, -1 the number of the line, -2 the whole line."""

    touches = "files"
    stateful = blocking = True
    ranks = {"filename": 0}
    shape = nothing()
    gradient = None

    def kernel(table_handle, filename, key_index, value_index, vocab_size, delimiter):
        if len(delimiter) != 1:
            raise invalid_argument(f"delimiter should be only 1 char, not {delimiter!r}")
        table = plain(table_handle)
        table.initialize(*table_files.read_entries(text(filename), (key_index, value_index), (table.key_dtype, table.value_dtype), delimiter,
                                                   vocab_size))
        return ()


_, InitializeTableV2 = two_forms("InitializeTable", "table_handle: HANDLE, keys: Tkey, values: Tval ->", _Initialize, Tkey=TYPE, Tval=TYPE)
_, InitializeTableFromTextFileV2 = two_forms(
    "InitializeTableFromTextFile", "table_handle: HANDLE, filename: string ->", _InitializeFromTextFile, key_index=Attr("int", minimum=-2),
    value_index=Attr("int", minimum=-2), vocab_size=Attr("int", -1, minimum=-1), delimiter="\t")
