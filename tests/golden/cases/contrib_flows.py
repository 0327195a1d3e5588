"""tf.contrib.distributions: flows, distributions that are reshaped, rounded or drawn element by element, correlations of samples."""

X = [[0.5, -1.0, 2.0], [0.1, 0.2, -0.3]]


def cases(tf, np):
    d = tf.contrib.distributions
    yield from _flows(tf, np, d)
    yield from _reshaped(tf, np, d)
    yield from _quantized(tf, np, d)
    yield from _others(tf, np, d)


def _network(tf, depth=3, shift_only=False):
    """Shift and scale of an element by those before it."""
    weights = tf.constant([[0.0, 0.5, -0.25], [0.0, 0.0, 0.75], [0.0, 0.0, 0.0]])
    return lambda x: (tf.matmul(x, weights), None if shift_only else tf.tanh(tf.matmul(x, weights)))


def _both_ways(tf, make, x, gradient=True, forward=True):
    """(The end of a loop is another operation than TensorFlow's.)"""
    def case():
        flow, value = make(), tf.constant(x)
        back = flow.inverse(value)
        results = [tf.identity(flow.forward(value), name="forward"), back, flow.inverse_log_det_jacobian(value, event_ndims=1)]
        results += [flow.forward_log_det_jacobian(value, event_ndims=1)] if forward else []
        return results + [tf.identity(each, name="gradient") for each in (tf.gradients(back, [value]) if gradient else [])]
    return case


def _constant_layers(tf):
    return {"kernel_initializer": tf.constant_initializer(0.25), "bias_initializer": tf.constant_initializer(0.125)}


def _flows(tf, np, d):
    b = d.bijectors
    # TensorFlow's graph optimizer drops one of several negations in some graphs: forward log-determinants of these are left out.
    yield "autoregressive flow", _both_ways(tf, lambda: b.MaskedAutoregressiveFlow(_network(tf)), X, forward=False)
    yield "autoregressive flow unrolled", _both_ways(tf, lambda: b.MaskedAutoregressiveFlow(_network(tf), unroll_loop=True), X)
    yield "autoregressive flow shifts", _both_ways(tf, lambda: b.MaskedAutoregressiveFlow(
        _network(tf, shift_only=True), is_constant_jacobian=True), X)
    yield "masked dense", lambda: [b.masked_dense(tf.constant(X), 6, num_blocks=3, exclusive=e, kernel_initializer=tf.ones_initializer(), name=n)
                                   for e, n in ((True, "one"), (False, "two"))]

    def template():
        made = b.masked_autoregressive_default_template([6, 9], log_scale_min_clip=-0.01, log_scale_max_clip=0.02)
        tf.set_random_seed(3)
        shift, log_scale = made(tf.constant(X))
        return [shift, log_scale, tf.identity(tf.gradients(log_scale, tf.trainable_variables()[0])[0], name="gradient"),
                str([v.name for v in tf.trainable_variables()])]
    yield "autoregressive template", template

    def transformed():
        tf.set_random_seed(3)
        flow = b.MaskedAutoregressiveFlow(b.masked_autoregressive_default_template([6]))
        made = d.TransformedDistribution(d.Normal(0.0, 1.0), flow, event_shape=[3])
        return [made.log_prob(tf.constant(X)), tf.identity(made.sample(4, seed=2), name="sample")]
    yield "autoregressive distribution", transformed

    def coupling(x, units):
        return tf.ones([2, units]) * tf.reduce_sum(x, -1, keepdims=True), tf.zeros([2, units]) + tf.tanh(x[:, :1])
    yield "real nvp", _both_ways(tf, lambda: b.RealNVP(1, coupling), X)
    yield "real nvp shifts", _both_ways(tf, lambda: b.RealNVP(2, lambda x, units: (tf.ones([2, units]) * x[:, :1], None)), X)

    def nvp_template():
        tf.set_random_seed(4)
        made = b.RealNVP(2, b.real_nvp_default_template([4, 5]))
        return [made.forward(tf.constant(X)), str([v.name for v in tf.trainable_variables()])]
    yield "real nvp template", nvp_template
    yield "real nvp too many", lambda: b.RealNVP(3, coupling).forward(tf.constant(X))
    yield "real nvp none", lambda: b.RealNVP(0, coupling)
    yield "batch normalization", _both_ways(tf, lambda: b.BatchNormalization(), X, False, False)
    yield "batch normalization saved", _both_ways(tf, lambda: b.BatchNormalization(training=False), X, False)
    yield "batch normalization layer", _both_ways(tf, lambda: b.BatchNormalization(tf.layers.BatchNormalization(
        gamma_initializer=tf.constant_initializer(2.0), beta_initializer=tf.ones_initializer(), moving_variance_initializer=tf.constant_initializer(
            3.0))), X, False, False)
    yield "batch normalization renorm", lambda: b.BatchNormalization(tf.layers.BatchNormalization(renorm=True))
    yield "batch normalization other", lambda: b.BatchNormalization(tf.layers.Dense(3))
    yield "batch normalization unknown", lambda: b.BatchNormalization().forward(tf.placeholder(tf.float32, [None, 3]))


def _reshaped(tf, np, d):
    def normal():
        return d.Normal(np.arange(6.0, dtype=np.float32), 2.0)

    def statistics(make, value):
        def case():
            made = make()
            return [made.log_prob(value), made.prob(value), made.mean(), made.stddev(), made.variance(), made.mode(), made.entropy(),
                    made.sample(2, seed=4), made.sample([2, 3], seed=5), made.batch_shape_tensor(), made.event_shape_tensor(),
                    str(made.batch_shape), str(made.event_shape)]
        return case
    x = np.linspace(-1, 1, 12).reshape(2, 3, 2).astype(np.float32)
    yield "reshaped", statistics(lambda: d.BatchReshape(normal(), [3, 2]), x)
    yield "reshaped hidden", statistics(lambda: d.BatchReshape(normal(), tf.placeholder_with_default([3, -1], [2]), validate_args=True), x)
    yield "reshaped with one open", statistics(lambda: d.BatchReshape(normal(), [-1, 2]), x)
    yield "reshaped functions", lambda: [getattr(d.BatchReshape(normal(), [2, 3]), name)(x.reshape(2, 2, 3)) for name in (
        "cdf", "log_cdf", "survival_function", "log_survival_function")]

    def vectors():
        return d.BatchReshape(d.MultivariateNormalDiag(np.ones([4, 3], np.float32), [1.0, 2.0, 3.0]), [2, 2])
    yield "reshaped vectors", statistics(vectors, np.ones([2, 2, 3], np.float32))
    yield "reshaped covariance", lambda: vectors().covariance()
    yield "reshaped name", lambda: [d.BatchReshape(normal(), [3, 2]).name]
    for label, shape in (("size", [4, 2]), ("rank", [[3, 2]]), ("negative", [-2, -3])):
        yield "reshaped wrong " + label, (lambda shape: lambda: d.BatchReshape(normal(), shape))(shape)
    yield "reshaped too few axes", lambda: d.BatchReshape(normal(), [3, 2]).log_prob([1.0, 2.0])
    yield "reshaped other value", lambda: d.BatchReshape(normal(), [3, 2]).log_prob(np.ones([2, 3], np.float32))
    yield "reshaped wrong in the step", lambda: d.BatchReshape(normal(), tf.placeholder_with_default([4, 2], [2]), validate_args=True).sample(seed=1)


def _quantized(tf, np, d):
    y = np.array([-2.0, 0.0, 1.0, 3.0, 4.0], np.float32)

    def functions(make, value):
        def case():
            made = make()
            return [getattr(made, name)(value) for name in ("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival_function")] + [
                made.sample(8, seed=3), str(made.batch_shape), str(made.reparameterization_type)]
        return case
    yield "quantized", functions(lambda: d.QuantizedDistribution(d.Normal(0.5, 2.0)), y)
    yield "quantized limits", functions(lambda: d.QuantizedDistribution(d.Normal([0.5], 2.0), low=-1.0, high=3.0), y)
    yield "quantized low", functions(lambda: d.QuantizedDistribution(d.Uniform(0.0, 5.0), low=1.0, validate_args=True), y)
    yield "quantized exponential", functions(lambda: d.QuantizedDistribution(d.Exponential(0.5), high=3.0), y[1:] + 0.5)
    yield "quantized gradient", lambda: (lambda loc: [tf.identity(tf.gradients(d.QuantizedDistribution(d.Normal(loc, 2.0)).log_prob(y), loc)[0],
                                                                  name="gradient")])(tf.constant(0.5))
    yield "quantized fraction", lambda: d.QuantizedDistribution(d.Normal(0.5, 2.0), validate_args=True).prob([0.5])
    yield "quantized order", lambda: d.QuantizedDistribution(d.Normal(0.5, 2.0), low=3.0, high=1.0, validate_args=True).prob([1.0])
    yield "quantized types", lambda: d.QuantizedDistribution(d.Normal(0.5, 2.0), low=np.float64(3.0))


def _others(tf, np, d):
    def chain(sample=None):
        shift = tf.zeros([3]) if sample is None else tf.concat([tf.zeros_like(sample[..., :1]), sample[..., :-1] * 0.5], -1)
        return d.Independent(d.Normal(shift + 1.0, 0.5), reinterpreted_batch_ndims=1)

    def autoregressive():
        made = d.Autoregressive(chain)
        return [made.log_prob(tf.constant(X)), made.prob(tf.constant(X)), made.sample(4, seed=3), made.sample(seed=9), str(made.event_shape),
                str(made.num_steps)]
    yield "autoregressive", autoregressive
    yield "autoregressive from a sample", lambda: d.Autoregressive(chain, sample0=tf.zeros([3]), num_steps=2).sample([2, 2], seed=1)
    yield "autoregressive without steps", lambda: d.Autoregressive(chain, num_steps=0)

    def compound(**options):
        def case():
            made = d.PoissonLogNormalQuadratureCompound(tf.constant([0.0, -0.5]), tf.constant([1.0, 0.5]), **options)
            x = np.array([[0.0, 1.0], [3.0, 2.0]], np.float32)
            return [made.log_prob(x), made.mean(), made.variance(), made.stddev(), made.sample(5, seed=3), made.sample([2, 2], seed=4),
                    made.batch_shape_tensor(), str(made.batch_shape), str(made.event_shape)]
        return case
    yield "compound", compound(quadrature_size=3)
    yield "compound by gauss and hermite", compound(quadrature_size=4, quadrature_fn=d.quadrature_scheme_lognormal_gauss_hermite, validate_args=True)
    yield "compound of one", lambda: [d.PoissonLogNormalQuadratureCompound(0.0, 1.0).sample(4, seed=1), d.PoissonLogNormalQuadratureCompound(
        0.0, 1.0).log_prob([1.0, 2.0])]

    def diffeomixture(kinds, mean=0.0, deviation=1.0, **options):
        def case():
            scales = {"multiple": tf.linalg.LinearOperatorScaledIdentity(3, np.float32(1.1), is_positive_definite=True),
                      "identity": tf.linalg.LinearOperatorIdentity(3, dtype=tf.float32),
                      "diagonal": tf.linalg.LinearOperatorDiag(np.float32([2.5, 3.0, 3.5]), is_positive_definite=True),
                      "diagonals": tf.linalg.LinearOperatorDiag(np.float32([[2.5, 3.0, 3.5], [1.0, 2.0, 3.0]]), is_positive_definite=True),
                      "triangle": tf.linalg.LinearOperatorLowerTriangular(np.float32([[1, 0, 0], [0.5, 2, 0], [0.1, 0.2, 3]]),
                                                                          is_positive_definite=True)}
            made = d.VectorDiffeomixture([[0.0], [1.0]], [1.0], d.Normal(mean, deviation), scale=[scales[kind] for kind in kinds], **options)
            x = np.float32([[[1, 2, 3], [0, 1, -1]]])
            return [*[tf.identity(each, name="told") for each in (
                made.log_prob(x), made.mean(), made.variance(), made.covariance(), made.sample(2, seed=7), made.sample([2, 1], seed=4), made.grid,
                made.mixture_distribution.probs, made.batch_shape_tensor(), made.event_shape_tensor())], str(made.batch_shape),
                    str(made.event_shape), type(made.interpolated_affine[0].scale).__name__]
        return case
    two = np.float32([2.0, 2.0, 2.0])
    yield "diffeomixture", diffeomixture(("multiple", "diagonal"), loc=[None, two], validate_args=True, quadrature_size=3)
    yield "diffeomixture of a triangle", diffeomixture(("triangle", "diagonal"), 0.5, 2.0, loc=[np.float32([1.0, 0.0, 0.0]), two], quadrature_size=2)
    yield "diffeomixture of identities", diffeomixture(("multiple", "identity"), quadrature_size=2)
    yield "diffeomixture of triangles", diffeomixture(("triangle", "triangle"), loc=[np.float32([1.0, 0.0, 0.0]), None], quadrature_size=2)
    yield "diffeomixture of a batch", diffeomixture(("diagonals", "diagonal"), 1.0, quadrature_size=2)

    def one_diffeomixture():
        temperature = tf.constant([2.0])
        diagonal = tf.linalg.LinearOperatorDiag(np.float32([2.5, 3.0, 3.5]))
        loc = [1.0, 2.0, 3.0]
        made = d.VectorDiffeomixture([0.5], temperature, d.Normal(0.0, 1.0), loc=[None, loc], scale=[diagonal, diagonal], quadrature_size=2)
        return [made.sample(2, seed=1), made.sample(seed=2), made.log_prob(loc), tf.gradients(made.log_prob(loc), temperature)[0]]
    yield "diffeomixture of one", one_diffeomixture

    def wrong_diffeomixture(mix_loc, temperature, count, **options):
        def case():
            diagonal = tf.linalg.LinearOperatorDiag(np.float32([2.5, 3.0, 3.5]))
            return d.VectorDiffeomixture(mix_loc, temperature, d.Normal(options.pop("mean", 0.0), 1.0), scale=[diagonal] * count, **options).mean()
        return case
    yield "diffeomixture without scales", wrong_diffeomixture([0.0], [1.0], 0)
    yield "diffeomixture of three", wrong_diffeomixture([0.0], [1.0], 3)
    yield "diffeomixture not positive", wrong_diffeomixture([0.0], [1.0], 2, validate_args=True)
    yield "diffeomixture two temperatures", wrong_diffeomixture([0.0], [1.0, 2.0], 2)
    yield "diffeomixture scalar temperature", wrong_diffeomixture([0.0], 1.0, 2)
    yield "diffeomixture locs", wrong_diffeomixture([0.0], [1.0], 2, loc=[None])
    yield "diffeomixture of a batch of numbers", wrong_diffeomixture([0.0], [1.0], 2, mean=[0.0])

    def head():
        made = d.estimator_head_distribution_regression(
            lambda logits: d.Normal(logits[..., 0], tf.nn.softplus(logits[..., 1])), logits_dimension=2)
        logits = tf.constant([[0.5, 1.0], [-1.0, 2.0], [0.0, 0.1]])
        spec = made.create_model_fn_ops({}, tf.contrib.learn.ModeKeys.TRAIN, tf.constant([[1.0], [0.0], [-1.0]]), lambda loss: tf.no_op(),
                                        logits=logits)
        return [*[tf.identity(each, name="told") for each in (spec.loss, spec.predictions["scores"])], str(made.logits_dimension)]
    yield "head", head
    yield "head of nothing", lambda: d.estimator_head_distribution_regression(3)

    signal = np.sin(np.arange(20.0)).reshape(2, 10).astype(np.float32)
    yield "auto correlation", lambda: [d.auto_correlation(signal), d.auto_correlation(signal, axis=0), d.auto_correlation(signal, max_lags=3),
                                       d.auto_correlation(signal, center=False, normalize=False), d.auto_correlation(signal, max_lags=30)]
    yield "auto correlation of others", lambda: [d.auto_correlation(signal.astype(np.complex64) * (1 + 0.5j)),
                                                 d.auto_correlation(tf.placeholder_with_default(signal, [2, None]), max_lags=tf.constant(4))]
    yield "auto correlation of integers", lambda: d.auto_correlation([1, 2, 3])
