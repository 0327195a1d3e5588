"""What decoders draw in a graph with a seed, none of their own, and the seed of what comes after; nodes of dilated convolutions, which count too."""


def _helpers(tf, embedding, targets, lengths):
    seq2seq = tf.contrib.seq2seq
    inputs, start = tf.nn.embedding_lookup(embedding, targets), tf.fill([3], 1)
    yield "training", lambda: seq2seq.TrainingHelper(inputs, lengths)
    yield "greedy", lambda: seq2seq.GreedyEmbeddingHelper(embedding, start, 2)
    yield "sample", lambda: seq2seq.SampleEmbeddingHelper(embedding, start, 2)
    yield "sample with temperature", lambda: seq2seq.SampleEmbeddingHelper(embedding, start, 2, softmax_temperature=0.5)
    yield "scheduled embedding", lambda: seq2seq.ScheduledEmbeddingTrainingHelper(inputs, lengths, embedding, 0.3)
    yield "scheduled output", lambda: seq2seq.ScheduledOutputTrainingHelper(tf.zeros([3, 4, 11]), lengths, 0.3)
    yield "scheduled function", lambda: seq2seq.ScheduledOutputTrainingHelper(
        tf.zeros([3, 4, 11]), lengths, 0.3, auxiliary_inputs=tf.zeros([3, 4, 2]), next_inputs_fn=lambda outputs: outputs * 2.0)


def _decoders(tf):
    seq2seq, ones = tf.contrib.seq2seq, tf.ones_initializer()
    names = ["training", "greedy", "sample", "sample with temperature", "scheduled embedding", "scheduled output", "scheduled function"]
    for index, name in enumerate(names):
        for impute in (False, True):
            def draw(index=index, impute=impute):
                tf.set_random_seed(4)
                targets, lengths = tf.constant([[1, 3, 4, 2], [1, 5, 2, 0], [1, 7, 8, 2]]), tf.constant([4, 3, 4])
                embedding = tf.get_variable("embedding", [11, 6], initializer=ones)
                cell, dense = tf.nn.rnn_cell.GRUCell(16, kernel_initializer=ones), tf.layers.Dense(11, use_bias=False, kernel_initializer=ones)
                helper = list(_helpers(tf, embedding, targets, lengths))[index][1]()
                decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32), dense)
                outputs, _, ends = seq2seq.dynamic_decode(decoder, impute_finished=impute, maximum_iterations=4)
                return [tf.identity(outputs.sample_id, name="drawn"), tf.identity(ends, name="ends"), str(tf.compat.v1.random.get_seed(None))]
            yield name + (" imputed" if impute else ""), draw


def _beams(tf):
    seq2seq, ones = tf.contrib.seq2seq, tf.ones_initializer()
    attentions = {"no attention": None, "Luong": seq2seq.LuongAttention, "Bahdanau": seq2seq.BahdanauAttention}
    for name, attention in attentions.items():
        for cell_name in ("GRUCell", "BasicLSTMCell"):
            for options in ({}, {"length_penalty_weight": 0.6}, {"coverage_penalty_weight": 0.5}):
                for steps in (None, 5):
                    if attention is None and "coverage_penalty_weight" in options:
                        continue

                    def seeds(attention=attention, cell_name=cell_name, options=options, steps=steps):
                        tf.set_random_seed(4)
                        embedding = tf.get_variable("embedding", [11, 6], initializer=ones)
                        cell = getattr(tf.nn.rnn_cell, cell_name)(16)
                        if attention is not None:
                            memory = seq2seq.tile_batch(tf.ones([3, 7, 16]), 4)
                            cell = seq2seq.AttentionWrapper(cell, attention(16, memory, seq2seq.tile_batch(tf.constant([7, 6, 5]), 4)),
                                                            alignment_history=steps is not None)
                        drawn = [tf.random_uniform([], name="before")]
                        decoder = seq2seq.BeamSearchDecoder(cell, embedding, tf.fill([3], 1), 2, cell.zero_state(12, tf.float32), 4,
                                                            tf.layers.Dense(11), **options)
                        drawn.append(tf.random_uniform([], name="made"))
                        seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
                        return drawn + [tf.random_uniform([], name="after"), str(tf.compat.v1.random.get_seed(None))]
                    yield "beams %s %s %s %s" % (name, cell_name, sorted(options), steps), seeds


def _dilated(tf, np):
    kernel = np.ones([3, 3, 3, 2], np.float32)
    calls = [
        ("convolution", lambda x, padding: tf.nn.convolution(x, kernel, padding, dilation_rate=[2, 2])),
        ("one axis", lambda x, padding: tf.nn.convolution(x, kernel, padding, dilation_rate=[1, 2])),
        ("atrous", lambda x, padding: tf.nn.atrous_conv2d(x, kernel, 2, padding)),
        ("depthwise", lambda x, padding: tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], padding, rate=[2, 2])),
        ("layers", lambda x, padding: tf.layers.conv2d(x, 4, 3, dilation_rate=2, padding=padding)),
        ("separable", lambda x, padding: tf.layers.separable_conv2d(x, 4, 3, dilation_rate=2, padding=padding)),
        ("slim", lambda x, padding: tf.contrib.layers.conv2d(x, 4, 3, rate=2, padding=padding))]
    for name, call in calls:
        for padding in ("SAME", "VALID"):
            for extent in (9, None):
                def nodes(call=call, padding=padding, extent=extent):
                    call(tf.placeholder(tf.float32, [2, extent, extent, 3]), padding)
                    return tf.constant(sorted(each.name for each in tf.get_default_graph().get_operations()), name="names")
                yield "dilated %s %s %s" % (name, padding, extent), nodes
    yield "dilated pool", lambda: tf.nn.pool(tf.ones([2, 9, 9, 3]), [2, 2], "MAX", "VALID", dilation_rate=[2, 2])
    yield "paddings to be computed", lambda: list(tf.required_space_to_batch_paddings(
        tf.placeholder_with_default([5, 6], [2]), [2, 4], [[1, 1], [0, 2]]))
    yield "dilated axes that are given", lambda: tf.nn.with_space_to_batch(
        tf.placeholder_with_default(np.arange(2 * 5 * 2 * 4 * 1, dtype=np.float32).reshape(2, 5, 2, 4, 1), [None] * 5), [2, 2], "VALID",
        lambda x, *_: tf.identity(x * 2.0), spatial_dims=[1, 3])


def cases(tf, np):
    """All cases of the family."""
    for name, draw in _decoders(tf):
        yield "decoder " + name, draw
    yield from _beams(tf)
    for name, call in _dilated(tf, np):
        yield name, call
