"""Input pipelines: whole epochs, in TensorFlow's order also where it is random; structures, static shapes, names of nodes, errors."""


def cases(tf, np):
    """(name, function) pairs."""
    data, more = tf.data.Dataset, tf.data.experimental

    def elements(dataset, count, iterator=None):
        """The first elements, one after the other."""
        iterator = iterator or dataset.make_one_shot_iterator()
        taken, before = [], []
        for _ in range(count):
            with tf.control_dependencies(before):
                taken.append(iterator.get_next())
            before = [tf.get_default_graph().get_operations()[-1]]
        return taken

    def at_once(dataset):
        """All elements of a dataset as one batch."""
        return dataset.batch(1000).make_one_shot_iterator().get_next()

    def nodes(build):
        """The names and types of all nodes that ``build`` makes."""
        def function():
            build()
            return tf.constant(["%s %s" % (op.name, op.type) for op in tf.get_default_graph().get_operations()], name="listing")
        return function

    def cardinalities():
        """How many elements datasets are known to have."""
        seven, endless, filtered = data.range(7), data.range(7).repeat(), data.range(7).filter(lambda x: x > 2)
        datasets = [seven, endless, filtered, data.range(10, 0, -3), data.range(0), data.range(0).repeat(), data.from_tensors([1, 2]),
                    data.from_tensor_slices(([1, 2], ["a", "b"])), seven.repeat(3), seven.repeat(0), filtered.repeat(), filtered.repeat(2)]
        for each in (seven, endless, filtered):
            datasets += [each.take(3), each.take(30), each.skip(3), each.skip(30), each.skip(-1), each.shard(3, 1), each.batch(3),
                         each.batch(3, drop_remainder=True), each.padded_batch(4, []), each.map(lambda x: x + 1), each.prefetch(2), each.cache(),
                         each.map(lambda x: x + 1, num_parallel_calls=2), each.shuffle(3), each.flat_map(lambda x: data.range(x)),
                         each.apply(more.map_and_batch(lambda x: x + 1, 2)), each.apply(more.shuffle_and_repeat(3, 2)), each.concatenate(seven),
                         each.concatenate(endless), each.concatenate(filtered)]
        datasets += [data.zip((seven, data.range(3), endless)), data.zip((seven, filtered)), data.zip((endless, endless))]
        return tf.stack([more.cardinality(dataset) for dataset in datasets], name="cardinalities")

    def described(dataset):
        """Types and shapes of a dataset as text."""
        return tf.constant([repr(dataset.output_types), str(dataset.output_shapes)])

    # sources
    yield "cardinality", cardinalities
    yield "range", lambda: at_once(data.range(5))
    yield "range_start_stop", lambda: at_once(data.range(2, 5))
    yield "range_step", lambda: at_once(data.range(10, 0, -3))
    yield "range_empty_then_end", lambda: at_once(data.range(0))
    yield "from_tensors", lambda: elements(data.from_tensors(([1, 2], "x")), 1)
    yield "from_tensors_end", lambda: elements(data.from_tensors(1), 2)
    yield "from_tensor_slices", lambda: elements(data.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]]), 2)
    yield "from_tensor_slices_nest", lambda: elements(data.from_tensor_slices({"b": [1, 2], "a": (["x", "y"], np.ones((2, 3)))}), 2)
    yield "from_tensor_slices_lengths", lambda: data.from_tensor_slices(([1, 2], [1, 2, 3])).make_one_shot_iterator().get_next()
    yield "from_tensor_slices_scalar", lambda: data.from_tensor_slices(3).make_one_shot_iterator().get_next()
    yield "from_sparse_slices", lambda: elements(data.from_tensor_slices(tf.SparseTensor([[0, 0], [2, 1]], [1.0, 2.0], [3, 2])), 3)
    yield "from_sparse_batch", lambda: elements(data.from_tensor_slices(tf.SparseTensor([[0, 0], [2, 1]], [1, 2], [3, 2])).batch(2), 2)
    yield "zip", lambda: elements(data.zip((data.range(3), {"a": data.range(5, 9)})), 3)
    yield "zip_end", lambda: elements(data.zip((data.range(3), data.range(1))), 2)
    yield "zip_list", lambda: data.zip([data.range(3), data.range(1)])
    yield "generator", lambda: elements(data.from_generator(lambda: iter([1, 5, 3]), tf.int32, []), 3)
    yield "generator_nest", lambda: elements(data.from_generator(lambda: iter([(1, {"s": "a"}), (2, {"s": "b"})]), (tf.int64, {"s": tf.string})), 2)
    yield "generator_args", lambda: elements(data.from_generator(lambda n: iter(range(n)), tf.int64, [], args=(2,)), 2)
    yield "generator_shape_error", lambda: elements(data.from_generator(lambda: iter([[1, 2]]), tf.int32, []), 1)
    yield "generator_type_error", lambda: elements(data.from_generator(lambda: iter(["x"]), tf.int32, []), 1)
    yield "generator_structure_error", lambda: elements(data.from_generator(lambda: iter([(1, 2)]), tf.int32), 1)

    # one element after the other
    yield "map", lambda: at_once(data.range(5).map(lambda x: x * x))
    yield "map_parallel", lambda: at_once(data.range(20).map(lambda x: x + 1, num_parallel_calls=3))
    yield "map_tuple", lambda: elements(data.zip((data.range(3), data.range(3))).map(lambda a, b: (a + b, (a, tf.as_string(b)))), 2)
    yield "map_dict", lambda: elements(data.range(3).map(lambda x: {"b": x, "a": [x, x]}).map(lambda d: d["a"] + d["b"]), 2)
    yield "map_list_is_tuple", lambda: elements(data.range(3).map(lambda x: [x, x * 1.5 if False else tf.to_float(x)]), 2)
    yield "map_captures", lambda: (lambda c: at_once(data.range(3).map(lambda x: x + c)))(tf.constant(10, tf.int64))
    yield "map_sparse", lambda: elements(data.range(1, 3).map(lambda n: tf.SparseTensor([[0, 1]], [n], [1, 3])), 2)
    yield "map_nothing", lambda: data.range(3).map(lambda x: None)
    yield "map_error", lambda: elements(data.range(3).map(lambda x: tf.check_numerics(1.0 / tf.to_float(x), "oh")), 1)
    yield "filter", lambda: at_once(data.range(10).filter(lambda x: tf.equal(x % 3, 1)))
    yield "filter_not_bool", lambda: data.range(10).filter(lambda x: x)
    yield "flat_map", lambda: at_once(data.range(4).flat_map(lambda x: data.range(x)))
    yield "flat_map_no_dataset", lambda: data.range(4).flat_map(lambda x: x)
    for cycle, block in ((1, 1), (2, 1), (3, 2), (2, 3), (9, 1)):
        yield "interleave_%d_%d" % (cycle, block), lambda cycle=cycle, block=block: at_once(data.range(1, 6).interleave(
            lambda x: data.from_tensors(x).repeat(x), cycle, block))
        yield "parallel_interleave_%d_%d" % (cycle, block), lambda cycle=cycle, block=block: at_once(data.range(1, 6).apply(
            more.parallel_interleave(lambda x: data.from_tensors(x).repeat(x), cycle, block)))
        yield "interleave_parallel_calls_%d_%d" % (cycle, block), lambda cycle=cycle, block=block: at_once(data.range(1, 6).interleave(
            lambda x: data.from_tensors(x).repeat(x), cycle, block, num_parallel_calls=1))
    yield "scan", lambda: at_once(data.range(6).apply(more.scan(np.int64(1), lambda s, x: (s + x, s * 2))))
    yield "take_while", lambda: at_once(data.range(6).apply(more.take_while(lambda x: x < 4)))
    yield "reduce", lambda: data.range(6).reduce(np.int64(0), lambda s, x: s + x)
    yield "reduce_nest", lambda: data.range(1, 4).reduce((0.0, {"n": np.int64(1)}), lambda s, x: (s[0] + tf.to_float(x), {"n": s[1]["n"] * x}))
    yield "reduce_growing", lambda: data.range(3).reduce(np.zeros(1, np.int64), lambda s, x: tf.concat([s, [x]], 0))
    yield "ignore_errors", lambda: at_once(data.from_tensor_slices([1.0, 0.0, 2.0]).map(
        lambda v: tf.check_numerics(1.0 / v, "zero")).apply(more.ignore_errors()))
    yield "enumerate", lambda: elements(data.from_tensor_slices(["a", "b"]).enumerate(4), 2)
    yield "unique", lambda: at_once(data.from_tensor_slices([3, 1, 3, 2, 1]).apply(more.unique()))
    yield "counter", lambda: at_once(more.Counter(3, 2).take(4))

    # choosing
    for count in (-1, 0, 2, 9):
        yield "take_%d" % count, lambda count=count: at_once(data.range(4).take(count).concatenate(data.range(50, 51)))
        yield "skip_%d" % count, lambda count=count: at_once(data.range(4).skip(count).concatenate(data.range(50, 51)))
        yield "repeat_%d" % count, lambda count=count: at_once(data.range(2).repeat(count).take(7).concatenate(data.range(50, 51)))
    yield "repeat_empty", lambda: at_once(data.range(0).repeat().concatenate(data.range(1)))
    yield "shard", lambda: at_once(data.range(10).shard(4, 1))
    yield "shard_bad_index", lambda: elements(data.range(10).shard(2, 2), 1)
    yield "concatenate_shapes", lambda: elements(data.from_tensors([1, 2]).concatenate(data.from_tensors([3])), 2)
    yield "concatenate_types", lambda: data.range(2).concatenate(data.from_tensors(1.0))
    yield "choose", lambda: at_once(more.choose_from_datasets([data.range(3), data.range(10, 13)], data.from_tensor_slices(
        np.array([0, 1, 1, 0, 1, 1, 0, 0], np.int64))))
    yield "cache_repeat", lambda: at_once(data.range(3).cache().repeat(2))
    yield "prefetch", lambda: at_once(data.range(9).prefetch(3).prefetch(0))

    # random order
    yield "shuffle", lambda: at_once(data.range(30).shuffle(7, seed=5))
    yield "shuffle_large", lambda: at_once(data.range(30).shuffle(100, seed=1))
    yield "shuffle_one", lambda: at_once(data.range(5).shuffle(1, seed=1))
    yield "shuffle_repeat", lambda: at_once(data.range(10).shuffle(4, seed=5).repeat(3))
    yield "shuffle_fixed_repeat", lambda: at_once(data.range(10).shuffle(4, seed=5, reshuffle_each_iteration=False).repeat(3))
    yield "shuffle_map_repeat", lambda: at_once(data.range(10).shuffle(4, seed=5).map(lambda x: -x).repeat(3))
    yield "shuffle_batch_repeat", lambda: elements(data.range(7).shuffle(20, seed=9).batch(3).repeat(2), 6)
    yield "repeat_shuffle", lambda: at_once(data.range(10).repeat(2).shuffle(6, seed=2))
    yield "shuffle_zero_seed", lambda: at_once(data.range(10).shuffle(10, seed=0))
    yield "shuffle_and_repeat", lambda: at_once(data.range(5).apply(more.shuffle_and_repeat(20, 3, seed=3)))
    yield "random", lambda: at_once(more.RandomDataset(7).take(10))
    yield "sample", lambda: at_once(more.sample_from_datasets([data.range(5), data.range(10, 20)], seed=3))
    yield "sample_weights", lambda: at_once(more.sample_from_datasets([data.range(5), data.range(10, 20)], [0.2, 0.8], seed=3))

    def graph_seed():
        tf.set_random_seed(42)
        return at_once(data.range(20).shuffle(10)), at_once(data.range(20).shuffle(10, seed=7))

    yield "graph_seed", graph_seed

    # batches
    yield "batch", lambda: elements(data.range(5).batch(2), 3)
    yield "batch_drop", lambda: elements(data.range(5).batch(2, drop_remainder=True), 2)
    yield "batch_drop_end", lambda: elements(data.range(5).batch(2, drop_remainder=True), 3)
    yield "batch_nest", lambda: elements(data.from_tensor_slices({"a": np.ones((3, 2)), "b": ["x", "y", "z"]}).batch(2), 2)
    yield "batch_shapes_differ", lambda: elements(data.range(3).map(lambda n: tf.fill([n], n)).batch(2), 1)
    yield "batch_size_zero", lambda: elements(data.range(3).batch(0), 1)
    yield "unbatch", lambda: at_once(data.range(7).batch(3).apply(more.unbatch()))
    yield "map_and_batch", lambda: elements(data.range(5).apply(more.map_and_batch(lambda x: (x, tf.to_float(x)), 2, num_parallel_calls=2)), 3)
    yield "map_and_batch_drop", lambda: elements(data.range(5).apply(more.map_and_batch(lambda x: x, 2, drop_remainder=True)), 2)
    yield "padded", lambda: elements(data.range(1, 6).map(lambda n: tf.fill([n], n)).padded_batch(2, [None]), 3)
    yield "padded strings", lambda: elements(data.from_tensor_slices({"s": ["a", "bb", "c"], "n": [1, 2, 3]}).padded_batch(2, {"s": [], "n": []}), 2)
    for arguments in ((3,), (2, 2), (3, None, 2, 2), (2, 1, 1), (9,), (0,)):
        yield "sliding windows %s" % (arguments,), lambda arguments=arguments: elements(data.from_tensor_slices(
            {"a": np.arange(6), "b": np.arange(12).reshape(6, 2)}).apply(tf.contrib.data.sliding_window_batch(*arguments)), 2)
    yield "padded_fixed", lambda: elements(data.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(2, [4], np.int64(-1)), 2)
    yield "padded_nest", lambda: elements(data.range(1, 4).map(lambda n: {"x": tf.fill([n, 2], 1.5), "s": tf.fill([n], "a")}).padded_batch(
        3, {"x": [None, 3], "s": [-1]}, {"x": 9.0, "s": "-"}), 1)
    yield "padded_drop", lambda: elements(data.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(2, [None], drop_remainder=True), 1)
    yield "padded_too_small", lambda: elements(data.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(3, [2]), 1)
    yield "padded_wrong_rank", lambda: data.range(1, 4).padded_batch(3, [2])
    yield "padded_wrong_type", lambda: data.range(1, 4).padded_batch(3, [], 1.5)
    for size, shift, stride, drop in ((3, None, 1, False), (3, 1, 1, True), (2, 3, 2, False), (2, 4, 1, False), (3, 1, 2, True)):
        yield "window_%d_%s_%d_%d" % (size, shift, stride, drop), lambda size=size, shift=shift, stride=stride, drop=drop: at_once(
            data.range(8).window(size, shift, stride, drop).flat_map(lambda w: w.padded_batch(size, [])).flat_map(
                lambda batch: data.from_tensors(tf.reduce_join(tf.as_string(batch), separator=" "))))
    yield "group_by_window", lambda: elements(data.range(10).apply(more.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 2)), 6)
    yield "group_by_window_reverse", lambda: elements(data.range(5).apply(more.group_by_window(lambda x: -x, lambda k, w: w.batch(2), 2)), 5)
    yield "group_by_reducer", lambda: elements(data.range(10).apply(more.group_by_reducer(lambda x: -(x % 3), more.Reducer(
        lambda key: (key, 0.5), lambda state, x: (state[0] + x, state[1] * 2.0), lambda total, power: (total, power)))), 3)
    yield "bucket", lambda: elements(data.range(1, 9).map(lambda n: tf.fill([n], n)).apply(more.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2])), 4)
    yield "bucket_boundary", lambda: elements(data.range(1, 5).map(lambda n: tf.fill([n], n)).apply(more.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True)), 2)

    # what a dataset says of itself
    yield "described", lambda: described(data.range(3))
    yield "described_batch", lambda: described(data.range(3).batch(2))
    yield "described_drop", lambda: described(data.range(3).batch(2, True))
    yield "described_padded", lambda: described(data.range(3).map(lambda n: tf.fill([n], 1.0)).padded_batch(2, [None]))
    yield "described_concatenated", lambda: described(data.from_tensors([1, 2]).concatenate(data.from_tensors([1])))
    yield "described_generator", lambda: described(data.from_generator(lambda: iter([1]), tf.int64))
    yield "single_element", lambda: more.get_single_element(data.range(3, 4))
    yield "single_element_of_two", lambda: more.get_single_element(data.range(2))
    yield "single_element_of_none", lambda: more.get_single_element(data.range(0))
    yield "optional", lambda: more.get_next_as_optional(data.range(1).make_one_shot_iterator()).has_value()
    yield "optional_none", lambda: more.get_next_as_optional(data.range(0).make_one_shot_iterator()).has_value()

    # iterators
    yield "not_initialized", lambda: data.range(3).make_initializable_iterator().get_next()
    yield "one_shot_placeholder", lambda: data.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()
    yield "one_shot_variable", lambda: (lambda v: data.range(3).map(lambda x: x + v).make_one_shot_iterator())(tf.Variable(np.int64(1)))
    yield "no_initializer", lambda: data.range(3).make_one_shot_iterator().initializer
    yield "wrong_structure", lambda: tf.data.Iterator.from_structure(tf.int32, []).make_initializer(data.range(3))

    def structure_iterator():
        iterator = tf.data.Iterator.from_structure((tf.int64, tf.float32), ([], [None]))
        source = data.range(3).map(lambda x: (x, [1.0, 2.0]))
        with tf.control_dependencies([iterator.make_initializer(source)]):
            return elements(None, 2, iterator)

    yield "structure_iterator", structure_iterator
    yield "nodes_range", nodes(lambda: data.range(5).map(lambda x: x).batch(2).repeat(3).prefetch(1).make_one_shot_iterator().get_next())
    yield "nodes_slices", nodes(lambda: data.from_tensor_slices({"a": [1, 2], "b": [3, 4]}).shuffle(2).take(1).skip(1).cache().shard(2, 0))
    yield "nodes_shuffle", nodes(lambda: data.range(5).shuffle(3, seed=1))
    yield "nodes_functions", nodes(lambda: data.range(5).filter(lambda x: x > 1).map(lambda x: x, 2).flat_map(data.range).interleave(data.range, 2))
    yield "nodes_windows", nodes(lambda: data.zip((data.range(5), data.range(6))).window(2))
    yield "nodes_padded", nodes(lambda: data.range(5).padded_batch(2, []))
    yield "nodes_structure", nodes(lambda: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(data.range(2)))
    yield "nodes_handle", nodes(lambda: tf.data.Iterator.from_string_handle(tf.placeholder(tf.string, []), tf.int64, []).get_next())
    yield "nodes_lines", nodes(lambda: tf.data.TextLineDataset(["a", "b"]).map(tf.strings.length))
    yield "nodes_records", nodes(lambda: (tf.data.TFRecordDataset("a"), tf.data.FixedLengthRecordDataset("a", 3)))
    yield "missing_file", lambda: tf.data.TextLineDataset("/nowhere/a.txt").make_one_shot_iterator().get_next()
    yield "missing_records", lambda: tf.data.TFRecordDataset("/nowhere/a").make_one_shot_iterator().get_next()

    # One dataset in several places: each goes over it in the same order.
    def shared(combine, count=1, **options):
        def function():
            with tf.Graph().as_default():
                iterator = combine(data.range(7).shuffle(5, seed=3, **options)).make_initializable_iterator()
                element, epochs = iterator.get_next(), []
                with tf.Session() as sess:
                    for _ in range(2):
                        sess.run(iterator.initializer)
                        epochs.append([np.array(sess.run(element)) for _ in range(count)])
            return tf.constant(np.array(epochs), tf.int64)
        return function

    tens = {"first": lambda x: x.map(lambda a: a), "second": lambda x: x.map(lambda a: a * 10)}
    yield "shared zip", shared(lambda x: data.zip((x, x)), 7)
    yield "shared zip once", shared(lambda x: data.zip((x, x)).repeat(2), 14, reshuffle_each_iteration=False)
    yield "shared maps", shared(lambda x: data.zip((tens["first"](x), tens["second"](x))).repeat(3), 21)
    yield "shared repeats", shared(lambda x: data.zip((tens["first"](x).repeat(2), tens["second"](x).repeat(2))), 14)
    yield "shared batches", shared(lambda x: data.zip((x.batch(3), x.batch(3).map(lambda a: a + 1))), 2)
    yield "shared concatenate", shared(lambda x: x.concatenate(x).repeat(2), 28)
    yield "shared flat_map", shared(lambda x: data.range(3).flat_map(lambda _: x), 21)
    yield "shared interleave", shared(lambda x: data.range(3).interleave(lambda _: x, 3), 21)
    yield "shared sample", shared(lambda x: more.sample_from_datasets([x, x], seed=1), 12)
    yield "shared zips", shared(lambda x: data.zip((data.zip((x, x)).map(lambda a, b: a), data.zip((x, x)).map(lambda a, b: b))).repeat(2), 14)

    classes = np.random.RandomState(1).randint(5, size=300)

    def resampled(target, initial, seed):
        def function():
            with tf.Graph().as_default():
                pairs = data.from_tensor_slices(classes).shuffle(20, seed=21).map(lambda c: (c, tf.as_string(c)))
                iterator = pairs.apply(more.rejection_resample(lambda c, _: c, target, initial, seed)).make_initializable_iterator()
                element, found = iterator.get_next(), []
                with tf.Session() as sess:
                    sess.run(iterator.initializer)
                    try:
                        while True:
                            found.append(sess.run(element))
                    except tf.errors.OutOfRangeError:
                        pass
            return [tf.constant([label for label, _ in found], tf.int64), tf.constant([element[1] for _, element in found])]
        return function

    yield "rejection_resample", resampled([0.9, 0.05, 0.05, 0.0, 0.0], [0.2] * 5, 27)
    yield "rejection_resample estimated", resampled([0.9, 0.05, 0.05, 0.0, 0.0], None, 27)
    yield "rejection_resample mixed", resampled([0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5, 3)
    yield "rejection_resample mixed estimated", resampled([0.4, 0.15, 0.15, 0.15, 0.15], None, 3)
    yield "rejection_resample same", resampled([0.2] * 5, [0.2] * 5, 3)
