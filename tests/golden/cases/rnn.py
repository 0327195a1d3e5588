"""Recurrent networks: cells, their unrollings, the names of their variables."""


def _initializer(tf, np):
    """Different numbers in every place, the same under both systems."""
    def make(shape, dtype=None, partition_info=None, **_):
        size = int(np.prod(shape)) if len(shape) else 1
        return tf.constant(np.sin(np.arange(size) * 1.3 + len(shape)).reshape(shape) * 0.6, dtype=dtype or tf.float32)
    return make


def _names(tf):
    """The names of the variables, as a tensor."""
    return tf.constant([v.name for v in tf.global_variables()], name="names")


def _flat(tf, structure):
    """The tensors of a nest; loops end in different ops under the two systems, so each gets an Identity."""
    return [tf.identity(t, name="flat") for t in _leaves(structure)]


def _leaves(structure):
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _leaves(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in _leaves(item)]
    return [structure]


def _data(tf, np, *shape):
    return tf.constant(np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape), tf.float32)


def cells(tf, np):
    """Each cell: one step, the gradients of its variables, and their names."""
    cell, contrib = tf.nn.rnn_cell, tf.contrib.rnn
    return [
        ("basic_rnn", lambda: cell.BasicRNNCell(3)),
        ("basic_rnn relu", lambda: cell.BasicRNNCell(3, activation=tf.nn.relu)),
        ("basic_rnn by name", lambda: cell.BasicRNNCell(3, activation="sigmoid", name="mine")),
        ("gru", lambda: cell.GRUCell(3)),
        ("gru initializers", lambda: cell.GRUCell(3, kernel_initializer=tf.ones_initializer(), bias_initializer=tf.constant_initializer(0.25))),
        ("basic_lstm", lambda: cell.BasicLSTMCell(3)),
        ("basic_lstm forget_bias", lambda: cell.BasicLSTMCell(3, forget_bias=0.0, activation=tf.nn.softsign)),
        ("basic_lstm one tensor", lambda: cell.BasicLSTMCell(3, state_is_tuple=False)),
        ("lstm", lambda: cell.LSTMCell(3)),
        ("lstm peepholes", lambda: cell.LSTMCell(3, use_peepholes=True)),
        ("lstm projection", lambda: cell.LSTMCell(3, num_proj=2, proj_clip=0.1)),
        ("lstm clip", lambda: cell.LSTMCell(3, cell_clip=0.2, use_peepholes=True, num_proj=4, initializer=tf.constant_initializer(0.3))),
        ("lstm one tensor", lambda: cell.LSTMCell(3, state_is_tuple=False, num_proj=2)),
        ("lstm shards", lambda: cell.LSTMCell(4, num_unit_shards=2, num_proj=2, num_proj_shards=2)),
        ("multi", lambda: cell.MultiRNNCell([cell.BasicLSTMCell(3), cell.GRUCell(2)])),
        ("multi one tensor", lambda: cell.MultiRNNCell([cell.GRUCell(3), cell.GRUCell(2)], state_is_tuple=False)),
        ("multi of multi", lambda: cell.MultiRNNCell([cell.MultiRNNCell([cell.GRUCell(3)]), cell.BasicRNNCell(2)])),
        ("residual", lambda: cell.ResidualWrapper(cell.GRUCell(2))),
        ("residual_fn", lambda: cell.ResidualWrapper(cell.GRUCell(2), residual_fn=lambda i, o: i * o)),
        ("device", lambda: cell.DeviceWrapper(cell.GRUCell(2), "/cpu:0")),
        ("dropout", lambda: cell.DropoutWrapper(cell.GRUCell(3), 0.5, 0.5, 0.5, seed=3)),
        ("dropout lstm", lambda: cell.DropoutWrapper(cell.LSTMCell(3), 1.0, 0.75, 0.5, seed=3)),
        ("dropout variational", lambda: cell.DropoutWrapper(cell.LSTMCell(3), 0.5, 0.75, 0.5, True, 2, tf.float32, seed=9)),
        ("dropout of nothing", lambda: cell.DropoutWrapper(cell.GRUCell(3), 1.0)),
        ("multi of wrappers", lambda: cell.MultiRNNCell([cell.DropoutWrapper(cell.LSTMCell(2), output_keep_prob=0.5, seed=1),
                                                         cell.ResidualWrapper(cell.LSTMCell(2))])),
        ("layer_norm_lstm", lambda: contrib.LayerNormBasicLSTMCell(3)),
        ("layer_norm_lstm off", lambda: contrib.LayerNormBasicLSTMCell(3, layer_norm=False, dropout_keep_prob=0.5, dropout_prob_seed=4)),
        ("lstm_block", lambda: contrib.LSTMBlockCell(3)),
        ("lstm_block peephole", lambda: contrib.LSTMBlockCell(3, use_peephole=True, cell_clip=0.2, forget_bias=0.5)),
        ("gru_block", lambda: contrib.GRUBlockCell(3)),
        ("gru_block_v2", lambda: contrib.GRUBlockCellV2(3)),
        ("nas", lambda: contrib.NASCell(3)),
        ("nas projection", lambda: contrib.NASCell(3, num_proj=2, use_bias=True)),
        ("input_projection", lambda: contrib.InputProjectionWrapper(cell.GRUCell(3), 4, activation=tf.nn.relu)),
        ("output_projection", lambda: contrib.OutputProjectionWrapper(cell.BasicLSTMCell(3), 4)),
        ("ugrnn", lambda: contrib.UGRNNCell(3)),
        ("ugrnn initializer", lambda: contrib.UGRNNCell(3, initializer=tf.constant_initializer(0.3), forget_bias=0.5)),
        ("attention_cell", lambda: contrib.AttentionCellWrapper(cell.GRUCell(3), 4)),
        ("attention_cell lstm", lambda: contrib.AttentionCellWrapper(cell.LSTMCell(3), 2, attn_size=5, attn_vec_size=4)),
        ("attention_cell one tensor", lambda: contrib.AttentionCellWrapper(cell.GRUCell(3), 4, state_is_tuple=False)),
    ]


def _step(tf, np, make, fused=False):
    def case():
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            cell = make()
            x = _data(tf, np, 4, 2)
            state = cell.zero_state(4, tf.float32)
            output, state = cell(x, state)
            output, state = cell(x * 0.5, state)
        loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in [output] + _leaves(state)])
        trained = tf.trainable_variables()
        return {"output": _flat(tf, output) if fused else output, "state": _flat(tf, state), "names": _names(tf),
                "sizes": [str(cell.state_size), str(cell.output_size)],
                "gradients": _flat(tf, tf.gradients(loss, [x] + trained))}
    return case


def _dynamic(tf, np, make, **options):
    def case():
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            x = _data(tf, np, 3, 5, 2)
            outputs, state = tf.nn.dynamic_rnn(make(), x, dtype=tf.float32, **options)
        loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in [outputs] + _leaves(state)])
        return {"outputs": outputs, "state": _flat(tf, state), "names": _names(tf),
                "gradients": _flat(tf, tf.gradients(loss, [x] + tf.trainable_variables()))}
    return case


def _static(tf, np, make, **options):
    def case():
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            x = _data(tf, np, 3, 5, 2)
            outputs, state = tf.nn.static_rnn(make(), tf.unstack(x, axis=1), dtype=tf.float32, **options)
        loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in outputs + _leaves(state)])
        return {"outputs": _flat(tf, outputs), "state": _flat(tf, state), "names": _names(tf),
                "gradients": _flat(tf, tf.gradients(loss, [x] + tf.trainable_variables()))}
    return case


def unrolled(tf, np):
    """Unrollings in their varieties."""
    cell = tf.nn.rnn_cell
    start = _initializer(tf, np)

    def time_major():
        outputs, state = tf.nn.dynamic_rnn(cell.GRUCell(3, kernel_initializer=start), _data(tf, np, 5, 3, 2), time_major=True, dtype=tf.float32)
        return outputs, _flat(tf, state)

    def given_state():
        first = cell.LSTMStateTuple(_data(tf, np, 3, 4), _data(tf, np, 3, 4))
        outputs, state = tf.nn.dynamic_rnn(cell.LSTMCell(4, initializer=start), _data(tf, np, 3, 5, 2), initial_state=first, scope="mine")
        return outputs, _flat(tf, state), _names(tf), _flat(tf, tf.gradients(outputs, list(first)))

    def unknown_shapes():
        x = tf.placeholder_with_default(_data(tf, np, 3, 5, 2), [None, None, 2])
        lengths = tf.placeholder_with_default(np.array([2, 0, 4], np.int32), [None])
        outputs, state = tf.nn.dynamic_rnn(cell.GRUCell(3, kernel_initializer=start), x, sequence_length=lengths, dtype=tf.float32)
        return outputs, _flat(tf, state), _flat(tf, tf.gradients(outputs, x))

    def nested_inputs():
        class Pair(cell.RNNCell):
            state_size = (2, 3)
            output_size = (2, 3)

            def call(self, inputs, state):
                a = tf.tanh(inputs[0] + state[0])
                b = inputs[1] + state[1]
                return (a, b), (a, b * 0.5)
        x = (_data(tf, np, 3, 5, 2), _data(tf, np, 3, 5, 3))
        outputs, state = tf.nn.dynamic_rnn(Pair(), x, sequence_length=[5, 2, 3], dtype=tf.float32)
        return list(outputs), _flat(tf, state), _flat(tf, tf.gradients(list(outputs), list(x)))

    def bidirectional(**options):
        def case():
            with tf.variable_scope("", initializer=start):
                outputs, states = tf.nn.bidirectional_dynamic_rnn(cell.GRUCell(3), cell.BasicLSTMCell(2), _data(tf, np, 3, 5, 2), dtype=tf.float32,
                                                                  **options)
            return list(outputs), _flat(tf, list(states)), _names(tf), _flat(tf, tf.gradients(list(outputs), tf.trainable_variables()))
        return case

    def static_bidirectional(**options):
        def case():
            with tf.variable_scope("", initializer=start):
                steps = tf.unstack(_data(tf, np, 3, 5, 2), axis=1)
                outputs, fw, bw = tf.nn.static_bidirectional_rnn(cell.GRUCell(3), cell.BasicLSTMCell(2), steps, dtype=tf.float32, **options)
            return outputs, _flat(tf, [fw, list(bw)]), _names(tf), _flat(tf, tf.gradients(outputs, tf.trainable_variables()))
        return case

    def stacked():
        with tf.variable_scope("", initializer=start):
            outputs, fw, bw = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                [cell.GRUCell(3), cell.GRUCell(2)], [cell.GRUCell(3), cell.GRUCell(2)], _data(tf, np, 3, 5, 2), dtype=tf.float32,
                sequence_length=[1, 5, 3])
        return outputs, _flat(tf, [list(fw), list(bw)]), _names(tf)

    def stacked_static():
        with tf.variable_scope("", initializer=start):
            outputs, fw, bw = tf.contrib.rnn.stack_bidirectional_rnn(
                [cell.GRUCell(3), cell.GRUCell(2)], [cell.GRUCell(3), cell.GRUCell(2)], tf.unstack(_data(tf, np, 3, 5, 2), axis=1), dtype=tf.float32)
        return outputs, _flat(tf, [list(fw), list(bw)]), _names(tf)

    def raw():
        x = _data(tf, np, 5, 3, 2)
        inputs = tf.TensorArray(tf.float32, size=5, clear_after_read=False).unstack(x)
        lengths = tf.constant([5, 2, 3])
        one = cell.GRUCell(4, kernel_initializer=start)

        def loop_fn(time, output, state, loop_state):
            state = one.zero_state(3, tf.float32) if output is None else state
            finished = time >= lengths
            following = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([3, 2]), lambda: inputs.read(time))
            return finished, following, state, output, None
        arrays, state, loop_state = tf.nn.raw_rnn(one, loop_fn)
        outputs = arrays.stack()
        return _flat(tf, [outputs, state]), str(loop_state), _flat(tf, tf.gradients(outputs, x))

    def raw_loop_state():
        one = cell.BasicRNNCell(2, name="raw")

        def loop_fn(time, output, state, loop_state):
            if output is None:
                return tf.tile([False], [3]), tf.ones([3, 2]), tf.zeros([3, 2]), (tf.zeros([1]), tf.zeros([], tf.int32)), tf.constant(1.0)
            return tf.tile([time >= 4], [3]), output * 0.5, state, (output[:, :1], tf.fill([3], time)), loop_state * 2.0
        with tf.variable_scope("", initializer=start):
            arrays, state, loop_state = tf.nn.raw_rnn(one, loop_fn)
        return _flat(tf, [arrays[0].stack(), arrays[1].stack(), state, loop_state]), _names(tf)

    def shared():
        one = cell.LSTMCell(3, initializer=start)
        a, _ = tf.nn.dynamic_rnn(one, _data(tf, np, 3, 5, 2), dtype=tf.float32, scope="a")
        b, _ = tf.nn.dynamic_rnn(one, _data(tf, np, 3, 4, 2), dtype=tf.float32, scope="b")
        return a, b, _names(tf)

    def reused():
        with tf.variable_scope("net", initializer=start):
            a, _ = tf.nn.dynamic_rnn(cell.LSTMCell(3), _data(tf, np, 3, 5, 2), dtype=tf.float32)
        with tf.variable_scope("net", reuse=True):
            b, _ = tf.nn.dynamic_rnn(cell.LSTMCell(3), _data(tf, np, 3, 5, 2), dtype=tf.float32)
        return a, b, _names(tf)

    def two_cells_in_a_scope():
        with tf.variable_scope("net", initializer=start):
            first, second = cell.GRUCell(2), cell.GRUCell(2)
            h, _ = first(_data(tf, np, 3, 2), tf.zeros([3, 2]))
            h, _ = second(h, tf.zeros([3, 2]))
            h, _ = first(h, tf.zeros([3, 2]))
        return h, _names(tf)

    def own_cell():
        class Mine(cell.RNNCell):
            @property
            def state_size(self):
                return 3

            @property
            def output_size(self):
                return 3

            def call(self, inputs, state):
                w = tf.get_variable("w", [2, 3], initializer=start)
                new = tf.tanh(tf.matmul(inputs, w) + state)
                return new, new
        one = Mine()
        outputs, state = tf.nn.dynamic_rnn(one, _data(tf, np, 3, 5, 2), dtype=tf.float32)
        return outputs, _flat(tf, state), _names(tf), [v.name for v in one.variables]

    def own_cell_old_style():
        class Old(cell.RNNCell):
            state_size = output_size = 3

            def __init__(self):
                pass

            def __call__(self, inputs, state, scope=None):
                with tf.variable_scope(scope or type(self).__name__):
                    w = tf.get_variable("w", [2, 3], initializer=start)
                    new = tf.tanh(tf.matmul(inputs, w) + state)
                    return new, new
        outputs, state = tf.nn.static_rnn(Old(), tf.unstack(_data(tf, np, 3, 5, 2), axis=1), initial_state=tf.zeros([3, 3]))
        return outputs, _flat(tf, state), _names(tf)

    def second_order():
        x = _data(tf, np, 2, 3, 2)
        outputs = tf.nn.static_rnn(cell.GRUCell(2, kernel_initializer=start), tf.unstack(x, axis=1), dtype=tf.float32)[0]
        dx = tf.gradients(outputs, x)[0]
        return _flat(tf, tf.gradients(tf.square(dx), x))

    def step(one, *shape):
        def case():
            with tf.variable_scope("model", initializer=start):
                cell_ = one()
                x = _data(tf, np, *shape)
                output, state = cell_(x, cell_.zero_state(shape[0], tf.float32))
                output, state = cell_(x * 0.5, state)
            return output, _flat(tf, state), _names(tf), _flat(tf, tf.gradients(output, [x] + tf.trainable_variables()))
        return case

    contrib = tf.contrib.rnn

    def highway(coupled):
        def case():
            with tf.variable_scope("model", initializer=start):
                output, state = contrib.HighwayWrapper(cell.GRUCell(2), coupled)(_data(tf, np, 3, 2), _data(tf, np, 3, 2))
            return output, _flat(tf, state), _names(tf), _flat(tf, tf.gradients(output, tf.trainable_variables()))
        return case

    yield "step conv1d lstm", step(lambda: contrib.Conv1DLSTMCell(input_shape=[4, 2], output_channels=3, kernel_shape=[3]), 2, 4, 2)
    yield "step conv2d lstm", step(lambda: contrib.Conv2DLSTMCell(input_shape=[4, 3, 2], output_channels=3, kernel_shape=[3, 3]), 2, 4, 3, 2)
    yield "step highway", highway(True)
    yield "step highway uncoupled", highway(False)
    yield "step conv lstm no bias", step(lambda: contrib.ConvLSTMCell(2, [4, 3, 2], 3, [2, 2], use_bias=False), 2, 4, 3, 2)
    yield "dynamic time_major", time_major
    yield "dynamic given state", given_state
    yield "dynamic unknown shapes", unknown_shapes
    yield "dynamic nested inputs", nested_inputs
    yield "bidirectional", bidirectional()
    yield "bidirectional lengths", bidirectional(sequence_length=[5, 1, 3], scope="both")
    yield "static bidirectional", static_bidirectional()
    yield "static bidirectional lengths", static_bidirectional(sequence_length=[5, 1, 3])
    yield "stack_bidirectional_dynamic_rnn", stacked
    yield "stack_bidirectional_rnn", stacked_static
    yield "raw_rnn", raw
    yield "raw_rnn loop state", raw_loop_state
    yield "one cell in two scopes", shared
    yield "two cells share a scope", reused
    yield "two cells in a scope", two_cells_in_a_scope
    yield "own cell", own_cell
    yield "own cell with __call__", own_cell_old_style
    yield "static second order", second_order
    yield "error no dtype", lambda: tf.nn.dynamic_rnn(cell.GRUCell(3), _data(tf, np, 3, 5, 2))[0]
    yield "error no cell", lambda: tf.nn.dynamic_rnn("cell", _data(tf, np, 3, 5, 2), dtype=tf.float32)[0]
    yield "error lengths", lambda: tf.nn.dynamic_rnn(cell.GRUCell(3), _data(tf, np, 3, 5, 2), dtype=tf.float32, sequence_length=[1, 2])[0]
    yield "error rank of lengths", lambda: tf.nn.dynamic_rnn(cell.GRUCell(3), _data(tf, np, 3, 5, 2), dtype=tf.float32, sequence_length=[[1]])[0]
    yield "error static inputs", lambda: tf.nn.static_rnn(cell.GRUCell(3), _data(tf, np, 3, 2), dtype=tf.float32)[0]
    yield "error empty inputs", lambda: tf.nn.static_rnn(cell.GRUCell(3), [], dtype=tf.float32)[0]
    yield "error no cells", lambda: cell.MultiRNNCell([])(tf.zeros([1, 1]), tf.zeros([1, 1]))
    yield "error keep_prob", lambda: cell.DropoutWrapper(cell.GRUCell(3), 1.5)(tf.zeros([1, 1]), tf.zeros([1, 3]))
    yield "error variable exists", lambda: [cell.GRUCell(3, name="g")(tf.zeros([1, 1]), tf.zeros([1, 3]), scope="s") for _ in range(2)]


def blocks(tf, np):
    """Whole cells as operations, and their gradients, which TensorFlow registers with tf.contrib.rnn."""
    _ = tf.contrib.rnn.LSTMBlockCell, tf.contrib.rnn.GRUBlockCell

    def lstm_inputs():
        shapes = dict(cs_prev=(2, 4), h_prev=(2, 4), w=(7, 16), wci=(4,), wcf=(4,), wco=(4,), b=(16,))
        return {name: _data(tf, np, *shape) * (0.3 + 0.1 * index) for index, (name, shape) in enumerate(shapes.items())}

    def step(**options):
        inputs = dict(lstm_inputs(), x=_data(tf, np, 2, 3))
        outputs = tf.raw_ops.LSTMBlockCell(**inputs, **options)
        return _flat(tf, [list(outputs), tf.gradients(outputs.h * 2.0 + outputs.cs, [inputs[name] for name in sorted(inputs)])])

    def sequence(**options):
        inputs = dict(lstm_inputs(), x=_data(tf, np, 5, 2, 3))
        length = tf.constant(4, tf.int64)
        outputs = tf.raw_ops.BlockLSTM(seq_len_max=length, **inputs, **options)
        grads = tf.gradients(outputs.h * 2.0 + outputs.cs, [inputs[name] for name in sorted(inputs)])
        return _flat(tf, [outputs.cs, outputs.h, outputs.i[:4], grads])

    def second_sequence():
        inputs = dict(lstm_inputs(), x=_data(tf, np, 5, 2, 3), seq_len_max=tf.constant(5, tf.int64))
        outputs = tf.raw_ops.BlockLSTMV2(use_peephole=True, cell_clip=0.4, **inputs)
        backward = tf.raw_ops.BlockLSTMGradV2(use_peephole=True, cs_grad=outputs.cs * 2.0, h_grad=outputs.h, **inputs, **outputs._asdict())
        return _flat(tf, [list(outputs), list(backward)])

    def gru():
        shapes = dict(x=(2, 3), h_prev=(2, 4), w_ru=(7, 8), w_c=(7, 4), b_ru=(8,), b_c=(4,))
        inputs = {name: _data(tf, np, *shape) * (0.3 + 0.1 * index) for index, (name, shape) in enumerate(shapes.items())}
        outputs = tf.raw_ops.GRUBlockCell(**inputs)
        return _flat(tf, [list(outputs), tf.gradients(outputs.h * outputs.h, [inputs[name] for name in sorted(inputs)])])

    for peephole in (False, True):
        yield "LSTMBlockCell %s" % peephole, lambda peephole=peephole: step(use_peephole=peephole, cell_clip=0.4, forget_bias=0.5)
        yield "BlockLSTM %s" % peephole, lambda peephole=peephole: sequence(use_peephole=peephole)
    yield "BlockLSTMV2", second_sequence
    yield "GRUBlockCell", gru


def cases(tf, np):
    """All cases."""
    for name, make in cells(tf, np):
        yield "step " + name, _step(tf, np, make, fused="block" in name)
    for name, make in cells(tf, np):
        if name in ("basic_rnn", "gru", "lstm", "lstm peepholes", "multi", "residual", "layer_norm_lstm", "output_projection", "dropout variational"):
            yield "dynamic " + name, _dynamic(tf, np, make)
            yield "dynamic lengths " + name, _dynamic(tf, np, make, sequence_length=[5, 0, 3])
            yield "static " + name, _static(tf, np, make)
            yield "static lengths " + name, _static(tf, np, make, sequence_length=[5, 1, 3])
    yield from unrolled(tf, np)
    yield from blocks(tf, np)
