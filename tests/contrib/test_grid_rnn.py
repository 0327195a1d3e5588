"""Grid cells where TensorFlow's own cannot be asked: states in one tensor, and grids that cannot run."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


def _fill(shape, dtype=None, **_):
    return tf.constant(np.sin(np.arange(int(np.prod(shape))) * 1.3).reshape(shape), dtype or tf.float32)


@pytest.mark.parametrize("kind", ["Grid1BasicRNNCell", "Grid2BasicRNNCell", "Grid2GRUCell"])
def test_a_state_in_one_tensor_gives_what_the_tuple_gives(kind):
    grid, x = tf.contrib.grid_rnn, tf.constant([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    results = []
    for together in (False, True):
        with tf.variable_scope(f"m{together}", initializer=_fill):
            cell = getattr(grid, kind)(2, state_is_tuple=not together, output_is_tuple=not together)
            output, state = cell(x, cell.zero_state(3, tf.float32))
            results.append((output, state) if together else (tf.concat(output, 1), tf.concat(state, 1)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        parts, whole = session.run(results)
    np.testing.assert_array_equal(parts[0], whole[0])
    np.testing.assert_array_equal(parts[1], whole[1])


def test_a_dimension_without_any_output_is_named():
    cell = tf.contrib.grid_rnn.GridRNNCell(2, 2, input_dims=0, output_dims=0, non_recurrent_dims=1)
    with pytest.raises(ValueError, match="Dimension 1 of the grid"):
        cell(tf.ones([3, 2]), cell.zero_state(3, tf.float32))
