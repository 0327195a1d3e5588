"""tf.contrib.grid_rnn: one step, unrolled steps, sizes, names of variables, gradients."""


def _initializer(tf, np):
    """Different numbers in every place, the same under both systems."""
    def make(shape, dtype=None, partition_info=None, **_):
        size = int(np.prod(shape)) if len(shape) else 1
        return tf.constant(np.sin(np.arange(size) * 1.3 + len(shape)).reshape(shape) * 0.6, dtype=dtype or tf.float32)
    return make


def _leaves(structure):
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in _leaves(item)]
    return [structure]


def _data(tf, np, *shape):
    return tf.constant(np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape), tf.float32)


def _all(tf, tensors, weights):
    loss = tf.add_n([tf.reduce_sum(tf.square(t)) for t in tensors])
    gradients = [g for g in tf.gradients(loss, weights) if g is not None]
    return {"tensors": [tf.identity(t, name="flat") for t in tensors], "names": tf.constant([v.name for v in tf.global_variables()], name="names"),
            "gradients": [tf.identity(g, name="flat") for g in gradients]}


def cases(tf, np):
    """Each kind of cell, one step and two."""
    grid = tf.contrib.grid_rnn

    def step(make, width=4, state=None):
        def build():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                cell = make()
                x = _data(tf, np, 3, width)
                output, after = cell(x, cell.zero_state(3, tf.float32) if state is None else state())
            out = _all(tf, _leaves(output) + _leaves(after), [x] + tf.trainable_variables())
            out["sizes"] = [str(cell.state_size), str(cell.output_size)]
            return out
        return build

    def unrolled(make, run):
        def build():
            with tf.variable_scope("model", initializer=_initializer(tf, np)):
                outputs, after = run(make(), _data(tf, np, 4, 3, 2))
            return _all(tf, _leaves(outputs) + _leaves(after), tf.trainable_variables())
        return build

    kinds = [
        ("1 basic", lambda **k: grid.Grid1BasicRNNCell(2, **k)),
        ("1 basic lstm", lambda **k: grid.Grid1BasicLSTMCell(2, forget_bias=0.5, **k)),
        ("1 lstm", lambda **k: grid.Grid1LSTMCell(2, use_peepholes=True, **k)),
        ("2 basic", lambda **k: grid.Grid2BasicRNNCell(2, **k)),
        ("2 basic tied", lambda **k: grid.Grid2BasicRNNCell(2, tied=True, **k)),
        ("2 basic relu", lambda **k: grid.Grid2BasicRNNCell(2, non_recurrent_fn=tf.nn.relu, **k)),
        ("2 basic lstm", lambda **k: grid.Grid2BasicLSTMCell(2, **k)),
        ("2 basic lstm tied relu", lambda **k: grid.Grid2BasicLSTMCell(2, tied=True, non_recurrent_fn=tf.nn.relu, **k)),
        ("2 lstm", lambda **k: grid.Grid2LSTMCell(2, use_peepholes=True, **k)),
        ("2 lstm tied", lambda **k: grid.Grid2LSTMCell(2, tied=True, forget_bias=0.0, **k)),
        ("2 lstm tanh", lambda **k: grid.Grid2LSTMCell(2, non_recurrent_fn=tf.tanh, **k)),
        ("3 lstm", lambda **k: grid.Grid3LSTMCell(2, **k)),
        ("3 lstm relu", lambda **k: grid.Grid3LSTMCell(2, tied=True, non_recurrent_fn=tf.nn.relu, use_peepholes=True, **k)),
        ("2 gru", lambda **k: grid.Grid2GRUCell(2, **k)),
        ("2 gru tied", lambda **k: grid.Grid2GRUCell(2, tied=True, **k)),
        ("two inputs", lambda **k: grid.GridRNNCell(2, 2, input_dims=[0, 1], output_dims=(1, 0), cell_fn=tf.nn.rnn_cell.GRUCell, **k)),
        ("priority", lambda **k: grid.GridRNNCell(2, 3, input_dims=2, output_dims=[0, 2], priority_dims=[1, 2], **k)),
        ("not recurrent", lambda **k: grid.GridRNNCell(2, 1, input_dims=0, output_dims=0, non_recurrent_dims=0, **k)),
    ]
    for name, make in kinds:
        yield name, step(make)
        yield name + " dynamic", unrolled(make, lambda cell, x: tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True))
    for name, make in kinds[1:4] + kinds[11:12] + kinds[13:14]:
        yield name + " together", step(lambda make=make: make(output_is_tuple=False))
    yield "lstm one state", step(lambda: grid.GridRNNCell(2, 2, 0, 0, state_is_tuple=False))
    yield "static", unrolled(kinds[8][1], lambda cell, x: tf.nn.static_rnn(cell, tf.unstack(x), dtype=tf.float32))
    yield "without initializer", lambda: tf.shape(grid.Grid2LSTMCell(2)(_data(tf, np, 3, 2), grid.Grid2LSTMCell(2).zero_state(3, tf.float32))[0][0])
    yield "no dims", lambda: grid.GridRNNCell(2, 0)
    yield "wrong dims", lambda: grid.GridRNNCell(2, 2, input_dims=[2])
    yield "no cell", lambda: grid.GridRNNCell(2, cell_fn=lambda n: n)
    yield "short state", step(kinds[8][1], state=lambda: ((tf.zeros([3, 2]), tf.zeros([3, 2])),))
    yield "odd input", step(kinds[15][1], width=3)
