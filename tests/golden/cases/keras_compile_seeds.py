"""Seeds that are not given, of what is made after a Keras model was compiled, trained, evaluated or asked: notebooks make their second model then."""


def _tables(tf, np):
    """(name, layers, arguments of compile) of models whose outputs are probabilities of three classes, or one number."""
    layers, keras = tf.keras.layers, tf.keras

    def classes():
        return [layers.Dense(4, activation="relu", input_shape=(3,)), layers.Dense(3, activation="softmax")]

    def number(activation=None):
        return [layers.Dense(4, activation="relu", input_shape=(3,)), layers.Dense(1, activation=activation)]

    for loss in ("categorical_crossentropy", "mse", "mae", "mape", "msle", "logcosh", "poisson", "kullback_leibler_divergence",
                 "cosine_similarity", "categorical_hinge", "hinge"):
        yield "loss %s" % loss, classes, {"loss": loss, "optimizer": "sgd"}
    yield "loss binary_crossentropy", lambda: number("sigmoid"), {"loss": "binary_crossentropy", "optimizer": "sgd"}
    for loss in (keras.losses.CategoricalCrossentropy(from_logits=True), keras.losses.Huber(), keras.losses.MeanSquaredError(reduction="sum")):
        yield "loss object %s" % loss.name, classes, {"loss": loss, "optimizer": "sgd"}
    for metric in ("accuracy", "mae", "mse", "top_k_categorical_accuracy", "categorical_crossentropy"):
        yield "metric %s" % metric, classes, {"loss": "categorical_crossentropy", "optimizer": "sgd", "metrics": [metric]}
    yield "accuracy of numbers", lambda: number("sigmoid"), {"loss": "binary_crossentropy", "optimizer": "sgd", "metrics": ["accuracy", "mse"]}
    for optimizer in ("sgd", "rmsprop", "adam", "adagrad", "adadelta", "adamax", "nadam", "ftrl"):
        yield "optimizer %s" % optimizer, number, {"loss": "mse", "optimizer": optimizer}
    for name, make in (("momentum", lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)),
                       ("decay", lambda: keras.optimizers.Adam(0.1, decay=1e-3)), ("amsgrad", lambda: keras.optimizers.Adam(0.1, amsgrad=True)),
                       ("clipnorm", lambda: keras.optimizers.Adam(0.1, clipnorm=1.0)),
                       ("clipvalue", lambda: keras.optimizers.RMSprop(0.1, clipvalue=1.0)),
                       ("centered", lambda: keras.optimizers.RMSprop(0.1, centered=True, momentum=0.5)),
                       ("tf.train Adam", lambda: tf.train.AdamOptimizer(0.1)), ("tf.train RMSProp", lambda: tf.train.RMSPropOptimizer(0.1))):
        yield "optimizer with %s" % name, number, {"loss": "mse", "optimizer": make}
    yield "images", lambda: [layers.Dense(48, input_shape=(3,)), layers.Reshape((4, 4, 3)),
                             layers.Conv2D(2, 3, activation="relu"), layers.MaxPooling2D(), layers.BatchNormalization(), layers.Dropout(0.3),
                             layers.Flatten(), layers.Dense(3, activation="softmax")], {
        "loss": "categorical_crossentropy", "optimizer": "adam", "metrics": ["accuracy"]}
    yield "regularizers", lambda: [layers.Dense(4, kernel_regularizer="l2", activity_regularizer="l1", input_shape=(3,)), layers.Dense(1)], {
        "loss": "mse", "optimizer": "sgd"}


def cases(tf, np):
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 24
    targets = {1: x[:, :1], 3: np.eye(3, dtype=np.float32)[[0, 1, 2, 1, 0, 2, 2, 1]]}

    def seed(name):
        """The seed of a random op that is made now."""
        tf.random_uniform([1], name=name)
        return tf.get_default_graph().get_operation_by_name(name + "/RandomUniform").get_attr("seed2")

    def after(make, arguments):
        def build():
            tf.set_random_seed(3)
            model = tf.keras.Sequential(make())
            optimizer = arguments["optimizer"]
            model.compile(**dict(arguments, optimizer=optimizer() if callable(optimizer) else optimizer))
            y, seeds = targets[model.output_shape[-1]], [seed("after_compile")]
            model.fit(x, y, batch_size=4, epochs=2, verbose=0)
            seeds.append(seed("after_fit"))
            model.fit(x, y, batch_size=4, verbose=0)
            model.evaluate(x, y, verbose=0)
            seeds.append(seed("after_evaluate"))
            model.predict(x)
            model.set_weights(model.get_weights())
            return tf.constant(seeds + [seed("after_predict")], name="output")

        return build

    for name, make, arguments in _tables(tf, np):
        yield name, after(make, arguments)

    def with_checkpoints():
        """The weights, the state of the optimizer and the seeds of what is made after files were written and read."""
        import os
        import tempfile
        folder, layers = tempfile.mkdtemp(), tf.keras.layers

        def fresh():
            return tf.keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(1)])

        tf.set_random_seed(3)
        model = fresh()
        model.compile("adam", "mse")
        model.fit(x, targets[1], epochs=2, verbose=0, shuffle=False)
        seeds, path = [seed("after_fit")], os.path.join(folder, "weights")
        for name, write in (("h5", lambda: model.save_weights(path + ".h5")), ("tf", lambda: model.save_weights(path)),
                            ("again", lambda: model.save_weights(path)), ("object", lambda: tf.train.Checkpoint(model=model).save(path + "s"))):
            write()
            seeds.append(seed("after_%s" % name))
        model.load_weights(path)
        seeds.append(seed("after_load"))
        second = fresh()
        second.load_weights(path)
        seeds.append(seed("after_second"))
        second.compile("adam", "mse")
        losses = second.fit(x, targets[1], epochs=2, verbose=0, shuffle=False).history["loss"]
        seeds.append(seed("after_more"))
        return [tf.constant(seeds, name="seeds"), tf.constant(losses, name="losses")]

    yield "checkpoints", with_checkpoints
