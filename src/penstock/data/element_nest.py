"""Structures of elements: tuples, namedtuples and mappings. Unlike in ``tf.nest``, a list is a leaf: it is a tensor that is not converted yet."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.graph.composite import SparseTensorValue


def is_sequence(value: Any) -> bool:
    """Whether ``value`` is a structure."""
    return isinstance(value, (tuple, Mapping)) and not isinstance(value, SparseTensorValue)


def _parts(structure: Any) -> list[Any]:
    return [structure[key] for key in sorted(structure)] if isinstance(structure, Mapping) else list(structure)


def flatten(structure: Any) -> list[Any]:
    """The leaves, mappings by sorted key.

    >>> flatten({"b": 1, "a": ([2, 3], 4)})
    [[2, 3], 4, 1]
    """
    return [leaf for part in _parts(structure) for leaf in flatten(part)] if is_sequence(structure) else [structure]


def pack_sequence_as(structure: Any, leaves: list[Any]) -> Any:
    """``structure`` around other leaves."""
    if not isinstance(leaves, (list, tuple, Mapping)):
        raise TypeError("flat_sequence must be a sequence")
    if not is_sequence(structure) and len(leaves) != 1:
        raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(leaves)} > 1")
    wanted = len(flatten(structure))
    if wanted != len(leaves):
        raise ValueError(f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {len(leaves)} elements.")
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        packed = {key: _pack(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, packed[key]) for key in structure)  # type: ignore[call-arg]
    parts = [_pack(part, leaves) for part in structure]
    return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)


def map_structure(func: Callable[..., Any], *structures: Any, check_types: bool = True) -> Any:
    """``func`` on the leaves of structures of the same shape."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types)
    return pack_sequence_as(structures[0], [func(*leaves) for leaves in zip(*map(flatten, structures))])


def assert_same_structure(one: Any, other: Any, check_types: bool = True) -> None:
    """ValueError or TypeError unless both have the same shape; with ``check_types``, also the same types."""
    if is_sequence(one) != is_sequence(other):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {one}, second structure: {other}.")
    if not is_sequence(one):
        return
    if check_types and (isinstance(one, Mapping) != isinstance(other, Mapping) or (not isinstance(one, Mapping) and type(one) is not type(other))):
        raise TypeError(f"The two structures don't have the same sequence type. First structure has type {type(one)}, while second structure has "
                        f"type {type(other)}.")
    if isinstance(one, Mapping) and isinstance(other, Mapping) and set(one) != set(other):
        raise ValueError(f"The two dictionaries don't have the same set of keys. First structure has keys {sorted(one)}, while second structure has "
                         f"keys {sorted(other)}.")
    if len(one) != len(other):
        raise ValueError(f"The two structures don't have the same number of elements. First structure: {one}, second structure: {other}.")
    for mine, theirs in zip(_parts(one), _parts(other)):
        assert_same_structure(mine, theirs, check_types)


def flatten_up_to(shallow: Any, deep: Any) -> list[Any]:
    """What stands in ``deep`` at the leaves of ``shallow``."""
    if not is_sequence(shallow):
        return [deep]
    if isinstance(deep, list):
        deep = tuple(deep)
    if not is_sequence(deep):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(deep)}.")
    if isinstance(shallow, Mapping) != isinstance(deep, Mapping):
        raise TypeError(f"The two structures don't have the same sequence type. Input structure has type {type(deep)}, while shallow structure has "
                        f"type {type(shallow)}.")
    if len(shallow) != len(deep):
        raise ValueError(f"The two structures don't have the same sequence length. Input structure has length {len(deep)}, while shallow structure "
                         f"has length {len(shallow)}.")
    if isinstance(shallow, Mapping) and set(shallow) != set(deep):
        raise ValueError(f"The two structures don't have the same keys: {sorted(shallow)} and {sorted(deep)}.")
    return [leaf for one, other in zip(_parts(shallow), _parts(deep)) for leaf in flatten_up_to(one, other)]


def map_structure_up_to(shallow: Any, func: Callable[..., Any], *deep: Any) -> Any:
    """``func`` of what stands in each of ``deep`` at the leaves of ``shallow``, in the form of ``shallow``."""
    if not deep:
        raise ValueError("Cannot map over no sequences")
    return pack_sequence_as(shallow, [func(*parts) for parts in zip(*(flatten_up_to(shallow, each) for each in deep), strict=True)])


def assert_shallow_structure(shallow: Any, deep: Any, check_types: bool = True) -> None:
    """TypeError or ValueError unless ``deep`` has the form of ``shallow``, as far down as that goes."""
    if not is_sequence(shallow):
        return
    if not is_sequence(deep):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(deep)}.")
    if check_types and not isinstance(deep, type(shallow)):
        raise TypeError(f"The two structures don't have the same sequence type. Input structure has type {type(deep)}, while shallow structure has "
                        f"type {type(shallow)}.")
    if len(deep) != len(shallow):
        raise ValueError(f"The two structures don't have the same sequence length. Input structure has length {len(deep)}, while shallow structure "
                         f"has length {len(shallow)}.")
    if check_types and isinstance(shallow, Mapping) and set(shallow) != set(deep):
        raise ValueError(f"The two structures don't have the same keys. Input structure has keys {list(deep)}, while shallow structure has keys "
                         f"{list(shallow)}.")
    for one, other in zip(_parts(shallow), _parts(deep), strict=True):
        assert_shallow_structure(one, other, check_types)
