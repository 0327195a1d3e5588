"""tf.estimator: names of variables, weights after some steps, metrics, predictions and signatures of canned models."""
import shutil
import tempfile


def _data(np):
    rows = np.arange(12)
    features = {"x": np.sin(rows * 1.7).astype(np.float32), "word": np.array(["a", "b", "c", "d"] * 3), "w": (1.0 + rows % 3).astype(np.float32)}
    return features, rows


def _columns(tf):
    fc = tf.feature_column
    return [fc.numeric_column("x"), fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c", "d"])]


def _deep(tf):
    fc = tf.feature_column
    return [fc.numeric_column("x"), fc.embedding_column(_columns(tf)[1], 2)]


def _report(tf, np, make, labels, values=True):
    """Trains four steps; tensors with what can be compared of a model."""
    folder = tempfile.mkdtemp()
    try:
        features, _ = _data(np)
        batches = tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=6, num_epochs=None, shuffle=False)
        once = tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=5, num_epochs=1, shuffle=False)
        model = make(folder)
        model.train(batches, steps=4)
        metrics, predictions = model.evaluate(once), list(model.predict(once))
        names = sorted(model.get_variable_names())
        text = tf.constant(names + [str(np.shape(model.get_variable_value(name))) for name in names] + sorted(metrics) + sorted(predictions[0]))
        if not values:
            return tf.identity(text, name="output")
        numbers = [model.get_variable_value(name) for name in names]
        numbers += [metrics[name] for name in sorted(metrics)] + [np.array([each[key] for each in predictions]) for key in sorted(predictions[0])]
        return [tf.identity(tf.constant(each), name="output") for each in numbers] + [tf.identity(text, name="output")]
    finally:
        shutil.rmtree(folder)


def cases(tf, np):
    """Linear models and baselines start at zero, so that all numbers can be compared; of networks the names are."""
    estimator = tf.estimator
    features, rows = _data(np)
    binary, many, real = (rows % 2).astype(np.int32), rows % 3, (2.0 * features["x"] + 1.0).astype(np.float32)
    text = np.array(["no", "yes"])[binary]

    def linear(labels, **options):
        return lambda: _report(tf, np, lambda folder: estimator.LinearClassifier(_columns(tf), folder, **options), labels)

    yield "linear binary", linear(binary)
    yield "linear classes", linear(many, n_classes=3)
    yield "linear weights", linear(binary, weight_column="w", loss_reduction="weighted_mean")
    yield "linear vocabulary", linear(text, label_vocabulary=["no", "yes"])
    yield "linear regressor", lambda: _report(tf, np, lambda folder: estimator.LinearRegressor(_columns(tf), folder), real)
    yield "baseline binary", lambda: _report(tf, np, lambda folder: estimator.BaselineClassifier(folder), binary)
    yield "baseline regressor", lambda: _report(tf, np, lambda folder: estimator.BaselineRegressor(folder), real)
    yield "dnn", lambda: _report(
        tf, np, lambda folder: estimator.DNNClassifier([3, 2], _deep(tf), folder, batch_norm=True, dropout=0.5), binary, False)
    yield "dnn regressor", lambda: _report(tf, np, lambda folder: estimator.DNNRegressor([3], _deep(tf), folder, optimizer="Adam"), real, False)
    yield "combined", lambda: _report(tf, np, lambda folder: estimator.DNNLinearCombinedClassifier(
        folder, linear_feature_columns=_columns(tf), dnn_feature_columns=_deep(tf), dnn_hidden_units=[4], n_classes=3), many, False)
    yield "labels out of range", linear(binary + 1)
