"""The measurements themselves. One process measures one thing in one framework and prints it as JSON.

Usage: python core.py FRAMEWORK MEASUREMENT     (FRAMEWORK: penstock or tensorflow)

This file also runs inside TensorFlow 1's Python 3.7, so it keeps to that language and to the standard library.
"""
from __future__ import annotations

import importlib
import json
import sys
import time

GRAPH_OPS = 10000
NULL_STEPS = 200
NULL_ROUNDS = 10


def load(framework):
    """The framework's TensorFlow 1 interface, in graph mode."""
    tf = importlib.import_module(framework)
    if tf.__version__.startswith("2.") and framework == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    return tf


def measure_import(framework):
    """Seconds to import the framework; the start of the interpreter is not counted."""
    start = time.perf_counter()
    importlib.import_module(framework)
    return time.perf_counter() - start


def measure_build(framework):
    """Seconds to build a graph of 10,000 operations: a chain of add, multiply and matmul over two placeholders."""
    tf = load(framework)
    with tf.Graph().as_default() as graph:
        start = time.perf_counter()
        value = tf.placeholder(tf.float32, [64, 64])
        other = tf.placeholder(tf.float32, [64, 64])
        chain = (tf.add, tf.multiply, tf.matmul)
        for index in range(GRAPH_OPS - 2):
            value = chain[index % 3](value, other)
        seconds = time.perf_counter() - start
        count = len(graph.get_operations())
        if count != GRAPH_OPS:
            raise AssertionError(f"built {count} operations, not {GRAPH_OPS}")
    return seconds


def measure_null_step(framework):
    """Seconds of one `Session.run` that feeds a scalar, adds a constant and fetches the sum."""
    tf = load(framework)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = tf.add(x, 1.0)
        if session.run(y, {x: 2.0}) != 3.0:
            raise AssertionError("2 + 1 is not 3")
        best = float("inf")
        for _ in range(NULL_ROUNDS):
            start = time.perf_counter()
            for _ in range(NULL_STEPS):
                session.run(y, {x: 2.0})
            best = min(best, (time.perf_counter() - start) / NULL_STEPS)
    return best


MEASUREMENTS = {"import": measure_import, "build": measure_build, "null_step": measure_null_step}


def main(framework, measurement):
    """Measure, and print `{"seconds": ..., "version": ...}` as the last line."""
    seconds = MEASUREMENTS[measurement](framework)
    version = sys.modules[framework].__version__
    print(json.dumps({"seconds": seconds, "version": version}))


if __name__ == "__main__":
    main(*sys.argv[1:])
