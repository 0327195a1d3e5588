"""Conditionals, loops, TensorArrays and functions over sequences: values, gradients of both orders, errors.

A result of a conditional or a loop is an Identity here and a Merge or an Exit in TensorFlow, so results go through an Identity of the case's own.
"""


def _flat(tf, *tensors):
    return [None if t is None else tf.identity(t, name="flat") for t in tensors]


def _both_orders(tf, y, x):
    """y, dy/dx, and the gradient of the sum of its squares."""
    dx = tf.gradients(y, x)[0]
    return _flat(tf, y, dx, tf.gradients(tf.square(dx), x)[0])


def _first_order(tf, y, *xs):
    return _flat(tf, y, *tf.gradients(y, list(xs)))


def conditionals(tf, np):
    """tf.cond and tf.case."""
    def value(number, dtype=None):
        return tf.placeholder_with_default(tf.constant(number, dtype), None if isinstance(number, list) else [])

    for yes in (True, False):
        p = "true" if yes else "false"
        yield "cond " + p, lambda yes=yes: _flat(tf, tf.cond(value(yes), lambda: tf.constant(1.0), lambda: tf.constant(2.0)))
        yield "cond constant " + p, lambda yes=yes: _flat(tf, tf.cond(tf.constant(yes), lambda: tf.constant(1.0), lambda: tf.constant(2.0)))
        yield "cond static shapes " + p, lambda yes=yes: _flat(tf, tf.cond(value(yes), lambda: tf.ones([2, 3]), lambda: tf.ones([2, 5])))
        yield "cond ranks " + p, lambda yes=yes: _flat(tf, tf.cond(value(yes), lambda: tf.ones([2, 3]), lambda: tf.ones([2])))

        def gradient(yes=yes):
            x = tf.constant([1.0, 2.0])
            return _both_orders(tf, tf.cond(value(yes), lambda: x * x * x, lambda: tf.sin(x)), x)

        def one_side(yes=yes):
            x, z = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
            return _first_order(tf, tf.cond(value(yes), lambda: x * z, lambda: z * z), x, z)

        def nested(yes=yes):
            x = tf.constant(3.0)
            y = tf.cond(value(yes), lambda: tf.cond(x > 2.0, lambda: x * x, lambda: x), lambda: tf.cond(x > 5.0, lambda: -x, lambda: x * x * x))
            return _both_orders(tf, y, x)

        def structure(yes=yes):
            a, (b, c) = tf.cond(value(yes), lambda: [tf.constant(1), (tf.constant("x"), tf.constant(2.0))],
                                lambda: [tf.constant(2), (tf.constant("y"), tf.constant(3.0))])
            return _flat(tf, a, b, c)

        def dictionary(yes=yes):
            result = tf.cond(value(yes), lambda: {"a": tf.constant(1), "b": tf.constant(2)}, lambda: {"a": tf.constant(3), "b": tf.constant(4)})
            return _flat(tf, result["a"], result["b"])

        def variables(yes=yes):
            v, w = tf.Variable(1.0), tf.Variable(10.0)
            done = tf.cond(value(yes), lambda: tf.assign_add(v, 1.0), lambda: tf.assign_add(w, 1.0))
            with tf.control_dependencies([done]):
                return _flat(tf, done, v.read_value(), w.read_value())

        def variable_gradient(yes=yes):
            v = tf.get_variable("v", initializer=[2.0, 3.0])
            y = tf.cond(value(yes), lambda: v * v, lambda: 3.0 * v)
            return _flat(tf, y, tf.gradients(y, v)[0])

        def resource_gradient(yes=yes):
            v = tf.get_variable("v", initializer=[2.0, 3.0], use_resource=True)
            y = tf.cond(value(yes), lambda: v * v, lambda: 3.0 * v)
            return _flat(tf, y, tf.gradients(y, v)[0])

        def gather_gradient(yes=yes):
            table = tf.get_variable("table", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
            y = tf.cond(value(yes), lambda: tf.gather(table, [0, 2]), lambda: tf.gather(table, [1, 1]))
            return _flat(tf, y, tf.convert_to_tensor(tf.gradients(y, table)[0]))

        yield "cond gradient " + p, gradient
        yield "cond gradient of one side " + p, one_side
        yield "cond nested " + p, nested
        yield "cond structure " + p, structure
        yield "cond dict " + p, dictionary
        yield "cond variables " + p, variables
        yield "cond variable gradient " + p, variable_gradient
        yield "cond resource variable gradient " + p, resource_gradient
        yield "cond gather gradient " + p, gather_gradient

    def made_inside():
        return _flat(tf, tf.cond(value(True), lambda: tf.get_variable("v", initializer=2.0) * 1.0, lambda: tf.constant(1.0)))

    yield "cond strict", lambda: [_flat(tf, *tf.cond(value(True), lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True))]
    yield "cond not strict", lambda: _flat(tf, tf.cond(value(True), lambda: [tf.constant(1)], lambda: [tf.constant(2)]))
    yield "cond fn1", lambda: _flat(tf, tf.cond(value(True), fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2)))
    yield "cond python values", lambda: _flat(tf, tf.cond(value(True), lambda: 1, lambda: 2))
    yield "cond error bool", lambda: tf.cond(True, lambda: tf.constant(1), lambda: tf.constant(2))
    yield "cond error none", lambda: tf.cond(value(True), lambda: None, lambda: tf.constant(2))
    yield "cond error structure", lambda: tf.cond(value(True), lambda: [tf.constant(1), tf.constant(1)], lambda: tf.constant(2))
    yield "cond error types", lambda: tf.cond(value(True), lambda: tf.constant(1), lambda: tf.constant(2.0))
    yield "cond error callable", lambda: tf.cond(value(True), tf.constant(1), lambda: tf.constant(2))
    yield "cond variable inside", made_inside

    for v in (-1, 0, 1, 5):
        def choose(v=v, **options):
            x = value(v)
            return tf.case([(x < 0, lambda: tf.constant(-1)), (tf.equal(x, 0), lambda: tf.constant(0)), (x > 3, lambda: tf.constant(3))],
                           **options)
        yield "case %d" % v, lambda choose=choose: _flat(tf, choose(default=lambda: tf.constant(9)))
        yield "case exclusive %d" % v, lambda choose=choose: _flat(tf, choose(default=lambda: tf.constant(9), exclusive=True))
        yield "case no default %d" % v, lambda choose=choose: _flat(tf, choose())
    yield "case not exclusive", lambda: _flat(tf, tf.case([(value(True), lambda: tf.constant(1)), (value(True), lambda: tf.constant(2))],
                                                          default=lambda: tf.constant(3), exclusive=True))
    yield "case first", lambda: _flat(tf, tf.case([(value(True), lambda: tf.constant(1)), (value(True), lambda: tf.constant(2))],
                                                  default=lambda: tf.constant(3)))
    yield "case gradient", lambda: _first_order(tf, *(lambda x: (tf.case([(x > 3.0, lambda: x * x)], default=lambda: x * 3.0), x))(tf.constant(2.0)))
    yield "case error pairs", lambda: tf.case([value(True)], default=lambda: tf.constant(1))


def loops(tf, np):
    """tf.while_loop."""
    def count(limit, **options):
        return lambda: _flat(tf, tf.while_loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)], **options))

    for limit in (0, 1, 7):
        yield "while %d" % limit, count(limit)
    yield "while maximum_iterations", count(100, maximum_iterations=5)
    yield "while parallel", count(9, parallel_iterations=1, back_prop=False, swap_memory=True)
    yield "while structure", lambda: _flat(tf, *(lambda r: [r[0], r[1]["a"], r[1]["b"][0]])(tf.while_loop(
        lambda i, d: i < 4, lambda i, d: (i + 1, {"a": d["a"] * 2.0, "b": (d["b"][0] + d["a"],)}),
        [tf.constant(0), {"a": tf.constant(1.0), "b": (tf.constant(0.0),)}])))
    yield "while same structure", lambda: [_flat(tf, *tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], return_same_structure=True))]
    yield "while invariants", lambda: _flat(tf, tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), tf.ones([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])[1])
    yield "while error invariants", lambda: tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), tf.ones([1, 2])])
    yield "while error structure", lambda: tf.while_loop(lambda i, j: i < 3, lambda i, j: i, [tf.constant(0), tf.constant(0)])
    yield "while error callable", lambda: tf.while_loop(3, lambda i: i, [tf.constant(0)])
    yield "while error no variables", lambda: tf.while_loop(lambda: True, lambda: None, [])
    yield "while error cond", lambda: tf.while_loop(lambda i: i, lambda i: i + 1, [tf.constant(0)])

    def power(steps):
        def case():
            x = tf.constant([1.5, -2.0])
            y = tf.while_loop(lambda i, t: i < steps, lambda i, t: (i + 1, t * x), [tf.constant(0), tf.ones([2])])[1]
            return _first_order(tf, y, x)
        return case

    def through_state(body):
        def case():
            x = tf.constant([0.5, -0.3])
            y = tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, body(i, t)), [tf.constant(0), x])[1]
            return _first_order(tf, y, x)
        return case

    for steps in (0, 1, 5):
        yield "while gradient %d" % steps, power(steps)
    yield "while gradient state", through_state(lambda i, t: tf.sin(t) * tf.cast(i + 1, tf.float32))
    yield "while gradient matmul", through_state(lambda i, t: tf.squeeze(tf.matmul(tf.constant([[0.5, 1.0], [-1.0, 0.3]]), tf.expand_dims(t, 1)), 1))
    yield "while gradient cond", through_state(lambda i, t: tf.cond(tf.equal(i % 2, 0), lambda: t * t, lambda: tf.exp(t)))
    yield "while gradient nested", through_state(
        lambda i, t: tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, tf.sin(u) + t), [tf.constant(0), t])[1])

    def captured():
        x, w = tf.constant([[1.0, 2.0]]), tf.get_variable("w", initializer=np.array([[0.5, 0.1], [-0.2, 0.4]], np.float32))
        y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.tanh(tf.matmul(t, w))), [tf.constant(0), x])[1]
        return _first_order(tf, y, x, w)

    def two_variables():
        x, z = tf.constant(1.5), tf.constant(0.5)
        _, a, b = tf.while_loop(lambda i, a, b: i < 4, lambda i, a, b: (i + 1, a * b + x, b + z), [tf.constant(0), x, z])
        return _first_order(tf, a * b, x, z)

    def stop():
        x = tf.constant(1.5)
        y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * tf.stop_gradient(t) + x), [tf.constant(0), x])[1]
        return _first_order(tf, y, x)

    def loop_in_cond():
        x = tf.constant(1.5)
        y = tf.cond(x > 1.0, lambda: tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * x), [tf.constant(0), x])[1], lambda: x)
        return _first_order(tf, y, x)

    def gather_in_loop():
        table = tf.get_variable("table", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.gather(table, i) * t), [tf.constant(0), tf.ones([2])])[1]
        return _flat(tf, y, tf.convert_to_tensor(tf.gradients(y, table)[0]))

    def sparse_variable():
        sparse = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        _, end = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)),
                               [tf.constant(0), sparse])
        return _flat(tf, end.indices, end.values, end.dense_shape)

    def side_effects():
        v = tf.Variable(0)

        def body(i):
            with tf.control_dependencies([tf.assign_add(v, i)]):
                return i + 1
        end = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
        with tf.control_dependencies([end]):
            return _flat(tf, end, v.read_value())

    yield "while gradient captured", captured
    yield "while gradient two", two_variables
    yield "while gradient stop", stop
    yield "while gradient in cond", loop_in_cond
    yield "while gradient gather", gather_in_loop
    def no_back_prop():
        x = tf.constant(1.5)
        y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * x), [tf.constant(0), x], back_prop=False)[1]
        return _flat(tf, y, *tf.gradients(y, x))

    yield "while no back_prop", no_back_prop
    yield "while sparse", sparse_variable
    yield "while side effects", side_effects


def arrays(tf, np):
    """tf.TensorArray."""
    new = tf.TensorArray
    data = np.arange(6, dtype=np.float32).reshape(3, 2)

    def written(array, *pairs):
        for index, value in pairs:
            array = array.write(index, value)
        return array

    def after(array, read, then):
        with tf.control_dependencies([read(array)]):
            return then(array)

    def unknown(value):
        return tf.placeholder_with_default(tf.constant(value), None)

    yield "array unstack stack", lambda: new(tf.float32, 3).unstack(data).stack()
    yield "array unstack read", lambda: new(tf.float32, 3).unstack(data).read(1)
    yield "array unstack gather", lambda: new(tf.float32, 3).unstack(data).gather([2, 0])
    yield "array unstack concat", lambda: new(tf.float32, 3).unstack(data).concat()
    yield "array names", lambda: new(tf.float32, 3, name="a").unstack(data, name="u").stack(name="s")
    yield "array names 2", lambda: new(tf.float32, 3, name="a", infer_shape=False).split(tf.constant(data), [1, 2, 0], name="p").concat(name="c")
    yield "array scatter", lambda: new(tf.float32, 4).scatter([3, 1, 0], data).read(3)
    yield "array scatter unwritten", lambda: new(tf.float32, 4).scatter([3, 1, 0], data).stack()
    yield "array split", lambda: new(tf.float32, 2, infer_shape=False).split(data, [1, 2]).read(1)
    yield "array split even", lambda: new(tf.float32, 3).split(data, [1, 1, 1]).stack()
    yield "array size", lambda: new(tf.float32, 3).unstack(data).size()
    yield "array dynamic", lambda: written(new(tf.float32, 0, dynamic_size=True), (0, 1.0), (3, 2.0)).stack()
    yield "array dynamic size", lambda: written(new(tf.float32, 0, dynamic_size=True), (0, 1.0), (3, 2.0)).size()
    yield "array dynamic unstack", lambda: new(tf.float32, 0, dynamic_size=True).unstack(data).stack()
    yield "array identity", lambda: new(tf.float32, 3).unstack(data).identity().stack()
    yield "array strings", lambda: new(tf.string, 2).unstack(["a", "bc"]).stack()
    yield "array element_shape", lambda: new(tf.float32, 2, element_shape=[None, 2]).write(0, unknown([[1.0, 2.0]])).read(0)
    yield "array no infer_shape", lambda: new(tf.float32, 3, infer_shape=False).unstack(data).stack()
    yield "array unwritten", lambda: new(tf.int32, 3, element_shape=[2]).stack()
    yield "array empty", lambda: new(tf.float32, 0, element_shape=[2]).stack()
    yield "array twice", lambda: after(new(tf.float32, 3, clear_after_read=False).unstack(data), lambda a: a.read(0), lambda a: a.read(0))
    yield "array close", lambda: after(new(tf.float32, 3).unstack(data), lambda a: a.close(), lambda a: tf.constant(1))

    yield "array error read twice", lambda: after(new(tf.float32, 3).unstack(data), lambda a: a.read(0), lambda a: a.read(0))
    yield "array error closed", lambda: after(new(tf.float32, 3).unstack(data), lambda a: a.close(), lambda a: a.read(0))
    yield "array error index", lambda: new(tf.float32, 3).unstack(data).read(3)
    yield "array error write index", lambda: new(tf.float32, 3).write(3, 1.0).flow
    yield "array error write twice", lambda: written(new(tf.float32, 3), (0, 1.0), (0, 2.0)).flow
    yield "array error written after read", lambda: after(
        new(tf.float32, 3).unstack(data), lambda a: a.read(0), lambda a: a.write(0, [1.0, 1.0]).flow)
    yield "array error type", lambda: new(tf.float32, 3).write(0, tf.constant(1)).flow
    yield "array error shapes", lambda: written(new(tf.float32, 3), (0, [1.0]), (1, [1.0, 2.0])).stack()
    yield "array error shapes at run time", lambda: written(new(tf.float32, 3), (0, unknown([1.0])), (1, unknown([1.0, 2.0]))).stack()
    yield "array error uneven", lambda: written(new(tf.float32, 2, infer_shape=False), (0, [1.0]), (1, [1.0, 2.0])).stack()
    yield "array error unwritten", lambda: new(tf.float32, 3, infer_shape=False).write(0, 1.0).read(1)
    yield "array error empty", lambda: new(tf.float32, 0).stack()
    yield "array error scatter", lambda: new(tf.float32, 3).scatter([0, 1], data).flow
    yield "array error lengths", lambda: new(tf.float32, 2, infer_shape=False).split(data, [1, 1]).flow
    yield "array error scalars", lambda: written(new(tf.float32, 2), (0, 1.0), (1, 2.0)).concat()
    yield "array error handle and size", lambda: new(tf.float32, 2, handle=new(tf.float32, 2).handle).flow
    yield "array error no size", lambda: new(tf.float32).flow

    def gradient(function):
        def case():
            x = tf.constant(data)
            return _first_order(tf, function(x), x)
        return case

    def in_loop(x):
        source = new(tf.float32, 3).unstack(x)
        _, total, result = tf.while_loop(
            lambda i, t, a: i < 3, lambda i, t, a: (i + 1, t * source.read(i) + 1.0, a.write(i, t * 2.0)),
            [tf.constant(0), tf.ones([2]), new(tf.float32, 3)])
        return tf.reduce_sum(result.stack() ** 2) + tf.reduce_sum(total)

    def in_cond(x):
        array = new(tf.float32, 3).unstack(x)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: array.read(1) ** 2, lambda: array.read(0))

    def own_values(x):
        """Each element is computed from the two before it."""
        array = written(new(tf.float32, 6, clear_after_read=False), (0, x[0]), (1, x[1]))
        _, array = tf.while_loop(lambda i, a: i < 6, lambda i, a: (i + 1, a.write(i, a.read(i - 1) * a.read(i - 2) + x[2])), [tf.constant(2), array])
        return array.stack()

    def out_of_cond(x):
        array = new(tf.float32, 2)
        array = tf.cond(tf.reduce_sum(x) > 0.0, lambda: array.write(0, x * x), lambda: array.write(0, x))
        return array.write(1, x).stack()

    def made_in_loop(x):
        return tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.reduce_mean(new(tf.float32, 3).unstack(t).stack() ** 2) * x),
                             [tf.constant(0), x])[1]

    yield "array gradient out of cond", gradient(out_of_cond)
    yield "array gradient made in a loop", gradient(made_in_loop)
    yield "array gradient read", gradient(lambda x: new(tf.float32, 3).unstack(x).read(1) ** 2)
    yield "array gradient stack", gradient(lambda x: new(tf.float32, 3).unstack(x).stack() ** 2)
    yield "array gradient concat", gradient(lambda x: new(tf.float32, 3).unstack(x).concat() ** 2)
    yield "array gradient gather", gradient(lambda x: new(tf.float32, 3).unstack(x).gather([2, 0]) ** 2)
    yield "array gradient split", gradient(lambda x: new(tf.float32, 2, infer_shape=False).split(x, [1, 2]).read(1) ** 2)
    yield "array gradient write", gradient(lambda x: new(tf.float32, 2).write(0, x * x).write(1, x).stack())
    yield "array gradient twice", gradient(lambda x: (lambda a: a.read(0) ** 2 + a.read(0) * a.read(1))(
        new(tf.float32, 3, clear_after_read=False).unstack(x)))
    yield "array gradient loop", gradient(in_loop)
    yield "array gradient cond", gradient(in_cond)
    yield "array gradient of its own values", gradient(own_values)


def sequences(tf, np):
    """map_fn, foldl, foldr, scan."""
    data = np.arange(6, dtype=np.float32).reshape(3, 2) * 0.5 + 0.25
    ints = np.array([1, 2, 3, 4], np.int32)

    def gradient(function):
        def case():
            x, w = tf.constant(data), tf.constant([0.5, -1.5])
            return _first_order(tf, function(x, w), x, w)
        return case

    yield "map", lambda: tf.map_fn(lambda x: x * x, data)
    yield "map ints", lambda: tf.map_fn(lambda x: x * x - 1, ints)
    yield "map dtype", lambda: tf.map_fn(lambda x: tf.cast(x, tf.int32), data, dtype=tf.int32)
    yield "map pair", lambda: tf.map_fn(lambda ab: ab[0] * ab[1], (data, data), dtype=tf.float32)
    yield "map to pair", lambda: tf.map_fn(lambda x: (x, -x), data, dtype=(tf.float32, tf.float32))
    yield "map dict", lambda: tf.map_fn(lambda d: {"s": d["a"] + d["b"]}, {"a": data, "b": data}, dtype={"s": tf.float32})
    yield "map reduces", lambda: tf.map_fn(tf.reduce_sum, data, name="mine")
    yield "map no infer_shape", lambda: tf.map_fn(lambda x: x, data, infer_shape=False)
    yield "map empty", lambda: tf.map_fn(lambda x: x * 2.0, data[:0])
    yield "map unknown", lambda: tf.map_fn(lambda x: x * 2.0, tf.placeholder_with_default(data, [None, 2]))
    yield "map of map", lambda: tf.map_fn(lambda row: tf.map_fn(lambda x: x * x, row), data)
    yield "map error fn", lambda: tf.map_fn(3, data)
    yield "cond error rank", lambda: tf.cond(tf.constant([True]), lambda: 1, lambda: 2)
    yield "loop error rank", lambda: tf.while_loop(lambda i: tf.constant([True]), lambda i: i + 1, [0])
    yield "map error scalar", lambda: tf.map_fn(lambda x: x, 1.0)
    yield "map error structure", lambda: tf.map_fn(lambda x: (x, x), data)
    yield "map error type", lambda: tf.map_fn(lambda x: tf.cast(x, tf.int32), data)
    yield "map error sparse", lambda: tf.map_fn(lambda x: x, tf.SparseTensor([[0]], [1], [2]))
    yield "map gradient", gradient(lambda x, w: tf.map_fn(lambda row: tf.sin(row) * w, x))
    yield "foldl", lambda: _flat(tf, tf.foldl(lambda a, x: a * 2 + x, ints))
    yield "foldl initializer", lambda: _flat(tf, tf.foldl(lambda a, x: a * 2.0 + tf.cast(x, tf.float32), ints, initializer=10.0))
    yield "foldl nest", lambda: _flat(tf, *tf.foldl(lambda a, x: (a[0] + x[0], a[1] * x[1]), (data, data)))
    yield "foldl empty", lambda: _flat(tf, tf.foldl(lambda a, x: a + x, data[:0], initializer=np.zeros(2, np.float32)))
    yield "foldl gradient", gradient(lambda x, w: tf.foldl(lambda a, row: tf.tanh(a * w) + row, x))
    yield "foldr", lambda: _flat(tf, tf.foldr(lambda a, x: a * 2 + x, ints))
    yield "foldr initializer", lambda: _flat(tf, tf.foldr(lambda a, x: a * 2 + x, ints, initializer=10))
    yield "foldr gradient", gradient(lambda x, w: tf.foldr(lambda a, row: tf.tanh(a * w) + row, x))
    yield "scan", lambda: tf.scan(lambda a, x: a + x, ints)
    yield "scan reverse", lambda: tf.scan(lambda a, x: a + x, ints, reverse=True)
    yield "scan initializer", lambda: tf.scan(lambda a, x: a * x, data, initializer=tf.constant([2.0, 3.0]))
    yield "scan reverse initializer", lambda: tf.scan(lambda a, x: a * x, data, initializer=tf.constant([2.0, 3.0]), reverse=True)
    yield "scan pair", lambda: tf.scan(lambda a, x: (a[1], a[0] + a[1]), ints, initializer=(np.array(0), np.array(1)))
    yield "scan other structure", lambda: tf.scan(lambda a, x: a + x[0] - x[1], (data, data), initializer=tf.zeros([2]))
    yield "scan empty", lambda: tf.scan(lambda a, x: a + x, data[:0], initializer=tf.zeros([2]))
    yield "scan unknown", lambda: tf.scan(lambda a, x: a + x, tf.placeholder_with_default(data, [None, None]))
    yield "scan error empty", lambda: tf.scan(lambda a, x: a + x, data[:0])
    yield "scan gradient", gradient(lambda x, w: tf.scan(lambda a, row: tf.tanh(a * w) + row, x))
    yield "scan reverse gradient", gradient(lambda x, w: tf.scan(lambda a, row: tf.tanh(a * w) + row, x, reverse=True))


def cases(tf, np):
    """All cases."""
    for family in (conditionals, loops, arrays, sequences):
        yield from family(tf, np)
