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


def _value(reduced):
    """Of what a reduction returns: TensorFlow has a value per device."""
    return reduced.values[0] if hasattr(reduced, "values") else reduced


def reductions(tf, np):
    """Objects that reduce, and steps as objects."""
    distribute, contrib = tf.distribute, tf.contrib.distribute
    total, mean = distribute.ReduceOp.SUM, distribute.ReduceOp.MEAN

    def of_one(make):
        def case():
            with tf.device("/cpu:0"):
                value = tf.constant([1.0, 2.0])
            ops = make()
            pairs = [(value, "/cpu:0"), (value * 2.0, "/cpu:0")]
            results = [ops.reduce(total, value, "/cpu:0"), ops.broadcast(value, "/cpu:0")] + list(ops.batch_reduce(mean, pairs))
            return [tf.identity(_value(each), name="output") for each in results]
        return case
    yield "to one device", of_one(distribute.ReductionToOneDevice)
    yield "nccl", of_one(distribute.NcclAllReduce)
    yield "hierarchical", of_one(distribute.HierarchicalCopyAllReduce)
    yield "all reduce", of_one(contrib.AllReduceCrossDeviceOps)
    yield "of several workers", of_one(lambda: contrib.MultiWorkerAllReduce(["/cpu:0"], 0))
    yield "to nowhere", lambda: distribute.ReductionToOneDevice().reduce(total, tf.constant(1.0), None)
    yield "to no device", lambda: distribute.ReductionToOneDevice().reduce(total, tf.constant(1.0), "")
    yield "of a number", lambda: distribute.ReductionToOneDevice().reduce(total, 1.0, "/cpu:0")
    yield "of a list", lambda: distribute.ReductionToOneDevice().batch_reduce(total, [[tf.constant(1.0), "/cpu:0"]])
    yield "packs", lambda: distribute.NcclAllReduce(-1)
    yield "hierarchical packs", lambda: distribute.HierarchicalCopyAllReduce(num_packs=-1)
    yield "list of names", lambda: contrib.MultiWorkerAllReduce(["/cpu:0"], 1, ["xring"])
    yield "no device", lambda: distribute.OneDeviceStrategy(None)
    yield "base", lambda: distribute.CrossDeviceOps().reduce_implementation(total, None, None)
    yield "base batch", lambda: distribute.CrossDeviceOps().batch_reduce_implementation(total, [])

    def own():
        class Tenfold(distribute.CrossDeviceOps):
            def reduce_implementation(self, reduce_op, per_replica_value, destinations):
                return self.broadcast(sum(per_replica_value.values) * 10.0, destinations)

        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            strategy = distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], cross_device_ops=Tenfold())
            with strategy.scope():
                numbers = strategy.experimental_run_v2(lambda: tf.cast(distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 1.0)
                result = session.run(_value(strategy.reduce(total, numbers)))
        return tf.constant(result)
    yield "of a program", own

    def steps():
        with tf.Graph().as_default(), tf.Session() as session:
            strategy = contrib.OneDeviceStrategy("/cpu:0")
            with strategy.scope():
                weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
            step = contrib.StandardSingleLossStep(lambda: tf.data.Dataset.from_tensors([[1.0], [2.0]]).repeat(5),
                                                  lambda _, inputs: tf.reduce_mean(inputs) * weight * weight,
                                                  tf.train.GradientDescentOptimizer(0.1), strategy, iterations_per_step=2)
            monitor, values = contrib.Monitor(step, session), []
            for number in (1, None):
                monitor.run_steps(number)
                values.append(session.run(weight))
        return tf.constant(values), str(step.distribution is strategy)
    yield "steps", steps
    yield "step", lambda: contrib.Step("strategy")()
    yield "nothing to initialize", lambda: (tf.constant(1), str(contrib.Step("strategy").initialize()))
    yield "monitor without a session", lambda: contrib.Monitor(contrib.Step("strategy"))

    def context():
        with contrib.UpdateContext("/cpu:0") as entered:
            return tf.constant(1), str(entered)
    yield "update context", context


def own_variables(tf, np):
    """Variables that belong to an optimizer rather than to a variable."""
    distribute = tf.distribute
    strategies = {"default": distribute.get_strategy, "one device": lambda: distribute.OneDeviceStrategy("/cpu:0"),
                  "mirrored": lambda: distribute.MirroredStrategy(["/cpu:0"]),
                  "central": lambda: distribute.experimental.CentralStorageStrategy(["/cpu:0"], "/cpu:0")}
    for name, make in strategies.items():
        def case(make=make):
            strategy = make()
            with strategy.scope():
                variables = [tf.get_variable(name, [2], initializer=tf.ones_initializer()) for name in ("b", "a")]
                place = strategy.extended.non_slot_devices(variables)
                power = tf.get_variable("power", [], initializer=tf.ones_initializer())
                update = strategy.extended.update_non_slot(place, lambda x, y: power.assign_add(x * y), (2.0,), {"y": 3.0})
                several = strategy.extended.update_non_slot(place, lambda: tf.constant(7.0), group=False)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(update)
                values = session.run([power.read_value(), *several])
            is_device = isinstance(place, tuple)
            return tf.constant(values, name="values"), str(len(place) if is_device else place.name), isinstance(several, (list, tuple))
        yield name, case

    def arrays():
        strategy = distribute.OneDeviceStrategy("/cpu:0")
        with tf.Session() as session:
            dataset = strategy.extended.experimental_make_numpy_dataset((np.arange(4), np.ones((4, 2), np.float32)), session).batch(3)
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
            following = iterator.get_next()
            session.run(iterator.initializer)
            return [tf.constant(value) for value in session.run(following)]
    yield "arrays", arrays


def cases(tf, np):
    for part in (estimators, loops, reductions, own_variables):
        for name, case in part(tf, np):
            yield part.__name__ + " " + name, case
