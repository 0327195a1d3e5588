"""Optimizers with dense and sparse gradients for both kinds of variables, schedules, moving averages, and the graphs that they build."""


def cases(tf, np):
    """(name, function) pairs."""
    start = np.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5], [3.0, -2.0]], np.float32)
    dense = np.array([[0.1, -0.4], [0.0, 2.0], [-3.0, 0.5], [0.7, 0.2]], np.float32)

    def optimizers():
        train = tf.train
        step = tf.Variable(3, dtype=tf.int64, name="step", trainable=False)
        return {
            "sgd": lambda: train.GradientDescentOptimizer(0.1), "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
            "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), "adagrad": lambda: train.AdagradOptimizer(0.1),
            "adagrad da": lambda: train.AdagradDAOptimizer(0.1, step, l1_regularization_strength=0.05, l2_regularization_strength=0.1),
            "adagrad da plain": lambda: train.AdagradDAOptimizer(0.1, step),
            "adadelta": lambda: train.AdadeltaOptimizer(1.0, 0.9, 1e-4), "adam": lambda: train.AdamOptimizer(0.1, 0.8, 0.95, 1e-3),
            "rmsprop": lambda: train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
            "rmsprop centered": lambda: train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3, centered=True),
            "ftrl": lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.1),
            "ftrl power": lambda: train.FtrlOptimizer(0.1, learning_rate_power=-0.7),
            "ftrl shrinkage": lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.2),
            "proximal sgd": lambda: train.ProximalGradientDescentOptimizer(0.1, 0.05, 0.1),
            "proximal sgd plain": lambda: train.ProximalGradientDescentOptimizer(0.1),
            "proximal adagrad": lambda: train.ProximalAdagradOptimizer(0.1, 0.1, 0.05, 0.1)}

    def trained(name, res, sparse, steps=3):
        """The variable and its slots after some steps."""
        def function():
            var = tf.Variable(start, name="v", use_resource=res)
            optimizer = optimizers()[name]()
            previous = []
            for index in range(steps):
                with tf.control_dependencies(previous):
                    grad = tf.identity(dense * (index + 1.0))
                    if sparse:
                        grad = tf.IndexedSlices(tf.gather(grad, [0, 1, 2]), tf.constant([3, 1, 3]), tf.constant([4, 2]))
                    previous = [optimizer.apply_gradients([(grad, var)])]
            with tf.control_dependencies(previous):
                slots = [optimizer.get_slot(var, slot) for slot in sorted(optimizer.get_slot_names())]
                return [tf.identity(item.read_value(), name="after") for item in [var] + slots]
        return function

    names = ["sgd", "momentum", "nesterov", "adagrad", "adagrad da", "adagrad da plain", "adadelta", "adam", "rmsprop", "rmsprop centered", "ftrl",
             "ftrl power", "ftrl shrinkage", "proximal sgd", "proximal sgd plain", "proximal adagrad"]
    for name in names:
        for kind, res in (("ref", False), ("resource", True)):
            for gradient, sparse in (("dense", False), ("sparse", True)):
                # A reference is read when it is used: several steps of Adam in one run would depend on when its powers are read.
                yield "%s %s %s" % (name, kind, gradient), trained(name, res, sparse, 1 if name == "adam" and not res else 3)

    def graph_of(build):
        def function():
            build()
            ops = tf.get_default_graph().get_operations()
            wanted = ("Variable", "VariableV2", "VarHandleOp", "Assign", "NoOp")
            lines = ["%s %s" % (op.name, op.type) for op in ops if op.type in wanted or "Apply" in op.type]
            return tf.constant(sorted(lines), name="listing")
        return function

    def minimized(name):
        def build():
            v = tf.Variable(start, name="v")
            with tf.variable_scope("layer"):
                w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
            loss = tf.reduce_sum(tf.square(v) * w)
            optimizers()[name]().minimize(loss, global_step=tf.train.get_or_create_global_step())
        return build

    for name in names:
        yield "variables and updates of %s" % name, graph_of(minimized(name))

    steps = [0, 1, 5, 10, 11, 25, 40, 100]
    for staircase in (False, True):
        for at in steps:
            yield "exponential %s %d" % (staircase, at), lambda at=at, s=staircase: tf.train.exponential_decay(0.1, at, 10, 0.5, s)
            yield "natural %s %d" % (staircase, at), lambda at=at, s=staircase: tf.train.natural_exp_decay(0.1, at, 10, 0.5, s)
            yield "inverse %s %d" % (staircase, at), lambda at=at, s=staircase: tf.train.inverse_time_decay(0.1, at, 10, 0.5, s)
    for at in steps:
        yield "polynomial %d" % at, lambda at=at: tf.identity(tf.train.polynomial_decay(0.1, at, 30, 0.01, 2.0), name="r")
        yield "polynomial cycle %d" % at, lambda at=at: tf.identity(tf.train.polynomial_decay(0.1, at, 30, 0.01, 0.5, cycle=True), name="r")
        yield "piecewise %d" % at, lambda at=at: tf.identity(tf.train.piecewise_constant(at, [10, 25], [1.0, 0.5, 0.1]), name="r")
        yield "cosine %d" % at, lambda at=at: tf.identity(tf.train.cosine_decay(0.1, at, 30, 0.2), name="r")
        yield "restarts %d" % at, lambda at=at: tf.identity(tf.train.cosine_decay_restarts(0.1, at, 10, 2.0, 0.9, 0.1), name="r")
        yield "restarts equal %d" % at, lambda at=at: tf.identity(tf.train.cosine_decay_restarts(0.1, at, 10, 1.0, 0.9, 0.1), name="r")
        yield "linear cosine %d" % at, lambda at=at: tf.identity(tf.train.linear_cosine_decay(0.1, at, 30, 0.5, 0.1, 0.01), name="r")

    def averaged(debias, updates):
        def function():
            v = tf.Variable(10.0, name="v")
            ema = tf.train.ExponentialMovingAverage(0.9, num_updates=updates, zero_debias=debias)
            with tf.control_dependencies([v.assign(20.0)]):
                done = ema.apply([v])
            with tf.control_dependencies([done]):
                return [ema.average(v).read_value(), tf.constant([ema.average_name(v)])]
        return function

    for debias in (False, True):
        for updates in (None, 3):
            yield "average %s %s" % (debias, updates), averaged(debias, updates)

    def average_of_tensor():
        x = tf.constant([1.0, 2.0]) * 3.0
        ema = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
        done = ema.apply([x])
        with tf.control_dependencies([done]):
            return tf.identity(ema.average(x), name="r")

    yield "average of a tensor", average_of_tensor
