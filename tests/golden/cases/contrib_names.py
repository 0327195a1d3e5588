"""Names of tf.contrib that no other family calls: nests, initializers, loss scales, samplers, evaluation, lookup tables, cuDNN's layers."""
import collections
import os
import shutil
import tempfile


def _told(tf, *values):
    return [tf.identity(each, name="told") for each in values]


def _said(tf, value):
    return tf.constant(str(value), name="said")


def _folder(build):
    """A case that gets a folder which is removed behind it."""
    def case():
        folder = tempfile.mkdtemp()
        try:
            return build(folder)
        finally:
            shutil.rmtree(folder)
    return case


def nests(tf, np):
    nest = tf.contrib.framework.nest
    Point = collections.namedtuple("Point", ["x", "y"])
    tree = {"b": [1, (2, 3)], "a": Point(4, [5])}
    table = [
        ("flatten", lambda: nest.flatten(tree)), ("flatten scalar", lambda: nest.flatten(3)), ("flatten none", lambda: nest.flatten(None)),
        ("flatten empty", lambda: nest.flatten([[], {}])), ("flatten array", lambda: len(nest.flatten(np.zeros([2, 2])))),
        ("flatten ordered", lambda: nest.flatten(collections.OrderedDict([("z", 1), ("a", 2)]))),
        ("pack", lambda: nest.pack_sequence_as(tree, list("vwxyz"))), ("pack short", lambda: nest.pack_sequence_as(tree, [1, 2])),
        ("pack scalar", lambda: nest.pack_sequence_as(1, [2])), ("pack scalar wrong", lambda: nest.pack_sequence_as(1, [2, 3])),
        ("pack flat wrong", lambda: nest.pack_sequence_as([1], 2)),
        ("pack ordered", lambda: nest.pack_sequence_as(collections.OrderedDict([("z", 1), ("a", 2)]), [7, 8])),
        ("map", lambda: nest.map_structure(lambda a: a * 2, tree)), ("map two", lambda: nest.map_structure(lambda a, b: a + b, tree, tree)),
        ("map types", lambda: nest.map_structure(lambda a, b: a + b, [1, 2], (3, 4))),
        ("map types unchecked", lambda: nest.map_structure(lambda a, b: a + b, [1, 2], (3, 4), check_types=False)),
        ("map other", lambda: nest.map_structure(lambda a, b: a + b, [1, 2], [1, [2]])), ("map nothing", lambda: nest.map_structure(lambda a: a)),
        ("map no function", lambda: nest.map_structure(3, [1])), ("map keyword", lambda: nest.map_structure(lambda a: a, [1], other=2)),
        ("assert", lambda: nest.assert_same_structure(tree, tree)), ("assert lengths", lambda: nest.assert_same_structure([1], [1, 2])),
        ("assert keys", lambda: nest.assert_same_structure({"a": 1}, {"b": 1})),
        ("assert types", lambda: nest.assert_same_structure([1], (1,))),
        ("assert named tuples", lambda: nest.assert_same_structure(Point(1, 2), collections.namedtuple("Other", ["x", "y"])(1, 2))),
        ("assert scalar", lambda: nest.assert_same_structure([1], 1)),
        ("is sequence", lambda: [nest.is_sequence(each) for each in ([1], (1,), {"a": 1}, "ab", 1, Point(1, 2), np.zeros(2), {1, 2})]),
        ("dict items", lambda: nest.flatten_dict_items({(1, 2): ("a", "b"), 3: "c"})),
        ("dict items wrong", lambda: nest.flatten_dict_items({(1, 2): ("a",)})), ("dict items of a list", lambda: nest.flatten_dict_items([1])),
        ("shallow", lambda: nest.assert_shallow_structure([1, 2], [[3], 4])), ("shallow wrong", lambda: nest.assert_shallow_structure([1, 2], [3])),
        ("shallow type", lambda: nest.assert_shallow_structure([1, 2], (3, 4))),
        ("flatten up to", lambda: nest.flatten_up_to([1, [2]], [[3, 4], [{"a": 5}]])),
        ("flatten up to wrong", lambda: nest.flatten_up_to([1, [2]], [[3, 4], 5])),
        ("map up to", lambda: nest.map_structure_up_to([1, 1], lambda a, b: (a, len(b)), [1, 2], [[3], [4, 5]])),
        ("flat paths", lambda: list(nest.yield_flat_paths(tree))),
        ("tuple paths", lambda: nest.flatten_with_tuple_paths(tree)),
        ("joined paths", lambda: nest.flatten_with_joined_string_paths(tree, separator=".")),
        ("map paths", lambda: nest.map_structure_with_paths(lambda path, a: (path, a), tree)),
        ("map tuple paths", lambda: nest.map_structure_with_tuple_paths(lambda path, a: (path, a), tree)),
        ("map tuple paths up to", lambda: nest.map_structure_with_tuple_paths_up_to([1, 1], lambda path, a: (path, a), [[1], 2])),
        ("traverse", lambda: nest.get_traverse_shallow_structure(lambda each: not isinstance(each, tuple), tree)),
        ("traverse wrong", lambda: nest.get_traverse_shallow_structure(lambda each: 3, tree)),
        ("apply to structure", lambda: nest.is_nested({}))]
    for label, call in table:
        yield "nest " + label, (lambda call=call: _said(tf, call()))
    yield "nest of tensors", lambda: nest.map_structure(lambda a: a + 1.0, {"a": tf.constant(1.0), "b": [tf.constant(2.0)]})


def framework(tf, np):
    contrib = tf.contrib.framework

    def fused():
        a, b = tf.constant([1.0, 2.0], name="a"), tf.constant([3.0], name="b")
        tf.identity(tf.multiply(tf.add(a, b, name="s"), b, name="m"), name="p")
        graph_def = tf.get_default_graph().as_graph_def()
        made = contrib.fuse_op(graph_def, ["a", "b"], ["p"], [tf.float32.as_datatype_enum], 0, "Fused", "AnOp")
        return _said(tf, [(node.name, node.op, list(node.input)) for node in made.node])
    yield "fuse_op", fused

    @contrib.deprecated_args("2030-01-01", "use new", "old")
    def by_args(new=None, old=None):
        return new or old

    @contrib.deprecated_arg_values("2030-01-01", "not 3", old=3)
    def by_values(old=None):
        return old

    @contrib.deprecated("2030-01-01", "gone")
    def gone(a):
        """It says.

        More."""
        return a

    yield "deprecated", lambda: _said(tf, [by_args(old=2), by_args(new=4), by_values(old=3), by_values(1), gone(5), gone.__name__])
    yield "deprecated date", lambda: contrib.deprecated("yesterday", "gone")(gone)
    yield "deprecated unknown argument", lambda: contrib.deprecated_args("2030-01-01", "use new", "other")(lambda new: new)
    yield "deprecated nothing", lambda: contrib.deprecated_args("2030-01-01", "use new")


def initializers(tf, np):
    contrib = tf.contrib.framework
    for label, kind, shape in [("delta 1d", "delta_orthogonal", [3, 2, 4]), ("delta 2d", "delta_orthogonal", [3, 4, 2, 2]),
                               ("delta 3d", "delta_orthogonal", [2, 2, 3, 1, 3]), ("1d", "orthogonal_1d", [3, 2, 4]),
                               ("1d one", "orthogonal_1d", [1, 2, 2]), ("2d", "orthogonal_2d", [3, 3, 2, 3]),
                               ("2d one", "orthogonal_2d", [1, 1, 2, 3]),
                               ("3d", "orthogonal_3d", [2, 2, 2, 2, 3]), ("3d three", "orthogonal_3d", [3, 3, 3, 1, 2]),
                               ("delta rank", "delta_orthogonal", [3, 4]), ("delta channels", "delta_orthogonal", [3, 4, 2]),
                               ("1d rank", "orthogonal_1d", [3, 4]), ("2d channels", "orthogonal_2d", [3, 3, 4, 2]),
                               ("2d sizes", "orthogonal_2d", [3, 2, 2, 2]), ("3d sizes", "orthogonal_3d", [2, 2, 3, 2, 2])]:
        def made(kind=kind, shape=shape):
            initializer = getattr(contrib, "convolutional_" + kind)(gain=1.5, seed=3)
            kept = str(sorted(initializer.get_config().items()))
            return _told(tf, initializer(shape)) + [kept]
        yield "convolutional " + label, made
    yield "convolutional of integers", lambda: contrib.convolutional_orthogonal_1d(dtype=tf.int32)
    yield "convolutional variable", lambda: tf.identity(tf.get_variable(
        "w", [3, 3, 2, 3], initializer=contrib.convolutional_orthogonal_2d(seed=5)), name="w_value")


def remapped(tf, np):
    contrib = tf.contrib.framework

    def written(folder, name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def case(build, parts=None):
        def made(folder):
            files = {name: written(folder, name, text) for name, text in [
                ("old", "a\nb\nc\nd\n"), ("new", "c\nx\na\ny\n"), ("old_columns", "u\nv\nw\n"),
                ("new_columns", "w\nz\nu"), ("twice", "a\na\nb\nb\n")]}
            with tf.Graph().as_default():
                tf.get_variable("table", initializer=tf.constant(np.arange(12.0).reshape(4, 3), tf.float32))
                tf.get_variable("bias", initializer=tf.constant(np.arange(4.0).reshape(4, 1) + 0.5, tf.float32))
                tf.get_variable("wide", initializer=tf.constant(np.arange(12.0).reshape(4, 3)))
                with tf.Session() as sess:
                    sess.run(tf.global_variables_initializer())
                    path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
            with tf.Graph().as_default():
                shape, initializer = build(path, files)
                partitioner = None if parts is None else tf.fixed_size_partitioner(parts)
                variable = tf.get_variable("v", shape, initializer=initializer, partitioner=partitioner)
                with tf.Session() as sess:
                    sess.run(tf.global_variables_initializer())
                    value = sess.run(tf.convert_to_tensor(variable))
            return tf.constant(value, name="value")
        return _folder(made)
    ones = tf.ones_initializer()
    load, embed = contrib.load_and_remap_matrix_initializer, contrib.load_embedding_initializer
    for parts in (None, 2):
        yield "remapped rows {}".format(parts), case(lambda path, f: ([4, 3], load(path, "table", 4, 3, old_row_vocab_file=f["old"],
                                                                                  new_row_vocab_file=f["new"])), parts)
        yield "remapped both {}".format(parts), case(lambda path, f: ([6, 4], load(
            path, "table", 4, 3, -1, f["old"], f["new"], f["old_columns"], f["new_columns"], 2, 1, ones)), parts)
        yield "remapped embedding {}".format(parts), case(lambda path, f: ([5, 3], embed(
            path, "table", 4, 3, f["old"], f["new"], 2, 1, ones)), parts)
    yield "remapped embedding of known words", case(lambda path, f: ([4, 3], embed(path, "table", 4, 3, f["old"], f["old"])))
    yield "remapped columns", case(lambda path, f: ([4, 3], load(path, "table", 4, 3, old_col_vocab_file=f["old_columns"],
                                                                 new_col_vocab_file=f["new_columns"], initializer=ones)))
    yield "remapped bias", case(lambda path, f: ([5, 1], contrib.load_linear_multiclass_bias_initializer(path, "bias", 4, f["old"], f["new"], 1)))
    yield "remapped slot", case(lambda path, f: ([4, 3], contrib.load_variable_slot_initializer(path, "table", None, 4, 3, f["old"], f["new"])))
    yield "remapped in memory", case(lambda path, f: ([4, 3], load(path, "table", 4, 3, -1, f["old"], f["new"], max_rows_in_memory=1)))
    yield "remapped old words twice", case(lambda path, f: ([4, 3], load(path, "table", 4, 3, -1, f["twice"], f["new"])))
    yield "remapped new words twice", case(lambda path, f: ([4, 3], load(path, "table", 4, 3, -1, f["old"], f["twice"])))
    wrong = [("columns", [4, 2], {}), ("rank", [4], {}), ("rows", [7, 3], {}), ("nothing to do", [4, 3], {"files": ()}),
             ("one file", [4, 3], {"files": ("old",)}), ("name", [4, 3], {"name": "other"}), ("type", [4, 3], {"name": "wide"}),
             ("long", [9, 3], {"rows": 9}), ("buckets", [4, 3], {"buckets": -1}), ("initializer", [4, 3], {"initializer": 3})]
    for label, shape, options in wrong:
        def build(path, f, shape=shape, options=options):
            files = {"{}_row_vocab_file".format(which): f[which] for which in options.get("files", ("old", "new"))}
            return shape, load(path, options.get("name", "table"), options.get("rows", 4), 3, num_row_oov_buckets=options.get("buckets", 0),
                               initializer=options.get("initializer"), **files)
        yield "remapped wrong " + label, case(build)


def scales(tf, np):
    experimental = tf.train.experimental

    def trained(scale, factor=1.0, wrap=experimental.MixedPrecisionLossScaleOptimizer, optimizer=tf.train.MomentumOptimizer):
        def build():
            with tf.Graph().as_default():
                w = tf.get_variable("w", initializer=[1.0, -2.0])
                table = tf.get_variable("table", initializer=tf.ones([4, 2]))
                step = tf.train.get_or_create_global_step()
                loss = factor * (tf.reduce_sum(w * w) + tf.reduce_sum(tf.gather(table, [1, 3, 1])))
                opt = wrap(optimizer(0.1, 0.9), scale() if callable(scale) else scale)
                train = opt.minimize(loss, global_step=step)
                with tf.Session() as sess:
                    sess.run(tf.global_variables_initializer())
                    for _ in range(3):
                        sess.run(train)
                    values = sess.run(tf.global_variables())
                names = [v.name for v in tf.global_variables()], opt.get_name(), type(opt).__name__
            flat = np.concatenate([np.ravel(value).astype(np.float32) for value in values])
            return [tf.constant(flat, name="values"), _said(tf, names)]
        return build
    yield "loss scale fixed", trained(16.0)
    yield "loss scale dynamic", trained(lambda: experimental.DynamicLossScale(8.0, increment_period=2))
    yield "loss scale overflow", trained(lambda: experimental.DynamicLossScale(2.0 ** 30, increment_period=2), 1e30)
    yield "loss scale rewrite", trained(4.0, wrap=lambda opt, scale: experimental.enable_mixed_precision_graph_rewrite(opt, scale))
    yield "loss scale unknown", trained("static")
    yield "loss scale too small", trained(0.5)
    yield "loss scale twice", trained(2.0, wrap=lambda opt, scale: experimental.enable_mixed_precision_graph_rewrite(
        experimental.enable_mixed_precision_graph_rewrite(opt, scale), scale))
    yield "loss scale of no optimizer", lambda: experimental.MixedPrecisionLossScaleOptimizer(3, 2.0)
    yield "loss scale rewrite of no optimizer", lambda: experimental.enable_mixed_precision_graph_rewrite(3)


def training(tf, np):
    contrib = tf.contrib.training

    def strategies():
        with tf.Graph().as_default():
            strategy = contrib.GreedyLoadBalancingStrategy(3, contrib.byte_size_load_fn)
            seen = []
            with tf.device(tf.train.replica_device_setter(ps_tasks=3, ps_strategy=strategy)):
                for index, extent in enumerate([100, 10, 5, 20, 30, 1]):
                    seen.append(tf.get_variable("v%d" % index, [extent]).device)
            other = contrib.RandomStrategy(4, seed=3)
        return _said(tf, seen + [other(tf.constant(1.0).op) for _ in range(6)])
    yield "placement strategies", strategies
    yield "load of unknown size", lambda: contrib.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)

    def sampled(kind):
        def build():
            tf.set_random_seed(5)
            data, labels = tf.constant(np.arange(24.0).reshape(8, 3), tf.float32), tf.constant(np.arange(8) % 3)
            if kind == "resample_at_rate":
                return contrib.resample_at_rate([data, labels], tf.constant([1.5, 0.0, 1.0, 2.0, 0.25, 1.0, 1.0, 3.0]), seed=4)
            values, rate = contrib.weighted_resample([data, labels], tf.linspace(0.1, 1.0, 8), 0.8, seed=4)
            return [values, rate]
        return build
    yield "resample_at_rate", sampled("resample_at_rate")
    yield "weighted_resample", sampled("weighted_resample")

    def queued(make):
        def build():
            with tf.Graph().as_default():
                tf.set_random_seed(5)
                outputs = make()
                names = [runner.name for runner in tf.get_collection("queue_runners")]
                with tf.Session() as sess:
                    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                    coordinator = tf.train.Coordinator()
                    tf.train.start_queue_runners(sess, coordinator)
                    shapes = [np.shape(each) for each in sess.run(outputs)]
                    coordinator.request_stop()
                told = names, shapes, [str(each.shape) for each in outputs], [v.name for v in tf.global_variables()]
            return _said(tf, told)
        return build

    def stratified():
        data, batch = contrib.stratified_sample([tf.random_uniform([3], seed=1)], tf.random_uniform([], 0, 2, tf.int32, seed=2), [0.5, 0.5], 4,
                                                init_probs=[0.5, 0.5])
        return [data[0], batch]
    yield "stratified_sample", queued(stratified)
    yield "rejection_sample", queued(lambda: contrib.rejection_sample([tf.random_uniform([3], seed=1)], lambda xs: tf.reduce_mean(xs[0]), 4))
    yield "rejection_sample of nothing", lambda: contrib.rejection_sample([], lambda xs: 0.5, 4)
    yield "stratified_sample of a vector", lambda: contrib.stratified_sample([tf.zeros([3])], tf.constant([0]), [0.5, 0.5], 4)

    def evaluated(folder):
        with tf.Graph().as_default():
            tf.train.get_or_create_global_step()
            tf.get_variable("v", initializer=3.0)
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                tf.train.Saver().save(sess, os.path.join(folder, "model.ckpt"), global_step=7)
        waited = contrib.wait_for_new_checkpoint(folder, timeout=1)
        late = contrib.wait_for_new_checkpoint(folder, waited, seconds_to_sleep=0, timeout=0)
        told = [os.path.basename(path) for path in contrib.checkpoints_iterator(folder, timeout=0)]
        with tf.Graph().as_default():
            tf.train.get_or_create_global_step()
            v = tf.get_variable("v", initializer=0.0)
            value, update = tf.metrics.mean(v * 2.0)
            tf.summary.scalar("value", value)
            hooks = [contrib.StopAfterNEvalsHook(2), contrib.SummaryAtEndHook(os.path.join(folder, "eval"))]
            final = contrib.evaluate_repeatedly(folder, eval_ops=update, final_ops={"value": value}, hooks=hooks, max_number_of_evaluations=1,
                                                timeout=1, eval_interval_secs=0)
        events = [event for path in sorted(os.listdir(os.path.join(folder, "eval")))
                  for event in tf.train.summary_iterator(os.path.join(folder, "eval", path))]
        tags = [(event.step, value.tag, value.simple_value) for event in events for value in event.summary.value]
        return _said(tf, (os.path.basename(waited), late, told, float(final["value"]), tags))
    yield "evaluation", _folder(evaluated)


def tables(tf, np):
    lookup = tf.contrib.lookup
    words = ["emerson", "lake", "palmer"]
    yield "index_to_string", lambda: lookup.index_to_string(tf.constant([1, 5], tf.int64), tf.constant(words), default_value="?")
    yield "string_to_index", lambda: lookup.string_to_index(tf.constant(["lake", "bach"]), tf.constant(words), default_value=9)

    def buckets():
        inner = lookup.HashTable(lookup.KeyValueTensorInitializer(words, [0, 1, 2], tf.string, tf.int64), -1)
        table = lookup.IdTableWithHashBuckets(inner, num_oov_buckets=3, hasher_spec=lookup.StrongHashSpec([12, 34]))
        return [table.lookup(tf.constant([["lake", "x"], ["y", "palmer"]])), table.size(), table.name, str(table.key_dtype)]
    yield "hash buckets", buckets
    yield "hash buckets alone", lambda: lookup.IdTableWithHashBuckets(None, num_oov_buckets=4).lookup(tf.constant(["a", "b"]))
    yield "hash buckets of integers", lambda: lookup.IdTableWithHashBuckets(None, num_oov_buckets=4, key_dtype=tf.int64).lookup(
        tf.constant([3, 77], tf.int64))
    yield "hash buckets of nothing", lambda: lookup.IdTableWithHashBuckets(None, num_oov_buckets=0)
    yield "hash buckets wrong hasher", lambda: lookup.IdTableWithHashBuckets(None, num_oov_buckets=2, hasher_spec="fast")
    yield "strong hash wrong", lambda: lookup.StrongHashSpec([1])

    def mutable():
        table = lookup.MutableHashTable(tf.string, tf.int64, -1)
        inserted = table.insert(tf.constant(["a", "b"]), tf.constant([4, 5], tf.int64))
        with tf.control_dependencies([inserted]):
            found = table.lookup(tf.constant(["b", "c"]))
        with tf.control_dependencies([found]):
            return [found, tf.identity(table.size(), name="size")]
    yield "mutable", mutable

    def dense():
        table = lookup.MutableDenseHashTable(tf.int64, tf.float32, [0.0, 0.0], empty_key=-1, deleted_key=-2, initial_num_buckets=4)
        with tf.control_dependencies([table.insert(tf.constant([3, 4], tf.int64), tf.constant([[1.0, 2.0], [3.0, 4.0]]))]):
            return [table.lookup(tf.constant([4, 9], tf.int64))]
    yield "mutable dense", dense
    yield "dense same keys", lambda: lookup.MutableDenseHashTable(tf.int64, tf.int64, 0, empty_key=-1, deleted_key=-1).size()
    yield "wrong key type", lambda: lookup.HashTable(lookup.KeyValueTensorInitializer(words, [0, 1, 2], tf.string, tf.int64), -1).lookup(
        tf.constant([1.0]))
    yield "wrong default", lambda: lookup.HashTable(lookup.KeyValueTensorInitializer(words, [0, 1, 2], tf.string, tf.int64), "x")


def cudnn(tf, np):
    contrib = tf.contrib.cudnn_rnn

    def attributes(kind, **options):
        def build():
            with tf.Graph().as_default():
                text = described(getattr(contrib, kind)(2, 3, **options))
            return _said(tf, text)
        return build

    def described(layer):
        layer.build([4, 2, 5])
        told = [layer.num_layers, layer.num_units, layer.num_dirs, layer.input_size, layer.input_mode, layer.direction, layer.rnn_mode,
                layer.canonical_weight_shapes, layer.canonical_bias_shapes, layer.name, layer.kernel.name]
        if hasattr(layer, "state_shape"):
            told.append(layer.state_shape(2))
        saved = [type(s).__name__ for s in tf.get_collection("saveable_objects")]
        return told + [type(layer.saveable).__name__, [v.name for v in tf.global_variables()], saved]

    for name in ("CudnnLSTM", "CudnnGRU", "CudnnRNNTanh", "CudnnRNNRelu"):
        yield name, attributes(name)
        yield name + " two ways", attributes(name, direction="bidirectional", name="mine")
    yield "cudnn wrong mode", lambda: contrib.CudnnLSTM(2, 3, input_mode="left")
    yield "cudnn wrong direction", lambda: contrib.CudnnLSTM(2, 3, direction="down")
    yield "cudnn wrong rank", lambda: contrib.CudnnLSTM(2, 3).build([4, 2])
    yield "cudnn wrong type", lambda: contrib.CudnnLSTM(2, 3, dtype=tf.int32)
    yield "cudnn unknown width", lambda: contrib.CudnnLSTM(2, 3).build([4, 2, None])


def cases(tf, np):
    for family in (nests, framework, initializers, remapped, scales, training, tables, cudnn):
        yield from family(tf, np)
