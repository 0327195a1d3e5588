"""A program of real TensorFlow that trains on the server that its argument names: `python foreign_client.py grpc://localhost:PORT v1|v2`.

It keeps to what TensorFlow 1.15 and 2 share, and prints "ok" if all is as it should be.
"""
from __future__ import annotations

import sys

import numpy as np
import tensorflow
from tensorflow.core.protobuf import config_pb2

tf = tensorflow.compat.v1


def model():
    """A regression; its loss, a training step, and branches and loops."""
    x, y = tf.placeholder(tf.float32, [None, 3], name="x"), tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    branch = tf.cond(loss > 1e9, lambda: loss * 2.0, lambda: loss)
    total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), [0, 0.0])[1]
    return x, y, w, loss, train, branch, total


def check_callables(session, feeds, loss, train, values):
    """Steps that are prepared once: by name (MakeCallable, RunCallable and ReleaseCallable of the protocol), and as a Python function."""
    by_name = config_pb2.CallableOptions()
    by_name.feed.extend(tensor.name for tensor in feeds)
    by_name.fetch.append(loss.name)
    call, function = session._make_callable_from_options(by_name), session.make_callable(loss, feeds)
    for _ in range(3):
        expected = session.run(loss, dict(zip(feeds, values)))
        assert abs(call(*values)[0] - expected) < 1e-6 and abs(function(*values) - expected) < 1e-6
    by_name.target.append(train.name)
    other = session._make_callable_from_options(by_name)
    other(*values)
    try:
        call(values[0])
        raise AssertionError("one feed is missing")
    except (tf.errors.InvalidArgumentError, RuntimeError):
        del call, other  # the server is told


def main(target, behaviour, steps):
    """Builds, initialises, trains, fetches, and does what is not allowed."""
    if tensorflow.__version__.startswith("2"):
        tf.disable_v2_behavior() if behaviour == "v1" else tf.disable_eager_execution()
    inputs = np.random.RandomState(0).randn(64, 3).astype(np.float32)
    outputs = inputs.dot(np.array([[1.0], [-2.0], [3.0]], np.float32)) + np.float32(0.5)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, y, w, loss, train, branch, total = model()
        feeds = {x: inputs, y: outputs}
        session.run(tf.global_variables_initializer())
        assert session.list_devices()
        first = session.run(loss, feeds)
        for _ in range(steps):
            last, _ = session.run([loss, train], feeds)
        assert last < (1e-6 if steps >= 200 else 0.9) * first, (first, last)
        if steps >= 200:
            np.testing.assert_allclose(session.run(w).ravel(), [1.0, -2.0, 3.0], atol=1e-3)
        assert session.run(total) == 10.0 and abs(session.run(branch, feeds) - session.run(loss, feeds)) < 1e-6
        check_callables(session, [x, y], loss, train, [inputs, outputs])
        assert session.run(tf.string_join(["a", "b"])) == b"ab"  # the graph has grown
        handle = session.partial_run_setup([loss, branch], [x, y])
        assert abs(session.partial_run(handle, loss, feeds) - session.partial_run(handle, branch)) < 1e-6
        for fetch, error in ((tf.read_file("/etc/hostname"), tf.errors.PermissionDeniedError),
                             (tf.check_numerics(tf.constant(1.0) / 0.0, "bad"), tf.errors.InvalidArgumentError)):
            try:
                session.run(fetch)
                raise AssertionError("the server should have refused %s" % fetch.name)
            except error:
                continue
    tf.Session.reset(target)
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 200)
