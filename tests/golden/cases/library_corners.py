"""Corners of the libraries: distributions of matrices and vectors, target columns, colours, labels of other types. Values only: names are our own."""


def _values(tf, tensors):
    return [tf.identity(tensor, name="result") for tensor in (tensors if isinstance(tensors, (list, tuple)) else [tensors])]


def _wishart(tf, np, d):
    factor = np.array([[[1.0, 0.0], [0.5, 2.0]], [[2.0, 0.0], [-0.3, 0.7]]])

    def moments(make):
        dist = make()
        return [dist.mean(), dist.variance(), dist.mode(), dist.entropy(), dist.mean_log_det(), dist.log_normalization(), dist.scale()]

    def samples(make):
        dist = make()
        x = dist.sample([2, 3], seed=5)
        return [x, dist.log_prob(x)]
    makers = [("cholesky", lambda: d.WishartCholesky([4.0, 5.5], factor)), ("single", lambda: d.WishartCholesky(3.0, factor[0])),
              ("full", lambda: d.WishartFull(4.0, np.matmul(factor, factor.transpose([0, 2, 1])))),
              ("factors", lambda: d.WishartCholesky(4.0, factor, cholesky_input_output_matrices=True))]
    for label, make in makers:
        yield "wishart_moments_" + label, lambda make=make: _values(tf, moments(make))
        yield "wishart_samples_" + label, lambda make=make: _values(tf, samples(make))
    yield "wishart_stddev", lambda: _values(tf, d.WishartCholesky(4.0, factor).stddev())
    yield "wishart_error_df", lambda: d.WishartCholesky(1.5, factor)
    yield "wishart_error_stddev", lambda: d.WishartCholesky(4.0, factor, cholesky_input_output_matrices=True).stddev()
    yield "wishart_error_definite", lambda: d.WishartCholesky(4.0, -factor, validate_args=True).mean()
    yield "wishart_shapes", lambda: _values(tf, [d.WishartCholesky(4.0, factor).batch_shape_tensor(),
                                                 d.WishartCholesky(4.0, factor).event_shape_tensor()])


def _vectors(tf, np, d):
    for label, make in [("exponential", d.VectorExponentialDiag), ("laplace", d.VectorLaplaceDiag)]:
        def moments(make=make, **arguments):
            dist = make(**arguments)
            return _values(tf, [dist.mean(), dist.variance(), dist.stddev(), dist.covariance(), dist.mode(), dist.sample(2, seed=3)])
        yield label + "_loc", lambda moments=moments: moments(loc=[1.0, 2.0], scale_diag=[1.0, 3.0])
        yield label + "_batch", lambda moments=moments: moments(scale_diag=[[1.0, 3.0], [2.0, 0.5]])
        yield label + "_identity", lambda moments=moments: moments(loc=[[1.0, 2.0]], scale_identity_multiplier=[2.0])
        yield label + "_log_prob", lambda make=make: _values(tf, make(loc=[1.0, 2.0], scale_diag=[1.0, 3.0]).log_prob([[2.0, 5.0], [1.5, 2.5]]))

    def skewed(**arguments):
        dist = d.VectorSinhArcsinhDiag(**arguments)
        x = dist.sample(3, seed=4)
        return _values(tf, [x, dist.log_prob(x), dist.prob(x)])
    yield "vector_sinh_arcsinh", lambda: skewed(loc=[0.0, 1.0], scale_diag=[1.0, 2.0])
    yield "vector_sinh_arcsinh_skewed", lambda: skewed(loc=[0.0, 1.0], scale_diag=[1.0, 2.0], skewness=[0.5, -0.2], tailweight=1.3)
    yield "vector_sinh_arcsinh_laplace", lambda: skewed(scale_diag=[1.0, 2.0], distribution=d.Laplace(0.0, 1.0))
    yield "vector_sinh_arcsinh_error", lambda: d.VectorSinhArcsinhDiag(scale_diag=[1.0, 2.0], distribution=d.Normal([0.0, 1.0], 1.0))

    def scalar():
        dist = d.SinhArcsinh([1.0, 2.0], 2.0, skewness=[0.5, 1.0], tailweight=1.2)
        x = dist.sample(3, seed=6)
        return _values(tf, [x, dist.log_prob(x), dist.cdf(x)])
    yield "sinh_arcsinh", scalar
    yield "one_hot_integers", lambda: _values(tf, d.OneHotCategorical(probs=[0.2, 0.8]).prob([[0, 1], [1, 0]]))


def _targets(tf, np):
    layers, features = tf.contrib.layers, lambda: {"w": tf.constant([[1.0], [3.0]])}
    targets = [("regression", lambda: layers.regression_target(weight_column_name="w"), [[1.0], [3.0]], [[0.0], [1.0]]),
               ("two", lambda: layers.multi_class_target(2, weight_column_name="w"), [[1.0], [-1.0]], [[1.0], [0.0]]),
               ("three", lambda: layers.multi_class_target(3, weight_column_name="w"), [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]], [[2], [1]])]
    for label, make, logits, labels in targets:
        def losses(make=make, logits=logits, labels=labels):
            target = make()
            logits, labels = tf.constant(logits), tf.constant(labels)
            metrics = target.get_eval_ops(features(), logits, labels)
            with tf.control_dependencies([tf.variables_initializer(tf.local_variables())]):
                names = tf.constant(sorted(metrics))
            return _values(tf, [target.loss(logits, labels, features()), target.training_loss(logits, labels, features()),
                                target.logits_to_predictions(logits), names])
        yield "target_" + label, losses
    yield "target_error", lambda: layers.multi_class_target(1)


def _distorting(tf):
    """A module inside tf.contrib.image."""
    if tf.__name__.startswith("penstock"):
        from penstock.contrib.image import color
        return color
    from tensorflow.contrib.image.python.ops import distort_image_ops
    return distort_image_ops


def _others(tf, np):
    for dtype in (np.int32, np.int64, np.float64):
        yield "softmax_labels_" + dtype.__name__, lambda dtype=dtype: _values(tf, [
            function(labels=np.array([[0, 1], [1, 0]], dtype), logits=tf.constant([[1.0, 2.0], [0.5, 3.0]]))
            for function in (tf.nn.softmax_cross_entropy_with_logits, tf.nn.softmax_cross_entropy_with_logits_v2)])

    def of_pair():
        x = tf.constant([[1.0, 2.0]])
        y = tf.tanh(x)
        return _values(tf, tf.gradients([(y, y)], x))
    yield "gradients_of_a_pair", of_pair
    image = np.sin(np.arange(36) * 0.7).reshape(3, 4, 3) * 0.5 + 0.5
    for name, arguments in [("hue", (0.7, 1.0, 1.0)), ("saturation", (0.0, 1.6, 1.0)), ("value", (0.0, 1.0, 0.6)), ("all", (-0.4, 0.5, 1.2))]:
        yield "adjust_hsv_in_yiq_" + name, lambda arguments=arguments: _values(tf, _distorting(tf).adjust_hsv_in_yiq(
            tf.constant(image, tf.float32), *arguments))
    yield "adjust_hsv_in_yiq_bytes", lambda: _values(tf, _distorting(tf).adjust_hsv_in_yiq(
        tf.constant((image * 200).astype(np.uint8)), 0.3, 0.9, 0.8))
    yield "adjust_hsv_in_yiq_rank", lambda: _distorting(tf).adjust_hsv_in_yiq(tf.zeros([3, 3]), 0.3, 0.9, 0.8)
    yield "random_hsv_in_yiq_error", lambda: _distorting(tf).random_hsv_in_yiq(tf.zeros([2, 2, 3]), -0.1)


def cases(tf, np):
    d = tf.contrib.distributions
    yield from _wishart(tf, np, d)
    yield from _vectors(tf, np, d)
    yield from _targets(tf, np)
    yield from _others(tf, np)
