"""Lookup tables: what HashTable and its kin keep between steps.

A key is a number or a string, or, in dense tables, a vector of them; a value is an array of the table's value shape. Inside, keys and scalar values
are plain Python values, so that equal keys of any array are equal here.
"""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from penstock.errors import FailedPreconditionError, KernelError, UnimplementedError, invalid_argument
from penstock.graph.dtypes import DType
from penstock.graph.shape import brackets


class LookupTable:
    """A mutable table."""

    kind = "MutableHashTable"

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = (), key_shape: tuple[int, ...] = ()) -> None:
        self.name, self.key_dtype, self.value_dtype = name, key_dtype, value_dtype
        self.value_shape, self.key_shape = value_shape, key_shape
        self._entries: dict[Any, Any] = {}
        self._lock = threading.Lock()

    # --- arrays and plain values -------------------------------------------------------------------------------------

    def _keys(self, keys: Any) -> list[Any]:
        keys = np.asarray(keys)
        rank = len(self.key_shape)
        if keys.shape[keys.ndim - rank:] != self.key_shape:
            raise invalid_argument(f"Expected key shape {brackets(self.key_shape)} got {brackets(keys.shape)}")
        if not rank:
            return keys.ravel().tolist()
        return [tuple(row) for row in keys.reshape(-1, int(np.prod(self.key_shape))).tolist()]

    def _batch_shape(self, keys: Any) -> tuple[int, ...]:
        shape = np.shape(keys)
        return shape[:len(shape) - len(self.key_shape)]

    def _values(self, keys: Any, values: Any) -> list[Any]:
        expected = (*self._batch_shape(keys), *self.value_shape)
        if np.shape(values) != expected:
            raise invalid_argument(f"Expected shape {brackets(expected)} for value, got {brackets(np.shape(values))}")
        if not self.value_shape:
            return np.asarray(values).ravel().tolist()
        return list(np.array(values).reshape(-1, *self.value_shape))  # a copy: the table keeps it

    def _array(self, items: list[Any], dtype: DType, batch: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        result = np.empty((len(items), *shape), dtype.np)
        if items:
            result[...] = items if shape or dtype.np != np.dtype(object) else np.array([*items, None], object)[:-1]
        return result.reshape((*batch, *shape))

    # --- operations --------------------------------------------------------------------------------------------------

    def find(self, keys: Any, default: Any) -> np.ndarray:
        """The values of the keys; ``default`` for those that are not there."""
        if np.shape(default) not in ((), self.value_shape):
            raise invalid_argument(f"Expected shape {brackets(self.value_shape)} for default value, got {brackets(np.shape(default))}")
        missing = np.broadcast_to(np.asarray(default), self.value_shape) if self.value_shape else np.asarray(default).item()
        wanted = self._keys(keys)
        with self._lock:
            values = [self._entries.get(key, missing) for key in wanted]
        return self._array(values, self.value_dtype, self._batch_shape(keys), self.value_shape)

    def insert(self, keys: Any, values: Any) -> None:
        """Adds keys, or gives those that are there new values."""
        entries = dict(zip(self._keys(keys), self._values(keys, values)))
        with self._lock:
            self._entries.update(entries)

    def remove(self, keys: Any) -> None:
        """Removes keys; a key that is not there is not an error."""
        unwanted = self._keys(keys)
        with self._lock:
            for key in unwanted:
                self._entries.pop(key, None)

    def replace(self, keys: Any, values: Any) -> None:
        """Makes these the only entries."""
        entries = dict(zip(self._keys(keys), self._values(keys, values)))
        with self._lock:
            self._entries = entries

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and their values, in the order in which the keys came."""
        with self._lock:
            keys, values = list(self._entries), list(self._entries.values())
        return (self._array(keys, self.key_dtype, (len(keys),), self.key_shape),
                self._array(values, self.value_dtype, (len(values),), self.value_shape))

    def initialize(self, keys: Any, values: Any) -> None:
        """For tables that are filled once."""
        raise KernelError(FailedPreconditionError, f"Table '{self.name}' is mutable: it is not initialized, entries are inserted.")

    def __len__(self) -> int:
        return len(self._entries)


class StaticTable(LookupTable):
    """A table that is filled once, by an initializer, and only read after that."""

    kind = "HashTable"

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType) -> None:
        super().__init__(name, key_dtype, value_dtype)
        self._ready = False

    def initialize(self, keys: Any, values: Any) -> None:
        """Fills the table. Doing it again with the same entries is allowed."""
        if np.shape(keys) != np.shape(values):
            raise invalid_argument(f"Number of elements in keys and values must match: {brackets(np.shape(keys))}, {brackets(np.shape(values))}")
        if not np.size(keys):
            raise invalid_argument("keys and values cannot be empty tensors.")
        entries: dict[Any, Any] = {}
        for key, value in zip(self._keys(keys), self._values(keys, values)):
            if entries.setdefault(key, value) != value:
                raise KernelError(FailedPreconditionError, f"HashTable has different value for same key. Key {_as_text(key)} has "
                                                           f"{_as_text(entries[key])} and trying to add value {_as_text(value)}")
        with self._lock:
            if self._ready and entries != self._entries:
                raise KernelError(FailedPreconditionError, "Table was already initialized with different data.")
            self._entries, self._ready = entries, True

    replace = initialize

    def find(self, keys: Any, default: Any) -> np.ndarray:
        """The values of the keys; FailedPreconditionError before the table is initialized."""
        self._check_ready()
        return super().find(keys, default)

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and values; FailedPreconditionError before the table is initialized."""
        self._check_ready()
        return super().export()

    def insert(self, keys: Any, values: Any) -> None:
        """Not possible."""
        raise KernelError(UnimplementedError, "Insert not supported by InitializableLookupTable implementations")

    def remove(self, keys: Any) -> None:
        """Not possible."""
        raise KernelError(UnimplementedError, "Remove not supported by InitializableLookupTable implementations")

    def _check_ready(self) -> None:
        if not self._ready:
            raise KernelError(FailedPreconditionError, "Table not initialized.", "run tf.tables_initializer() in this session first")


LEAST_PLACES = 4  # of a DenseTable


class DenseTable(LookupTable):
    """A mutable table in which two keys, the empty and the deleted one, are reserved.

    It has a number of places for entries, which doubles when more than ``max_load_factor`` of them are taken. Exports show the free places, too.
    """

    kind = "MutableDenseHashTable"

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...], places: int, max_load_factor: float,
                 empty_key: Any, deleted_key: Any = None) -> None:
        super().__init__(name, key_dtype, value_dtype, value_shape, np.shape(empty_key))
        self._places, self._max_load_factor = places, max_load_factor
        if not np.size(empty_key):
            raise invalid_argument(f"Empty key must have elements, got shape {brackets(self.key_shape)}")
        (self._empty,) = self._keys(empty_key)
        self._reserved = {self._empty: "empty_key"}
        if deleted_key is not None:
            if np.shape(deleted_key) != self.key_shape:
                raise invalid_argument("Empty and deleted keys must have same shape, got shapes: "
                                       f"{brackets(self.key_shape)} and {brackets(np.shape(deleted_key))}")
            (deleted,) = self._keys(deleted_key)
            if deleted == self._empty:
                raise invalid_argument("Empty and deleted keys cannot be equal")
            self._reserved[deleted] = "deleted_key"

    def _check_keys(self, keys: Any) -> None:
        """InvalidArgumentError unless ``keys`` are one key or a list of keys, none of them a reserved one."""
        number = (np.shape(keys) or (1,))[0]
        if np.size(keys) != number * int(np.prod(self.key_shape)):
            raise invalid_argument(f"Expected key shape {brackets((number, *self.key_shape))} got {brackets(np.shape(keys))}")
        for key in self._keys(keys):
            if key in self._reserved:
                raise invalid_argument(f"Using the {self._reserved[key]} as a table key is not allowed")

    def find(self, keys: Any, default: Any) -> np.ndarray:
        """As of any table."""
        self._check_keys(keys)
        return super().find(keys, default)

    def insert(self, keys: Any, values: Any) -> None:
        """As of any table."""
        self._check_keys(keys)
        with self._lock:
            self._make_room(len(self._entries) + (np.shape(keys) or (1,))[0])
        super().insert(keys, values)

    def _make_room(self, entries: int) -> None:
        while entries > self._places * self._max_load_factor:
            self._places *= 2

    def remove(self, keys: Any) -> None:
        """As of any table."""
        self._check_keys(keys)
        super().remove(keys)

    def replace(self, keys: Any, values: Any) -> None:
        """Makes these the only entries; ``keys`` are the places of an exported table."""
        super().replace(keys, values)
        with self._lock:
            for key in self._reserved:
                self._entries.pop(key, None)
            self._places = max(LEAST_PLACES, 1 << (len(keys) - 1).bit_length())  # an exported table has a power of 2
            self._make_room(len(self._entries))

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """The keys and values of all places: behind the entries the empty key, with zeros or empty strings."""
        keys, values = super().export()
        free = max(0, self._places - len(keys))  # another thread may have changed it
        blank = b"" if self.value_dtype.np == np.dtype(object) else 0
        empty = self._array([self._empty], self.key_dtype, (1,), self.key_shape)
        return (np.concatenate([keys, np.broadcast_to(empty, (free, *self.key_shape))]),
                np.concatenate([values, np.full((free, *self.value_shape), blank, self.value_dtype.np)]))


def _as_text(item: Any) -> Any:
    return item.decode(errors="replace") if isinstance(item, bytes) else item
