"""tf.layers, tf.losses and tf.metrics as programs use them: seeded training, scopes, reuse, partitioned variables; and what is refused."""


def _names(variables):
    return str([(v.name, v.shape.as_list()) for v in variables])


def _collections(tf):
    keys = ("trainable_variables", "variables", "local_variables", "update_ops", "losses", "regularization_losses", "metric_variables")
    return str([(key, [element.name for element in tf.get_collection(key)]) for key in keys])


def _data(np, *shape):
    return np.sin(np.arange(int(np.prod(shape))) * 0.7).reshape(shape).astype(np.float32)


def _trained(tf, np, loss, optimizer, steps=4, ops=()):
    """The losses of a few steps, with the update operations, and what the variables hold then."""
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        losses = [sess.run([loss, train])[0] for _ in range(steps)]
        values = sess.run(tf.trainable_variables())
    sums = [float(np.abs(value).sum()) for value in values]
    return [tf.constant(np.float32(losses), name="losses"), tf.constant(np.float32(sums), name="sums"), train.name, _collections(tf)]


def models(tf, np):
    layers = tf.layers

    def convnet():
        tf.set_random_seed(7)
        x, y = tf.constant(_data(np, 4, 8, 8, 2)), tf.constant([0, 2, 1, 1])
        net = layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.01))
        net = layers.batch_normalization(net, training=True)
        net = layers.max_pooling2d(net, 2, 2)
        net = layers.separable_conv2d(net, 6, 3, activation=tf.nn.elu, depth_multiplier=2)
        net = layers.dropout(layers.flatten(net), 0.3, training=True, seed=5)
        logits = layers.dense(net, 3, name="logits")
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits) + tf.losses.get_regularization_loss()
        return _trained(tf, np, loss, tf.train.AdamOptimizer(0.01))
    yield "convnet", convnet

    def autoencoder():
        tf.set_random_seed(3)
        x = tf.constant(_data(np, 2, 8, 8, 1))
        with tf.variable_scope("encoder"):
            net = layers.conv2d(x, 3, 3, 2, "same", activation=tf.nn.leaky_relu)
            code = layers.dense(layers.flatten(net), 5, tf.nn.tanh, activity_regularizer=lambda h: 0.1 * tf.reduce_sum(tf.abs(h)))
        with tf.variable_scope("decoder"):
            net = tf.reshape(layers.dense(code, 4 * 4 * 3), [-1, 4, 4, 3])
            out = layers.conv2d_transpose(net, 1, 3, 2, "same", activation=tf.nn.sigmoid)
        tf.losses.mean_squared_error(x, out)
        return _trained(tf, np, tf.losses.get_total_loss(), tf.train.RMSPropOptimizer(0.01))
    yield "autoencoder", autoencoder

    def gan():
        tf.set_random_seed(11)

        def discriminator(x, reuse=None):
            with tf.variable_scope("d", reuse=reuse):
                hidden = layers.dense(x, 6, tf.nn.relu, kernel_initializer=tf.glorot_normal_initializer(seed=2))
                return layers.dense(layers.batch_normalization(hidden, training=True), 1)
        with tf.variable_scope("g"):
            fake = layers.dense(tf.random_normal([4, 3]), 5, tf.nn.tanh)
        real_logits, fake_logits = discriminator(tf.constant(_data(np, 4, 5))), discriminator(fake, reuse=True)
        d_loss = tf.losses.sigmoid_cross_entropy(tf.ones([4, 1]), real_logits) + tf.losses.sigmoid_cross_entropy(tf.zeros([4, 1]), fake_logits)
        g_loss = tf.losses.sigmoid_cross_entropy(tf.ones_like(fake_logits), fake_logits, label_smoothing=0.1)
        d_vars, g_vars = tf.trainable_variables("d"), tf.trainable_variables("g")
        d_train = tf.train.AdamOptimizer(0.01, 0.5).minimize(d_loss, var_list=d_vars)
        with tf.control_dependencies([d_train]):
            g_train = tf.train.AdamOptimizer(0.01, 0.5).minimize(g_loss, var_list=g_vars)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            seen = [sess.run([d_loss, g_loss, g_train])[:2] for _ in range(1)]
        return [tf.constant(np.float32(seen), name="seen"), _names(d_vars), _names(g_vars), _collections(tf)]
    yield "gan", gan

    def volumes():
        tf.set_random_seed(5)
        x = tf.constant(_data(np, 2, 4, 6, 4, 2))
        net = layers.conv3d(x, 3, 2, activation=tf.nn.relu, data_format="channels_last", dilation_rate=1)
        net = layers.average_pooling3d(net, 2, 1)
        net = layers.conv3d_transpose(net, 2, 2, 2)
        line = layers.conv1d(tf.reshape(net, [2, -1, 2]), 3, 4, strides=3)
        line = layers.max_pooling1d(layers.separable_conv1d(line, 2, 3), 2, 2)
        return _trained(tf, np, tf.reduce_mean(tf.square(line)), tf.train.GradientDescentOptimizer(0.1)) + [str(line.shape)]
    yield "volumes and lines", volumes

    def renorm():
        x = tf.constant(_data(np, 6, 3) * 3 + 1)
        training = tf.placeholder_with_default(True, [])
        net = layers.batch_normalization(x, training=training, renorm=True, renorm_clipping={"rmax": 2.0, "rmin": 0.5, "dmax": 1.0},
                                         renorm_momentum=0.9, momentum=0.8, name="bn")
        update = tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            seen = []
            for _ in range(3):
                seen.append(sess.run([net, update])[0])
            seen.append(sess.run(net, {training: False}))
            state = sess.run(tf.global_variables())
        return [tf.constant(np.stack(seen), name="seen"), tf.constant(np.concatenate([np.ravel(s) for s in state]), name="state"),
                _names(tf.global_variables()), _collections(tf)]
    yield "batch renormalisation", renorm

    def virtual():
        x = tf.constant(_data(np, 6, 3) * 3 + 1)
        net = layers.batch_normalization(x, training=True, virtual_batch_size=2, fused=False, adjustment=None)
        return [net, _collections(tf)]
    yield "virtual batches", virtual

    def adjusted():
        x = tf.constant(_data(np, 6, 3))
        net = layers.batch_normalization(x, training=True, adjustment=lambda shape: (tf.fill([shape[-1]], 1.5), tf.fill([shape[-1]], 0.5)))
        return [net, _collections(tf)]
    yield "adjusted batch norm", adjusted


def scopes(tf, np):
    layers = tf.layers
    x = _data(np, 2, 5)

    def named():
        layers.dense(x, 2)
        layers.dense(x, 2)
        layers.dense(x, 2, name="mine")
        with tf.variable_scope("a"):
            layers.dense(x, 2)
            with tf.name_scope("b"):
                net = layers.dense(x, 2)
        with tf.name_scope("c"):
            other = layers.dense(x, 2)
        return [_names(tf.global_variables()), net.name, other.name]
    yield "names", named

    def shared():
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            one = layers.dense(x, 3, name="d")
            two = layers.dense(x, 3, name="d")
        three = layers.dense(x, 3, name="d", reuse=False)
        return [one.name, two.name, three.name, _names(tf.global_variables())]
    yield "auto reuse", shared

    def instance():
        layer = layers.Dense(3, name="d", kernel_initializer=tf.ones_initializer())
        outputs = [layer(x), layer.apply(x * 2), layer(tf.constant(x))]
        return outputs + [str((layer.name, layer.scope_name, layer.built, layer.trainable, layer.dtype, layer.updates, layer.losses)),
                          _names(layer.weights), _names(layer.trainable_weights), str(layer.input_spec.axes), layer.graph is tf.get_default_graph()]
    yield "one layer twice", instance

    def frozen():
        layers.dense(x, 2, trainable=False, name="frozen", kernel_regularizer=tf.nn.l2_loss)
        layer = layers.BatchNormalization(trainable=False)
        layer(tf.constant(x), training=True)
        return [_collections(tf), _names(layer.trainable_weights), _names(layer.non_trainable_variables)]
    yield "frozen", frozen

    def partitioned():
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer()):
            net = layers.dense(tf.constant(_data(np, 2, 4)), 3, kernel_regularizer=tf.nn.l2_loss)
            image = layers.conv2d(tf.constant(_data(np, 1, 4, 4, 2)), 2, 2, bias_initializer=tf.ones_initializer())
        return [tf.identity(net, name="net"), tf.identity(image, name="image"), _collections(tf),
                tf.identity(tf.losses.get_regularization_loss(), name="loss")]
    yield "partitioned", partitioned

    def getter():
        seen = []

        def custom(getter, name, *args, **kwargs):
            seen.append((name, kwargs.get("trainable"), kwargs.get("regularizer") is not None))
            return getter(name, *args, **kwargs)
        with tf.variable_scope("g", custom_getter=custom, regularizer=tf.nn.l2_loss):
            layers.dense(x, 2)
            layers.batch_normalization(tf.constant(x))
        return [str(seen), _collections(tf)]
    yield "custom getter and regularizer of the scope", getter

    def own():
        class Scale(layers.Layer):
            def __init__(self, factor, **kwargs):
                super().__init__(**kwargs)
                self.factor = factor

            def build(self, input_shape):
                self.w = self.add_variable("w", [int(input_shape[-1])], initializer=tf.ones_initializer(), regularizer=tf.nn.l2_loss)
                self.count = self.add_weight("count", [], trainable=False, initializer=tf.zeros_initializer())
                super().build(input_shape)

            def call(self, inputs):
                self.add_update(tf.assign_add(self.count, 1.0), inputs=inputs)
                self.add_loss(tf.reduce_sum(inputs) * 0.5, inputs=inputs)
                return inputs * self.w * self.factor

            def compute_output_shape(self, input_shape):
                return input_shape
        scale = Scale(2.0)
        given = tf.constant(x)
        out = scale(given)
        scale(given * 2)
        return [out, _collections(tf), str([u.name for u in scale.get_updates_for(given)]), str([u.name for u in scale.get_losses_for(given)]),
                str(len(scale.get_losses_for(None))), str(scale.count_params()), scale.name, _names(scale.variables)]
    yield "a layer of one's own", own


def refusals(tf, np):
    layers = tf.layers
    x = _data(np, 2, 5)

    def dense_again():
        layers.dense(x, 2, name="d")
        return layers.dense(x, 2, name="d")
    yield "error: name taken", dense_again
    yield "error: reuse of nothing", lambda: layers.dense(x, 2, name="d", reuse=True)

    def other_shape():
        layers.dense(x, 2, name="d")
        return layers.dense(x[:, :3], 2, name="d", reuse=True)
    yield "error: reuse of another shape", other_shape
    unknown = [("dense of a scalar", lambda: layers.dense(tf.constant(1.0), 2)),
               ("dense of a vector", lambda: layers.dense(tf.constant([1.0, 2.0]), 2)),
               ("dense of unknown width", lambda: layers.dense(tf.placeholder(tf.float32, [2, None]), 2)),
               ("dense of unknown rank", lambda: layers.dense(tf.placeholder(tf.float32), 2)),
               ("dense of integers", lambda: layers.dense(tf.constant([[1, 2]]), 2)),
               ("dense of strings", lambda: layers.dense(tf.constant([["a"]]), 2)),
               ("dense with no units", lambda: layers.dense(x)),
               ("dense of a list", lambda: layers.dense([[1.0, 2.0]], 2).shape),
               ("conv2d of a matrix", lambda: layers.conv2d(x, 2, 3)),
               ("conv2d with three strides", lambda: layers.conv2d(_data(np, 1, 4, 4, 1), 2, 3, strides=(1, 1, 1))),
               ("conv2d with strides and dilation", lambda: layers.conv2d(_data(np, 1, 4, 4, 1), 2, 3, strides=2, dilation_rate=2)),
               ("conv2d with unknown padding", lambda: layers.conv2d(_data(np, 1, 4, 4, 1), 2, 3, padding="full")),
               ("conv2d with unknown format", lambda: layers.conv2d(_data(np, 1, 4, 4, 1), 2, 3, data_format="NHWC")),
               ("conv2d too small", lambda: layers.conv2d(_data(np, 1, 2, 2, 1), 2, 3)),
               ("conv2d of unknown channels", lambda: layers.conv2d(tf.placeholder(tf.float32, [1, 4, 4, None]), 2, 3)),
               ("conv1d of an image", lambda: layers.conv1d(_data(np, 1, 4, 4, 1), 2, 3)),
               ("conv3d of an image", lambda: layers.conv3d(_data(np, 1, 4, 4, 1), 2, 3)),
               ("separable of a line", lambda: layers.separable_conv2d(_data(np, 1, 4, 1), 2, 3)),
               ("transposed of a line", lambda: layers.conv2d_transpose(_data(np, 1, 4, 1), 2, 3)),
               ("pool of a line", lambda: layers.max_pooling2d(_data(np, 1, 4, 1), 2, 2)),
               ("pool with three sizes", lambda: layers.max_pooling2d(_data(np, 1, 4, 4, 1), (2, 2, 2), 2)),
               ("pool with a name for a size", lambda: layers.average_pooling2d(_data(np, 1, 4, 4, 1), "2", 2)),
               ("batch norm of unknown axis", lambda: layers.batch_normalization(tf.constant(x), axis=3)),
               ("batch norm with an axis as text", lambda: layers.batch_normalization(tf.constant(x), axis="1")),
               ("batch norm fused with virtual batches", lambda: layers.batch_normalization(tf.constant(x), fused=True, virtual_batch_size=2)),
               ("batch norm with unknown clipping", lambda: layers.batch_normalization(tf.constant(x), renorm=True, renorm_clipping={"max": 1.0})),
               ("batch norm of two axes", lambda: layers.batch_normalization(tf.constant(_data(np, 2, 3, 4)), axis=[1, 2], training=True)),
               ("batch norm of integers", lambda: layers.batch_normalization(tf.constant([[1, 2]]))),
               ("batch norm of rank 0", lambda: layers.batch_normalization(tf.constant(1.0))),
               ("dropout rate as text", lambda: layers.dropout(tf.constant(x), "half", training=True)),
               ("dropout rate of one", lambda: layers.dropout(tf.constant(x), 1.0, training=True)),
               ("dropout rate above one", lambda: layers.dropout(tf.constant(x), 1.5, training=True)),
               ("flatten of a scalar", lambda: layers.flatten(tf.constant(1.0))),
               ("flatten of unknown extents", lambda: [layers.flatten(tf.placeholder_with_default(x, [None, None])),
                                                       layers.flatten(tf.placeholder_with_default(_data(np, 1, 2, 3), [None, 2, 3]))]),
               ("flatten of a vector", lambda: layers.flatten(tf.constant([1.0, 2.0]))),
               ("flatten with channels first", lambda: layers.flatten(tf.constant(_data(np, 1, 2, 3, 2)), data_format="channels_first")),
               ("an unknown argument", lambda: layers.dense(x, 2, weights=3)),
               ("Layer with an unknown argument", lambda: layers.Dense(2, size=3)),
               ("activation by name", lambda: layers.dense(tf.constant(x), 2, activation="relu", kernel_initializer="ones")),
               ("unknown initializer", lambda: layers.dense(tf.constant(x), 2, kernel_initializer="nothing")),
               ("no constraint function", lambda: layers.dense(tf.constant(x), 2, kernel_constraint="max_norm", kernel_initializer="ones")),
               ("constraint", lambda: [layers.dense(tf.constant(x), 2, kernel_constraint=tf.keras.constraints.max_norm(1.0),
                                                    kernel_initializer="ones"),
                                       str(tf.trainable_variables()[0].constraint is not None)])]
    yield from unknown

    def build_later():
        layer = layers.Dense(3)
        return layer.kernel
    yield "error: kernel before build", build_later

    def input_changed():
        layer = layers.Dense(3)
        layer(tf.constant(x))
        return layer(tf.constant(x[:, :2]))
    yield "error: other width", input_changed

    def other_graph():
        layer = layers.Dense(3)
        layer(tf.constant(x))
        with tf.Graph().as_default():
            return layer(tf.constant(x))
    yield "error: other graph", other_graph


def cases(tf, np):
    for family in (models, scopes, refusals):
        yield from family(tf, np)
