"""The columns of tf.contrib.layers: what each computes, names of variables, order, what is read of examples, errors."""
import os
import tempfile
import warnings


def _features(tf):
    warnings.simplefilter("ignore")  # gradients of lookups are sparse, and become dense
    return {
        "age": tf.constant([[3.0], [20.5], [21.0], [70.0]]), "pair": tf.constant([[1, -1], [5, 9], [-3, 2], [0, 0]]),
        "word": tf.constant([["a", "b"], ["c", ""], ["unknown", "a"], ["", ""]]), "id": tf.constant([[1, -1], [12, 0], [3, 3], [0, -1]], tf.int64),
        "weight": tf.constant([[0.5, 2.0], [1.0, 3.0], [4.0, 1.5], [1.0, 1.0]]),
        "sparse": tf.SparseTensor([[0, 0], [0, 2], [2, 1], [3, 0]], ["x", "y", "z", "x"], [4, 3]),
        "sparse_weight": tf.SparseTensor([[0, 0], [0, 2], [2, 1], [3, 0]], [0.5, 2.0, 3.0, -1.0], [4, 3]),
        "counts": tf.SparseTensor([[0, 0], [0, 2], [2, 1], [3, 0]], tf.constant([1, 2, 3, 4], tf.int64), [4, 3]),
    }


def _initializer(tf, np):
    def make(shape, dtype=None, partition_info=None):
        extents = [int(extent) for extent in shape]
        return tf.constant(np.sin(np.arange(np.prod(extents)) * 1.3).reshape(extents), tf.float32)
    return make


def _vocabulary():
    path = os.path.join(tempfile.gettempdir(), "golden_contrib_columns.txt")
    with open(path, "w") as file:
        file.write("c\nb\na\n3\n")
    return path


def columns(tf):
    """{name: function that makes a column of ids}, {name: function that makes a column of numbers}."""
    layers = tf.contrib.layers
    age = lambda: layers.real_valued_column("age")
    words = lambda **options: layers.sparse_column_with_keys("word", ["a", "b", "c"], **options)
    pair = lambda: layers.real_valued_column("pair", dimension=2, dtype=tf.int32, normalizer=lambda x: tf.cast(x, tf.float32) / 2.0)
    sparse = lambda: layers.sparse_column_with_keys("sparse", ["z", "y", "x"])
    ids = {
        "keys": words,
        "keys default": lambda: words(default_value=2, combiner="mean"),
        "keys of numbers": lambda: layers.sparse_column_with_keys("id", [3, 1], dtype=tf.int64),
        "hash": lambda: layers.sparse_column_with_hash_bucket("word", 20, combiner="sqrtn"),
        "hash numbers": lambda: layers.sparse_column_with_hash_bucket("id", 20, dtype=tf.int64),
        "hash keys": lambda: layers.sparse_column_with_hash_bucket("word", 20, hash_keys=[[1, 2], [3, 4]]),
        "integerized": lambda: layers.sparse_column_with_integerized_feature("id", 5),
        "file": lambda: layers.sparse_column_with_vocabulary_file("word", _vocabulary(), num_oov_buckets=2, vocab_size=4),
        "file of numbers": lambda: layers.sparse_column_with_vocabulary_file("id", _vocabulary(), vocab_size=4, dtype=tf.int64),
        "sparse": sparse,
        "weighted": lambda: layers.weighted_sparse_column(sparse(), "sparse_weight"),
        "weighted dense": lambda: layers.weighted_sparse_column(layers.sparse_column_with_integerized_feature("id", 13, combiner="mean"), "weight"),
        "weighted by numbers": lambda: layers.weighted_sparse_column(sparse(), "counts", dtype=tf.int64),
        "crossed": lambda: layers.crossed_column([words(), layers.bucketized_column(age(), [18, 21.0, 65])], 30),
        "crossed with key": lambda: layers.crossed_column([words(), sparse()], 40, hash_key=7),
        "crossed twice": lambda: layers.crossed_column([layers.crossed_column([words(), sparse()], 5), layers.sparse_column_with_hash_bucket(
            "id", 9, dtype=tf.int64)], 50, combiner="mean"),
    }
    numbers = {
        "real": age,
        "real pair": pair,
        "bucketized": lambda: layers.bucketized_column(age(), [18, 21.0, 21.0, 65]),
        "bucketized pair": lambda: layers.bucketized_column(layers.real_valued_column("pair", 2), (0, 1)),
    }
    return ids, numbers


def _output(tf, tensors):
    return [tf.identity(tensor, name="output") for tensor in tensors]


def _names(tf):
    return tf.constant([v.name + " " + str(v.shape) for v in tf.global_variables()] + [v.name for v in tf.get_collection("mine")])


def cases(tf, np):
    """Each column in a network's input and in a weighted sum; several together; examples; errors."""
    layers = tf.contrib.layers
    ids, numbers = columns(tf)
    initializer = _initializer(tf, np)

    for name, make in sorted(ids.items()):
        def deep(make=make):
            parts = [layers.embedding_column(make(), 2, combiner, initializer) for combiner in ("mean", "sqrtn", "sum")]
            found = [layers.input_from_feature_columns(_features(tf), [part], weight_collections=["mine"]) for part in parts]
            return _output(tf, found + [_names(tf)])

        def counts(make=make):
            return _output(tf, [layers.input_from_feature_columns(_features(tf), [layers.one_hot_column(make())])])
        yield "embedding of " + name, deep
        if name not in ("weighted dense", "weighted by numbers"):
            yield "one hot of " + name, counts

    for name, make in sorted(list(ids.items()) + list(numbers.items())):
        def wide(make=make):
            sums, variables, bias = layers.weighted_sum_from_feature_columns(_features(tf), [make()], 2, weight_collections=["mine"])
            (weights,) = variables.values()
            (gradient,) = tf.gradients(sums * tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]), list(weights))
            return _output(tf, [sums, bias, tf.convert_to_tensor(gradient), _names(tf)])

        def core(make=make):
            variables = {}
            with tf.variable_scope("core"):
                sums = tf.feature_column.linear_model(_features(tf), [make()], cols_to_vars=variables)
            return _output(tf, [sums, _names(tf)])
        yield "weighted sum of " + name, wide
        if name in ("real", "real pair"):
            yield "linear model of " + name, core

    for name, make in sorted(numbers.items()):
        yield "input of " + name, lambda make=make: _output(tf, [layers.input_from_feature_columns(_features(tf), [make()])])
        yield "input layer of " + name, lambda make=make: _output(tf, [tf.feature_column.input_layer(_features(tf), [make()])])

    def together():
        chosen = [make() for make in numbers.values()] + [layers.one_hot_column(ids["keys"]()), layers.embedding_column(
            ids["hash"](), 3, initializer=initializer), layers.embedding_column(ids["weighted"](), 1, initializer=initializer)]
        outputs = {}
        net = layers.input_from_feature_columns(_features(tf), chosen, cols_to_outs=outputs)
        return _output(tf, [net, _names(tf), tf.constant(sorted(column.name for column in outputs))])

    def shared():
        made = layers.shared_embedding_columns([ids["keys"](), layers.sparse_column_with_keys("sparse", ["a", "b", "c"])], 2, initializer=initializer)
        net = layers.input_from_feature_columns(_features(tf), made)
        single = layers.shared_embedding_columns([ids["hash"]()], 2, shared_embedding_name="one", initializer=initializer)
        return _output(tf, [net, layers.input_from_feature_columns(_features(tf), single), _names(tf),
                            tf.constant([column.name for column in made] + [column.name for column in single])])

    def scattered():
        column = layers.scattered_embedding_column("sparse", 11, 3, hash_key=5, initializer=initializer)
        return _output(tf, [layers.input_from_feature_columns(_features(tf), [column]), _names(tf)])

    def joint():
        chosen = [ids["keys"](), ids["integerized"](), ids["crossed"]()]
        sums, _, _ = layers.joint_weighted_sum_from_feature_columns(_features(tf), chosen, 2, scope="joint")
        return _output(tf, [sums, _names(tf)])

    def several():
        chosen = [ids["keys"](), numbers["real"](), ids["crossed"](), ids["weighted"](), numbers["bucketized pair"](), numbers["real pair"]()]
        sums, _, _ = layers.weighted_sum_from_feature_columns(_features(tf), chosen, 1)
        gradients = tf.gradients(tf.reduce_sum(sums * tf.constant([[1.0], [2.0], [3.0], [4.0]])), tf.trainable_variables())
        return _output(tf, [sums, _names(tf)] + [tf.convert_to_tensor(gradient) for gradient in gradients])

    def sequence():
        words = tf.SparseTensor([[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]], ["a", "b", "b", "c"], [2, 3, 2])
        features = {"word": words, "pair": tf.reshape(tf.range(12), [2, 3, 2])}
        chosen = [layers.one_hot_column(ids["keys"]()), layers.embedding_column(ids["keys"](), 2, initializer=initializer), numbers["real pair"]()]
        return _output(tf, [layers.sequence_input_from_feature_columns(features, chosen), _names(tf)])

    def spec():
        chosen = [make() for make in list(ids.values()) + list(numbers.values())]
        found = layers.create_feature_spec_for_parsing(chosen)
        return tf.constant(sorted("%s %s %s" % (key, type(each).__name__, each.dtype.name) for key, each in found.items()), name="output")

    def examples():
        example = tf.train.Example()
        example.features.feature["age"].float_list.value.append(30.0)
        example.features.feature["word"].bytes_list.value.extend([b"b", b"c"])
        chosen = [numbers["bucketized"](), layers.real_valued_column("gone", default_value=4.0), layers.one_hot_column(ids["keys"]())]
        found = layers.parse_feature_columns_from_examples([example.SerializeToString()], chosen)
        return _output(tf, [layers.input_from_feature_columns(found, chosen), found["gone"]])

    def inferred():
        found = layers.infer_real_valued_columns({"a": tf.zeros([3, 2, 4]), "b": tf.zeros([3], tf.int32)})
        return tf.constant(sorted("%s %d %s" % (column.name, column.dimension, column.dtype.name) for column in found), name="output")

    def keys():
        chosen = [numbers["real"](), numbers["bucketized"](), ids["keys"](), ids["hash"](), ids["weighted"]()]
        chosen += [layers.embedding_column(ids["keys"](), 2), layers.one_hot_column(ids["keys"]()), ids["crossed"]()]
        return tf.constant([column.name for column in sorted(chosen, key=lambda column: column.key)], name="output")

    for name, function in sorted(dict(together=together, shared=shared, scattered=scattered, joint=joint, several=several, sequence=sequence,
                                      spec=spec, examples=examples, inferred=inferred, keys=keys).items()):
        yield name, function

    for name, function in sorted({
            "no buckets": lambda: layers.sparse_column_with_hash_bucket("x", 0),
            "float ids": lambda: layers.sparse_column_with_integerized_feature("x", 3, dtype=tf.float32),
            "no size": lambda: layers.sparse_column_with_vocabulary_file("x", "file"),
            "bad hash keys": lambda: layers.sparse_column_with_hash_bucket("x", 3, hash_keys=[[1]]),
            "dimension": lambda: layers.real_valued_column("x", dimension=0),
            "dimension type": lambda: layers.real_valued_column("x", dimension="3"),
            "default length": lambda: layers.real_valued_column("x", dimension=2, default_value=[1.0]),
            "default type": lambda: layers.real_valued_column("x", default_value="a"),
            "default of integers": lambda: layers.real_valued_column("x", dtype=tf.int32, default_value=1.5),
            "unsorted": lambda: layers.bucketized_column(numbers["real"](), [3, 1]),
            "no boundaries": lambda: layers.bucketized_column(numbers["real"](), []),
            "buckets of ids": lambda: layers.bucketized_column(ids["keys"](), [3]),
            "cross of one": lambda: layers.crossed_column([ids["keys"]()], 10),
            "cross of numbers": lambda: layers.crossed_column([ids["keys"](), numbers["real"]()], 10),
            "small cross": lambda: layers.crossed_column([ids["keys"](), ids["sparse"]()], 1),
            "initializer": lambda: layers.embedding_column(ids["keys"](), 2, initializer=3),
            "checkpoint": lambda: layers.embedding_column(ids["keys"](), 2, ckpt_to_load_from="x"),
            "shared numbers": lambda: layers.shared_embedding_columns([numbers["real"]()], 2),
            "shared text": lambda: layers.shared_embedding_columns("abc", 2),
            "shared others": lambda: layers.shared_embedding_columns([ids["keys"](), ids["sparse"]()], 2),
            "network of ids": lambda: layers.input_from_feature_columns(_features(tf), [ids["keys"]()]),
            "network of crosses": lambda: layers.input_from_feature_columns(_features(tf), [ids["crossed"]()]),
            "sum of embeddings": lambda: layers.weighted_sum_from_feature_columns(_features(tf), [layers.embedding_column(ids["keys"](), 2)], 1),
            "sum of counts": lambda: layers.weighted_sum_from_feature_columns(_features(tf), [layers.one_hot_column(ids["keys"]())], 1),
            "joint numbers": lambda: layers.joint_weighted_sum_from_feature_columns(_features(tf), [numbers["real"]()], 1),
            "joint weights": lambda: layers.joint_weighted_sum_from_feature_columns(_features(tf), [ids["weighted"]()], 1),
            "twice": lambda: layers.check_feature_columns([numbers["real"](), numbers["real"]()]),
            "dict": lambda: layers.check_feature_columns({"a": numbers["real"]()}),
            "sequence of buckets": lambda: layers.sequence_input_from_feature_columns(_features(tf), [numbers["bucketized"]()]),
            "sequence of ids": lambda: layers.sequence_input_from_feature_columns(_features(tf), [ids["keys"]()]),
            "inferred text": lambda: layers.infer_real_valued_columns(tf.constant(["a"])),
            "spec of text": lambda: layers.create_feature_spec_for_parsing(["a"]),
    }.items()):
        yield "error: " + name, function
