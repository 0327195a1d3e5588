"""Heads and tf.contrib.estimator: losses, metrics, predictions and signatures of each head, alone and under canned models; recurrent estimators."""
import shutil
import tempfile
import warnings

LOGITS = [[0.5], [-1.0], [2.0], [0.1]]
WIDE = [[0.5, -1.0, 0.2], [1.5, 0.3, -0.7], [-0.2, 0.0, 0.4], [3.0, -2.0, 1.0]]


def _heads(tf, np):
    """{name: (head, logits, labels)}."""
    heads = tf.contrib.estimator
    labels = {"two": [[1], [0], [1], [1]], "three": [[0], [2], [1], [0]], "numbers": [[1.5], [-1.0], [0.0], [2.0]],
              "counts": [[1.0], [0.0], [3.0], [2.0]], "share": [[0.5], [0.0], [1.0], [0.25]]}
    several = [[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]]
    words = ["a", "b", "c"]
    scaled = lambda labels, logits: tf.abs(labels - logits) * 2.0
    return {
        "binary": (heads.binary_classification_head(thresholds=[0.3, 0.75]), LOGITS, labels["two"]),
        "binary weights": (heads.binary_classification_head("w", loss_reduction=tf.losses.Reduction.SUM), LOGITS, labels["two"]),
        "binary words": (heads.binary_classification_head(label_vocabulary=["no", "yes"], name="named"), LOGITS, [["yes"], ["no"], ["yes"], ["yes"]]),
        "binary own loss": (heads.binary_classification_head(loss_fn=scaled), LOGITS, labels["two"]),
        "multi class": (heads.multi_class_head(3, weight_column="w"), WIDE, labels["three"]),
        "multi class words": (heads.multi_class_head(3, label_vocabulary=words, name="named"), WIDE, [["a"], ["c"], ["b"], ["a"]]),
        "multi label": (heads.multi_label_head(3, "w", thresholds=[0.5], classes_for_class_based_metrics=[0, 2]), WIDE, several),
        "multi label sparse": (heads.multi_label_head(3), WIDE, tf.SparseTensor([[0, 0], [2, 1], [3, 0]], [2, 0, 1], [4, 2])),
        "multi label words": (heads.multi_label_head(3, label_vocabulary=words, classes_for_class_based_metrics=["b"]), WIDE,
                              tf.SparseTensor([[0, 0], [2, 1], [3, 0]], ["c", "a", "b"], [4, 2])),
        "regression": (heads.regression_head("w"), LOGITS, labels["numbers"]),
        "regression of three": (heads.regression_head(label_dimension=3, name="named"), WIDE, np.array(several, np.float32)),
        "regression with link": (heads.regression_head(inverse_link_fn=lambda x: 2.0 * x, loss_fn=scaled), LOGITS, labels["numbers"]),
        "poisson": (heads.poisson_regression_head(), LOGITS, labels["counts"]),
        "poisson short": (heads.poisson_regression_head(compute_full_loss=False), LOGITS, labels["counts"]),
        "logistic": (heads.logistic_regression_head(), LOGITS, labels["share"]),
        "several": (heads.multi_head([heads.multi_class_head(3, name="classes"), heads.regression_head("w", name="number")], [1.0, 2.0]),
                    [row + [number[0]] for row, number in zip(WIDE, LOGITS)],
                    {"classes": labels["three"], "number": labels["numbers"]}),
    }


def _tensors(values):
    return [values[key] for key in sorted(values, key=str)]


def _signatures(outputs):
    described = []
    for key in sorted(outputs):
        output = outputs[key]
        inner = getattr(output, "outputs", None)
        described.append("%s %s %s" % (key, type(output).__name__, "" if inner is None else sorted(map(str, inner))))
    return described


def _head_case(tf, np, name, mode):
    head, logits, labels = _heads(tf, np)[name]
    features = {"x": tf.constant([[42.0]] * 4), "w": tf.constant([[1.0], [2.0], [0.5], [3.0]])}
    if not isinstance(labels, (dict, tf.SparseTensor)):
        labels = tf.constant(labels)
    elif isinstance(labels, dict):
        labels = {key: tf.constant(value) for key, value in labels.items()}
    tf.train.create_global_step()
    if mode == "infer":
        spec = head.create_estimator_spec(features, mode, tf.constant(logits))
        return [tf.identity(each, name="output") for each in _tensors(spec.predictions)] + [
            tf.constant(_signatures(spec.export_outputs), name="signatures")]
    if mode == "train":
        spec = head.create_estimator_spec(features, mode, tf.constant(logits), labels, train_op_fn=lambda loss: tf.assign_add(
            tf.train.get_global_step(), 1).op)
        tags = sorted(each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES))
        return [tf.identity(spec.loss, name="output"), tf.constant(tags, name="tags")]
    spec = head.create_estimator_spec(features, mode, tf.constant(logits), labels)
    metrics = spec.eval_metric_ops
    updates = [metrics[key][1] for key in sorted(metrics)]
    with tf.control_dependencies(updates):
        values = [tf.identity(spec.loss, name="output")] + [tf.identity(update, name="output") for update in updates]
    return values + [tf.constant(sorted(metrics), name="names")]


def _sequences(tf, np):
    def sparse(places, values, steps):
        return tf.SparseTensor(places, values, tf.placeholder_with_default(np.array([4, steps], np.int64), [2]))  # as parse_example gives it
    places = [[0, 0], [0, 1], [1, 0], [3, 0], [3, 1], [3, 2]]
    pairs = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [3, 0], [3, 5]]
    return {"word": sparse(places, ["a", "b", "c", "a", "a", "z"], 3), "number": sparse(places, [0.5, 1.0, -1.0, 2.0, 0.0, 3.0], 3),
            "pair": sparse(pairs, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 6), "short": sparse([[0, 0], [1, 1]], [1.0, 2.0], 3),
            "context": tf.constant([[1.0], [2.0], [3.0], [4.0]])}


def _initializer(tf, np):
    def make(shape, dtype=None, partition_info=None):
        shape = [int(extent) for extent in shape]
        return tf.constant(np.sin(np.arange(np.prod(shape)) * 1.3).reshape(shape), tf.float32)
    return make


def sequence_columns(tf, np):
    """{name: columns}."""
    columns, fc = tf.contrib.feature_column, tf.feature_column
    words = lambda **options: columns.sequence_categorical_column_with_vocabulary_list("word", ["a", "b", "c"], **options)
    return {
        "numeric": lambda: [columns.sequence_numeric_column("number")],
        "numeric pair": lambda: [columns.sequence_numeric_column("pair", shape=2, default_value=-1.0)],
        "embedding": lambda: [fc.embedding_column(words(num_oov_buckets=2), 2, initializer=_initializer(tf, np))],
        "indicator": lambda: [fc.indicator_column(words())],
        "hash": lambda: [fc.indicator_column(columns.sequence_categorical_column_with_hash_bucket("word", 5))],
        "together": lambda: [fc.indicator_column(words()), columns.sequence_numeric_column("number")],
        "lengths differ": lambda: [fc.indicator_column(words()), columns.sequence_numeric_column("short")],
        "no sequence": lambda: [fc.numeric_column("context")],
        "ids of no sequence": lambda: [fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["a"]))],
    }


def _rnn(tf, np, make, labels):
    """Names and shapes of a recurrent model, its metrics and predictions."""
    folder = tempfile.mkdtemp()
    try:
        def input_fn():
            return _sequences(tf, np), tf.constant(labels)
        model = make(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows of rows make a dense gradient
            model.train(input_fn, steps=2)
        names = sorted(model.get_variable_names())
        metrics = model.evaluate(input_fn, steps=1)
        return tf.constant(names + [str(np.shape(model.get_variable_value(name))) for name in names] + sorted(metrics), name="described")
    finally:
        shutil.rmtree(folder)


def _extended(tf, np):
    """An estimator with more metrics, features among its predictions, and clipped gradients."""
    folder = tempfile.mkdtemp()
    try:
        extend = tf.contrib.estimator
        optimizer = extend.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(0.5), 0.1)
        model = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], folder, optimizer=optimizer)
        model = extend.add_metrics(model, lambda labels, predictions: {"off": tf.metrics.mean_absolute_error(labels, predictions["predictions"])})
        model = extend.forward_features(model, "key")
        x = np.array([[1.0], [2.0], [4.0]], np.float32)
        inputs = lambda **options: tf.estimator.inputs.numpy_input_fn({"x": x, "key": np.arange(3)}, 3 * x, batch_size=3, shuffle=False, **options)
        model.train(inputs(num_epochs=None), steps=3)
        metrics, predictions = model.evaluate(inputs()), list(model.predict(inputs()))
        return [tf.constant(metrics[key], name="output") for key in sorted(metrics)] + [
            tf.constant(np.array([each["predictions"] for each in predictions]), name="output"),
            tf.constant([each["key"] for each in predictions], name="output"),
            tf.constant(sorted(metrics), name="names")]
    finally:
        shutil.rmtree(folder)


def cases(tf, np):
    """Each head in each mode; sequence columns; recurrent estimators."""
    for name in _heads(tf, np):
        for mode in ("train", "eval", "infer"):
            yield "%s %s" % (name, mode), lambda name=name, mode=mode: _head_case(tf, np, name, mode)
    for name, make in sequence_columns(tf, np).items():
        def layer(make=make):
            output, length = tf.contrib.feature_column.sequence_input_layer(_sequences(tf, np), make())
            return [tf.identity(output, name="output"), tf.identity(length, name="length"),
                    tf.constant([each.name for each in tf.global_variables()], name="n", dtype=tf.string)]
        yield "sequence " + name, layer
    fc, contrib = tf.feature_column, tf.contrib.feature_column
    embedded = lambda: fc.embedding_column(contrib.sequence_categorical_column_with_vocabulary_list("word", ["a", "b", "c"]), 2)
    yield "sequence column in an input layer", lambda: fc.input_layer(_sequences(tf, np), embedded())
    yield "rnn classifier", lambda: _rnn(tf, np, lambda folder: tf.contrib.estimator.RNNClassifier(
        [embedded(), contrib.sequence_numeric_column("number")], [fc.numeric_column("context")], [3, 2], "lstm", model_dir=folder),
        [[0], [1], [1], [0]])
    yield "rnn estimator", lambda: _rnn(tf, np, lambda folder: tf.contrib.estimator.RNNEstimator(
        tf.contrib.estimator.regression_head(), [embedded()], num_units=[4], cell_type="gru", model_dir=folder), [[0.5], [1.0], [1.0], [0.0]])
    yield "extended", lambda: _extended(tf, np)
    yield "labels of another shape", lambda: tf.contrib.estimator.multi_class_head(3).create_loss(
        {}, "train", tf.constant(WIDE), tf.constant([[1, 2]] * 4))
    yield "labels out of range", lambda: tf.contrib.estimator.multi_class_head(3).create_loss(
        {}, "train", tf.constant(WIDE), tf.constant([[1], [3], [0], [1]])).training_loss
    yield "no labels", lambda: tf.contrib.estimator.regression_head().create_loss({}, "eval", tf.constant(LOGITS), None)
    yield "threshold", lambda: tf.contrib.estimator.binary_classification_head(thresholds=[1.5])
    yield "heads without names", lambda: tf.contrib.estimator.multi_head([tf.contrib.estimator.regression_head()])
