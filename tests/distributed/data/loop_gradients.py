"""Loops whose bodies name two devices, and their gradients; run with TensorFlow 1.15.5 (Python 3.7), this writes loop_gradients.json."""
import json
import os

X, TIMES = [0.1, -0.2, 0.3], [0, 1, 4]


def plain(tf, a, b, start, times, w):
    """Each device computes a part of the body."""
    def body(i, state):
        with tf.device(a):
            product = state * w
        with tf.device(b):
            return i + 1, tf.tanh(product) + state * 0.5

    return tf.while_loop(lambda i, state: i < times, body, [0, start])[1]


def branches(tf, a, b, start, times, w):
    """Each device computes a branch."""
    def even(state):
        with tf.device(a):
            return state * w

    def odd(state):
        with tf.device(b):
            return tf.tanh(state)

    return tf.while_loop(lambda i, state: i < times, lambda i, state: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: even(state), lambda: odd(state))),
                         [0, start])[1]


def nested(tf, a, b, start, times, w):
    """A loop in a loop."""
    return tf.while_loop(lambda i, state: i < times, lambda i, state: (i + 1, plain(tf, a, b, state, 2, w)), [0, start])[1]


def array(tf, a, b, start, times, w):
    """What one device computes, the other one writes to an array."""
    def body(i, state, written):
        with tf.device(a):
            value = tf.tanh(state * w)
        with tf.device(b):
            return i + 1, value + state, written.write(i, value * 2.0)

    _, state, written = tf.while_loop(lambda i, *_: i < times, body, [0, start, tf.TensorArray(tf.float32, size=times, element_shape=[3])])
    return state + tf.reduce_sum(written.stack(), 0)


CASES = {"plain": plain, "branches": branches, "nested": nested, "array": array}


def build(tf, case, a, b, outer=None, backward=None):
    """(what to feed: start and times; the loss, its gradients by the variable and by the start) of a case."""
    start, times = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.int32, [])
    with tf.device(a):
        w = tf.get_variable("w", [3], initializer=tf.constant_initializer(1.5))
    with tf.device(outer):
        out = CASES[case](tf, a, b, start, times, w)
    loss = tf.reduce_sum(out * out)
    with tf.device(backward):
        return (start, times), [loss] + tf.gradients(loss, [w, start])


def main():
    """Records."""
    import tensorflow as tf

    found = {}
    for case in CASES:
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            (start, times), wanted = build(tf, case, "/cpu:0", "/cpu:1")
            session.run(tf.global_variables_initializer())
            found[case] = [[value.tolist() for value in session.run(wanted, {start: X, times: count})] for count in TIMES]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "loop_gradients.json"), "w") as file:
        json.dump(found, file, indent=0)


if __name__ == "__main__":
    main()
