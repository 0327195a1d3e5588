"""tf.losses: values, gradients, names, collections, weights that fit and that do not."""


def _pair(tf, np):
    predictions = tf.constant(np.cos(np.arange(12) * 0.7).reshape(4, 3) * 0.9, tf.float32)
    labels = tf.constant((np.arange(12).reshape(4, 3) * 5 % 7 < 3).astype(np.float32))
    return predictions, labels


def _reductions(tf):
    return sorted(set(tf.losses.Reduction.all()))


def _calls(tf, np):
    """(name, function of labels, predictions and further arguments)."""
    losses = tf.losses
    return [
        ("absolute_difference", losses.absolute_difference), ("mean_squared_error", losses.mean_squared_error),
        ("hinge_loss", losses.hinge_loss), ("huber_loss", losses.huber_loss), ("sigmoid_cross_entropy", losses.sigmoid_cross_entropy),
        ("softmax_cross_entropy", losses.softmax_cross_entropy),
        ("log_loss", lambda labels, predictions, **more: losses.log_loss(labels, predictions * 0.4 + 0.5, **more)),
        ("cosine_distance", lambda labels, predictions, **more: losses.cosine_distance(labels, predictions, axis=1, **more)),
    ]


def _result(tf, loss, *inputs):
    names = [loss.name] + [element.name for key in ("losses", "regularization_losses", "mine") for element in tf.get_collection(key)]
    names += [op.type + " " + op.name for op in tf.get_default_graph().get_operations()]
    gradients = [tf.identity(g, name="gradient") for g in tf.gradients(loss, list(inputs)) if g is not None]
    return [loss, tf.constant(names, name="names")] + gradients


def elementwise(tf, np):
    def case(call, **more):
        def build():
            predictions, labels = _pair(tf, np)
            return _result(tf, call(labels, predictions, **more), predictions)
        return build

    for name, call in _calls(tf, np):
        yield name, case(call)
        yield name + " scalar weight", case(call, weights=2.5, scope="mine")
        for reduction in _reductions(tf):
            yield name + " " + reduction, case(call, reduction=reduction, loss_collection="mine")
    for name, call, weights in [("mean_squared_error", tf.losses.mean_squared_error, [[1.0], [0.0], [2.0], [0.5]]),
                                ("absolute_difference", tf.losses.absolute_difference, np.arange(12).reshape(4, 3) % 4 * 0.5),
                                ("hinge_loss", tf.losses.hinge_loss, [[1.0, 0.0, 2.0]]),
                                ("huber_loss", tf.losses.huber_loss, np.zeros([4, 3])),
                                ("softmax_cross_entropy", tf.losses.softmax_cross_entropy, [1.0, 0.0, 2.0, 3.0])]:
        for reduction in _reductions(tf):
            yield "{} weights {}".format(name, reduction), case(call, weights=weights, reduction=reduction)
    yield "huber_loss delta", case(tf.losses.huber_loss, delta=0.3)
    yield "log_loss epsilon", case(lambda labels, p: tf.losses.log_loss(labels, tf.abs(p), epsilon=0.01))
    yield "sigmoid smoothing", case(tf.losses.sigmoid_cross_entropy, label_smoothing=0.2)
    yield "softmax smoothing", case(tf.losses.softmax_cross_entropy, label_smoothing=0.2)
    yield "mean_pairwise_squared_error", case(tf.losses.mean_pairwise_squared_error)
    yield "mean_pairwise_squared_error weights", case(tf.losses.mean_pairwise_squared_error, weights=[[1.0], [0.0], [2.0], [0.5]])


def sparse(tf, np):
    def case(labels, **more):
        def build():
            logits = tf.constant(np.cos(np.arange(12) * 0.7).reshape(4, 3), tf.float32)
            return _result(tf, tf.losses.sparse_softmax_cross_entropy(tf.constant(labels, tf.int64), logits, **more), logits)
        return build

    yield "sparse_softmax_cross_entropy", case([0, 2, 1, 2])
    yield "sparse_softmax_cross_entropy column", case([[0], [2], [1], [2]], weights=[[1.0], [0.0], [2.0], [3.0]])
    yield "sparse_softmax_cross_entropy vector weights", case([0, 2, 1, 2], weights=[1.0, 0.0, 2.0, 3.0])
    yield "sparse_softmax_cross_entropy mean", case([0, 2, 1, 2], weights=[1.0, 0.0, 2.0, 3.0], reduction=tf.losses.Reduction.MEAN)


def collections(tf, np):
    def total():
        predictions, labels = _pair(tf, np)
        tf.losses.mean_squared_error(labels, predictions)
        with tf.name_scope("part"):
            tf.losses.hinge_loss(labels, predictions)
        tf.losses.add_loss(tf.constant(3.0))
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.25))
        losses = tf.losses
        counts = [len(losses.get_losses()), len(losses.get_losses("part")), len(losses.get_regularization_losses())]
        return [losses.get_total_loss(), losses.get_total_loss(False, name="t"), losses.get_regularization_loss(), tf.constant(counts)]

    yield "collections", total
    yield "no regularization", lambda: tf.losses.get_regularization_loss()


def placeholders(tf, np):
    """Weights whose shape is known only when the graph runs."""
    def case(weights, shape):
        def build():
            predictions, labels = _pair(tf, np)
            given = tf.placeholder_with_default(np.array(weights, np.float32), shape)
            return tf.identity(tf.losses.mean_squared_error(labels, predictions, given), name="loss")
        return build

    yield "dynamic scalar", case(2.0, None)
    yield "dynamic column", case([[1.0], [0.0], [2.0], [0.5]], None)
    yield "dynamic same rank", case([[1.0, 0.0, 2.0]], [None, None])
    yield "error: dynamic rank", case([1.0, 0.0, 2.0], None)
    yield "error: dynamic extent", case([[1.0, 0.0]], [None, None])


def errors(tf, np):
    def case(function):
        def build():
            predictions, labels = _pair(tf, np)
            return function(predictions, labels)
        return build

    losses = tf.losses
    for name, function in [
            ("rank of weights", lambda p, y: losses.mean_squared_error(y, p, [1.0, 2.0, 3.0, 4.0])),
            ("extent of weights", lambda p, y: losses.mean_squared_error(y, p, [[1.0, 2.0]])),
            ("no labels", lambda p, y: losses.mean_squared_error(None, p)),
            ("no predictions", lambda p, y: losses.huber_loss(y, None)),
            ("no weights", lambda p, y: losses.mean_squared_error(y, p, None)),
            ("shapes", lambda p, y: losses.mean_squared_error(y[:2], p)),
            ("reduction", lambda p, y: losses.mean_squared_error(y, p, reduction="most")),
            ("axis", lambda p, y: losses.cosine_distance(y, p)),
            ("softmax weights", lambda p, y: losses.softmax_cross_entropy(y, p, [[1.0] * 3] * 4))]:
        yield "error: " + name, case(function)


def cases(tf, np):
    """All of them."""
    for part in (elementwise, sparse, collections, placeholders, errors):
        yield from part(tf, np)
