"""Writes ``pipeline.pb``, the GraphDef of a pipeline made by real TensorFlow 1.15, and ``pipeline.json``, what it gives there.

    python3.7 tests/data/recorded/record.py
"""
import json
import os

import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))


def build():
    """A pipeline with functions, captures, functions inside functions, and both kinds of iterator."""
    data, ten = tf.data.Dataset, tf.constant(10, tf.int64)
    numbers = data.range(20).map(lambda x: x + ten).filter(lambda x: tf.equal(x % 2, 0)).shuffle(5, seed=3)
    pairs = numbers.flat_map(lambda x: data.from_tensors(x).repeat(2).map(lambda y: (y, tf.to_float(x + ten))))
    batches = pairs.map(lambda x, y: (tf.where(x > 20, x * 100, x), y), num_parallel_calls=2).batch(4).prefetch(1)
    first, second = batches.make_one_shot_iterator().get_next()
    iterator = batches.make_initializable_iterator()
    return [tf.identity(first, name="first"), tf.identity(second, name="second"), tf.identity(iterator.get_next()[0], name="third")], iterator


def main():
    """The command."""
    with tf.Graph().as_default() as graph:
        tensors, iterator = build()
        with tf.Session() as sess:
            sess.run(iterator.initializer)
            values = [[value.tolist() for value in sess.run(tensors)] for _ in range(3)]
        with open(os.path.join(HERE, "pipeline.pb"), "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())
        with open(os.path.join(HERE, "pipeline.json"), "w") as file:
            json.dump({"initializer": iterator.initializer.name, "values": values}, file)


if __name__ == "__main__":
    main()
