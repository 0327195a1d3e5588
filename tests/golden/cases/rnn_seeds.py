"""Weights of recurrent networks in a graph with a seed, none of their own: each cell in each way to unroll it. Every node before them counts."""


def _cells(tf):
    cells, contrib = tf.nn.rnn_cell, tf.contrib.rnn
    yield "basic", lambda: cells.BasicRNNCell(4)
    yield "gru", lambda: cells.GRUCell(4)
    yield "lstm", lambda: cells.LSTMCell(4)
    yield "lstm peepholes", lambda: cells.LSTMCell(4, use_peepholes=True, num_proj=2)
    yield "basic lstm", lambda: cells.BasicLSTMCell(3)
    yield "state in one", lambda: cells.BasicLSTMCell(3, state_is_tuple=False)
    yield "stack", lambda: cells.MultiRNNCell([cells.BasicLSTMCell(3), cells.GRUCell(2)])
    yield "dropout", lambda: cells.DropoutWrapper(cells.GRUCell(4), 0.9, 0.8, 0.7)
    yield "dropout of recurrence", lambda: cells.DropoutWrapper(cells.GRUCell(4), 0.9, 0.8, 0.7, variational_recurrent=True, dtype=tf.float32,
                                                                input_size=tf.TensorShape([5]))
    yield "residual", lambda: cells.ResidualWrapper(cells.GRUCell(5))
    yield "device", lambda: cells.DeviceWrapper(cells.GRUCell(4), "/cpu:0")
    yield "stack of dropout", lambda: cells.MultiRNNCell([cells.DropoutWrapper(cells.BasicLSTMCell(3), output_keep_prob=0.5) for _ in range(2)])
    yield "layer norm", lambda: contrib.LayerNormBasicLSTMCell(3)
    yield "attention", lambda: contrib.AttentionCellWrapper(cells.BasicLSTMCell(3), 2, state_is_tuple=True)
    yield "projections", lambda: contrib.InputProjectionWrapper(contrib.OutputProjectionWrapper(cells.GRUCell(3), 2), 4)
    yield "intersection", lambda: contrib.IntersectionRNNCell(5)
    yield "blocks", lambda: cells.MultiRNNCell([contrib.LSTMBlockCell(3), contrib.LSTMBlockCell(3, use_peephole=True, cell_clip=0.5),
                                                contrib.GRUBlockCellV2(4), cells.GRUCell(3)])


def _ways(tf, np):
    def known():
        return tf.constant(np.sin(np.arange(60)).reshape(2, 6, 5), tf.float32)

    def unknown():
        return tf.placeholder_with_default(np.sin(np.arange(60)).reshape(2, 6, 5).astype(np.float32), [None, None, 5])

    def state(cell):
        return cell().zero_state(2, tf.float32)
    yield "dynamic", lambda cell: tf.nn.dynamic_rnn(cell(), known(), dtype=tf.float32)
    yield "dynamic lengths", lambda cell: tf.nn.dynamic_rnn(cell(), known(), [3, 6], dtype=tf.float32)
    yield "dynamic state", lambda cell: tf.nn.dynamic_rnn(cell(), known(), initial_state=state(cell))
    yield "dynamic time major", lambda cell: tf.nn.dynamic_rnn(cell(), unknown(), dtype=tf.float32, time_major=True)
    yield "dynamic unknown", lambda cell: tf.nn.dynamic_rnn(cell(), unknown(), dtype=tf.float32)
    yield "both ways", lambda cell: tf.nn.bidirectional_dynamic_rnn(cell(), cell(), known(), dtype=tf.float32)
    yield "both ways lengths", lambda cell: tf.nn.bidirectional_dynamic_rnn(cell(), cell(), unknown(), [3, 6], dtype=tf.float32)
    yield "static", lambda cell: tf.nn.static_rnn(cell(), tf.unstack(known(), axis=1), dtype=tf.float32)
    yield "static lengths", lambda cell: tf.nn.static_rnn(cell(), tf.unstack(known(), axis=1), dtype=tf.float32, sequence_length=[3, 6])


def _older_decoders(tf):
    """Sequence to sequence, unrolled; only what is drawn for variables counts, not what comes behind the whole."""
    older, ids = tf.contrib.legacy_seq2seq, lambda: [tf.placeholder(tf.int32, [None]) for _ in range(3)]
    cell, state, attended = lambda: tf.nn.rnn_cell.GRUCell(4), lambda: tf.zeros([2, 4]), lambda: tf.ones([2, 3, 4])
    yield "attention", lambda: older.embedding_attention_seq2seq(ids(), ids(), cell(), 5, 6, 4)
    yield "recurrent", lambda: older.embedding_rnn_seq2seq(ids(), ids(), cell(), 5, 6, 4)
    yield "recurrent decoder", lambda: older.embedding_rnn_decoder(ids(), state(), cell(), 6, 4, feed_previous=True)
    yield "attention decoder", lambda: older.embedding_attention_decoder(ids(), state(), attended(), cell(), 6, 4, feed_previous=True)
    yield "attention of two", lambda: older.attention_decoder([tf.zeros([2, 4])] * 2, state(), attended(), cell(), num_heads=2)


def cases(tf, np):
    """(name, function) pairs."""
    for kind, build in _older_decoders(tf):
        def initial(build=build):
            tf.compat.v1.set_random_seed(7)
            build()
            return tf.concat([tf.reshape(each, [-1])[:3] for each in tf.trainable_variables()], 0, name="initial")
        yield "older " + kind, initial
    for way, unroll in _ways(tf, np):
        for kind, cell in _cells(tf):
            def case(unroll=unroll, cell=cell):
                tf.compat.v1.set_random_seed(7)
                unroll(cell)
                return tf.concat([tf.reshape(each, [-1])[:3] for each in tf.trainable_variables()], 0, name="initial"), tf.random_uniform([2])
            yield way + " " + kind, case
