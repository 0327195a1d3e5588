"""Canned estimators with a seed alone: their first weights, and so the weights, losses and metrics after some steps, are TensorFlow's."""
import shutil
import tempfile


def _data(np):
    rows = np.arange(12)
    return {"x": np.sin(rows * 1.7).astype(np.float32), "word": np.array(["a", "b", "c", "d"] * 3)}, rows


def _columns(tf):
    fc = tf.feature_column
    word = fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c", "d"])
    hashed = fc.embedding_column(fc.categorical_column_with_hash_bucket("word", 10), 2)
    return {"x": [fc.numeric_column("x")], "deep": [fc.numeric_column("x"), fc.embedding_column(word, 2)], "word": [word],
            "tables": [fc.numeric_column("x"), hashed, fc.embedding_column(word, 3)], "shared": [
                fc.numeric_column("x"), fc.embedding_column(fc.categorical_column_with_vocabulary_list("word", ["d", "a"]), 3),
                *fc.shared_embedding_columns([fc.categorical_column_with_hash_bucket("word", 10)], 2)],
            "crosses": [fc.embedding_column(fc.crossed_column(["word", fc.bucketized_column(fc.numeric_column("x"), [0.0])], 9), 2),
                        fc.indicator_column(fc.crossed_column([word, "word"], 5))],
            "many": [fc.numeric_column("x"), hashed, fc.indicator_column(word), fc.bucketized_column(fc.numeric_column("x"), [0.0, 0.5])]}


def _trained(tf, np, make, labels, as_dataset):
    """What can be compared of a model after five steps."""
    features, _ = _data(np)
    folder = tempfile.mkdtemp()
    try:
        model = make(tf.estimator.RunConfig(model_dir=folder, tf_random_seed=7))
        batches = tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=6, num_epochs=None, shuffle=False)
        if as_dataset:
            def batches():
                return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(6)
        model.train(batches, steps=5)
        metrics = model.evaluate(tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=5, num_epochs=1, shuffle=False))
        numbers = [model.get_variable_value(name) for name in sorted(model.get_variable_names())] + [metrics[name] for name in sorted(metrics)]
        return [tf.identity(tf.constant(each), name="output") for each in numbers]
    finally:
        shutil.rmtree(folder)


def _first_numbers(tf, features, columns):
    """The first embeddings of an input layer, and what is drawn after it."""
    tf.set_random_seed(7)
    numbers, drawn = tf.feature_column.input_layer(features, columns), tf.random_uniform([2])
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return [tf.identity(tf.constant(each), name="output") for each in session.run([numbers, drawn])]


def cases(tf, np):
    """Networks, and networks beside linear models."""
    estimator, columns, (features, rows) = tf.estimator, _columns(tf), _data(np)
    binary, many, real = (rows % 2).astype(np.int32), rows % 3, (2.0 * features["x"] + 1.0).astype(np.float32)

    def classifier(labels, as_dataset, which, units, **options):
        return lambda: _trained(tf, np, lambda config: estimator.DNNClassifier(units, columns[which], config=config, **options), labels, as_dataset)

    def combined(kind, labels, as_dataset, linear, deep, **options):
        return lambda: _trained(tf, np, lambda config: getattr(estimator, "DNNLinearCombined" + kind)(
            linear_feature_columns=linear, dnn_feature_columns=columns[deep], dnn_hidden_units=[3], config=config, **options), labels, as_dataset)

    yield "network of arrays", classifier(binary, False, "x", [3, 2])
    yield "network of a dataset", classifier(binary, True, "x", [3, 2])
    yield "embedding", classifier(binary, True, "deep", [3, 2])
    yield "many columns", classifier(many, True, "many", [3, 2], n_classes=3)
    yield "dropout and batch norm", classifier(binary, True, "deep", [3, 2], dropout=0.5, batch_norm=True)
    yield "adam", classifier(binary, False, "deep", [4], optimizer="Adam", activation_fn=tf.nn.tanh)
    yield "regressor", lambda: _trained(tf, np, lambda config: estimator.DNNRegressor([4], columns["deep"], config=config), real, False)
    yield "two tables", classifier(binary, True, "tables", [3, 2])
    yield "a shared table", classifier(binary, True, "shared", [3])
    yield "wide and deep with two tables", combined("Classifier", binary, True, columns["word"], "tables")
    yield "input layer", lambda: _first_numbers(tf, features, columns["tables"])
    yield "input layer, ids that are checked", lambda: _first_numbers(tf, {"id": [[1], [2]], **features}, [
        tf.feature_column.embedding_column(tf.feature_column.categorical_column_with_identity("id", 5), 3)])
    yield "input layer, a shared table", lambda: _first_numbers(tf, features, columns["shared"][2:])
    yield "wide and deep", combined("Classifier", binary, True, columns["x"] + columns["word"], "deep")
    yield "wide and deep regressor", combined("Regressor", real, False, columns["word"], "x")
    yield "linear", lambda: _trained(tf, np, lambda config: estimator.LinearClassifier(columns["x"] + columns["word"], config=config), binary, True)
    yield "crosses", classifier(binary, True, "crosses", [3, 2])
    yield "wide and deep with crosses", combined("Classifier", binary, True, [tf.feature_column.crossed_column(["word", "word"], 5)], "crosses")
