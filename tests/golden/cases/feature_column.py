"""tf.feature_column: what each column computes, names of variables, what is read of examples, errors."""
import warnings


def _features(tf, np):
    return {
        "age": tf.constant([[3.0], [20.5], [21.0], [70.0]]), "pair": tf.constant([[1.0, -1.0], [0.5, 9.0], [-3.0, 2.0], [0.0, 0.0]]),
        "word": tf.constant([["a", "b"], ["c", ""], ["unknown", "a"], ["", ""]]), "flat": tf.constant(["a", "b", "c", "z"]),
        "id": tf.constant([[1, -1], [2, 0], [3, 3], [0, -1]], tf.int64), "weight": tf.constant([[0.5, 2.0], [1.0, 3.0], [4.0, 1.5], [1.0, 1.0]]),
        "sparse": tf.SparseTensor([[0, 0], [0, 2], [2, 1], [3, 0]], ["x", "y", "z", "x"], [4, 3]),
        "sparse_weight": tf.SparseTensor([[0, 0], [0, 2], [2, 1], [3, 0]], [0.5, 2.0, 3.0, -1.0], [4, 3]),
    }


def _initializer(tf, np):
    def make(shape, dtype=None, partition_info=None):
        shape = [int(extent) for extent in shape]
        return tf.constant(np.sin(np.arange(shape[0] * shape[1]) * 1.3).reshape(shape), tf.float32)
    return make


def columns(tf, np):
    """{name: function that makes a column}."""
    fc = tf.feature_column
    words = lambda **options: fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c"], **options)
    age = lambda: fc.bucketized_column(fc.numeric_column("age"), [18, 21.0, 65])
    return {
        "numeric": lambda: fc.numeric_column("age"),
        "numeric pair": lambda: fc.numeric_column("pair", shape=2, normalizer_fn=lambda x: (x - 1.0) / 2.0),
        "bucketized": age,
        "bucketized pair": lambda: fc.bucketized_column(fc.numeric_column("pair", 2), [0, 1]),
        "vocabulary": words,
        "vocabulary default": lambda: words(default_value=2),
        "vocabulary oov": lambda: words(num_oov_buckets=4),
        "flat vocabulary": lambda: fc.categorical_column_with_vocabulary_list("flat", ["c", "b"]),
        "numbers": lambda: fc.categorical_column_with_vocabulary_list("id", [3, 1], dtype=tf.int64),
        "hash": lambda: fc.categorical_column_with_hash_bucket("word", 20),
        "hash numbers": lambda: fc.categorical_column_with_hash_bucket("id", 20, tf.int64),
        "identity": lambda: fc.categorical_column_with_identity("id", 4),
        "identity default": lambda: fc.categorical_column_with_identity("id", 2, default_value=0),
        "sparse": lambda: fc.categorical_column_with_vocabulary_list("sparse", ["z", "y", "x"]),
        "crossed": lambda: fc.crossed_column(["word", age()], 30),
        "crossed with key": lambda: fc.crossed_column([words(), "sparse"], 40, hash_key=7),
        "crossed twice": lambda: fc.crossed_column([fc.crossed_column(["word", "flat"], 5), "id"], 50),
        "weighted": lambda: fc.weighted_categorical_column(
            fc.categorical_column_with_vocabulary_list("sparse", ["z", "y", "x"]), "sparse_weight"),
    }


def cases(tf, np):
    """Each column in an input layer and in a linear model."""
    fc = tf.feature_column
    dense = ("numeric", "numeric pair", "bucketized", "bucketized pair")
    for name, make in columns(tf, np).items():
        def layer(make=make, name=name):
            column = make() if name in dense else fc.indicator_column(make())
            return tf.identity(fc.input_layer(_features(tf, np), [column]), name="output")

        def embedding(make=make, name=name):
            parts = [fc.embedding_column(make(), 2, combiner, _initializer(tf, np)) for combiner in ("mean", "sqrtn", "sum")]
            return [tf.identity(fc.input_layer(_features(tf, np), part), name="output") for part in parts] + [_names(tf)]

        def linear(make=make, name=name):
            with tf.variable_scope("model", initializer=None):
                result = fc.linear_model(_features(tf, np), [make(), fc.numeric_column("weight", 2)], units=2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rows of rows make a dense gradient
                gradients = tf.gradients(result * [1.0, 3.0], tf.trainable_variables())
            dense_gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
            return [tf.identity(each, name="output") for each in [result] + dense_gradients] + [_names(tf)]

        yield name, layer
        if name not in dense[:2]:
            yield name + " embedding", embedding
        yield name + " linear", linear
    yield from together(tf, np)


def _names(tf):
    return tf.constant([each.name for key in ("variables", "trainable_variables", "model_variables") for each in tf.get_collection(key)], name="n")


def together(tf, np):
    """Several columns, shared tables, what is read, errors."""
    fc = tf.feature_column
    words = lambda key, **options: fc.categorical_column_with_vocabulary_list(key, ["a", "b", "c"], **options)

    def several():
        made = [fc.numeric_column("pair", 2), fc.embedding_column(words("word"), 3, initializer=_initializer(tf, np)),
                fc.numeric_column("age"), fc.indicator_column(words("flat"))]
        return [tf.identity(fc.input_layer(_features(tf, np), made), name="output"), _names(tf)]

    def shared():
        made = fc.shared_embedding_columns([words("word"), words("flat")], 2, initializer=_initializer(tf, np))
        return [tf.identity(fc.input_layer(_features(tf, np), made), name="output"), _names(tf)]

    def parsed():
        spec = fc.make_parse_example_spec([columns(tf, np)[name]() for name in ("numeric", "numeric pair", "crossed with key", "weighted")]
                                          + [fc.numeric_column("other", (2, 3), default_value=1.5)])
        return tf.constant([key + " " + str(spec[key]) for key in sorted(spec)], name="spec")

    def described():
        made = columns(tf, np)
        return tf.constant([made[name]().name for name in sorted(made)], name="described")

    yield "several", several
    yield "shared", shared
    yield "parsed", parsed
    yield "names", described
    yield "missing feature", lambda: fc.input_layer({"a": tf.constant([1.0])}, fc.numeric_column("b"))
    yield "rank 0", lambda: fc.input_layer({"a": tf.constant(1.0)}, fc.numeric_column("a"))
    yield "not dense", lambda: fc.input_layer(_features(tf, np), words("word"))
    yield "twice", lambda: fc.input_layer(_features(tf, np), [fc.numeric_column("age"), fc.numeric_column("age")])
    yield "identity out of range", lambda: fc.input_layer(_features(tf, np), fc.indicator_column(fc.categorical_column_with_identity("id", 3)))
    yield "unsorted boundaries", lambda: fc.bucketized_column(fc.numeric_column("age"), [2, 1])
    yield "hash in a cross", lambda: fc.crossed_column([fc.categorical_column_with_hash_bucket("word", 5), "flat"], 5)
    yield "two defaults", lambda: words("word", default_value=1, num_oov_buckets=2)
    yield "words for numbers", lambda: fc.input_layer(_features(tf, np), fc.indicator_column(words("id")))
