"""tf.contrib.distributions: values, gradients, names, shapes, errors and samples."""

VALUED = "log_prob prob log_cdf cdf survival_function log_survival_function quantile".split()


def cases(tf, np):
    d = tf.contrib.distributions
    yield from _families(tf, np, d)
    yield from _divergences(d)
    yield from _mixtures(tf, np, d)
    yield from _tools(tf, np, d)
    yield from _errors(tf, d)


def _named(tf, gradients):
    return [tf.identity(gradient, name="gradient") for gradient in gradients]


def _sample_gradient(tf, make, parameters):
    dist = make()
    return _named(tf, tf.gradients(dist.sample(3, seed=3), [getattr(dist, name) for name in parameters.split()]))


def _method(make, name, value):
    """A case of one method. (Cases run when all loops are over: what a loop changes must be an argument.)"""
    def case():
        method = getattr(make(), name)
        return method(value) if name in VALUED else method()
    return case


def _family(tf, label, make, value, names):
    for name in names.split():
        yield label + "_" + name, _method(make, name, value)
    yield label + "_sample_seed", lambda: make().sample([2, 3], seed=7)

    def graph_seed():
        tf.set_random_seed(5)
        dist = make()
        return dist.sample(4), dist.sample(), tf.random_normal([2])

    def gradient():
        x = tf.constant(value)
        return _named(tf, tf.gradients(make().log_prob(x), [x]))

    if "deterministic" not in label:
        yield label + "_sample_graph_seed", graph_seed
        if "log_prob" in names and label != "one_hot":
            yield label + "_gradient", gradient


def _families(tf, np, d):
    x = np.array([[0.2], [0.7]], np.float32)
    counts = np.array([[0.0], [2.0]], np.float32)
    v = np.array([[0.3, -1.0], [2.0, 0.5], [0.0, 0.0]], np.float32)
    simplex = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32)
    common = "mean mode variance stddev entropy batch_shape_tensor event_shape_tensor"
    vector = "log_prob prob mean mode variance stddev covariance entropy batch_shape_tensor event_shape_tensor is_scalar_batch"
    lower = [[1.0, 9.0], [0.5, 2.0]]
    table = [
        ("cauchy", lambda: d.Cauchy([0.5, -1.0, 2.0], 0.3), x, "log_prob cdf log_cdf quantile survival_function " + common),
        ("logistic", lambda: d.Logistic([0.5, -1.0, 2.0], 0.3), x, "log_prob cdf log_cdf survival_function log_survival_function " + common),
        ("chi2", lambda: d.Chi2([1.0, 3.0]), x, "log_prob cdf " + common),
        ("chi2_abs", lambda: d.Chi2WithAbsDf([-1.5, 3.7]), x, "log_prob mean"),
        ("inverse_gamma", lambda: d.InverseGamma([1.5, 3.0], 2.0), x, "log_prob cdf " + common),
        ("inverse_gamma_softplus", lambda: d.InverseGammaWithSoftplusConcentrationRate([1.5, 3.0], 2.0), x, "log_prob mean"),
        ("gamma_softplus", lambda: d.GammaWithSoftplusConcentrationRate([1.5, -3.0], 2.0), x, "log_prob mean"),
        ("exponential_softplus", lambda: d.ExponentialWithSoftplusRate([1.5, -3.0]), x, "log_prob mean"),
        ("normal_softplus", lambda: d.NormalWithSoftplusScale([1.5, -3.0], -1.0), x, "log_prob stddev"),
        ("laplace_softplus", lambda: d.LaplaceWithSoftplusScale([1.5, -3.0], -1.0), x, "log_prob stddev"),
        ("beta_softplus", lambda: d.BetaWithSoftplusConcentration([1.5, -3.0], -1.0), x, "log_prob mean"),
        ("student_t_softplus", lambda: d.StudentTWithAbsDfSoftplusScale([1.5, -3.0], 0.5, -1.0), x, "log_prob variance"),
        ("half_normal", lambda: d.HalfNormal([0.5, 2.0]), x, "prob log_prob cdf quantile " + common),
        ("kumaraswamy", lambda: d.Kumaraswamy([1.5, 3.0], [2.0, 0.5]), x, "log_prob prob cdf quantile " + common),
        ("poisson", lambda: d.Poisson([0.5, 3.5]), counts, "log_prob cdf log_cdf mean mode variance batch_shape_tensor"),
        ("poisson_by_log", lambda: d.Poisson(log_rate=[0.5, 3.5]), counts, "log_prob cdf mean"),
        ("geometric", lambda: d.Geometric(probs=[0.2, 0.7]), counts, "log_prob cdf " + common),
        ("negative_binomial", lambda: d.NegativeBinomial([2.0, 5.0], logits=[0.2, -0.7]), counts[:, 0], "log_prob cdf mean mode variance"),
        ("deterministic", lambda: d.Deterministic([0.2, 0.7], atol=0.01), x, "prob log_prob cdf " + common),
        ("vector_deterministic", lambda: d.VectorDeterministic([0.3, -1.0], rtol=0.1), v, "prob log_prob " + common),
        ("relaxed_bernoulli", lambda: d.RelaxedBernoulli(0.7, logits=[0.3, -1.0]), x, "log_prob prob cdf batch_shape_tensor"),
        ("one_hot", lambda: d.OneHotCategorical(logits=[[0.3, -1.0, 2.0], [0.0, 0.1, 0.2]], dtype=tf.float32), np.eye(3, dtype=np.float32)[:2],
         "log_prob prob mode entropy covariance variance batch_shape_tensor event_shape_tensor"),
        ("relaxed_one_hot", lambda: d.RelaxedOneHotCategorical(0.7, logits=[[0.3, -1.0, 2.0], [0.0, 0.1, 0.2]]), simplex,
         "log_prob prob batch_shape_tensor event_shape_tensor"),
        ("exp_relaxed_one_hot", lambda: d.ExpRelaxedOneHotCategorical([0.7], probs=[0.3, 0.1, 0.6]), np.log(simplex), "log_prob prob"),
        ("mvn_diag", lambda: d.MultivariateNormalDiag([1.0, -1.0], [2.0, 0.5]), v, vector),
        ("mvn_diag_batch", lambda: d.MultivariateNormalDiag(scale_diag=[[2.0, 0.5], [1.0, 1.0], [0.1, 3.0]]), v, vector),
        ("mvn_diag_multiple", lambda: d.MultivariateNormalDiag([1.0, -1.0], scale_identity_multiplier=[2.0, 0.5, 0.1]), v, vector),
        ("mvn_identity", lambda: d.MultivariateNormalDiag([1.0, -1.0]), v, vector),
        ("mvn_softplus", lambda: d.MultivariateNormalDiagWithSoftplusScale([1.0, -1.0], [2.0, 0.5]), v, "log_prob stddev"),
        ("mvn_tril", lambda: d.MultivariateNormalTriL([1.0, -1.0], lower), v, vector),
        ("mvn_tril_batch", lambda: d.MultivariateNormalTriL([[1.0, -1.0]] * 3, lower), v, vector),
        ("mvn_tril_identity", lambda: d.MultivariateNormalTriL([1.0, -1.0]), v, "log_prob variance"),
        ("mvn_full", lambda: d.MultivariateNormalFullCovariance([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]]), v, vector),
        ("mvn_low_rank", lambda: d.MultivariateNormalDiagPlusLowRank([1.0, -1.0], [2.0, 0.5], scale_perturb_factor=[[1.0], [0.5]]), v, vector),
        ("mvn_low_rank_diag", lambda: d.MultivariateNormalDiagPlusLowRank(
            [1.0, -1.0], scale_identity_multiplier=2.0, scale_perturb_factor=[[1.0], [0.5]], scale_perturb_diag=[3.0]), v, "log_prob variance"),
        ("independent", lambda: d.Independent(d.Normal([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], 2.0)), v,
         "log_prob mean mode variance stddev entropy batch_shape_tensor event_shape_tensor"),
        ("independent_all", lambda: d.Independent(d.Normal([1.0, 2.0], [0.5, 1.0]), reinterpreted_batch_ndims=1), v, "log_prob entropy"),
        ("log_normal", lambda: d.TransformedDistribution(d.Normal([0.5, 1.0], 2.0), d.bijectors.Exp(), name="LogNormal"), x,
         "log_prob prob cdf log_cdf survival_function log_survival_function quantile batch_shape_tensor"),
        ("shifted", lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), d.bijectors.AffineScalar(1.0, 3.0), batch_shape=[2], event_shape=[2]),
         v[:2], "log_prob prob entropy batch_shape_tensor event_shape_tensor"),
        ("rotated", lambda: d.TransformedDistribution(d.Normal([0.0, 1.0], 1.0), d.bijectors.AffineScalar(1.0, 3.0), event_shape=[3]),
         np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]], np.float32), "log_prob prob entropy batch_shape_tensor event_shape_tensor"),
        ("folded", lambda: d.TransformedDistribution(d.Normal([0.0, 1.0], 1.0), d.bijectors.AbsoluteValue()), x, "log_prob prob"),
        ("logit_normal", lambda: d.TransformedDistribution(d.MultivariateNormalDiag([0.1, 0.2], [1.0, 0.5]), d.bijectors.SoftmaxCentered()), simplex,
         "log_prob batch_shape_tensor event_shape_tensor"),
    ]
    for label, make, value, names in table:
        yield from _family(tf, label, make, value, names)
    yield "binomial", lambda: (lambda b: [b.log_prob([[0.0], [3.0]]), b.cdf([[0.0], [3.0]]), b.mean(), b.mode(), b.variance(), b.prob(1.0)])(
        d.Binomial([3.0, 5.0], probs=[0.2, 0.7]))
    yield "mvn_reparameterized", lambda: _sample_gradient(tf, lambda: d.MultivariateNormalDiag(tf.constant([1.0, 2.0]), [2.0, 0.5]), "loc")
    yield "relaxed_reparameterized", lambda: _named(tf, tf.gradients(*(lambda r: (r.sample(seed=3)[0], [r.distribution.logits]))(
        d.RelaxedOneHotCategorical(0.7, logits=[0.3, -1.0, 2.0]))))
    yield "cached_inverse", lambda: (lambda t: t.log_prob(t.sample(3, seed=1)))(d.TransformedDistribution(d.Normal(0.5, 2.0), d.bijectors.Exp()))

    def hidden(value):
        return tf.placeholder_with_default(np.array(value, np.float32), None)
    yield "hidden_mvn", lambda: (lambda m: [m.sample(3, seed=1), m.batch_shape_tensor(), m.event_shape_tensor(), m.log_prob(v), m.mean()])(
        d.MultivariateNormalDiag(hidden([1.0, 2.0]), hidden([0.5, 1.0])))
    yield "hidden_tril", lambda: (lambda m: [m.sample(3, seed=1), m.batch_shape_tensor(), m.log_prob(v[0]), m.covariance()])(
        d.MultivariateNormalTriL(hidden([1.0, 2.0]), hidden(lower)))
    yield "hidden_independent", lambda: (lambda m: [m.sample(3, seed=1), m.batch_shape_tensor(), m.event_shape_tensor(), m.log_prob(v[0])])(
        d.Independent(d.Normal(hidden([[1.0, 2.0]]), 1.0), reinterpreted_batch_ndims=1))
    yield "hidden_one_hot", lambda: (lambda m: [m.sample(3, seed=1), m.batch_shape_tensor(), m.event_size, m.mode()])(
        d.OneHotCategorical(hidden([[1.0, 2.0, 0.3]])))


def _divergence(d, label, make):
    yield "kl_" + label, lambda: d.kl_divergence(*make())
    yield "kl_method_" + label, lambda: (lambda p, q: p.kl_divergence(q))(*make())


def _divergences(d):
    pairs = [
        ("one_hot", lambda: (d.OneHotCategorical(logits=[0.5, 1.0]), d.OneHotCategorical(probs=[0.3, 0.7]))),
        ("mvn_diag", lambda: (d.MultivariateNormalDiag([0.5, 1.0]), d.MultivariateNormalDiag([0.0, 1.0], [2.0, 3.0]))),
        ("mvn_mixed", lambda: (d.MultivariateNormalTriL([0.5, 1.0], [[1.0, 0.0], [0.5, 2.0]]), d.MultivariateNormalDiag([0.0, 1.0], [2.0, 3.0]))),
        ("independent", lambda: (d.Independent(d.Normal([[0.5, 1.0]], 2.0)), d.Independent(d.Normal([[0.0, 1.0]], 1.0)))),
        ("chi2", lambda: (d.Chi2([0.5, 1.0]), d.Chi2([0.3, 0.7]))),
    ]
    for label, make in pairs:
        yield from _divergence(d, label, make)


def _mixture(tf, label, make, value):
    for name in "log_prob prob mean stddev variance entropy_lower_bound batch_shape_tensor event_shape_tensor".split():
        yield "mixture_%s_%s" % (label, name), _method(make, name, value)
    yield "mixture_%s_sample" % label, lambda: make().sample([2, 3], seed=7)
    yield "mixture_%s_sample_static" % label, lambda: make(use_static_graph=True).sample([2, 3], seed=7)
    yield "mixture_%s_sample_graph" % label, lambda: (tf.set_random_seed(3), make().sample(5))[1]


def _same_family(tf, label, make, value):
    yield label + "_log_prob", lambda: make().log_prob(value)
    yield label + "_statistics", lambda: (lambda m: [m.mean(), m.variance(), m.stddev(), m.batch_shape_tensor(), m.event_shape_tensor()])(make())
    yield label + "_sample", lambda: (tf.set_random_seed(3), make().sample(5))[1]


def _mixtures(tf, np, d):
    v = np.array([[0.3, -1.0], [2.0, 0.5]], np.float32)
    scalars = lambda **more: d.Mixture(d.Categorical(probs=[[0.2, 0.8], [0.5, 0.5]]), [d.Normal([0.0, 1.0], 1.0), d.Laplace([3.0, 4.0], 0.5)], **more)
    vectors = lambda **more: d.Mixture(d.Categorical(probs=[0.2, 0.8]), [
        d.MultivariateNormalDiag([1.0, 2.0]), d.MultivariateNormalDiag([-1.0, 0.0], [1.0, 2.0])], **more)
    same = lambda: d.MixtureSameFamily(d.Categorical(probs=[0.3, 0.7]), d.Normal([-1.0, 1.0], [0.1, 0.5]))
    same_vectors = lambda: d.MixtureSameFamily(d.Categorical(probs=[0.3, 0.7]), d.MultivariateNormalDiag([[-1.0, 1.0], [2.0, 2.0]], [0.1, 0.5]))
    yield from _mixture(tf, "scalars", scalars, v)
    yield from _mixture(tf, "vectors", vectors, v)
    yield "mixture_log_cdf", lambda: scalars().log_cdf(v)
    yield "mixture_shapes", lambda: [scalars().batch_shape, vectors().event_shape, vectors().num_components]
    yield "mixture_gradient", lambda: (lambda x: _named(tf, tf.gradients(scalars().log_prob(x), [x])))(tf.constant(v))
    yield from _same_family(tf, "same", same, np.float32([[0.3], [2.0]]))
    yield from _same_family(tf, "same_vectors", same_vectors, v)
    yield "same_log_cdf", lambda: same().log_cdf([0.3, 2.0])
    yield "same_covariance", lambda: same_vectors().covariance()


def _tools(tf, np, d):
    x = np.float32([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    yield "softplus_inverse", lambda: d.softplus_inverse(np.float32([1e-9, 1e-3, 1.0, 20.0, 1e3]))
    yield "softplus_inverse_gradient", lambda: (lambda t: _named(tf, tf.gradients(d.softplus_inverse(t), [t])))(tf.constant([1e-9, 0.5, 100.0]))
    yield "fill_triangular", lambda: [d.fill_triangular(x), d.fill_triangular(x, upper=True), d.fill_triangular(np.stack([x, x]))]
    yield "fill_triangular_hidden", lambda: d.fill_triangular(tf.placeholder_with_default(x, [None]))
    yield "fill_triangular_inverse", lambda: [d.fill_triangular_inverse(d.fill_triangular(x, upper=u), upper=u) for u in (False, True)]
    yield "fill_triangular_wrong", lambda: d.fill_triangular(x[:4])
    yield "tridiag", lambda: [d.tridiag([1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0]), d.tridiag(above=[1.0]), d.tridiag(diag=[1.0, 2.0])]
    yield "tridiag_nothing", lambda: d.tridiag()
    yield "matrix_diag_transform", lambda: d.matrix_diag_transform([[1.0, 2.0], [3.0, 4.0]], transform=tf.nn.softplus)
    yield "weighted_logsumexp", lambda: [
        d.reduce_weighted_logsumexp([[1.0, 2.0], [3.0, 4.0]], axis=1), d.reduce_weighted_logsumexp([[1.0, 2.0]], w=[-1.0, 3.0], axis=-1),
        d.reduce_weighted_logsumexp([[1.0, 2.0]], w=[1.0, -3.0], axis=-1, keep_dims=True, return_sign=True)]
    yield "seed_stream", lambda: (lambda s: tf.constant([s() % 1000003, s() % 1000003, d.SeedStream(s, "y")() % 1000003]))(
        d.SeedStream(5, "x"))
    yield "posterior", lambda: (lambda p: [p.loc, p.scale])(
        d.normal_conjugates_known_scale_posterior(d.Normal([1.0, 2.0], 2.0), 0.5, tf.constant([3.0, 4.0]), 4))
    yield "predictive", lambda: (lambda p: [p.loc, p.scale])(
        d.normal_conjugates_known_scale_predictive(d.Normal([1.0, 2.0], 2.0), 0.5, tf.constant([3.0, 4.0]), 4))
    yield "names", lambda: [
        d.TransformedDistribution(d.Normal(0.0, 1.0), d.bijectors.Exp()).name, d.Independent(d.Normal([0.0], 1.0)).name,
        d.MultivariateNormalDiag([1.0]).name, d.RelaxedBernoulli(1.0, 0.5).name, repr(d.MultivariateNormalDiag([1.0, 2.0]))]
    yield "copies", lambda: [d.MultivariateNormalDiag([1.0, 2.0]).copy(scale_diag=[2.0, 3.0]).stddev(), d.Chi2([3.0]).copy(df=[4.0]).mean()]


def _errors(tf, d):
    table = [
        ("cauchy_mean", lambda: d.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()),
        ("inverse_gamma_mean", lambda: d.InverseGamma(0.5, 1.0, allow_nan_stats=False).mean()),
        ("poisson_rates", lambda: d.Poisson(1.0, 1.0)),
        ("poisson_integer", lambda: d.Poisson(1)),
        ("poisson_sample", lambda: d.Poisson(1.0, validate_args=True).log_prob(0.5)),
        ("binomial_count", lambda: d.Binomial(3.0, probs=0.5, validate_args=True).log_prob(4.0)),
        ("binomial_total", lambda: d.Binomial(3.5, probs=0.5, validate_args=True).mean()),
        ("geometric_sample", lambda: d.Geometric(probs=0.5, validate_args=True).log_prob(-1.0)),
        ("relaxed_temperature", lambda: d.RelaxedBernoulli(-1.0, 0.5, validate_args=True).sample()),
        ("mvn_nothing", lambda: d.MultivariateNormalDiag()),
        ("mvn_tril_nothing", lambda: d.MultivariateNormalTriL()),
        ("mvn_full_asymmetric", lambda: d.MultivariateNormalFullCovariance([0.0, 0.0], [[2.0, 0.5], [0.1, 1.0]], validate_args=True).sample()),
        ("mvn_sizes", lambda: d.MultivariateNormalDiag([0.0, 0.0, 1.0], [2.0, 0.5])),
        ("mvn_singular", lambda: d.MultivariateNormalDiag([0.0, 0.0], [2.0, 0.0], validate_args=True).sample()),
        ("independent_ndims", lambda: d.Independent(d.Normal([0.0], 1.0), reinterpreted_batch_ndims=2)),
        ("independent_kl", lambda: d.kl_divergence(d.Independent(d.Normal([[0.0]], 1.0)), d.Independent(d.Normal([[0.0, 1.0]], 1.0)))),
        ("mixture_cat", lambda: d.Mixture(d.Normal(0.0, 1.0), [d.Normal(0.0, 1.0)])),
        ("mixture_empty", lambda: d.Mixture(d.Categorical([0.5, 0.5]), [])),
        ("mixture_count", lambda: d.Mixture(d.Categorical([0.5, 0.5]), [d.Normal(0.0, 1.0)])),
        ("mixture_types", lambda: d.Mixture(d.Categorical([0.5, 0.5]), [d.Normal(0.0, 1.0), d.Bernoulli(0.5)])),
        ("same_count", lambda: d.MixtureSameFamily(d.Categorical([0.5, 0.5]), d.Normal([0.0, 1.0, 2.0], 1.0))),
        ("same_integers", lambda: d.MixtureSameFamily(d.Normal(0.5, 0.5), d.Normal([0.0, 1.0, 2.0], 1.0))),
        ("transformed_batch", lambda: d.TransformedDistribution(d.Normal([0.0, 1.0], 1.0), batch_shape=[2])),
        ("transformed_negative", lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), batch_shape=[-2])),
        ("transformed_cdf", lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), event_shape=[2]).cdf([1.0, 2.0])),
        ("transformed_entropy", lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), d.bijectors.Exp()).entropy()),
        ("folded_cdf", lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), d.bijectors.AbsoluteValue()).cdf(1.0)),
        ("deterministic_tolerance", lambda: d.Deterministic(1.0, atol=-1.0, validate_args=True).prob(1.0)),
        ("vector_deterministic_rank", lambda: d.VectorDeterministic(1.0, validate_args=True)),
    ]
    for label, case in table:
        yield "error_" + label, case
