"""Segments of sequences with their states: SequenceQueueingStateSaver, batch_sequences_with_states, state_saving_rnn."""


def _rows(tf, np, batch, fetches, between=lambda sess: None, steps=100):
    """What all steps give, per segment, in the order of the keys: the order in which segments come may differ."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        threads = tf.train.start_queue_runners(sess)  # no coordinator: TensorFlow hangs when a barrier is closed twice
        between(sess)
        rows = []
        try:
            for _ in range(steps):
                keys, values = sess.run([batch.key, fetches])
                rows += [(key, [value[i] for value in values]) for i, key in enumerate(keys)]
        except tf.errors.OutOfRangeError:
            pass
        for thread in threads:
            thread.join()
    rows.sort(key=lambda row: row[0])
    columns = [np.stack([row[1][i] for row in rows]) for i in range(len(fetches))]
    return [tf.constant([row[0] for row in rows], name="keys")] + [tf.constant(column, name="column") for column in columns]


def _lines(tf):
    """One sequence per run: its key, and a length that is told by the key."""
    key = tf.train.string_input_producer(["3", "5", "1", "8"], num_epochs=1, shuffle=False).dequeue()
    return key, tf.string_to_number(key, tf.int32)


def saver(tf, np):
    training = tf.contrib.training

    def whole(batch_size=2, **more):
        def build():
            key, length = _lines(tf)
            padded = (length + 2) // 3 * 3
            x = tf.reshape(tf.to_float(tf.range(padded * 2)), [-1, 2])
            made = training.SequenceQueueingStateSaver(
                batch_size=batch_size, num_unroll=3, input_length=length, input_key=key, input_sequences={"x": x, "n": tf.range(padded)},
                input_context={"c": tf.to_float(length) * [1.0, 2.0]}, initial_states={"s": tf.zeros([2]), "i": tf.constant(0, tf.int64)},
                **more)
            batch = made.next_batch
            save = tf.group(batch.save_state("s", batch.state("s") + tf.reduce_sum(batch.sequences["x"], 1)),
                            batch.save_state("i", batch.state("i") + 1))

            def between(sess):
                for _ in range(4):
                    sess.run(made.prefetch_op)
                sess.run(made.close())
            with tf.control_dependencies([save]):
                fetches = [tf.identity(each) for each in (
                    batch.length, batch.total_length, batch.next_key, batch.sequence, batch.sequence_count, batch.context["c"],
                    batch.sequences["x"], batch.sequences["n"], batch.state("s"), batch.state("i"))]
            shapes = [str(each.shape) for each in (batch.key, batch.length, batch.insertion_index, batch.context["c"], batch.sequences["x"],
                                                   batch.state("s"), batch.batch_size)]
            return _rows(tf, np, batch, fetches, between) + [tf.constant(shapes), tf.constant([made.name, made.barrier.name])]
        return build

    yield "state saver", whole(batch_size=1)
    yield "state saver in small batches", whole(allow_small_batch=True, capacity=10)
    yield "state saver named", whole(batch_size=1, name="mine")
    yield "state saver without room", whole(batch_size=3, capacity=2)

    def refused(**more):
        def build():
            given = dict(batch_size=2, num_unroll=3, input_length=3, input_key="k", input_sequences={"x": tf.zeros([3, 2])}, input_context={},
                         initial_states={"s": tf.zeros([2])})
            given.update((key, value()) for key, value in more.items())
            made = training.SequenceQueueingStateSaver(**given)
            with tf.Session() as sess:
                sess.run(made.prefetch_op)
            return tf.constant(0)
        return build

    yield "states in a list", refused(initial_states=lambda: [1.0])
    yield "no states", refused(initial_states=lambda: {})
    yield "a state with a colon", refused(initial_states=lambda: {"a:b": 1.0})
    yield "a state without a name", refused(initial_states=lambda: {1: 1.0})
    yield "no sequences", refused(input_sequences=lambda: {})
    yield "a sequence with a colon", refused(input_sequences=lambda: {"a:b": tf.zeros([3])})
    yield "context with a colon", refused(input_context=lambda: {"a:b": 1.0})
    yield "context of unknown shape", refused(input_context=lambda: {"c": tf.placeholder(tf.float32, [None])})
    yield "a sequence of unknown shape", refused(input_sequences=lambda: {"x": tf.placeholder(tf.float32, [3, None])})
    yield "length of int64", refused(input_length=lambda: tf.constant(3, tf.int64))
    yield "length as a vector", refused(input_length=lambda: [3])
    yield "key as a number", refused(input_key=lambda: 3)
    yield "steps that do not fit", refused(input_sequences=lambda: {"x": tf.zeros([4, 2])})
    yield "no steps", refused(input_sequences=lambda: {"x": tf.zeros([0, 2])})
    yield "two lengths", refused(input_sequences=lambda: {"x": tf.zeros([3]), "y": tf.zeros([6])})
    yield "longer than the sequence", refused(input_length=lambda: 4)

    def saved(name, value):
        def build():
            made = training.SequenceQueueingStateSaver(2, 3, 3, "k", {"x": tf.zeros([3, 2])}, {}, {"s": tf.zeros([2])})
            made.next_batch.save_state(name, tf.zeros(value))
            return tf.constant(0)
        return build
    yield "an unknown state", saved("t", [2, 2])
    yield "a state of another shape", saved("s", [2, 3])
    yield "a state of another rank", saved("s", [2])


def batches(tf, np):
    training = tf.contrib.training

    def build_with(num_unroll=3, sparse=False, with_length=False, **more):
        def build():
            key, length = _lines(tf)
            x = tf.reshape(tf.to_float(tf.range(length * 2)), [-1, 2])
            sequences, context = {"x": x, "t": tf.as_string(tf.range(length))}, {"c": tf.to_float(length)}
            if sparse:
                steps = tf.range(0, tf.to_int64(length), 2)
                sequences["s"] = tf.SparseTensor(tf.stack([steps, steps % 3], 1), tf.to_float(steps) + 10, tf.stack([tf.to_int64(length), 3]))
                context["d"] = tf.SparseTensor([[1], [3]], tf.stack([length, -length]), [4])
            given = length if with_length else None
            batch = training.batch_sequences_with_states(key, sequences, context, given, {"s": tf.zeros([2])}, num_unroll, 1, num_threads=1,
                                                         capacity=4, **more)
            save = batch.save_state("s", batch.state("s") + tf.reduce_sum(batch.sequences["x"], 1))
            with tf.control_dependencies([save]):
                fetches = [tf.identity(each) for each in (batch.length, batch.total_length, batch.context["c"], batch.sequences["x"],
                                                          batch.sequences["t"], batch.state("s"))]
            if sparse:
                fetches += [tf.sparse_tensor_to_dense(batch.sequences["s"]), tf.sparse_tensor_to_dense(batch.context["d"])]
            names = [each.name for each in tf.get_collection("summaries")]
            return _rows(tf, np, batch, fetches) + [tf.constant(names + sorted(batch.sequences) + sorted(batch.context))]
        return build

    yield "batch_sequences_with_states", build_with()
    yield "batch_sequences_with_states of one step", build_with(num_unroll=1)
    yield "batch_sequences_with_states without padding", build_with(num_unroll=1, pad=False, with_length=True)
    yield "batch_sequences_with_states by another name", build_with(name="other")
    yield "batch_sequences_with_states with unique keys", build_with(make_keys_unique=True, make_keys_unique_seed=3)
    yield "batch_sequences_with_states of sparse tensors", build_with(sparse=True)
    yield "batch_sequences_with_states num_unroll as a text", build_with(num_unroll="3")

    def recurrent():
        key, length = _lines(tf)
        x = tf.reshape(tf.cos(tf.to_float(tf.range(length * 2))), [-1, 2])
        states = {"c": tf.zeros([4]), "h": tf.zeros([4])}
        batch = training.batch_sequences_with_states(key, {"x": x}, {}, length, states, 3, 1, num_threads=1)
        cell = tf.nn.rnn_cell.LSTMCell(4, initializer=tf.constant_initializer(0.3))
        outputs, state = tf.nn.static_state_saving_rnn(cell, tf.unstack(batch.sequences["x"], axis=1), batch, ("c", "h"), batch.length)
        return _rows(tf, np, batch, [tf.stack(outputs, 1), state[0], state[1]])
    yield "state_saving_rnn", recurrent


def runners(tf, np):
    runner = tf.contrib.training.FeedingQueueRunner

    def feeding():
        queue, value = tf.FIFOQueue(10, tf.float32), tf.placeholder(tf.float32)
        numbers = iter([1.0, 2.0, 3.0])

        def feed():
            try:
                return {value: next(numbers)}
            except StopIteration:
                raise tf.errors.OutOfRangeError(None, None, "done") from None
        made = runner(queue, [queue.enqueue(value)], feed_fns=[feed])
        with tf.Session() as sess:
            coord = tf.train.Coordinator()
            threads = made.create_threads(sess, coord, start=True)
            threads[0].join()
            found = [sess.run(queue.dequeue()) for _ in range(3)]
            coord.request_stop()
            coord.join(threads)
        return tf.constant(found)
    yield "FeedingQueueRunner", feeding
    yield "FeedingQueueRunner with too few functions", lambda: runner(tf.FIFOQueue(10, tf.float32), [tf.no_op()], feed_fns=[])
    yield "FeedingQueueRunner as a proto", lambda: runner(tf.FIFOQueue(10, tf.float32), [tf.no_op()]).to_proto()


def cases(tf, np):
    for family in (saver, batches, runners):
        yield from family(tf, np)
