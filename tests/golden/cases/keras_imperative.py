"""Training of Keras models in imperative style: what is drawn (dropout, noise, samples), how often ``call`` runs and with what, what is reported.

Each case is a small program of values, told as in ``eager.py``. A ``fit`` is a traced function, ``train_on_batch`` a call with values.
"""


def _eager_mode():
    try:
        from tensorflow.python.eager import context
    except ImportError:
        from penstock.imperative import context
    return context.eager_mode()


def _models(tf):
    """{name: function that makes a model of 8 numbers with one output}."""
    keras, layers = tf.keras, tf.keras.layers

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.drop, self.out = layers.Dense(6, activation="relu"), layers.Dropout(0.3), layers.Dense(1)

        def call(self, inputs, training=None):
            return self.out(self.drop(self.hidden(inputs), training=training))

    class Silent(Net):
        """Its layers are not told that it trains."""

        def call(self, inputs):
            return self.out(self.drop(self.hidden(inputs)))

    class WithLoss(Net):
        def call(self, inputs, training=None):
            hidden = self.drop(self.hidden(inputs), training=training)
            self.add_loss(tf.reduce_mean(hidden) * 0.1)
            self.add_metric(tf.reduce_max(hidden), name="largest", aggregation="mean")
            return self.out(hidden)

    def functional():
        inputs = keras.Input((8,))
        hidden = layers.GaussianNoise(0.1)(layers.Dense(6, activation="relu")(inputs))
        return keras.Model(inputs, layers.Dense(1)(layers.AlphaDropout(0.2)(hidden)))

    def sampling():
        inputs = keras.Input((8,))
        mean = layers.Dense(4)(inputs)
        sample = layers.Lambda(lambda tensor: tensor + keras.backend.random_normal(tf.shape(tensor)))(mean)
        model = keras.Model(inputs, layers.Dense(1)(sample))
        model.add_loss(tf.reduce_mean(tf.square(mean)))
        return model

    def normalized():
        return keras.Sequential([layers.Dense(6, input_shape=(8,), kernel_regularizer="l2"), layers.BatchNormalization(),
                                 layers.Activation("relu"), layers.Dropout(0.5), layers.Dense(1, activity_regularizer="l1")])

    def images():
        return keras.Sequential([layers.Reshape((4, 2, 1), input_shape=(8,)), layers.Conv2D(3, 2, padding="same"), layers.SpatialDropout2D(0.3),
                                 layers.Flatten(), layers.Dropout(0.2), layers.Dense(1)])

    def recurrent(kind):
        return lambda: keras.Sequential([layers.Reshape((4, 2), input_shape=(8,)), getattr(layers, kind)(3, dropout=0.2, recurrent_dropout=0.2),
                                         layers.Dense(1)])

    yield "Sequential", lambda: keras.Sequential([layers.Dense(6, activation="relu", input_shape=(8,)), layers.Dropout(0.5), layers.Dense(1)])
    yield "Sequential without a shape", lambda: keras.Sequential([layers.Dense(6, activation="relu"), layers.Dropout(0.5), layers.Dense(1)])
    yield "subclass", Net
    yield "subclass that is not told", Silent
    yield "subclass with a loss and a metric", WithLoss
    yield "functional with noise", functional
    yield "functional that samples", sampling
    yield "batch normalization", normalized
    yield "images", images
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        yield kind, recurrent(kind)


def cases(tf, np):
    keras, layers = tf.keras, tf.keras.layers
    x = np.random.RandomState(0).rand(24, 8).astype("float32")
    y = np.random.RandomState(1).rand(24, 1).astype("float32")

    def told(compute):
        """A case that runs ``compute`` in imperative style."""
        def build():
            with _eager_mode():
                tf.set_random_seed(3)
                np.random.seed(4)
                values = [np.asarray(getattr(value, "numpy", lambda value=value: value)()) for value in compute()]
                values = [value.astype("float32") if value.dtype == np.float64 else value for value in values]  # means of logs are float32 to users
            return [tf.constant(value, name="told") for value in values]
        return build

    def history(model, *args, **kwargs):
        result = model.fit(*args, verbose=0, **kwargs).history
        return [value for key in sorted(result) for value in result[key]]

    def compiled(make, **options):
        model = make()
        model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mse", **options)
        return model

    for name, make in _models(tf):
        def fitted(make=make):
            model = compiled(make)
            values = history(model, x, y, batch_size=8, epochs=2, validation_data=(x[:5], y[:5]))
            return values + [model.evaluate(x, y, verbose=0), model.predict(x[:2]), tf.random_normal([2])]
        yield "fit of %s" % name, told(fitted)

        def batches(make=make):
            model = compiled(make, metrics=["mae"])
            results = [model.train_on_batch(x, y) for _ in range(2)]
            return results + [model.test_on_batch(x, y), model.predict_on_batch(x[:2]), tf.random_normal([2])]
        yield "batches of %s" % name, told(batches)

        def eagerly(make=make):
            model = compiled(make, run_eagerly=True, metrics=["mae"])
            return history(model, x, y, batch_size=8, epochs=2) + [model.predict(x[:2]), tf.random_normal([2])]
        yield "run_eagerly of %s" % name, told(eagerly)

    make = dict(_models(tf))["Sequential"]

    def in_turns():
        model = compiled(make)
        values = history(model, x, y, batch_size=12, shuffle=False) + history(model, x[:20], y[:20], batch_size=12, epochs=2)
        return values + [model.train_on_batch(x, y)] + history(model, x, y, batch_size=12)
    yield "traces in turns", told(in_turns)
    yield "one batch of all", told(lambda: history(compiled(make), x, y, epochs=3))
    yield "weights of samples", told(lambda: history(compiled(make, weighted_metrics=["mae"]), x, y, sample_weight=np.arange(24.0) / 12,
                                                     batch_size=8))
    yield "weights of classes", told(lambda: history(compiled(make), x, np.round(y), class_weight={0: 1.0, 1: 3.0}, batch_size=8))
    yield "held out", told(lambda: history(compiled(make), x, y, validation_split=0.25, batch_size=6, epochs=2))
    yield "doubles and integers", told(lambda: history(compiled(make), (x * 9).astype("int32"), y.astype("float64"), batch_size=8))
    yield "a dataset", told(lambda: history(compiled(make), tf.data.Dataset.from_tensor_slices((x, y)).batch(10), epochs=2))
    endless = tf.data.Dataset.from_tensor_slices
    yield "a dataset without end", told(lambda: history(compiled(make), endless((x, y)).repeat().batch(6, drop_remainder=True), epochs=2,
                                                        steps_per_epoch=3))

    class Slices(keras.utils.Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return x[index * 8:index * 8 + 8], y[index * 8:index * 8 + 8]

    yield "arrays and a number of steps", told(lambda: history(compiled(make), x, y, epochs=2, steps_per_epoch=3, validation_data=(x, y)))
    yield "a Sequence", told(lambda: history(compiled(make), Slices(), epochs=2, shuffle=False))

    def on_one_device():
        with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
            model = compiled(make)
        return history(model, x, y, batch_size=8, shuffle=False, epochs=2) + [model.predict(x[:2])]
    yield "one device", told(on_one_device)

    def two_ends():
        first, second = keras.Input((8,), name="first"), keras.Input((8,), name="second")
        a, b = layers.Dropout(0.5)(first), layers.Dropout(0.2)(second)
        model = keras.Model([first, second], [layers.Dense(1, name="one")(a), layers.Dense(2, name="two")(layers.concatenate([a, b]))])
        model.compile("sgd", {"one": "mse", "two": "mae"}, loss_weights={"one": 1.0, "two": 0.3}, metrics={"two": ["mse"]})
        targets = {"one": y, "two": np.zeros((24, 2))}
        values = history(model, {"first": x, "second": x}, targets, batch_size=8)
        return values + [model.train_on_batch([x, x], [y, np.zeros((24, 2))]), model.evaluate([x, x], list(targets.values()), verbose=0)]
    yield "two inputs and outputs", told(two_ends)

    def a_gan():
        maker = keras.Sequential([layers.Dense(6, activation="relu", input_shape=(3,)), layers.Dense(8)])
        judge = keras.Sequential([layers.Dense(6, input_shape=(8,)), layers.LeakyReLU(0.2), layers.Dropout(0.4),
                                  layers.Dense(1, activation="sigmoid")])
        judge.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
        judge.trainable = False
        noise = keras.Input((3,))
        both = keras.Model(noise, judge(maker(noise)))
        both.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
        told_ = []
        for _ in range(3):
            seeds = np.random.normal(size=(24, 3)).astype("float32")
            told_ += list(judge.train_on_batch(x, np.ones((24, 1)))) + list(judge.train_on_batch(maker.predict(seeds), np.zeros((24, 1))))
            told_.append(both.train_on_batch(seeds, np.ones((24, 1))))
        return told_
    yield "a GAN", told(a_gan)

    def calls():
        seen = []

        class Watched(keras.Model):
            def __init__(self):
                super().__init__()
                self.out = layers.Dense(1)

            def call(self, inputs, training=None):
                size = inputs.shape.as_list()[0]
                has_value = hasattr(inputs, "_numpy") or hasattr(inputs, "_edge")
                seen.append("%s %s %s" % (has_value, size, training if isinstance(training, bool) else "other"))
                return self.out(inputs)

        model = compiled(Watched)
        model.fit(x, y, batch_size=8, verbose=0)
        model.fit(x, y, batch_size=9, epochs=2, verbose=0)
        model.fit(x, y, batch_size=8, verbose=0, validation_split=0.5)
        model.train_on_batch(x, y)
        model.test_on_batch(x, y)
        model.predict(x)
        model.evaluate(x, y, verbose=0)
        return [";".join(seen)]
    yield "what call sees", told(calls)
