"""Stochastic dual coordinate ascent. Orders are drawn at random, so models are compared where they have converged, rounded."""
import tempfile


def _data(np):
    rows = np.arange(40)
    x = np.stack([np.sin(rows * 1.7), np.cos(rows * 0.9)], 1).astype(np.float32)
    return rows, x, (x[:, 0] + 0.5 * x[:, 1] + 0.4 * (rows % 4 == 1)).astype(np.float32)


def ops(tf, np):
    raw = tf.raw_ops
    texts = ["", "a", "example", "exactly16bytes!!", "seventeen bytes..", "x" * 40, "y" * 143, "z" * 144, "w" * 301]
    yield "fingerprints", lambda: raw.SdcaFprint(input=texts)

    def step(loss_type, labels, l1=0.0, l2=1.0, bad=False):
        def build():
            found = raw.SdcaOptimizerV2(
                sparse_example_indices=[[0]], sparse_feature_indices=[[9 if bad else 5]], sparse_feature_values=[[2.0]],
                dense_features=[[[1.0, -2.0]]], example_weights=[1.5], example_labels=labels, sparse_indices=[[3, 5]],
                sparse_weights=[[0.5, -0.25]], dense_weights=[[0.125, 0.5]],
                example_state_data=[[0.25, 0.0, 0.0, 0.0]], loss_type=loss_type, l1=l1, l2=l2, num_loss_partitions=2, num_inner_iterations=1)
            return [found[0], found[1][0], found[2][0]]
        return build

    for loss in ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"):
        yield loss, step(loss, [1.0])
        yield loss + " regularized", step(loss, [1.0], l1=0.3, l2=2.0)
        yield loss + " bad label", step(loss, [-0.5])
    yield "unknown feature", step("squared_loss", [1.0], bad=True)


def models(tf, np):
    def model(loss_type, shards=None, adaptive=True, l1=0.0):
        def build():
            rows, x, real = _data(np)
            labels = real if loss_type == "squared_loss" else (real > 0.2).astype(np.float32)
            with tf.Graph().as_default(), tf.Session() as session:
                part = tf.contrib.linear_optimizer.SparseFeatureColumn(rows, rows % 4, np.ones(40, np.float32))
                examples = {"sparse_features": [part], "dense_features": [x], "example_labels": labels, "example_ids": [str(row) for row in rows],
                            "example_weights": tf.constant(1.0 + rows % 2, tf.float32)}
                variables = {"sparse_features_weights": [tf.Variable(tf.zeros([4]))], "dense_features_weights": [tf.Variable(tf.zeros([2]))]}
                model = tf.contrib.linear_optimizer.SdcaModel(examples, variables, {
                    "symmetric_l1_regularization": l1, "symmetric_l2_regularization": 1.0, "loss_type": loss_type, "num_table_shards": shards,
                    "adaptive": adaptive})
                train = model.minimize()
                update = model.update_weights(train)
                losses = [model.unregularized_loss(examples), model.regularized_loss(examples), model.predictions(examples)]
                session.run(tf.global_variables_initializer())
                for _ in range(60):
                    session.run(update)
                found = session.run([variables["sparse_features_weights"][0], variables["dense_features_weights"][0]] + losses)
                gap = session.run(model.approximate_duality_gap())
                names = [each.op.name for each in tf.global_variables()]
            if loss_type == "hinge_loss":  # it converges slowly
                found = [np.sign(found[4])] + found[2:4]
            return [tf.constant(np.round(np.float64(each), 2)) for each in found] + [tf.constant(gap < 0.02), tf.constant(names)]
        return build

    for loss in ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"):
        yield loss, model(loss, adaptive=loss == "logistic_loss")
    yield "shards", model("logistic_loss", shards=3)
    yield "l1", model("squared_loss", l1=0.5, adaptive=False)
    yield "unknown loss", model("huge_loss")
    yield "negative l1", model("squared_loss", l1=-1.0)

    def weights_of(model, names):
        return [tf.constant(np.round(np.asarray(model.get_variable_value(name), np.float64), 2)) for name in names
                if name.startswith("linear") and "unshrinked" not in name and not isinstance(model, tf.contrib.learn.SVM)]

    def learn(make, labels):
        def build():
            rows, x, real = _data(np)

            def input_fn():
                values = real if labels == "real" else (real > 0.2).astype(np.int64)
                return {"x": tf.constant(x), "word": tf.SparseTensor([[row, 0] for row in rows], np.array(["a", "b", "c", "d"])[rows % 4], [40, 1]),
                        "w": tf.constant(1.0 + rows % 2, tf.float32), "id": tf.constant([str(row) for row in rows])}, tf.constant(values)
            layers = tf.contrib.layers
            columns = [layers.real_valued_column("x", dimension=2), layers.sparse_column_with_keys("word", ["a", "b", "c", "d"]),
                       layers.bucketized_column(layers.real_valued_column("w"), [1.5])]
            model = make(columns)
            model.fit(input_fn=input_fn, steps=40)
            names = sorted(name for name in model.get_variable_names() if "Adam" not in name)
            metrics = model.evaluate(input_fn=input_fn, steps=1)
            return [tf.constant(names), tf.constant(round(float(metrics["loss"]), 2)), tf.constant(sorted(metrics))] + weights_of(model, names)
        return build

    sdca = tf.contrib.linear_optimizer.SDCAOptimizer
    linear, regressor = tf.contrib.learn.LinearClassifier, tf.contrib.learn.LinearRegressor
    yield "classifier", learn(lambda columns: linear(columns, tempfile.mkdtemp(), optimizer=sdca("id", adaptive=False)), "classes")
    yield "weighted", learn(lambda columns: linear(columns, tempfile.mkdtemp(), weight_column_name="w", optimizer=sdca("id")), "classes")
    yield "regressor", learn(lambda columns: regressor(columns, tempfile.mkdtemp(), optimizer=sdca("id", num_table_shards=2)), "real")
    yield "svm", learn(lambda columns: tf.contrib.learn.SVM("id", columns, model_dir=tempfile.mkdtemp(), l2_regularization=1.0), "classes")
    yield "kernels", learn(lambda columns: tf.contrib.learn.SVM("id", columns, kernels=[1]), "classes")
    yield "three classes", learn(lambda columns: linear(columns, n_classes=3, optimizer=sdca("id")), "classes")
    yield "centered", learn(lambda columns: linear(columns, enable_centered_bias=True, optimizer=sdca("id")), "classes")
    head = tf.contrib.learn.regression_head()
    yield "estimator", learn(lambda columns: tf.contrib.learn.LinearEstimator(columns, head, optimizer=sdca("id")), "real")

    def canned(make, labels):
        def build():
            rows, x, real = _data(np)
            features = {"x": x, "word": np.array(["a", "b", "c", "d"])[rows % 4], "w": (1.0 + rows % 2).astype(np.float32),
                        "id": np.array([str(row) for row in rows])}
            values = real if labels == "real" else (real > 0.2).astype(np.int64)
            once = lambda: tf.data.Dataset.from_tensors((features, values)).repeat(40)
            fc = tf.feature_column
            columns = [fc.numeric_column("x", shape=(2,)), fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c"]),
                       fc.bucketized_column(fc.numeric_column("w"), [1.5])]
            model = make(columns, tf.estimator.experimental.LinearSDCA("id"))
            model.train(once)
            names, metrics = sorted(model.get_variable_names()), model.evaluate(once, steps=1)
            return [tf.constant(names), tf.constant(round(float(metrics["average_loss"]), 3))] + weights_of(model, names)
        return build

    classifier, numbers = tf.estimator.LinearClassifier, tf.estimator.LinearRegressor
    yield "canned classifier", canned(lambda columns, sdca: classifier(columns, tempfile.mkdtemp(), optimizer=sdca), "classes")
    yield "canned weighted", canned(lambda columns, sdca: classifier(columns, tempfile.mkdtemp(), weight_column="w", optimizer=sdca), "classes")
    yield "canned regressor", canned(lambda columns, sdca: numbers(columns, tempfile.mkdtemp(), optimizer=sdca), "real")
    yield "canned classes", canned(lambda columns, sdca: classifier(columns, n_classes=3, optimizer=sdca), "classes")
    yield "canned labels", canned(lambda columns, sdca: numbers(columns, label_dimension=2, optimizer=sdca), "real")
    yield "canned mean", canned(lambda columns, sdca: classifier(columns, sparse_combiner="mean", optimizer=sdca), "classes")


def cases(tf, np):
    for part in (ops, models):
        for name, case in part(tf, np):
            yield part.__name__ + " " + name, case
