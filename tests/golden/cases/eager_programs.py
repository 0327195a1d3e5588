"""Imperative style in the manner of programs of 2018 and 2019: optimizers, datasets, checkpoints, metrics, summaries, functions with control flow.

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
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in _plain(np, value[key])]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _plain(np, item)]
    return ["None" if value is None else np.asarray(value.numpy() if hasattr(value, "numpy") else value)]


def _folder():
    import tempfile
    return tempfile.mkdtemp()


def cases(tf, np):
    tfe = tf.contrib.eager
    Dataset = tf.data.Dataset

    def told(compute):
        """A case that runs ``compute`` in imperative style."""
        def build():
            with _eager_mode():
                tf.set_random_seed(1)
                values = _plain(np, compute())
            return [tf.constant(value, name="told") for value in values]
        return build

    def error_of(*attempts):
        """The classes of the errors that functions raise; "none" for one that does not."""
        names = []
        for attempt in attempts:
            try:
                attempt()
                names.append("none")
            except Exception as error:
                names.append(type(error).__name__)
        return names

    def keys_of(path):
        return sorted(name for name, _ in tf.train.list_variables(path))

    def keras_optimizers():
        results = []
        for make in (lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), lambda: tf.keras.optimizers.Adam(0.1),
                     lambda: tf.keras.optimizers.RMSprop(0.1), lambda: tf.keras.optimizers.Nadam(0.1), lambda: tf.keras.optimizers.Adagrad(0.1),
                     lambda: tf.keras.optimizers.SGD(0.1, clipvalue=0.5)):
            v, optimizer = tf.Variable([1.0, -2.0], use_resource=True), make()
            for step in range(3):
                optimizer.minimize(lambda: tf.reduce_sum(v ** 2), (lambda: [v]) if step else [v])
            results += [v.numpy(), optimizer.iterations.numpy()]
        return results
    yield "keras_optimizers_minimize", told(keras_optimizers)

    def containers():
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
                self.scales = {"k": tf.Variable(2.0, use_resource=True), "n": 3}
                self.parts = [tf.Variable(3.0, use_resource=True), "text", {"z": [tf.Variable(4.0, use_resource=True)]}]

            def call(self, x):
                return self.dense(x) * self.scales["k"] + self.parts[0] + self.parts[2]["z"][0]

        net, x = Net(), tf.ones([1, 2])
        net(x)
        saved = tf.train.Checkpoint(net=net).save(_folder() + "/net")
        net.scales["k"].assign(0.0)
        net.parts[2]["z"][0].assign(0.0)
        other = Net()
        tf.train.Checkpoint(net=other).restore(saved)
        return [keys_of(saved), net(x), other(x)]
    yield "checkpoint_of_containers", told(containers)

    def iterators():
        iterator = Dataset.range(10).map(lambda x: x * x).make_one_shot_iterator()
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        first = [iterator.get_next().numpy() for _ in range(3)]
        saved = checkpoint.save(_folder() + "/place")
        second = [iterator.get_next().numpy() for _ in range(2)]
        checkpoint.restore(saved)
        return [first, second, [iterator.get_next().numpy() for _ in range(3)]]
    yield "checkpoint_of_an_iterator", told(iterators)

    def statuses():
        path = tf.train.Checkpoint(v=tf.Variable(1.0, use_resource=True)).save(_folder() + "/a")
        status = tf.train.Checkpoint(v=tf.Variable(5.0, use_resource=True), w=tf.Variable(2.0, use_resource=True)).restore(path)
        empty = tf.train.Checkpoint(v=tf.Variable(1.0, use_resource=True)).restore(None)
        return error_of(status.assert_consumed, status.assert_existing_objects_matched, status.assert_nontrivial_match, status.run_restore_ops,
                        empty.assert_consumed, empty.run_restore_ops, empty.initialize_or_restore,
                        lambda: tf.train.Checkpoint(v=tf.Variable(1.0, use_resource=True)).restore(_folder() + "/none"))
    yield "checkpoint_statuses", told(statuses)

    def savers():
        v = tfe.Variable([1.0, 2.0], name="saved_by_name")
        path = tfe.Saver([v]).save(_folder() + "/s", global_step=3)
        v.assign([0.0, 0.0])
        tfe.Saver([v]).restore(path)
        with tfe.restore_variables_on_create(path):
            again = tf.get_variable("saved_by_name", [2])
        return [v, again, keys_of(path)]
    yield "savers_by_name", told(savers)

    def own_metric():
        class Twice(tfe.metrics.Metric):
            def build(self, x):
                self.total = self.add_variable("total", (), tf.float32, tf.zeros_initializer)

            def call(self, x):
                self.total.assign_add(tf.reduce_sum(x))
                return x

            def result(self):
                return self.total * 2

        metric = Twice()
        metric([1.0, 2.0])
        first = metric.result().numpy()
        metric.init_variables()
        return [first, metric.result(), metric.name]
    yield "metric_of_ones_own", told(own_metric)

    def arrays():
        array = tf.TensorArray(tf.float32, 3, dynamic_size=True).write(0, 1.0).write(1, 2.0).write(4, 3.0)
        first = [array.size(), array.read(1)]
        errors = error_of(lambda: array.read(1), lambda: array.read(9), lambda: array.write(-1, 1.0))
        return [first, errors, array.stack(), tf.TensorArray(tf.float32, 2).unstack([[1.0], [2.0]]).concat()]
    yield "tensor_arrays", told(arrays)

    def places():
        v = tf.Variable([1.0, 2.0], use_resource=True)
        with tf.device("/cpu:0"):
            x = v + 1.0

        def elsewhere():
            with tf.device("/gpu:7"):
                return tf.constant(1.0) + 1.0

        return [v.device, x.device, error_of(elsewhere, lambda: v.initial_value)]
    yield "devices", told(places)

    def jacobian_ranks():
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x ** 2
        return error_of(lambda: tape.batch_jacobian(y, x))
    yield "batch_jacobian_of_vectors", told(jacobian_ranks)

    def leaks():
        kept = []

        @tf.function
        def f(x):
            kept.append(x * 2)
            return x

        f(tf.constant(1))
        return error_of(lambda: kept[0] + 1)
    yield "tensor_that_left_its_function", told(leaks)

    def pipelines():
        def all_of(dataset):
            return [element.numpy() for element in dataset]

        ones = Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
        return [all_of(Dataset.range(6).filter(lambda x: tf.equal(x % 2, 0))), all_of(Dataset.range(3).flat_map(lambda x: Dataset.range(x))),
                all_of(Dataset.range(3).interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=2)),
                all_of(Dataset.range(6).shuffle(3, seed=1)), all_of(ones.padded_batch(3, [None])),
                [all_of(window) for window in Dataset.range(4).window(2)], all_of(Dataset.from_generator(lambda: iter([1, 2]), tf.int32)),
                Dataset.range(5).reduce(np.int64(0), lambda a, b: a + b), all_of(Dataset.range(5).shard(2, 1)),
                all_of(Dataset.range(6).apply(tf.data.experimental.group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3))),
                all_of(Dataset.range(4).apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x)))),
                all_of(Dataset.range(2).map(lambda x: tf.py_function(lambda v: v * 10, [x], tf.int64))),
                all_of(ones.apply(tf.data.experimental.bucket_by_sequence_length(tf.size, [3], [2, 2])))]
    yield "datasets", told(pipelines)

    def cardinalities():
        numbers, few = Dataset.range(5), Dataset.range(5).filter(lambda x: x > 1)
        known = [numbers, Dataset.range(10, 0, -3), Dataset.from_tensors(1), Dataset.from_tensor_slices([1, 2, 3]), numbers.repeat(),
                 numbers.repeat(2), numbers.repeat(0), Dataset.range(0).repeat(), numbers.shuffle(2).repeat(2), numbers.batch(2),
                 numbers.batch(2, drop_remainder=True),
                 numbers.padded_batch(2, []), numbers.map(lambda x: x), numbers.map(lambda x: x, num_parallel_calls=2), few, numbers.take(3),
                 numbers.take(9), numbers.repeat().take(4), few.take(2), numbers.skip(2), numbers.skip(9), numbers.repeat().skip(2),
                 Dataset.zip((numbers, Dataset.range(3))), Dataset.zip((numbers, numbers.repeat())), Dataset.zip((numbers, few)),
                 numbers.concatenate(numbers), numbers.concatenate(numbers.repeat()), numbers.cache(), numbers.prefetch(2), numbers.shard(3, 1),
                 numbers.window(2), numbers.window(3, shift=1, drop_remainder=True), Dataset.from_generator(lambda: iter([1]), tf.int32),
                 numbers.flat_map(Dataset.range), numbers.apply(tf.data.experimental.map_and_batch(lambda x: x, 2)),
                 tf.data.experimental.RandomDataset(), numbers.batch(2).apply(tf.data.experimental.unbatch())]
        return [tf.data.experimental.cardinality(dataset) for dataset in known]
    yield "cardinalities", told(cardinalities)

    def iteration():
        dataset = Dataset.from_tensor_slices([1, 2, 3]).shuffle(3, seed=5)
        one_shot = tfe.Iterator(Dataset.from_tensor_slices(([1, 2], {"z": [3.0, 4.0]})))
        pairs = [(a.numpy(), b["z"].numpy()) for a, b in one_shot]
        return [[x.numpy() for x in dataset], [x.numpy() for x in dataset], pairs, error_of(one_shot.next, one_shot.get_next)]
    yield "iteration", told(iteration)

    def functions():
        class Model:
            def __init__(self):
                self.limit, self.calls = 3, tfe.Variable(0)

            def scaled(self, x):
                if x > self.limit:
                    return x * 10
                return x

            @tf.function
            def total(self, n):
                self.calls.assign_add(1)
                total = 0
                while n > 0:
                    n -= 1
                    if n % 3 == 0:
                        continue
                    if total > 100:
                        break
                    total += self.scaled(n)
                return total

        model = Model()
        return [model.total(tf.constant(6)), model.total(tf.constant(20)), model.calls]
    yield "function_of_a_method", told(functions)

    def nested():
        @tf.function
        def primes(n):
            count = 0
            for candidate in tf.range(2, n):
                divisor, prime = 2, True
                while divisor * divisor <= candidate:
                    if candidate % divisor == 0:
                        prime = False
                        break
                    divisor += 1
                if prime:
                    count += 1
            return count

        return [primes(tf.constant(30)), primes(tf.constant(3))]
    yield "function_of_nested_loops", told(nested)

    def over_dataset():
        @tf.function
        def total(dataset):
            s = tf.constant(0, tf.int64)
            for x in dataset:
                if x > 6:
                    break
                if tf.equal(x % 2, 1):
                    continue
                s += x
            return s

        return total(Dataset.range(10))
    yield "function_over_a_dataset", told(over_dataset)

    def differentiated_loop():
        @tf.function
        def power(x):
            y = x
            for _ in tf.range(3):
                if y < 20.0:
                    y = y * x
            return y

        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(x)
        return [y, tape.gradient(y, x)]
    yield "gradient_of_a_loop", told(differentiated_loop)

    def summaries():
        import glob
        folder, step = _folder(), tf.train.get_or_create_global_step()
        writer = tf.contrib.summary.create_file_writer(folder)
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            for value in range(2):
                step.assign(value)
                tf.contrib.summary.scalar("loss", 2.5 * value)
                tf.contrib.summary.histogram("weights", [1.0, 2.0])
                tf.contrib.summary.image("picture", tf.ones([1, 2, 2, 3]), step=7)
        with writer.as_default(), tf.contrib.summary.record_summaries_every_n_global_steps(2):
            tf.contrib.summary.scalar("odd", 1.0)
            step.assign(4)
            tf.contrib.summary.scalar("even", 1.0)
        tf.contrib.summary.flush(writer)
        events = [event for path in glob.glob(folder + "/*") for event in tf.train.summary_iterator(path)]
        return [["%d %s" % (event.step, value.tag) for value in event.summary.value] for event in events]
    yield "contrib_summaries", told(summaries)

    def rates():
        step, v = tf.Variable(0, dtype=tf.int64, use_resource=True, trainable=False), tf.Variable(1.0, use_resource=True)
        optimizer = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.1, step, 1, 0.5))
        values = []
        for _ in range(3):
            optimizer.minimize(lambda: v * 1.0, global_step=step)
            values.append(v.numpy())
        return [values, tf.train.piecewise_constant(step, [2, 10], [1.0, 0.5, 0.1])()]
    yield "decaying_rates", told(rates)
