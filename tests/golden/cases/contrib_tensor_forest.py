"""Random forests: what seeded ones predict after some batches, the forests as estimators, and the parts of their input."""
import shutil
import tempfile

# Finished leaves are split in the order of a hash table there: with collate_examples, which draws in that order, forests differ.


def _data(np, outputs=None):
    x = np.random.RandomState(0).randn(200, 4).astype(np.float32)
    if outputs:
        return x, np.stack([x[:, 0], x[:, 1] * x[:, 2]], 1)[:, :outputs]
    return x, ((x[:, 0] > 0) * 2 + (x[:, 1] > 0.3)).astype(np.int32)


def _params(tf, **options):
    settings = dict(num_features=4, num_classes=4, num_trees=2, max_nodes=50, split_after_samples=20, base_random_seed=7)
    return tf.contrib.tensor_forest.python.tensor_forest.ForestHParams(**dict(settings, **options))


def graphs(tf, np):
    def case(features=None, weights=None, paths=False, **options):
        def build():
            forests = tf.contrib.tensor_forest.python.tensor_forest
            x, y = _data(np, options.get("num_classes") if options.get("regression") else None)
            forest = forests.RandomForestGraphs(_params(tf, **options).fill())
            data = features(x) if features else (lambda rows: tf.constant(x[rows]))
            rows = [slice(start, start + 50) for start in range(0, 200, 50)]
            steps = [forest.training_graph(data(part), tf.constant(y[part]), **({"input_weights": tf.constant(weights[part])} if weights is not None
                                                                                else {})) for part in rows]
            mean, _, variance = forest.inference_graph(data(slice(0, 200)))
            handles = [each.create for each in tf.get_collection(tf.GraphKeys.RESOURCES)]
            with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
                session.run([tf.global_variables_initializer()] + handles)
                for _ in range(4):
                    for step in steps:
                        session.run(step)
                found = session.run([mean, variance, forest.training_loss(None, None), forest.feature_importances(), forest.average_size()])
            saved = sorted(each.name for each in tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS))
            return [tf.constant(each) for each in found] + [tf.constant(saved)]
        return build

    def columns(x):
        return lambda rows: {"b": tf.constant(x[rows, :2]), "a": tf.constant((x[rows, 2:3] * 2).astype(np.int64)),
                             "c": tf.constant(np.where(x[rows, 3:] > 0, "up", "down"))}

    def sparse(x):
        def batch(rows):
            # An empty row makes TensorFlow read outside of its arrays.
            kept = np.argwhere((np.abs(x[rows]) > 0.4) | (np.arange(4) == 1))
            return tf.SparseTensor(kept.astype(np.int64), tf.constant(x[rows][tuple(kept.T)]), [len(x[rows]), 4])
        return batch
    yield "classes", case()
    yield "two classes", case(num_classes=5, num_trees=3, num_splits_to_consider=3)
    yield "regression", case(regression=True, num_classes=1)
    yield "two outputs", case(regression=True, num_classes=2)
    yield "less", case(split_name="less")
    yield "sparse leaves", case(model_name="all_sparse")
    yield "running stats", case(use_running_stats_method=True)
    yield "averages", case(initialize_average_splits=True)
    yield "half", case(split_pruning_name="half", prune_every_samples=10)
    yield "quarter", case(split_pruning_name="quarter", prune_every_samples=7, num_splits_to_consider=12)
    yield "hoeffding pruning", case(split_pruning_name="hoeffding", prune_every_samples=10, dominate_fraction=0.5)
    yield "depth", case(split_after_samples="linear { slope: 10 y_intercept: 10 min_val: 10 max_val: 60 }")
    yield "max nodes", case(max_nodes=9)
    yield "columns", case(columns)
    yield "sparse features", case(sparse)
    yield "weights", case(weights=(np.arange(200) % 3 * 0.5 + 0.5).astype(np.float32))


def parameters(tf, np):
    def filled(**options):
        def build():
            params = _params(tf, **options).fill()
            values = {name: value for name, value in params.values().items() if isinstance(value, (int, float, str, bool))}
            return tf.constant(["%s=%s" % pair for pair in sorted(values.items())])
        return build
    yield "filled", filled()
    yield "filled regression", filled(regression=True, num_classes=2, feature_bagging_fraction=0.5)
    yield "filled wide", filled(num_features=500)
    yield "no features", lambda: tf.contrib.tensor_forest.tensor_forest.ForestHParams(num_classes=2).fill()
    yield "no such split", filled(split_name="more")
    yield "spec", lambda: tf.constant(tf.contrib.tensor_forest.data_ops.ParseDataTensorOrDict(
        {"x": tf.zeros([3, 2]), "k": tf.zeros([3, 1], tf.int32)})[2].SerializeToString())
    yield "strings", lambda: tf.contrib.tensor_forest.data_ops.CastToFloat(tf.constant(["", "a", "forest", "a longer string of words"]))
    yield "label dict", lambda: tf.contrib.tensor_forest.data_ops.ParseLabelTensorOrDict(
        {"b": tf.ones([2, 1], tf.int32), "a": tf.zeros([2, 1], tf.int32)})


def estimators(tf, np):
    def case(kind="TensorForestEstimator", labels=None, **options):
        def build():
            folder = tempfile.mkdtemp()
            try:
                x, y = _data(np, options.get("num_classes") if options.get("regression") else None)
                y = y % 2 if options.get("num_classes") == 2 and not options.get("regression") else y
                forests = tf.contrib.tensor_forest.client.random_forest
                config = (tf.estimator.RunConfig if kind.startswith("Core") else tf.contrib.learn.RunConfig)(
                    session_config=tf.ConfigProto(intra_op_parallelism_threads=1))
                model = getattr(forests, kind)(_params(tf, **options), model_dir=folder, config=config)

                def batches(count):
                    data = tf.data.Dataset.from_tensor_slices(({"x": x}, y.reshape(200, -1) if kind.startswith("Core") else y)).batch(50)
                    return data.repeat(count).make_one_shot_iterator().get_next()
                fit = model.train if kind.startswith("Core") else model.fit
                fit(input_fn=lambda: batches(3), steps=6)
                fit(input_fn=lambda: batches(3), steps=6)
                metrics = model.evaluate(input_fn=lambda: batches(1), steps=4)
                predictions = list(model.predict(input_fn=lambda: batches(1)[0]))
                found = [np.array(sorted(metrics)), np.array([metrics[key] for key in sorted(metrics)], np.float32), np.array(sorted(predictions[0]))]
                found += [np.array([each[key] for each in predictions]) for key in sorted(predictions[0]) if key != "class_ids"]
                return [tf.constant(each, name="found") for each in found]
            finally:
                shutil.rmtree(folder)
        return build
    yield "estimator", case()
    yield "estimator of two", case(num_classes=2)
    yield "core estimator of two", case("CoreTensorForestEstimator", num_classes=2)
    yield "core estimator of numbers", case("CoreTensorForestEstimator", regression=True, num_classes=2)


def cases(tf, np):
    for group in (graphs, parameters, estimators):
        yield from group(tf, np)
