"""Decoders, attention, beam search and the older models over lists: values, gradients, names of variables.

What comes out of a loop goes through an Identity, since loops end in other ops in TensorFlow.
"""


def _initializer(tf, np, scale=0.6):
    """Different numbers in every place, the same under both systems."""
    def make(shape, dtype=None, partition_info=None, **_):
        size = int(np.prod(shape)) if len(shape) else 1
        return tf.constant(np.sin(np.arange(size) * 1.3 + len(shape)).reshape(shape) * scale, dtype=dtype or tf.float32)
    return make


def _names(tf):
    return tf.constant([v.name for v in tf.global_variables()], name="names")


def _leaves(structure):
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _leaves(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in _leaves(item)]
    return [structure]


def _flat(tf, structure):
    return [tf.identity(t, name="flat") for t in _leaves(structure) if hasattr(t, "graph") and hasattr(t, "op") and not hasattr(t, "stack")]


def _data(tf, np, *shape):
    return tf.constant(np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape), tf.float32)


def losses(tf, np):
    """sequence_loss of both kinds."""
    new, old = tf.contrib.seq2seq, tf.contrib.legacy_seq2seq
    targets = np.array([[0, 1, 2], [3, 1, 0]], np.int32)
    weights = np.array([[1.0, 1.0, 0.5], [1.0, 0.0, 0.0]], np.float32)

    def loss(**options):
        def case():
            logits = _data(tf, np, 2, 3, 4)
            result = new.sequence_loss(logits, tf.constant(targets), tf.constant(weights), **options)
            return result, _flat(tf, tf.gradients(result, logits))
        return case

    yield "loss", loss()
    yield "loss per step", loss(average_across_batch=True, average_across_timesteps=False)
    yield "loss per sequence", loss(average_across_batch=False, average_across_timesteps=True)
    yield "loss plain", loss(average_across_batch=False, average_across_timesteps=False, name="mine")
    yield "loss sum", loss(average_across_batch=False, average_across_timesteps=False, sum_over_timesteps=True, sum_over_batch=True)
    yield "loss sum over batch", loss(average_across_batch=False, average_across_timesteps=False, sum_over_batch=True)
    yield "loss function", loss(softmax_loss_function=lambda labels, logits: tf.cast(labels, tf.float32) * logits[:, 0])
    yield "loss error", loss(sum_over_batch=True)
    yield "loss one-hot", lambda: new.sequence_loss(_data(tf, np, 2, 3, 4), tf.one_hot(targets, 4), tf.constant(weights))

    def by_steps(function, **options):
        def case():
            logits = tf.unstack(_data(tf, np, 3, 2, 4))
            result = function(logits, tf.unstack(tf.constant(targets), axis=1), tf.unstack(tf.constant(weights), axis=1), **options)
            return result, _flat(tf, tf.gradients(result, logits))
        return case

    yield "legacy loss", by_steps(old.sequence_loss)
    yield "legacy loss sums", by_steps(old.sequence_loss, average_across_timesteps=False, average_across_batch=False)
    yield "legacy loss by example", by_steps(old.sequence_loss_by_example)
    yield "legacy loss by example function", by_steps(old.sequence_loss_by_example,
                                                      softmax_loss_function=lambda labels, logits: tf.cast(labels, tf.float32) * logits[:, 0])
    yield "legacy loss error", lambda: old.sequence_loss_by_example([tf.zeros([2, 3])], [], [])


def helpers(tf, np):
    """Decoding with each helper."""
    new, cell = tf.contrib.seq2seq, tf.nn.rnn_cell
    lengths = [4, 0, 2]

    def decoded(make_helper, **options):
        def case():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                table = tf.get_variable("table", [5, 5])
                x = _data(tf, np, 3, 4, 5)
                one = cell.GRUCell(5)
                decoder = new.BasicDecoder(one, make_helper(table, x), _data(tf, np, 3, 5))
                outputs, state, length = new.dynamic_decode(decoder, **options)
            loss = tf.reduce_sum(tf.square(outputs.rnn_output)) + tf.reduce_sum(state)
            gradients = [g for g in tf.gradients(loss, [x] + tf.trainable_variables()) if g is not None]
            return _flat(tf, [list(outputs), state, length]), _names(tf), _flat(tf, [tf.convert_to_tensor(g) for g in gradients])
        return case

    def training(table, x):
        return new.TrainingHelper(x, lengths)

    def greedy(table, x):
        return new.GreedyEmbeddingHelper(table, [0, 1, 2], 4)

    yield "training", decoded(training)
    yield "training imputed", decoded(training, impute_finished=True)
    yield "training limited", decoded(training, maximum_iterations=2, scope="mine")
    yield "training time major", decoded(lambda table, x: new.TrainingHelper(tf.transpose(x, [1, 0, 2]), lengths, time_major=True),
                                         output_time_major=True)
    yield "greedy", decoded(greedy, maximum_iterations=6)
    yield "greedy imputed", decoded(greedy, maximum_iterations=6, impute_finished=True)
    yield "greedy none", decoded(greedy, maximum_iterations=1)
    yield "greedy function", decoded(lambda table, x: new.GreedyEmbeddingHelper(lambda ids: tf.one_hot(ids, 5), [0, 1, 2], 4), maximum_iterations=5)
    yield "sample", decoded(lambda table, x: new.SampleEmbeddingHelper(table, [0, 1, 2], 4, seed=3), maximum_iterations=5)
    yield "sample temperature", decoded(lambda table, x: new.SampleEmbeddingHelper(table, [0, 1, 2], 4, softmax_temperature=0.3, seed=3),
                                        maximum_iterations=5)
    yield "scheduled embedding", decoded(lambda table, x: new.ScheduledEmbeddingTrainingHelper(x, lengths, table, 0.5, seed=3, scheduling_seed=4))
    yield "scheduled embedding never", decoded(lambda table, x: new.ScheduledEmbeddingTrainingHelper(x, lengths, table, 0.0, seed=3))
    yield "scheduled output", decoded(lambda table, x: new.ScheduledOutputTrainingHelper(x, lengths, 0.5, seed=3))
    yield "scheduled output function", decoded(lambda table, x: new.ScheduledOutputTrainingHelper(x, lengths, 0.5, seed=3, next_inputs_fn=tf.tanh))
    yield "inference", decoded(lambda table, x: new.InferenceHelper(
        lambda outputs: outputs, [5], tf.float32, x[:, 0], lambda samples: tf.reduce_sum(samples, 1) > 0.2, lambda samples: samples * 0.5),
        maximum_iterations=4)

    def custom(table, x):
        return new.CustomHelper(
            initialize_fn=lambda: (tf.tile([False], [3]), x[:, 0]),
            sample_fn=lambda time, outputs, state: tf.argmax(outputs, 1, output_type=tf.int32),
            next_inputs_fn=lambda time, outputs, state, sample_ids: (tf.tile([time >= 3], [3]), outputs * 2.0, state))
    yield "custom", decoded(custom)
    yield "error lengths", decoded(lambda table, x: new.TrainingHelper(x, 3))
    yield "error start tokens", decoded(lambda table, x: new.GreedyEmbeddingHelper(table, 0, 4))
    yield "error end token", decoded(lambda table, x: new.GreedyEmbeddingHelper(table, [0, 1, 2], [4]))


def attention(tf, np):
    """Attention mechanisms and their wrapper."""
    new, cell = tf.contrib.seq2seq, tf.nn.rnn_cell

    def attended(make, wrap=None, state=None):
        def case():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                memory = _data(tf, np, 3, 4, 6)
                mechanism = make(memory)
                one = new.AttentionWrapper(cell.GRUCell(5), mechanism, **(wrap or {}))
                zero = one.zero_state(3, tf.float32)
                if state:
                    zero = zero.clone(cell_state=_data(tf, np, 3, 5))
                helper = new.TrainingHelper(_data(tf, np, 3, 4, 2), [4, 1, 2])
                outputs, last, length = new.dynamic_decode(new.BasicDecoder(one, helper, zero))
            history = [h.stack() for h in _leaves(last.alignment_history) if hasattr(h, "stack")]
            loss = tf.reduce_sum(tf.square(outputs.rnn_output)) + tf.reduce_sum(last.cell_state)
            return (_flat(tf, [outputs.rnn_output, last.cell_state, last.attention, last.time, last.alignments, history, length]), _names(tf),
                    _flat(tf, tf.gradients(loss, [memory] + tf.trainable_variables())), [str(one.output_size)])
        return case

    def luong(memory, **options):
        return new.LuongAttention(5, memory, **options)

    def bahdanau(memory, **options):
        return new.BahdanauAttention(4, memory, **options)

    yield "luong", attended(luong)
    yield "luong scale", attended(lambda m: luong(m, scale=True))
    yield "luong lengths", attended(lambda m: luong(m, memory_sequence_length=[4, 1, 3]))
    yield "luong hardmax", attended(lambda m: luong(m, probability_fn=lambda s: new.hardmax(s)))
    yield "bahdanau", attended(bahdanau)
    yield "bahdanau normalize", attended(lambda m: bahdanau(m, normalize=True))
    yield "bahdanau lengths", attended(lambda m: bahdanau(m, memory_sequence_length=[4, 1, 3]))
    yield "attention layer", attended(bahdanau, dict(attention_layer_size=3))
    yield "alignment history", attended(bahdanau, dict(alignment_history=True))
    yield "cell output", attended(luong, dict(output_attention=False, attention_layer_size=7))
    yield "two mechanisms", attended(lambda m: [luong(m), bahdanau(m)], dict(attention_layer_size=[3, 2], alignment_history=True))
    yield "two mechanisms without layers", attended(lambda m: [luong(m), bahdanau(m)])
    yield "cell_input_fn", attended(luong, dict(cell_input_fn=lambda inputs, attention: inputs))
    yield "wrapper name", attended(luong, dict(name="mine"))
    yield "clone", attended(bahdanau, state=True)
    for mode in ("recursive", "parallel", "hard"):
        yield "luong monotonic " + mode, attended(lambda m, mode=mode: new.LuongMonotonicAttention(5, m, mode=mode, score_bias_init=0.5))
        yield "bahdanau monotonic " + mode, attended(lambda m, mode=mode: new.BahdanauMonotonicAttention(4, m, mode=mode, normalize=True))
        yield "monotonic_attention " + mode, lambda mode=mode: _flat(tf, new.monotonic_attention(
            tf.round(_data(tf, np, 2, 4) * 0.5 + 0.5) if mode == "hard" else _data(tf, np, 2, 4) * 0.4 + 0.5,
            tf.constant([[0.5, 0.5, 0.0, 0.0]] * 2), mode))
    def noisy():
        with tf.variable_scope("", initializer=_initializer(tf, np)):
            mechanism = new.LuongMonotonicAttention(5, _data(tf, np, 3, 4, 6), sigmoid_noise=1.0, sigmoid_noise_seed=5, mode="recursive")
            return mechanism(_data(tf, np, 3, 5), mechanism.initial_state(3, tf.float32))[0]

    yield "monotonic noise", noisy
    yield "safe_cumprod", lambda: new.safe_cumprod(tf.constant([[0.5, 0.0, 0.3], [1.0, 0.2, 0.1]]), axis=1, exclusive=True)
    yield "hardmax", lambda: new.hardmax(_data(tf, np, 3, 4))
    yield "error units", attended(lambda m: new.LuongAttention(3, m))
    yield "error layer sizes", attended(luong, dict(attention_layer_size=[3, 2]))
    yield "error memory", attended(lambda m: luong(tf.placeholder_with_default(m, [None, None, None])))


def beams(tf, np):
    """Beam search."""
    new, cell = tf.contrib.seq2seq, tf.nn.rnn_cell

    def searched(width, attend=False, **options):
        def case():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                table = tf.get_variable("table", [6, 3])
                one = cell.GRUCell(6)
                if attend:
                    memory = new.tile_batch(_data(tf, np, 2, 3, 4), width)
                    one = new.AttentionWrapper(one, new.LuongAttention(6, memory), attention_layer_size=6, alignment_history=True)
                    state = one.zero_state(2 * width, tf.float32).clone(cell_state=new.tile_batch(_data(tf, np, 2, 6), width))
                else:
                    state = new.tile_batch(_data(tf, np, 2, 6), width)
                decoder = new.BeamSearchDecoder(one, table, [0, 1], 5, state, width, **options)
                outputs, last, length = new.dynamic_decode(decoder, maximum_iterations=7)
            history = [last.cell_state.alignment_history] if attend else []
            return _flat(tf, [outputs.predicted_ids, list(outputs.beam_search_decoder_output), last.log_probs, last.lengths, last.finished, length] +
                         history), _names(tf)
        return case

    yield "beam 1", searched(1)
    yield "beam 3", searched(3)
    yield "beam length penalty", searched(3, length_penalty_weight=0.8)
    yield "beam attention", searched(2, attend=True)
    yield "beam coverage", searched(2, attend=True, coverage_penalty_weight=0.5)
    yield "beam no reordering", searched(4, reorder_tensor_arrays=False)
    yield "beam error coverage", searched(2, coverage_penalty_weight=0.5)
    def sorted_history():
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            table = tf.get_variable("table", [6, 3])
            memory = new.tile_batch(tf.placeholder_with_default(_data(tf, np, 2, 3, 4), [2, None, 4]), 2)
            one = new.AttentionWrapper(cell.GRUCell(6), new.LuongAttention(6, memory), attention_layer_size=6, alignment_history=True)
            decoder = new.BeamSearchDecoder(one, table, [0, 1], 5, one.zero_state(4, tf.float32), 2)
            outputs, last, _ = new.dynamic_decode(decoder, maximum_iterations=7)
        return _flat(tf, [outputs.predicted_ids, last.cell_state.alignment_history])

    def skip_connection():
        one = tf.contrib.rnn.ConvLSTMCell(2, [4, 3, 2], 3, [2, 2], skip_connection=True)
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            return _flat(tf, one(_data(tf, np, 2, 4, 3, 2), one.zero_state(2, tf.float32))[0])

    def auxiliary():
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            helper = new.ScheduledOutputTrainingHelper(_data(tf, np, 3, 4, 5), [4, 1, 2], 0.5, seed=3, auxiliary_inputs=_data(tf, np, 3, 4, 2))
            outputs, _, _ = new.dynamic_decode(new.BasicDecoder(cell.GRUCell(5), helper, _data(tf, np, 3, 5)))
        return _flat(tf, list(outputs))

    yield "beam sorted history", sorted_history
    yield "conv lstm skip connection", skip_connection
    yield "scheduled output auxiliary", auxiliary
    yield "tile_batch", lambda: new.tile_batch(_data(tf, np, 2, 3), 3)
    yield "tile_batch structure", lambda: _flat(tf, new.tile_batch((_data(tf, np, 2, 3), tf.constant([1, 2])), 2))
    steps = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[0, 0, 0]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[0, 0, 0]]], np.int32)
    yield "gather_tree", lambda: _flat(tf, new.gather_tree(steps, parents, [3], 10))
    yield "gather_tree ended", lambda: _flat(tf, new.gather_tree(steps, parents, [3], 5))
    yield "gather_tree error", lambda: _flat(tf, new.gather_tree(steps, parents + 3, [3], 10))


def legacy(tf, np):
    """Models over lists."""
    old, cell = tf.contrib.legacy_seq2seq, tf.nn.rnn_cell
    words = [np.array([1, 2, 0], np.int32), np.array([3, 0, 2], np.int32)]
    said = [np.array([0, 0, 0], np.int32), np.array([1, 2, 1], np.int32), np.array([2, 2, 3], np.int32)]

    def run(build):
        def case():
            with tf.variable_scope("model", initializer=_initializer(tf, np, 1.2)):
                outputs, state = build()
            loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in _leaves(outputs) + _leaves(state)])
            gradients = [tf.convert_to_tensor(g) for g in tf.gradients(loss, tf.trainable_variables()) if g is not None]
            return _flat(tf, [outputs, state]), _names(tf), _flat(tf, gradients)
        return case

    def inputs(count, size=2):
        return tf.unstack(_data(tf, np, count, 3, size))

    def steps(arrays):
        return [tf.constant(a) for a in arrays]

    def projection():
        return tf.get_variable("w", [3, 5]), tf.get_variable("b", [5])

    yield "rnn_decoder", run(lambda: old.rnn_decoder(inputs(3), _data(tf, np, 3, 4), cell.GRUCell(4)))
    yield "rnn_decoder loop", run(lambda: old.rnn_decoder(inputs(3), _data(tf, np, 3, 2), cell.GRUCell(2), loop_function=lambda prev, i: prev * 0.5))
    yield "basic_rnn_seq2seq", run(lambda: old.basic_rnn_seq2seq(inputs(2), inputs(3), cell.GRUCell(4)))
    yield "tied_rnn_seq2seq", run(lambda: old.tied_rnn_seq2seq(inputs(2), inputs(3), cell.BasicLSTMCell(4)))
    yield "embedding_rnn_decoder", run(lambda: old.embedding_rnn_decoder(steps(said), _data(tf, np, 3, 5), cell.GRUCell(5), 5, 2))
    yield "embedding_rnn_decoder fed", run(lambda: old.embedding_rnn_decoder(steps(said), _data(tf, np, 3, 5), cell.GRUCell(5), 5, 2,
                                                                             feed_previous=True))
    for fed in (False, True):
        name = " fed" if fed else ""
        yield "embedding_rnn_seq2seq" + name, run(lambda fed=fed: old.embedding_rnn_seq2seq(
            steps(words), steps(said), cell.BasicLSTMCell(3), 4, 5, 2, feed_previous=fed))
        yield "embedding_rnn_seq2seq projection" + name, run(lambda fed=fed: old.embedding_rnn_seq2seq(
            steps(words), steps(said), cell.GRUCell(3), 4, 5, 2, output_projection=projection(), feed_previous=fed))
        yield "embedding_tied_rnn_seq2seq" + name, run(lambda fed=fed: old.embedding_tied_rnn_seq2seq(
            steps(words), steps(said), cell.GRUCell(3), 5, 2, feed_previous=fed))
        yield "embedding_attention_seq2seq" + name, run(lambda fed=fed: old.embedding_attention_seq2seq(
            steps(words), steps(said), cell.GRUCell(3), 4, 5, 2, feed_previous=fed))
        yield "embedding_attention_seq2seq chosen" + name, run(lambda fed=fed: old.embedding_attention_seq2seq(
            steps(words), steps(said), cell.GRUCell(3), 4, 5, 2, feed_previous=tf.placeholder_with_default(fed, [])))
    yield "embedding_attention_seq2seq heads", run(lambda: old.embedding_attention_seq2seq(
        steps(words), steps(said), cell.BasicLSTMCell(3), 4, 5, 2, num_heads=2, initial_state_attention=True))
    yield "embedding_attention_seq2seq projection", run(lambda: old.embedding_attention_seq2seq(
        steps(words), steps(said), cell.GRUCell(3), 4, 5, 2, output_projection=projection()))
    yield "attention_decoder", run(lambda: old.attention_decoder(
        inputs(3), _data(tf, np, 3, 4), _data(tf, np, 3, 5, 6), cell.GRUCell(4), output_size=3))
    yield "one2many_rnn_seq2seq", run(lambda: old.one2many_rnn_seq2seq(
        steps(words), {"a": steps(said)}, cell.GRUCell(3), {"a": cell.GRUCell(3)}, 4, {"a": 5}, 2))

    def buckets(per_example):
        def case():
            weights = [tf.ones([3]) for _ in said]
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                outputs, found = old.model_with_buckets(
                    steps(words), steps(said), steps(said), weights, [(1, 2), (2, 3)],
                    lambda x, y: old.embedding_rnn_seq2seq(x, y, cell.GRUCell(3), 4, 5, 2), per_example_loss=per_example)
            return _flat(tf, [outputs, found]), _names(tf)
        return case

    yield "model_with_buckets", buckets(False)
    yield "model_with_buckets per example", buckets(True)


def cases(tf, np):
    """All cases."""
    for family in (losses, helpers, attention, beams, legacy):
        yield from family(tf, np)
