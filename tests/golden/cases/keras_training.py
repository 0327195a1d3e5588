"""tf.keras: losses, metrics, optimizers after steps, training from seeds."""
import json


def _targets(np, kind):
    """(targets, predictions) that fit a loss."""
    base = np.abs(np.sin(np.arange(12) * 1.7)).reshape(4, 3) * 0.9 + 0.05
    predictions = (base / base.sum(axis=1, keepdims=True)).astype("float32")
    if kind == "sparse":
        return np.array([[0], [2], [1], [2]], "float32"), predictions
    if kind == "categorical":
        return np.eye(3, dtype="float32")[[0, 2, 1, 2]], predictions
    if kind == "binary":
        return np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1]], "float32"), predictions
    return (predictions * 2 - 0.4).astype("float32"), predictions


LOSSES = [("MeanSquaredError", "real"), ("MeanAbsoluteError", "real"), ("MeanAbsolutePercentageError", "real"),
          ("MeanSquaredLogarithmicError", "real"), ("BinaryCrossentropy", "binary"), ("CategoricalCrossentropy", "categorical"),
          ("SparseCategoricalCrossentropy", "sparse"), ("Hinge", "binary"), ("SquaredHinge", "binary"), ("CategoricalHinge", "categorical"),
          ("Poisson", "real"), ("LogCosh", "real"), ("KLDivergence", "categorical"), ("Huber", "real"), ("CosineSimilarity", "real")]

METRICS = [("MeanSquaredError", "real", {}), ("RootMeanSquaredError", "real", {}), ("MeanAbsoluteError", "real", {}),
           ("CosineSimilarity", "real", {}), ("LogCoshError", "real", {}), ("BinaryAccuracy", "binary", {"threshold": 0.3}),
           ("CategoricalAccuracy", "categorical", {}), ("SparseCategoricalAccuracy", "sparse", {}),
           ("TopKCategoricalAccuracy", "categorical", {"k": 2}), ("SparseTopKCategoricalAccuracy", "sparse", {"k": 2}),
           ("BinaryCrossentropy", "binary", {}), ("CategoricalCrossentropy", "categorical", {}), ("SparseCategoricalCrossentropy", "sparse", {}),
           ("Hinge", "binary", {}), ("KLDivergence", "categorical", {}), ("Poisson", "real", {}),
           ("TruePositives", "binary", {"thresholds": 0.3}), ("FalsePositives", "binary", {}), ("TrueNegatives", "binary", {}),
           ("FalseNegatives", "binary", {"thresholds": [0.2, 0.4]}), ("Precision", "binary", {"thresholds": 0.3}), ("Recall", "binary", {}),
           ("Recall", "categorical", {"top_k": 2}), ("AUC", "binary", {}), ("AUC", "binary", {"curve": "PR", "num_thresholds": 20}),
           ("AUC", "binary", {"summation_method": "majoring", "num_thresholds": 20}),
           ("SensitivityAtSpecificity", "binary", {"specificity": 0.5}), ("SpecificityAtSensitivity", "binary", {"sensitivity": 0.5})]

OPTIMIZERS = [("SGD", {}), ("SGD", {"momentum": 0.9, "decay": 0.1}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {}),
              ("Adam", {"amsgrad": True}), ("Adam", {"clipnorm": 0.1, "decay": 0.01}), ("RMSprop", {}), ("RMSprop", {"momentum": 0.5}),
              ("RMSprop", {"centered": True}), ("RMSprop", {"centered": True, "momentum": 0.5}), ("Adagrad", {}),
              ("Adadelta", {"learning_rate": 1.0}), ("Adamax", {}), ("Nadam", {}), ("Ftrl", {"learning_rate": 0.1}),
              ("Ftrl", {"l1_regularization_strength": 0.01, "l2_shrinkage_regularization_strength": 0.1}), ("SGD", {"clipvalue": 0.01})]


def _named(name, options):
    return "%s %s" % (name, json.dumps(options, sort_keys=True))


def losses(tf, np):
    """Values with and without weights, and configurations."""
    def one(name, kind):
        y_true, y_pred = _targets(np, kind)
        loss = getattr(tf.keras.losses, name)()
        summed = getattr(tf.keras.losses, name)(reduction="sum")
        return [loss(y_true, tf.constant(y_pred)), loss(y_true, tf.constant(y_pred), sample_weight=np.array([1.0, 0.0, 2.0, 0.5], "float32")),
                summed(y_true, tf.constant(y_pred)), tf.constant(json.dumps(loss.get_config(), sort_keys=True), name="config")]

    for name, kind in LOSSES:
        yield "loss " + name, lambda name=name, kind=kind: one(name, kind)

    def smooth():
        (y_true, y_pred), (ones, probabilities) = _targets(np, "categorical"), _targets(np, "binary")
        return [tf.keras.losses.categorical_crossentropy(y_true, tf.constant(y_pred), label_smoothing=0.2),
                tf.keras.losses.binary_crossentropy(ones, tf.constant(probabilities), label_smoothing=0.2),
                tf.keras.losses.categorical_crossentropy(y_true, tf.constant(y_pred), from_logits=True),
                tf.keras.losses.sparse_categorical_crossentropy(np.array([0.0, 2.0, 1.0, 2.0]), tf.nn.softmax(tf.constant(y_pred)))]

    yield "smoothed", smooth


def metrics(tf, np):
    """The value behind two updates, the second with weights."""
    def one(name, kind, options):
        y_true, y_pred = _targets(np, kind)
        metric = getattr(tf.keras.metrics, name)(**options)
        session = tf.keras.backend.get_session()
        session.run(metric.update_state(y_true, tf.constant(y_pred)))
        value = session.run(metric(y_true, tf.constant(y_pred[::-1].copy()), sample_weight=np.array([1.0, 0.0, 2.0, 0.5], "float32")))
        metric.reset_states()
        return [tf.constant(value, name="value"), tf.constant(session.run(metric.result()), name="reset"),
                tf.constant(json.dumps(metric.get_config(), sort_keys=True), name="config")]

    for name, kind, options in METRICS:
        yield "metric " + _named(name + " " + kind, options), lambda name=name, kind=kind, options=options: one(name, kind, options)


def optimizers(tf, np):
    """Weights and state after steps of a dense and of a sparse variable."""
    def one(name, options):
        model = tf.keras.Sequential([tf.keras.layers.Embedding(6, 2, input_length=3), tf.keras.layers.Flatten(),
                                     tf.keras.layers.Dense(2, kernel_constraint="nonneg", bias_initializer="ones")])
        model.set_weights([(0.3 * np.cos(np.arange(value.size) + 1.0)).reshape(value.shape).astype("float32") for value in model.get_weights()])
        clipped = any(key.startswith("clip") for key in options)
        if clipped:  # rows of a table cannot be clipped
            model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), kernel_initializer="ones")])
        model.compile(getattr(tf.keras.optimizers, name)(**options), "mse")
        x, y = np.array([[1, 2, 1], [0, 1, 5]]), np.array([[1.0, -1.0], [0.5, 2.0]])
        found = [model.train_on_batch(x, y) for _ in range(3)]
        names = [weight.name for weight in model.optimizer.weights]
        config = json.dumps({key: float(value) if isinstance(value, np.floating) else value for key, value in model.optimizer.get_config().items()},
                            sort_keys=True, default=str)
        return [tf.constant(np.array(found, "float32"), name="losses")] + [
            tf.constant(value, name="weight") for value in model.get_weights() + model.optimizer.get_weights()] + [
            tf.constant(names + [config.split("learning_rate")[0]], name="texts")]

    for name, options in OPTIMIZERS:
        yield "optimizer " + _named(name, options), lambda name=name, options=options: one(name, options)


def training(tf, np):
    """Whole trainings: everything random comes from seeds."""
    def classifier():
        tf.set_random_seed(7)
        np.random.seed(5)
        x = np.random.normal(size=(24, 4)).astype("float32")
        y = (x.sum(axis=1) > 0).astype("int64")
        glorot = tf.keras.initializers.glorot_uniform
        model = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="relu", input_shape=(4,)), tf.keras.layers.Dropout(0.3, seed=2),
                                     tf.keras.layers.BatchNormalization(),
                                     tf.keras.layers.Dense(2, activation="softmax", kernel_initializer=glorot(seed=4))])
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        history = model.fit(x, y, batch_size=5, epochs=3, validation_split=0.25, verbose=0).history
        names = sorted(history)
        return [tf.constant(np.array([history[name] for name in names], "float32"), name="history"), tf.constant(names, name="names")] + [
            tf.constant(value, name="weight") for value in model.get_weights()]

    def weighted():
        model = tf.keras.Sequential([tf.keras.layers.LSTM(3, return_sequences=True, input_shape=(4, 2), kernel_initializer="ones",
                                                          recurrent_initializer="ones")])
        model.compile("sgd", "mse", sample_weight_mode="temporal", weighted_metrics=["mae"])
        x, y = np.cos(np.arange(24)).reshape(3, 4, 2), np.sin(np.arange(36)).reshape(3, 4, 3)
        weights = np.arange(12).reshape(3, 4) / 7.0
        found = [model.train_on_batch(x, y, sample_weight=weights), model.test_on_batch(x, y, sample_weight=weights)]
        return [tf.constant(np.array(found, "float32"), name="found")] + [tf.constant(value, name="weight") for value in model.get_weights()]

    def schedules():
        made = tf.keras.optimizers.schedules
        step = tf.constant(7.0)
        return [made.ExponentialDecay(0.5, 3, 0.9)(step), made.ExponentialDecay(0.5, 3, 0.9, staircase=True)(step),
                made.InverseTimeDecay(0.5, 3, 0.9)(step), made.PolynomialDecay(0.5, 10, 0.1, power=2.0)(step),
                tf.identity(made.PiecewiseConstantDecay([5.0, 9.0], [1.0, 0.5, 0.25])(step), name="pieces"),
                tf.keras.experimental.CosineDecay(0.5, 10)(step)]

    yield "training classifier", classifier
    yield "training with weights", weighted
    yield "schedules", schedules


def cases(tf, np):
    """All of them."""
    for family in (losses, metrics, optimizers, training):
        yield from family(tf, np)
