"""tf.distributions: values, gradients, names, shapes, errors and samples."""


def cases(tf, np):
    d = tf.distributions
    yield from _scalars(tf, np, d)
    yield from _vectors(tf, np, d)
    yield from _divergences(tf, d)
    yield from _shapes(tf, np, d)
    yield from _errors(tf, d)
    yield from _own(tf, d)


def _method(make, name, value):
    """A case of one method. (Cases run when all loops are over: what a loop changes must be an argument.)"""
    def case():
        method = getattr(make(), name)
        return method(value) if name in VALUED else method()
    return case


def _family(tf, label, make, parameters, value, names):
    for name in names.split():
        yield label + "_" + name, _method(make, name, value)
    yield label + "_gradient", lambda: _gradient(tf, make, value, parameters)


FUNCTIONS = "log_prob prob log_cdf cdf survival_function log_survival_function"
VALUED = [*FUNCTIONS.split(), "quantile"]
STATISTICS = "entropy mean mode variance stddev batch_shape_tensor event_shape_tensor is_scalar_event is_scalar_batch"
ALL = FUNCTIONS + " " + STATISTICS


def _gradient(tf, make, value, parameters):
    dist = make()
    return _named(tf, tf.gradients(dist.log_prob(tf.constant(value)), [getattr(dist, name) for name in parameters.split()]))


def _named(tf, gradients):
    """Gradients under names of their own: TensorFlow's names for them are not promised."""
    return [tf.identity(gradient, name="gradient") for gradient in gradients]


def _samples(tf, make):
    """With a seed of the op's own, with the graph's alone, and what follows from the number of nodes."""
    yield "sample_seed", lambda: make().sample([2, 3], seed=7)
    yield "sample_one", lambda: make().sample(seed=11)

    def graph_seed():
        tf.set_random_seed(5)
        dist = make()
        return dist.sample(4), dist.sample(), tf.random_normal([2])
    yield "sample_graph_seed", graph_seed


def _sample(label, make):
    yield label + "_sample_seed", lambda: make().sample([2], seed=7)


def _scalars(tf, np, d):
    x = np.array([[0.2], [0.7]], np.float32)
    row = np.array([0.2, 0.7, 0.4], np.float32)  # Betainc broadcasts nothing
    table = [
        ("normal", lambda: d.Normal([0.5, -1.0, 2.0], [[1.0], [0.3]]), "loc scale", x, ALL),
        ("normal_far", lambda: d.Normal(0.0, 1.0), "loc scale", np.array([-40.0, -11.0, -3.0, 4.0, 7.0, 30.0], np.float32), FUNCTIONS),
        ("normal64", lambda: d.Normal(np.float64(0.5), np.float64(2.0)), "loc scale", np.array([-50.0, 0.2, 9.0]), ALL),
        ("uniform", lambda: d.Uniform([0.0, 0.5, -1.0], [1.0, 0.6, 3.0]), "low high", x, ALL.replace("mode", "")),
        ("laplace", lambda: d.Laplace([0.5, -1.0, 2.0], 0.3), "loc scale", x, ALL),
        ("gamma", lambda: d.Gamma([0.5, 1.0, 3.0], 2.0), "concentration rate", x, ALL),
        ("exponential", lambda: d.Exponential([0.5, 1.0, 3.0]), "rate", x, ALL),
        ("beta", lambda: d.Beta([0.5, 1.5, 3.0], [2.0, 1.5, 0.7]), "concentration1 concentration0", row, ALL),
        ("student_t", lambda: d.StudentT([0.5, 1.5, 3.0], 0.1, [2.0, 1.5, 0.7]), "df loc scale", row, ALL),
        ("bernoulli", lambda: d.Bernoulli(logits=[-1.0, 0.3, 2.0]), "logits", np.array([[0], [1]], np.int32), "log_prob prob " + STATISTICS),
        ("bernoulli_probs", lambda: d.Bernoulli(probs=[0.1, 0.6, 0.9], dtype=tf.float32), "probs", np.array([1.0, 0.0, 1.0], np.float32),
         "log_prob prob " + STATISTICS),
        ("categorical", lambda: d.Categorical(logits=[[-1.0, 0.3, 2.0], [0.1, 0.2, 0.3]]), "logits", np.array([2, 0], np.int32),
         "log_prob prob cdf log_cdf " + STATISTICS.replace("mean", "").replace("variance stddev", "")),
        ("categorical_probs", lambda: d.Categorical(probs=[0.1, 0.6, 0.3], dtype=tf.int64), "probs", np.array([[2], [0]], np.int64),
         "log_prob prob cdf entropy mode batch_shape_tensor event_shape_tensor"),
    ]
    for label, make, parameters, value, names in table:
        yield from _family(tf, label, make, parameters, value, names)
        for name, case in _samples(tf, make):
            yield label + "_" + name, case
    for q in (0.0, 1e-30, 0.01, 0.3, 0.5, 0.9, 0.999999, 1.0):
        yield "normal_quantile_%g" % q, _method(lambda: d.Normal([0.5, 1.0], [2.0, 0.1]), "quantile", q)
    yield "uniform_range", lambda: d.Uniform([0.0, 1.0], 3.0).range()
    yield "reparameterized", lambda: _named(tf, tf.gradients(*(lambda n: (n.sample(5, seed=3), [n.loc, n.scale]))(
        d.Normal(1.0, [2.0, 3.0]))))
    yield "gamma_reparameterized", lambda: _named(tf, tf.gradients(*(lambda g: (g.sample(5, seed=3), [g.concentration, g.rate]))(
        d.Gamma(1.5, [2.0, 3.0]))))


def _vectors(tf, np, d):
    p = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32)
    counts = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 4.0]], np.float32)
    every = "log_prob prob mean variance stddev covariance batch_shape_tensor event_shape_tensor is_scalar_event is_scalar_batch"
    table = [
        ("dirichlet", lambda: d.Dirichlet([0.5, 1.5, 3.0]), "concentration", p, every + " entropy"),
        ("dirichlet_batch", lambda: d.Dirichlet([[2.5, 1.5, 3.0], [1.1, 4.0, 2.0]]), "concentration", p, every + " entropy"),
        ("dirichlet_multinomial", lambda: d.DirichletMultinomial(4.0, [[2.5, 1.5, 3.0]]), "concentration", counts, every),
        ("multinomial", lambda: d.Multinomial([4.0, 4.0], logits=[[0.1, 1.5, -1.0], [0.0, 0.0, 0.2]]), "logits", counts, every),
        ("multinomial_probs", lambda: d.Multinomial(4.0, probs=[0.1, 0.5, 0.4]), "probs", counts, every),
    ]
    for label, make, parameters, value, names in table:
        yield from _family(tf, label, make, parameters, value, names)
        if label != "multinomial":  # its rows are drawn in a loop, whose iterations TensorFlow runs in an order of its own
            yield from _sample(label, make)
    yield "dirichlet_mode", lambda: d.Dirichlet([2.5, 1.5, 3.0]).mode()
    yield "dirichlet_sample_graph_seed", lambda: (tf.set_random_seed(3), d.Dirichlet([2.5, 1.5, 3.0]).sample(3))[1]


def _divergence(d, label, make):
    yield "kl_" + label, lambda: d.kl_divergence(*make())
    yield "kl_method_" + label, lambda: (lambda p, q: p.kl_divergence(q))(*make())
    yield "kl_named_" + label, lambda: d.kl_divergence(*make(), allow_nan_stats=False, name="mine")
    yield "cross_entropy_" + label, lambda: (lambda p, q: p.cross_entropy(q))(*make())


def _divergences(tf, d):
    pairs = [
        ("normal", lambda: (d.Normal([0.5, 1.0], 2.0), d.Normal(0.0, [1.0, 3.0]))),
        ("bernoulli", lambda: (d.Bernoulli(logits=[0.5, 1.0]), d.Bernoulli(probs=[0.3, 0.9]))),
        ("categorical", lambda: (d.Categorical(logits=[0.5, 1.0]), d.Categorical(probs=[0.3, 0.7]))),
        ("gamma", lambda: (d.Gamma([0.5, 1.0], 2.0), d.Gamma(0.7, [1.0, 3.0]))),
        ("exponential", lambda: (d.Exponential([0.5, 1.0]), d.Exponential(2.0))),
        ("beta", lambda: (d.Beta([0.5, 1.0], 2.0), d.Beta(0.7, [1.0, 3.0]))),
        ("dirichlet", lambda: (d.Dirichlet([0.5, 1.0]), d.Dirichlet([[0.7, 1.0], [3.0, 4.0]]))),
    ]
    for label, make in pairs:
        yield from _divergence(d, label, make)
    yield "kl_missing", lambda: d.kl_divergence(d.Normal(0.0, 1.0), d.Uniform())
    yield "kl_nan", lambda: d.kl_divergence(d.Normal(0.0, -1.0), d.Normal(float("nan"), 1.0), allow_nan_stats=False)


def _shapes(tf, np, d):
    def hidden(value):
        return tf.placeholder_with_default(np.array(value), None)

    yield "hidden_normal", lambda: (lambda n: [n.sample(3, seed=1), n.batch_shape_tensor(), n.log_prob(0.1), n.mean(), n.is_scalar_batch()])(
        d.Normal(hidden([1.0, 2.0]), hidden([[3.0], [4.0]])))
    yield "hidden_sample_shape", lambda: d.Normal([1.0, 2.0], 1.0).sample(hidden(np.int32([2, 2])), seed=1)
    yield "hidden_scalar_sample_shape", lambda: d.Normal([1.0, 2.0], 1.0).sample(hidden(np.int32(2)), seed=1)
    yield "hidden_categorical", lambda: (lambda c: [c.sample(3, seed=1), c.batch_shape_tensor(), c.log_prob(1), c.mode(), c.entropy(), c.event_size])(
        d.Categorical(logits=hidden(np.float32([[1.0, 2.0, 0.0], [0.0, 0.0, 5.0]]))))
    yield "hidden_dirichlet", lambda: (lambda c: [c.sample(2, seed=1), c.batch_shape_tensor(), c.event_shape_tensor(), c.mean()])(
        d.Dirichlet(hidden([[1.0, 2.0, 0.5], [0.1, 0.1, 5.0]])))
    yield "hidden_uniform", lambda: (lambda u: [u.prob([0.5, 1.5]), u.cdf([0.5, 1.5]), u.sample(2, seed=4)])(
        d.Uniform(hidden(0.0), hidden([1.0, 2.0])))
    yield "static_shapes", lambda: [d.Normal([[0.0]], [1.0, 2.0]).batch_shape, d.Normal(0.0, 1.0).event_shape,
                                    d.Dirichlet([1.0, 2.0]).event_shape, d.Multinomial([1.0, 2.0], probs=[0.5, 0.5]).batch_shape]
    yield "param_shapes", lambda: d.Normal.param_shapes([2, 3])
    yield "param_static_shapes", lambda: [d.StudentT.param_static_shapes([2, 3])[key] for key in ("df", "loc", "scale")]
    yield "param_static_shapes_of_shape", lambda: d.Bernoulli.param_static_shapes(tf.TensorShape([4]))["logits"]
    yield "names", lambda: [d.Normal(0.0, 1.0).name, d.Normal(0.0, 1.0).name, d.Gamma(1.0, 2.0, name="mine").name]
    yield "text", lambda: [str(d.Normal([0.0, 1.0], 1.0)), repr(d.Categorical([0.5, 0.5])), repr(d.FULLY_REPARAMETERIZED)]
    yield "copy", lambda: (lambda n: [n.copy(scale=3.0).stddev(), sorted(n.parameters), n.parameters["validate_args"]])(d.Normal([0.0, 1.0], 1.0))
    yield "reparameterization", lambda: [
        dist.reparameterization_type == d.FULLY_REPARAMETERIZED
        for dist in (d.Normal(0.0, 1.0), d.Bernoulli(0.5), d.Gamma(1.0, 1.0), d.Dirichlet([1.0, 2.0]), d.Multinomial(1.0, [0.5, 0.5]))]


def _errors(tf, d):
    table = [
        ("normal_scale", lambda: d.Normal(0.0, -1.0, validate_args=True).mean()),
        ("normal_types", lambda: d.Normal(tf.constant(0.0), tf.constant(1.0, tf.float64))),
        ("normal_integers", lambda: d.Normal(1, 2)),
        ("uniform_order", lambda: d.Uniform(1.0, 0.0, validate_args=True).mean()),
        ("gamma_rate", lambda: d.Gamma(1.0, -1.0, validate_args=True).mean()),
        ("gamma_sample", lambda: d.Gamma(1.0, 1.0, validate_args=True).log_prob(-1.0)),
        ("gamma_mode", lambda: d.Gamma(0.5, 1.0, allow_nan_stats=False).mode()),
        ("beta_concentration", lambda: d.Beta(1.0, -1.0, validate_args=True).mean()),
        ("beta_sample", lambda: d.Beta(1.0, 1.0, validate_args=True).log_prob(1.5)),
        ("beta_mode", lambda: d.Beta(0.5, 1.0, allow_nan_stats=False).mode()),
        ("student_t_mean", lambda: d.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).mean()),
        ("student_t_df", lambda: d.StudentT(-0.5, 0.0, 1.0, validate_args=True).sample()),
        ("both", lambda: d.Bernoulli(logits=0.0, probs=0.5)),
        ("neither", lambda: d.Categorical()),
        ("bernoulli_integers", lambda: d.Bernoulli(probs=1)),
        ("bernoulli_probs", lambda: d.Bernoulli(probs=1.5, validate_args=True).mean()),
        ("bernoulli_sample", lambda: d.Bernoulli(probs=0.5, validate_args=True).log_prob(2)),
        ("bernoulli_fraction", lambda: d.Bernoulli(probs=0.5, dtype=tf.float32, validate_args=True).log_prob(0.5)),
        ("categorical_sum", lambda: d.Categorical(probs=[0.5, 0.6], validate_args=True).entropy()),
        ("categorical_scalar", lambda: d.Categorical(logits=1.0)),
        ("categorical_one_class", lambda: d.Categorical(logits=[1.0], validate_args=True)),
        ("dirichlet_sum", lambda: d.Dirichlet([1.0, 2.0], validate_args=True).log_prob([0.5, 0.6])),
        ("dirichlet_mode", lambda: d.Dirichlet([0.5, 2.0], allow_nan_stats=False).mode()),
        ("multinomial_sum", lambda: d.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True).log_prob([1.0, 1.0])),
        ("multinomial_fraction", lambda: d.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True).log_prob([1.5, 1.5])),
        ("no_quantile", lambda: d.Gamma(1.0, 1.0).quantile(0.5)),
        ("no_cdf", lambda: d.Dirichlet([1.0, 1.0]).cdf([0.5, 0.5])),
        ("no_mode", lambda: d.Uniform().mode()),
        ("sample_matrix", lambda: d.Uniform().sample([[1, 2]])),
        ("graph_parent", lambda: d.Distribution(tf.float32, d.NOT_REPARAMETERIZED, False, True, graph_parents=[None])),
        ("registered_twice", lambda: d.RegisterKL(d.Normal, d.Normal)(lambda p, q, name=None: None)),
        ("param_shape", lambda: d.Normal.param_static_shapes(tf.TensorShape([None]))),
    ]
    for label, case in table:
        yield "error_" + label, case


def _own(tf, d):
    """Classes of a user's own."""
    class Twice(d.Distribution):
        def __init__(self, base, name="Twice"):
            self.base = tf.convert_to_tensor(base)
            super().__init__(dtype=tf.float32, reparameterization_type=d.NOT_REPARAMETERIZED, validate_args=False, allow_nan_stats=True,
                             parameters={"base": base, "name": name}, graph_parents=[self.base], name=name)

        def _batch_shape(self):
            return self.base.shape

        def _event_shape(self):
            return tf.TensorShape([])

        def _sample_n(self, n, seed=None):
            return tf.random_uniform([n, 2], seed=seed) * self.base

        def _prob(self, x):
            return x / self.base

        def _stddev(self):
            return self.base

    class Thrice(Twice):
        pass

    @d.RegisterKL(Twice, Twice)
    def kl(p, q, name=None):
        return tf.subtract(p.base, q.base, name=name)

    yield "own", lambda: (lambda t: [t.sample(3, seed=2), t.log_prob(0.5), t.prob(0.5), t.variance(), t.stddev(), t.name])(Twice([2.0, 3.0]))
    yield "own_kl", lambda: Thrice([2.0, 3.0]).kl_divergence(Twice([1.0, 1.0]))
    yield "own_missing", lambda: Twice([2.0, 3.0]).mean()
    yield "own_cdf", lambda: Twice([2.0, 3.0]).survival_function(1.0)
    yield "own_copy", lambda: Twice([2.0, 3.0]).copy(base=[5.0, 6.0]).stddev()
