"""Public names that programs reach rarely: base classes, files of records, parts of AutoGraph."""
import os
import shutil
import tempfile


def _said(tf, *facts):
    return tf.constant([str(fact) for fact in facts], name="facts")


def layers(tf, np):
    """Layers, framework, training."""
    framework = tf.contrib.framework
    spec = tf.layers.InputSpec
    yield "InputSpec", lambda: _said(tf, *[(each.dtype, each.shape, each.ndim, each.max_ndim, each.min_ndim, each.axes) for each in (
        spec(), spec(shape=(None, 3)), spec("float32", ndim=2, max_ndim=3, min_ndim=1, axes={-1: 4}))])

    def record_input():
        folder = tempfile.mkdtemp()
        try:
            for number in range(3):
                with tf.python_io.TFRecordWriter(os.path.join(folder, "part%d" % number)) as writer:
                    for row in range(4):
                        writer.write(b"%02d" % (number * 4 + row))
            with tf.Graph().as_default(), tf.Session() as session:
                whole = framework.RecordInput(folder + "/part*", batch_size=3, buffer_size=5, parallelism=2, shift_ratio=0.33, seed=4).get_yield_op()
                parts = framework.RecordInput(folder + "/part*", batch_size=2, batches=2).get_yield_op()
                seen = [sorted(np.ravel([session.run(whole) for _ in range(8)])), sorted(np.ravel([session.run(parts) for _ in range(6)]))]
            return [tf.constant(each) for each in seen], _said(tf, [len(each) for each in parts], parts[0][0].shape)
        finally:
            shutil.rmtree(folder)
    yield "RecordInput", record_input
    yield "RecordInput without files", lambda: framework.RecordInput("/nowhere/records*").get_yield_op()
    yield "false rates", lambda: [getattr(tf.contrib.metrics, name)(tf.constant([0.2, 0.7, 0.9]), tf.constant([0, 1, 1]), [0.5, 0.8])[1] for name in (
        "streaming_false_negative_rate_at_thresholds", "streaming_false_positive_rate_at_thresholds")]


def tables(tf, np):
    """The base classes of lookup, as programs derive from them or ask for them."""
    lookup = tf.contrib.lookup

    def kinds():
        table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], tf.string, tf.int64), -1)
        mutable = lookup.MutableHashTable(tf.string, tf.int64, -1)
        bases = (lookup.LookupInterface, lookup.InitializableLookupTableBase)
        return _said(tf, [[isinstance(each, base) for base in bases] for each in (table, mutable)], table.key_dtype, table.value_dtype,
                     issubclass(lookup.KeyValueTensorInitializer, lookup.TableInitializerBase))
    yield "kinds", kinds

    def own():
        class Doubled(lookup.LookupInterface):
            def __init__(self):
                super().__init__(tf.int64, tf.int64)

            def lookup(self, keys, name=None):
                return keys * 2
        table = Doubled()
        return table.lookup(tf.constant([1, 2])), _said(tf, table.key_dtype, table.value_dtype)
    yield "own", own
    for name in ("size", "lookup"):
        yield "interface " + name, lambda name=name: getattr(lookup.LookupInterface(tf.string, tf.int64), name)(*([[]] if name == "lookup" else []))
    yield "initializer", lambda: lookup.TableInitializerBase(tf.string, tf.int64).initialize(lookup.MutableHashTable(tf.string, tf.int64, -1))
    yield "initializer types", lambda: _said(tf, lookup.TableInitializerBase(tf.string, tf.int64).key_dtype,
                                             lookup.TableInitializerBase("string", "int64").value_dtype)


def statistics(tf, np):
    """Mixtures, checkpoints."""
    yield "gmm", lambda: tf.contrib.factorization.GmmAlgorithm([tf.constant([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])], 2, initial_means=[[0.0, 0.0], [
        1.0, 1.0]]).clusters()
    checkpoint = tf.contrib.checkpoint

    def tracked():
        graph = checkpoint.CheckpointableObjectGraph()
        return _said(tf, isinstance(checkpoint.Checkpointable(), checkpoint.CheckpointableBase), len(graph.nodes))
    yield "checkpoint bases", tracked


def converted(tf, np):
    """Parts of AutoGraph that converted code uses."""
    autograph = tf.contrib.autograph

    def larger(x, y):
        if x > y:
            result = x
        else:
            result = y
        return result

    def unconverted(x):
        return autograph.do_not_convert(larger)(x, 1.0)

    yield "to_graph", lambda: tf.identity(autograph.to_graph(larger)(tf.constant(2.0), tf.constant(3.0)), name="output")
    yield "convert", lambda: tf.identity(autograph.convert()(larger)(tf.constant(4.0), tf.constant(3.0)), name="output")
    yield "converted_call", lambda: tf.identity(autograph.converted_call(larger, autograph.ConversionOptions(recursive=True), (
        tf.constant(4.0), tf.constant(3.0)), {}), name="output")
    yield "do_not_convert", lambda: autograph.to_graph(unconverted)(tf.constant(2.0))
    yield "do_not_convert python", lambda: _said(tf, autograph.do_not_convert(larger)(2, 3))
    yield "feature", lambda: _said(tf, sorted(each.name for each in autograph.Feature))
    yield "error", lambda: _said(tf, autograph.AutoGraphError.__mro__[1].__name__)
    yield "options", lambda: _said(tf, autograph.ConversionOptions(recursive=True).recursive)

    def with_options(n):
        i = 0
        while i < n:
            autograph.set_loop_options(maximum_iterations=3, parallel_iterations=1)
            i = i + 1
        return i
    yield "set_loop_options", lambda: tf.identity(autograph.to_graph(with_options)(tf.constant(2)), name="output")

    def with_list(n):
        items = []
        autograph.set_element_type(items, tf.int32)
        for i in tf.range(n):
            items.append(i * i)
        return autograph.stack(items)
    yield "set_element_type", lambda: tf.identity(autograph.to_graph(
        with_list, experimental_optional_features=autograph.Feature.LISTS)(tf.constant(4)), name="output")


def spread(tf, np):
    """Strategies of one worker, and contexts."""
    contrib = tf.contrib.distribute
    yield "outside", lambda: _said(tf, isinstance(tf.distribute.get_replica_context(), contrib.ReplicaContext), contrib.has_distribution_strategy())

    def chosen():
        strategy = contrib.OneDeviceStrategy("/cpu:0")
        tf.distribute.experimental_set_strategy(strategy)
        try:
            return _said(tf, tf.distribute.get_strategy() is strategy, isinstance(strategy, contrib.DistributionStrategy))
        finally:
            tf.distribute.experimental_set_strategy(None)
    yield "experimental_set_strategy", chosen

    def inputs():
        step = contrib.StandardInputStep(lambda: tf.data.Dataset.range(3), contrib.OneDeviceStrategy("/cpu:0"))
        return _said(tf, step.distribution.num_replicas_in_sync)
    yield "StandardInputStep", inputs
    yield "CollectiveAllReduceStrategy", lambda: _said(tf, contrib.CollectiveAllReduceStrategy(num_gpus_per_worker=0).num_replicas_in_sync)
    yield "ParameterServerStrategy", lambda: _said(tf, contrib.ParameterServerStrategy(num_gpus_per_worker=0).num_replicas_in_sync)
    yield "run_standard_tensorflow_server", lambda: contrib.run_standard_tensorflow_server()


def probabilities(tf, np):
    """Distributions that other families leave out."""
    distributions = tf.contrib.distributions
    quadrature = distributions.quadrature_scheme_softmaxnormal_gauss_hermite
    yield "quadrature of three", lambda: quadrature(np.float32([0.5, -0.2]), np.float32([1.0, 0.7]), 4)

    def conditional():
        class Shifted(distributions.ConditionalDistribution):
            def __init__(self):
                super().__init__(tf.float32, distributions.NOT_REPARAMETERIZED, False, True, {}, [], "Shifted")

            def _log_prob(self, value, by=0.0):
                return -tf.square(value - by)
        made = Shifted()
        return made.log_prob(tf.constant([0.5, 1.0, 2.5]), by=1.0), made.prob(tf.constant([0.5, 1.0]))
    yield "ConditionalDistribution", conditional


def cases(tf, np):
    """(name, function) pairs."""
    for family in (layers, tables, statistics, converted, spread, probabilities):
        for name, case in family(tf, np):
            yield family.__name__ + " " + name, case
