"""``tf.lookup`` and ``tf.contrib.lookup``: tables from keys to values as Python objects, and what fills them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import add_to_collection, colocate_with, get_collection, name_scope
from penstock.graph.static import constant_value
from penstock.ops.flow.misc import group, no_op
from penstock.ops.queues import tables as ops
from penstock.train.saveable import SaveableObject, SaveSpec


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """``tf.tables_initializer``: an operation that fills all tables of the graph that are filled once."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """``tf.initialize_all_tables``, the old name of ``tables_initializer``."""
    return tables_initializer(name)


class _EntryTypes:
    """The types of keys and values: of a table, and of what fills it."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = dt.as_dtype(key_dtype), dt.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of values."""
        return self._value_dtype


class LookupInterface(_EntryTypes):
    """What all tables have."""

    @property
    def name(self) -> str:
        """The name of the table."""
        raise NotImplementedError

    @property
    def resource_handle(self) -> Tensor:
        """The handle of the table."""
        raise NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys (a tensor or a SparseTensor)."""
        raise NotImplementedError

    def _key_tensor(self, keys: Any) -> Tensor:
        """The keys themselves, of a tensor or a SparseTensor, which must be of the table's type."""
        tensor = keys.values if isinstance(keys, SparseTensor) else to_tensor(keys)
        if tensor.dtype.base_dtype is not self._key_dtype.base_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {tensor.dtype}.")
        return tensor


def in_form_of(keys: Any, values: Tensor) -> Any:
    """``values``, as a SparseTensor if ``keys`` is one."""
    return SparseTensor(keys.indices, values, keys.dense_shape) if isinstance(keys, SparseTensor) else values


# --- tables that are filled once -------------------------------------------------------------------------------------

class TableInitializerBase(_EntryTypes):
    """What fills a table: ``initialize(table)`` makes the operation."""

    _shared_name = ""

    def initialize(self, table: Any) -> Operation:
        """The operation that fills ``table``; ``tables_initializer`` runs it too."""
        self._check_types(table)
        initializer = self._fill(table)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, initializer)
        return initializer

    def _fill(self, table: Any) -> Operation:
        """The operation that fills ``table``, whose types are right."""
        raise NotImplementedError

    def _check_types(self, table: Any) -> None:
        if (table.key_dtype.base_dtype, table.value_dtype.base_dtype) != (self.key_dtype.base_dtype, self.value_dtype.base_dtype):
            raise TypeError(f"Invalid key or value dtype for table {table.name}: expected {self.key_dtype} and {self.value_dtype}, got "
                            f"{table.key_dtype} and {table.value_dtype}")


class KeyValueTensorInitializer(TableInitializerBase):
    """``tf.lookup.KeyValueTensorInitializer``: keys and values from tensors."""

    def __init__(self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None) -> None:
        self._keys = to_tensor(keys, key_dtype, name="keys")
        self._values = to_tensor(values, value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def _fill(self, table: Any) -> Operation:
        with name_scope(self._name, None, [table.resource_handle, self._keys, self._values]):
            return ops.LookupTableImportV2(table.resource_handle, self._keys, self._values)


class TextFileIndex:
    """``tf.lookup.TextFileIndex``: which part of a line is a key or a value, besides the columns 0, 1, ..."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(TableInitializerBase):
    """``tf.lookup.TextFileInitializer``: keys and values from the lines of a file."""

    def __init__(self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int, vocab_size: int | None = None,
                 delimiter: str = "\t", name: str | None = None) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("key", key_index, self.key_dtype), ("value", value_index, self.value_dtype)):
            _check_column(what, index, dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._name = name
        self._columns, self._vocab_size, self._delimiter = (key_index, value_index), vocab_size, delimiter
        if not isinstance(filename, Tensor):  # equal files give equal tables, which are then shared
            parts = [filename, *([vocab_size] if vocab_size is not None else []), key_index, value_index]
            self._shared_name = "_".join(["hash_table", *map(str, parts)])
        self._filename = to_tensor(filename, dt.string, name="asset_path")
        if constant_value(self._filename) is not None:  # a file that is fed belongs to no saved model
            add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)

    def _fill(self, table: Any) -> Operation:
        with name_scope(self._name, "text_file_init", [table.resource_handle]):
            return ops.InitializeTableFromTextFileV2(
                table.resource_handle, self._filename, key_index=self._columns[0], value_index=self._columns[1], delimiter=self._delimiter,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size)


def _check_column(what: str, index: int, dtype: DType) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"Invalid {what} index {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype is not dt.int64:
        raise ValueError(f"Signature mismatch. {what.capitalize()}s must be dtype {dt.int64}, got {dtype}.")
    if index == TextFileIndex.WHOLE_LINE and not dtype.is_integer and dtype is not dt.string:
        raise ValueError(f"Signature mismatch. {what.capitalize()}s must be integer or string, got {dtype}.")


class TextFileStringTableInitializer(TextFileInitializer):
    """``tf.contrib.lookup.TextFileStringTableInitializer``: from ids to strings."""

    def __init__(self, filename: Any, key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
                 vocab_size: int | None = None, delimiter: str = "\t", name: str = "text_file_string_table_init") -> None:
        super().__init__(filename, dt.int64, key_column_index, dt.string, value_column_index, vocab_size, delimiter, name)


class TextFileIdTableInitializer(TextFileInitializer):
    """``tf.contrib.lookup.TextFileIdTableInitializer``: from strings to ids."""

    def __init__(self, filename: Any, key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
                 vocab_size: int | None = None, delimiter: str = "\t", name: str = "text_file_id_table_init", key_dtype: Any = dt.string) -> None:
        super().__init__(filename, key_dtype, key_column_index, dt.int64, value_column_index, vocab_size, delimiter, name)


class InitializableLookupTableBase(LookupInterface):
    """A table that an initializer fills once."""

    def __init__(self, default_value: Any, initializer: TableInitializerBase) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = to_tensor(default_value, self._value_dtype)
        self._default_value.shape.assert_has_rank(0)
        self._resource_handle = self._create(initializer)
        self._initializer = initializer.initialize(self)

    def _create(self, initializer: TableInitializerBase) -> Tensor:
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the table, without its scope."""
        return self._resource_handle.op.name.split("/")[-1]

    @property
    def resource_handle(self) -> Tensor:
        """The handle of the table."""
        return self._resource_handle

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not in the table."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._initializer

    init = initializer  # its name in contrib

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries."""
        with name_scope(name, f"{self.name}_Size", [self._resource_handle]):
            return ops.LookupTableSizeV2(self._resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys: a tensor, or a SparseTensor for a SparseTensor."""
        tensor = self._key_tensor(keys)
        with name_scope(name, f"{self.name}_Lookup", [self._resource_handle, tensor, self._default_value]):
            values = ops.LookupTableFindV2(self._resource_handle, tensor, self._default_value)
        values.set_shape(tensor.shape)
        return in_form_of(keys, values)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(keys, values) of all entries."""
        with name_scope(name, f"{self.name}_Export", [self._resource_handle]):
            keys, values = ops.LookupTableExportV2(self._resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype)
            return keys, values


class HashTable(InitializableLookupTableBase):
    """``tf.contrib.lookup.HashTable``: a table that is filled once."""

    def __init__(self, initializer: TableInitializerBase, default_value: Any, shared_name: str | None = None, name: str | None = None) -> None:
        self._node_name, self._shared_name = name or "hash_table", shared_name or initializer._shared_name
        super().__init__(default_value, initializer)

    def _create(self, initializer: TableInitializerBase) -> Tensor:
        return ops.HashTableV2(key_dtype=initializer.key_dtype, value_dtype=initializer.value_dtype, shared_name=self._shared_name,
                               name=self._node_name)


class StaticHashTable(HashTable):
    """``tf.lookup.StaticHashTable``: a table that is filled once."""

    def __init__(self, initializer: TableInitializerBase, default_value: Any, name: str | None = None) -> None:
        super().__init__(initializer, default_value, name=name)


# --- tables that steps change ----------------------------------------------------------------------------------------

class _TableSaveable(SaveableObject):
    """A mutable table in a checkpoint: its keys and its values."""

    def __init__(self, table: MutableTable, name: str) -> None:
        keys, values = table.export()
        super().__init__(table.resource_handle, [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """Replaces the entries of the table."""
        with name_scope(f"{self.name}_table_restore"), colocate_with(self.op):
            return ops.LookupTableImportV2(self.op, *restored_tensors)


class MutableTable(LookupInterface):
    """What MutableHashTable and MutableDenseHashTable share."""

    _default_value: Tensor
    _handle: Tensor

    def _set_handle(self, handle: Tensor, saved_as: str | None) -> None:
        """``saved_as`` is the name in checkpoints: as in TensorFlow the one that was given, without scopes."""
        self._handle = handle
        if saved_as is not None:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _TableSaveable(self, saved_as))

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._handle.op.name

    @property
    def resource_handle(self) -> Tensor:
        """The handle of the table."""
        return self._handle

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries."""
        with name_scope(name, f"{self.name}_Size", [self._handle]), colocate_with(self._handle):
            return ops.LookupTableSizeV2(self._handle)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of keys; the default value for those that are not there."""
        with name_scope(name, f"{self.name}_lookup_table_find", [self._handle, keys, self._default_value]):
            keys = to_tensor(keys, self._key_dtype, name="keys")
            with colocate_with(self._handle):
                return ops.LookupTableFindV2(self._handle, keys, self._default_value)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """An operation that adds entries, or changes the values of keys that are there."""
        with name_scope(name, f"{self.name}_lookup_table_insert", [self._handle, keys, values]):
            keys, values = to_tensor(keys, self._key_dtype, name="keys"), to_tensor(values, self._value_dtype, name="values")
            with colocate_with(self._handle):
                return ops.LookupTableInsertV2(self._handle, keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """An operation that removes entries."""
        with name_scope(name, f"{self.name}_lookup_table_remove", [self._handle, keys]):
            keys = to_tensor(keys, self._key_dtype, name="keys")
            with colocate_with(self._handle):
                return ops.LookupTableRemoveV2(self._handle, keys)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(keys, values) of all entries."""
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self._handle]), colocate_with(self._handle):
            keys, values = ops.LookupTableExportV2(self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype)
            return keys, values


class MutableHashTable(MutableTable):
    """``tf.contrib.lookup.MutableHashTable``: a table that steps change; values are scalars or vectors."""

    def __init__(self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str = "MutableHashTable", checkpoint: bool = True) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default_value = to_tensor(default_value, self._value_dtype)
        given: dict[str, Any] = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype, "use_node_name_sharing": checkpoint, "name": name}
        if self._default_value.shape.ndims == 0:
            handle = ops.MutableHashTableV2(**given)
        else:
            handle = ops.MutableHashTableOfTensorsV2(**given, value_shape=self._default_value.shape)
        self._set_handle(handle, name if checkpoint else None)


class MutableDenseHashTable(MutableTable):
    """``tf.contrib.lookup.MutableDenseHashTable``: a table that steps change; keys and values are tensors, two keys are reserved."""

    def __init__(self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any = None,
                 initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable", checkpoint: bool = True) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default_value = to_tensor(default_value, self._value_dtype, name="default_value")
        empty = to_tensor(empty_key, self._key_dtype, name="empty_key")
        if deleted_key is None:  # as before TensorFlow 1.12: a key that programs are unlikely to use
            deleted_key = np.full(empty.shape.as_list(), "\0deleted" if self._key_dtype == dt.string else self._key_dtype.min,
                                  self._key_dtype.as_numpy_dtype)
        deleted = to_tensor(deleted_key, self._key_dtype, name="deleted_key")
        handle = ops.MutableDenseHashTableV2(empty, deleted, value_dtype=self._value_dtype, value_shape=self._default_value.shape,
                                             initial_num_buckets=initial_num_buckets, use_node_name_sharing=checkpoint, name=name)
        self._set_handle(handle, name if checkpoint else None)

    insert_or_assign = MutableTable.insert
    erase = MutableTable.remove
