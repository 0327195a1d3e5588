"""Columns as configurations: class names and fields, which JSON can hold. Layers of columns describe themselves by them.

A column is a named tuple, so its configuration is its fields, written as ``_FIELDS`` says where they are not plain values.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from penstock.graph import dtypes
from penstock.layers import initializers
from penstock.layers.objects import deserialize_object, look_up_class, serialize_object

Column = TypeVar("Column", bound="type[Configured]")

_library_columns: dict[str, Any] = {}


def library_column(cls: Column) -> Column:
    """Marks a class that configurations may name without ``custom_objects``."""
    _library_columns[cls.__name__] = cls
    return cls


class Configured:
    """What can be described by a configuration, and made of one: a named tuple, or a class with two methods of these names."""

    def _get_config(self) -> dict[str, Any]:
        """The fields, as plain values."""
        values = {name: getattr(self, name) for name in _field_names(type(self), "_get_config")}
        return {name: _FIELDS[name].write(value) if name in _FIELDS else value for name, value in values.items()}

    @classmethod
    def _from_config(cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: dict[str, Any] | None = None) -> Any:
        """The column that ``_get_config`` described. Columns that are described twice are one."""
        names = _field_names(cls, "_from_config")
        if set(config) != set(names):
            raise ValueError(f"Invalid config: {config}, expected keys: {names}")
        known = {} if columns_by_name is None else columns_by_name
        return cls(**{name: _FIELDS[name].read(value, custom_objects, known) if name in _FIELDS else _tuples(value)
                      for name, value in config.items()})


def _field_names(cls: type, method: str) -> tuple[str, ...]:
    """The fields of a named tuple; another class has to define the method itself."""
    if not hasattr(cls, "_fields"):
        raise NotImplementedError(f"{cls.__name__}.{method}")
    return cls._fields


def serialize_feature_column(column: Any) -> Any:
    """The configuration of a column with the name of its class; the name of a feature stays as it is."""
    if isinstance(column, str):
        return column
    if not isinstance(column, Configured):
        raise ValueError(f"Instance: {column} is not a FeatureColumn")
    return {"class_name": type(column).__name__, "config": column._get_config()}


def deserialize_feature_column(config: Any, custom_objects: Any = None, columns_by_name: dict[str, Any] | None = None) -> Any:
    """The column that a configuration describes; one of ``columns_by_name`` if it is there already."""
    if isinstance(config, str):
        return config
    cls = look_up_class(config, _library_columns, custom_objects, "feature_column_v2")
    if not issubclass(cls, Configured):
        raise ValueError(f"Expected FeatureColumn class, instead found: {cls}")
    known = {} if columns_by_name is None else columns_by_name
    column = cls._from_config(config["config"], custom_objects=custom_objects, columns_by_name=known)
    return known.setdefault(f"{cls.__name__}:{column.name}", column)


def serialize_feature_columns(columns: Any) -> list[Any]:
    """The configurations of several columns."""
    return [serialize_feature_column(column) for column in columns]


def deserialize_feature_columns(configs: Any, custom_objects: Any = None) -> list[Any]:
    """The columns that configurations describe."""
    known: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, known) for config in configs]


def _tuples(value: Any) -> Any:
    """Lists, which JSON has for tuples, as tuples: columns are hashed."""
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


class _Field(NamedTuple):
    """How a field is written, and read with the objects of the user and the columns that are known by name."""

    write: Callable[[Any], Any]
    read: Callable[[Any, Any, dict[str, Any]], Any]


_COLUMN = _Field(serialize_feature_column, deserialize_feature_column)
_FIELDS = {
    "dtype": _Field(lambda dtype: dtype.name, lambda name, *_: dtypes.as_dtype(name)),
    "normalizer_fn": _Field(serialize_object, lambda config, custom, _: deserialize_object(config, None, custom)),
    "initializer": _Field(initializers.serialize, lambda config, custom, _: initializers.deserialize(config, custom)),
    "source_column": _COLUMN,
    "categorical_column": _COLUMN,
    "keys": _Field(lambda keys: tuple(map(serialize_feature_column, keys)),
                   lambda configs, custom, known: tuple(deserialize_feature_column(each, custom, known) for each in configs)),
}
