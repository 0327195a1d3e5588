"""tf.contrib.slim: networks (all ops, names, shapes), their values in small sizes, training, evaluation, decoders, readers, summaries, errors."""
import contextlib
import hashlib
import importlib
import io
import os
import shutil
import tempfile


def _nets(tf):
    """The module of networks, which TensorFlow imports on demand only."""
    nets = getattr(tf.contrib.slim, "nets", None)
    return importlib.import_module("tensorflow.contrib.slim.nets") if nets is None else nets


def _hash(parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def networks(tf, np):
    """The whole graph of each network, as hashes: nothing is run."""
    slim, nets = tf.contrib.slim, _nets(tf)

    def case(scope, network, size, counted=True, **options):
        def build():
            with tf.Graph().as_default() as graph:
                tf.set_random_seed(1)
                with slim.arg_scope(scope()):
                    net, end_points = network(tf.zeros([1, size, size, 3]), **options)
                ops = [op.type + " " + op.name for op in graph.get_operations()]
                variables = ["%s %s" % (v.name, v.shape.as_list()) for v in tf.global_variables()]
                points = ["%s %s %s" % (key, value.name, value.shape) for key, value in end_points.items()]
                keys = ("trainable_variables", "model_variables", "update_ops", "regularization_losses", "moving_vars")
                collected = [key + " " + element.name for key in keys for element in tf.get_collection(key)]
                said = [net.name, str(net.shape), network.__name__, _hash(variables), _hash(points), _hash(collected)]
                said += [str(len(variables)), str(len(points)), str(len(collected))] + ([_hash(ops)] if counted else [])
            return tf.constant(said, name="said")
        return build

    alexnet, inception, overfeat, v1, v2, vgg = nets.alexnet, nets.inception, nets.overfeat, nets.resnet_v1, nets.resnet_v2, nets.vgg
    yield "alexnet_v2", case(alexnet.alexnet_v2_arg_scope, alexnet.alexnet_v2, 224)
    yield "overfeat", case(overfeat.overfeat_arg_scope, overfeat.overfeat, 231)
    yield "vgg_a", case(vgg.vgg_arg_scope, vgg.vgg_a, 224, num_classes=10, spatial_squeeze=False)
    yield "vgg_16", case(vgg.vgg_arg_scope, vgg.vgg_16, 224)
    yield "vgg_19", case(vgg.vgg_arg_scope, vgg.vgg_19, 256, is_training=False, spatial_squeeze=False)
    yield "inception_v1", case(inception.inception_v1_arg_scope, inception.inception_v1, 224)
    yield "inception_v2", case(inception.inception_v2_arg_scope, inception.inception_v2, 224, num_classes=10, depth_multiplier=0.5)
    yield "inception_v3", case(inception.inception_v3_arg_scope, inception.inception_v3, 299, num_classes=10)
    yield "inception_v3 base", case(inception.inception_v3_arg_scope, inception.inception_v3_base, 139, final_endpoint="Mixed_6b")
    yield "resnet_v1_50", case(v1.resnet_arg_scope, v1.resnet_v1_50, 224, num_classes=10)
    yield "resnet_v1_50 dense", case(v1.resnet_arg_scope, v1.resnet_v1_50, 97, counted=False, output_stride=8, global_pool=False)
    yield "resnet_v2_101", case(v2.resnet_arg_scope, v2.resnet_v2_101, 64, num_classes=10, is_training=False)
    yield "error: endpoint", lambda: inception.inception_v1_base(tf.zeros([1, 64, 64, 3]), final_endpoint="Mixed_9z")
    yield "error: depth_multiplier", lambda: inception.inception_v3(tf.zeros([1, 299, 299, 3]), depth_multiplier=0)
    yield "error: output_stride", lambda: v1.resnet_v1_50(tf.zeros([1, 97, 97, 3]), output_stride=5)


def small(tf, np):
    """Values and gradients of small networks, whose weights are known."""
    slim, nets = tf.contrib.slim, _nets(tf)

    def start(shape, dtype=None, partition_info=None, **_):
        shape = [int(extent) for extent in shape]
        return tf.constant(np.sin(np.arange(int(np.prod(shape))) * 1.7).reshape(shape) * 0.3, dtype=dtype or tf.float32)

    def images(*shape):
        return tf.constant(np.cos(np.arange(int(np.prod(shape))) * 0.37).reshape(shape), tf.float32)

    def resnet(version):
        def build():
            module, utils = getattr(nets, "resnet_v%d" % version), nets.resnet_utils
            unit = module.bottleneck
            blocks = [utils.Block("a", unit, [{"depth": 4, "depth_bottleneck": 2, "stride": 1}, {"depth": 4, "depth_bottleneck": 2, "stride": 2}]),
                      utils.Block("b", unit, [{"depth": 8, "depth_bottleneck": 2, "stride": 1}])]
            with slim.arg_scope(utils.resnet_arg_scope()), slim.arg_scope([slim.conv2d], weights_initializer=start):
                net, _ = getattr(module, "resnet_v%d" % version)(images(2, 9, 9, 2), blocks, 3, include_root_block=False, scope="r")
            gradients = tf.gradients(tf.reduce_sum(net * net), tf.trainable_variables())
            return [tf.identity(net, name="net")] + [tf.identity(g, name="gradient") for g in gradients[:3]] + [
                tf.constant([v.name for v in tf.global_variables()], name="names")]
        return build

    def same():
        x = images(1, 5, 6, 1)
        with slim.arg_scope([slim.conv2d], weights_initializer=start, activation_fn=None):
            return [tf.identity(each, name="r") for each in (
                nets.resnet_utils.conv2d_same(x, 1, 3, 2, scope="a"), nets.resnet_utils.subsample(x, 2), nets.resnet_utils.subsample(x, 1))]

    yield "small resnet_v1", resnet(1)
    yield "small resnet_v2", resnet(2)
    yield "conv2d_same and subsample", same


def _folder(build):
    """A case that gets a folder which is removed behind it."""
    def case():
        folder = tempfile.mkdtemp()
        try:
            return build(folder)
        finally:
            shutil.rmtree(folder)
    return case


def learning(tf, np):
    """Training and evaluation, on known numbers."""
    slim = tf.contrib.slim

    def model():
        x = tf.constant(np.sin(np.arange(24.0)).reshape(8, 3), tf.float32)
        y = tf.constant(np.arange(8) % 2, tf.float32)
        with slim.arg_scope([slim.fully_connected], weights_initializer=tf.constant_initializer(0.1), weights_regularizer=slim.l2_regularizer(0.01)):
            net = slim.fully_connected(x, 4, normalizer_fn=slim.batch_norm, normalizer_params={"decay": 0.9}, scope="a")
            net = slim.fully_connected(net, 1, activation_fn=None, scope="b")
        tf.losses.mean_squared_error(y[:, None], net)
        return tf.losses.get_total_loss(), net

    def trained(folder, **options):
        with tf.Graph().as_default():
            loss, _ = model()
            train = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1), **options)
            final = slim.learning.train(train, folder, number_of_steps=3, log_every_n_steps=2, save_summaries_secs=0)
            names = [train.name] + sorted(key for key in tf.get_default_graph().get_all_collection_keys() if isinstance(key, str))
        return final, names

    def train(folder):
        final, names = trained(folder, summarize_gradients=True)
        reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(folder))
        values = [reader.get_tensor(key) for key in sorted(reader.get_variable_to_shape_map())]
        listed = sorted(reader.get_variable_to_shape_map()) + names + [os.path.basename(tf.train.latest_checkpoint(folder))]
        values.append(np.float32(final))
        return [tf.constant(value, name="value") for value in values] + [tf.constant(listed, name="listed")]

    def clipped():
        loss, _ = model()
        variables = tf.trainable_variables()
        op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1), clip_gradient_norm=0.05,
                                           gradient_multipliers={"b/weights": 2.0, variables[0]: 0.5}, global_step=None, check_numerics=False)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(op)
            values = sess.run(variables)
        names = [v.name for v in tf.global_variables()] + [op.name]
        return [tf.constant(value, name="value") for value in values] + [tf.constant(names, name="names")]

    def steps():
        def step(sess, train_op, global_step, kwargs):
            calls.append(sess.run(global_step))
            loss, stop = slim.learning.train_step(sess, train_op, global_step, kwargs)
            return loss, stop or len(calls) == 2

        calls = []
        with tf.Graph().as_default():
            loss, _ = model()
            op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
            slim.learning.train(op, None, train_step_fn=step, number_of_steps=10, log_every_n_steps=0)
        return tf.constant(calls)

    def gradients():
        v, w, u = (tf.get_variable(name, initializer=tf.constant([3.0, 4.0])) for name in "vwu")
        pairs = [(v * 2.0, v), (tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([0])), w), (None, u)]
        clipped_pairs = slim.learning.clip_gradient_norms(pairs, 1.0)
        multiplied = slim.learning.multiply_gradients(pairs, {v: 3.0, "w": 0.5})
        summaries = slim.learning.add_gradients_summaries(pairs)
        results = clipped_pairs[0][0], clipped_pairs[1][0].values, multiplied[0][0], multiplied[1][0].values
        return [tf.identity(each, name="r") for each in results] + [tf.constant([each.name for each in summaries], name="names")]

    def evaluated(loop):
        def build(folder):
            trained(folder)
            with tf.Graph().as_default():
                loss, net = model()
                slim.get_or_create_global_step()
                mean, update = slim.metrics.streaming_mean(loss)
                tf.summary.scalar("mean", mean)
                arguments = dict(num_evals=3, eval_op=[update], final_op=[mean, tf.reduce_sum(net)],
                                 variables_to_restore=slim.get_variables_to_restore())
                if loop:
                    found = slim.evaluation.evaluation_loop("", folder, folder, max_number_of_evaluations=1, eval_interval_secs=0, **arguments)
                else:
                    found = slim.evaluation.evaluate_once("", tf.train.latest_checkpoint(folder), folder, **arguments)
            return [tf.constant(value, tf.float32, name="value") for value in found]
        return build

    yield "train", _folder(train)
    yield "create_train_op clipped", clipped
    yield "train_step_fn", steps
    yield "gradients", gradients
    yield "evaluate_once", _folder(evaluated(False))
    yield "evaluation_loop", _folder(evaluated(True))
    for name, arguments in [("no train_op", dict(train_op=None, logdir=None)), ("number_of_steps", dict(train_op=1, logdir=None, number_of_steps=0)),
                            ("saver without logdir", dict(train_op=1, logdir=None, saver=1)),
                            ("summary_op without logdir", dict(train_op=1, logdir=None, summary_op=None)),
                            ("trace without logdir", dict(train_op=1, logdir=None, trace_every_n_steps=2)),
                            ("sync_optimizer", dict(train_op=1, logdir=None, sync_optimizer=[3]))]:
        yield "error: train, " + name, lambda arguments=arguments: slim.learning.train(**arguments)
    yield "error: multiply_gradients list", lambda: slim.learning.multiply_gradients((), {"a": 1.0})
    yield "error: multiply_gradients nothing", lambda: slim.learning.multiply_gradients([], {})
    yield "error: multiply_gradients None", lambda: [slim.learning.multiply_gradients([(None, v)], {v: 2.0}) for v in [tf.get_variable("v", [1])]]


def data(tf, np):
    """Decoders, readers, providers, queues."""
    slim = tf.contrib.slim
    handlers = slim.tfexample_decoder

    def example(**features):
        made = {}
        for name, value in features.items():
            kind = {"f": "float_list", "i": "int64_list", "b": "bytes_list"}[name[0]]
            values = {"float_list": tf.train.FloatList, "int64_list": tf.train.Int64List, "bytes_list": tf.train.BytesList}[kind](value=value)
            made[name] = tf.train.Feature(**{kind: values})
        return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()

    def decoded(features, items, wanted=None, **values):
        def build():
            decoder = handlers.TFExampleDecoder(features, items() if callable(items) else items)
            found = decoder.decode(tf.placeholder_with_default(example(**values), []), wanted)
            parts = [part for each in found
                     for part in ([each.indices, each.values, each.dense_shape] if hasattr(each, "dense_shape") else [each])]
            return [tf.identity(each, name="r") for each in parts] + [tf.constant(sorted(decoder.list_items()), name="items")]
        return build

    fixed, var = tf.FixedLenFeature, tf.VarLenFeature
    yield "Tensor", decoded({"f": fixed([4], tf.float32)}, {"x": handlers.Tensor("f", shape=[2, 2])}, f=[1.0, 2.0, 3.0, 4.0])
    yield "Tensor sparse", decoded({"f": var(tf.float32), "i": fixed([2], tf.int64)}, {"x": handlers.Tensor("f", shape_keys="i")},
                                   f=[1.0, 2.0, 3.0, 4.0], i=[2, 2])
    yield "Tensor default", decoded({"f": var(tf.float32), "i": fixed([], tf.int64, default_value=7)},
                                    {"x": handlers.Tensor("f"), "y": handlers.Tensor("i")}, ["y", "x"], f=[1.0])
    yield "BoundingBox", decoded({"f/" + key: var(tf.float32) for key in ("ymin", "xmin", "ymax", "xmax")},
                                 {"box": handlers.BoundingBox(prefix="f/")},
                                 **{"f/ymin": [0.1, 0.5], "f/xmin": [0.2, 0.6], "f/ymax": [0.3, 0.7], "f/xmax": [0.4, 0.8]})
    yield "SparseTensor", decoded({"i": var(tf.int64), "f": var(tf.float32)}, {"s": handlers.SparseTensor("i", "f", shape=[6])},
                                  i=[1, 4], f=[0.5, 1.5])
    yield "SparseTensor dense", decoded({"i": var(tf.int64), "f": var(tf.float32)},
                                        {"s": handlers.SparseTensor("i", "f", shape=[6], densify=True, default_value=-1.0)}, i=[1, 4], f=[0.5, 1.5])
    yield "ItemHandlerCallback", decoded({"i": fixed([2], tf.int64)}, {"x": handlers.ItemHandlerCallback(["i"], lambda keys: keys["i"] * 2)},
                                         i=[3, 4])
    yield "BackupHandler", decoded({"i": var(tf.int64), "i2": fixed([2], tf.int64)},
                                   {"x": handlers.BackupHandler(handlers.Tensor("i"), handlers.Tensor("i2"))}, i2=[3, 4], i=[])
    yield "LookupTensor", decoded({"b": fixed([2], tf.string)}, lambda: {"x": handlers.LookupTensor("b", tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([5, 6], tf.int64)), -1))}, b=[b"b", b"z"])
    yield "Image raw", decoded({"b": fixed([], tf.string), "bf": fixed([], tf.string)},
                               {"x": handlers.Image("b", "bf", shape=[2, 2, 3])}, b=[bytes(bytearray(range(12)))], bf=[b"raw"])

    def png():
        encoded = tf.image.encode_png(tf.constant(np.arange(12, dtype=np.uint8).reshape(2, 2, 3)))
        with tf.Session() as sess:
            picture = sess.run(encoded)
        return decoded({"b": fixed([], tf.string), "bf": fixed([], tf.string, "png")}, {"x": handlers.Image("b", "bf")}, b=[picture])()

    yield "Image png", png

    def records(folder):
        paths = []
        for number in range(2):
            paths.append(os.path.join(folder, "data-%d" % number))
            with tf.python_io.TFRecordWriter(paths[-1]) as writer:
                for index in range(3):
                    writer.write(example(i=[10 * number + index]))
        return paths

    def provided(folder):
        records(folder)
        with tf.Graph().as_default(), tf.Session() as sess:
            decoder = handlers.TFExampleDecoder({"i": fixed([], tf.int64)}, {"label": handlers.Tensor("i")})
            dataset = slim.dataset.Dataset(os.path.join(folder, "data-*"), tf.TFRecordReader, decoder, 6, {"label": "a number"}, classes=3)
            provider = slim.dataset_data_provider.DatasetDataProvider(dataset, shuffle=False, num_epochs=1)
            label, key = provider.get(["label", "record_key"])
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            with slim.queues.QueueRunners(sess):
                found = [sess.run([label, key]) for _ in range(6)]
            said = sorted("%d %s" % (value, os.path.basename(name.decode())) for value, name in found)
            said += sorted(provider.list_items()) + [str(provider.num_samples()), str(dataset.classes), label.dtype.name]
        return tf.constant(said)

    def prefetched():
        queue = slim.prefetch_queue.prefetch_queue({"b": tf.constant([1, 2]), "a": tf.constant(3.0)}, capacity=4)
        taken = queue.dequeue()
        with tf.Session() as sess, slim.queues.QueueRunners(sess):
            values = sess.run(taken)
        return {"a": tf.constant(values["a"], name="a"), "b": tf.constant(values["b"], name="b"),
                "names": tf.constant([queue.name] + [each.name for each in tf.get_collection("summaries")])}

    yield "DatasetDataProvider", _folder(provided)
    yield "prefetch_queue", prefetched
    yield "single_pass_read", _folder(lambda folder: tf.constant(sorted(_read(tf, slim, records(folder)))))
    yield "error: no files", _folder(lambda folder: slim.parallel_reader.get_data_files(os.path.join(folder, "*.x")))
    yield "error: item", _folder(lambda folder: slim.dataset_data_provider.DatasetDataProvider(slim.dataset.Dataset(
        records(folder), tf.TFRecordReader, handlers.TFExampleDecoder({"i": fixed([], tf.int64)}, {"label": handlers.Tensor("i")}), 6,
        {})).get(["x"]))
    yield "error: boxes", lambda: handlers.BoundingBox(["a", "b"])
    yield "error: two shapes", lambda: handlers.Tensor("a", shape_keys="b", shape=[1])
    yield "error: backup", lambda: handlers.BackupHandler(handlers.Tensor("a"), 3)
    yield "error: nested runners", lambda: [_nested(slim, sess) for sess in [tf.Session()]]


def _read(tf, slim, paths):
    with tf.Graph().as_default(), tf.Session() as sess:
        _, value = slim.parallel_reader.single_pass_read(paths, tf.TFRecordReader)
        sess.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(sess):
            return [sess.run(value) for _ in range(6)]


def _nested(slim, sess):
    with slim.queues.QueueRunners(sess), slim.queues.QueueRunners(sess):
        pass


def others(tf, np):
    """Summaries, sizes of models, names that slim shares with others."""
    slim = tf.contrib.slim

    def summarized():
        x, scalar = tf.constant([[0.0, 1.0]], name="x"), tf.constant(2.0, name="s")
        pictures = tf.zeros([1, 2, 2, 3], name="pictures")
        made = [slim.summaries.add_histogram_summary(x, prefix="p"), slim.summaries.add_scalar_summary(scalar, "named", "p"),
                slim.summaries.add_zero_fraction_summary(x), slim.summaries.add_image_summary(pictures)]
        made += slim.summaries.add_histogram_summaries([x, scalar], "q") + slim.summaries.add_scalar_summaries([scalar], "q")
        made += slim.summaries.add_zero_fraction_summaries([x], "q") + slim.summaries.add_image_summaries([pictures], "q")
        return made[:3] + [tf.constant([each.name for each in tf.get_collection("summaries")])]

    def analyzed():
        slim.fully_connected(tf.ones([2, 3]), 4)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            sizes = slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True)
            slim.model_analyzer.analyze_ops(tf.get_default_graph(), print_info=True)
        lines = [line for line in printed.getvalue().splitlines() if "Initializer" not in line]
        return [tf.constant(list(sizes)), tf.constant(lines)]

    def shared():
        names = ("conv2d batch_norm arg_scope get_model_variables assign_from_checkpoint_fn l2_regularizer xavier_initializer repeat stack flatten "
                 "one_hot_encoding losses metrics learning evaluation queues summaries initializers regularizers utils layers "
                 "get_or_create_global_step optimize_loss variance_scaling_initializer separable_conv2d").split()
        return tf.constant([name for name in names if hasattr(slim, name)])

    def aggregated():
        values, updates = slim.metrics.aggregate_metric_map({"m": slim.metrics.streaming_mean(tf.constant([1.0, 3.0]))})
        slim.losses.add_loss(tf.constant(2.0))
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            sess.run(list(updates.values()))
            return [tf.constant(sess.run(values["m"]), name="mean"), tf.identity(slim.losses.get_total_loss(), name="total")]

    yield "summaries", summarized
    yield "model_analyzer", analyzed
    yield "shared names", shared
    yield "metrics and losses", aggregated


def cases(tf, np):
    """All of them."""
    for part in (networks, small, learning, data, others):
        yield from part(tf, np)
