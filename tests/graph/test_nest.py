"""Structures; the expected values are TensorFlow's."""
from __future__ import annotations

import collections
import types

import numpy as np
import pytest

import penstock as tf
from penstock.graph import nest

Point = collections.namedtuple("Point", "x y")
TREE = {"b": [1, {"c": 2}], "a": Point(3, 4)}


class WithAttributes:
    """As the attrs package makes one."""

    __attrs_attrs__ = (types.SimpleNamespace(name="x"), types.SimpleNamespace(name="y"))

    def __init__(self, x, y):
        self.x, self.y = x, y


@pytest.mark.parametrize(("structure", "leaves"), [
    ({"b": 1, "a": [2, (3, None)], "c": {}}, [2, 3, None, 1]), (3, [3]), ("ab", ["ab"]), ({1: 2}.keys(), [1]), ({1: 2}.values(), [2]),
    ({1}, [{1}]), (range(2), [0, 1]), (Point(1, [2]), [1, 2]), (WithAttributes(1, [2]), [1, 2]), (collections.UserDict(b=1, a=2), [2, 1]), ([], []),
])
def test_flatten(structure, leaves):
    assert nest.flatten(structure) == leaves


def test_arrays_and_shapes_are_leaves():
    array = np.ones(2)
    assert nest.flatten([array])[0] is array
    assert not nest.is_sequence(tf.TensorShape([1])) and not nest.is_sequence(tf.constant([1]))


def test_keys_must_sort():
    with pytest.raises(TypeError, match="sorted"):
        nest.flatten({1: 2, "a": 3})


@pytest.mark.parametrize(("structure", "flat", "expected"), [
    (Point(1, [2, 3]), [7, 8, 9], Point(7, [8, 9])), (1, [5], 5), ((1, (2,)), [3, 4], (3, (4,))),
    (collections.OrderedDict([("b", 1), ("a", 2)]), [7, 8], collections.OrderedDict([("b", 8), ("a", 7)])),
    (collections.defaultdict(int, a=1), [7], collections.defaultdict(int, a=7)),
])
def test_pack(structure, flat, expected):
    packed = nest.pack_sequence_as(structure, flat)
    assert packed == expected and type(packed) is type(expected)
    assert list(packed) == list(expected) if isinstance(packed, dict) else True


def test_pack_with_attributes():
    packed = nest.pack_sequence_as(WithAttributes(1, [2]), [5, 6])
    assert (packed.x, packed.y) == (5, [6])


@pytest.mark.parametrize(("error", "structure", "flat"), [
    (ValueError, [1, 2], [1]), (ValueError, 1, [1, 2]), (TypeError, [1], 3), (ValueError, [1], [1, 2]),
])
def test_pack_errors(error, structure, flat):
    with pytest.raises(error):
        nest.pack_sequence_as(structure, flat)


def test_map():
    assert nest.map_structure(lambda a, b: a + b, {"a": [1, 2]}, {"a": [3, 4]}) == {"a": [4, 6]}
    assert nest.map_structure(lambda a, b: a, [1, 2], (1, 2), check_types=False) == [1, 2]
    assert nest.map_structure_with_paths(lambda path, x: (path, x), {"b": [1]}) == {"b": [("b/0", 1)]}
    assert nest.map_structure_with_tuple_paths(lambda path, x: (path, x), {"b": [1]}) == {"b": [(("b", 0), 1)]}
    for error, call in [(ValueError, lambda: nest.map_structure(abs)), (TypeError, lambda: nest.map_structure(3, [1])),
                        (ValueError, lambda: nest.map_structure(abs, [1], foo=1)), (TypeError, lambda: nest.map_structure(abs, [1], (1,)))]:
        with pytest.raises(error):
            call()


@pytest.mark.parametrize(("error", "a", "b"), [
    (ValueError, [1, 2], [1]), (ValueError, [1, 2], [1, [2]]), (ValueError, {"a": 1}, {"b": 1}), (ValueError, 1, [1]), (TypeError, [1, 2], (1, 2)),
    (TypeError, Point(1, 2), collections.namedtuple("Other", "x y")(1, 2)), (TypeError, Point(1, 2), (1, 2)), (ValueError, [[1], 2], [1, 2]),
])
def test_different_structures(error, a, b):
    with pytest.raises(error, match="same nested structure"):
        nest.assert_same_structure(a, b)


@pytest.mark.parametrize(("a", "b"), [
    (Point(1, 2), collections.namedtuple("Point", "x y")(3, 4)), ({"a": 1}, collections.OrderedDict(a=1)), (1, "x"), ([], []),
])
def test_same_structures(a, b):
    nest.assert_same_structure(a, b)


def test_paths():
    assert nest.flatten_with_joined_string_paths(TREE) == [("a/x", 3), ("a/y", 4), ("b/0", 1), ("b/1/c", 2)]
    assert nest.flatten_with_tuple_paths(TREE)[-1] == (("b", 1, "c"), 2)
    assert next(nest.yield_flat_paths(TREE)) == ("a", "x")


def test_shallow_structures():
    assert nest.flatten_up_to([1, 2], [[1, 2], {"a": 3}]) == [[1, 2], {"a": 3}] and nest.flatten_up_to(1, [1, 2]) == [[1, 2]]
    assert nest.map_structure_up_to([1, 2], lambda a, b: (a, b), [[1, 2], 3], [4, {"a": 5}]) == [([1, 2], 4), (3, {"a": 5})]
    assert nest.get_traverse_shallow_structure(lambda s: not isinstance(s, tuple), [1, (2, 3), [4]]) == [True, False, [True]]
    for error, shallow, deep in [(TypeError, [1, [2]], [1, 2]), (ValueError, [1, 2], [1, 2, 3]), (ValueError, {"a": 1}, {"b": 2}),
                                 (TypeError, [1], (1,)), (ValueError, {"a": 1}, {"a": 1, "b": 2})]:
        with pytest.raises(error):
            nest.assert_shallow_structure(shallow, deep)
    nest.assert_shallow_structure({"a": 1}, {"a": 1, "b": 2}, check_subtrees_length=False)


def test_flatten_dict_items():
    assert nest.flatten_dict_items({(4, 5, (6, 8)): ("a", "b", ("c", "d"))}) == {4: "a", 5: "b", 6: "c", 8: "d"}
    for wrong in ({(1, 2): 3}, {(1, 1): (3, 4)}):
        with pytest.raises(ValueError, match="Could not flatten dictionary"):
            nest.flatten_dict_items(wrong)


def test_composites():
    sparse = tf.SparseTensor([[0]], [1], [2])
    assert nest.flatten([sparse]) == [sparse]
    assert nest.flatten([sparse], expand_composites=True) == [sparse.indices, sparse.values, sparse.dense_shape]
    again = nest.map_structure(lambda t: t, sparse, expand_composites=True)
    assert isinstance(again, tf.SparseTensor) and again.values is sparse.values
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert nest.flatten(slices, expand_composites=True) == [slices.values, slices.indices]
    assert nest.map_structure(lambda t: t, slices, expand_composites=True).dense_shape is None
