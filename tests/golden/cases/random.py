"""Random numbers: with the same seeds, TensorFlow's own. What goes through log, sin or pow may differ in the last place."""


def cases(tf, np):
    """(name, function) pairs."""
    def fed(value, shape=None):
        array = np.asarray(value)
        narrow = {"float64": np.float32, "int64": np.int32}.get(array.dtype.name)
        return tf.placeholder_with_default(array if narrow is None else array.astype(narrow), shape)

    def seeded(build):
        """Builds under a graph-level seed."""
        tf.set_random_seed(1234)
        return build()

    # uniform
    yield "uniform op seed", lambda: tf.random_uniform([2, 3], seed=5)
    yield "uniform graph seed", lambda: seeded(lambda: tf.random_uniform([2, 3]))
    yield "uniform graph seed second op", lambda: seeded(lambda: [tf.random_uniform([3]), tf.random_uniform([3])])
    yield "uniform both seeds", lambda: seeded(lambda: tf.random_uniform([2, 3], seed=7))
    yield "uniform range", lambda: tf.random_uniform([4], -2.0, 3.0, seed=5)
    yield "uniform float64", lambda: tf.random_uniform([5], dtype=tf.float64, seed=5)
    yield "uniform float16", lambda: tf.random_uniform([5], dtype=tf.float16, seed=5)
    yield "uniform int32", lambda: tf.random_uniform([7], maxval=100, dtype=tf.int32, seed=5)
    yield "uniform int64", lambda: tf.random_uniform([7], -5, 2**40, dtype=tf.int64, seed=5)
    yield "uniform int without limit", lambda: tf.random_uniform([7], dtype=tf.int32)
    yield "uniform wrong type", lambda: tf.random_uniform([7], dtype=tf.uint8)
    yield "uniform empty range", lambda: tf.random_uniform([7], 5, 5, dtype=tf.int32)
    yield "uniform fed shape", lambda: tf.random_uniform(fed([2, 2], [2]), seed=1)
    yield "uniform unknown shape", lambda: tf.random_uniform(fed([2, 2]), seed=1)
    yield "uniform bad shape", lambda: tf.random_uniform(fed([2, -2]), seed=1)
    yield "uniform scalar", lambda: tf.random_uniform([], seed=1)
    yield "uniform empty", lambda: tf.random_uniform([0, 3], seed=1)
    yield "uniform large", lambda: tf.random_uniform([1000], seed=1)[::97]
    yield "uniform fed limits", lambda: tf.random_uniform([3], fed(1.0), fed([2.0, 3.0, 4.0]), seed=1)
    yield "uniform zero seeds", lambda: seeded(lambda: (tf.set_random_seed(0), tf.random_uniform([2], seed=0))[1])
    yield "uniform named", lambda: tf.random_uniform([2], seed=1, name="mine")

    # normal
    yield "normal", lambda: tf.random_normal([2, 3], seed=5)
    yield "normal odd count", lambda: tf.random_normal([7], 1.0, 2.0, seed=5)
    yield "normal float64", lambda: tf.random_normal([5], dtype=tf.float64, seed=5)
    yield "normal graph seed", lambda: seeded(lambda: tf.random_normal([3]))
    yield "normal fed parameters", lambda: tf.random_normal([3], fed([1.0, 2.0, 3.0]), fed(0.5), seed=2)
    yield "normal gradient", lambda: (lambda m: tf.identity(tf.gradients(tf.random_normal([3], m, seed=1) ** 2, m)[0]))(fed(1.0, []))
    yield "normal integer", lambda: tf.random_normal([3], dtype=tf.int32)
    yield "truncated", lambda: tf.truncated_normal([3, 4], seed=5)
    yield "truncated scaled", lambda: tf.truncated_normal([9], 1.0, 0.1, seed=5)
    yield "truncated float64", lambda: tf.truncated_normal([9], dtype=tf.float64, seed=5)
    yield "truncated large", lambda: tf.truncated_normal([2000], seed=3)[::191]

    # others
    yield "shuffle", lambda: tf.random_shuffle(np.arange(10), seed=3)
    yield "shuffle rows", lambda: tf.random_shuffle(np.arange(12).reshape(6, 2), seed=3)
    yield "shuffle strings", lambda: tf.random_shuffle(["a", "b", "c", "d"], seed=3)
    yield "shuffle graph seed", lambda: seeded(lambda: tf.random_shuffle([1, 2, 3, 4]))
    yield "crop", lambda: tf.random_crop(np.arange(60).reshape(5, 4, 3), [2, 2, 3], seed=3)
    yield "crop graph seed", lambda: seeded(lambda: tf.random_crop(np.arange(60).reshape(5, 4, 3), [2, 2, 3]))
    yield "crop fed", lambda: tf.random_crop(fed(np.arange(60).reshape(5, 4, 3)), [2, 2, 3], seed=3)
    yield "crop too large", lambda: tf.random_crop(fed([1, 2]), [3])
    yield "multinomial", lambda: tf.multinomial([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], 5, seed=3)
    yield "multinomial int32", lambda: tf.multinomial(np.zeros([1, 4], np.float64), 6, seed=3, output_dtype=tf.int32)
    yield "multinomial rank", lambda: tf.multinomial(fed([1.0, 2.0]), 3)
    yield "multinomial none", lambda: tf.multinomial([[1.0]], 0, seed=1)
    yield "categorical", lambda: tf.random.categorical([[0.0, 1.0, 2.0]], 4, dtype=tf.int32, seed=3)
    yield "gamma", lambda: tf.random_gamma([3], [0.5, 1.0, 4.0], seed=3)
    yield "gamma rate", lambda: tf.random_gamma([2], [0.5, 3.0], beta=[[1.0], [2.0]], dtype=tf.float64, seed=3)
    yield "gamma gradient", lambda: (lambda a: tf.gradients(tf.random_gamma([4], a, dtype=tf.float64, seed=3), a))(
        tf.constant([0.1, 1.0, 7.0, 150.0, 900.0], tf.float64))
    yield "poisson", lambda: tf.random_poisson([0.5, 5.0, 50.0], [4], seed=3)
    yield "poisson int", lambda: tf.random_poisson(3.0, [5], dtype=tf.int32, seed=3)

    # stateless
    yield "stateless uniform", lambda: tf.random.stateless_uniform([2, 3], [1, 2])
    yield "stateless uniform int", lambda: tf.random.stateless_uniform([5], [1, 2], 3, 50, tf.int32)
    yield "stateless normal", lambda: tf.random.stateless_normal([5], [1, 2], 1.0, 2.0)
    yield "stateless normal float64", lambda: tf.random.stateless_normal([5], [2**40, -3], dtype=tf.float64)
    yield "stateless truncated", lambda: tf.random.stateless_truncated_normal([5], [3, 4])
    yield "stateless multinomial", lambda: tf.random.stateless_multinomial([[0.0, 1.0, 2.0]], 6, [5, 6])
    yield "stateless bad seed", lambda: tf.random.stateless_uniform([2], [1, 2, 3])
    yield "stateless fed seed", lambda: tf.random.stateless_uniform([2], fed([7, 8], [2]))
    yield "get_seed", lambda: [tf.constant(tf.get_seed(5)), tf.constant(tf.get_seed(2**33))]
    yield "set_random_seed large", lambda: seeded(lambda: (tf.set_random_seed(2**40), tf.random_uniform([2]))[1])
