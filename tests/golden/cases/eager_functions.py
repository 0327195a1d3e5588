"""Functions of imperative style: seeds of random operations in them, their generators, layers inside, defaults, templates; the words of assertions.

Each case is a small program of values, told as in ``eager.py``.
"""


def _eager_mode():
    try:
        from tensorflow.python.eager import context
    except ImportError:
        from penstock.imperative import context
    return context.eager_mode()


def _plain(np, value):
    """Arrays and texts; None as a text."""
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _plain(np, item)]
    return ["None" if value is None else np.asarray(value.numpy() if hasattr(value, "numpy") else value)]


def cases(tf, np):
    defun, layers = tf.contrib.eager.defun, tf.keras.layers

    def told(compute, *args):
        """A case that runs ``compute`` in imperative style."""
        def build():
            with _eager_mode():
                tf.set_random_seed(1)
                np.random.seed(1)
                values = _plain(np, compute(*args))
            return [tf.constant(value, name="told") for value in values]
        return build

    def words_of(*attempts):
        """Class and message of the errors that functions raise."""
        words = []
        for attempt in attempts:
            try:
                attempt()
                words.append("none")
            except Exception as error:
                words.append("%s: %s" % (type(error).__name__, error))
        return words

    # --- seeds ---------------------------------------------------------------------------------------------------------

    def seeds_behind(make, shape, options):
        """The seed of dropout behind a layer, in two traces of a function: the first one builds the layer."""
        layer, found = make(), []
        for _ in range(2):
            trace = defun(lambda x: tf.nn.dropout(layer(x, **options), 0.5)).get_concrete_function(tf.TensorSpec(shape, tf.float32))
            found += [op.get_attr("seed2") for op in trace.graph.get_operations() if op.type == "RandomUniform"][-1:]
        return found

    image, rows = [2, 5, 5, 3], [4, 3]
    for name, make, shape in (
            ("dense", lambda: layers.Dense(3, activation="relu"), rows), ("dense_without_bias", lambda: layers.Dense(3, use_bias=False), rows),
            ("dense_of_steps", lambda: layers.Dense(3), [4, 5, 4]), ("regularized", lambda: layers.Dense(3, kernel_regularizer="l2"), rows),
            ("conv1d", lambda: layers.Conv1D(2, 3), [1, 5, 1]), ("conv2d", lambda: layers.Conv2D(2, 3, strides=2, padding="same"), image),
            ("conv3d", lambda: layers.Conv3D(2, 2), [1, 3, 3, 3, 1]), ("transposed", lambda: layers.Conv2DTranspose(2, 3, strides=2), image),
            ("separable", lambda: layers.SeparableConv2D(2, 3), image), ("depthwise", lambda: layers.DepthwiseConv2D(3), image),
            ("embedding", lambda: layers.Embedding(4, 2), [2, 3]), ("layer_norm", lambda: layers.LayerNormalization(), rows),
            ("max_pool", lambda: layers.MaxPooling2D(), [1, 4, 4, 1]), ("global_pool", lambda: layers.GlobalAveragePooling2D(), image),
            ("flatten", lambda: layers.Flatten(), image), ("reshape", lambda: layers.Reshape((3, 1)), rows), ("prelu", lambda: layers.PReLU(), rows),
            ("leaky", lambda: layers.LeakyReLU(), rows), ("up", lambda: layers.UpSampling2D(), image), ("pad", lambda: layers.ZeroPadding2D(), image),
            ("softmax", lambda: layers.Activation("softmax"), rows), ("each_step", lambda: layers.TimeDistributed(layers.Dense(2)), [2, 3, 2]),
            ("tf_dense", lambda: tf.layers.Dense(3), rows), ("sequential", lambda: tf.keras.Sequential([layers.Dense(2), layers.Dense(2)]), rows)):
        yield "seeds_behind_%s" % name, told(seeds_behind, make, shape, {})
    for name, make, shape in (
            ("dropout", lambda: layers.Dropout(0.3), rows), ("spatial", lambda: layers.SpatialDropout2D(0.3), image),
            ("noise", lambda: layers.GaussianNoise(0.3), rows), ("batch_norm", lambda: layers.BatchNormalization(), image),
            ("batch_norm_of_rows", lambda: layers.BatchNormalization(), rows),
            ("batch_norm_not_fused", lambda: layers.BatchNormalization(fused=False), image),
            ("batch_norm_plain", lambda: layers.BatchNormalization(scale=False, center=False), image),
            ("tf_batch_norm", lambda: tf.layers.BatchNormalization(), image)):
        for training in (True, False):
            yield "seeds_behind_%s_%s" % (name, training), told(seeds_behind, make, shape, {"training": training})
        if not name.startswith("tf"):
            yield "seeds_behind_%s_of_no_phase" % name, told(seeds_behind, make, shape, {})

    def generators():
        f, g = defun(lambda: tf.random_uniform([2], seed=1)), defun(lambda: tf.random_uniform([2], seed=2))
        h = defun(lambda: [tf.random_uniform([2], seed=1), tf.random_uniform([2], seed=1)])
        values = [f(), g(), f(), g(), h(), h(), tf.random_uniform([2], seed=1)]
        tf.set_random_seed(5)
        return [values, f(), g(), h(), tf.random_uniform([2], seed=1)]
    yield "generators_of_functions", told(generators)

    def generators_of_traces():
        f = defun(lambda x: tf.nn.dropout(x, 0.5))
        return [f(tf.ones([8])), tf.random_uniform([3]), f(tf.ones([4])), f(tf.ones([8])), f(tf.ones([4]))]
    yield "generators_of_traces", told(generators_of_traces)

    def generators_of_tapes():
        v, x, values = tf.Variable(2.0, use_resource=True), tf.ones([6]), []
        f = defun(lambda x: tf.nn.dropout(x * v, 0.5))
        for is_taped in (False, True, False, True, True, False):
            with tf.GradientTape() as tape:
                y = f(x) if is_taped else None
            values += [y, tape.gradient(y, v)] if is_taped else [f(x)]
        return values
    yield "generators_of_functions_under_a_tape", told(generators_of_tapes)

    def defaults():
        traced = []

        def scale(x, factor=2.0, flag=True):
            traced.append(flag)
            return x * factor if flag else x
        f = defun(scale)
        x = tf.constant(3.0)
        return [f(x), f(x, 2.0), f(x, flag=True), f(x, factor=2.0, flag=True), len(traced), f(x, flag=False), f(x, 4.0), len(traced)]
    yield "defaults_do_not_make_traces", told(defaults)

    def phases():
        dropout, values = layers.Dropout(0.5), []
        for _ in range(2):
            values.append(defun(lambda x: dropout(x))(tf.ones([4])))
        return values
    yield "dropout_without_a_phase_is_off", told(phases)

    def gan():
        """The loop of the DCGAN of 2018, small: both networks are functions."""
        def generator():
            return tf.keras.Sequential([layers.Dense(8, use_bias=False, input_shape=(3,)), layers.BatchNormalization(), layers.LeakyReLU(),
                                        layers.Reshape((2, 2, 2)), layers.Conv2DTranspose(1, 3, strides=2, padding="same")])

        class Discriminator(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.conv, self.drop = layers.Conv2D(4, 3, padding="same"), layers.Dropout(0.3)
                self.flat, self.out = layers.Flatten(), layers.Dense(1)

            def call(self, x, training=True):
                return self.out(self.flat(self.drop(tf.nn.leaky_relu(self.conv(x)), training=training)))

        made, judge, images = generator(), Discriminator(), tf.random_uniform([4, 4, 4, 1], seed=3)
        judge.call = defun(judge.call)
        optimizers, told = [tf.train.AdamOptimizer(0.01), tf.train.AdamOptimizer(0.01)], []
        for _ in range(3):
            noise = tf.random_normal([4, 3])
            with tf.GradientTape() as first, tf.GradientTape() as second:
                fakes = made(noise, training=True)
                real, fake = judge(images, training=True), judge(fakes, training=True)
                wins = tf.losses.sigmoid_cross_entropy(tf.ones_like(fake), fake)
                errs = tf.losses.sigmoid_cross_entropy(tf.ones_like(real), real) + tf.losses.sigmoid_cross_entropy(tf.zeros_like(fake), fake)
            for optimizer, tape, loss, model in ((optimizers[0], first, wins, made), (optimizers[1], second, errs, judge)):
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            told += [wins, errs]
        return told
    yield "gan_of_functions", told(gan)

    def stateful_text():
        """A language model that keeps its state from batch to batch, and is built before it is called."""
        class Model(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.embedding = layers.Embedding(5, 3)
                self.gru = layers.GRU(4, return_sequences=True, stateful=True, recurrent_activation="sigmoid")
                self.out = layers.Dense(5)

            def call(self, x):
                return self.out(self.gru(self.embedding(x)))

        model, optimizer, told = Model(), tf.train.AdamOptimizer(0.05), []
        model.build(tf.TensorShape([2, 6]))
        text = np.random.RandomState(0).randint(0, 5, (2, 7))
        for step in range(4):
            if step == 2:
                model.reset_states()
            with tf.GradientTape() as tape:
                loss = tf.losses.sparse_softmax_cross_entropy(labels=text[:, 1:], logits=model(tf.constant(text[:, :-1])))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            told += [loss, tf.reduce_sum(model.gru.states[0])]
        return told
    yield "stateful_model_that_is_built_first", told(stateful_text)

    def stacked():
        cells = [layers.LSTMCell(2), layers.LSTMCell(2, dropout=0.5)]
        return [layers.RNN(cells)(tf.ones([1, 2, 2]), training=True), tf.random_uniform([])]
    yield "stacked_cells_follow_the_phase", told(stacked)

    # --- templates -----------------------------------------------------------------------------------------------------

    def templates():
        early = tf.make_template("early", lambda x: x * tf.get_variable("w", initializer=2.0), create_scope_now_=True)
        late = tf.make_template("late", lambda x: tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer()))
        inner = tf.make_template("outer", lambda x: tf.make_template("inner", lambda y: y * tf.get_variable("w", initializer=5.0))(x))
        x = tf.ones([1, 2])
        values = [early(3.0), early(4.0), late(x), late(x), inner(1.0), inner(2.0)]
        told = [[v.name for v in each.variables] + [str(len(each.trainable_variables))] for each in (early, late, inner)]
        tf.get_default_graph().clear_collection("variables")  # TensorFlow's are in the graph around this program, which cannot initialize them
        return values + told
    yield "templates", told(templates)

    yield "collections_of_the_program", told(lambda: [tf.add_to_collection("mine", 1), tf.get_collection("mine"), tf.get_collection("losses")])

    # --- words -----------------------------------------------------------------------------------------------------------

    yield "words_of_comparisons", told(lambda: words_of(
        lambda: tf.assert_equal([1, 5, 7, 8, 9], [1, 6, 1, 2, 3]),
        lambda: tf.assert_equal([[1, 5], [2, 2]], [[1, 6], [3, 3]], message="mm", summarize=2),
        lambda: tf.assert_equal([1, 5], [1, 6], data=["d", tf.constant([1, 2])], message="m"),
        lambda: tf.assert_less([2.0, 3.0], 1.0, summarize=1), lambda: tf.assert_equal(1, 2), lambda: tf.assert_none_equal([1], [1]),
        lambda: tf.assert_equal(["a"], ["b"]), lambda: tf.assert_greater_equal([0], 1), lambda: tf.assert_less_equal([1], [2])))

    yield "words_of_assertions", told(lambda: words_of(
        lambda: tf.assert_positive([-1.0, 2.0], message="neg"), lambda: tf.assert_positive([[-1.0, 2.0, 3.0, 4.0, 5.0]]),
        lambda: tf.assert_non_negative([-1]), lambda: tf.Assert(tf.constant(False), [tf.constant([1.0, 2.0, 3.0, 4.0]), "x"], summarize=2),
        lambda: tf.Assert(False, [tf.ones([2, 2])]), lambda: tf.Assert(True, ["x"]), lambda: tf.assert_near([1.0], [2.0]),
        lambda: tf.assert_integer(1.0), lambda: tf.assert_type(tf.constant(1), tf.float32), lambda: tf.Variable([1]).eval()))

    yield "words_of_ranks", told(lambda: words_of(
        lambda: tf.assert_rank(tf.ones([2]), 3), lambda: tf.debugging.assert_rank_at_least([1], 2, message="m"),
        lambda: tf.assert_rank_in([1], [0, 2]), lambda: tf.debugging.assert_scalar([1])))

    yield "words_of_signatures", told(lambda: words_of(*[
        functionally for f in [defun(lambda x: x, input_signature=[tf.TensorSpec([None, 2], tf.float32)])]
        for functionally in (lambda: f(tf.ones([1, 3])), lambda: f(tf.ones([1, 2], tf.int32)), lambda: f())]))

    yield "texts_of_sparse_values", told(lambda: [str(tf.SparseTensor([[0, 1]], [5], [2, 2])), str(tf.IndexedSlices(tf.ones([1]), tf.constant([0])))])
