"""Small packages of tf.contrib: constrained_optimization, kernel_methods, bayesflow, reduce_slice_ops."""


def constrained(tf, np):
    module = tf.contrib.constrained_optimization
    descent = tf.train.GradientDescentOptimizer

    class Problem(module.ConstrainedMinimizationProblem):
        """A square under two lines; its proxies, if it has some, are steeper."""

        def __init__(self, has_proxies):
            self.w = tf.get_variable("w", initializer=tf.constant([0.5, -1.0]))
            self.has_proxies = has_proxies

        @property
        def objective(self):
            return tf.reduce_sum((self.w - [2.0, 1.0]) ** 2)

        @property
        def constraints(self):
            return tf.stack([self.w[0] - 1.0, self.w[1] + self.w[0] - 0.5])

        @property
        def proxy_constraints(self):
            return tf.stack([2 * self.w[0] - 2.0, self.w[1] + self.w[0] - 0.5]) if self.has_proxies else None

    def case(make, has_proxies, unconstrained=None):
        def build():
            with tf.Graph().as_default(), tf.Session() as session:
                problem = Problem(has_proxies)
                step = make().minimize(problem, unconstrained_steps=unconstrained, global_step=tf.train.get_or_create_global_step())
                session.run(tf.global_variables_initializer())
                values = []
                for _ in range(4):
                    session.run(step)
                    values.append(session.run(tf.global_variables()))
                names = [each.name.split("/")[-1] for each in tf.global_variables()]
            return [tf.constant(names, name="names")] + [tf.constant(each, name="value") for row in values for each in row]
        return build
    for has_proxies in (False, True):
        label = " proxies" if has_proxies else ""
        yield "AdditiveExternalRegretOptimizer" + label, case(
            lambda: module.AdditiveExternalRegretOptimizer(descent(0.1), descent(0.5), maximum_multiplier_radius=0.3), has_proxies)
        yield "AdditiveSwapRegretOptimizer" + label, case(lambda: module.AdditiveSwapRegretOptimizer(descent(0.1), descent(0.2)), has_proxies)
        yield "MultiplicativeSwapRegretOptimizer" + label, case(
            lambda: module.MultiplicativeSwapRegretOptimizer(descent(0.1), descent(0.5), 0.01, 0.2), has_proxies)
    yield "unconstrained_steps", case(lambda: module.AdditiveSwapRegretOptimizer(descent(0.1), descent(0.2)), False, 2)
    objectives, constraints = np.array([5.0, 1.0, 2.0, 3.0]), np.array([[0.0, 2.0, 1.0, -1.0], [0.0, 1.0, 3.0, 0.5]])
    for ranked in (False, True):
        yield "find_best_candidate_index {}".format(ranked), lambda ranked=ranked: tf.constant(
            module.find_best_candidate_index(objectives, constraints, ranked), tf.int64)
    yield "find_best_candidate_index of shapes", lambda: module.find_best_candidate_index(objectives[:2], constraints)
    for epsilon in (0.0, 0.1):
        yield "find_best_candidate_distribution {}".format(epsilon), lambda epsilon=epsilon: tf.constant(
            module.find_best_candidate_distribution(objectives, constraints + 0.5, epsilon), tf.float32)


def kernels(tf, np):
    module = tf.contrib.kernel_methods
    rows = np.sin(np.arange(12.0)).reshape(4, 3).astype(np.float32)
    yield "RandomFourierFeatureMapper", lambda: tf.identity(
        module.RandomFourierFeatureMapper(3, 5, stddev=2.0, seed=4).map(tf.constant(rows)), name="r")
    for weights in (1.0, [1.0, 0.0, 2.0, 1.0]):
        yield "sparse_multiclass_hinge_loss {}".format(weights), lambda weights=weights: tf.identity(
            module.sparse_multiclass_hinge_loss(tf.constant([[0], [2], [1], [1]]), tf.constant(rows), weights), name="r")
    yield "sparse_multiclass_hinge_loss type", lambda: module.sparse_multiclass_hinge_loss(tf.constant([0.0, 1.0, 2.0, 1.0]), tf.constant(rows))


def monte_carlo(tf, np):
    module = tf.contrib.bayesflow.monte_carlo
    samples = np.sin(np.arange(6.0)).reshape(3, 2).astype(np.float32)

    def expectation(is_reparametrized):
        def build():
            mean = tf.constant([0.3, -0.2])
            normal = tf.distributions.Normal(mean, 1.0)
            value = module.expectation(lambda x: x ** 2, tf.constant(samples) + mean, normal.log_prob, is_reparametrized)
            return [tf.identity(value, name="value"), tf.identity(tf.gradients(value, mean)[0], name="gradient")]
        return build
    for is_reparametrized in (False, True):
        yield "expectation {}".format(is_reparametrized), expectation(is_reparametrized)

    def sampler(call):
        def build():
            p, q = tf.distributions.Normal([0.3, -0.2], 1.0), tf.distributions.Normal([0.0, 0.0], 2.0)
            return tf.identity(call(p, q), name="value")
        return build
    yield "expectation_importance_sampler", sampler(lambda p, q: module.expectation_importance_sampler(
        lambda z: z ** 2, p.log_prob, q, z=tf.constant(samples)))
    yield "expectation_importance_sampler_logspace", sampler(lambda p, q: module.expectation_importance_sampler_logspace(
        lambda z: 2 * z, p.log_prob, q, z=tf.constant(samples)))
    yield "n and z", sampler(lambda p, q: module.expectation_importance_sampler(lambda z: z, p.log_prob, q, z=tf.constant(samples), n=3))


def slices(tf, np):
    import importlib
    inside = "penstock.contrib.reduce_slice_ops" if tf.__name__.startswith("penstock") else (
        "tensorflow.contrib.reduce_slice_ops.python.ops.reduce_slice_ops")
    data = np.arange(1, 19).reshape(6, 3)

    def case(name, dtype, indices, axis):
        def build():
            # As a value: the static shapes that TensorFlow tells are those of the indices.
            with tf.Graph().as_default(), tf.Session() as session:
                reduce = getattr(importlib.import_module(inside), "reduce_slice_" + name)
                value = session.run(reduce(tf.constant(data.astype(dtype)), indices, axis))
            return tf.constant(value, name="value")
        return build
    for name in ("sum", "prod", "max", "min"):
        for dtype in (np.float32, np.int32):
            for number, (indices, axis) in enumerate((([[0, 2], [1, 1], [2, 9]], 0), ([0, 2, 4, 6], 0), ([[0, 2], [1, 3]], 1))):
                yield "reduce_slice_{} {} {}".format(name, np.dtype(dtype).name, number), case(name, dtype, indices, axis)


def cases(tf, np):
    for group in (constrained, kernels, monte_carlo, slices):
        for name, function in group(tf, np):
            yield "{}: {}".format(group.__name__, name), function
