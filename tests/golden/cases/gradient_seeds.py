"""Seeds that are not given, after gradients and optimizers: they count the nodes of TensorFlow's gradients, which depend on known shapes."""
KNOWN, UNKNOWN = (2, 3), (None, 3)


def _after(tf, build):
    """The second seed of a random op that is made after the rest."""
    tf.compat.v1.set_random_seed(1)
    build()
    drawn = tf.random_uniform([1], name="drawn_after")
    return tf.identity(tf.constant(drawn.graph.get_operation_by_name("drawn_after/RandomUniform").get_attr("seed2")), name="output")


def _of_one(tf, np):
    """{name: function of one tensor}."""
    nn = tf.nn
    plain = {name: getattr(tf, name) for name in ("tanh", "exp", "log", "sqrt", "square", "abs", "sign", "transpose", "identity", "norm",
                                                  "reduce_sum", "reduce_mean", "reduce_max", "reduce_min")}
    plain.update({name: getattr(nn, name) for name in ("relu", "elu", "softmax", "log_softmax", "l2_loss", "leaky_relu")})
    plain.update({
        "sum 1": lambda x: tf.reduce_sum(x, 1), "sum 0": lambda x: tf.reduce_sum(x, 0),
        "two sums": lambda x: tf.reduce_sum(x, 1) + tf.reduce_sum(tf.exp(x), 1),
        "mean 1": lambda x: tf.reduce_mean(x, 1), "mean last": lambda x: tf.reduce_mean(x, -1, keepdims=True), "max 1": lambda x: tf.reduce_max(x, 1),
        "prod 1": lambda x: tf.reduce_prod(x, 1), "logsumexp": lambda x: tf.reduce_logsumexp(x, 1), "moments": lambda x: nn.moments(x, [0]),
        "reshape": lambda x: tf.reshape(x, [-1]), "expand_dims": lambda x: tf.expand_dims(x, 1), "cast": lambda x: tf.cast(x, tf.float64),
        "pad": lambda x: tf.pad(x, [[0, 0], [1, 1]]), "tile": lambda x: tf.tile(x, [1, 2]), "slice": lambda x: tf.slice(x, [0, 0], [-1, 2]),
        "strided slice": lambda x: x[:, 1:2], "split": lambda x: tf.split(x, 3, 1), "split 1": lambda x: tf.split(x, 3, 1)[0],
        "unstack": lambda x: tf.unstack(x, axis=1), "concat": lambda x: tf.concat([x, x], 1),
        "concat 0": lambda x: tf.concat([x, 2 * x, tf.zeros([1, 3])], 0),
        "stack": lambda x: tf.stack([x, x], 1), "gather": lambda x: tf.gather(x, [0, 1]), "gather 1": lambda x: tf.gather(x, [0, 1], axis=1),
        "gather_nd": lambda x: tf.gather_nd(x, [[0, 1]]),
        "embedding_lookup": lambda x: nn.embedding_lookup(x, [0, 1]), "top_k": lambda x: nn.top_k(x, 2)[0],
        "clip_by_value": lambda x: tf.clip_by_value(x, -1.0, 1.0), "clip_by_norm": lambda x: tf.clip_by_norm(x, 1.0),
        "l2_normalize": lambda x: nn.l2_normalize(x, 1), "dropout": lambda x: nn.dropout(x, 0.5),
        "where": lambda x: tf.where(x > 0, x, tf.zeros_like(x)),
        "times a number": lambda x: x * 2.0, "plus a number": lambda x: x + 1.0, "from a number": lambda x: 1.0 - x, "by a number": lambda x: x / 2.0,
        "number by it": lambda x: 1.0 / x, "squared": lambda x: x ** 2, "maximum": lambda x: tf.maximum(x, 0.0), "used twice": lambda x: x * x + x,
        "second order": lambda x: tf.gradients(tf.square(x), x)[0], "broadcast": lambda x: tf.broadcast_to(x[:1], [2, 4, 3])})
    return plain


def _of_two(tf):
    """{name: function of two tensors}."""
    nn = tf.nn
    return {"add": tf.add, "subtract": tf.subtract, "multiply": tf.multiply, "divide": tf.divide, "maximum of two": tf.maximum, "minimum": tf.minimum,
            "squared_difference": tf.squared_difference, "pow": tf.pow, "floormod": tf.floormod, "div_no_nan": tf.div_no_nan,
            "mean square": lambda a, b: tf.reduce_mean(tf.square(a - b)), "two products": lambda a, b: a * b * b,
            "softmax cross entropy": lambda a, b: nn.softmax_cross_entropy_with_logits_v2(labels=a, logits=b),
            "sigmoid cross entropy": lambda a, b: nn.sigmoid_cross_entropy_with_logits(labels=a, logits=b),
            "sparse cross entropy": lambda a, b: nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(a[:, 0], tf.int32), logits=b)}


def _differentiated(tf, function, *shapes, dtype=None):
    def build():
        inputs = [tf.placeholder(dtype or tf.float32, shape) for shape in shapes]
        tf.gradients(function(*inputs), inputs)
    return build


def _expressions(tf, np):
    for name, function in _of_one(tf, np).items():
        yield name, _differentiated(tf, function, UNKNOWN)
        yield name + " known", _differentiated(tf, function, KNOWN)
    for name, function in _of_two(tf).items():
        yield name, _differentiated(tf, function, UNKNOWN, UNKNOWN)
        yield name + " known", _differentiated(tf, function, KNOWN, KNOWN)
        if "entropy" not in name:
            for other, shapes in {"row": (UNKNOWN, (3,)), "known row": (KNOWN, (3,)), "scalar": (KNOWN, ()), "outer": ((2, 1), (1, 3))}.items():
                yield f"{name} {other}", _differentiated(tf, function, *shapes)
    for name in ("add", "multiply", "squared_difference", "pow"):
        yield name + " float64", _differentiated(tf, _of_two(tf)[name], KNOWN, KNOWN, dtype=tf.float64)
    images = (None, 8, 8, 3)
    yield "matmul", _differentiated(tf, tf.matmul, UNKNOWN, (3, 2))
    yield "batch matmul", _differentiated(tf, tf.matmul, (None, 4, 3), (None, 3, 2))
    yield "batch matmul known", _differentiated(tf, tf.matmul, (5, 4, 3), (5, 3, 2))
    yield "bias_add", _differentiated(tf, tf.nn.bias_add, images, (3,))
    yield "conv2d", _differentiated(tf, lambda a, b: tf.nn.conv2d(a, b, [1, 1, 1, 1], "SAME"), images, (3, 3, 3, 4))
    yield "conv2d known", _differentiated(tf, lambda a, b: tf.nn.conv2d(a, b, [1, 1, 1, 1], "SAME"), (2, 8, 8, 3), (3, 3, 3, 4))
    yield "max_pool", _differentiated(tf, lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), images)
    yield "mean of images", _differentiated(tf, lambda x: tf.reduce_mean(x, [1, 2]), images)
    yield "resize nearest", _differentiated(tf, lambda x: tf.image.resize_nearest_neighbor(x, [4, 4]), images)
    for fused in (False, True):
        yield f"batch norm fused {fused}", _differentiated(
            tf, lambda x, fused=fused: tf.layers.batch_normalization(x, training=True, fused=fused), images)


def _optimizers(tf):
    train = tf.train

    def linear(make, **options):
        def build():
            x, weights = tf.placeholder(tf.float32, [None, 3]), tf.get_variable("w", [3, 2])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) + tf.get_variable("b", [2])))
            make().minimize(loss, **{name: value() for name, value in options.items()})
        return build
    for name in ("GradientDescent", "Adagrad", "Adam", "Ftrl", "RMSProp", "Adadelta", "ProximalAdagrad"):
        yield name, linear(lambda name=name: getattr(train, name + "Optimizer")(0.1))
    yield "Momentum", linear(lambda: train.MomentumOptimizer(0.1, 0.9))
    yield "Adam with a global step", linear(lambda: train.AdamOptimizer(0.1), global_step=train.get_or_create_global_step)
    yield "Adam with a rate", linear(lambda: train.AdamOptimizer(tf.placeholder(tf.float32, [])))
    yield "Adam ungated", linear(lambda: train.AdamOptimizer(0.1), gate_gradients=lambda: 0)
    for name in ("GradientDescent", "Adagrad", "Adam"):
        yield name + " of embeddings", lambda name=name: getattr(train, name + "Optimizer")(0.1).minimize(
            tf.reduce_mean(tf.nn.embedding_lookup(tf.get_variable("w", [30, 2]), tf.placeholder(tf.int32, [None]))))
        yield name + " of embeddings in a resource", lambda name=name: getattr(train, name + "Optimizer")(0.1).minimize(
            tf.reduce_mean(tf.nn.embedding_lookup(tf.get_variable("w", [30, 2], use_resource=True), tf.placeholder(tf.int32, [None]))))


def _models(tf):
    def network():
        hidden = tf.layers.dropout(tf.layers.dense(tf.placeholder(tf.float32, [None, 10]), 20, tf.nn.relu), 0.5, training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int64, [None]), tf.layers.dense(hidden, 3))
        tf.train.AdamOptimizer(1e-3).minimize(loss, tf.train.get_or_create_global_step())

    def convolutions():
        x = tf.layers.conv2d(tf.placeholder(tf.float32, [None, 28, 28, 1]), 8, 5, activation=tf.nn.relu)
        x = tf.layers.flatten(tf.layers.batch_normalization(tf.layers.max_pooling2d(x, 2, 2), training=True))
        loss = tf.losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int64, [None]), tf.layers.dense(x, 10))
        tf.train.MomentumOptimizer(1e-3, 0.9).minimize(loss)

    def softmax_regression():
        x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
        p = tf.nn.softmax(tf.matmul(x, tf.Variable(tf.zeros([784, 10]))) + tf.Variable(tf.zeros([10])))
        tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(-tf.reduce_sum(y * tf.log(p), reduction_indices=1)))

    def autoencoder():
        x = tf.placeholder(tf.float32, [None, 20])
        h = tf.layers.dense(x, 8, tf.nn.elu)
        mean, scale = tf.layers.dense(h, 2), tf.layers.dense(h, 2)
        y = tf.layers.dense(mean + tf.exp(scale * 0.5) * tf.random_normal(tf.shape(mean)), 20)
        loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=y), 1)
        loss -= 0.5 * tf.reduce_sum(1 + scale - tf.square(mean) - tf.exp(scale), 1)
        tf.train.RMSPropOptimizer(1e-3).minimize(tf.reduce_mean(loss))

    def clipped():
        x, weights, optimizer = tf.placeholder(tf.float32, [None, 3]), tf.get_variable("w", [3, 2]), tf.train.AdamOptimizer(0.1)
        grads, variables = zip(*optimizer.compute_gradients(tf.reduce_mean(tf.matmul(x, weights))))
        optimizer.apply_gradients(zip(tf.clip_by_global_norm(grads, 1.0)[0], variables))
    yield "network", network
    yield "convolutions", convolutions
    yield "softmax regression", softmax_regression
    yield "variational autoencoder", autoencoder
    yield "clipped gradients", clipped


def cases(tf, np):
    """What is differentiated, and the seed of what is made after it."""
    for family in (_expressions(tf, np), _optimizers(tf), _models(tf)):
        for name, build in family:
            yield name, lambda build=build: _after(tf, build)
