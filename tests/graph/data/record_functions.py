"""Records GraphDefs with functions as real TensorFlow 1.15 writes them, with a feed and results, into ``functions.npz``.

    python3.7 tests/graph/data/record_functions.py      # needs TensorFlow 1.15.5 and nothing of Penstock
"""
import os

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

tf.compat.v1.disable_eager_execution()


@function.Defun(tf.float32, tf.float32, func_name="Scaled")
def scaled(x, y):
    return tf.sin(x) * y, x + y


@function.Defun(tf.float32, tf.float32)
def slope(x, dy):
    return dy * 10.0 * x


@function.Defun(tf.float32, func_name="Cube", grad_func=slope)
def cube(x):
    return x * x * x


@function.Defun(tf.float32, func_name="Outer", noinline=True)
def outer(x):
    first, second = scaled(x, 2.0)
    return first + second * second


@tf.function
def traced(x):
    total = tf.constant(0.0)
    for i in tf.range(3):
        if tf.reduce_sum(x) > 0.0:
            total += tf.reduce_sum(x) * tf.cast(i, tf.float32)
    return total, tf.square(x)


def named():
    """Calls by name, with gradients."""
    x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
    y = tf.identity(outer(x) + cube(x), name="y")
    tf.identity(tf.gradients(y, x)[0], name="dx")


def partitioned():
    """A PartitionedCall with a loop and a conditional inside; its gradients are taken by the reader."""
    x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
    total, squares = traced(x)
    tf.identity(total + tf.reduce_sum(squares), name="y")


def main():
    arrays = {"x": np.array([0.5, -1.0, 2.0], np.float32)}
    for build in (named, partitioned):
        with tf.Graph().as_default() as graph:
            build()
            names = ["y:0"] + ["dx:0"] * (build is named)
            with tf.compat.v1.Session() as session:
                for name, value in zip(names, session.run(names, {"x:0": arrays["x"]})):
                    arrays[build.__name__ + "_" + name[:-2]] = value
            arrays[build.__name__ + "_graph"] = np.frombuffer(graph.as_graph_def().SerializeToString(), np.uint8)
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions.npz"), **arrays)


if __name__ == "__main__":
    main()
