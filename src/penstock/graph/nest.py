"""Structures of values: lists, tuples, namedtuples, mappings and attrs classes inside one another, with tensors at the leaves.

Everything here rests on three functions: ``is_sequence`` (is this a structure or a leaf?), ``_children`` (its parts in order, with their keys;
mappings go by sorted key, so that equal mappings flatten alike) and ``_rebuild`` (the same structure around other parts). With
``expand_composites=True`` a SparseTensor, IndexedSlices or another CompositeTensor counts as a structure of its tensors.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from functools import lru_cache
from typing import Any

from penstock.graph.composite import CompositeTensor, IndexedSlices, SparseTensor

Path = tuple[Any, ...]


def is_sequence(o: Any) -> bool:
    """Whether ``o`` is a structure. Strings and arrays are leaves.

    >>> is_sequence([]), is_sequence({}), is_sequence("text")
    (True, True, False)
    """
    return _is_structure(o.__class__)


@lru_cache(maxsize=1024)
def _is_structure(kind: type) -> bool:
    if issubclass(kind, (str, bytes, bytearray)):
        return False
    return issubclass(kind, (Sequence, Mapping, MappingView)) or hasattr(kind, "__attrs_attrs__")


def is_sequence_or_composite(o: Any) -> bool:
    """Whether ``o`` is a structure, or a value made of several tensors."""
    return is_sequence(o) or isinstance(o, (SparseTensor, IndexedSlices, CompositeTensor))


def is_nested(seq: Any) -> bool:
    """``tf.nest.is_nested``: whether ``seq`` is a structure."""
    return is_sequence(seq)


def _kind_test(expand_composites: bool) -> Callable[[Any], bool]:
    return is_sequence_or_composite if expand_composites else is_sequence


def _is_attrs(value: Any) -> bool:
    return hasattr(type(value), "__attrs_attrs__")


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and isinstance(getattr(value, "_fields", None), tuple)


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError(f"A structure can only hold mappings whose keys can be sorted, not keys {list(mapping)!r}.") from None


def _children(structure: Any) -> list[tuple[Any, Any]]:
    if isinstance(structure, Mapping):
        return [(key, structure[key]) for key in _sorted_keys(structure)]
    if _is_namedtuple(structure):
        return list(zip(structure._fields, structure))
    if _is_attrs(structure):
        return [(field.name, getattr(structure, field.name)) for field in type(structure).__attrs_attrs__]
    if isinstance(structure, SparseTensor):
        return [(name, getattr(structure, name)) for name in ("indices", "values", "dense_shape")]
    if isinstance(structure, IndexedSlices):
        parts = ("values", "indices") if structure.dense_shape is None else ("values", "indices", "dense_shape")
        return [(name, getattr(structure, name)) for name in parts]
    if isinstance(structure, CompositeTensor):
        return list(enumerate(structure._components()))
    return list(enumerate(structure))


def _rebuild(structure: Any, parts: list[Any]) -> Any:
    if isinstance(structure, Mapping):
        by_key = dict(zip(_sorted_keys(structure), parts))
        items = [(key, by_key[key]) for key in structure]
        return defaultdict(structure.default_factory, items) if isinstance(structure, defaultdict) else type(structure)(items)  # type: ignore[call-arg]
    if _is_namedtuple(structure) or _is_attrs(structure) or isinstance(structure, (SparseTensor, IndexedSlices)):
        return type(structure)(*parts)
    if isinstance(structure, CompositeTensor):
        return structure._with_components(parts)
    if isinstance(structure, (MappingView, range)):  # made by a mapping or by numbers: there is no way to make one of `parts`
        return parts
    return type(structure)(parts)


def _leaves(structure: Any, nested: Callable[[Any], bool], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if not nested(structure):
        yield path, structure
        return
    for key, child in _children(structure):
        yield from _leaves(child, nested, (*path, key))


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of ``structure``, in order; a leaf alone is a list of one.

    >>> flatten({"b": 1, "a": [2, (3, None)]})
    [2, 3, None, 1]
    """
    leaves: list[Any] = []
    _collect(structure, _kind_test(expand_composites), leaves)
    return leaves


def _collect(structure: Any, nested: Callable[[Any], bool], leaves: list[Any]) -> None:
    """Adds the leaves of a structure."""
    if not nested(structure):
        leaves.append(structure)
        return
    for child in structure if type(structure) in (list, tuple) else [child for _, child in _children(structure)]:
        _collect(child, nested, leaves)


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[Path]:
    """The path of each leaf: a tuple of keys, field names and positions."""
    return (path for path, _ in _leaves(nest, _kind_test(expand_composites)))


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """The leaves with their paths."""
    return list(_leaves(structure, _kind_test(expand_composites)))


def flatten_with_joined_string_paths(structure: Any, separator: str = "/", expand_composites: bool = False) -> list[tuple[str, Any]]:
    """The leaves with their paths as text.

    >>> flatten_with_joined_string_paths({"b": [1, {"c": 2}]})
    [('b/0', 1), ('b/1/c', 2)]
    """
    return [(_join(path, separator), leaf) for path, leaf in flatten_with_tuple_paths(structure, expand_composites)]


def _join(path: Path, separator: str = "/") -> str:
    return separator.join(str(key) for key in path)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """``structure`` with its leaves replaced by ``flat_sequence``, in order: the inverse of `flatten`."""
    nested = _kind_test(expand_composites)
    if not is_sequence(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, not {flat_sequence!r}")
    given = list(flat_sequence)
    if not nested(structure):
        if len(given) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(given)}: it takes exactly one value.")
        return given[0]
    wanted = len(flatten(structure, expand_composites))
    if wanted != len(given):
        raise ValueError(f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {len(given)} elements. "
                         f"Structure: {structure!r}, flat_sequence: {given!r}.")
    return _pack(structure, iter(given), nested)


def _pack(structure: Any, leaves: Iterator[Any], nested: Callable[[Any], bool]) -> Any:
    if not nested(structure):
        return next(leaves)
    return _rebuild(structure, [_pack(child, leaves, nested) for _, child in _children(structure)])


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Calls ``func`` on the leaves of one or more structures of the same shape; the results stand in the shape of the first.

    >>> map_structure(lambda a, b: a + b, {"x": [1, 2]}, {"x": [3, 4]})
    {'x': [4, 6]}
    """
    expand = _check_map(func, structure, kwargs)
    results = [func(*leaves) for leaves in zip(*(flatten(each, expand) for each in structure))]
    return pack_sequence_as(structure[0], results, expand)


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """`map_structure`, where ``func`` also gets the path of the leaf, as its first argument."""
    expand = _check_map(func, structure, kwargs)
    paths = yield_flat_paths(structure[0], expand)
    results = [func(*leaves) for leaves in zip(paths, *(flatten(each, expand) for each in structure))]
    return pack_sequence_as(structure[0], results, expand)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """`map_structure`, where ``func`` also gets the path of the leaf as text (``"a/0"``), as its first argument."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    return map_structure_with_tuple_paths(lambda path, *leaves: func(_join(path), *leaves), *structure, **kwargs)


def _check_map(func: Any, structures: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Checks the arguments of the map functions; the result is whether composites are expanded."""
    check_types, expand = options.pop("check_types", True), options.pop("expand_composites", False)
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    if options:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, not: {', '.join(map(repr, options))}")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types, expand)
    return bool(expand)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises unless both have the same shape: ValueError for lengths and nesting, TypeError (if ``check_types``) for list against tuple."""
    problem = _difference(nest1, nest2, check_types, _kind_test(expand_composites))
    if problem is not None:
        error, text = problem
        raise error(f"The two structures don't have the same nested structure.\n\nFirst structure: {_describe(nest1)}\n\n"
                    f"Second structure: {_describe(nest2)}\n\nMore specifically: {text}")


def _difference(a: Any, b: Any, check_types: bool, nested: Callable[[Any], bool]) -> tuple[type[Exception], str] | None:
    if nested(a) != nested(b):
        deep, flat = (a, b) if nested(a) else (b, a)
        return ValueError, f'Substructure "{_describe(deep)}" is a sequence, while substructure "{_describe(flat)}" is not'
    if not nested(a):
        return None
    if check_types:
        if not _same_type(a, b):
            return TypeError, f"{_describe(a)} and {_describe(b)} are not of the same sequence type"
        if isinstance(a, Mapping) and set(a) != set(b):
            return ValueError, f"The two dictionaries don't have the same set of keys: {list(a)} and {list(b)}"
    children_a, children_b = _children(a), _children(b)
    if len(children_a) != len(children_b):
        return ValueError, f"The two structures don't have the same number of elements. First: {_describe(a)}. Second: {_describe(b)}"
    for (_, child_a), (_, child_b) in zip(children_a, children_b):
        problem = _difference(child_a, child_b, check_types, nested)
        if problem is not None:
            return problem
    return None


def _describe(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


def _same_type(a: Any, b: Any) -> bool:
    if type(a) is type(b) or (isinstance(a, Mapping) and isinstance(b, Mapping)):
        return True
    # Two definitions of one namedtuple (a module loaded twice, a pickled class) are the same structure.
    return _is_namedtuple(a) and _is_namedtuple(b) and type(a).__name__ == type(b).__name__ and a._fields == b._fields


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False,
                             check_subtrees_length: bool = True) -> None:
    """Raises unless ``input_tree`` has the shape of ``shallow_tree``, with anything below the latter's leaves."""
    nested = _kind_test(expand_composites)
    if not nested(shallow_tree):
        return
    if not nested(input_tree):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}.")
    if check_types and not _same_type(shallow_tree, input_tree):
        raise TypeError(f"The two structures don't have the same sequence type. Input structure has type {type(input_tree)}, "
                        f"while shallow structure has type {type(shallow_tree)}.")
    shallow_size, size = len(_children(shallow_tree)), len(_children(input_tree))
    if check_subtrees_length and shallow_size != size:
        raise ValueError(f"The two structures don't have the same sequence length. Input structure has length {size}, "
                         f"while shallow structure has length {shallow_size}.")
    if isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping):
        extra = [key for key in shallow_tree if key not in input_tree]
        if extra:
            raise ValueError(f"The shallow_tree's keys are not a subset of the input_tree's keys: {extra} are not in the input_tree.")
    for _, shallow, below in _pairs(shallow_tree, input_tree):
        assert_shallow_structure(shallow, below, check_types, expand_composites, check_subtrees_length)


def _pairs(shallow: Any, deep: Any) -> list[tuple[Any, Any, Any]]:
    """(key, part of shallow, part of deep): by key in two mappings, else by position."""
    if isinstance(shallow, Mapping) and isinstance(deep, Mapping):
        return [(key, child, deep[key]) for key, child in _children(shallow)]
    return [(key, child, other) for (key, child), (_, other) in zip(_children(shallow), _children(deep))]


def flatten_with_tuple_paths_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False,
                                   check_subtrees_length: bool = True) -> list[tuple[Path, Any]]:
    """What stands in ``input_tree`` at the leaves of ``shallow_tree``, with the paths there."""
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return list(_leaves_up_to(shallow_tree, input_tree, _kind_test(expand_composites), ()))


def _leaves_up_to(shallow: Any, deep: Any, nested: Callable[[Any], bool], path: Path) -> Iterator[tuple[Path, Any]]:
    if not nested(shallow):
        yield path, deep
        return
    for key, child, below in _pairs(shallow, deep):
        yield from _leaves_up_to(child, below, nested, (*path, key))


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False,
                  check_subtrees_length: bool = True) -> list[Any]:
    """What stands in ``input_tree`` at the leaves of ``shallow_tree``.

    >>> flatten_up_to([0, 0], [[1, 2], {"a": 3}])
    [[1, 2], {'a': 3}]
    """
    pairs = flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return [value for _, value in pairs]


def map_structure_with_tuple_paths_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """`map_structure_up_to`, where ``func`` also gets the path, as its first argument."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    flat = [flatten_with_tuple_paths_up_to(shallow_tree, each, **kwargs) for each in inputs]
    results = [func(pairs[0][0], *(value for _, value in pairs)) for pairs in zip(*flat)]
    return pack_sequence_as(shallow_tree, results, kwargs.get("expand_composites", False))


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Calls ``func`` on what stands in the ``inputs`` at the leaves of ``shallow_tree``."""
    return map_structure_with_tuple_paths_up_to(shallow_tree, lambda _, *values: func(*values), *inputs, **kwargs)


def get_traverse_shallow_structure(traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False) -> Any:
    """A shallow structure of booleans: how far ``traverse_fn`` (a bool, or a structure of bools for the parts) wants to go into ``structure``."""
    wanted, nested = traverse_fn(structure), _kind_test(expand_composites)
    if not nested(structure):
        if not isinstance(wanted, bool):
            raise TypeError(f"traverse_fn returned {wanted!r} for a leaf; it must be a bool.")
        return wanted
    if isinstance(wanted, bool):
        if not wanted:
            return False
        return _rebuild(structure, [get_traverse_shallow_structure(traverse_fn, child, expand_composites) for _, child in _children(structure)])
    parts = [get_traverse_shallow_structure(traverse_fn, child, expand_composites) if go else False
             for _, go, child in _pairs(wanted, structure)]
    return _rebuild(structure, parts)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """A dict whose keys and values are structures, taken apart.

    >>> flatten_dict_items({(4, 5, (6, 8)): ("a", "b", ("c", "d"))})
    {4: 'a', 5: 'b', 6: 'c', 8: 'd'}
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = flatten(key), flatten(value)
        if len(keys) != len(values):
            raise ValueError(f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements. "
                             f"Key: {keys}, value: {values}.")
        for name, part in zip(keys, values):
            if name in flat:
                raise ValueError(f"Could not flatten dictionary: key {name} is not unique.")
            flat[name] = part
    return flat
