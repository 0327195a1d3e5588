"""Boosted trees: ensembles, metrics, predictions and explanations of trained models; the ops of quantiles."""
import shutil
import tempfile


def _data(np):
    rows = np.arange(60)
    x, y = np.sin(rows * 1.7).astype(np.float32), np.cos(rows * 0.9).astype(np.float32)
    features = {"x": x, "y": y, "pair": np.stack([x * y, x - y], 1), "word": np.array(["a", "b", "c"])[rows % 3],
                "w": (1.0 + rows % 4).astype(np.float32), "id": rows.astype(np.int64)}
    return features, (x + 0.5 * y + 0.4 * (rows % 3 == 1)).astype(np.float32)


def _columns(tf, kinds):
    fc = tf.feature_column
    word = fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    known = {"bucketized": [fc.bucketized_column(fc.numeric_column("x"), [-0.5, 0.0, 0.3, 0.7]),
                            fc.bucketized_column(fc.numeric_column("y"), [-0.6, -0.2, 0.1])],
             "indicator": [fc.indicator_column(word)], "float": [fc.numeric_column("y"), fc.numeric_column("pair", shape=(2,))],
             "categorical": [word], "embedding": [fc.embedding_column(word, 2)], "wide": [fc.numeric_column("pair", shape=(2, 1))]}
    return [column for kind in kinds.split() for column in known[kind]]


def _report(tf, np, model, batches, explain):
    once = batches(1)
    metrics, predictions = model.evaluate(once), list(model.predict(once))
    names = sorted(name for name in model.get_variable_names() if "cache" not in name)  # of a cache that TensorFlow fills and never uses
    found = [np.array(names + sorted(metrics) + sorted(predictions[0]))]
    found += [np.array(model.get_variable_value(name)) for name in names if "serialized" not in name]
    found += [np.array(metrics[name], np.float32) for name in sorted(metrics)]
    found += [np.array([each[key] for each in predictions]) for key in ("logits", "predictions") if key in predictions[0]]
    importances = model.experimental_feature_importances()
    found += [np.array(list(importances)), np.array(list(importances.values()), np.float32)]
    if explain:
        explained = list(model.experimental_predict_with_explanations(once, predict_keys=["logits", "predictions"][-explain:]))
        found += [np.array([each["bias"] for each in explained[:5]], np.float32), np.array([sorted(each["dfc"]) for each in explained[:5]]),
                  np.array([[each["dfc"][key] for key in sorted(each["dfc"])] for each in explained[:5]], np.float32)]
    return [tf.constant(each) for each in found]


def models(tf, np):
    features, real = _data(np)
    binary = (real > 0.2).astype(np.int64)

    def case(name, kinds, labels, batch=20, explain=0, steps=None, again=None, **options):
        def build():
            def batches(times=None):
                return lambda: tf.data.Dataset.from_tensor_slices((features, labels)).batch(batch, drop_remainder=True).repeat(times)

            def make():
                cls = tf.estimator.BoostedTreesRegressor if name == "regressor" else tf.estimator.BoostedTreesClassifier
                return cls(_columns(tf, kinds), n_batches_per_layer=60 // batch, model_dir=folder, **settings)
            folder, settings = tempfile.mkdtemp(), dict({"n_trees": 2, "max_depth": 3}, **options)
            try:
                model = make()
                model.train(batches(), max_steps=steps)
                if again:
                    model = make()
                    model.train(batches(), max_steps=again)
                return _report(tf, np, model, batches, explain)
            finally:
                shutil.rmtree(folder)
        return build

    yield "bucketized", case("classifier", "bucketized", binary)
    yield "indicator", case("classifier", "bucketized indicator", binary)
    yield "float", case("classifier", "float", binary)
    yield "bias", case("classifier", "float", binary, center_bias=True, explain=2)
    yield "regressor", case("regressor", "bucketized indicator", real)
    yield "regressor bias", case("regressor", "bucketized", real, center_bias=True, explain=1, learning_rate=0.5)
    yield "regularized", case("regressor", "bucketized indicator", real, l1_regularization=0.01, l2_regularization=0.1)
    yield "min weight", case("regressor", "bucketized", real, min_node_weight=0.5)
    yield "pre pruning", case("regressor", "bucketized float", real, pruning_mode="pre", tree_complexity=0.02)
    yield "post pruning", case("regressor", "bucketized float", real, pruning_mode="post", tree_complexity=0.02)
    yield "weights", case("classifier", "bucketized float", binary, weight_column="w")
    yield "vocabulary", case("classifier", "bucketized", np.array(["no", "yes"])[binary], label_vocabulary=["no", "yes"])
    yield "in memory", case("classifier", "bucketized float", binary, batch=60, train_in_memory=True)
    yield "in memory pruned", case("regressor", "bucketized", real, batch=60, train_in_memory=True, pruning_mode="post", tree_complexity=0.02,
                                   center_bias=True)
    yield "resumed", case("classifier", "bucketized", binary, steps=8, again=14, n_trees=3)
    yield "stopped at zero trees", case("classifier", "bucketized", binary, steps=2)
    yield "no complexity", case("classifier", "bucketized", binary, pruning_mode="pre")
    yield "no pruning", case("classifier", "bucketized", binary, tree_complexity=1.0)
    yield "unknown pruning", case("classifier", "bucketized", binary, pruning_mode="half")
    yield "three classes", case("classifier", "bucketized", binary, n_classes=3)
    yield "two labels", case("regressor", "bucketized", real, label_dimension=2)
    yield "categorical", case("classifier", "categorical", binary)
    yield "several batches in memory", case("classifier", "bucketized", binary, train_in_memory=True)
    yield "matrix", case("classifier", "wide", binary)

    def by_function(name, kinds, labels, **options):
        def build():
            train = getattr(tf.contrib.estimator, "boosted_trees_{}_train_in_memory".format(name))
            batches = lambda times=None: lambda: tf.data.Dataset.from_tensors((features, labels)).repeat(times)
            return _report(tf, np, train(batches(1), _columns(tf, kinds), tempfile.mkdtemp(), n_trees=3, max_depth=2, **options), batches, 0)
        return build

    yield "classifier by function", by_function("classifier", "bucketized indicator", binary)
    yield "regressor by function", by_function("regressor", "float", real, center_bias=True)

    def head():
        folder = tempfile.mkdtemp()
        batches = lambda times=None: lambda: tf.data.Dataset.from_tensor_slices((features, real * real)).batch(20).repeat(times)
        model = tf.estimator.BoostedTreesEstimator(_columns(tf, "bucketized"), 3, tf.contrib.estimator.poisson_regression_head(), folder, n_trees=2,
                                                   max_depth=2)
        return _report(tf, np, model.train(batches()), batches, 0)
    yield "head", head

    def exported():
        folder = tempfile.mkdtemp()
        batches = lambda: tf.data.Dataset.from_tensor_slices((features, binary)).batch(20).repeat()
        model = tf.estimator.BoostedTreesClassifier(_columns(tf, "bucketized float"), 3, folder, n_trees=2, max_depth=2).train(batches)
        receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({
            "x": tf.placeholder(tf.float32, [None]), "y": tf.placeholder(tf.float32, [None]), "pair": tf.placeholder(tf.float32, [None, 2])})
        place = model.export_saved_model(folder + "/export", receiver)
        serve = tf.contrib.predictor.from_saved_model(place.decode() if isinstance(place, bytes) else place, "predict")
        found = serve({key: features[key] for key in ("x", "y", "pair")})
        return [tf.constant(found["logits"]), tf.constant(sorted(found))]
    yield "exported", exported


def quantile_ops(tf, np):
    def case(values, weights, epsilon, number, quantiles=False):
        def build():
            raw = tf.raw_ops
            with tf.Graph().as_default(), tf.Session() as session:
                handle = raw.BoostedTreesQuantileStreamResourceHandleOp(shared_name="quantiles")
                session.run(raw.BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle=handle, epsilon=epsilon, num_streams=1))
                summaries = raw.BoostedTreesMakeQuantileSummaries(float_values=[values], example_weights=weights, epsilon=epsilon)
                made = session.run(summaries)[0]
                for _ in range(3):
                    session.run(raw.BoostedTreesQuantileStreamResourceAddSummaries(quantile_stream_resource_handle=handle, summaries=summaries))
                session.run(raw.BoostedTreesQuantileStreamResourceFlush(quantile_stream_resource_handle=handle, num_buckets=number,
                                                                        generate_quantiles=quantiles))
                boundaries = session.run(raw.BoostedTreesQuantileStreamResourceGetBucketBoundaries(quantile_stream_resource_handle=handle,
                                                                                                  num_features=1))
                buckets = session.run(raw.BoostedTreesBucketize(float_values=[values], bucket_boundaries=boundaries))
            return [tf.constant(made), tf.constant(boundaries[0]), tf.constant(buckets[0])]
        return build

    rows = np.arange(500)
    waves, ones = np.sin(rows * 1.7).astype(np.float32), np.ones(500, np.float32)
    yield "fine", case(waves, ones, 0.01, 100)
    yield "coarse", case(waves, ones, 0.2, 5)
    yield "few", case(np.float32([3, 1, 2, 2]), np.float32([1, 1, 1, 1]), 0.1, 10)
    yield "weighted", case(waves, (rows % 5).astype(np.float32), 0.05, 20)
    yield "one weight", case(waves[:50], np.float32([1]), 0.1, 10)
    yield "quantiles", case(waves, ones, 0.1, 10, True)


def cases(tf, np):
    for part in (models, quantile_ops):
        for name, case in part(tf, np):
            yield part.__name__ + " " + name, case
