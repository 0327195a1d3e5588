"""Estimators in the ways that other families leave out: arrays in tf.contrib.learn, recurrent ones, configurations of columns, refusals."""
import json
import os
import shutil
import tempfile
import warnings


def _in_folder(work):
    def case():
        folder = tempfile.mkdtemp()
        try:
            return work(folder)
        finally:
            shutil.rmtree(folder)
    return case


def _constants(tf, values):
    return [tf.identity(tf.constant(each), name="output") for each in values]


def _arrays(np):
    x = np.sin(np.arange(60)).reshape(20, 3).astype(np.float32)
    return x, (x.sum(1) > 0).astype(np.int32)


# --- tf.contrib.learn ------------------------------------------------------------------------------------------------

def _learn(tf, np):
    learn, (x, y) = tf.contrib.learn, _arrays(np)

    def values(model):
        return _constants(tf, [model.get_variable_value(name) for name in sorted(model.get_variable_names())])

    def network(folder):
        model = learn.DNNClassifier([4, 3], learn.infer_real_valued_columns_from_input(x), folder, config=learn.RunConfig(tf_random_seed=5))
        model.fit(x, y, steps=2, batch_size=5)
        return values(model)

    def for_sklearn(folder):
        model = learn.DNNRegressor([4], learn.infer_real_valued_columns_from_input(x), folder, config=learn.RunConfig(tf_random_seed=5))
        return _constants(tf, [learn.SKCompat(model).fit(x, y.astype(np.float32), steps=3, batch_size=4).predict(x[:4])["scores"]])

    def of_dicts(folder):
        def model_fn(features, labels, mode):
            hidden = tf.layers.dense(tf.concat([features["a"], features["b"]], 1), 3, name="hidden")
            loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1) - tf.reshape(tf.cast(labels, tf.float32), [-1, 1])))
            return learn.ModelFnOps(mode, hidden, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step()))
        model = learn.Estimator(model_fn, folder, config=learn.RunConfig(tf_random_seed=5))
        model.fit({"a": x[:, :2], "b": x[:, 2:]}, y, steps=2, batch_size=5)
        return values(model)

    def of_a_graph(folder):
        losses = []
        for steps in (5, 3):
            with tf.Graph().as_default() as graph:
                tf.compat.v1.set_random_seed(2)
                step, weights = tf.train.get_or_create_global_step(), tf.get_variable("weights", [3, 1])
                loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 1.0))
                losses.append(learn.train(graph, folder, tf.train.GradientDescentOptimizer(0.1).minimize(loss, step), loss, steps=steps))
        with tf.Graph().as_default() as graph:
            tf.train.get_or_create_global_step()
            total = tf.reduce_sum(tf.get_variable("weights", [3, 1]))
            count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), collections=[tf.GraphKeys.LOCAL_VARIABLES])
            results, step = learn.evaluate(graph, folder + "/eval", folder, {"total": total, "count": count}, tf.assign_add(count, 1.0), max_steps=3)
        return _constants(tf, losses + [results["count"], results["total"], step])

    def diverging(folder):
        with tf.Graph().as_default() as graph:
            step, loss = tf.train.get_or_create_global_step(), tf.get_variable("weight", []) * float("nan")
            learn.train(graph, folder, tf.train.GradientDescentOptimizer(0.1).minimize(loss, step), loss, steps=3)

    yield "learn network", _in_folder(network)
    yield "learn for scikit-learn", _in_folder(for_sklearn)
    yield "learn of dicts", _in_folder(of_dicts)
    yield "learn train and evaluate", _in_folder(of_a_graph)
    yield "learn train diverging", _in_folder(diverging)
    yield "learn train without a folder", lambda: learn.train(tf.Graph(), "", None, None)
    yield "learn train without a loss", lambda: learn.train(tf.Graph(), "folder", tf.no_op(), None)
    yield "learn train with two ends", lambda: learn.train(tf.Graph(), "folder", tf.no_op(), tf.constant(1.0), steps=1, max_steps=1)
    yield "learn evaluate without a folder", lambda: learn.evaluate(tf.Graph(), "", None, {})


def _shared_files(tf, np):
    def read(folder):
        for file in range(2):
            with tf.python_io.TFRecordWriter(os.path.join(folder, "part%d" % file)) as writer:
                for row in range(3):
                    values = tf.train.FloatList(value=[file * 10.0 + row])
                    writer.write(tf.train.Example(features=tf.train.Features(feature={"v": tf.train.Feature(float_list=values)})).SerializeToString())
        with tf.Graph().as_default(), tf.Session() as session:
            _, features = tf.contrib.learn.read_keyed_batch_features_shared_queue(
                folder + "/part*", 2, {"v": tf.FixedLenFeature([], tf.float32)}, tf.TFRecordReader, randomize_input=False, num_epochs=2)
            names, seen = sorted(each.name for each in tf.global_variables()), []
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            while not coordinator.should_stop():
                try:
                    seen += session.run(features["v"]).tolist()
                except tf.errors.OutOfRangeError:
                    break
            coordinator.request_stop()
            coordinator.join(threads)
        return _constants(tf, [sorted(seen), names])
    yield "learn shared files", _in_folder(read)


# --- tf.estimator ----------------------------------------------------------------------------------------------------

def _recurrent(tf, np, cell, units, with_context):
    column, sequence = tf.feature_column, tf.contrib.feature_column

    def example(ids, label):
        feature = {key: tf.train.Feature(int64_list=tf.train.Int64List(value=each)) for key, each in (("ids", ids), ("y", [label]))}
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    def parsed(rows):
        features = tf.parse_example(rows, {"ids": tf.VarLenFeature(tf.int64), "y": tf.FixedLenFeature([], tf.int64)})
        labels = features.pop("y")
        return dict(features, context=tf.cast(tf.reshape(labels, [-1, 1]), tf.float32)), labels

    def batches():
        return tf.data.Dataset.from_tensor_slices([example([1, 2], 0), example([3], 1), example([0, 1, 2], 1)]).repeat().batch(3).map(parsed)

    def trained(folder):
        ids = column.embedding_column(sequence.sequence_categorical_column_with_identity("ids", 4), 2)
        model = tf.contrib.estimator.RNNClassifier([ids], [column.numeric_column("context")] if with_context else None, units, cell,
                                                   config=tf.estimator.RunConfig(model_dir=folder, tf_random_seed=7))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of gradients of unknown shape, in both
            model.train(batches, steps=3)
        return _constants(tf, [model.get_variable_value(name) for name in sorted(model.get_variable_names())])
    return _in_folder(trained)


def _clusters(tf, np):
    def trained(folder):
        points = np.stack([np.sin(np.arange(12)), np.cos(np.arange(12) * 0.7)], 1).astype(np.float32)
        model = tf.estimator.experimental.KMeans(3, folder, points[:3], use_mini_batch=False)
        model.train(lambda: tf.train.limit_epochs(tf.constant(points), None), steps=4)
        return _constants(tf, [model.cluster_centers(), np.array(list(model.transform(lambda: tf.train.limit_epochs(tf.constant(points), 1))))])
    yield "distances from clusters", _in_folder(trained)


def _refusals(tf, np):
    estimator, (x, y) = tf.estimator, _arrays(np)
    columns = [tf.feature_column.numeric_column("x", 3)]

    def inputs(labels):
        return estimator.inputs.numpy_input_fn({"x": x}, labels, batch_size=5, num_epochs=1, shuffle=False)

    def evaluated(folder, where):
        model = estimator.LinearClassifier(columns, folder)
        model.train(inputs(y), steps=1)
        model.evaluate(inputs(y), checkpoint_path=where(folder))

    yield "checkpoint in no folder", _in_folder(lambda folder: evaluated(folder, lambda each: each + "/none/model.ckpt-1"))
    yield "no checkpoint in a folder", _in_folder(lambda folder: evaluated(folder, lambda each: each + "/none"))
    yield "words as labels", _in_folder(lambda folder: estimator.LinearClassifier(columns, folder).train(inputs(y.astype(str)), steps=1))
    yield "words as labels of three classes", _in_folder(
        lambda folder: estimator.LinearClassifier(columns, folder, 3).train(inputs(y.astype(str)), steps=1))


# --- columns ---------------------------------------------------------------------------------------------------------

def _twice(value):
    return value * 2


def _columns(tf, np):
    column, old = tf.feature_column, tf.contrib.layers
    words = column.categorical_column_with_vocabulary_list("w", ["a", "b"])

    def layer():
        return tf.keras.layers.DenseFeatures([
            column.numeric_column("x", 2, 1.5, normalizer_fn=_twice), column.bucketized_column(column.numeric_column("z"), [0.0, 1.0]),
            column.embedding_column(words, 3), column.indicator_column(column.crossed_column(["p", words], 7)),
            column.indicator_column(column.weighted_categorical_column(column.categorical_column_with_identity("i", 3), "weight")),
            column.embedding_column(column.categorical_column_with_hash_bucket("h", 5, tf.int64), 2, initializer=tf.zeros_initializer())], name="df")

    def again():
        config = json.loads(json.dumps(layer().get_config()))
        made = tf.keras.layers.DenseFeatures.from_config(config, custom_objects={"_twice": _twice})
        return tf.constant(json.dumps(made.get_config(), sort_keys=True), name="config")

    def without_a_field():
        config = tf.keras.layers.DenseFeatures([column.numeric_column("x")]).get_config()
        del config["feature_columns"][0]["config"]["dtype"]
        tf.keras.layers.DenseFeatures.from_config(config)

    def in_a_model():
        model = tf.keras.Sequential([tf.keras.layers.DenseFeatures([column.embedding_column(words, 2)]), tf.keras.layers.Dense(1)])
        return tf.constant([type(each).__name__ for each in tf.keras.Sequential.from_config(model.get_config()).layers], name="layers")

    def sequences():
        features = {"a": tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 1]), "b": tf.SparseTensor([[0, 0], [1, 0], [2, 0]], [1, 2, 0], [3, 1])}
        ids = tf.contrib.feature_column.sequence_categorical_column_with_identity
        return tf.contrib.feature_column.sequence_input_layer(features, [column.embedding_column(ids(key, 3), 2) for key in "ab"])

    yield "sequences of two batches", sequences
    yield "config", lambda: tf.constant(json.dumps(layer().get_config(), sort_keys=True), name="config")
    yield "config and back", again
    yield "config without a field", without_a_field
    yield "config in a model", in_a_model
    yield "key of a number", lambda: column.numeric_column(3)
    yield "indicator of numbers", lambda: tf.constant(type(column.indicator_column(column.numeric_column("x"))).__name__, name="type")
    yield "indicator of numbers used", lambda: column.input_layer({"x": [[1.0]]}, column.indicator_column(column.numeric_column("x")))
    yield "shared numbers", lambda: column.shared_embedding_columns([column.numeric_column("a"), words], 2)
    yield "old column without feature", lambda: old.input_from_feature_columns({"a": tf.constant([[1.0]])}, [old.real_valued_column("x")])


def cases(tf, np):
    """(name, function) pairs."""
    for family in (_learn, _shared_files, _clusters, _refusals, _columns):
        yield from family(tf, np)
    yield "recurrent", _recurrent(tf, np, "basic_rnn", [3], False)
    yield "recurrent gru", _recurrent(tf, np, "gru", [3], True)
    yield "recurrent stack", _recurrent(tf, np, "lstm", [3, 2], True)
