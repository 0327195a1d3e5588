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
    adam = tf.train.AdamOptimizer
    yield "one Adam for both", case(lambda: module.AdditiveExternalRegretOptimizer(adam(0.1)), False)
    yield "no bound", case(lambda: module.AdditiveExternalRegretOptimizer(descent(0.1), descent(0.5), 0), False)
    yield "a matrix that begins even", case(lambda: module.MultiplicativeSwapRegretOptimizer(descent(0.1), descent(0.5), 0.01, 1.0), False)
    yield "fractions of steps", case(lambda: module.AdditiveExternalRegretOptimizer(descent(0.1), descent(0.2)), False, 1.5)

    def twice(dtype):
        def build():
            class Plain(module.ConstrainedMinimizationProblem):
                """Its constraint may have another type."""

                w = tf.Variable(np.float64(1.0), name="w")
                objective = w ** 2
                constraints = tf.cast([1 - w], dtype)
            steps = [module.AdditiveSwapRegretOptimizer(descent(0.1)).minimize(Plain()) for _ in range(2)]
            assert len(steps) == 2
            return tf.constant([each.name + " " + each.dtype.base_dtype.name for each in tf.global_variables()], name="names")
        return build
    yield "float64, twice", twice(tf.float64)
    yield "two types", twice(tf.float32)
    yield "no global step", lambda: module.AdditiveSwapRegretOptimizer(descent(0.1)).minimize(Problem(False), unconstrained_steps=2)
    yield "an abstract optimizer", lambda: module.ConstrainedOptimizer(descent(0.1))
    yield "a radius below 0", lambda: module.AdditiveExternalRegretOptimizer(descent(0.1), None, -1.0)
    yield "unconstrained_steps", case(lambda: module.AdditiveSwapRegretOptimizer(descent(0.1), descent(0.2)), False, 2)
    objectives, constraints = np.array([5.0, 1.0, 2.0, 3.0]), np.array([[0.0, 2.0, 1.0, -1.0], [0.0, 1.0, 3.0, 0.5]])
    for ranked in (False, True):
        yield "find_best_candidate_index {}".format(ranked), lambda ranked=ranked: tf.constant(
            module.find_best_candidate_index(objectives, constraints, ranked), tf.int64)
    yield "find_best_candidate_index of shapes", lambda: module.find_best_candidate_index(objectives[:2], constraints)
    yield "find_best_candidate_index of equals", lambda: tf.constant(
        module.find_best_candidate_index(np.ones(3), np.zeros([2, 3])), tf.int64)
    yield "find_best_candidate_index without constraints", lambda: tf.constant(
        module.find_best_candidate_index(np.array([3.0, 1.0]), np.zeros([0, 2])), tf.int64)
    for epsilon in (0.0, 0.1, 0.3):
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
    for label, labels, weights in (("too large", [0, 3, 1, 1], 1.0), ("below 0", [0, -1, 1, 1], 1.0), ("of rank 0", 1, 1.0),
                                   ("of bytes", np.array([0, 1, 2, 1], np.uint8), 1.0), ("with few weights", [0, 1, 2, 1], [1.0, 2.0]),
                                   ("with weights of rank 3", [0, 1, 2, 1], [[[1.0]]])):
        yield "sparse_multiclass_hinge_loss of labels " + label, lambda labels=labels, weights=weights: tf.identity(
            module.sparse_multiclass_hinge_loss(tf.constant(labels), tf.constant(rows), weights), name="r")
    for label, logits in (("of rank 1", rows[0]), ("of float64", rows.astype(np.float64))):
        yield "sparse_multiclass_hinge_loss of logits " + label, lambda logits=logits: tf.identity(
            module.sparse_multiclass_hinge_loss(tf.constant([0, 2, 1, 1]), tf.constant(logits)), name="r")
    for stddev, shape in ((0.0, [2, 3]), (-1.0, [2, 3]), (1.0, [2, 4]), (1.0, [3]), (1.0, None)):
        yield "RandomFourierFeatureMapper {} {}".format(stddev, shape), lambda stddev=stddev, shape=shape: (
            module.RandomFourierFeatureMapper(3, 5, stddev).map(tf.placeholder(tf.float32, shape)))
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


    def wrong(indices, axis):
        def build():
            reduce = importlib.import_module(inside).reduce_slice_sum
            with tf.Graph().as_default(), tf.Session() as session:
                value = session.run(reduce(tf.constant(data), indices, axis))
            return tf.constant(value, name="value")
        return build
    rows = (([[3, 1]], 0), ([[0, 1]], 5), ([[0, 1, 2]], 0), ([[[0, 1]]], 0), (3, 0), ([2], 0), (np.zeros([0], np.int32), 0),
            (np.zeros([0, 2], np.int32), 0), ([4, 2], 0), ([[0, 1]], [0, 1]))
    for number, (indices, axis) in enumerate(rows):
        yield "corner {}".format(number), wrong(indices, axis)


def cases(tf, np):
    for group in (constrained, kernels, monte_carlo, slices):
        for name, function in group(tf, np):
            yield "{}: {}".format(group.__name__, name), function
