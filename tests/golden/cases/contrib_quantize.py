"""tf.contrib.quantize: names of variables, values and gradients of rewritten graphs, in training and evaluation."""


def _small(tf, np):
    """Values that are the same everywhere, for any variable."""
    def initializer(shape, dtype=tf.float32, partition_info=None):
        count = int(np.prod(shape))
        return tf.constant(np.cos(1.7 * np.arange(count) + count).reshape([int(size) for size in shape]), dtype)
    return initializer


def _images(tf, np):
    return tf.constant(np.sin(1.3 * np.arange(2 * 6 * 6 * 3)).reshape(2, 6, 6, 3), tf.float32, name="images")


def cases(tf, np):
    slim, quantize = tf.contrib.slim, tf.contrib.quantize

    def plain(training):
        x = tf.layers.conv2d(_images(tf, np), 4, 3, activation=tf.nn.relu, kernel_initializer=_small(tf, np), name="one")
        x = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu6, kernel_initializer=_small(tf, np), name="two")
        return tf.layers.dense(tf.reshape(x, [2, 16]), 3, kernel_initializer=_small(tf, np), name="last")

    def normed(training, scale=True, fused=True):
        with slim.arg_scope([slim.conv2d, slim.separable_conv2d, slim.fully_connected], normalizer_fn=slim.batch_norm,
                            weights_initializer=_small(tf, np),
                            normalizer_params={"is_training": training, "decay": 0.8, "scale": scale, "fused": fused}):
            x = slim.conv2d(_images(tf, np), 4, 3, scope="one")
            x = slim.separable_conv2d(x, None, 3, depth_multiplier=1, scope="depth")
            return slim.conv2d(x, 4, 1, activation_fn=tf.nn.relu6, scope="point")

    def bypass(training):
        x = slim.conv2d(_images(tf, np), 4, 3, weights_initializer=_small(tf, np), scope="block/one")
        y = slim.conv2d(x, 4, 3, activation_fn=None, weights_initializer=_small(tf, np), scope="block/two")
        z = tf.nn.relu(x + y, name="block/out")
        w = slim.conv2d(z, 4, 3, weights_initializer=_small(tf, np), scope="tail") + z
        return tf.reduce_mean(w * 0.5, [1, 2])

    def layers_norm(training):
        x = tf.layers.conv2d(_images(tf, np), 4, 3, use_bias=False, kernel_initializer=_small(tf, np), name="conv")
        x = tf.nn.relu(tf.layers.batch_normalization(x, momentum=0.7, training=training, name="norm"))
        return tf.layers.dense(tf.reduce_mean(x, [1, 2]), 2, kernel_initializer=_small(tf, np), name="dense")

    def resource(training):
        with tf.variable_scope("", use_resource=True):
            return plain(training)

    def connected(training):
        flat = tf.reshape(_images(tf, np), [2, 108])
        x = slim.fully_connected(flat, 4, weights_initializer=_small(tf, np), normalizer_fn=slim.batch_norm, scope="one",
                                 normalizer_params={"is_training": training, "decay": 0.8, "fused": False})
        return slim.fully_connected(x, 2, activation_fn=None, weights_initializer=_small(tf, np), scope="two")

    models = [("plain", plain), ("normed", normed), ("unscaled", lambda training: normed(training, scale=False)), ("bypass", bypass),
              ("layers", layers_norm), ("resource", resource), ("unfused", lambda training: normed(training, fused=False)),
              ("unfused unscaled", lambda training: normed(training, scale=False, fused=False)), ("unfused connected", connected)]

    def rewritten(make, training, rewrite, steps=3):
        def build():
            result = make(training)
            # The last values must be used by something, as in real models: they are only rerouted, not replaced.
            loss = tf.reduce_mean(tf.square(tf.identity(result, name="end") - 0.3), name="loss")
            rewrite()
            variables = sorted(tf.trainable_variables(), key=lambda variable: variable.name)
            grads = [grad for grad in tf.gradients(loss, variables) if grad is not None]
            found = []
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for _ in range(steps):
                    # Moving averages in steps of their own: folded weights use them, and in TensorFlow they may be read before or after.
                    values = sess.run([loss, result] + grads)
                    for update in tf.get_collection("update_ops"):
                        sess.run(update)
                    found.append(np.concatenate([np.ravel(value) for value in values]))
                state = sorted(tf.global_variables(), key=lambda variable: variable.name)
                final = np.concatenate([np.ravel(value).astype(np.float32) for value in sess.run(state)])
            return [tf.constant(np.stack(found), name="values"), tf.constant(final, name="state"),
                    tf.constant([variable.name for variable in state], name="names")]
        return build

    for name, make in models:
        yield name + " to train", rewritten(make, True, lambda: quantize.create_training_graph())
        yield name + " to evaluate", rewritten(make, False, lambda: quantize.create_eval_graph(), steps=1)
    experimental = quantize.experimental_create_training_graph
    yield "delayed", rewritten(plain, True, lambda: quantize.create_training_graph(quant_delay=2), steps=4)
    yield "few bits", rewritten(plain, True, lambda: experimental(weight_bits=4, activation_bits=5))
    yield "symmetric", rewritten(plain, True, lambda: experimental(symmetric=True))
    yield "frozen norms", rewritten(layers_norm, True, lambda: experimental(freeze_bn_delay=2), steps=4)
    yield "frozen unfused norms", rewritten(lambda training: normed(training, fused=False), True, lambda: experimental(freeze_bn_delay=2), steps=4)
    yield "a scope", rewritten(bypass, True, lambda: experimental(scope="block"))
    yield "few bits to evaluate", rewritten(bypass, False, lambda: quantize.experimental_create_eval_graph(weight_bits=3, symmetric=True), steps=1)

    def too_late():
        loss = tf.reduce_mean(plain(True))
        tf.train.AdamOptimizer().minimize(loss)
        quantize.create_training_graph()
    yield "after the optimizer", too_late
