"""Seeds that are not given, inside of conditionals and loops, and in Keras: numbers that are drawn there, and layers that begin behind others."""


def _control(tf):
    def flag():
        return tf.placeholder_with_default(True, [])

    def rows():
        return tf.placeholder_with_default([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]], [None, 4])

    def nested():
        pred, x = flag(), rows()
        return tf.cond(pred, lambda: tf.cond(pred, lambda: x + tf.random_uniform([4]) + x[0, 0] + tf.random_uniform([4]), lambda: x), lambda: x - 1.0)

    def in_loop(**options):
        x, v = rows(), tf.ones([2, 4]) * 3.0
        return tf.while_loop(lambda i, a: tf.logical_and(i < 3, tf.reduce_sum(x) > 0.0), lambda i, a: [i + 1, a + v + tf.random_uniform([2, 4]) * x],
                             [0, tf.zeros([2, 4])], **options)[1]

    def branch_in_loop():
        v = tf.ones([4]) * 3.0
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, tf.cond(i > 0, lambda: a + tf.random_uniform([4]),
                                                                             lambda: a - tf.random_uniform([4]) * v)], [0, tf.zeros([4])])[1]

    def chosen():
        number = tf.placeholder_with_default(1, [])
        return tf.case([(tf.equal(number, 0), lambda: tf.random_uniform([2])), (tf.equal(number, 1), lambda: tf.random_uniform([2]))],
                       default=lambda: tf.zeros([2]))

    def read_in_loop():
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
        tf.while_loop(lambda a: a < 3.0, lambda a: a + tf.reduce_sum(v.read_value()), [0.0])
        return tf.random_uniform([2])

    def mapped():
        data = tf.data.Dataset.range(3).map(lambda x: tf.cond(x < 5, lambda: tf.random_uniform([2]), lambda: tf.zeros([2])))
        return tf.compat.v1.data.make_one_shot_iterator(data).get_next()

    yield "the function of a dataset", mapped  # branches count their own operations there
    yield "cond", lambda: tf.cond(flag(), lambda: tf.random_uniform([3]), lambda: tf.zeros([3]))
    yield "cond second branch", lambda: tf.cond(tf.logical_not(flag()), lambda: rows() * 2.0, lambda: rows() + tf.random_uniform([2, 4]))
    yield "cond nested", nested
    yield "dropout", lambda: tf.layers.dropout(rows(), 0.3, training=flag())
    yield "while", in_loop
    yield "while counted", lambda: in_loop(maximum_iterations=2)
    yield "while with cond", branch_in_loop
    yield "while that reads a variable", read_in_loop
    yield "map_fn", lambda: tf.map_fn(lambda e: e + tf.random_uniform([4]), rows()[:1])  # the order of its turns is open
    yield "scan", lambda: tf.scan(lambda a, e: a + tf.random_uniform([4]), rows())
    yield "case", chosen


def _layers(tf):
    layers = tf.keras.layers
    for name, options in (("SimpleRNN", {}), ("LSTM", {}), ("LSTM", {"implementation": 2}), ("GRU", {}), ("GRU", {"implementation": 2}),
                          ("GRU", {"reset_after": True}), ("GRU", {"reset_after": True, "implementation": 2})):
        for more in ({}, {"use_bias": False}, {"dropout": 0.2}, {"recurrent_dropout": 0.2}, {"dropout": 0.2, "recurrent_dropout": 0.2},
                     {"unroll": True}, {"return_sequences": True, "go_backwards": True}, {"activation": "relu"}):
            both = dict(options, **more)
            yield "%s %s" % (name, sorted(both.items())), lambda name=name, both=both: getattr(layers, name)(3, **both), (5, 2)
    yield "masked LSTM", lambda: tf.keras.Sequential([layers.Masking(), layers.LSTM(3, return_sequences=True), layers.GRU(2)]), (5, 2)
    yield "Bidirectional", lambda: layers.Bidirectional(layers.LSTM(3)), (5, 2)
    yield "cells", lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)]), (5, 2)
    yield "TimeDistributed", lambda: layers.TimeDistributed(layers.Dense(3)), (5, 2)
    yield "masked TimeDistributed", lambda: tf.keras.Sequential([layers.Masking(), layers.TimeDistributed(layers.Dense(3))]), (5, 2)
    for name in ("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "SpatialDropout1D"):
        yield name, lambda name=name: getattr(layers, name)(0.3), (5, 2)
    yield "Softmax", lambda: layers.Softmax(), (5, 2)
    yield "selu", lambda: layers.Activation("selu"), (5, 2)
    yield "BatchNormalization", lambda: layers.BatchNormalization(), (5, 2)
    yield "Embedding", lambda: layers.Embedding(5, 3, mask_zero=True), (5,)
    for name, options in (("ConvLSTM2D", {}), ("ConvLSTM2D", {"dropout": 0.2, "recurrent_dropout": 0.2, "return_sequences": True}),
                          ("ConvLSTM2D", {"use_bias": False, "padding": "same"})):
        yield "%s %s" % (name, sorted(options.items())), lambda options=options: layers.ConvLSTM2D(2, 3, **options), (4, 6, 6, 2)


def _behind(tf, make, shape):
    """The seed of what is made behind a layer."""
    tf.compat.v1.set_random_seed(3)
    make()(tf.keras.Input(shape))
    drawn = tf.random_uniform([1], name="drawn_behind")
    seed = drawn.op.inputs[0].op.graph.get_operation_by_name("drawn_behind/RandomUniform").get_attr("seed2")
    return tf.constant(seed, name="output")


def _trained(tf, np, make, shape):
    """The losses of a model whose layers draw numbers in training."""
    tf.compat.v1.set_random_seed(3)
    np.random.seed(5)  # the backend's random functions draw their seeds there
    inputs = tf.keras.Input(shape)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(make(tf.keras.layers)(inputs)))
    model.compile("sgd", "mse")
    x = np.cos(np.arange(8 * int(np.prod(shape))) * 0.7).reshape((8,) + shape).astype("float32")
    history = model.fit(x, np.sum(x, axis=tuple(range(1, x.ndim)))[:, None], epochs=3, batch_size=4, shuffle=False, verbose=0).history
    return tf.constant(np.asarray(history["loss"], np.float32), name="output")


def _trained_on_dataset(tf, np):
    """The losses of a subclassed model, whose variables are made when its first data come."""
    class Subclassed(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.wide, self.drop, self.narrow = tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)

        def call(self, inputs, training=None):
            return self.narrow(self.drop(self.wide(inputs), training=training))

    tf.compat.v1.set_random_seed(3)
    x = np.cos(np.arange(48)).reshape(24, 2).astype("float32")
    model = Subclassed()
    model.compile("sgd", "mse")
    history = model.fit(tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8), epochs=2, verbose=0).history
    return tf.constant(np.asarray(history["loss"], np.float32), name="output")


def _operations(tf):
    """What is computed of an input without layers."""
    yield "slice", lambda x: x[:, :2]
    yield "sums", lambda x: x * 2.0 + 1.0
    yield "concat", lambda x: tf.concat([x, x], 1)
    yield "mean", lambda x: tf.reduce_mean(x, 1, keepdims=True)
    yield "relu", lambda x: tf.nn.relu(tf.keras.layers.Dense(3)(x)) * 2.0
    yield "reshape", lambda x: tf.reshape(x, [-1, 2, 2])


def _behind_operation(tf, function):
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(3)
        source = tf.keras.Input((4,))
        outputs = tf.keras.layers.Dense(2)(tf.keras.layers.Dense(2)(function(source)))
        model = tf.keras.Model(source, outputs)
        values = [value.ravel() for value in model.get_weights()]
        names = " ".join(layer.name for layer in model.layers)
    return [tf.concat([tf.constant(value) for value in values], 0, name="weights"), tf.constant(names, name="names")]


def cases(tf, np):
    """Numbers, seeds and losses."""
    for name, function in _operations(tf):
        yield "behind the operation " + name, lambda function=function: _behind_operation(tf, function)
    yield "trained on a dataset", lambda: _trained_on_dataset(tf, np)
    for name, build in _control(tf):
        yield "inside " + name, lambda build=build: (tf.compat.v1.set_random_seed(3), tf.identity(build(), name="output"))[1]
    for name, make, shape in _layers(tf):
        yield "behind " + name, lambda make=make, shape=shape: _behind(tf, make, shape)
    for name, make, shape in (("Dropout", lambda layers: layers.Dropout(0.3), (6,)),
                              ("GaussianNoise", lambda layers: layers.GaussianNoise(0.3), (6,)),
                              ("AlphaDropout", lambda layers: layers.AlphaDropout(0.3), (6,)),
                              ("LSTM", lambda layers: layers.LSTM(3, dropout=0.2, recurrent_dropout=0.2), (4, 3))):
        yield "trained " + name, lambda make=make, shape=shape: _trained(tf, np, make, shape)
