"""What is drawn in a seeded graph inside and after the layers of feature columns: crosses, sequences, weights, linear models, old columns."""


def _words(tf):
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "z"], [3, 2])


def _features(tf):
    return {"p": tf.constant([["a"], ["b"], ["c"]]), "q": tf.constant([["x"], ["y"], ["x"]]), "n": tf.constant([[0.5], [2.0], [-1.0]]),
            "k": tf.constant([[1], [2], [3]]), "i": tf.constant([[1], [2], [3]], tf.int64),
            "s": _words(tf), "t": _words(tf), "w": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, 3.0], [3, 2])}


def _drawn(tf, build):
    """What ``build`` makes of the features, and what is drawn after it."""
    tf.set_random_seed(7)
    made = build(_features(tf))
    last = tf.random_uniform([2])
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        made, last = session.run([made, last])
        return [tf.identity(tf.constant(each), name="output") for each in [*(made if isinstance(made, tuple) else [made]), last]]


def cases(tf, np):
    """One layer after the other."""
    fc, sequences, layers = tf.feature_column, tf.contrib.feature_column, tf.contrib.layers
    bucketized, hashed = fc.bucketized_column(fc.numeric_column("n"), [0, 1]), fc.categorical_column_with_hash_bucket
    weighted = fc.weighted_categorical_column(hashed("s", 3), "w")
    steps = sequences.sequence_categorical_column_with_hash_bucket
    old = layers.sparse_column_with_hash_bucket("s", 3)

    def inputs(*columns):
        return lambda: _drawn(tf, lambda features: fc.input_layer(features, columns))

    def linear(*columns):
        return lambda: _drawn(tf, lambda features: fc.linear_model(features, columns))

    def sequence(*columns):
        return lambda: _drawn(tf, lambda features: sequences.sequence_input_layer(features, columns))

    def old_inputs(*columns):
        return lambda: _drawn(tf, lambda features: layers.input_from_feature_columns(features, columns))

    yield "cross of names", inputs(fc.embedding_column(fc.crossed_column(["p", "q"], 7), 2))
    yield "cross of sparse names", inputs(fc.embedding_column(fc.crossed_column(["s", "t"], 7), 2))
    yield "cross with buckets", inputs(fc.embedding_column(fc.crossed_column(["p", bucketized], 7), 2))
    yield "cross with ids", inputs(fc.embedding_column(fc.crossed_column([fc.categorical_column_with_identity("k", 4), "q"], 7), 2))
    yield "ids of 64 bits", inputs(fc.indicator_column(fc.categorical_column_with_identity("i", 4)))
    for combiner in ("mean", "sum", "sqrtn"):
        yield "weighted " + combiner, inputs(fc.embedding_column(weighted, 2, combiner))
    yield "weighted counts", inputs(fc.indicator_column(weighted))
    yield "linear cross", linear(fc.crossed_column(["p", "q"], 7))
    yield "linear of three", linear(bucketized, fc.numeric_column("n"), hashed("p", 4))
    yield "linear weighted", linear(weighted)
    yield "sequence of embeddings", sequence(fc.embedding_column(steps("s", 3), 2))
    yield "sequence of words", sequence(fc.embedding_column(sequences.sequence_categorical_column_with_vocabulary_list("s", ["a", "b"]), 2))
    yield "sequence of counts", sequence(fc.indicator_column(steps("s", 3)))
    yield "sequence of numbers", sequence(sequences.sequence_numeric_column("w"))
    yield "sequence of two", sequence(fc.embedding_column(steps("s", 3), 2), fc.indicator_column(steps("t", 3)))
    yield "old embedding", old_inputs(layers.embedding_column(old, 2))
    yield "old words", old_inputs(layers.embedding_column(layers.sparse_column_with_keys("s", ["a", "b"]), 2))
    yield "old weighted", old_inputs(layers.embedding_column(layers.weighted_sparse_column(old, "w"), 2))
    yield "old counts", old_inputs(layers.one_hot_column(old), layers.bucketized_column(layers.real_valued_column("n"), [0.0, 1.0]))
    yield "old linear", lambda: _drawn(tf, lambda features: layers.weighted_sum_from_feature_columns(features, [
        layers.real_valued_column("n"), old, layers.crossed_column([old, layers.sparse_column_with_hash_bucket("t", 3)], 4)], 2)[0])
