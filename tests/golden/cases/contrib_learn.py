"""tf.contrib.learn: names and values of variables after some steps, metrics, predictions and signatures of canned models; heads; data."""
import os
import shutil
import tempfile


def _data(np):
    rows = np.arange(12)
    features = {"x": np.sin(rows * 1.7).astype(np.float32)[:, None], "word": np.array(["a", "b", "c", "d"] * 3)[:, None],
                "w": (1.0 + rows % 3).astype(np.float32)[:, None]}
    return features, rows


def _input(tf, np, labels):
    def input_fn():
        return {key: tf.constant(value.tolist() if value.dtype.kind == "U" else value) for key, value in _data(np)[0].items()}, tf.constant(labels)
    return input_fn


def _columns(tf):
    layers = tf.contrib.layers
    return [layers.real_valued_column("x"), layers.sparse_column_with_keys("word", ["a", "b", "c", "d"])]


def _deep(tf):
    layers = tf.contrib.layers
    return [layers.bucketized_column(layers.real_valued_column("x"), [-0.5, 0.0, 0.5]), layers.embedding_column(_columns(tf)[1], 2)]


def _restart(tf, np, folder):
    """Replaces what the model has learned, so that it goes on from known numbers; returns the names of its variables."""
    reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(folder))
    shapes = reader.get_variable_to_shape_map()
    weights, is_deep = ("weights", "biases", "weight", "part_0", "bias_weight"), any("hiddenlayer" in name for name in shapes)
    with tf.Graph().as_default(), tf.Session() as session:
        for number, name in enumerate(sorted(shapes)):
            value = reader.get_tensor(name)
            waves = (0.3 * np.sin(np.arange(value.size) * 1.1 + number)).reshape(value.shape).astype(np.float32)
            if value.dtype == np.float32 and name.split("/")[-1] in weights:
                value = waves
            elif value.dtype == np.float32 and value.ndim and is_deep:  # slots of optimizers, too: the first step began at random
                value = 0.1 + waves ** 2
            tf.Variable(value, name=name)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"), global_step=int(reader.get_tensor("global_step")))
    return sorted(shapes)


def _report(tf, np, make, labels, **evaluation):
    """Trains, restarts from known numbers and trains on; tensors with what can be compared of a model."""
    folder = tempfile.mkdtemp()
    try:
        input_fn = _input(tf, np, labels)
        make(folder).fit(input_fn=input_fn, steps=1)
        names = _restart(tf, np, folder)
        model = make(folder)
        model.fit(input_fn=input_fn, steps=4)
        metrics = model.evaluate(input_fn=input_fn, steps=2, **evaluation)
        predictions = list(tf.contrib.learn.Estimator.predict(model, input_fn=input_fn))
        texts = names + [str(np.shape(model.get_variable_value(name))) for name in names] + sorted(metrics) + sorted(map(str, predictions[0]))
        found = [model.get_variable_value(name) for name in names] + [metrics[name] for name in sorted(metrics)]
        found += [np.array([each[key] for each in predictions]) for key in sorted(predictions[0])]
        return [tf.identity(tf.constant(each), name="output") for each in found + [texts]]
    finally:
        shutil.rmtree(folder)


def _signatures(tf, np, model, labels, serving):
    folder = tempfile.mkdtemp()
    try:
        estimator = model(os.path.join(folder, "model"))
        estimator.fit(input_fn=_input(tf, np, labels), steps=1)
        path = estimator.export_savedmodel(os.path.join(folder, "export"), serving)
        with tf.Graph().as_default(), tf.Session() as session:
            definition = tf.saved_model.loader.load(session, ["serve"], path.decode())
            texts = ["%s %s %s %s" % (key, each.method_name, sorted(each.inputs), sorted(each.outputs))
                     for key, each in sorted(definition.signature_def.items())]
        return tf.identity(tf.constant(texts), name="output")
    finally:
        shutil.rmtree(folder)


def _head(tf, np, head, labels, dimension=1, mode="eval", **options):
    """What a head makes of fixed logits."""
    logits = tf.constant(np.sin(np.arange(4 * dimension)).reshape(4, dimension).astype(np.float32))
    features = {"w": tf.constant([1.0, 2.0, 0.5, 0.0])}
    ops = head.create_model_fn_ops(features, mode, labels=labels, logits=logits, train_op_fn=lambda loss: tf.no_op(), **options)
    keys, metrics = sorted(map(str, ops.predictions)), sorted(ops.eval_metric_ops)
    by_name = {str(key): value for key, value in ops.predictions.items()}
    updates = [ops.eval_metric_ops[key][1] for key in metrics]
    alternatives = ["%s %s %s" % (key, kind, sorted(outputs)) for key, (kind, outputs) in sorted((ops.output_alternatives or {}).items(), key=str)]
    tensors = [by_name[key] for key in keys] + updates + ([] if ops.loss is None else [ops.loss])
    return [tf.identity(each, name="output") for each in tensors + [tf.constant(["-"] + keys + metrics + alternatives)]]


def cases(tf, np):
    """Canned models, estimators with model functions of their own, heads, preprocessing."""
    learn, layers = tf.contrib.learn, tf.contrib.layers
    features, rows = _data(np)
    binary, many, real = (rows % 2).astype(np.int32)[:, None], (rows % 3)[:, None], (2.0 * features["x"] + 1.0).astype(np.float32)
    text = np.array(["no", "yes", "so"])[rows % 3][:, None].tolist()

    def linear(labels, **options):
        return lambda: _report(tf, np, lambda folder: learn.LinearClassifier(_columns(tf), folder, **options), labels)

    yield "linear binary", linear(binary)
    yield "linear classes", linear(many, n_classes=3)
    yield "linear weights", linear(binary, weight_column_name="w")
    yield "linear centered bias", linear(binary, enable_centered_bias=True, weight_column_name="w")
    yield "linear names", linear(text, n_classes=3, label_keys=["no", "yes", "so"])
    yield "linear clipped", linear(binary, optimizer=tf.train.GradientDescentOptimizer(0.3), gradient_clip_norm=0.1)
    yield "linear joint", lambda: _report(tf, np, lambda folder: learn.LinearClassifier(
        _columns(tf)[1:] + [layers.sparse_column_with_hash_bucket("word", 5)], folder, _joint_weight=True), binary)
    yield "linear core columns", lambda: _report(tf, np, lambda folder: learn.LinearClassifier(
        [tf.feature_column.numeric_column("x"), tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])], folder), binary)
    yield "linear regressor", lambda: _report(tf, np, lambda folder: learn.LinearRegressor(_columns(tf), folder), real)
    yield "linear poisson", lambda: _report(tf, np, lambda folder: learn.LinearEstimator(
        _columns(tf), learn.poisson_regression_head(), folder), np.abs(real))
    yield "linear svm", lambda: _report(tf, np, lambda folder: learn.LinearEstimator(_columns(tf), learn.binary_svm_head(), folder), binary)

    kernels = tf.contrib.kernel_methods
    for name, classes, labels, columns in (("binary", 2, binary, True), ("classes", 3, many, False)):
        yield "kernels " + name, lambda classes=classes, labels=labels, columns=columns: _report(
            tf, np, lambda folder: kernels.KernelLinearClassifier(
                _columns(tf) if columns else None, folder, classes, weight_column_name="w",
                kernel_mappers={layers.real_valued_column("x"): [kernels.RandomFourierFeatureMapper(1, 3, 2.0, seed) for seed in (1, 2)]}), labels)
    yield "kernels without columns", lambda: kernels.KernelLinearClassifier()
    yield "kernels of what maps nothing", lambda: kernels.KernelLinearClassifier(kernel_mappers={layers.real_valued_column("x"): [abs]})
    yield "kernels of one class", lambda: kernels.KernelLinearClassifier(_columns(tf), n_classes=1)

    yield "dnn rates", lambda: _report(tf, np, lambda folder: learn.DNNClassifier(
        [3], _deep(tf)[:1] + [_embedding], folder, embedding_lr_multipliers={_embedding: 0.5}, optimizer="SGD"), binary)
    _embedding = _deep(tf)[1]
    yield "dnn adagrad", lambda: _report(tf, np, lambda folder: learn.DNNClassifier([3], _deep(tf), folder), binary)
    yield "dnn adam", lambda: _report(tf, np, lambda folder: learn.DNNRegressor([3], _deep(tf), folder, optimizer="Adam"), real)

    def with_metrics():
        spec = learn.MetricSpec
        metrics = {"mine": spec(tf.contrib.metrics.streaming_accuracy, prediction_key="classes"), "accuracy": spec(
            tf.metrics.mean_squared_error, prediction_key="logistic", weight_key="w"), ("old", "classes"): tf.contrib.metrics.streaming_precision}
        return _report(tf, np, lambda folder: learn.LinearClassifier(_columns(tf), folder), binary, metrics=metrics)
    yield "custom metrics", with_metrics

    def arrays(labels, batch_size, **options):
        def run():
            folder = tempfile.mkdtemp()
            try:
                x = np.concatenate([features["x"], features["w"]], 1)
                columns = learn.infer_real_valued_columns_from_input(x)
                model = learn.LinearClassifier(columns, folder, **options)
                model.fit(x, labels, batch_size=batch_size, steps=7)
                names = sorted(model.get_variable_names())
                values = [model.get_variable_value(name) for name in names]
                score = model.evaluate(x, labels, batch_size=5)
                classes, probabilities = list(model.predict(x, batch_size=5)), model.predict_proba(x, as_iterable=False)
                return [tf.identity(tf.constant(each), name="output") for each in
                        values + [score["loss"], score["accuracy"], classes, probabilities, names]]
            finally:
                shutil.rmtree(folder)
        return run
    yield "arrays", arrays(binary, 5)
    yield "flat labels", arrays(binary[:, 0], None)
    yield "arrays classes", arrays(many[:, 0], 4, n_classes=3)

    def model_fn(features, targets, mode, params):
        logits = layers.fully_connected(features["x"], 1, activation_fn=None, weights_initializer=tf.constant_initializer(0.2))
        loss = tf.losses.mean_squared_error(targets, logits)
        return {"y": logits}, loss, layers.optimize_loss(loss, tf.train.get_global_step(), params["rate"], "SGD")

    yield "model function", lambda: _report(tf, np, lambda folder: learn.Estimator(model_fn, folder, params={"rate": 0.1}), real)
    yield "engineered", lambda: _report(tf, np, lambda folder: learn.Estimator(
        model_fn, folder, params={"rate": 0.1}, feature_engineering_fn=lambda features, labels: ({"x": features["x"] * 2.0}, labels)), real)

    parsing = learn.build_parsing_serving_input_fn({"x": tf.FixedLenFeature([1], tf.float32), "word": tf.VarLenFeature(tf.string)})

    def raw():
        x, word = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.string, [None, 1])
        return learn.InputFnOps({"x": x, "word": word}, None, {"x": x, "word": word})
    yield "signatures of classes", lambda: _signatures(tf, np, lambda folder: learn.LinearClassifier(
        _columns(tf), folder, n_classes=3), many, parsing)
    yield "signatures of numbers", lambda: _signatures(tf, np, lambda folder: learn.DNNRegressor([2], _deep(tf), folder), real, parsing)
    yield "raw signatures", lambda: _signatures(tf, np, lambda folder: learn.LinearClassifier(_columns(tf), folder), binary, raw)

    def passing(features, labels, mode):
        loss = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        return learn.ModelFnOps(mode, {"a": features["x"]}, loss, tf.assign_add(tf.train.get_global_step(), 1))
    yield "signatures of a model function", lambda: _signatures(tf, np, lambda folder: learn.Estimator(passing, folder), real, parsing)

    ones, classes, flags = tf.constant, [[0], [2], [1], [1]], [[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]]
    yield "head binary", lambda: _head(tf, np, learn.multi_class_head(2, thresholds=[0.3, 0.6]), ones([[0], [1], [1], [0]]))
    yield "head binary weighted", lambda: _head(
        tf, np, learn.multi_class_head(2, weight_column_name="w", head_name="h"), {"l": ones([0, 1, 1, 0])}["l"])
    yield "head of named labels", lambda: _head(tf, np, learn.multi_class_head(2, label_name="l"), {"l": ones([0, 1, 1, 0]), "m": ones([0])})
    yield "head classes", lambda: _head(tf, np, learn.multi_class_head(3, metric_class_ids=[0, 2], weight_column_name="w"), ones(classes), 3)
    yield "head names", lambda: _head(tf, np, learn.multi_class_head(3, label_keys=["x", "y", "z"]), ones([["x"], ["z"], ["y"], ["y"]]), 3)
    yield "head own loss", lambda: _head(tf, np, learn.multi_class_head(
        3, loss_fn=lambda labels, logits, weights=1.0: tf.losses.sparse_softmax_cross_entropy(labels, logits, weights) * 2.0), ones(classes), 3)
    yield "head labels", lambda: _head(tf, np, learn.multi_label_head(3, metric_class_ids=[1], weight_column_name="w"), ones(flags, tf.int64), 3)
    yield "head sparse labels", lambda: _head(tf, np, learn.multi_label_head(3), tf.SparseTensor(
        [[0, 0], [1, 0], [1, 1], [3, 0]], tf.constant([2, 0, 1, 1], tf.int64), [4, 2]), 3)
    yield "head svm", lambda: _head(tf, np, learn.binary_svm_head(weight_column_name="w"), ones([[0], [1], [1], [0]]))
    yield "head regression", lambda: _head(tf, np, learn.regression_head(weight_column_name="w"), ones([[0.5], [1.0], [-1.0], [2.0]]))
    yield "head link", lambda: _head(tf, np, learn.regression_head(label_dimension=2, link_fn=tf.sigmoid), ones([[0.5, 1]] * 4), 2)
    yield "head poisson", lambda: _head(tf, np, learn.poisson_regression_head(), ones([[0.5], [1.0], [3.0], [2.0]]))
    yield "head infer", lambda: _head(tf, np, learn.multi_class_head(3), None, 3, "infer")
    yield "head train", lambda: _head(tf, np, learn.regression_head(), ones([[0.5], [1.0], [3.0], [2.0]]), 1, "train")

    def heads(mode, weights=None):
        several = learn.multi_head([learn.multi_class_head(3, label_name="a", head_name="a"), learn.regression_head(
            label_name="b", head_name="b")], weights)
        return lambda: _head(tf, np, several, {"a": ones(classes), "b": ones([[0.5], [1.0], [3.0], [2.0]])}, 4, mode)
    yield "heads eval", heads("eval", [0.5, 2.0])
    yield "heads infer", heads("infer")

    documents = ["Cats and DOGs: it's well-known", "dogs, and cats; and BIRDs!", "", "Zebra"]

    def vocabulary():
        process = learn.preprocessing.VocabularyProcessor(6)
        first = np.array(list(process.fit_transform(documents)))
        second = np.array(list(process.transform(["and unknown cats Cats well known"])))
        rare = np.array(list(learn.preprocessing.VocabularyProcessor(4, min_frequency=1).fit_transform(documents)))
        return [tf.identity(tf.constant(each), name="output") for each in (first, second, rare, len(process.vocabulary_),
                                                                            list(process.reverse(second)))]
    yield "vocabulary", vocabulary

    def frequencies():
        words = learn.preprocessing.CategoricalVocabulary()
        for word in ["b", "a", "c", "a", "b", "a", "d"]:
            words.add(word)
        words.add("b", count=5)
        words.trim(1, max_frequency=7)
        found = [words.get(word) for word in "abcde"]
        words.freeze()
        back = [words.reverse(number) for number in (0, 1, 2)]
        return [tf.identity(tf.constant(each), name="output") for each in (found, [words.get("z"), len(words)], back)]
    yield "frequencies", frequencies

    def categories():
        table = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["c", "x"]])
        made = [np.array(list(learn.preprocessing.CategoricalProcessor(**options).fit_transform(table)))
                for options in ({}, {"min_frequency": 1}, {"share": True})]
        return [tf.identity(tf.constant(each), name="output") for each in made]
    yield "categories", categories

    def codes():
        made = np.array(list(learn.preprocessing.ByteProcessor(7).transform(["abc", "\xfcber alles", b"xy"])))
        back = list(learn.preprocessing.ByteProcessor(7).reverse(made.astype(np.int8)))
        return [tf.identity(tf.constant(each), name="output") for each in (made, back)]
    yield "codes", codes

    for name, function in sorted({
            "no model": lambda: learn.LinearClassifier(_columns(tf), tempfile.mkdtemp()).evaluate(input_fn=_input(tf, np, binary), steps=1),
            "no input": lambda: learn.LinearClassifier(_columns(tf), tempfile.mkdtemp()).fit(steps=1),
            "both inputs": lambda: learn.LinearClassifier(_columns(tf)).fit(x=features["x"], input_fn=_input(tf, np, binary), steps=1),
            "both steps": lambda: learn.LinearClassifier(_columns(tf)).fit(input_fn=_input(tf, np, binary), steps=1, max_steps=1),
            "tensors": lambda: learn.LinearClassifier(_columns(tf)).fit(tf.zeros([3, 1]), tf.zeros([3]), steps=1),
            "params": lambda: learn.Estimator(lambda features, labels: None, params={"a": 1}),
            "results": lambda: learn.Estimator(lambda features, labels: (1, 2)).fit(input_fn=_input(tf, np, binary), steps=1),
            "one class": lambda: learn.LinearClassifier(_columns(tf), n_classes=1),
            "activation": lambda: learn.DNNClassifier([2], _deep(tf), activation_fn="wave").fit(input_fn=_input(tf, np, binary), steps=1),
            "missing weights": lambda: learn.LinearClassifier(_columns(tf), weight_column_name="z").fit(input_fn=_input(tf, np, binary), steps=1),
            "no columns": lambda: learn.DNNLinearCombinedClassifier(dnn_hidden_units=[3]),
            "no units": lambda: learn.DNNLinearCombinedClassifier(dnn_feature_columns=_deep(tf)).fit(input_fn=_input(tf, np, binary), steps=1),
            "no train op": lambda: learn.ModelFnOps("train", loss=tf.constant(1.0)),
            "no loss": lambda: learn.ModelFnOps("eval", predictions=tf.constant(1.0)),
            "no predictions": lambda: learn.ModelFnOps("infer"),
            "vector loss": lambda: learn.ModelFnOps("eval", predictions=tf.constant(1.0), loss=tf.constant([1.0, 2.0])),
            "mode": lambda: learn.ModelFnOps("predict", predictions=tf.constant(1.0)),
            "hooks": lambda: learn.ModelFnOps("infer", predictions=tf.constant(1.0), training_hooks=[3]),
            "float classes": lambda: _head(tf, np, learn.multi_class_head(3), tf.constant([[0.5]] * 4), 3),
            "head mode": lambda: _head(tf, np, learn.regression_head(), tf.constant([[0.5]] * 4), 1, "predict"),
            "class ids": lambda: learn.multi_class_head(3, metric_class_ids=[3]),
            "binary class ids": lambda: learn.multi_class_head(2, metric_class_ids=[1]),
            "loss arguments": lambda: learn.multi_class_head(3, loss_fn=lambda a, b: a),
            "heads without names": lambda: learn.multi_head([learn.regression_head()]),
            "metric without labels": lambda: learn.MetricSpec(lambda predictions: predictions, label_key="a"),
            "metric of many": lambda: learn.MetricSpec(tf.metrics.mean_squared_error).create_metric_ops({}, tf.zeros([2]), {"a": 1, "b": 2}),
            "monitor without input": lambda: learn.monitors.ValidationMonitor(every_n_steps=1),
            "stop without steps": lambda: learn.monitors.StopAtStep(),
            "experiment of text": lambda: learn.Experiment("a", None, None),
            "runner without folder": lambda: learn.learn_runner.run(lambda output_dir: None),
            "runner without experiment": lambda: learn.learn_runner.run(lambda output_dir: None, output_dir="x"),
    }.items()):
        yield "error: " + name, function
