"""Imperative style: tapes, derivatives of functions, traced functions, metrics, checkpoints, modules, seeds, and the classes of errors.

A case computes with values, as a program with ``tf.enable_eager_execution()`` does, and tells what came out as constants of its graph.
"""


def _eager_mode():
    try:
        from tensorflow.python.eager import context
    except ImportError:
        from penstock.imperative import context
    return context.eager_mode()


def _plain(np, value):
    """Arrays and texts; None as a text."""
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in _plain(np, value[key])]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _plain(np, item)]
    return ["None" if value is None else np.asarray(value.numpy() if hasattr(value, "numpy") else value)]


def cases(tf, np):
    tfe = tf.contrib.eager

    def told(compute):
        """A case that runs ``compute`` in imperative style."""
        def build():
            with _eager_mode():
                values = _plain(np, compute())
            return [tf.constant(value, name="told") for value in values]
        return build

    def error_of(*attempts):
        """The classes of the errors that functions raise; "none" for one that does not."""
        names = []
        for attempt in attempts:
            try:
                result = attempt()
                if hasattr(result, "numpy"):
                    result.numpy()
                names.append("none")
            except Exception as error:
                names.append(type(error).__name__)
        return names

    def gradient(function, *args, **options):
        sources = [tf.constant(arg) for arg in args]
        with tf.GradientTape(**options) as tape:
            for source in sources:
                tape.watch(source)
            result = function(*sources)
        return tape.gradient(result, sources)

    for name, function, args in (
            ("square", lambda x: x * x, ([1.0, 2.0, 3.0],)), ("softmax", lambda x: tf.nn.softmax(x)[0], ([1.0, 2.0, 0.5],)),
            ("matmul", lambda a, b: tf.reduce_sum(tf.matmul(a, b) ** 2), ([[1.0, 2.0]], [[3.0], [0.5]])),
            ("slice", lambda x: tf.reduce_sum(tf.square(x[1:])), ([1.0, 2.0, 3.0],)),
            ("while", lambda x: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [tf.constant(0), x])[1], (2.0,)),
            ("cond", lambda x: tf.cond(x > 1.0, lambda: x * x, lambda: x * 3.0), (2.0,)),
            ("unconnected", lambda x, y: x * 2.0, (2.0, 3.0)), ("stopped", lambda x: tf.stop_gradient(x) * x, (3.0,)),
            ("map", lambda x: tf.reduce_sum(tf.map_fn(lambda e: e * e, x)), ([1.0, 2.0],)),
            ("clip", lambda x: tf.clip_by_norm(x, 1.0)[1], ([3.0, 4.0],))):
        yield "tape_" + name, told(lambda function=function, args=args: gradient(function, *args))

    def orders():
        x = tf.constant(1.5)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.sin(x) * x ** 3
            first = inner.gradient(y, x)
        return [y, first, outer.gradient(first, x)]
    yield "tape_second_order", told(orders)

    def persistent():
        v = tf.Variable([1.0, 2.0], use_resource=True)
        with tf.GradientTape(persistent=True) as tape:
            y = v * v
            with tape.stop_recording():
                aside = y * 100.0
            z = tf.reduce_sum(y * y + aside)
        return [tape.gradient(z, v), tape.gradient(y, v), tape.gradient(z, y), tape.jacobian(y, v), len(tape.watched_variables())]
    yield "tape_persistent", told(persistent)

    def again():
        x, tape = tf.constant([1.0, 2.0]), tf.GradientTape()
        with tape:
            tape.watch(x)
            y = x * x
        aside = y * 5.0
        with tape:
            z = y * x + aside
        return tape.gradient(z, x)
    yield "tape_entered_again", told(again)

    def jacobians():
        m = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(m)
            y = tf.matmul(m, m) * m
        return [tape.jacobian(y, m), tape.batch_jacobian(y, m)]
    yield "tape_jacobians", told(jacobians)

    def sparse():
        table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], use_resource=True)
        with tf.GradientTape() as tape:
            rows = tf.nn.embedding_lookup(table, [0, 2, 0]) ** 2
        grad = tape.gradient(rows, table)
        return [type(grad).__name__, grad.values, grad.indices, tf.convert_to_tensor(grad)]
    yield "tape_indexed_slices", told(sparse)

    def functions():
        f = tfe.gradients_function(lambda a, b: a * a * b)
        x = tf.constant(2.0)
        third = tfe.gradients_function(lambda a: tfe.gradients_function(lambda b: tfe.gradients_function(lambda c: c ** 4)(b)[0])(a)[0])
        return [f(3.0, 4.0), f(x, x), tfe.value_and_gradients_function(lambda a: a ** 3)(2.0), third(2.0),
                tfe.gradients_function(lambda a, b: a * b, params=["b"])(3.0, 4.0), tfe.gradients_function(lambda a: a * a)(3.0, dy=tf.constant(2.0))]
    yield "derivatives", told(functions)

    def custom():
        v = tf.Variable(3.0, use_resource=True)

        @tf.custom_gradient
        def scaled(x):
            def grad(dy, variables=None):
                return dy * 10.0, [dy * 7.0 for _ in variables]
            return x * v, grad

        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x) * 2.0
        return [y, tape.gradient(y, [x, v])]
    yield "custom_gradient", told(custom)

    def optimizers():
        results = []
        for make in (lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.1),
                     lambda: tf.train.MomentumOptimizer(0.1, 0.9),
                     lambda: tf.train.RMSPropOptimizer(0.1), lambda: tf.train.AdagradOptimizer(0.1), lambda: tf.train.FtrlOptimizer(0.1)):
            v, optimizer = tf.Variable([1.0, -2.0], use_resource=True), make()
            for step in range(5):
                optimizer.minimize(lambda: tf.reduce_sum(v ** 2) * (step + 1.0))
            results.append(v.numpy())
        return results
    yield "optimizers", told(optimizers)

    def traced():
        count = []

        @tf.function
        def step(x, power=2):
            count.append(1)
            total = tf.constant(0.0)
            for i in tf.range(3):
                if i == 1:
                    continue
                total += x ** power
            return total

        results = [step(tf.constant(2.0)), step(tf.constant(3.0)), step(tf.constant(2.0), 3), step(tf.constant([1.0, 2.0])[0])]
        return [results, len(count)]
    yield "function_traces", told(traced)

    def once():
        class Holder:
            def __init__(self):
                self.v = None

            @tf.function
            def __call__(self, x):
                if self.v is None:
                    self.v = tf.Variable(2.0)
                self.v.assign_add(1.0)
                return self.v * x

        holder = Holder()
        return [holder(tf.constant(3.0)), holder(tf.constant(4.0)), holder.v]
    yield "function_variables_once", told(once)

    def metrics():
        mean, accuracy, keras = tfe.metrics.Mean(), tfe.metrics.Accuracy(), tf.keras.metrics.MeanSquaredError()
        for value, weight in ((1.0, 1.0), ([2.0, 4.0], [1.0, 0.5])):
            mean(value, weights=weight)
        accuracy([1, 2, 3], [1, 2, 0])
        accuracy([1, 1], [1, 0], weights=[0.5, 2.0])
        keras([1.0, 2.0], [2.0, 4.0])
        before = [mean.result(), accuracy.result(), keras.result()]
        mean.init_variables()
        keras.reset_states()
        return [before, mean.result(), keras.result(), [variable.name for variable in mean.variables]]
    yield "metrics", told(metrics)

    def checkpoints():
        import os
        import tempfile
        v, optimizer, path = tf.Variable([1.0, 2.0], use_resource=True), tf.train.AdamOptimizer(0.1), os.path.join(tempfile.mkdtemp(), "model")
        for _ in range(3):
            optimizer.minimize(lambda: tf.reduce_sum(v * v))
        saved = tf.train.Checkpoint(v=v, optimizer=optimizer).save(path)
        other, again = tf.train.Checkpoint(), tf.train.AdamOptimizer(0.1)
        status = other.restore(saved)
        other.v, other.optimizer = tf.Variable([0.0, 0.0], use_resource=True), again
        found = [other.v.numpy()]
        again.minimize(lambda: tf.reduce_sum(other.v * other.v))
        optimizer.minimize(lambda: tf.reduce_sum(v * v))
        status.assert_consumed()
        return [os.path.basename(saved), sorted(name for name, _ in tf.train.list_variables(saved)), found, other.v, v, other.save_counter]
    yield "checkpoint", told(checkpoints)

    def later():
        import os
        import tempfile

        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.first, self.last = tf.keras.layers.Dense(3, kernel_initializer="ones"), tf.keras.layers.Dense(1, kernel_initializer="ones")

            def call(self, x):
                return self.last(tf.nn.relu(self.first(x)))

        x, net, path = tf.ones([2, 4]), Net(), os.path.join(tempfile.mkdtemp(), "weights")
        net(x)
        net.first.kernel.assign(net.first.kernel * 0.25)
        net.save_weights(path)
        loaded = Net()
        loaded.load_weights(path)
        return [net(x), loaded(x)]
    yield "weights_of_a_model_without_variables", told(later)

    def modules():
        class Inner(tf.Module):
            def __init__(self, name=None):
                super().__init__(name=name)
                self.w = tf.Variable(1.0, name="w", use_resource=True)
                self.parts = {"k": [tf.Variable(2.0, name="k", trainable=False, use_resource=True)]}

            @tf.Module.with_name_scope
            def __call__(self, x):
                self.late = tf.Variable(0.5, name="late", use_resource=True)
                return x * self.w + self.late

        class HTTPOuter2D(tf.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.named = Inner(), Inner("other")

        outer = HTTPOuter2D()
        value = outer.inner(tf.constant(2.0))
        return [value, outer.name, outer.name_scope.name, [v.name for v in outer.variables], [v.name for v in outer.trainable_variables],
                [type(m).__name__ + "/" + m.name for m in outer.submodules], error_of(lambda: tf.Module("a b"))]
    yield "module", told(modules)

    def seeds():
        tf.set_random_seed(3)
        first = [tf.random_uniform([2]), tf.random_normal([2], seed=5), tf.random_uniform([3], maxval=10, dtype=tf.int32), tf.truncated_normal([2])]
        tf.set_random_seed(3)
        return [first, tf.random_uniform([2]), tf.random_shuffle(tf.range(5), seed=2)]
    yield "seeds", told(seeds)

    def texts():
        return [str(tf.constant(1.5)), str(tf.constant([1, 2])), str(tf.constant("a")), str(tf.zeros([0, 2])), str(tf.constant([[1.0], [2.0]])),
                repr(tf.Variable(2.0, use_resource=True)), "{:.2f}".format(float(tf.constant(2.5)))]
    yield "texts", told(texts)

    def python_values():
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        return [[10, 20, 30][tf.constant(1)], list(range(tf.constant(3))), len(x), [row.numpy() for row in x], bool(tf.constant(2.0)),
                float(tf.constant([1.5])),
                np.asarray(x).sum(), np.ones([2, 2], np.float32) + x, x.shape.as_list(), x.ndim, x.device]
    yield "python_values", told(python_values)

    def argument_errors():
        x = tf.ones([2, 2])
        return error_of(lambda: tf.matmul(x, tf.ones([3, 3])), lambda: tf.reshape(x, [3, 3]), lambda: x + tf.ones([3]),
                        lambda: tf.constant(1) + 1.5, lambda: x[5],
                        lambda: tf.constant([1, 2, 3], shape=[5]), lambda: tf.constant([1, 2, 3, 4, 5, 6], shape=[5]),
                        lambda: tf.constant(1.5, tf.int32),
                        lambda: tf.constant("a", tf.float32), lambda: tf.constant([[1, 2], [3]]), lambda: tf.constant(None),
                        lambda: tf.placeholder(tf.float32),
                        lambda: tf.gradients(x, x), lambda: x.name, lambda: x.eval(), lambda: bool(x), lambda: len(tf.constant(1)),
                        lambda: list(tf.constant(1)),
                        lambda: x.set_shape([3, 2]), lambda: tf.convert_to_tensor(x, tf.float64), lambda: x.gpu())
    yield "errors_of_arguments", told(argument_errors)

    def value_errors():
        x = tf.ones([2])
        return error_of(lambda: tf.gather(x, [5]), lambda: tf.constant(1) // tf.constant(0),
                        lambda: tf.debugging.check_numerics(tf.constant(float("nan")), "bad"),
                        lambda: tf.debugging.assert_equal(tf.constant(1), tf.constant(2)), lambda: tf.Assert(tf.constant(False), [x]),
                        lambda: tf.py_function(lambda: 1 // 0, [], tf.int32), lambda: tf.io.read_file("/no/such/file"),
                        lambda: tf.string_to_number(tf.constant("a")),
                        lambda: tf.data.Dataset.from_tensors(1).make_one_shot_iterator().get_next())
    yield "errors_of_values", told(value_errors)

    def style_errors():
        v, optimizer = tf.Variable(1.0, use_resource=True), tf.train.GradientDescentOptimizer(0.1)

        def used_twice():
            with tf.GradientTape() as tape:
                y = v * v
            return tape.gradient(y, v) + tape.gradient(y, v)

        def entered_twice():
            tape = tf.GradientTape()
            with tape, tape:
                return v * 1.0

        @tf.function
        def makes_variables(x):
            return tf.Variable(1.0) * x

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def signed(x):
            return x

        return error_of(used_twice, entered_twice, lambda: tf.GradientTape().gradient(v, v), lambda: makes_variables(tf.constant(1.0)),
                        lambda: signed(tf.ones([1, 1])), lambda: signed(tf.ones([1]), 2), lambda: optimizer.minimize(v * v),
                        lambda: optimizer.apply_gradients([]),
                        lambda: optimizer.apply_gradients([(None, v)]), lambda: tfe.gradients_function(lambda a: None)(1.0),
                        lambda: tfe.implicit_gradients(lambda a: a * 1.0)(3.0),
                        lambda: tfe.gradients_function(lambda a: a, params=["b"])(1.0))
    yield "errors_of_style", told(style_errors)

    def words_of(*attempts):
        """The class of the error of each function, and its words up to the name of the op."""
        words = []
        for attempt in attempts:
            try:
                result = attempt()
                words.append("none" if not hasattr(result, "numpy") else repr(result.numpy().tolist()))
            except Exception as error:
                words.append("%s: %s" % (type(error).__name__, str(error).split("\n")[0].split(" [Op:")[0]))
        return words

    def kernel_words():
        x = tf.ones([2, 3])
        return words_of(lambda: tf.matmul(x, x), lambda: tf.matmul(tf.ones([3]), x), lambda: tf.matmul(tf.ones([5, 2, 3]), tf.ones([5, 2, 3])),
                        lambda: x + tf.ones([2, 4]), lambda: tf.concat([x, tf.ones([3, 4])], 0), lambda: tf.split(tf.ones([5, 2]), 2),
                        lambda: tf.stack([tf.ones([2]), tf.ones([3])]), lambda: tf.transpose(x, [0, 1, 2]), lambda: x[7], lambda: x[1, 2, 3])
    yield "kernel_words", told(kernel_words)

    def control_flow_words():
        def helper(x):
            return 1 if x > 0 else 2

        def in_graph(use):
            with tf.Graph().as_default():
                return use(tf.constant([1.0, 2.0]))

        return words_of(lambda: tf.function(lambda x: helper(x[0]), autograph=False)(tf.ones([2])),
                        lambda: tf.function(lambda x: list(x), autograph=False)(tf.ones([2])),
                        lambda: in_graph(lambda x: bool(x[0] > 0)), lambda: in_graph(list))
    yield "control_flow_words", told(control_flow_words)

    def without_graphs():
        return words_of(lambda: tf.py_func(lambda x: np.float64(3), [tf.constant(1.0)], tf.float32), lambda: tf.py_func(lambda: 3, [], tf.int64),
                        lambda: tf.py_func(lambda x: x, [tf.constant(1.0)], [tf.float32]), lambda: tf.train.start_queue_runners(),
                        lambda: tf.train.QueueRunner(), lambda: tf.make_template("t", lambda: 1, unique_name_="a"))
    yield "without_graphs", told(without_graphs)

    def keys_and_specs():
        v, x = tf.Variable(1.0, use_resource=True), tf.TensorSpec([2, None], tf.float32, "a")
        return [v.experimental_ref() == v.experimental_ref(), v.experimental_ref().deref() is v,
                repr(x.most_specific_compatible_type(tf.TensorSpec([3, None], tf.float32, "a"))),
                repr(x.most_specific_compatible_type(tf.TensorSpec([2], tf.float32, "b"))), "{:.2f} {}".format(tf.constant(2.0), tf.constant([1.0])),
                words_of(lambda: x.most_specific_compatible_type(tf.TensorSpec([2, None], tf.int32)), lambda: int(v),
                         lambda: tf.keras.constraints.get("zz"))]
    yield "keys_and_specs", told(keys_and_specs)

    def loop_seeds():
        def over_range(n):
            total = tf.zeros([2])
            for i in tf.range(n):
                total += tf.cast(i, tf.float32) * tf.random_normal([2])
            return total

        def until(n):
            i, total = tf.constant(0), tf.zeros([2])
            while i < n:
                total += tf.random_normal([2])
                i += 1
            return total

        def called(n):
            return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.random_normal([2])), [tf.constant(0), tf.zeros([2])])[1]

        tf.compat.v1.set_random_seed(5)
        functions = [tf.function(each) for each in (over_range, until, called)]
        return [function(tf.constant(3)) for function in functions]
    yield "loop_seeds", told(loop_seeds)
