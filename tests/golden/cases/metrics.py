"""tf.metrics: values and updates over two batches, names of variables and ops, collections."""


def _calls(tf, np):
    """(name, function of labels, predictions, and the arguments that all metrics take, labels, predictions)."""
    metrics = tf.metrics
    floats = np.cos(np.arange(6) * 0.9).astype(np.float32).reshape(3, 2)
    truth = np.sin(np.arange(6) * 1.7).astype(np.float32).reshape(3, 2)
    chances, yes = np.abs(floats), truth > 0.1
    classes, guesses = np.array([0, 2, 1, 1, 0, 2]), np.array([0, 1, 1, 2, 0, 2])
    scores = np.cos(np.arange(12) * 1.3).astype(np.float32).reshape(3, 4)
    levels = [0.2, 0.5, 0.9]
    calls = [
        ("mean", lambda y, p, **m: metrics.mean(p, **m), truth, floats),
        ("mean_tensor", lambda y, p, **m: metrics.mean_tensor(p, **m), truth, floats),
        ("percentage_below", lambda y, p, **m: metrics.percentage_below(p, 0.1, **m), truth, floats),
        ("mean_relative_error", lambda y, p, **m: metrics.mean_relative_error(y, p, tf.nn.relu(p), **m), truth, floats),
        ("mean_cosine_distance", lambda y, p, **m: metrics.mean_cosine_distance(y, p, 1, **m), truth, floats),
    ]
    for name in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error"):
        calls.append((name, getattr(metrics, name), truth, floats))
    for name in ("true_positives", "true_negatives", "false_positives", "false_negatives", "precision", "recall"):
        calls.append((name, getattr(metrics, name), yes, chances > 0.4))
        if name not in ("precision", "recall"):
            name += "_at_thresholds"
            calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(y, p, levels, **m), yes, chances))
    for name in ("precision_at_thresholds", "recall_at_thresholds"):
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(y, p, levels, **m), yes, chances))
    calls.append(("accuracy", metrics.accuracy, classes, guesses))
    for name in ("mean_iou", "mean_per_class_accuracy"):
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(y, p, 3, **m), classes, guesses))
    for curve in ("ROC", "PR"):
        for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
            calls.append(("auc {} {}".format(curve, method), lambda y, p, c=curve, s=method, **m: metrics.auc(
                y, p, num_thresholds=20, curve=c, summation_method=s, **m), yes, chances))
    calls.append(("auc thresholds", lambda y, p, **m: metrics.auc(y, p, thresholds=[0.7, 0.3], **m), yes, chances))
    calls.append(("sensitivity_at_specificity", lambda y, p, **m: metrics.sensitivity_at_specificity(y, p, 0.6, num_thresholds=9, **m), yes, chances))
    calls.append(("specificity_at_sensitivity", lambda y, p, **m: metrics.specificity_at_sensitivity(y, p, 0.6, num_thresholds=9, **m), yes, chances))
    sets = np.array([[0, 2], [1, 3], [3, -1]])
    for name in ("precision_at_k", "recall_at_k", "sparse_precision_at_k"):
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(y, p, 2, **m), sets, scores))
        calls.append((name + " class", lambda y, p, f=getattr(metrics, name), **m: f(y, p, 2, class_id=3, **m), sets, scores))
    for name in ("precision_at_top_k", "recall_at_top_k"):
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(y, tf.constant([[0, 1], [2, 3], [3, 1]]), **m), sets, scores))
    for name in ("average_precision_at_k", "sparse_average_precision_at_k"):
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(y, p, 3, **m), sets, scores))
    return calls


def _weights(np, name, predictions):
    """Weights that fit: per example for metrics of sets, else per element."""
    count = predictions.shape[0] if "_k" in name else predictions.size
    weights = (np.arange(count) % 3 * 0.5 + 0.25).astype(np.float32)
    if "cosine" in name:
        return weights.reshape(predictions.shape)[:, :1]
    return weights if "_k" in name else weights.reshape(predictions.shape)


def _stream(tf, np, call, labels, predictions, **more):
    """The value after no, one and two batches, what the updates returned, and all names."""
    if "weights" in more:
        more["weights"] = tf.constant(more["weights"])
    value, update = call(tf.constant(labels), tf.constant(predictions), metrics_collections="values", updates_collections=["updates"], **more)
    names = [value.name, update.name]
    for key in ("values", "updates", "local_variables", "metric_variables", "variables"):
        names += [key] + [element.name for element in tf.get_collection(key)]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        results = [sess.run(value), sess.run(update), sess.run(value), sess.run(update), sess.run(value)]
    names = tf.constant(names, name="names")
    return [names] + [tf.constant(result, name="result") for result in results]


def streams(tf, np):
    def case(call, labels, predictions, **more):
        return lambda: _stream(tf, np, call, labels, predictions, **more)

    for name, call, labels, predictions in _calls(tf, np):
        yield name, case(call, labels, predictions)
        yield name + " weights", case(call, labels, predictions, weights=_weights(np, name, predictions), name="mine")


def shapes(tf, np):
    """Axes of extent 1, and shapes that are known only when the graph runs."""
    def columns():
        value, update = tf.metrics.accuracy(tf.constant([[1], [2], [3]]), tf.constant([1, 2, 4]), weights=[[1.0], [2.0], [1.0]])
        return _run(tf, value, update)

    def unknown():
        labels = tf.placeholder_with_default(np.array([[1], [2], [3]]), None)
        weights = tf.placeholder_with_default(np.array([1.0, 2.0, 1.0], np.float32), None)
        return _run(tf, *tf.metrics.accuracy(labels, tf.constant([[1], [2], [4]], tf.int64), weights))

    def sparse_labels():
        labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], np.array([0, 2, 1, 9]), [3, 2])
        scores = tf.constant(np.cos(np.arange(12) * 1.3).reshape(3, 4))
        return [tensor for metric in (tf.metrics.recall_at_k, tf.metrics.precision_at_k, tf.metrics.average_precision_at_k)
                for tensor in _run(tf, *metric(labels, scores, 2))]

    def accuracy_of_words():
        return _run(tf, *tf.metrics.accuracy(tf.constant(["a", "b"]), tf.constant(["a", "c"])))

    yield "columns", columns
    yield "unknown shapes", unknown
    yield "sparse labels", sparse_labels
    yield "words", accuracy_of_words


def _run(tf, value, update):
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        return [tf.constant(sess.run(update), name="update"), tf.constant(sess.run(value), name="value")]


def errors(tf, np):
    metrics = tf.metrics
    for name, function in [
            ("shapes", lambda: metrics.accuracy(tf.ones([3]), tf.ones([4]))),
            ("weights", lambda: metrics.mean(tf.ones([3, 2]), tf.ones([3, 3]))),
            ("curve", lambda: metrics.auc(tf.ones([3]), tf.ones([3]), curve="X")),
            ("summation", lambda: metrics.auc(tf.ones([3]), tf.ones([3]), summation_method="X")),
            ("specificity", lambda: metrics.sensitivity_at_specificity(tf.ones([3]), tf.ones([3]), 2.0)),
            ("k", lambda: metrics.average_precision_at_k(tf.ones([3, 1], tf.int64), tf.ones([3, 4]), 0)),
            ("label rank", lambda: metrics.recall_at_k(tf.ones([], tf.int64), tf.ones([3, 4, 2]), 1)),
            ("probability", lambda: _run(tf, *metrics.auc(tf.constant([True]), tf.constant([1.5]))))]:
        yield "error: " + name, function


def cases(tf, np):
    """All of them."""
    for part in (streams, shapes, errors):
        yield from part(tf, np)
