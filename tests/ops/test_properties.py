"""Properties that hold for all shapes: broadcasting, slicing and reductions agree with NumPy, and static shapes with results."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.graph.opdef import REGISTRY
from support import build
from support.compare import difference

quick = settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))

BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "RealDiv": np.true_divide, "Maximum": np.maximum, "Minimum": np.minimum,
          "SquaredDifference": lambda a, b: (a - b) ** 2, "Less": np.less, "Equal": np.equal, "Pow": lambda a, b: np.power(a, b),
          "FloorMod": np.mod, "Atan2": np.arctan2}
REDUCTIONS = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min, "Prod": np.prod}


def values(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.RandomState(seed).uniform(0.5, 2.0, shape)


@st.composite
def broadcastable(draw):
    """Two shapes that broadcast together."""
    whole = draw(st.lists(st.integers(0, 3), max_size=4))
    shapes = []
    for _ in range(2):
        rank = draw(st.integers(0, len(whole)))
        shapes.append(tuple(draw(st.sampled_from([extent, 1])) for extent in whole[len(whole) - rank:]))
    return shapes


def check_all_ways(call, arrays, wanted):
    """``call`` on constants, on placeholders of partly known and of unknown shape: result and static shape."""
    wanted = np.asarray(wanted)
    with tf.Graph().as_default() as graph:
        inputs = [[source(array) for array in arrays] for source in (build.as_constant, build.as_partly_known, build.as_unknown)]
        results = [call(*tensors) for tensors in inputs]
        feeds = {tensor: array for tensors in inputs[1:] for tensor, array in zip(tensors, arrays)}
        with build.session(graph) as session:
            found = session.run(results, feeds)
    assert results[0].shape.as_list() == list(wanted.shape)
    for tensor, value in zip(results, found):
        assert tensor.shape.is_compatible_with(wanted.shape), (tensor.shape, wanted.shape)
        assert difference(value, wanted) is None, difference(value, wanted)


@pytest.mark.parametrize("op_type", sorted(BINARY))
@quick
@given(shapes=broadcastable(), seed=st.integers(0, 99))
def test_broadcasting(op_type, shapes, seed):
    a, b = values(shapes[0], seed), values(shapes[1], seed + 1)
    check_all_ways(REGISTRY[op_type], [a, b], BINARY[op_type](a, b))


@quick
@given(shapes=broadcastable(), seed=st.integers(0, 99))
def test_broadcast_gradients_have_the_shape_of_their_input(shapes, seed):
    a, b = values(shapes[0], seed), values(shapes[1], seed + 1)
    with tf.Graph().as_default() as graph:
        for source in (build.as_known, build.as_unknown):
            x, y = source(a), source(b)
            gradients = tf.gradients(x * y, [x, y])
            with build.session(graph) as session:
                dx, dy = session.run(gradients, {x: a, y: b})
            assert (dx.shape, dy.shape) == (a.shape, b.shape)
            if 0 not in (a * b).shape:
                assert np.isclose(np.sum(dx * a), np.sum(a * b)) and np.isclose(np.sum(dy * b), np.sum(a * b))


@quick
@given(a=st.lists(st.integers(2, 4), min_size=1, max_size=3), b=st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_shapes_that_do_not_broadcast_are_rejected(a, b):
    try:
        np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with tf.Graph().as_default() as graph:
            with pytest.raises(ValueError):
                tf.add(np.zeros(a), np.zeros(b))
            x = tf.placeholder(tf.float64)
            total = tf.add(x, np.zeros(b))
            with build.session(graph) as session, pytest.raises(tf.errors.InvalidArgumentError):
                session.run(total, {x: np.zeros(a)})


@st.composite
def slicings(draw):
    """An array's shape and an index expression for it."""
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))
    taken = draw(st.integers(0, len(shape)))
    ellipsis_at = draw(st.one_of(st.none(), st.integers(0, taken)))
    axes = list(range(taken if ellipsis_at is None else ellipsis_at))
    if ellipsis_at is not None:
        axes += list(range(len(shape) - (taken - ellipsis_at), len(shape)))
    parts = []
    for position, axis in enumerate(axes):
        if position == ellipsis_at:
            parts.append(Ellipsis)
        parts.append(draw(_index(shape[axis])))
    if ellipsis_at is not None and Ellipsis not in parts:
        parts.append(Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return shape, tuple(parts)


def _index(extent: int) -> st.SearchStrategy:
    bound = st.one_of(st.none(), st.integers(-extent - 2, extent + 2))
    sliced = st.builds(slice, bound, bound, st.sampled_from([None, 1, 1, 2, 3, -1, -2]))
    return st.one_of(sliced, st.integers(-extent, extent - 1)) if extent else sliced


@settings(quick, max_examples=200)
@given(slicings())
def test_slicing(case):
    shape, index = case
    array = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    check_all_ways(lambda x: x[index], [array], array[index])


@settings(quick, max_examples=60)
@given(slicings())
def test_gradient_of_slicing(case):
    shape, index = case
    array = values(shape, 0)
    with tf.Graph().as_default() as graph:
        x = build.as_known(array)
        gradient, = tf.gradients(x[index] * 2.0, [x])
        with build.session(graph) as session:
            found = session.run(gradient, {x: array})
    wanted = np.zeros(shape)
    wanted[index] = 2.0
    assert difference(found, wanted) is None


@st.composite
def reductions(draw):
    """A shape, axes (None, one, several, negative) and keepdims."""
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    axes = draw(st.one_of(st.none(), st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, max_size=len(shape))))
    if axes is not None:
        axes = [axis - len(shape) if draw(st.booleans()) else axis for axis in axes]
    return shape, axes, draw(st.booleans())


@pytest.mark.parametrize("op_type", sorted(REDUCTIONS))
@quick
@given(case=reductions())
def test_reductions(op_type, case):
    shape, axes, keepdims = case
    array = values(shape, 1)
    function = getattr(tf, "reduce_" + op_type.lower())
    wanted = REDUCTIONS[op_type](array, axis=None if axes is None else tuple(axes), keepdims=keepdims)
    check_all_ways(lambda x: function(x, axis=axes, keepdims=keepdims), [array], wanted)


@quick
@given(st.lists(st.integers(0, 4), max_size=4), st.randoms(use_true_random=False))
def test_transpose(shape, random):
    order = list(range(len(shape)))
    random.shuffle(order)
    array = values(tuple(shape), 2)
    check_all_ways(lambda x: tf.transpose(x, order), [array], array.transpose(order))


@quick
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 4), st.data())
def test_concat_and_split(shape, parts, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    arrays = [values(tuple(shape), seed) for seed in range(parts)]
    check_all_ways(lambda *tensors: tf.concat(tensors, axis), arrays, np.concatenate(arrays, axis))
    joined = np.concatenate(arrays, axis)
    check_all_ways(lambda x: tf.split(x, parts, axis)[-1], [joined], arrays[-1])


@quick
@given(st.lists(st.integers(0, 3), max_size=3), st.data())
def test_expand_and_squeeze(shape, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    array = values(tuple(shape), 3)
    check_all_ways(lambda x: tf.expand_dims(x, axis), [array], np.expand_dims(array, axis))
    wide = np.expand_dims(array, axis)
    check_all_ways(lambda x: tf.squeeze(x, [axis]), [wide], array)


@quick
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3))
def test_pad_and_tile(axes):
    array = values(tuple(axis[0] for axis in axes), 4)
    paddings = np.array([axis[1:] for axis in axes], np.int32).reshape(-1, 2)
    check_all_ways(lambda x: tf.pad(x, paddings), [array], np.pad(array, paddings))
    multiples = paddings[:, 0]
    check_all_ways(lambda x: tf.tile(x, multiples), [array], np.tile(array, tuple(multiples)))


@pytest.mark.parametrize("make", [lambda: tf.constant([1.0]), lambda: tf.Variable([1.0]), lambda: [1]])
def test_logical_reductions_refuse_numbers(make):
    with pytest.raises(TypeError, match="bool"):
        tf.reduce_any(make())


def test_logical_reductions_take_arrays_and_empty_lists():
    with tf.Session() as session:
        assert session.run([tf.reduce_any(np.array([0.0, 2.0])), tf.reduce_all([])]) == [True, True]
