"""Names of tf.layers and tf.contrib that no other family calls: values, names, errors."""


def cases(tf, np):
    yield from _bijectors(tf, np)
    yield from _framework(tf, np)
    yield from _layers(tf, np)
    yield from _cells(tf, np)
    yield from _metrics(tf, np)
    yield from _small(tf, np)
    yield from _resampler(tf, np)


def _told(tf, *values):
    return [tf.identity(each, name="told") for each in values]


def _bijectors(tf, np):
    b = tf.contrib.distributions.bijectors
    matrix = np.array([[2.0, 0.0], [0.5, 1.5]], np.float32)
    vector = np.array([[0.5, -1.0], [1.5, 2.0]], np.float32)
    positive = np.array([[0.2, 0.9], [0.5, 0.7]], np.float32)
    operator = tf.linalg.LinearOperatorLowerTriangular
    table = [("affine operator", lambda: b.AffineLinearOperator([1.0, -1.0], operator(matrix)), vector, 1),
             ("cholesky outer product", lambda: b.CholeskyOuterProduct(), matrix, 2),
             ("fill triangular", lambda: b.FillTriangular(), np.arange(6.0, dtype=np.float32).reshape(2, 3), 1),
             ("gumbel", lambda: b.Gumbel(0.5, 2.0), vector, 0),
             ("inline", lambda: b.Inline(tf.exp, tf.log, inverse_log_det_jacobian_fn=lambda y: -tf.log(y), forward_min_event_ndims=0), positive, 0),
             ("matrix inverse", lambda: b.MatrixInverseTriL(), matrix, 2),
             ("ordered", lambda: b.Ordered(), np.array([[0.5, 1.0, 3.0]], np.float32), 1),
             ("power transform", lambda: b.PowerTransform(0.5), positive, 0),
             ("scale tril", lambda: b.ScaleTriL(), np.arange(6.0, dtype=np.float32).reshape(2, 3), 1),
             ("transform diagonal", lambda: b.TransformDiagonal(b.Exp()), matrix, 2)]
    for label, make, x, ndims in table:
        yield "bijector " + label, _forward_and_back(tf, make, x, ndims)
    yield "bijector ordered back", lambda: b.Ordered().inverse(vector)
    yield "bijector power negative", lambda: b.PowerTransform(-1.0)
    yield "conditional bijector", lambda: b.ConditionalBijector(forward_min_event_ndims=0).forward(1.0, condition=2.0)


def _forward_and_back(tf, make, x, ndims):
    def case():
        bijector, value = make(), tf.constant(x)
        y = bijector.forward(value)
        back = make().inverse(tf.identity(y))
        return [y, tf.identity(back, name="back"), bijector.forward_log_det_jacobian(value, event_ndims=ndims)]
    return case


def _framework(tf, np):
    framework = tf.contrib.framework

    def scoped():
        @framework.add_arg_scope
        def scaled(x, factor=1.0, offset=0.0):
            return x * factor + offset

        with framework.arg_scope([scaled], factor=3.0):
            return [scaled(tf.constant(2.0)), scaled(tf.constant(2.0), offset=1.0), str(sorted(framework.arg_scoped_arguments(scaled))),
                    str(framework.has_arg_scope(scaled))]
    yield "arg scope", scoped
    yield "same float type", lambda: [framework.assert_same_float_dtype([tf.constant(1.0), None, tf.zeros([2])]).name]
    yield "other float type", lambda: framework.assert_same_float_dtype([tf.constant(1.0), tf.zeros([2], tf.float64)])
    yield "scalar", lambda: framework.assert_scalar(tf.constant(1.0))
    yield "no scalar", lambda: framework.assert_scalar(tf.constant([1.0]))
    yield "tensor or sparse", lambda: framework.convert_to_tensor_or_sparse_tensor([1.0, 2.0])
    yield "graph of inputs", lambda: [str(framework.get_graph_from_inputs([tf.constant(1.0)]) is tf.get_default_graph())]
    yield "graph of others", lambda: framework.get_graph_from_inputs([tf.constant(1.0), tf.Graph()], graph=tf.Graph())
    yield "nest", lambda: [str(framework.nest.is_nested([1])), str(framework.nest.is_sequence_or_composite(tf.SparseTensor([[0]], [1], [2]))),
                           str(framework.nest.flatten_with_tuple_paths_up_to({"a": 1}, {"a": [2, 3]}))]


def _layers(tf, np):
    layers = tf.contrib.layers
    x = np.sin(np.arange(2 * 6 * 6 * 2.0)).reshape(2, 6, 6, 2).astype(np.float32)
    kernel = tf.constant_initializer(0.1)

    def pooled():
        line = tf.constant(x[:, :, 0])
        return [tf.layers.AveragePooling1D(2, 2)(line), tf.layers.MaxPooling3D(2, 2)(tf.constant(x[..., None])),
                tf.layers.AveragePooling1D(2, 1, "same", data_format="channels_first")(line)]
    yield "pooling", pooled
    yield "convolutions", lambda: [
        layers.convolution2d(x, 3, 3, weights_initializer=kernel), layers.convolution1d(x[:, :, 0], 3, 3, weights_initializer=kernel),
        layers.convolution2d_transpose(x, 2, 2, 2, weights_initializer=kernel), layers.convolution3d(x[..., None], 2, 2, weights_initializer=kernel),
        layers.separable_convolution2d(x, 3, 3, 1, weights_initializer=kernel), str([v.name for v in tf.global_variables()])]
    yield "in plane", lambda: [layers.convolution2d_in_plane(tf.constant(x), 3, weights_initializer=kernel),
                               str([v.name for v in tf.global_variables()])]
    yield "gdn", lambda: [layers.GDN(name="one")(tf.constant(x)), layers.GDN(inverse=True, beta_min=0.1, name="two")(tf.constant(x))]
    yield "scale gradient", lambda: (lambda t: _told(tf, *tf.gradients(layers.scale_gradient(t, 0.25) * 3.0, t)))(tf.constant([1.0, 2.0]))
    yield "constants", lambda: tf.constant([*sorted(layers.OPTIMIZER_CLS_NAMES), *layers.OPTIMIZER_SUMMARIES,
                                            str(layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY)])
    for name in ("he_uniform", "lecun_normal"):
        yield name, (lambda name: lambda: getattr(tf.initializers, name)(seed=3)([3, 4]))(name)
    yield "unit scaling", lambda: tf.initializers.uniform_unit_scaling(1.5, seed=3)([3, 4])
    yield "variance scaling", lambda: [tf.initializers.variance_scaling(2.0, mode, law, seed=4)([3, 4]) for mode, law in (
        ("fan_in", "truncated_normal"), ("fan_out", "uniform"), ("fan_avg", "untruncated_normal"))]
    yield "variance scaling wrong", lambda: tf.initializers.variance_scaling(-1.0)


def _cells(tf, np):
    rnn, crf = tf.contrib.rnn, tf.contrib.crf
    yield "batch and time", lambda: [rnn.transpose_batch_time(tf.constant(np.arange(24.0).reshape(2, 3, 4))),
                                     tf.convert_to_tensor(rnn.best_effort_input_batch_size([tf.zeros([3, 2, 5])]))]

    def embedded():
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
            cell = rnn.EmbeddingWrapper(rnn.GRUCell(2), embedding_classes=3, embedding_size=2)
            outputs, state = cell(tf.constant([1, 2]), tf.ones([2, 2]))
        return [outputs, state, str([v.name for v in tf.global_variables()])]
    yield "embedding wrapper", embedded

    def volumes():
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.1)):
            cell = rnn.Conv3DLSTMCell(input_shape=[2, 3, 2, 1], output_channels=2, kernel_shape=[2, 2, 2])
            outputs, state = cell(tf.ones([1, 2, 3, 2, 1]), cell.zero_state(1, tf.float32))
        return [outputs, state.c, str([v.name for v in tf.global_variables()])]
    yield "conv3d cell", volumes

    def compiled():
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
            cell = rnn.CompiledWrapper(rnn.BasicLSTMCell(3))
            outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 2]), dtype=tf.float32)
        return [*_told(tf, outputs, state.c), cell.zero_state(2, tf.float32).h, str([v.name for v in tf.global_variables()])]
    yield "compiled wrapper", compiled

    scores = np.sin(np.arange(6.0)).reshape(2, 3).astype(np.float32)
    transitions = np.cos(np.arange(9.0)).reshape(3, 3).astype(np.float32)
    yield "crf cells", lambda: _told(tf, *crf.CrfForwardRnnCell(transitions)(scores, scores * 2), *crf.CrfDecodeForwardRnnCell(transitions)(
        scores, scores * 2))
    yield "crf backward cell", lambda: _told(tf, *crf.CrfDecodeBackwardRnnCell(3)(
        np.array([[0, 2, 1], [1, 1, 0]], np.int32), np.array([[2], [0]], np.int32)))


def _metrics(tf, np):
    metrics = tf.contrib.metrics
    predictions, labels = np.array([0.2, 0.8, 0.6, 0.3], np.float32), np.array([0.0, 1.0, 1.0, 1.0], np.float32)

    def streamed(make):
        def case():
            _, update = make()
            with tf.control_dependencies([update]):
                return [tf.identity(update, name="update"), str([v.name for v in tf.local_variables()])]
        return case
    for name in ("covariance", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "pearson_correlation", "true_positives",
                 "false_positives", "true_negatives", "false_negatives", "recall", "false_positive_rate", "false_negative_rate"):
        yield "streaming " + name, streamed((lambda name: lambda: getattr(metrics, "streaming_" + name)(predictions, labels))(name))
    for name in ("true_positives", "false_negatives", "precision", "recall", "false_positive_rate"):
        yield "streaming {} at thresholds".format(name), streamed((lambda name: lambda: getattr(metrics, "streaming_{}_at_thresholds".format(name))(
            predictions, labels.astype(bool), [0.25, 0.5]))(name))
    yield "cosine distance", streamed(lambda: metrics.streaming_mean_cosine_distance(predictions.reshape(2, 2), labels.reshape(2, 2), 1))
    yield "at thresholds", streamed(lambda: tf.metrics.true_negatives_at_thresholds(labels.astype(bool), predictions, [0.25, 0.5]))


def _small(tf, np):
    image = tf.contrib.image
    blobs = np.array([[[1, 1, 0, 2], [0, 1, 2, 2], [3, 0, 1, 0]], [[0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 0, 1]]])
    yield "components", lambda: _told(tf, image.connected_components(blobs.astype(np.int32)), image.connected_components(blobs[0] > 0),
                                      image.connected_components(blobs[1].astype(np.float32)), image.connected_components(np.ones([2, 2], np.uint8)))
    yield "components of a line", lambda: image.connected_components([1, 2])
    distances = np.array([[0.5, 0.1, 0.9], [0.2, 0.05, 0.4], [0.3, 0.6, 0.7]], np.float32)
    yield "pairs", lambda: [*image.bipartite_match(distances, [3.0]), *image.bipartite_match(distances, [2.0]),
                            *image.bipartite_match(distances, [-1.0], top_k=1), *image.bipartite_match(distances[:, :2], [3.0])]
    util = tf.contrib.solvers.util
    yield "norms", lambda: _told(tf, util.l2norm(tf.constant([3.0, 4.0])), util.l2norm_squared(tf.constant([3.0, 4.0])), *util.l2normalize(
        tf.constant([3.0, 4.0])))
    yield "stateless", lambda: [tf.contrib.stateless.stateless_random_normal([3], [1, 2]), tf.contrib.stateless.stateless_random_uniform([3], [1, 2])]
    yield "table of strings", lambda: tf.contrib.lookup.string_to_index_table_from_tensor(["a", "b"], default_value=7).lookup(
        tf.constant(["b", "c", "a"]))
    yield "loss reduction", lambda: tf.constant([str(tf.distribute.get_loss_reduction()), str(tf.contrib.distribute.has_distribution_strategy())])

    def edited():
        ge = tf.contrib.graph_editor
        a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
        c, d = tf.negative(a, name="c"), tf.square(b, name="d")
        e, f = tf.exp(c, name="e"), tf.sqrt(d, name="f")
        found = [op.name for op in ge.filter_ops_from_regex(tf.get_default_graph(), "^[ab]$")]
        ge.swap_outputs(ge.sgv(c.op), ge.sgv(d.op))
        return [e, f, str(found), ge.placeholder_name(a), str(ge.can_be_regex("a")), str([t.name for t in ge.make_list_of_t(c.op.graph)][:2])]
    yield "graph editor", edited
    yield "ops of a graph", lambda: (lambda _: [str(sorted(tf.contrib.util.ops_used_by_graph_def(tf.get_default_graph().as_graph_def()))), str(
        [op.name for op in tf.contrib.util.stripped_op_list_for_graph(tf.get_default_graph().as_graph_def()).op])])(tf.constant(1.0) * 2)


def _resampler(tf, np):
    """Places in the image, on its border, half outside and outside."""
    data = np.arange(40.0, dtype=np.float32).reshape(2, 4, 5, 1) % 7
    warp = np.array([[[1.25, 2.5], [4.0, 3.0], [-0.5, -0.5]], [[4.5, 3.5], [5.0, 1.0], [-3.0, 1.0]]], np.float32)

    def resampled():
        image, places = tf.constant(data), tf.constant(warp)
        values = tf.contrib.resampler.resampler(image, places)
        return _told(tf, values, *tf.gradients(tf.square(values), [image, places]))

    yield "resampler", resampled
    yield "resampler of a matrix", lambda: tf.contrib.resampler.resampler(data[0, :, :, 0], warp)
