"""tf.layers: outputs, gradients, names of variables and of ops, collections, seeded initial values, errors."""


def _initializer(tf, np):
    """Different numbers in every place, the same under both systems."""
    def make(shape, dtype=None, partition_info=None, **_):
        shape = [int(extent) for extent in shape]
        size = int(np.prod(shape)) if shape else 1
        return tf.constant(np.sin(np.arange(size) * 1.3 + len(shape)).reshape(shape) * 0.6, dtype=dtype or tf.float32)
    return make


def _data(tf, np, *shape):
    return tf.constant(np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape), tf.float32)


def _names(tf):
    """Variables and collections, as a tensor."""
    parts = []
    for key in ("variables", "trainable_variables", "update_ops", "regularization_losses"):
        parts += [key] + [element.name for element in tf.get_collection(key)]
    return tf.constant(parts, name="names")


def _ops(tf):
    """Types and names of all ops: their number decides the seeds of later ones."""
    return tf.constant([op.type + " " + op.name for op in tf.get_default_graph().get_operations()], name="all_ops")


def calls(tf, np):
    """(name, function of the layer's inputs, shape of the inputs)."""
    layers = tf.layers
    conv = {"filters": 4, "kernel_size": 3}
    first = {"data_format": "channels_first"}
    return [
        ("dense", lambda x: layers.dense(x, 4), [2, 3]),
        ("dense relu without bias", lambda x: layers.dense(x, 4, tf.nn.relu, False, name="mine"), [2, 3]),
        ("dense by name", lambda x: layers.dense(x, 4, activation="tanh"), [2, 3]),
        ("conv1d", lambda x: layers.conv1d(x, 4, 3), [2, 9, 3]),
        ("conv1d strides", lambda x: layers.conv1d(x, 4, 3, 2, "same", activation=tf.tanh), [2, 9, 3]),
        ("conv1d causal", lambda x: layers.Conv1D(4, 3, padding="causal")(x), [2, 9, 3]),
        ("conv2d", lambda x: layers.conv2d(x, strides=2, padding="same", **conv), [2, 9, 7, 3]),
        ("conv2d rectangle", lambda x: layers.conv2d(x, 2, (1, 3), (2, 1), use_bias=False, activation=tf.nn.relu), [1, 5, 6, 2]),
        ("conv3d", lambda x: layers.conv3d(x, 2, 2, strides=2, padding="same"), [1, 4, 4, 5, 2]),
        ("conv2d_transpose", lambda x: layers.conv2d_transpose(x, strides=2, **conv), [2, 4, 3, 2]),
        ("conv2d_transpose same", lambda x: layers.conv2d_transpose(x, 2, (2, 3), (2, 1), "same", use_bias=False), [1, 3, 3, 2]),
        ("conv3d_transpose", lambda x: layers.conv3d_transpose(x, 2, 2, strides=2), [1, 2, 2, 3, 2]),
        ("separable_conv1d", lambda x: layers.separable_conv1d(x, depth_multiplier=2, **conv), [2, 9, 3]),
        ("separable_conv2d", lambda x: layers.separable_conv2d(x, depth_multiplier=2, padding="same", **conv), [1, 5, 5, 3]),
        ("max_pooling1d", lambda x: layers.max_pooling1d(x, 2, 2), [2, 9, 3]),
        ("average_pooling1d channels_first", lambda x: layers.average_pooling1d(x, 3, 2, "same", **first), [2, 3, 9]),
        ("max_pooling2d", lambda x: layers.max_pooling2d(x, 2, 2, name="pool"), [2, 9, 8, 3]),
        ("average_pooling2d", lambda x: layers.average_pooling2d(x, (3, 2), (2, 1), "same"), [2, 9, 8, 3]),
        ("max_pooling3d", lambda x: layers.max_pooling3d(x, 2, 2), [1, 4, 5, 4, 2]),
        ("average_pooling3d channels_first", lambda x: layers.average_pooling3d(x, 2, 2, **first), [1, 2, 4, 5, 4]),
        ("flatten", lambda x: layers.flatten(x), [2, 3, 4]),
        ("flatten channels_first", lambda x: layers.flatten(x, **first), [2, 3, 4]),
        ("dropout", lambda x: layers.dropout(x, 0.4, seed=7, training=True), [4, 5]),
        ("dropout noise_shape", lambda x: layers.Dropout(0.4, noise_shape=[None, 1], seed=7)(x, training=True), [4, 5]),
        ("dropout inference", lambda x: layers.dropout(x, 0.4, seed=7), [4, 5]),
        ("batch_normalization", lambda x: layers.batch_normalization(x, training=True), [6, 4]),
        ("batch_normalization inference", lambda x: layers.batch_normalization(x), [6, 4]),
        ("batch_normalization fused", lambda x: layers.batch_normalization(x, training=True, momentum=0.9), [2, 3, 3, 4]),
        ("batch_normalization fused inference", lambda x: layers.batch_normalization(x, name="norm"), [2, 3, 3, 4]),
        ("batch_normalization bare", lambda x: layers.batch_normalization(x, training=True, scale=False, center=False), [2, 3, 3, 4]),
        ("batch_normalization unfused axis 1", lambda x: layers.batch_normalization(x, 1, training=True, fused=False), [3, 2, 2, 3]),
        ("batch_normalization axes", lambda x: layers.batch_normalization(x, [1, 2], training=True), [4, 3, 2]),
        ("batch_normalization virtual", lambda x: layers.batch_normalization(x, training=True, virtual_batch_size=2), [4, 3]),
        ("batch_normalization renorm", lambda x: layers.batch_normalization(
            x, training=True, renorm=True, renorm_clipping={"rmax": 1.5, "rmin": 0.5, "dmax": 0.5}), [6, 3]),
        ("batch_normalization adjustment", lambda x: layers.batch_normalization(
            x, training=True, adjustment=lambda shape: (tf.fill([3], 1.5), tf.fill([3], 0.25))), [6, 3]),
        ("regularizers", lambda x: layers.dense(
            x, 4, kernel_regularizer=tf.nn.l2_loss, bias_regularizer=tf.nn.l2_loss,
            activity_regularizer=lambda y: tf.reduce_sum(tf.abs(y))), [2, 3]),
        ("three layers", lambda x: layers.dense(layers.dense(layers.dense(x, 4), 5, name="b"), 2), [2, 3]),
    ]


def single(tf, np):
    """Each call: its output, its updates, the gradients of inputs and variables, all names, and the ops in their order."""
    def case(call, shape, name):
        def build():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                x = _data(tf, np, *shape)
                y = call(x)
            ops, names = _ops(tf), _names(tf)
            slopes = np.sin(np.arange(int(np.prod(y.shape.as_list()))) * 2.1).reshape(y.shape.as_list()) + 0.3
            gradients = tf.gradients(tf.reduce_sum(y * tf.constant(slopes, tf.float32) + y * y), [x] + tf.trainable_variables())
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS) + [y]):
                averages = [tf.identity(v.read_value()) for v in tf.global_variables() if "moving" in v.name or "renorm" in v.name]
            losses = [tf.identity(loss) for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
            return [y, names, ops] + [tf.identity(g, name="gradient") for g in gradients] + losses + averages
        return build

    for name, call, shape in calls(tf, np):
        yield name, case(call, shape, name)


def seeded(tf, np):
    """The graph's seed decides the initial values, through the number of ops before each initializer."""
    def model(*layers):
        def build():
            tf.set_random_seed(42)
            x = tf.ones([2, 8, 8, 3])
            for layer in layers:
                x = layer(x)
            return [tf.identity(v.initial_value, name="initial") for v in tf.global_variables()] + [tf.identity(tf.random_normal([2]), name="drawn")]
        return build

    layers = tf.layers
    yield "seeded convnet", model(
        lambda x: layers.conv2d(x, 4, 3, activation=tf.nn.relu), lambda x: layers.max_pooling2d(x, 2, 2),
        lambda x: layers.batch_normalization(x, training=True), layers.flatten, lambda x: layers.dropout(x, training=True),
        lambda x: layers.dense(x, 3, kernel_initializer=tf.initializers.he_normal()))
    yield "seeded transposes", model(
        lambda x: layers.conv2d_transpose(x, 2, 3, strides=2), lambda x: layers.separable_conv2d(x, 2, 3),
        lambda x: layers.conv2d(x, 2, 3, kernel_initializer=tf.keras.initializers.RandomNormal()),
        lambda x: layers.dense(x, 2, kernel_initializer=tf.keras.initializers.Orthogonal()))


def dynamic(tf, np):
    """Whether to train is known only when the graph runs: two steps of training, then inference."""
    def case(call, shape):
        def build():
            training = tf.placeholder_with_default(True, [])
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                y = call(_data(tf, np, *shape) * 2.0 + 0.5, training)
            slopes = np.sin(np.arange(int(np.prod(shape))) * 2.1).reshape(shape).astype(np.float32) + 0.3
            gradients = tf.gradients(tf.reduce_sum(y * slopes + y * y), tf.trainable_variables())
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            values = []
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for train in (True, True, False):
                    values += sess.run([y, gradients, updates], {training: train})[:1] + sess.run(tf.global_variables())
            names = [v.name for v in tf.global_variables()] + [str(len(updates))]
            return [tf.constant(value, name="value") for value in values] + [tf.constant(names, name="names")]
        return build

    layers = tf.layers
    yield "dynamic fused", case(lambda x, training: layers.batch_normalization(x, training=training, momentum=0.9), [2, 3, 3, 4])
    yield "dynamic plain", case(lambda x, training: layers.batch_normalization(x, training=training, momentum=0.9), [6, 4])
    yield "dynamic renorm", case(lambda x, training: layers.batch_normalization(
        x, training=training, renorm=True, renorm_momentum=0.8, renorm_clipping={"rmax": 1.5, "rmin": 0.5, "dmax": 0.5}), [6, 3])
    yield "dynamic virtual", case(lambda x, training: layers.batch_normalization(x, training=training, virtual_batch_size=2), [4, 3])
    yield "dynamic adjustment", case(lambda x, training: layers.batch_normalization(
        x, training=training, adjustment=lambda shape: (tf.fill([3], 1.5), tf.fill([3], 0.25))), [6, 3])
    yield "dynamic dropout", case(lambda x, training: layers.dense(layers.dropout(x, 0.4, seed=7, training=training), 4), [4, 4])


def sharing(tf, np):
    """Scopes, reuse and names."""
    layers = tf.layers

    def reuse():
        with tf.variable_scope("a"):
            layers.dense(tf.ones([1, 2]), 3, name="d")
        with tf.variable_scope("a", reuse=True):
            y = layers.dense(tf.ones([1, 2]), 3, name="d")
        z = layers.dense(tf.ones([1, 2]), 3, name="a/d", reuse=True)
        return [_names(tf), _ops(tf), tf.constant([y.name, z.name])]

    def twice():
        layer = layers.Dense(3)
        y = layer(tf.ones([1, 2]))
        z = layer(tf.ones([4, 2]))
        with tf.name_scope("elsewhere"):
            w = layer(tf.ones([5, 2]))
        return [_names(tf), tf.constant([y.name, z.name, w.name, layer.name, layer.scope_name, str(layer.dtype)]), _ops(tf)]

    def auto():
        for _ in range(2):
            with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
                y = layers.conv2d(tf.ones([1, 3, 3, 2]), 2, 2, name="c", kernel_regularizer=tf.nn.l2_loss)
        return [_names(tf), tf.constant(y.name)]

    def custom():
        class Scale(layers.Layer):
            def build(self, input_shape):
                self.factor = self.add_weight("factor", [int(input_shape[-1])], initializer=tf.ones_initializer(), regularizer=tf.nn.l2_loss)
                self.count = self.add_variable("count", [], initializer=tf.zeros_initializer(), trainable=False)
                self.built = True

            def call(self, inputs):
                self.add_update(self.count.assign_add(tf.reduce_sum(inputs)), inputs=True)
                self.add_loss(tf.reduce_mean(inputs), inputs=inputs)
                return inputs * self.factor

        layer = Scale(name="mine")
        y = layer(tf.ones([2, 3]))
        counts = [len(layer.losses), len(layer.updates), len(layer.get_losses_for(None)), len(layer.get_updates_for(None)), layer.count_params()]
        return [y, _names(tf), tf.constant(counts), tf.constant([v.name for v in layer.variables])]

    def partitioned():
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            y = layers.dense(tf.ones([1, 4]), 3, kernel_initializer=tf.ones_initializer(), kernel_regularizer=tf.nn.l2_loss)
            z = layers.batch_normalization(y, training=True)
        return [y, z, _names(tf)]

    def untrained():
        layers.dense(tf.ones([1, 4]), 3, trainable=False)
        layers.batch_normalization(tf.ones([2, 4]), training=True, trainable=False)
        return _names(tf)

    yield "reuse", reuse
    yield "called twice", twice
    yield "auto reuse", auto
    yield "own layer", custom
    yield "partitioned", partitioned
    yield "not trained", untrained


def errors(tf, np):
    """What is refused."""
    layers = tf.layers
    unknown = tf.placeholder
    for name, call in [
            ("rank of dense", lambda: layers.dense(tf.ones([3]), 2)),
            ("unknown depth", lambda: layers.dense(unknown(tf.float32, [3, None]), 2)),
            ("integers", lambda: layers.dense(tf.ones([3, 2], tf.int32), 2)),
            ("rank of conv2d", lambda: layers.conv2d(tf.ones([3, 2]), 2, 3)),
            ("unknown channels", lambda: layers.conv2d(unknown(tf.float32, [1, 8, 8, None]), 2, 3)),
            ("data_format", lambda: layers.conv2d(tf.ones([1, 8, 8, 3]), 2, 3, data_format="last")),
            ("padding", lambda: layers.conv2d(tf.ones([1, 8, 8, 3]), 2, 3, padding="most")),
            ("kernel_size", lambda: layers.conv2d(tf.ones([1, 8, 8, 3]), 2, (1, 2, 3))),
            ("strides None", lambda: layers.max_pooling2d(tf.ones([1, 8, 8, 3]), 2, None)),
            ("strides and dilation", lambda: layers.conv2d(tf.ones([1, 8, 8, 3]), 2, 3, strides=2, dilation_rate=2)),
            ("axis", lambda: layers.batch_normalization(tf.ones([4, 3]), axis=2)),
            ("axis type", lambda: layers.batch_normalization(tf.ones([4, 3]), axis=1.5)),
            ("clipping", lambda: layers.batch_normalization(tf.ones([4, 3]), renorm=True, renorm_clipping={"x": 1})),
            ("same name", lambda: [layers.dense(tf.ones([1, 2]), 3, name="d"), layers.dense(tf.ones([1, 2]), 3, name="d")]),
            ("other depth", lambda: [layer(tf.ones([1, 3])) for layer in [layers.Dense(2)] for _ in [layer(tf.ones([1, 2]))]]),
            ("reuse of nothing", lambda: layers.dense(tf.ones([1, 2]), 3, name="d", reuse=True)),
            ("unknown argument", lambda: layers.Dense(3, colour="red")),
            ("causal images", lambda: layers.conv2d(tf.ones([1, 8, 8, 3]), 2, 3, padding="causal"))]:
        yield "error: " + name, call


def cases(tf, np):
    """All of them."""
    for part in (single, seeded, dynamic, sharing, errors):
        yield from part(tf, np)
