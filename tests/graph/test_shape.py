"""TensorShape and Dimension: construction, arithmetic, merging, comparison."""
from __future__ import annotations

import pytest

import penstock as tf

Shape, Dimension = tf.TensorShape, tf.Dimension


@pytest.mark.parametrize("value, text, rank, elements", [
    (None, "<unknown>", None, None),
    ([], "()", 0, 1),
    ([3], "(3,)", 1, 3),
    ([2, None], "(2, ?)", 2, None),
    ((2, 3, 4), "(2, 3, 4)", 3, 24),
    ([0, 5], "(0, 5)", 2, 0),
    (7, "(7,)", 1, 7),
    ([Dimension(2), None], "(2, ?)", 2, None),
])
def test_construction(value, text, rank, elements):
    shape = Shape(value)
    assert (str(shape), shape.ndims, shape.num_elements()) == (text, rank, elements)


def test_fully_defined():
    assert Shape([2, 3]).is_fully_defined() and Shape([]).is_fully_defined()
    assert not Shape([2, None]).is_fully_defined() and not Shape(None).is_fully_defined()


def test_as_list():
    assert Shape([2, None]).as_list() == [2, None]
    with pytest.raises(ValueError):
        Shape(None).as_list()


def test_dims_and_items():
    shape = Shape([2, None, 4])
    assert [d.value for d in shape.dims] == [2, None, 4]
    assert shape[0] == 2 and shape[0].value == 2 and shape[1].value is None and shape[-1].value == 4
    assert shape[1:].as_list() == [None, 4]
    assert len(shape) == 3
    assert [d.value for d in shape] == [2, None, 4]
    assert Shape(None)[0].value is None
    assert Shape(None)[1:].ndims is None
    assert Shape(None)[1:3].as_list() == [None, None]
    assert Shape(None).dims is None


def test_unknown_rank_has_no_length():
    with pytest.raises(ValueError):
        len(Shape(None))
    with pytest.raises(ValueError):
        list(Shape(None))


@pytest.mark.parametrize("value", [[-2], ["a"], [1.5], "ab"])
def test_invalid(value):
    with pytest.raises((ValueError, TypeError)):
        Shape(value)


@pytest.mark.parametrize("a, b, compatible, merged", [
    ([2, None], [None, 3], True, [2, 3]),
    ([2], [3], False, None),
    (None, [1, 2], True, [1, 2]),
    ([2], [2, 1], False, None),
    ([], [], True, []),
])
def test_compatible_and_merge(a, b, compatible, merged):
    assert Shape(a).is_compatible_with(Shape(b)) is compatible
    if compatible:
        assert Shape(a).merge_with(b).as_list() == merged
    else:
        with pytest.raises(ValueError):
            Shape(a).merge_with(b)
        with pytest.raises(ValueError):
            Shape(a).assert_is_compatible_with(b)


def test_equality():
    assert Shape([2, 3]) == [2, 3] == Shape([2, 3])
    assert Shape([2]) != [3]
    assert Shape(None) == Shape(None)


def test_shapes_with_unknown_extents_do_not_equal_each_other():
    """As in TensorFlow: ``if x.shape != shortcut.shape`` adds a projection where the batch is unknown."""
    shape, like = Shape([None, 3]), Shape([None, 3])
    assert [each == shape for each in (shape, like, [None, 3])] == [True, False, False]
    assert [each != shape for each in (shape, like, [None, 3])] == [False, True, True]
    assert shape.is_same_as(Shape([None, 3])) and not shape.is_same_as(Shape([2, 3])) and shape.is_compatible_with([2, 3])


def test_concatenate():
    assert Shape([2]).concatenate([None, 3]).as_list() == [2, None, 3]
    assert Shape([2]).concatenate(Shape(None)).ndims is None
    assert Shape([1]).concatenate(Dimension(4)).as_list() == [1, 4]


def test_with_rank():
    assert Shape(None).with_rank(2).as_list() == [None, None]
    assert Shape([1, 2]).with_rank_at_least(1) == [1, 2]
    assert Shape([1, 2]).with_rank_at_most(2) == [1, 2]
    for change in (lambda: Shape([1]).with_rank(2), lambda: Shape([1]).with_rank_at_least(2), lambda: Shape([1]).with_rank_at_most(0),
                   lambda: Shape([1]).assert_has_rank(3), lambda: Shape([None]).assert_is_fully_defined(),
                   lambda: Shape([1]).assert_same_rank([1, 1])):
        with pytest.raises(ValueError):
            change()


def test_most_specific_compatible_shape():
    assert Shape([2, 3]).most_specific_compatible_shape(Shape([2, 4])).as_list() == [2, None]
    assert Shape([2, 3]).most_specific_compatible_shape(Shape([2])).ndims is None


def test_proto_round_trip():
    for value in (None, [], [2, None, 3]):
        assert str(Shape(Shape(value).as_proto())) == str(Shape(value))


@pytest.mark.parametrize("result, value", [
    (lambda: Dimension(3) + 2, 5), (lambda: 2 + Dimension(3), 5), (lambda: Dimension(3) - 1, 2), (lambda: 5 - Dimension(3), 2),
    (lambda: Dimension(3) * 4, 12), (lambda: Dimension(7) // 2, 3), (lambda: Dimension(7) % 4, 3), (lambda: Dimension(None) + 1, None),
    (lambda: Dimension(3) * None, None), (lambda: 9 // Dimension(2), 4), (lambda: Dimension(None) // 2, None),
])
def test_dimension_arithmetic(result, value):
    assert result().value == value


def test_dimension_comparison():
    assert Dimension(3) == 3 and Dimension(3) != 4 and Dimension(2) < 3 and Dimension(3) >= 3
    assert (Dimension(None) == 3) is None and (Dimension(None) < 3) is None and (Dimension(3) != Dimension(None)) is None
    assert int(Dimension(3)) == 3 and [10, 20, 30, 40][Dimension(3)] == 40
    assert str(Dimension(None)) == "?" and repr(Dimension(2)) == "Dimension(2)"


def test_dimension_merge():
    assert Dimension(None).merge_with(3) == 3
    assert Dimension(3).is_compatible_with(None)
    with pytest.raises(ValueError):
        Dimension(3).merge_with(4)
    with pytest.raises(ValueError):
        Dimension(-1)


def test_dimensions_and_shapes_beside_lists():
    assert [0] * tf.Dimension(2) == [0, 0]
    with pytest.raises(TypeError):
        tf.Dimension(3) * 1.5
    assert (tf.TensorShape([1, 2]) + [3]).as_list() == [1, 2, 3]
    assert ([None] + tf.TensorShape([3])).as_list() == [None, 3]
