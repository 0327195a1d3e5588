"""tf.contrib.rnn: cells with gates of their own, and cells that take a whole sequence."""


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
    contrib = tf.contrib.rnn
    return [
        ("coupled", lambda: contrib.CoupledInputForgetGateLSTMCell(3)),
        ("coupled peepholes", lambda: contrib.CoupledInputForgetGateLSTMCell(3, use_peepholes=True, num_proj=2, proj_clip=0.1)),
        ("coupled norm", lambda: contrib.CoupledInputForgetGateLSTMCell(3, layer_norm=True, forget_bias=0.5)),
        ("coupled shards", lambda: contrib.CoupledInputForgetGateLSTMCell(3, num_unit_shards=2, num_proj=4, num_proj_shards=2)),
        ("coupled one tensor", lambda: contrib.CoupledInputForgetGateLSTMCell(3, num_proj=2, state_is_tuple=False)),
        ("glstm", lambda: contrib.GLSTMCell(4, number_of_groups=2)),
        ("glstm projection", lambda: contrib.GLSTMCell(4, num_proj=2, number_of_groups=2, forget_bias=0.5)),
        ("intersection", lambda: contrib.IntersectionRNNCell(2)),
        ("intersection projection", lambda: contrib.IntersectionRNNCell(3, num_in_proj=3, y_activation=tf.tanh)),
        ("sru", lambda: contrib.SRUCell(3)),
        ("grid", lambda: contrib.GridLSTMCell(2, feature_size=2, frequency_skip=1, num_frequency_blocks=[1])),
        ("grid peepholes", lambda: contrib.GridLSTMCell(2, use_peepholes=True, cell_clip=0.3, feature_size=1, frequency_skip=1,
                                                        num_frequency_blocks=[2], forget_bias=0.5)),
        ("grid shared", lambda: contrib.GridLSTMCell(2, use_peepholes=True, share_time_frequency_weights=True, feature_size=1, frequency_skip=1,
                                                     num_frequency_blocks=[2], num_unit_shards=2)),
        ("grid coupled", lambda: contrib.GridLSTMCell(2, use_peepholes=True, couple_input_forget_gates=True, feature_size=1, frequency_skip=1,
                                                      num_frequency_blocks=[2], state_is_tuple=False)),
        ("grid blocks", lambda: contrib.GridLSTMCell(2, feature_size=1, frequency_skip=1, num_frequency_blocks=[1, 2],
                                                     start_freqindex_list=[0, 0], end_freqindex_list=[1, 2])),
        ("grid wrong blocks", lambda: contrib.GridLSTMCell(2, feature_size=1, frequency_skip=1, num_frequency_blocks=[3])),
        ("grid both ways", lambda: contrib.BidirectionalGridLSTMCell(2, use_peepholes=True, feature_size=1, frequency_skip=1,
                                                                     num_frequency_blocks=[2])),
        ("grid both ways offset", lambda: contrib.BidirectionalGridLSTMCell(2, feature_size=1, frequency_skip=1, num_frequency_blocks=[2],
                                                                            backward_slice_offset=1)),
        ("time and frequency", lambda: contrib.TimeFreqLSTMCell(2, feature_size=2, frequency_skip=1)),
        ("time and frequency peepholes", lambda: contrib.TimeFreqLSTMCell(2, use_peepholes=True, cell_clip=0.2, feature_size=2, num_unit_shards=2)),
        ("cudnn lstm", lambda: tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(3)),
        ("cudnn gru", lambda: tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(3)),
    ]


def _step(tf, np, make):
    def case():
        with tf.variable_scope("model", initializer=_initializer(tf, np)):
            cell = make()
            x = _data(tf, np, 4, 2)
            state = cell.zero_state(4, tf.float32)
            output, state = cell(x, state)
            output, state = cell(x * 0.5, state)
        loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in [output] + _leaves(state)])
        trained = tf.trainable_variables()
        return {"output": _flat(tf, output), "state": _flat(tf, state), "names": _names(tf),
                "sizes": [str(cell.state_size), str(cell.output_size)],
                "gradients": _flat(tf, tf.gradients(loss, [x] + trained))}
    return case


def fused(tf, np):
    """Cells that take a whole sequence."""
    contrib = tf.contrib.rnn

    def case(call):
        def build():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                x = _data(tf, np, 5, 3, 2)
                outputs, state = call(x)
            tensors = _leaves(outputs) + _leaves(state)
            loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in tensors])
            return {"tensors": _flat(tf, tensors), "names": _names(tf), "gradients": _flat(tf, tf.gradients(loss, [x] + tf.trainable_variables()))}
        return build

    lengths = [5, 2, 0]
    yield "fused lstm", case(lambda x: contrib.LSTMBlockFusedCell(3)(x, dtype=tf.float32))
    yield "fused lstm lengths", case(lambda x: contrib.LSTMBlockFusedCell(3, forget_bias=0.5)(x, dtype=tf.float32, sequence_length=lengths))
    yield "fused lstm state", case(lambda x: contrib.LSTMBlockFusedCell(3, use_peephole=True)(
        x, initial_state=(_data(tf, np, 3, 3), _data(tf, np, 3, 3)), sequence_length=lengths))
    yield "fused lstm list", case(lambda x: contrib.LSTMBlockFusedCell(3, cell_clip=0.3)(tf.unstack(x), dtype=tf.float32))
    yield "fused lstm without a type", case(lambda x: contrib.LSTMBlockFusedCell(3)(x))
    for dynamic in (False, True):
        yield "fused adaptor {}".format(dynamic), case(
            lambda x, d=dynamic: contrib.FusedRNNCellAdaptor(tf.nn.rnn_cell.BasicRNNCell(3), use_dynamic_rnn=d)(
                x, dtype=tf.float32, sequence_length=lengths))
        yield "fused adaptor list {}".format(dynamic), case(
            lambda x, d=dynamic: contrib.FusedRNNCellAdaptor(tf.nn.rnn_cell.BasicRNNCell(3), use_dynamic_rnn=d)(tf.unstack(x), dtype=tf.float32))
    yield "fused reversed", case(lambda x: contrib.TimeReversedFusedRNN(contrib.LSTMBlockFusedCell(3))(x, dtype=tf.float32))
    yield "fused reversed lengths", case(
        lambda x: contrib.TimeReversedFusedRNN(contrib.FusedRNNCellAdaptor(tf.nn.rnn_cell.GRUCell(3), True))(
            x, dtype=tf.float32, sequence_length=lengths))

    def phased(peepholes):
        def build():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                cell = contrib.PhasedLSTMCell(3, use_peepholes=peepholes, ratio_on=0.6, period_init_min=2.0, period_init_max=2.0)
                x = _data(tf, np, 4, 2)
                state = cell.zero_state(4, tf.float32)
                output, state = cell((tf.constant([[0.1], [0.4], [1.1], [7.9]]), x), state)
            variables = tf.global_variables()
            assign = [v.assign(tf.zeros([3])) for v in variables if v.op.name.endswith("phase")]
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(assign)
                values = sess.run([output, state] + list(tf.gradients(output, tf.trainable_variables()[:2])))
            return [_names(tf)] + [tf.constant(value, name="value") for value in _leaves(values)]
        return build
    def independent(make):  # the weights of the state start at random: they are set
        def build():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                cell = make()
                x = _data(tf, np, 4, 2)
                output, state = cell(x, cell.zero_state(4, tf.float32))
                output, state = cell(x * 0.5, state)
            assign = [v.assign(_data(tf, np, *v.shape.as_list())) for v in tf.global_variables() if v.op.name.endswith("_u")]
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(assign)
                values = sess.run([output, state] + list(tf.gradients(output, tf.trainable_variables())))
            return [_names(tf)] + [tf.constant(value, name="value") for value in _leaves(values)]
        return build

    yield "indy gru", independent(lambda: contrib.IndyGRUCell(3, kernel_initializer=_initializer(tf, np)))
    yield "indy lstm", independent(lambda: contrib.IndyLSTMCell(3, forget_bias=0.5, bias_initializer=tf.constant_initializer(0.2)))
    yield "phased", phased(False)
    yield "phased peepholes", phased(True)
    yield "glstm groups", lambda: contrib.GLSTMCell(3, number_of_groups=2)
    yield "intersection sizes", case(lambda x: contrib.IntersectionRNNCell(3)(x[0], tf.zeros([3, 3])))


def cases(tf, np):
    """All cases."""
    for name, make in cells(tf, np):
        yield "step " + name, _step(tf, np, make)
    yield from fused(tf, np)
