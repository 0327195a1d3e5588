"""Queues, producers, batches, readers, accumulators, barriers and tables, each in one step: control edges give the order."""
import os
import tempfile


def cases(tf, np):
    def then(first, build):
        with tf.control_dependencies(first if isinstance(first, list) else [first]):
            return build()

    def sample_file(data, name="records"):
        path = os.path.join(tempfile.mkdtemp(), name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def filled(queue, values):
        return queue, queue.enqueue_many(values)

    # --- queues ------------------------------------------------------------------------------------------------------
    def fifo():
        queue, fill = filled(tf.FIFOQueue(10, tf.int32, shapes=[[]]), [[3, 1, 2]])
        return then(fill, lambda: queue.dequeue_many(3))
    yield "fifo", fifo

    def fifo_pair():
        queue, fill = filled(tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[2], []], name="pairs"), [[[3, 1], [2, 0]], ["x", "y"]])
        return then(fill, lambda: queue.dequeue())
    yield "fifo_pair", fifo_pair

    def fifo_names():
        queue = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], []], names=["i", "f"])
        return then(queue.enqueue({"i": 4, "f": 0.25}), lambda: queue.dequeue(name="taken"))
    yield "fifo_names", fifo_names

    def fifo_unknown_shape():
        queue = tf.FIFOQueue(10, tf.float32)
        return then(queue.enqueue([[1.0, 2.0]]), lambda: queue.dequeue())
    yield "fifo_unknown_shape", fifo_unknown_shape

    def up_to():
        queue, fill = filled(tf.FIFOQueue(10, tf.int32, shapes=[[]]), [[3, 1, 2]])
        closed = then(fill, lambda: queue.close())
        return then(closed, lambda: queue.dequeue_up_to(5))
    yield "up_to", up_to

    def not_enough():
        queue, fill = filled(tf.FIFOQueue(10, tf.int32, shapes=[[]]), [[3, 1, 2]])
        closed = then(fill, lambda: queue.close())
        return then(closed, lambda: queue.dequeue_many(5))
    yield "not_enough", not_enough

    def size_and_closed():
        queue, fill = filled(tf.FIFOQueue(10, tf.int32, shapes=[[]]), [[3, 1, 2]])
        size = then(fill, lambda: queue.size())
        return [size, then(then(size, lambda: queue.close()), lambda: queue.is_closed())]
    yield "size_and_closed", size_and_closed

    def enqueue_after_close():
        queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
        put = then(queue.close(), lambda: queue.enqueue(1))
        return then(put, lambda: tf.constant(1))
    yield "enqueue_after_close", enqueue_after_close

    def dequeue_none():
        queue = tf.FIFOQueue(10, tf.int32, shapes=[[2]])
        return queue.dequeue_many(0)
    yield "dequeue_none", dequeue_none

    yield "many_without_shapes", lambda: tf.FIFOQueue(10, tf.int32).dequeue_many(1)
    yield "partial_shape", lambda: tf.FIFOQueue(10, tf.int32, shapes=[[None]]).dequeue()
    yield "negative_number", lambda: tf.FIFOQueue(10, tf.int32, shapes=[[]]).dequeue_many(-1)
    yield "unknown_number", lambda: tf.FIFOQueue(10, tf.int32, shapes=[[2]]).dequeue_many(tf.minimum(0, tf.constant(1)))

    for count in (1, 7, 18):
        def shuffled(count=count):
            queue, fill = filled(tf.RandomShuffleQueue(50, 2, tf.int32, shapes=[[]], seed=count), [tf.range(20)])
            return then(fill, lambda: queue.dequeue_many(count))
        yield "shuffled_%d" % count, shuffled

    def shuffled_graph_seed():
        tf.set_random_seed(5)
        queue, fill = filled(tf.RandomShuffleQueue(50, 0, tf.string, shapes=[[]]), [list("abcdefgh")])
        return then(fill, lambda: queue.dequeue_many(8))
    yield "shuffled_graph_seed", shuffled_graph_seed

    def shuffled_shared():
        tf.set_random_seed(5)
        queue, fill = filled(tf.RandomShuffleQueue(50, 0, tf.string, shapes=[[]], shared_name="common"), [list("abcdefgh")])
        return then(fill, lambda: queue.dequeue_many(8))
    yield "shuffled_shared", shuffled_shared

    def padding():
        queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None, 2], [None]])
        first = queue.enqueue([[[1, 2], [3, 4]], ["a"]])
        second = then(first, lambda: queue.enqueue([[[5, 6]], ["b", "c"]]))
        return then(second, lambda: queue.dequeue_many(2))
    yield "padding", padding

    def padding_bools():
        queue = tf.PaddingFIFOQueue(10, [tf.bool, tf.float64], shapes=[[None], []])
        first = queue.enqueue([[True], tf.constant(0.5, tf.float64)])
        second = then(first, lambda: queue.enqueue([[True, True, True], tf.constant(1.5, tf.float64)]))
        return then(then(second, lambda: queue.close()), lambda: queue.dequeue_up_to(3))
    yield "padding_bools", padding_bools

    def priority():
        queue, fill = filled(tf.PriorityQueue(10, [tf.string], shapes=[[]]), [np.array([3, 1, 2], np.int64), ["c", "a", "b"]])
        return then(fill, lambda: queue.dequeue_many(3))
    yield "priority", priority

    def chosen():
        queues = [tf.FIFOQueue(10, tf.int32, shapes=[[]], name=name) for name in ("one", "two")]
        fills = [queue.enqueue(number) for number, queue in enumerate(queues)]
        return then(fills, lambda: tf.QueueBase.from_list(tf.constant(1), queues).dequeue())
    yield "chosen", chosen

    # --- producers and batches: what they build ----------------------------------------------------------------------
    def run_by_hand(result):
        """A pipeline without threads: the step itself runs what fills the queues, once."""
        fills = [runner.enqueue_ops[0] for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)]
        return fills, result

    def string_producer():
        queue = tf.train.string_input_producer(["a", "b", "c", "d"], shuffle=True, seed=3, num_epochs=2)
        fills, _ = run_by_hand(None)
        return then(fills, lambda: queue.dequeue_many(4))
    yield "string_producer", string_producer

    def range_producer():
        queue = tf.train.range_input_producer(5, shuffle=True, seed=7, capacity=9, name="numbers")
        fills, _ = run_by_hand(None)
        return then(fills, lambda: queue.dequeue_many(5))
    yield "range_producer", range_producer

    yield "producer_of_nothing", lambda: tf.train.string_input_producer([]).dequeue()
    yield "producer_of_unknown", lambda: tf.train.input_producer(tf.placeholder(tf.int32)).dequeue()
    yield "no_epochs", lambda: tf.train.limit_epochs(tf.constant(1), 0)
    yield "epochs", lambda: tf.train.limit_epochs(tf.constant([1, 2]), 3)

    def summaries():
        tf.train.range_input_producer(5, capacity=4)
        tf.train.batch([tf.constant(1.0)], 2, capacity=8)
        tf.train.shuffle_batch([tf.constant(1.0)], 2, 20, 10)
        return tf.get_collection(tf.GraphKeys.SUMMARIES)
    yield "summaries", summaries

    # A queue of shapes only: dequeue_many(0) runs at once and shows types, shapes and names.
    yield "batch", lambda: tf.train.batch([tf.constant(1.0), tf.constant([1, 2])], 0)
    yield "batch_dict", lambda: tf.train.batch({"b": tf.constant("x"), "a": tf.constant([[1.0]])}, 0, name="mine")
    yield "batch_many", lambda: tf.train.batch([tf.constant([[1.0], [2.0]])], 0, enqueue_many=True)
    yield "batch_padded", lambda: tf.train.batch([tf.range(tf.constant(3))], 0, dynamic_pad=True)
    yield "batch_join", lambda: tf.train.batch_join([[tf.constant(1)], [tf.constant(2)]], 0)
    yield "shuffle_batch", lambda: tf.train.shuffle_batch([tf.constant(1), tf.constant("x")], 0, 10, 0)
    yield "shuffle_batch_join", lambda: tf.train.shuffle_batch_join([[tf.constant(1)], [tf.constant(2)]], 0, 10, 0)
    yield "maybe_batch_vector", lambda: tf.train.maybe_batch([tf.constant([1, 2])], tf.constant([True, False]), 0, enqueue_many=True)
    yield "batch_of_nothing", lambda: tf.train.batch([], 2)
    yield "batch_types_differ", lambda: tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2)
    yield "batch_shapes_differ", lambda: tf.train.batch_join([[tf.constant([1, 2])], [tf.constant([1])]], 2)
    yield "batch_small_capacity", lambda: tf.train.shuffle_batch([tf.constant(1)], 3, 5, 6)

    # --- readers -----------------------------------------------------------------------------------------------------
    def read_with(make, data, up_to=None):
        queue = tf.FIFOQueue(5, tf.string, shapes=[[]])
        fill = queue.enqueue(sample_file(data))
        reader = make()
        if up_to is not None:
            return then(fill, lambda: reader.read_up_to(queue, up_to).values)
        return then(fill, lambda: reader.read(queue).value)
    yield "text_line", lambda: read_with(tf.TextLineReader, b"one\r\ntwo\n")
    yield "text_header", lambda: read_with(lambda: tf.TextLineReader(skip_header_lines=1), b"one\ntwo\n")
    yield "text_lines", lambda: read_with(tf.TextLineReader, b"one\n\nthree\nfour", 3)
    yield "whole_file", lambda: read_with(tf.WholeFileReader, b"all\nof it")
    yield "fixed_length", lambda: read_with(lambda: tf.FixedLengthRecordReader(2, 1, 1), b"HaabbF", 5)
    yield "fixed_length_hop", lambda: read_with(lambda: tf.FixedLengthRecordReader(4, hop_bytes=2), b"aabbccdd", 5)
    yield "damaged_record", lambda: read_with(tf.TFRecordReader, b"this is no record, it is far too long for that")

    def missing_file():
        queue = tf.FIFOQueue(5, tf.string)
        return then(queue.enqueue("/no/such/file"), lambda: tf.WholeFileReader().read(queue))
    yield "missing_file", missing_file

    def identity_reader():
        queue, reader = tf.FIFOQueue(5, tf.string, shapes=[[]]), tf.IdentityReader()
        read = then(queue.enqueue("work"), lambda: reader.read(queue))
        after = then([read.key, read.value], lambda: [reader.num_records_produced(), reader.num_work_units_completed(), reader.serialize_state()])
        return list(read) + after
    yield "identity_reader", identity_reader

    # --- accumulators and barriers -----------------------------------------------------------------------------------
    for reduction in ("MEAN", "SUM"):
        def accumulate(reduction=reduction):
            acc = tf.ConditionalAccumulator(tf.float32, shape=[2], reduction_type=reduction)
            fills = [acc.apply_grad([1.0, 2.0]), acc.apply_grad([3.0, 5.0])]
            count = then(fills, lambda: acc.num_accumulated())
            return [count, then(count, lambda: acc.take_grad(1))]
        yield "accumulate_%s" % reduction.lower(), accumulate

        def accumulate_sparse(reduction=reduction):
            acc = tf.SparseConditionalAccumulator(tf.float64, shape=[4, 2], reduction_type=reduction)
            fills = [acc.apply_grad([0, 2], np.array([[1.0, 2.0], [3.0, 4.0]])), acc.apply_grad([2, 3], np.array([[5.0, 6.0], [7.0, 8.0]]))]
            return then(fills, lambda: acc.take_indexed_slices_grad(2))
        yield "accumulate_sparse_%s" % reduction.lower(), accumulate_sparse

    def stale():
        acc = tf.ConditionalAccumulator(tf.float32, shape=[])
        fill = then(acc.set_global_step(3), lambda: acc.apply_grad(1.0, local_step=2))
        return then(fill, lambda: acc.num_accumulated())
    yield "accumulate_stale", stale
    yield "accumulate_shape", lambda: then(tf.ConditionalAccumulator(tf.float32, shape=[2]).apply_grad([1.0, 2.0, 3.0]), lambda: tf.constant(1))
    yield "accumulate_none", lambda: tf.ConditionalAccumulator(tf.float32, shape=[2]).take_grad(0)

    def barrier():
        raw = tf.raw_ops
        area = raw.Barrier(component_types=[tf.float32, tf.int32], shapes=[[], [2]])
        first = raw.BarrierInsertMany(handle=area, keys=["k1", "k2"], values=[1.0, 2.0], component_index=0)
        second = then(first, lambda: raw.BarrierInsertMany(handle=area, keys=["k2", "k1"], values=[[1, 2], [3, 4]], component_index=1))
        sizes = then(second, lambda: [raw.BarrierReadySize(handle=area), raw.BarrierIncompleteSize(handle=area)])
        taken = then(sizes, lambda: raw.BarrierTakeMany(handle=area, num_elements=1, component_types=[tf.float32, tf.int32]))
        return [list(taken), sizes]
    yield "barrier", barrier

    # --- tables ------------------------------------------------------------------------------------------------------
    lookup = tf.contrib.lookup

    def table(keys, values, default=-1):
        return lookup.HashTable(lookup.KeyValueTensorInitializer(keys, values), default)
    yield "table", lambda: table(["a", "b"], [1, 2]).lookup(tf.constant([["a", "z"], ["b", "a"]]))
    yield "table_size", lambda: table([1, 2, 3], [0.5, 1.5, 2.5], 0.0).size()
    yield "table_strings", lambda: table([1, 2], ["x", "y"], "none").lookup(tf.constant([2, 7]))
    yield "table_name", lambda: lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1, name="mine").lookup(tf.constant("a"))
    yield "table_conflict", lambda: table(["a", "a"], [1, 2]).size()
    yield "table_wrong_keys", lambda: table(["a"], [1]).lookup(tf.constant([1]))
    yield "table_sparse", lambda: table(["a", "b"], [1, 2]).lookup(tf.SparseTensor([[0, 1], [2, 0]], ["b", "z"], [3, 2]))
    yield "static_table", lambda: tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), 0).lookup(tf.constant([2, 1, 5]))

    words = tf.constant
    yield "vocabulary", lambda: lookup.index_table_from_tensor(["x", "y", "z"]).lookup(words(["z", "q"]))
    yield "vocabulary_buckets", lambda: lookup.index_table_from_tensor(["x", "y"], num_oov_buckets=5).lookup(words(list("xabcdefg")))
    yield "vocabulary_strong", lambda: lookup.index_table_from_tensor(
        ["x", "y"], num_oov_buckets=5, hasher_spec=lookup.StrongHashSpec([11, 12])).lookup(words(list("xabcdefg")))
    yield "vocabulary_integers", lambda: lookup.index_table_from_tensor(
        [10, 20], num_oov_buckets=3, dtype=tf.int64).lookup(tf.constant([20, 5, 6], tf.int64))
    yield "vocabulary_file", lambda: lookup.index_table_from_file(
        sample_file(b"lake\npalmer\n"), num_oov_buckets=2).lookup(words(["palmer", "x", "y"]))
    yield "vocabulary_columns", lambda: lookup.HashTable(lookup.TextFileInitializer(
        sample_file(b"a,1\nb,2\n"), tf.string, 0, tf.int64, 1, delimiter=","), -1).lookup(words(["b", "c"]))
    yield "vocabulary_too_short", lambda: lookup.index_table_from_file(sample_file(b"lake\n"), vocab_size=3).lookup(words(["lake"]))
    yield "vocabulary_no_number", lambda: lookup.HashTable(lookup.TextFileInitializer(
        sample_file(b"a\tx\n"), tf.string, 0, tf.int64, 1), -1).lookup(words(["b", "c"]))
    yield "vocabulary_missing", lambda: lookup.index_table_from_file("/no/such/file").lookup(words(["lake"]))
    yield "back_to_strings", lambda: lookup.index_to_string_table_from_tensor(["x", "y"], "?").lookup(tf.constant([1, 7, 0], tf.int64))
    yield "back_to_strings_file", lambda: lookup.index_to_string_table_from_file(sample_file(b"lake\npalmer\n")).lookup(tf.constant([1, 7], tf.int64))
    yield "static_vocabulary", lambda: tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([0, 1], np.int64)), 4).lookup(words(list("abcdef")))

    def mutable():
        changing = lookup.MutableHashTable(tf.string, tf.int64, -1)
        fill = changing.insert(["a", "b"], [1, 2])
        less = then(fill, lambda: changing.remove(tf.constant(["a"])))
        return then(less, lambda: [changing.lookup([["a", "b"]]), changing.size(), changing.export()])
    yield "mutable", mutable

    def mutable_vectors():
        changing = lookup.MutableHashTable(tf.int64, tf.float32, [-1.0, -2.0])
        return then(changing.insert([3, 4], [[1.0, 2.0], [3.0, 4.0]]), lambda: [changing.lookup([[3, 9]]), changing.size()])
    yield "mutable_vectors", mutable_vectors

    def dense():
        changing = lookup.MutableDenseHashTable(tf.int64, tf.float32, -1.0, empty_key=0, deleted_key=-1)
        return then(changing.insert([3, 4], [1.0, 2.0]), lambda: [changing.lookup([4, 5]), changing.size()])
    yield "dense_table", dense
    yield "dense_table_empty_key", lambda: lookup.MutableDenseHashTable(tf.int64, tf.float32, -1.0, empty_key=0, deleted_key=-1).lookup([0])

    # --- staging areas -----------------------------------------------------------------------------------------------
    def staging():
        area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], [[2], []])
        put = area.put([tf.constant([1.0, 2.0]), tf.constant(3)])
        size = then(put, lambda: area.size())
        return [size, then(size, lambda: area.get())]
    yield "staging", staging
