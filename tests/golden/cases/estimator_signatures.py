"""Signatures of exported canned models: methods, and the names, types and shapes of their tensors."""
import tempfile


def _columns(tf):
    column = tf.feature_column
    number, word = column.numeric_column("x"), column.categorical_column_with_vocabulary_list("c", ["a", "b"])
    crossed = column.crossed_column(["c", column.bucketized_column(number, [0.0])], 5)
    return [number, word, crossed], [number, column.embedding_column(word, 2)]


def _models(tf):
    """{name: (function of a folder, number of classes or None)}."""
    wide, deep = _columns(tf)
    estimator = tf.estimator
    return {
        "linear, 2": (lambda folder: estimator.LinearClassifier(wide, folder), 2),
        "linear, 3": (lambda folder: estimator.LinearClassifier(wide, folder, n_classes=3), 3),
        "linear": (lambda folder: estimator.LinearRegressor(wide, folder), None),
        "deep, 3": (lambda folder: estimator.DNNClassifier([3], deep, folder, n_classes=3), 3),
        "deep": (lambda folder: estimator.DNNRegressor([3], deep, folder), None),
        "combined, 2": (lambda folder: estimator.DNNLinearCombinedClassifier(folder, wide, dnn_feature_columns=deep, dnn_hidden_units=[3]), 2),
        "baseline, 3": (lambda folder: estimator.BaselineClassifier(folder, n_classes=3), 3),
        "contrib head": (lambda folder: estimator.LinearEstimator(tf.contrib.estimator.multi_class_head(3), wide, folder), 3)}


def _described(tf, tensors):
    return sorted(f"{key}: {info.name} {tf.DType(info.dtype).name} {[dim.size for dim in info.tensor_shape.dim]}" for key, info in tensors.items())


def cases(tf, np):
    def signatures(make, classes):
        labels = np.array([0, 1, (classes or 2) - 1, 1], np.int64 if classes else np.float32)

        def inputs():
            features = {"x": np.array([[0.1], [1.0], [-1.0], [2.0]], np.float32), "c": np.array([["a"], ["b"], ["a"], ["b"]])}
            return tf.data.Dataset.from_tensor_slices((features, labels)).batch(2)

        def build():
            model = make(tempfile.mkdtemp())
            model.train(inputs, steps=1)
            spec = tf.feature_column.make_parse_example_spec(_columns(tf)[0])
            folder = model.export_saved_model(tempfile.mkdtemp(), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec))
            with tf.Graph().as_default(), tf.Session() as session:
                table = tf.saved_model.loader.load(session, ["serve"], folder).signature_def
            entries = sorted(table.items())
            lines = [[name, entry.method_name, *_described(tf, entry.inputs), *_described(tf, entry.outputs)] for name, entry in entries]
            return tf.constant("\n".join(word for line in lines for word in line), name="signatures")
        return build

    for name, (make, classes) in _models(tf).items():
        yield name, signatures(make, classes)

    def names_of_linear_models():
        features = {"x": tf.zeros([2, 1]), "c": tf.constant([["a"], ["b"]])}
        wide, _ = _columns(tf)
        tensors = [tf.feature_column.linear_model(features, wide[:2]), tf.feature_column.linear_model(features, wide[:1])]
        with tf.variable_scope("outer"):
            tensors.append(tf.feature_column.linear_model(features, wide[:1]))
        return tf.constant([tensor.name for tensor in tensors], name="names")
    yield "names of linear models", names_of_linear_models

    def names_of_their_weights():
        features = {"x": tf.zeros([2, 1]), "c": tf.constant([["a"], ["b"]])}
        wide, _ = _columns(tf)
        tf.layers.dense(tf.ones([1, 2]), 2, name="x")
        for _ in range(2):
            tf.feature_column.linear_model(features, wide[:2])
        for reuse in (False, True):
            with tf.variable_scope("outer", reuse=reuse):
                tf.feature_column.linear_model(features, wide[:1])
        return tf.constant([variable.name for variable in tf.global_variables()], name="names")
    yield "names of the weights of linear models", names_of_their_weights
