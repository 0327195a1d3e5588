"""tf.contrib.metrics: values and updates over two batches, names of variables and ops, collections."""


def _calls(tf, np):
    """(name, function of labels, predictions, and the arguments that all metrics take, labels, predictions)."""
    metrics = tf.contrib.metrics
    floats = np.cos(np.arange(6) * 0.9).astype(np.float32).reshape(3, 2)
    truth = np.sin(np.arange(6) * 1.7).astype(np.float32).reshape(3, 2)
    chances, yes = np.abs(floats), truth > 0.1
    classes, guesses = np.array([0, 2, 1, 1, 0, 2]), np.array([0, 1, 1, 2, 0, 2])
    scores = np.cos(np.arange(12) * 1.3).astype(np.float32).reshape(3, 4)
    levels, sets = [0.2, 0.5, 0.9], np.array([[0, 2], [1, 3], [3, -1]])
    calls = [
        ("streaming_mean", lambda y, p, **m: metrics.streaming_mean(p, **m), truth, floats),
        ("streaming_mean_tensor", lambda y, p, **m: metrics.streaming_mean_tensor(p, **m), truth, floats),
        ("streaming_percentage_less", lambda y, p, **m: metrics.streaming_percentage_less(p, 0.1, **m), truth, floats),
        ("streaming_mean_relative_error", lambda y, p, **m: metrics.streaming_mean_relative_error(p, y, tf.nn.relu(p), **m), truth, floats),
        ("count", lambda y, p, **m: metrics.count(p, **m), truth, floats),
        ("cohen_kappa", lambda y, p, **m: metrics.cohen_kappa(y, p, 3, **m), classes, guesses),
        ("f1_score", lambda y, p, **m: metrics.f1_score(y, p, num_thresholds=9, **m), yes, chances),
        ("recall_at_precision", lambda y, p, **m: metrics.recall_at_precision(y, p, 0.6, num_thresholds=9, **m), yes, chances),
        ("precision_at_recall", lambda y, p, **m: metrics.precision_at_recall(y, p, 0.6, num_thresholds=9, **m), yes, chances),
        ("streaming_mean_iou", lambda y, p, **m: metrics.streaming_mean_iou(p, y, 3, **m), classes, guesses),
        ("streaming_auc", lambda y, p, **m: metrics.streaming_auc(p, y, num_thresholds=9, **m), yes, chances),
        ("streaming_sensitivity_at_specificity",
         lambda y, p, **m: metrics.streaming_sensitivity_at_specificity(p, y, 0.6, num_thresholds=9, **m), yes, chances),
        ("streaming_specificity_at_sensitivity",
         lambda y, p, **m: metrics.streaming_specificity_at_sensitivity(p, y, 0.6, num_thresholds=9, **m), yes, chances),
        ("streaming_recall_at_k", lambda y, p, **m: metrics.streaming_recall_at_k(p, y, 2, **m), np.array([0, 1, 3]), scores),
        ("streaming_sparse_recall_at_k", lambda y, p, **m: metrics.streaming_sparse_recall_at_k(p, y, 2, class_id=3, **m), sets, scores),
        ("streaming_sparse_precision_at_k", lambda y, p, **m: metrics.streaming_sparse_precision_at_k(p, y, 2, **m), sets, scores),
        ("streaming_sparse_average_precision_at_k",
         lambda y, p, **m: metrics.streaming_sparse_average_precision_at_k(p, y, 3, **m), sets, scores),
    ]
    tops = np.array([[0, 1], [2, 3], [3, 1]])
    calls.append(("sparse_recall_at_top_k", metrics.sparse_recall_at_top_k, sets, tops))
    for name in ("streaming_sparse_precision_at_top_k", "streaming_sparse_average_precision_at_top_k"):
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(p, y, **m), sets, tops))
    for name in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "covariance", "pearson_correlation"):
        calls.append(("streaming_" + name, lambda y, p, f=getattr(metrics, "streaming_" + name), **m: f(p, y, **m), truth, floats))
    for name in ("true_positives", "true_negatives", "false_positives", "false_negatives", "precision", "recall", "false_positive_rate",
                 "false_negative_rate"):
        calls.append(("streaming_" + name, lambda y, p, f=getattr(metrics, "streaming_" + name), **m: f(p, y, **m), yes, chances > 0.4))
    for name in ("precision", "recall", "false_positive_rate", "false_negative_rate"):
        name = "streaming_" + name + "_at_thresholds"
        calls.append((name, lambda y, p, f=getattr(metrics, name), **m: f(p, y, levels, **m), yes, chances))
    calls.append(("streaming_accuracy", lambda y, p, **m: metrics.streaming_accuracy(p, y, **m), classes, guesses))
    return calls


def _weights(np, name, predictions):
    count = predictions.shape[0] if "_k" in name else predictions.size
    weights = (np.arange(count) % 3 * 0.5 + 0.25).astype(np.float32)
    return weights if "_k" in name else weights.reshape(predictions.shape)


def _stream(tf, np, call, labels, predictions, collections=True, **more):
    """The value after no, one and two batches, what the updates returned, and all names."""
    if "weights" in more:
        more["weights"] = tf.constant(more["weights"])
    if collections:
        more.update(metrics_collections="values", updates_collections=["updates"])
    value, update = call(tf.constant(labels), tf.constant(predictions), **more)
    names = [element.name for element in (value if isinstance(value, tuple) else [value])] + [update.name]
    for key in ("updates", "local_variables", "metric_variables", "variables"):
        names += [key] + [element.name for element in tf.get_collection(key)]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        results = []
        for _ in range(3):
            results += [sess.run(value), sess.run(update)]
        results.append(sess.run(value))
    flat = [np.asarray(each) for result in results if result is not None for each in (result if isinstance(result, tuple) else [result])]
    names += ["{} {}".format(each.dtype, list(each.shape)) for each in flat]
    return [tf.constant(names, name="names"), tf.constant(np.concatenate([each.ravel().astype(np.float32) for each in flat]), name="results")]


def streams(tf, np):
    def case(call, labels, predictions, **more):
        return lambda: _stream(tf, np, call, labels, predictions, **more)

    metrics = tf.contrib.metrics
    for name, call, labels, predictions in _calls(tf, np):
        yield name, case(call, labels, predictions)
        yield name + " weights", case(call, labels, predictions, weights=_weights(np, name, predictions), name="mine")
    chances, yes = np.array([0.1, 0.8, 0.3, 0.8, 0.45], np.float32), np.array([False, True, True, False, True])
    for kind in ("true_positives", "true_negatives", "false_positives", "false_negatives"):
        name = "streaming_" + kind + "_at_thresholds"
        yield name, case(lambda y, p, f=getattr(metrics, name), **m: f(p, y, [0.2, 0.5], **m), yes, chances, collections=False)
    for curve in ("ROC", "PR"):
        yield "streaming_curve_points " + curve, case(
            lambda y, p, c=curve, **m: metrics.streaming_curve_points(y, p, num_thresholds=5, curve=c, **m), yes, chances)
        yield "streaming_dynamic_auc " + curve, case(
            lambda y, p, c=curve, **m: metrics.streaming_dynamic_auc(y, p, curve=c, **m), yes.astype(np.int64), chances)
        yield "streaming_dynamic_auc weights " + curve, case(
            lambda y, p, c=curve, **m: metrics.streaming_dynamic_auc(y, p, curve=c, **m), yes.astype(np.int64), chances,
            weights=np.array([0.5, 1.0, 0.25, 2.0, 1.0]))
    for logit in (True, False):
        yield "auc_with_confidence_intervals {}".format(logit), case(
            lambda y, p, f=logit, **m: metrics.auc_with_confidence_intervals(y, p, logit_transformation=f, **m), yes.astype(np.int64), chances,
            collections=False)
    yield "precision_recall_at_equal_thresholds", case(
        lambda y, p, **m: metrics.precision_recall_at_equal_thresholds(y, p, num_thresholds=6, **m), yes, chances, collections=False)
    yield "auc_using_histogram", case(
        lambda y, p, **m: metrics.auc_using_histogram(y, p, [0.0, 1.0], nbins=7, **m), yes, chances, collections=False)
    yield "recall_at_precision strict", case(
        lambda y, p, **m: metrics.recall_at_precision(y, p, 0.55, num_thresholds=9, strict_mode=True, **m), yes, chances)
    yield "streaming_concat", case(lambda y, p, **m: metrics.streaming_concat(p, **m), yes, chances)
    yield "streaming_concat axis", case(lambda y, p, **m: metrics.streaming_concat(p, axis=-1, max_size=3, **m), yes, chances.reshape(5, 1))


def others(tf, np):
    metrics = tf.contrib.metrics

    def pairs():
        values, updates = metrics.aggregate_metrics((tf.constant(1), tf.constant(2)), (tf.constant(3), tf.constant(4)))
        by_name = metrics.aggregate_metric_map({"a": (tf.constant(1), tf.constant(2)), "b": (tf.constant(3), tf.constant(4))})
        return [values, updates, by_name]
    yield "aggregate", pairs
    yield "aggregate nothing", lambda: metrics.aggregate_metrics()
    labels, predictions = np.array([0, 1, 2, 1]), np.array([0, 2, 2, 1])
    yield "accuracy", lambda: metrics.accuracy(tf.constant(predictions), tf.constant(labels))
    yield "accuracy weights", lambda: metrics.accuracy(tf.constant(predictions), tf.constant(labels), weights=[1.0, 0.5, 0.0, 2.0])
    yield "accuracy of floats", lambda: metrics.accuracy(tf.constant([1.0]), tf.constant([1.0]))
    yield "accuracy of two types", lambda: metrics.accuracy(tf.constant([1.0]), tf.constant([1]))
    yield "kappa of one class", lambda: metrics.cohen_kappa(tf.constant([0]), tf.constant([0]), 1)
    yield "curve unknown", lambda: metrics.streaming_curve_points(tf.constant([True]), tf.constant([0.5]), curve="X")
    yield "concat of unknown extents", lambda: metrics.streaming_concat(tf.placeholder(tf.float32, [None, None]))


def cases(tf, np):
    for family in (streams, others):
        yield from family(tf, np)
