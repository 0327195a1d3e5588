"""Records GraphDefs with control flow as real TensorFlow 1 writes them, with feeds and results, into ``loops.npz``.

    python3.7 tests/graph/data/record_loops.py      # needs TensorFlow 1.15 and nothing of Penstock
"""
import os

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))


def conditional(x):
    y = tf.cond(x > 1.0, lambda: x * x, lambda: tf.exp(x))
    return [y, tf.gradients(y, x)[0]]


def loop(x):
    y = tf.while_loop(lambda i, v: i < 6, lambda i, v: (i + 1, tf.tanh(v * x) + 0.5), [0, x])[1]
    return [y, tf.gradients(y, x)[0]]


def nested(x):
    def inner(v):
        return tf.while_loop(lambda j, w: j < 2, lambda j, w: (j + 1, w * x), [0, v])[1]

    y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, inner(v)), [0, tf.constant(1.0, tf.float64)])[1]
    return [y, tf.gradients(y, x)[0]]


def conditional_in_loop(x):
    step = lambda i, v: (i + 1, tf.cond(v > 5.0, lambda: v * x, lambda: v + x))
    y = tf.while_loop(lambda i, v: i < 4, step, [0, x])[1]
    return [y, tf.gradients(y, x)[0]]


def scan(x):
    y = tf.scan(lambda a, b: a * x + b, tf.constant([1.0, 2.0, 3.0], tf.float64))
    return [y, tf.gradients(y, x)[0]]


def mapped(x):
    return [tf.map_fn(lambda v: v * x + 1.0, tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64))]


def growing(x):
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    return [tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.concat([v, [x]], 0)), [0, tf.zeros([1], tf.float64)], shapes)[1]]


def recurrent(x):
    data = tf.constant(np.linspace(-1, 1, 2 * 3 * 2).reshape(2, 3, 2)) * x
    cell = tf.nn.rnn_cell.BasicRNNCell(2, dtype=tf.float64)
    with tf.variable_scope("r", initializer=tf.constant_initializer(0.3, tf.float64)):
        outputs, state = tf.nn.dynamic_rnn(cell, data, sequence_length=[3, 1], dtype=tf.float64)
    y = tf.reduce_sum(outputs) + tf.reduce_sum(state)
    return [outputs, tf.gradients(y, x)[0]]


def main():
    """Writes the file."""
    found = {}
    for build in (conditional, loop, nested, conditional_in_loop, scan, mapped, growing, recurrent):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x = tf.placeholder(tf.float64, [], name="x")
            outputs = [tf.identity(y, name="out") for y in build(x)]
            variables = tf.global_variables()
            session.run(tf.global_variables_initializer())
            graph_def = graph.as_graph_def()
            if variables:
                graph_def = tf.graph_util.convert_variables_to_constants(session, graph_def, [y.op.name for y in outputs])
            found[build.__name__] = np.frombuffer(graph_def.SerializeToString(), np.uint8)
            for value in (0.5, 1.5):
                for index, result in enumerate(session.run(outputs, {x: value})):
                    found["%s|%g|%d" % (build.__name__, value, index)] = result
    np.savez_compressed(os.path.join(HERE, "loops.npz"), **found)


if __name__ == "__main__":
    main()
