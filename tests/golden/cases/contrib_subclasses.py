"""Classes of tf.contrib that programs extend or only look at: cells, handlers of records, loss scales, strategies, data sets, checkpoints."""
import gzip
import os
import shutil
import struct
import tempfile


def _said(tf, value):
    return tf.constant(str(value), name="said")


def _told(tf, *values):
    return [tf.identity(each, name="told") for each in values]


def _data(np, *shape):
    return np.sin(np.arange(int(np.prod(shape))) * 0.7).reshape(shape).astype(np.float32)


def _folder(build):
    """A case that gets a folder which is removed behind it."""
    def case():
        folder = tempfile.mkdtemp()
        try:
            return build(folder)
        finally:
            shutil.rmtree(folder)
    return case


def cells(tf, np):
    rnn = tf.contrib.rnn

    class Leaky(rnn.LayerRNNCell):
        """Half of the old state, and a projection of the input."""

        def __init__(self, units, reuse=None, name=None):
            super().__init__(_reuse=reuse, name=name)
            self._units = units

        @property
        def state_size(self):
            return self._units

        @property
        def output_size(self):
            return self._units

        def build(self, inputs_shape):
            self._kernel = self.add_variable("kernel", [int(inputs_shape[-1]), self._units], initializer=tf.constant_initializer(0.3))
            self.built = True

        def call(self, inputs, state):
            new = 0.5 * state + tf.matmul(inputs, self._kernel)
            return new, new

    def own():
        x = tf.constant(_data(np, 2, 3, 4))
        stack = rnn.MultiRNNCell([Leaky(3), rnn.ResidualWrapper(Leaky(3, name="second"))])
        outputs, state = tf.nn.dynamic_rnn(stack, x, dtype=tf.float32, sequence_length=[3, 2])
        gradients = tf.gradients(tf.reduce_sum(outputs * outputs), tf.trainable_variables())
        return _told(tf, outputs, *state, *gradients) + [str([v.name for v in tf.trainable_variables()])]
    yield "own cell", own

    def independent():
        tf.set_random_seed(8)
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.4)):
            outputs, state = rnn.IndRNNCell(3, activation=tf.nn.relu)(tf.constant(_data(np, 2, 4)), tf.constant(_data(np, 2, 3)))
        return _told(tf, outputs, state) + [str([(v.name, v.shape.as_list()) for v in tf.trainable_variables()])]
    yield "IndRNNCell", independent

    def seeded():
        tf.set_random_seed(8)
        outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), tf.constant(_data(np, 2, 3, 4)), [1, 2], dtype=tf.float32)
        return _told(tf, outputs, state)
    yield "seeded weights in a loop", seeded

    def fused():
        class Sums(rnn.FusedRNNCell):
            def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
                return tf.cumsum(inputs, 0), tf.reduce_sum(inputs, 0)
        block = rnn.LSTMBlockFusedCell(3, forget_bias=0.5, use_peephole=True)
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.2)):
            outputs, state = block(tf.constant(_data(np, 3, 2, 4)), dtype=tf.float32, sequence_length=[3, 1])
            backwards, _ = rnn.TimeReversedFusedRNN(Sums())(tf.constant(_data(np, 3, 2, 1)), sequence_length=[3, 2])
        return _told(tf, outputs, state.c, state.h, backwards) + [str(isinstance(block, rnn.LSTMBlockWrapper)),
                                                                 str([v.name for v in tf.trainable_variables()])]
    yield "fused", fused

    def reversible():
        layers = tf.contrib.layers
        block = layers.RevBlock([lambda x: tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer())] * 2, lambda x: tf.nn.tanh(x), 2)
        one, two = block.forward(tf.constant(_data(np, 3, 2)), tf.constant(_data(np, 3, 2) * 2))
        back = block.backward(one, two)
        return _told(tf, one, two, *back)
    yield "RevBlock", reversible


def records(tf, np):
    slim = tf.contrib.slim

    class Halved(slim.tfexample_decoder.ItemHandler):
        def __init__(self, key):
            super().__init__([key])

        def tensors_to_item(self, keys_to_tensors):
            return keys_to_tensors[self.keys[0]] / 2.0

    def decoded(folder):
        paths = [os.path.join(folder, "data-%d" % index) for index in range(2)]
        for at, path in enumerate(paths):
            with tf.python_io.TFRecordWriter(path) as writer:
                for index in range(3):
                    feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[at * 3.0 + index, 1.0])),
                               "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[index]))}
                    writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        with tf.Graph().as_default():
            decoder = slim.tfexample_decoder.TFExampleDecoder(
                {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([], tf.int64)},
                {"half": Halved("x"), "y": slim.tfexample_decoder.Tensor("y")})
            assert isinstance(decoder, slim.data_decoder.DataDecoder)
            dataset = slim.dataset.Dataset(os.path.join(folder, "data-*"), tf.TFRecordReader, decoder, 6, {"half": "x halved", "y": "class"})
            provider = slim.dataset_data_provider.DatasetDataProvider(dataset, num_epochs=1, shuffle=False)
            assert isinstance(provider, slim.data_provider.DataProvider)
            half, y = provider.get(["half", "y"])
            key, value = slim.parallel_reader.parallel_read(paths, tf.TFRecordReader, num_epochs=1, shuffle=False, num_readers=1)
            seen = []
            with tf.Session() as sess:
                sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                with slim.queues.QueueRunners(sess):
                    seen = sorted(str([part.tolist() for part in sess.run([half, y])]) for _ in range(6))
                    keys = sorted(os.path.basename(sess.run([key, value])[0].decode()) for _ in range(6))
            told = seen, keys, sorted(provider.list_items()), provider.num_samples(), str(half.shape), [v.name for v in tf.local_variables()]
        return _said(tf, told)
    yield "records", _folder(decoded)
    yield "handler keys", lambda: _said(tf, Halved("x").keys)
    yield "unknown item", lambda: slim.tfexample_decoder.TFExampleDecoder({}, {}).decode(tf.constant(b""), ["x"])


def scales(tf, np):
    mixed = tf.contrib.mixed_precision

    class Doubling(mixed.LossScaleManager):
        def __init__(self):
            self._scale = tf.Variable(2.0, name="scale", trainable=False)

        def get_loss_scale(self):
            return self._scale

        def update_loss_scale(self, finite_grads):
            return tf.assign(self._scale, self._scale * 2.0)

    def trained():
        with tf.Graph().as_default():
            w = tf.get_variable("w", initializer=[1.0, -2.0])
            optimizer = mixed.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.1), Doubling())
            train = optimizer.minimize(tf.reduce_sum(w * w))
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for _ in range(3):
                    sess.run(train)
                values = sess.run(tf.global_variables())
            names = [v.name for v in tf.global_variables()]
        return [tf.constant(np.concatenate([np.ravel(v) for v in values]), name="values"), _said(tf, names)]
    yield "own loss scale", trained


def strategies(tf, np):
    def mirrored(make):
        def build():
            with tf.Graph().as_default():
                strategy = make()
                with strategy.scope():
                    v = tf.get_variable("v", [], initializer=tf.constant_initializer(3.0), use_resource=True)
                    inside = tf.distribute.get_strategy() is strategy, tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context()

                    def step():
                        context = tf.distribute.get_replica_context()
                        factor = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0
                        return context.all_reduce(tf.distribute.ReduceOp.SUM, factor * v)
                    result = strategy.experimental_run_v2(step)
                    mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, result, axis=None)
                    local = strategy.experimental_local_results(result)
                with tf.Session(config=tf.ConfigProto(allow_soft_placement=True, device_count={"CPU": 2})) as sess:
                    sess.run(tf.global_variables_initializer())
                    value = float(sess.run(mean))
                told = value, len(local), strategy.num_replicas_in_sync, inside, isinstance(strategy, tf.distribute.Strategy), isinstance(
                    strategy.extended, tf.distribute.StrategyExtended)
            return _said(tf, told)
        return build
    yield "one device", mirrored(lambda: tf.distribute.OneDeviceStrategy("/cpu:0"))
    yield "outside", lambda: _said(tf, (tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context(), type(
        tf.distribute.get_replica_context()).__name__, tf.contrib.distribute.get_cross_replica_context(),
        tf.contrib.distribute.get_distribution_strategy() is tf.distribute.get_strategy()))
    yield "configuration", lambda: _said(tf, tf.contrib.distribute.DistributeConfig(train_distribute=1)._fields)
    yield "modes", lambda: _said(tf, [mode.name for mode in tf.distribute.InputReplicationMode])


def digits(tf, np):
    mnist = tf.contrib.learn.datasets.mnist

    def written(folder, name, magic, array):
        with gzip.open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack(">%di" % (1 + array.ndim), magic, *array.shape) + array.astype(np.uint8).tobytes())

    def read(folder):
        images = np.arange(6 * 28 * 28).reshape(6, 28, 28) % 251
        for part in ("train", "t10k"):
            written(folder, part + "-images-idx3-ubyte.gz", 2051, images)
            written(folder, part + "-labels-idx1-ubyte.gz", 2049, np.arange(6) % 10)
        data = mnist.read_data_sets(folder, one_hot=True, validation_size=2, seed=4)
        x, y = data.train.next_batch(3)
        more, classes = data.train.next_batch(3)
        with open(os.path.join(folder, "train-images-idx3-ubyte.gz"), "rb") as file:
            whole = mnist.extract_images(file)
        with open(os.path.join(folder, "train-labels-idx1-ubyte.gz"), "rb") as file:
            labels = mnist.extract_labels(file, one_hot=True, num_classes=10)
        told = [x.shape, str(x.dtype), y.argmax(1).tolist(), classes.argmax(1).tolist(), float(np.round(more.sum(), 2)), data.train.num_examples,
                data.validation.num_examples, data.test.num_examples, data.train.epochs_completed, whole.shape, labels.sum(0).tolist(), data._fields]
        plain = mnist.DataSet(images.reshape(6, 28, 28, 1), np.arange(6), reshape=False, dtype=tf.uint8, seed=1)
        told += [plain.images.shape, plain.next_batch(4, shuffle=False)[1].tolist(), plain.next_batch(4, shuffle=False)[1].tolist(),
                 mnist.dense_to_one_hot(np.array([1, 0]), 3).tolist()]
        return _said(tf, told)
    yield "digits", _folder(read)
    yield "digits of another type", lambda: mnist.DataSet(np.zeros([2, 28, 28, 1]), np.zeros(2), dtype=tf.float64)
    yield "digits of other counts", lambda: mnist.DataSet(np.zeros([2, 28, 28, 1]), np.zeros(3))

    def broken(folder):
        written(folder, "bad.gz", 7, np.zeros([2, 28, 28]))
        with open(os.path.join(folder, "bad.gz"), "rb") as file:
            return mnist.extract_images(file)
    yield "digits with another number", _folder(broken)


def checkpoints(tf, np):
    def managed(folder):
        with tf.Graph().as_default():
            v = tf.Variable(1.0, name="v")
            checkpoint = tf.train.Checkpoint(v=v)
            manager = tf.contrib.checkpoint.CheckpointManager(checkpoint, folder, max_to_keep=2)
            with tf.Session() as sess, sess.as_default():
                sess.run(v.initializer)
                checkpoint.save_counter.initializer.run()
                for _ in range(3):
                    manager.save()
                told = [os.path.basename(path) for path in manager.checkpoints], os.path.basename(manager.latest_checkpoint)
        return _said(tf, (told, sorted(name.split(".")[0] for name in os.listdir(folder) if name.endswith(".index"))))
    yield "checkpoint manager", _folder(managed)
    yield "checkpoint manager of nothing", lambda: tf.contrib.checkpoint.CheckpointManager(tf.train.Checkpoint(), "x", max_to_keep=0)


def cases(tf, np):
    for family in (cells, records, scales, strategies, digits, checkpoints):
        yield from family(tf, np)
