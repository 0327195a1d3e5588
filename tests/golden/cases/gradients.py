"""``tf.gradients`` itself: sums over paths, stops, given gradients, unconnected sources, sparse gradients, overrides."""


def cases(tf, np):
    """(name, function) pairs."""
    a = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)

    def both_paths():
        x = tf.constant(a)
        return tf.gradients(x * x + tf.sin(x), x)

    def given():
        x = tf.constant(a)
        y = tf.matmul(x, x)
        return tf.gradients([y, tf.exp(x)], [x], grad_ys=[a, None])

    def stopped():
        x = tf.constant(a)
        y = tf.square(x)
        z = y * x
        return tf.gradients(z, [x, y], stop_gradients=[x, y])

    def unconnected():
        x, w = tf.constant(a), tf.constant(2.0)
        found = tf.gradients(tf.reduce_sum(x), [x, w], unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return [tf.identity(g, name="g") for g in found]

    def sparse():
        table = tf.Variable(a, name="table")
        rows = tf.gather(table, [1, 0, 1])
        (grad,) = tf.gradients(rows * rows, table)
        return [tf.identity(part, name="part") for part in (grad.values, grad.indices, grad.dense_shape)]

    def sparse_and_dense():
        table = tf.Variable(a, name="table")
        (grad,) = tf.gradients(tf.reduce_sum(tf.gather(table, [1, 1])) + tf.reduce_sum(table * 2.0), table)
        return tf.identity(tf.convert_to_tensor(grad), name="dense")

    def second():
        x = tf.constant(a)
        (g,) = tf.gradients(tf.reduce_sum(tf.exp(x) * tf.sin(x)), x)
        return tf.gradients(g, x)

    def hessian():
        x = tf.constant([1.0, 2.0, 3.0])
        return tf.identity(tf.hessians(tf.reduce_prod(x) * x[0], x)[0], name="second")

    def hessian_of_unknown_length():
        x = tf.placeholder_with_default([1.0, 2.0, 3.0], [None])
        return tf.hessians(tf.reduce_sum(x ** 3) * x[0], x)

    def hessians_of_two():
        x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant(2.0)
        return tf.hessians([tf.reduce_sum(tf.matmul(x, x) ** 2), y ** 3 * x[0, 0]], [x, y])

    def through_integers():
        x = tf.constant([1.5, 2.5])
        return [tf.constant(tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x)[0] is None)]

    def custom():
        @tf.custom_gradient
        def scaled(v):
            return v * 2.0, lambda dy: dy * 100.0

        x = tf.constant(a)
        return tf.gradients(scaled(x) * 3.0, x)

    def gated(gate):
        def function():
            x, y = tf.constant(a), tf.constant(a * 2)
            return tf.gradients(tf.matmul(x, y), [x, y], gate_gradients=gate)
        return function

    yield "both paths", both_paths
    yield "given", given
    yield "stopped", stopped
    yield "unconnected", unconnected
    yield "sparse", sparse
    yield "sparse and dense", sparse_and_dense
    yield "second", second
    yield "hessian", hessian
    yield "hessian of unknown length", hessian_of_unknown_length
    yield "hessians of two", hessians_of_two
    yield "through integers", through_integers
    yield "custom", custom
    yield "gated", gated(True)
    yield "not gated", gated(False)
    yield "no path to an op without gradient", lambda: tf.gradients(tf.constant(1.0) * 2.0, tf.constant(3.0))[0] or tf.constant(True)
    yield "grad_ys of a wrong number", lambda: tf.gradients(tf.constant(1.0), tf.constant(1.0), grad_ys=[1.0, 2.0])
    yield "clip global", lambda: list(tf.clip_by_global_norm([tf.constant(a), tf.constant([3.0])], 1.5)[0])
