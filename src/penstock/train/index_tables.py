"""Vocabularies: tables from words to ids and back, with buckets for words that are not in the vocabulary."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.select import where_v2
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import size
from penstock.ops.constant import constant
from penstock.ops.flow.misc import no_op
from penstock.ops.math.compare import not_equal
from penstock.ops.math.elementwise import Add
from penstock.ops.text.strings import AsString, StringToHashBucketFast, StringToHashBucketStrong
from penstock.train.lookup import (
    HashTable,
    KeyValueTensorInitializer,
    LookupInterface,
    StaticHashTable,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
    in_form_of,
)


class HasherSpec(NamedTuple):
    """``tf.contrib.lookup.HasherSpec``: which hash decides the bucket of an unknown word."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """``tf.contrib.lookup.StrongHashSpec``: a hash under a secret key of two integers."""

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        """Checks the key."""
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(part, int) for part in key):
            raise TypeError("Invalid key. Must be unsigned integer values.")
        return super().__new__(cls, hasher="stronghash", key=key)


class IdTableWithHashBuckets(LookupInterface):
    """``tf.contrib.lookup.IdTableWithHashBuckets``: ids of a table (which may be None), and after them those of the buckets of other words."""

    def __init__(self, table: Any, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec, name: str | None = None,
                 key_dtype: Any = None) -> None:
        self._table, self._buckets, self._spec = table, num_oov_buckets, hasher_spec
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        if table is None and num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        self._table_name = name.rstrip("/") if name else table.name if table is not None else "hash_bucket"
        key_dtype = dt.as_dtype(key_dtype or (table.key_dtype if table is not None else dt.string))
        if key_dtype not in (dt.string, dt.int32, dt.int64):
            raise TypeError(f"Invalid key_dtype, expected one of string, int32, int64, received {key_dtype}.")
        if table is not None:
            if table.key_dtype.is_integer != key_dtype.is_integer:
                raise TypeError(f"Invalid key dtype, expected {'integer' if table.key_dtype.is_integer else 'non-integer'} but got {key_dtype}.")
            if table.value_dtype is not dt.int64:
                raise TypeError(f"Invalid value dtype, expected {dt.int64} but got {table.value_dtype}.")
        super().__init__(key_dtype, dt.int64)

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._table_name

    @property
    def resource_handle(self) -> Any:
        """The handle of the table inside, or None."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table inside."""
        if self._table is not None:
            return self._table.initializer
        with name_scope(None, "init"):
            return no_op()

    init = initializer  # its name in contrib

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids: those of the table and those of the buckets."""
        with name_scope(name, f"{self.name}_Size"):
            return (constant(0, dt.int64) if self._table is None else self._table.size()) + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The ids of keys: a tensor, or a SparseTensor for a SparseTensor."""
        values = self._key_tensor(keys)
        if self._table is not None and self._table.key_dtype.base_dtype is dt.int64:
            values = cast(values, dt.int64)
        ids = self._table.lookup(values, name) if self._buckets == 0 else self._ids(values, name)
        return in_form_of(keys, ids)

    def _ids(self, values: Tensor, name: str | None) -> Tensor:
        with name_scope(name, f"{self.name}_Lookup"):
            words = AsString(values) if values.dtype.base_dtype is not dt.string else values
            if self._spec.hasher == "stronghash":
                buckets = StringToHashBucketStrong(words, num_buckets=self._buckets, key=self._spec.key, name="hash_bucket")
            elif self._spec.hasher == "fasthash":
                buckets = StringToHashBucketFast(words, num_buckets=self._buckets, name="hash_bucket")
            else:
                raise ValueError(f"Unknown hasher {self._spec.hasher}")
            if self._table is None:
                return buckets
            ids = self._table.lookup(values)
            buckets = Add(buckets, self._table.size())
            return where_v2(not_equal(ids, self._table.default_value), ids, buckets)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """``tf.lookup.StaticVocabularyTable``: ids from an initializer, and buckets for other words."""

    def __init__(self, initializer: TableInitializerBase | None, num_oov_buckets: int, lookup_key_dtype: Any = None, name: str | None = None) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        if initializer is not None and initializer.value_dtype is not dt.int64:
            raise TypeError(f"Invalid value dtype, expected {dt.int64} but got {initializer.value_dtype}.")
        table = None if initializer is None else StaticHashTable(initializer, default_value=-1)
        super().__init__(table, num_oov_buckets, name=name, key_dtype=lookup_key_dtype)


# --- functions -------------------------------------------------------------------------------------------------------

def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {vocabulary_file}")


def index_table_from_tensor(mapping: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
                            dtype: Any = dt.string, name: str | None = None) -> Any:
    """``tf.contrib.lookup.index_table_from_tensor``: from the elements of ``mapping`` to their places in it."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    _check_buckets(num_oov_buckets)
    dtype = dt.as_dtype(dtype)
    with name_scope(name, "string_to_index"):
        keys = to_tensor(mapping)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(f"Expected {'integer' if dtype.is_integer else 'non-integer'}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype is not dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        ids = cast(range_(size(keys)), dt.int64)
        with name_scope(None, "hash_table"):
            keys = cast(keys, dt.int64) if keys.dtype.is_integer else keys
            initializer = KeyValueTensorInitializer(keys, ids, keys.dtype.base_dtype, dt.int64, name="table_init")
            table = HashTable(initializer, default_value)
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=dtype) if num_oov_buckets else table


def index_table_from_file(vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
                          hasher_spec: HasherSpec = FastHashSpec, key_dtype: Any = dt.string, name: str | None = None,
                          key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
                          delimiter: str = "\t") -> Any:
    """``tf.contrib.lookup.index_table_from_file``: from the lines of a file to their numbers."""
    _check_buckets(num_oov_buckets)
    _check_file(vocabulary_file, vocab_size)
    key_dtype = dt.as_dtype(key_dtype)
    if key_dtype is not dt.string and not key_dtype.is_integer:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"), name_scope(None, "hash_table"):
        initializer = TextFileIdTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init",
                                                 dt.int64 if key_dtype.is_integer else key_dtype)
        table = HashTable(initializer, default_value)
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype) if num_oov_buckets else table


def index_to_string_table_from_tensor(mapping: Any, default_value: Any = "UNK", name: str | None = None) -> HashTable:
    """``tf.contrib.lookup.index_to_string_table_from_tensor``: from places in ``mapping`` to its strings."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    with name_scope(name, "index_to_string"):
        values = to_tensor(mapping, dt.string)
        keys = cast(range_(size(values)), dt.int64)
        return HashTable(KeyValueTensorInitializer(keys, values, dt.int64, dt.string, name="table_init"), default_value)


def index_to_string_table_from_file(vocabulary_file: Any, vocab_size: int | None = None, default_value: Any = "UNK", name: str | None = None,
                                    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
                                    delimiter: str = "\t") -> HashTable:
    """``tf.contrib.lookup.index_to_string_table_from_file``: from line numbers to the lines of a file."""
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init")
        return HashTable(initializer, default_value)


def string_to_index_table_from_tensor(mapping: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
                                      name: str | None = None) -> Any:
    """``tf.contrib.lookup.string_to_index_table_from_tensor``, the old name of ``index_table_from_tensor``."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, dt.string, name)


def string_to_index_table_from_file(vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
                                    hasher_spec: HasherSpec = FastHashSpec, name: str | None = None) -> Any:
    """``tf.contrib.lookup.string_to_index_table_from_file``, the old name of ``index_table_from_file``."""
    return index_table_from_file(vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, dt.string, name)


def string_to_index(tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None) -> Any:
    """``tf.contrib.lookup.string_to_index``: the places of strings in ``mapping``."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None) -> Any:
    """``tf.contrib.lookup.index_to_string``: the strings at places in ``mapping``."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
