"""Estimators of SavedModels, and model functions on several devices."""
import shutil
import tempfile

_SUM, _MEAN = "weighted_sum", "weighted_sum_by_nonzero_weights"


def _data(np):
    x = np.arange(12, dtype=np.float32).reshape(6, 2) / 10
    return {"x": x}, x.sum(1, keepdims=True)


def _model_fn(tf, features, labels, mode, optimizer):
    hidden = tf.layers.dense(features["x"], 3, tf.tanh, name="a", kernel_initializer=tf.constant_initializer(0.2))
    predicted = tf.layers.dense(hidden, 1, name="b", kernel_initializer=tf.constant_initializer(0.1))
    if mode == "infer":
        return tf.estimator.EstimatorSpec(mode, {"p": predicted}, export_outputs={"r": tf.estimator.export.PredictOutput({"p": predicted})})
    loss = tf.losses.mean_squared_error(labels, predicted) + tf.reduce_sum(
        tf.nn.embedding_lookup(tf.get_variable("t", [4, 1], initializer=tf.ones_initializer()), [1, 1, 2]))
    if mode == "eval":
        return tf.estimator.EstimatorSpec(mode, {"p": predicted}, loss, eval_metric_ops={
            "m": tf.metrics.mean(predicted), "mse": tf.metrics.mean_squared_error(labels, predicted)})
    train_op = optimizer(tf.train.MomentumOptimizer(0.1, 0.9)).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, {"p": predicted}, loss, train_op)


def _found(tf, np, model, input_fn):
    names = sorted(model.get_variable_names())
    metrics = model.evaluate(input_fn, steps=2)
    predictions = [each["p"] for each in model.predict(lambda: input_fn().take(1))]
    found = [np.array(names + sorted(metrics))] + [np.array(model.get_variable_value(name), np.float32) for name in names]
    return [tf.constant(each, name="found") for each in found + [
        np.array([metrics[name] for name in sorted(metrics)], np.float32), np.array(predictions, np.float32)]]


def _in_folder(build):
    def case():
        folder = tempfile.mkdtemp()
        try:
            return build(folder)
        finally:
            shutil.rmtree(folder)
    return case


def towers(tf, np):
    features, labels = _data(np)

    def case(count, reduction, optimizer):
        def build(folder):
            def model_fn(features, labels, mode):
                return _model_fn(tf, features, labels, mode, optimizer)
            model = tf.estimator.Estimator(tf.contrib.estimator.replicate_model_fn(model_fn, reduction, ["/cpu:0"] * count), folder)
            batches = lambda: tf.data.Dataset.from_tensors((features, labels)).repeat(8)
            model.train(batches, steps=4)
            return _found(tf, np, model, batches)
        return _in_folder(build)

    def tower(optimizer):
        return tf.contrib.estimator.TowerOptimizer(optimizer)

    yield "three towers", case(3, _MEAN, tower)
    yield "two towers", case(2, _SUM, lambda optimizer: tf.contrib.estimator.TowerOptimizer(lambda: optimizer))
    yield "one tower", case(1, _SUM, tower)
    yield "no tower optimizer", case(2, _SUM, lambda optimizer: optimizer)
    yield "not divisible", case(4, _SUM, tower)
    yield "no reduction", case(2, "none", tower)


def saved_models(tf, np):
    features, labels = _data(np)

    def case(modes, trains=0, rows=6, dtype=np.float32):
        def build(folder):
            batches = lambda: tf.data.Dataset.from_tensors((
                {"x": features["x"][:rows].astype(dtype)}, labels[:rows])).repeat(8)
            first = tf.estimator.Estimator(lambda features, labels, mode: _model_fn(
                tf, features, labels, mode, lambda unused: tf.train.GradientDescentOptimizer(0.1)), folder + "/first")
            first.train(lambda: tf.data.Dataset.from_tensors((features, labels)).repeat(), steps=3)
            receivers = {"infer": lambda: tf.estimator.export.ServingInputReceiver(*[{"x": tf.placeholder(tf.float32, [None, 2])}] * 2)}
            receivers["train"] = receivers["eval"] = tf.contrib.estimator.build_supervised_input_receiver_fn_from_input_fn(
                lambda: ({"x": tf.placeholder(tf.float32, [None, 2])}, tf.placeholder(tf.float32, [None, 1])))
            path = first.experimental_export_all_saved_models(folder + "/export", {mode: receivers[mode] for mode in modes})
            model = tf.contrib.estimator.SavedModelEstimator(path.decode(), folder + "/second")
            if trains:
                model.train(batches, steps=trains)
                return _found(tf, np, model, batches)
            metrics = model.evaluate(batches, steps=2)
            return [tf.constant(sorted(metrics), name="found"), tf.constant([metrics[name] for name in sorted(metrics)], tf.float32, name="found")]
        return _in_folder(build)
    yield "saved model", case(["train", "eval", "infer"])
    yield "saved model trained", case(["train", "eval", "infer"], 3)
    yield "saved model of part", case(["train", "eval", "infer"], 2, rows=3)
    yield "saved model without eval", case(["infer"])
    yield "saved model of doubles", case(["eval"], dtype=np.float64)


def cases(tf, np):
    for group in (towers, saved_models):
        yield from group(tf, np)
