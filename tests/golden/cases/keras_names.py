"""Names of ``tf.keras`` that the other families do not have: layers by their other names, losses and metrics as functions, stateful metrics of other
kinds, regularizers, and the functions of the backend."""


def cases(tf, np):
    keras = tf.keras
    layers, losses, metrics, backend = keras.layers, keras.losses, keras.metrics, keras.backend

    def values(*shape, **options):
        return tf.constant(np.random.RandomState(options.get("seed", 0)).uniform(0.1, 0.9, shape).astype(np.float32))

    def named(tensors):
        """The tensors by another name: their values count, not how they are composed."""
        return [tf.identity(tensor, name="told") for tensor in tensors]

    def applied(name, shape, *args, **options):
        return lambda: getattr(layers, name)(*args, **options)(values(*shape))

    # --- layers ----------------------------------------------------------------------------------------------------------

    ones = {"kernel_initializer": "ones"}
    separable = {"depthwise_initializer": "ones", "pointwise_initializer": "ones"}
    yield "layer_Convolution1D", applied("Convolution1D", (1, 5, 2), 2, 3, **ones)
    yield "layer_Convolution2D", applied("Convolution2D", (1, 4, 4, 2), 2, 3, **ones)
    yield "layer_Convolution3D", applied("Convolution3D", (1, 3, 3, 3, 1), 2, 2, **ones)
    yield "layer_Convolution2DTranspose", applied("Convolution2DTranspose", (1, 3, 3, 2), 2, 3, strides=2, **ones)
    yield "layer_Convolution3DTranspose", applied("Convolution3DTranspose", (1, 2, 2, 2, 1), 2, 2, strides=2, **ones)
    yield "layer_SeparableConvolution1D", applied("SeparableConvolution1D", (1, 5, 2), 2, 3, **separable)
    yield "layer_SeparableConvolution2D", applied("SeparableConvolution2D", (1, 4, 4, 2), 2, 3, **separable)
    for name, shape in (("1D", (2, 6, 3)), ("2D", (2, 4, 4, 3)), ("3D", (1, 4, 4, 4, 2))):
        yield "layer_MaxPool%s" % name, applied("MaxPool" + name, shape)
        yield "layer_AvgPool%s" % name, applied("AvgPool" + name, shape, padding="same", pool_size=3)
        yield "layer_GlobalAvgPool%s" % name, applied("GlobalAvgPool" + name, shape)
        yield "layer_GlobalMaxPool%s" % name, applied("GlobalMaxPool" + name, shape)
        yield "layer_GlobalAveragePooling%s" % name, applied("GlobalAveragePooling" + name, shape, data_format="channels_first")
        yield "layer_GlobalMaxPooling%s" % name, applied("GlobalMaxPooling" + name, shape, data_format="channels_first")

    def spatial():
        tf.set_random_seed(2)
        return layers.SpatialDropout3D(0.5)(values(2, 2, 2, 2, 3), training=True)
    yield "layer_SpatialDropout3D", spatial

    def stacked():
        cell = layers.StackedRNNCells([layers.SimpleRNNCell(2, kernel_initializer="ones", recurrent_initializer="ones"),
                                       layers.GRUCell(3, kernel_initializer="ones", recurrent_initializer="ones")])
        return named(layers.RNN(cell, return_sequences=True, return_state=True)(values(2, 3, 2)))
    yield "layer_StackedRNNCells", stacked

    def own_cell():
        class Cell(layers.AbstractRNNCell):
            state_size = output_size = 2

            def build(self, shape):
                self.kernel = self.add_weight("kernel", (shape[-1], 2), initializer="ones")

            def call(self, inputs, states):
                output = backend.dot(inputs, self.kernel) + 0.5 * states[0]
                return output, [output]
        return layers.RNN(Cell())(values(2, 3, 4))
    yield "layer_AbstractRNNCell", own_cell

    def from_config():
        layer = layers.deserialize({"class_name": "Dense", "config": {"units": 2, "kernel_initializer": "ones", "name": "again"}})
        return layer(layers.InputLayer(input_tensor=values(2, 3), name="given").output)
    yield "layer_deserialize", from_config

    def own_wrapper():
        class Twice(layers.Wrapper):
            def call(self, inputs):
                return 2.0 * self.layer(inputs)
        return Twice(layers.Dense(2, kernel_initializer="ones"))(values(2, 3))
    yield "layer_Wrapper", own_wrapper

    # --- losses and metrics ------------------------------------------------------------------------------------------------

    for name in ("KLD", "kld", "MAE", "MAPE", "MSE", "MSLE", "cosine_proximity", "mean_absolute_percentage_error", "mean_squared_logarithmic_error",
                 "squared_hinge"):
        yield "loss_%s" % name, lambda name=name: getattr(losses, name)(values(3, 4), values(3, 4, seed=1))
        yield "metric_function_%s" % name, lambda name=name: getattr(metrics, name)(values(3, 4), values(3, 4, seed=1))
    yield "loss_deserialize", lambda: losses.deserialize("squared_hinge")(values(2, 3), values(2, 3, seed=1))
    yield "metric_deserialize", lambda: metrics.deserialize("mse")(values(2, 3), values(2, 3, seed=1))

    def own_loss():
        class Cubed(losses.Loss):
            def call(self, y_true, y_pred):
                return tf.reduce_mean(tf.abs(y_true - y_pred) ** 3, axis=-1)
        return named([Cubed(each)(values(3, 2), values(3, 2, seed=1), sample_weight=[1.0, 0.0, 2.0])
                      for each in ("sum", "none", "sum_over_batch_size")])
    yield "loss_Loss", own_loss

    labels, scores = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [[0.2, 0.7, 0.1], [0.3, 0.6, 0.1]]
    yield "metric_function_binary_accuracy", lambda: metrics.binary_accuracy(labels, tf.constant(scores), threshold=0.65)
    yield "metric_function_categorical_accuracy", lambda: metrics.categorical_accuracy(labels, scores)
    yield "metric_function_sparse_categorical_accuracy", lambda: metrics.sparse_categorical_accuracy(tf.constant([[1.0], [0.0]]), tf.constant(scores))
    yield "metric_function_sparse_top_k_categorical_accuracy", lambda: metrics.sparse_top_k_categorical_accuracy(
        tf.constant([[1.0], [0.0]]), tf.constant(scores), k=2)

    def followed(metric, *updates):
        """The result after some updates."""
        with tf.Session() as session:
            made = metric()
            steps = [made.update_state(*args, **options) for args, options in updates]
            session.run([variable.initializer for variable in made.variables])
            results = []
            for step in steps:
                session.run(step)
                results.append(session.run(made.result()))
        return [tf.constant(result, name="told") for result in results]

    yield "metric_MeanIoU", lambda: followed(lambda: metrics.MeanIoU(3), ((tf.constant([0, 1, 2, 2]), tf.constant([0, 2, 2, 1])), {}))
    yield "metric_MeanRelativeError", lambda: followed(lambda: metrics.MeanRelativeError([1.0, 2.0, 4.0]), (([1.0, 3.0, 2.0], [2.0, 2.0, 4.0]), {}),
                                                       (([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]), {"sample_weight": [1.0, 0.0, 1.0]}))
    yield "metric_Sum", lambda: followed(metrics.Sum, (([1.0, 2.0],), {}), (([3.0, 4.0],), {"sample_weight": [1.0, 0.5]}))
    yield "metric_MeanTensor", lambda: followed(metrics.MeanTensor, (([1.0, 2.0],), {}), (([3.0, 4.0],), {"sample_weight": [1.0, 0.5]}))

    # --- regularizers and activations ---------------------------------------------------------------------------------------

    yield "regularizer_L1L2", lambda: [keras.regularizers.L1L2(0.1, 0.2)(values(2, 3)), keras.regularizers.deserialize(
        {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.0}})(values(2, 3))]
    yield "activation_hard_sigmoid", lambda: [keras.activations.hard_sigmoid(tf.constant([-3.0, -1.0, 0.5, 3.0])),
                                              keras.activations.deserialize("hard_sigmoid")(tf.constant([1.0]))]

    # --- the backend ----------------------------------------------------------------------------------------------------------

    yield "backend_batch_dot", lambda: [backend.batch_dot(values(2, 3), values(2, 3, seed=1), axes=1),
                                        backend.batch_dot(values(2, 3, 4), values(2, 4, 5, seed=1)),
                                        backend.batch_dot(values(2, 3, 4), values(2, 5, 4, seed=1), axes=2)]
    yield "backend_shapes", lambda: [backend.batch_flatten(values(2, 3, 4)), backend.permute_dimensions(values(2, 3, 4), (2, 0, 1)),
                                     backend.repeat_elements(values(2, 3), 2, axis=1),
                                     tf.constant(backend.int_shape(values(2, 3)), name="told")]
    yield "backend_padding", lambda: [backend.temporal_padding(values(1, 2, 2), (1, 2)),
                                      backend.spatial_2d_padding(values(1, 2, 2, 1), ((1, 0), (0, 2))),
                                      backend.spatial_3d_padding(values(1, 2, 2, 2, 1), ((1, 0), (0, 1), (1, 1)), "channels_last")]
    yield "backend_pooling", lambda: [backend.pool2d(values(1, 4, 4, 2), (2, 2), pool_mode="avg"),
                                      backend.pool3d(values(1, 4, 4, 4, 1), (2, 2, 2), strides=(2, 2, 2))]
    yield "backend_statistics", lambda: named([backend.std(values(3, 4), axis=1), backend.var(values(3, 4), axis=0, keepdims=True)])
    yield "backend_resize_volumes", lambda: backend.resize_volumes(values(1, 2, 2, 2, 1), 2, 1, 2, "channels_last")
    yield "backend_normalize", lambda: backend.normalize_batch_in_training(values(4, 3), tf.ones([3]), tf.zeros([3]), [0])
    yield "backend_local_conv", lambda: [backend.local_conv1d(values(1, 5, 2), values(3, 6, 2, seed=1), (3,), (1,)),
                                         backend.local_conv2d(values(1, 3, 3, 1), values(4, 4, 2, seed=1), (2, 2), (1, 1), (2, 2))]
    yield "backend_switch", lambda: named([backend.switch(tf.constant(True), values(2), -values(2)),
                                           backend.switch(tf.constant([[True], [False]]), values(2, 3), -values(2, 3))])
    yield "backend_phases", lambda: [backend.in_train_phase(values(2), -values(2), training=1),
                                     backend.in_test_phase(values(2), -values(2), training=1),
                                     backend.in_train_phase(lambda: values(2), lambda: -values(2), training=0)]
    yield "backend_sparse", lambda: tf.constant([backend.is_sparse(tf.SparseTensor([[0, 0]], [1.0], [1, 1])), backend.is_sparse(values(1))])
    yield "backend_cast_to_floatx", lambda: tf.constant(backend.cast_to_floatx(np.arange(3)))
    yield "backend_random", lambda: named([backend.random_binomial((3, 3), p=0.5, seed=3), backend.random_normal_variable((2, 2), 0.0, 1.0, seed=3),
                                           backend.random_uniform_variable((2, 2), -1.0, 1.0, seed=3)])

    def updates():
        v, w = backend.variable([1.0, 2.0]), backend.variable([3.0, 4.0])
        backend.set_value(v, [5.0, 6.0])
        backend.batch_set_value([(w, [7.0, 8.0])])
        told = backend.batch_get_value([v, w]) + [backend.get_value(v)]
        backend.get_session().run([backend.update_add(v, [1.0, 1.0]), backend.update_sub(w, [1.0, 1.0])])
        told += backend.batch_get_value([v, w])
        return [tf.constant(value, name="told") for value in told]
    yield "backend_values", updates

    def ctc():
        probabilities = np.random.RandomState(0).uniform(0.1, 1.0, (2, 6, 4)).astype(np.float32)
        probabilities /= probabilities.sum(-1, keepdims=True)
        cost = backend.ctc_batch_cost(tf.constant([[0, 1], [2, 2]]), tf.constant(probabilities), tf.constant([[6], [5]]), tf.constant([[2], [1]]))
        paths, scores = backend.ctc_decode(tf.constant(probabilities), tf.constant([6, 5]), greedy=True)
        with tf.Session() as session:
            return [tf.constant(value, name="told") for value in session.run([cost, paths[0], scores])]
    yield "backend_ctc", ctc
