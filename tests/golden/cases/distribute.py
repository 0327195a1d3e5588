"""tf.distribute: the values that strategies train to, with estimators and with loops of one's own; contexts, reductions, errors."""


def _data(tf, np):
    x = (np.arange(32, dtype=np.float32).reshape(16, 2) / 10 - 1)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, x.sum(1)))


def _model(tf, reduction):
    def model_fn(features, labels, mode):
        hidden = tf.layers.dense(features["x"], 3, tf.tanh, kernel_initializer=tf.constant_initializer([[0.5, 0.2, -0.1], [0.3, -0.4, 0.1]]))
        hidden = tf.layers.batch_normalization(hidden, training=mode == "train")
        outputs = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())[:, 0]
        loss = tf.losses.mean_squared_error(labels, outputs, reduction=reduction)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, tf.train.get_global_step())
        metrics = {"mean": tf.metrics.mean(outputs)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)
    return model_fn


def estimators(tf, np):
    def case(make, reduction="weighted_sum_by_nonzero_weights"):
        def build():
            import tempfile
            strategy = make()
            config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy, tf_random_seed=1,
                                            session_config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))
            estimator = tf.estimator.Estimator(_model(tf, reduction), tempfile.mkdtemp(), config)
            estimator.train(lambda: _data(tf, np).repeat().batch(3), steps=4)
            names = sorted(estimator.get_variable_names())
            values = np.concatenate([np.ravel(estimator.get_variable_value(name)).astype(np.float32) for name in names])
            result = estimator.evaluate(lambda: _data(tf, np).batch(4), steps=2)
            return [tf.constant(names), tf.constant(values), tf.constant([float(result[key]) for key in sorted(result)]), str(sorted(result))]
        return build

    yield "mirrored", case(lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))
    yield "mirrored sum", case(lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]), "weighted_sum")
    yield "one device", case(lambda: tf.distribute.OneDeviceStrategy("/cpu:0"))
    yield "mirrored on one", case(lambda: tf.distribute.MirroredStrategy(["/cpu:0"]))
    yield "contrib mirrored", case(lambda: tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))


def loops(tf, np):
    """Loops of one's own; the session has two CPUs."""
    def session():
        return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))

    def in_graph_of_its_own(build):
        def case():
            with tf.Graph().as_default():  # the recorder runs initializers in a session with one CPU
                values = build()
            return [tf.constant(each) if isinstance(each, np.ndarray) else each for each in values]
        return case

    def trained():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():
            w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer(), use_resource=True)
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            iterator = strategy.make_dataset_iterator(_data(tf, np).repeat().batch(4))

            def step(inputs):
                features, labels = inputs
                loss = tf.reduce_mean(tf.square(tf.matmul(features["x"], w)[:, 0] - 2.0 * labels))
                with tf.control_dependencies([optimizer.minimize(loss)]):
                    return tf.identity(loss)

            losses = strategy.experimental_run(step, iterator)
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
            mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses)
            with session() as sess:
                sess.run(iterator.initialize())
                sess.run(tf.global_variables_initializer())
                results = [sess.run([total, mean]) for _ in range(3)]
                value = sess.run(w)
        return [np.array(results), value, str(len(strategy.experimental_local_results(losses)))]
    yield "trained", in_graph_of_its_own(trained)

    def contexts():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        facts = [tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context(), tf.distribute.get_strategy().num_replicas_in_sync]

        def replica():
            context = tf.distribute.get_replica_context()
            facts.extend([tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context(), context.num_replicas_in_sync])
            own = tf.constant([1.0, 2.0]) if not facts.count("first") else tf.constant([10.0, 20.0])
            facts.append("first")
            both = context.merge_call(lambda strategy, value: strategy.reduce(tf.distribute.ReduceOp.SUM, value), args=(own,))
            return both + own

        with strategy.scope():
            facts.extend([tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context(), tf.distribute.get_replica_context() is None,
                          tf.distribute.get_strategy() is strategy])
            results = strategy.experimental_run_v2(replica)
            with session() as sess:
                values = sess.run(list(strategy.experimental_local_results(results)))
                value = sess.run(strategy.reduce(tf.distribute.ReduceOp.MEAN, results))
        return [np.array(values), value, str(facts)]
    yield "contexts", in_graph_of_its_own(contexts)

    yield "two of one", lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:0"])
    yield "input context", lambda: tf.distribute.InputContext(1, 0, 2).get_per_replica_batch_size(5)


def cases(tf, np):
    for part in (estimators, loops):
        for name, case in part(tf, np):
            yield part.__name__ + " " + name, case
