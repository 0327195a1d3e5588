"""Seeds that are not given, after gradients of loops: they count the stacks, counters and sums that TensorFlow makes for these."""


def _loop(tf, body, start, turns=3, **options):
    return tf.while_loop(lambda i, *_: i < turns, body, start, **options)


def _last(tf, body, *start, **options):
    """The last variable of a loop that counts."""
    return _loop(tf, lambda i, *rest: [i + 1, *(lambda value: value if isinstance(value, (list, tuple)) else [value])(body(i, *rest))],
                 [0, *start], **options)[-1]


def _after(tf, build):
    """The second seed of a random op that is made after the gradients of what ``build`` gives: (ys, xs)."""
    tf.compat.v1.set_random_seed(1)
    ys, xs = build()
    if xs:
        tf.gradients(ys, xs)
    drawn = tf.random_uniform([1], name="drawn_after")
    return tf.identity(tf.constant(drawn.graph.get_operation_by_name("drawn_after/RandomUniform").get_attr("seed2")), name="output")


def _plain(tf):
    """{name: (shapes of placeholders, what a loop makes of them)}."""
    last, known, unknown = lambda body, *start, **options: _last(tf, body, *start, **options), [2, 3], [None, 3]
    return {
        "constant": ([known], lambda x: last(lambda i, a: a * 2.0, x)),
        "constant of outside": ([known], lambda x: (lambda c: last(lambda i, a: a * c, x))(tf.constant(2.0))),
        "added constant": ([known], lambda x: last(lambda i, a: a + 1.0, x)),
        "start": ([known], lambda x: last(lambda i, a: a * x, x)),
        "outside": ([known, known], lambda x, w: last(lambda i, a: a * w, x)),
        "square": ([known], lambda x: last(lambda i, a: tf.square(a), x)),
        "tanh": ([known], lambda x: last(lambda i, a: tf.tanh(a), x)),
        "tanh unknown": ([unknown], lambda x: last(lambda i, a: tf.tanh(a), x)),
        "product": ([unknown, [3, 3]], lambda x, w: last(lambda i, a: tf.tanh(tf.matmul(a, w)), x)),
        "sum unknown": ([unknown, [3]], lambda x, w: last(lambda i, a: a + w, x)),
        "elements unknown": ([unknown, [3]], lambda x, w: last(lambda i, a: a * w, x)),
        "scalar": ([[]], lambda x: last(lambda i, a: a * a, x)),
        "counter": ([[]], lambda x: last(lambda i, a: a * tf.cast(i, tf.float32), x)),
        "two variables": ([known], lambda x: last(lambda i, a, b: [a + 1.0, b * a], x, x)),
        "two results": ([known], lambda x: tf.add_n(_loop(tf, lambda i, a, b: (i + 1, a * b, b + 1.0), [0, x, x])[1:])),
        "unused result": ([known, known], lambda x, w: _loop(tf, lambda i, a, b: (i + 1, a * 2.0, b * a), [0, x, w])[1]),
        "unused result unknown": ([unknown, unknown], lambda x, w: _loop(tf, lambda i, a, b: (i + 1, a * 2.0, b * a), [0, x, w])[1]),
        "large unused result": ([[50, 30], [50, 30]], lambda x, w: _loop(tf, lambda i, a, b: (i + 1, a * 2.0, b * a), [0, x, w])[1]),
        "independent": ([known, known], lambda x, w: _loop(tf, lambda i, a, b: (i + 1, b * 2.0, tf.sin(b)), [0, x, w])[1]),
        "independent unknown": ([unknown, unknown], lambda x, w: _loop(tf, lambda i, a, b: (i + 1, b * 2.0, tf.sin(b)), [0, x, w])[1]),
        "passed on": ([known, known], lambda x, w: _loop(tf, lambda i, a, b: (i + 1, a * b, b), [0, x, w])[1]),
        "passed on and out": ([known, known], lambda x, w: tf.multiply(*_loop(tf, lambda i, a, b: (i + 1, a * b, b), [0, x, w])[1:])),
        "two loops": ([known], lambda x: last(lambda i, a: a * a, last(lambda i, a: a * a, x))),
        "one at a time": ([known], lambda x: last(lambda i, a: a * a, x, parallel_iterations=1)),
        "growing": ([[1, 3]], lambda x: last(lambda i, a: tf.concat([a, a], 0), x, shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])])),
        "nested": ([known], lambda x: last(lambda i, a: last(lambda j, b: b * b, a), x)),
        "nested, outside": ([known, known], lambda x, w: last(lambda i, a: last(lambda j, b: b * w, a), x)),
        "nested, outside unknown": ([unknown, [3]], lambda x, w: last(lambda i, a: last(lambda j, b: b * w, a), x)),
        "nested, outer": ([known], lambda x: last(lambda i, a: last(lambda j, b: b * a, a), x)),
        "nested, outer unknown": ([unknown], lambda x: last(lambda i, a: last(lambda j, b: b * a, a), x)),
        "nested beside": ([known], lambda x: last(lambda i, a: tf.sin(a) * last(lambda j, b: b * b, a * 2.0), x)),
        "nested twice": ([known], lambda x: last(lambda i, a: last(lambda j, b: last(lambda k, c: c * c, b), a), x))}


def _branches(tf):
    last, known, unknown = lambda body, *start: _last(tf, body, *start), [2, 3], [None, 3]

    def chosen(i, a, then=lambda a: a * a, other=tf.sin):
        return tf.cond(i > 1, lambda: then(a), lambda: other(a))

    def fed(then, x):
        return tf.cond(tf.placeholder(tf.bool, []), lambda: then(x), lambda: x)
    return {
        "branches": ([known], lambda x: last(chosen, x)),
        "branches unknown": ([unknown], lambda x: last(chosen, x)),
        "simple branches": ([known], lambda x: last(lambda i, a: chosen(i, a, lambda a: a * 2.0, lambda a: a), x)),
        "branches, outside": ([known, known], lambda x, w: last(lambda i, a: chosen(i, a, lambda a: a * w, lambda a: a), x)),
        "constants in branches": ([known], lambda x: last(lambda i, a: chosen(i, a, lambda a: tf.concat([a, a], 0)[:2]), x)),
        "fed branches": ([known], lambda x: last(lambda i, a: fed(lambda a: a * a, a), x)),
        "nested branches": ([known], lambda x: last(lambda i, a: chosen(i, a, lambda a: chosen(i - 1, a), lambda a: a * 2.0), x)),
        "branches twice": ([unknown], lambda x: last(lambda i, a: chosen(i - 1, chosen(i, a), lambda b: b * 3.0, lambda b: b), x)),
        "branches of two": ([known], lambda x: last(lambda i, a: tf.add_n(tf.cond(i > 1, lambda: (a * a, a), lambda: (tf.sin(a), a * 2.0))), x)),
        "loop in a branch": ([known], lambda x: fed(lambda x: last(lambda i, a: a * a, x), x)),
        "branches in a loop in a branch": ([known], lambda x: fed(lambda x: last(chosen, x), x)),
        "loop in a branch in a loop": ([known], lambda x: last(lambda i, a: chosen(i, a, lambda a: last(lambda j, b: b * b, a)), x)),
        "loop in a branch in a loop, outside": (
            [known, known], lambda x, w: last(lambda i, a: chosen(i, a, lambda a: last(lambda j, b: b * w, a)), x))}


def _arrays(tf):
    def array(x):
        return tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)
    return {
        "read": ([[3, 2]], lambda x: (lambda elements: _last(tf, lambda i, a: a * elements.read(i), tf.ones([2])))(array(x))),
        "read unknown": ([[None, 2]], lambda x: (lambda elements: _last(tf, lambda i, a: a * elements.read(i), tf.ones([2])))(array(x))),
        "write": ([[2, 3]], lambda x: _last(tf, lambda i, a, t: [a * 2.0, t.write(i, a)], x, tf.TensorArray(tf.float32, 3)).stack()),
        "write dynamic": ([[2, 3]], lambda x: _last(
            tf, lambda i, a, t: [a * 2.0, t.write(i, a)], x, tf.TensorArray(tf.float32, 0, dynamic_size=True)).concat()),
        "map": ([[4, 3]], lambda x: tf.map_fn(lambda a: a * a, x)),
        "map unknown": ([[None, 3]], lambda x: tf.map_fn(tf.tanh, x)),
        "map, outside": ([[4, 3], [3]], lambda x, w: tf.map_fn(lambda a: a * w, x)),
        "map of two": ([[4, 3], [4, 3]], lambda x, y: tf.map_fn(lambda both: both[0] * both[1], (x, y), dtype=tf.float32)),
        "map of map": ([[None, None, 2]], lambda x: tf.map_fn(lambda row: tf.map_fn(lambda a: a * a, row), x)),
        "scan": ([[4, 3]], lambda x: tf.scan(lambda total, a: total + a, x)),
        "scan from": ([[4, 3]], lambda x: tf.scan(lambda total, a: total * a, x, tf.zeros([3]))),
        "scan back": ([[None, 3]], lambda x: tf.scan(lambda total, a: total * a, x, reverse=True)),
        "foldl": ([[4, 3]], lambda x: tf.foldl(lambda total, a: total * a, x)),
        "foldr": ([[None, 3]], lambda x: tf.foldr(lambda total, a: total * a, x)),
        "foldr from": ([[4, 3]], lambda x: tf.foldr(lambda total, a: total * a, x, tf.ones([3])))}


def _operations(tf):
    """{name: function of one tensor}, which a loop sums up."""
    nn = tf.nn
    return {
        "sign": tf.sign, "norm": tf.norm, "softmax": nn.softmax, "sum": lambda x: tf.reduce_sum(x, 1), "mean": lambda x: tf.reduce_mean(x, 1),
        "max": lambda x: tf.reduce_max(x, 1), "product": lambda x: tf.reduce_prod(x, 1), "logsumexp": lambda x: tf.reduce_logsumexp(x, 1),
        "moments": lambda x: nn.moments(x, [0]), "reshape": lambda x: tf.reshape(x, [-1]), "squeeze": lambda x: tf.squeeze(tf.expand_dims(x, 1)),
        "transpose": lambda x: tf.transpose(x, [1, 0]), "pad": lambda x: tf.pad(x, [[0, 0], [1, 1]]), "tile": lambda x: tf.tile(x, [1, 2]),
        "slice": lambda x: tf.slice(x, [0, 0], [-1, 2]), "index": lambda x: x[:, 0], "split": lambda x: tf.split(x, 3, 1),
        "unstack": lambda x: tf.unstack(x, axis=1), "concat": lambda x: tf.concat([x, 2 * x, tf.zeros([1, 3])], 0),
        "stack": lambda x: tf.stack([x, x], 1), "gather of columns": lambda x: tf.gather(x, [0, 1], axis=1),
        "gather_nd": lambda x: tf.gather_nd(x, [[0, 1]]), "top_k": lambda x: nn.top_k(x, 2)[0], "clip": lambda x: tf.clip_by_value(x, -1.0, 1.0),
        "l2_normalize": lambda x: nn.l2_normalize(x, 1), "dropout": lambda x: nn.dropout(x, 0.5), "where": lambda x: tf.where(x > 0, x, x * x),
        "power": lambda x: x ** 2, "quotient": lambda x: 1.0 / x, "maximum": lambda x: tf.maximum(x, 0.0),
        "broadcast": lambda x: tf.broadcast_to(x[:1], [2, 4, 3]), "batches": lambda x: tf.matmul(x[None], tf.ones([1, 3, 2])),
        "equal batches": lambda x: tf.matmul(x[None], x[None], transpose_b=True),
        "conv1d": lambda x: nn.conv1d(x[None], tf.ones([2, 3, 4]), 1, "SAME"),
        "layer_norm": tf.contrib.layers.layer_norm,
        "cross entropy": lambda x: nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(x[:, 0], tf.int32), logits=x)}


def _summed(tf, function):
    def body(i, a, total):
        results = function(a)
        for each in results if isinstance(results, (list, tuple)) else [results]:
            total = total + tf.reduce_sum(each)
        return [a * 2.0, total]
    return lambda x: _last(tf, body, x, 0.0)


def _networks(tf, np):
    """{name: function that gives (ys, xs)}."""
    cells, seq2seq = tf.nn.rnn_cell, tf.contrib.seq2seq

    def recurrent(cell, extents=(2, 4), lengths=None, result=lambda outputs, state: outputs):
        def build():
            x = tf.placeholder(tf.float32, [*extents, 3])
            outputs = tf.nn.dynamic_rnn(cell(), x, lengths and tf.placeholder(tf.int32, [extents[0]]), dtype=tf.float32)
            return result(*outputs), tf.trainable_variables()
        return build

    def rows(shape, resource=False, take=lambda table, ids, i: tf.nn.embedding_lookup(table, ids[:, i])):
        def build():
            table, ids = tf.get_variable("e", [10, 3], use_resource=resource), tf.placeholder(tf.int32, shape)
            return _last(tf, lambda i, a: a + take(table, ids, i), tf.zeros([4, 3])), [table]
        return build

    def decoder():
        x, lengths, cell = tf.placeholder(tf.float32, [None, None, 5]), tf.placeholder(tf.int32, [None]), cells.GRUCell(4)
        start = cell.zero_state(tf.shape(x)[0], tf.float32)
        outputs, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(x, lengths), start, tf.layers.Dense(7)))
        return outputs.rnn_output, tf.trainable_variables()

    def attention():
        x, memory, lengths = (tf.placeholder(*each) for each in ((tf.float32, [None, None, 5]), (tf.float32, [None, None, 4]), (tf.int32, [None])))
        cell = seq2seq.AttentionWrapper(cells.GRUCell(4), seq2seq.BahdanauAttention(4, memory, lengths))
        start = cell.zero_state(tf.shape(x)[0], tf.float32)
        outputs, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(x, lengths), start))
        return outputs.rnn_output, tf.trainable_variables()

    def raw():
        cell, elements = cells.GRUCell(4), tf.TensorArray(tf.float32, 3).unstack(tf.placeholder(tf.float32, [3, 2, 5]))

        def step(time, output, state, loop_state):
            following = cell.zero_state(2, tf.float32) if output is None else state
            return tf.fill([2], time >= 3), tf.cond(time >= 3, lambda: tf.zeros([2, 5]), lambda: elements.read(time)), following, output, None
        return tf.nn.raw_rnn(cell, step)[0].stack(), tf.trainable_variables()

    def both():
        outputs, _ = tf.nn.bidirectional_dynamic_rnn(cells.GRUCell(5), cells.GRUCell(5), tf.placeholder(tf.float32, [2, 4, 3]), dtype=tf.float32)
        return tf.concat(outputs, -1), tf.trainable_variables()

    def dense():
        return tf.map_fn(lambda row: tf.layers.dense(row, 2), tf.placeholder(tf.float32, [4, 5, 3])), tf.trainable_variables()

    def resource():
        w = tf.get_variable("w", [3, 3], use_resource=True)
        return _last(tf, lambda i, a: tf.tanh(tf.matmul(a, w)), tf.placeholder(tf.float32, [2, 3])), [w]

    def generator():
        """Tokens that are drawn one after the other, and how likely each is: sequences that a GAN makes."""
        table, kernel, out = (tf.Variable(tf.zeros(shape)) for shape in ([10, 3], [3, 6], [6, 10]))
        written = [tf.TensorArray(kind, 5) for kind in (tf.float32, tf.int32)]

        def step(i, x, likely, tokens):
            p = tf.nn.softmax(tf.matmul(tf.tanh(tf.matmul(x, kernel)), out))
            token = tf.cast(tf.reshape(tf.multinomial(tf.log(p), 1), [4]), tf.int32)
            chosen = tf.reduce_sum(tf.one_hot(token, 10, 1.0, 0.0) * p, 1)
            return i + 1, tf.nn.embedding_lookup(table, token), likely.write(i, chosen), tokens.write(i, token)
        _, _, likely, _ = _loop(tf, step, [tf.constant(0), tf.zeros([4, 3]), *written], 5)
        return tf.log(likely.stack()), [table, kernel, out]
    return {
        "basic": recurrent(lambda: cells.BasicRNNCell(5)), "basic unknown": recurrent(lambda: cells.BasicRNNCell(5), (None, None)),
        "lstm": recurrent(lambda: cells.LSTMCell(5)), "gru": recurrent(lambda: cells.GRUCell(5)),
        "gru unknown": recurrent(lambda: cells.GRUCell(5), (None, None)),
        "lstm lengths": recurrent(lambda: cells.LSTMCell(5), lengths=True),
        "lstm lengths unknown": recurrent(lambda: cells.LSTMCell(5), (None, None), True),
        "state": recurrent(lambda: cells.GRUCell(5), result=lambda outputs, state: state),
        "last output": recurrent(lambda: cells.GRUCell(5), result=lambda outputs, state: outputs[:, -1]),
        "cells on cells": recurrent(lambda: cells.MultiRNNCell([cells.BasicLSTMCell(5), cells.GRUCell(4)])),
        "dropout of cells": recurrent(lambda: cells.DropoutWrapper(cells.GRUCell(5), 0.9, 0.8, 0.7)),
        "rows": rows([4, 5]), "rows of a resource": rows([4, 5], True),
        "rows unknown": rows([None], take=lambda table, ids, i: tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 0)),
        "decoder": decoder, "attention": attention, "raw_rnn": raw, "both ways": both, "map of dense": dense, "weights of a resource": resource,
        "generator": generator}


def _minimized(tf, build):
    def whole():
        tf.train.AdamOptimizer().minimize(tf.reduce_mean(build()[0]))
        return [], []
    return whole


def cases(tf, np):
    """What is differentiated, and the seed of what is made after it."""
    def of_placeholders(shapes, function):
        def build():
            xs = [tf.placeholder(tf.float32, shape) for shape in shapes]
            return function(*xs), xs
        return build
    builds = {name: of_placeholders(*case) for family in (_plain(tf), _branches(tf), _arrays(tf)) for name, case in family.items()}
    for name, function in _operations(tf).items():
        builds["operation " + name] = of_placeholders([[None, 3]], _summed(tf, function))
        builds["operation " + name + " known"] = of_placeholders([[2, 3]], _summed(tf, function))
    networks = _networks(tf, np)
    builds.update(networks)
    builds.update({name + " trained": _minimized(tf, build) for name, build in networks.items()})
    for name, build in builds.items():
        yield name, lambda build=build: _after(tf, build)
