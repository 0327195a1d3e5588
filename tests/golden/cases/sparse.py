"""Golden cases: sparse tensors, IndexedSlices, embeddings, candidate samplers, CTC, sets."""


def cases(tf, np):
    """Yields (name, function that builds tensors)."""
    for group in (_moving, _serialized, _crosses, _arithmetic, _gradients, _embeddings, _samplers, _ctc, _sets):
        yield from group(tf, np)


def _sparse(tf, np, dtype=None):
    values = np.array([1.0, -2.0, 3.0, 4.5], dtype or np.float32)
    return tf.SparseTensor([[0, 1], [1, 0], [1, 4], [3, 2]], values, [4, 5])


def _ids(tf, np):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0], [3, 0], [3, 2]], np.array([1, 3, 0, 2, 2], np.int64), [4, 3])


def _unsorted(tf, np):
    return tf.SparseTensor([[1, 4], [0, 1], [3, 2]], [3.0, 1.0, 4.5], [4, 5])


def _fed(tf, np):
    """A sparse tensor of which nothing but the rank is known while building."""
    parts = [np.array([[0, 1], [1, 0], [1, 4], [3, 2]]), np.array([1.0, -2.0, 3.0, 4.5], np.float32), np.array([4, 5])]
    return tf.SparseTensor(*[tf.placeholder_with_default(part, [None] * part.ndim) for part in parts])


def _moving(tf, np):
    sp = lambda: _sparse(tf, np)
    yield "to_dense", lambda: tf.sparse_tensor_to_dense(sp())
    yield "to_dense default", lambda: tf.sparse_tensor_to_dense(sp(), default_value=7.0)
    yield "to_dense strings", lambda: tf.sparse_tensor_to_dense(tf.SparseTensor([[0, 1]], ["a"], [2, 2]), default_value="")
    yield "to_dense unsorted", lambda: tf.sparse_tensor_to_dense(_unsorted(tf, np))
    yield "to_dense unsorted unchecked", lambda: tf.sparse_tensor_to_dense(_unsorted(tf, np), validate_indices=False)
    yield "to_dense repeated", lambda: tf.sparse_to_dense([[0, 0], [0, 0]], [2, 2], [1, 2])
    yield "to_dense out of bounds", lambda: tf.sparse_to_dense([[0, 5]], [2, 2], [1])
    yield "sparse_to_dense vector", lambda: tf.sparse_to_dense([1, 3], [5], [1.0, 2.0])
    yield "sparse_to_dense scalar value", lambda: tf.sparse_to_dense([1, 3], [5], 1, -1)
    yield "sparse_to_dense scalar index", lambda: tf.sparse_to_dense(2, [5], 1.5, 0.0)
    yield "sparse_to_dense one hot", lambda: tf.sparse_to_dense(tf.constant([[0, 1], [1, 2]]), tf.stack([2, 4]), 1.0, 0.0)
    yield "reorder", lambda: tf.sparse_reorder(_unsorted(tf, np))
    yield "reshape", lambda: tf.sparse_reshape(sp(), [2, 10])
    yield "reshape inferred", lambda: tf.sparse_reshape(sp(), [-1, 2, 5])
    yield "reshape wrong", lambda: tf.sparse_reshape(_fed(tf, np), [3, 5])
    yield "concat 0", lambda: tf.sparse_concat(0, [sp(), sp()])
    yield "concat 1", lambda: tf.sparse_concat(1, [sp(), _fed(tf, np)])
    yield "concat negative", lambda: tf.sparse_concat(-1, [sp(), sp()])
    yield "concat expand", lambda: tf.sparse_concat(1, [sp(), _ids_as_float(tf, np)], expand_nonconcat_dim=True)
    yield "concat mismatch", lambda: tf.sparse_concat(0, [_fed(tf, np), tf.SparseTensor([[0, 0]], [1.0], [1, 1])])
    yield "split", lambda: tf.sparse_split(sp_input=sp(), num_split=2, axis=0)
    yield "split uneven", lambda: tf.sparse_split(sp_input=sp(), num_split=3, axis=1)
    yield "slice", lambda: tf.sparse_slice(sp(), [1, 0], [3, 4])
    yield "slice beyond", lambda: tf.sparse_slice(sp(), [2, 1], [9, 9])
    yield "fill_empty_rows", lambda: tf.sparse_fill_empty_rows(sp(), 9.0)
    yield "fill_empty_rows all", lambda: tf.sparse_fill_empty_rows(tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros(0, np.float32), [3, 2]), 9.0)
    yield "retain", lambda: tf.sparse_retain(sp(), [True, False, True, False])
    yield "reset_shape", lambda: tf.sparse_reset_shape(sp())
    yield "reset_shape larger", lambda: tf.sparse_reset_shape(sp(), [6, 7])
    yield "reset_shape smaller", lambda: tf.sparse_reset_shape(sp(), [2, 2])
    for new_shape in ([6, 7], [4, 4], [4, 5, 6], [9]):
        yield "reset_shape of a fed tensor %s" % new_shape, lambda new_shape=new_shape: tf.sparse_reset_shape(
            _fed(tf, np), tf.placeholder_with_default(np.array(new_shape), [None]))
    yield "merge", lambda: tf.sparse_merge(_ids(tf, np), tf.SparseTensor(_ids(tf, np).indices, tf.range(5.0), [4, 3]), 5)
    yield "to_indicator", lambda: tf.sparse_to_indicator(_ids(tf, np), 5)
    yield "transpose", lambda: tf.sparse_tensor_to_dense(tf.sparse_transpose(sp()))
    yield "transpose perm", lambda: tf.sparse_transpose(tf.SparseTensor([[0, 1, 2], [1, 0, 0]], [1, 2], [2, 3, 4]), [2, 0, 1])
    yield "from_dense", lambda: tf.sparse.from_dense([[1, 0], [0, 2]])
    yield "sparse eye", lambda: tf.sparse.eye(2, 3)
    yield "expand_dims", lambda: tf.sparse.expand_dims(sp(), 1)
    yield "expand_dims last", lambda: tf.sparse.expand_dims(sp())
    yield "mask", lambda: tf.sparse_mask(tf.IndexedSlices(tf.ones([3, 2]), tf.constant([4, 1, 2])), [1])
    yield "indexed slices to tensor", lambda: tf.convert_to_tensor(
        tf.IndexedSlices(tf.ones([3, 2]), tf.constant([0, 2, 0]), tf.constant([4, 2])))
    yield "indexed slices without shape", lambda: tf.convert_to_tensor(tf.IndexedSlices(tf.ones([3, 2]), tf.constant([0, 2, 0])))
    yield "edit_distance", lambda: tf.edit_distance(_ids(tf, np), tf.SparseTensor([[0, 0], [1, 0], [1, 1]], np.array([1, 0, 4], np.int64), [4, 2]))


def _serialized(tf, np):
    sp = lambda: _sparse(tf, np)
    yield "serialize", lambda: tf.shape(tf.serialize_sparse(sp()))
    yield "serialize many", lambda: tf.shape(tf.serialize_many_sparse(sp()))
    yield "serialize there and back", lambda: tf.deserialize_many_sparse(tf.serialize_many_sparse(sp()), tf.float32)
    yield "serialize strings", lambda: tf.deserialize_many_sparse(
        tf.serialize_many_sparse(tf.SparseTensor([[0, 1], [1, 0]], ["a", "b"], [2, 2])), tf.string, rank=2)
    yield "serialize a stack", lambda: tf.deserialize_many_sparse(tf.stack([tf.serialize_sparse(sp())] * 2), tf.float32)
    yield "serialize wrong type", lambda: tf.deserialize_many_sparse(tf.serialize_many_sparse(sp()), tf.float64)


def _crosses(tf, np):
    words = lambda: tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [3, 2])
    numbers, letters = np.array([[1, 2], [3, 4], [5, -6]]), np.array([["x"], ["y"], ["z"]])
    yield "cross", lambda: tf.sparse.cross([words(), tf.constant(numbers), tf.constant(letters)])
    yield "cross_hashed", lambda: tf.sparse.cross_hashed([words(), tf.constant(numbers), tf.constant(letters)])
    yield "cross_hashed buckets", lambda: tf.sparse.cross_hashed([words(), tf.constant(numbers)], num_buckets=100)
    yield "cross_hashed dense", lambda: tf.sparse.cross_hashed([tf.constant(numbers), tf.constant(letters)], num_buckets=100, hash_key=7)
    yield "cross_hashed strings", lambda: tf.sparse.cross_hashed([words(), tf.constant(letters)], num_buckets=1000)
    yield "cross int32", lambda: tf.sparse.cross([tf.constant(numbers, tf.int32), words()])


def _ids_as_float(tf, np):
    return tf.SparseTensor([[0, 0], [2, 1]], [5.0, 6.0], [3, 2])


def _arithmetic(tf, np):
    sp = lambda: _sparse(tf, np)
    dense = np.arange(20, dtype=np.float32).reshape(4, 5) + 1
    yield "matmul", lambda: tf.sparse_tensor_dense_matmul(sp(), np.ones([5, 2], np.float32))
    yield "matmul adjoint_a", lambda: tf.sparse_tensor_dense_matmul(sp(), dense, adjoint_a=True)
    yield "matmul adjoint_b", lambda: tf.sparse_tensor_dense_matmul(sp(), dense, adjoint_b=True)
    yield "matmul unsorted", lambda: tf.sparse_tensor_dense_matmul(_unsorted(tf, np), np.ones([5, 2], np.float32))
    yield "matmul int", lambda: tf.sparse_tensor_dense_matmul(_sparse(tf, np, np.int32), np.arange(10, dtype=np.int32).reshape(5, 2))
    yield "matmul mismatch", lambda: tf.sparse_tensor_dense_matmul(sp(), np.ones([4, 2], np.float32))
    yield "matmul mismatch at run time", lambda: tf.sparse_tensor_dense_matmul(_fed(tf, np), np.ones([4, 2], np.float32))
    yield "matmul dynamic", lambda: tf.sparse_tensor_dense_matmul(_fed(tf, np), np.ones([5, 2], np.float32))
    yield "add", lambda: tf.sparse_add(sp(), _unsorted_sorted(tf, np))
    yield "add threshold", lambda: tf.sparse_add(sp(), _unsorted_sorted(tf, np), 2.5)
    yield "add dense", lambda: tf.sparse_add(sp(), dense)
    yield "add dense first", lambda: tf.sparse_add(dense, sp())
    yield "add neither", lambda: tf.sparse_add(dense, dense)
    yield "mul dense", lambda: sp() * dense
    yield "mul broadcast", lambda: sp() * dense[:1]
    yield "mul scalar", lambda: sp() * np.float32(3.0)
    yield "div dense", lambda: sp() / dense
    yield "mul incompatible", lambda: _fed(tf, np) * np.ones([3, 5], np.float32)
    for keepdims in (False, True):
        for axis in (None, 0, 1, -1, [0, 1]):
            yield "reduce_sum %s %s" % (axis, keepdims), lambda axis=axis, keepdims=keepdims: tf.sparse_reduce_sum(sp(), axis, keepdims)
    yield "reduce_max", lambda: tf.sparse_reduce_max(sp(), 1)
    yield "reduce_max all", lambda: tf.sparse_reduce_max(sp())
    yield "reduce_max negative", lambda: tf.sparse_reduce_max(sp(), 0)
    yield "reduce_sum dynamic", lambda: tf.sparse_reduce_sum(_fed(tf, np), 1)
    yield "reduce_sum_sparse", lambda: tf.sparse_reduce_sum_sparse(sp(), 1)
    yield "reduce_max_sparse", lambda: tf.sparse_reduce_max_sparse(sp(), 0, True)
    yield "softmax", lambda: tf.sparse_softmax(sp())
    yield "add of other shapes", lambda: tf.sparse_add(sp(), tf.SparseTensor([[0, 0]], [1.0], [2, 2]))
    yield "maximum", lambda: tf.sparse_maximum(sp(), _unsorted_sorted(tf, np))
    yield "minimum", lambda: tf.sparse_minimum(sp(), _unsorted_sorted(tf, np))


def _unsorted_sorted(tf, np):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 4], [3, 2]], [1.0, 1.5, -3.0, 0.25], [4, 5])


def _gradients(tf, np):
    dense = np.arange(20, dtype=np.float64).reshape(4, 5) + 1
    indices, shape = np.array([[0, 1], [1, 0], [1, 4], [3, 2]]), [4, 5]
    values = np.array([1.0, -2.0, 3.0, 4.5])

    def of(function, *arrays):
        tensors = [tf.constant(array) for array in arrays]
        result = function(tf.SparseTensor(indices, tensors[0], shape), *tensors[1:])
        result = result.values if isinstance(result, tf.SparseTensor) else result
        flat = tf.reshape(result, [-1])
        total = tf.reduce_sum(flat * tf.sin(tf.cast(tf.range(tf.size(flat)), tf.float64) + 0.3))
        return [tf.identity(gradient, name="gradient") for gradient in tf.gradients(total, tensors) if gradient is not None]

    yield "to_dense gradient", lambda: of(tf.sparse_tensor_to_dense, values)
    yield "matmul gradients", lambda: of(tf.sparse_tensor_dense_matmul, values, dense.T)
    yield "matmul adjoint_a gradients", lambda: of(lambda x, y: tf.sparse_tensor_dense_matmul(x, y, adjoint_a=True), values, dense)
    yield "matmul adjoint_b gradients", lambda: of(lambda x, y: tf.sparse_tensor_dense_matmul(x, y, adjoint_b=True), values, dense)
    yield "add dense gradients", lambda: of(tf.sparse_add, values, dense)
    other = lambda: tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1.0, 2.0], tf.float64), shape)
    yield "add gradient", lambda: of(lambda x: tf.sparse_add(x, other()), values)
    yield "mul gradients", lambda: of(lambda x, y: x * y, values, dense)
    yield "div gradients", lambda: of(lambda x, y: x / y, values, dense)
    yield "reduce_sum gradient", lambda: of(lambda x: tf.sparse_reduce_sum(x, 1), values)
    yield "reduce_sum all gradient", lambda: of(tf.sparse_reduce_sum, values)
    yield "softmax gradient", lambda: of(tf.sparse_softmax, values)
    yield "reorder gradient", lambda: of(lambda x: tf.sparse_reorder(tf.sparse_transpose(x)), values)
    yield "slice gradient", lambda: of(lambda x: tf.sparse_slice(x, [1, 0], [3, 3]), values)
    yield "fill_empty_rows gradient", lambda: of(lambda x, y: tf.sparse_fill_empty_rows(x, y)[0], values, np.float64(2.0))


def _embeddings(tf, np):
    table = np.arange(20, dtype=np.float32).reshape(10, 2)
    mod = [table[0::3], table[1::3], table[2::3]]
    div = [table[:4], table[4:7], table[7:]]
    ids = lambda: _ids(tf, np)
    weights = lambda: tf.SparseTensor(_ids(tf, np).indices, tf.constant([1.0, 0.5, 2.0, -1.0, 0.25]), [4, 3])
    variable = lambda: tf.get_variable("table", initializer=table)
    plain = lambda tensor: tf.identity(tensor, name="result")
    yield "embedding_lookup", lambda: tf.nn.embedding_lookup(table, [1, 3, 1])
    yield "embedding_lookup matrix", lambda: tf.nn.embedding_lookup(tf.constant(table), [[1, 3], [0, 9]])
    yield "embedding_lookup variable", lambda: tf.nn.embedding_lookup(variable(), [1, 3, 1])
    yield "embedding_lookup resource", lambda: tf.nn.embedding_lookup(tf.get_variable("table", initializer=table, use_resource=True), [1, 3, 1])
    yield "embedding_lookup out of range", lambda: tf.nn.embedding_lookup(table, [1, 10])
    yield "embedding_lookup mod", lambda: tf.nn.embedding_lookup([tf.constant(part) for part in mod], [0, 1, 5, 9, 9])
    yield "embedding_lookup div", lambda: tf.nn.embedding_lookup([tf.constant(part) for part in div], [0, 4, 3, 9, 6], partition_strategy="div")
    yield "embedding_lookup bad strategy", lambda: tf.nn.embedding_lookup([tf.constant(part) for part in div], [0], partition_strategy="x")
    yield "embedding_lookup max_norm", lambda: tf.nn.embedding_lookup(table, [0, 3], max_norm=1.0)
    yield "embedding_lookup gradient", lambda: [plain(tf.convert_to_tensor(g)) for g in tf.gradients(
        tf.nn.embedding_lookup(variable(), [1, 3, 1]) * [[1.0, 2.0]], tf.global_variables())]
    yield "embedding_lookup mod gradients", lambda: _part_gradients(tf, [tf.constant(part) for part in mod])
    for combiner in ("sum", "mean", "sqrtn"):
        yield "lookup_sparse " + combiner, lambda combiner=combiner: tf.nn.embedding_lookup_sparse(table, ids(), None, combiner=combiner)
        yield "lookup_sparse weighted " + combiner, lambda combiner=combiner: plain(
            tf.nn.embedding_lookup_sparse(tf.constant(table), ids(), weights(), combiner=combiner))
        yield "safe_lookup " + combiner, lambda combiner=combiner: plain(
            tf.nn.safe_embedding_lookup_sparse([tf.constant(table)], ids(), weights(), combiner=combiner))
    yield "safe_lookup default", lambda: plain(tf.nn.safe_embedding_lookup_sparse([tf.constant(table)], ids(), default_id=9))
    yield "safe_lookup negative ids", lambda: plain(tf.nn.safe_embedding_lookup_sparse(
        [tf.constant(table)], tf.SparseTensor([[0, 0], [1, 0]], tf.constant([-1, 2], tf.int64), [3, 2])))


def _part_gradients(tf, parts):
    found = tf.gradients(tf.nn.embedding_lookup(parts, [0, 1, 5, 9, 9]) * [[1.0, 2.0]], parts)
    return [tf.identity(tf.convert_to_tensor(gradient), name="gradient") for gradient in found]


def _samplers(tf, np):
    true = np.array([[1], [5], [3]])
    for unique in (False, True):
        tag = " unique" if unique else ""
        yield "uniform" + tag, lambda unique=unique: tf.nn.uniform_candidate_sampler(true, 1, 6, unique, 10, seed=3)
        yield "uniform power of two" + tag, lambda unique=unique: tf.nn.uniform_candidate_sampler(true, 1, 6, unique, 16, seed=3)
        yield "uniform large" + tag, lambda unique=unique: tf.nn.uniform_candidate_sampler(true, 1, 6, unique, 2 ** 40 + 1, seed=3)
        yield "log_uniform" + tag, lambda unique=unique: tf.nn.log_uniform_candidate_sampler(true, 1, 6, unique, 10, seed=3)
        yield "log_uniform many" + tag, lambda unique=unique: tf.nn.log_uniform_candidate_sampler(true, 1, 60, unique, 1000, seed=9)
        yield "learned" + tag, lambda unique=unique: tf.nn.learned_unigram_candidate_sampler(true, 1, 6, unique, 10, seed=3)
        yield "fixed" + tag, lambda unique=unique: tf.nn.fixed_unigram_candidate_sampler(
            true, 1, 6, unique, 10, unigrams=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], seed=3)
        yield "fixed distorted" + tag, lambda unique=unique: tf.nn.fixed_unigram_candidate_sampler(
            true, 1, 4, unique, 10, distortion=0.75, num_reserved_ids=2, unigrams=[3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], seed=3)
        yield "all" + tag, lambda unique=unique: tf.nn.all_candidate_sampler(true, 1, 6, unique, seed=3)
    yield "too many unique", lambda: tf.nn.uniform_candidate_sampler(true, 1, 16, True, 10, seed=3)
    yield "accidental hits", lambda: tf.nn.compute_accidental_hits(np.array([[1, 2], [5, 1]]), np.array([1, 5, 7, 1]), 2)
    yield "nce_loss", lambda: _sampled(tf, np, tf.nn.nce_loss)
    yield "nce_loss hits", lambda: _sampled(tf, np, tf.nn.nce_loss, remove_accidental_hits=True)
    yield "nce_loss two true", lambda: _sampled(tf, np, tf.nn.nce_loss, num_true=2)
    yield "sampled_softmax_loss", lambda: _sampled(tf, np, tf.nn.sampled_softmax_loss)
    yield "sampled_softmax_loss two true", lambda: _sampled(tf, np, tf.nn.sampled_softmax_loss, num_true=2)


def _sampled(tf, np, loss, num_true=1, **kwargs):
    """A sampled loss and its gradients, for given samples."""
    rng = np.random.RandomState(1)
    weights, biases, inputs = [tf.constant(rng.normal(size=size), tf.float32) for size in ((10, 4), (10,), (2, 4))]
    labels = tf.constant([[1, 4], [7, 2]], tf.int64)[:, :num_true]
    samples = (tf.constant([3, 7, 0], tf.int64), tf.fill([2, num_true], 0.4), tf.constant([0.3, 0.2, 0.9]))
    result = loss(weights, biases, labels, inputs, 3, 10, num_true=num_true, sampled_values=samples, **kwargs)
    gradients = tf.gradients(result, [weights, biases, inputs])
    return [tf.identity(tf.convert_to_tensor(tensor), name="result") for tensor in [result] + gradients]


def _ctc(tf, np):
    inputs = np.random.RandomState(0).normal(size=(5, 2, 4)).astype(np.float32)

    def labels(*rows):
        indices = [(number, place) for number, row in enumerate(rows) for place in range(len(row))]
        values = [label for row in rows for label in row]
        return tf.SparseTensor(np.array(indices), np.array(values, np.int32), [len(rows), max(len(row) for row in rows)])

    def loss(*rows, **kwargs):
        x = tf.constant(inputs)
        result = tf.nn.ctc_loss(labels(*rows), x, [5, 4], **kwargs)
        return [result] + tf.gradients(result * [1.0, 2.0], x)

    yield "ctc_loss", lambda: loss([0, 1], [2])
    yield "ctc_loss repeated", lambda: loss([0, 0], [2, 1, 2])
    yield "ctc_loss impossible", lambda: loss([0, 0, 0], [2, 2, 2])
    yield "ctc_loss too long", lambda: loss([0, 1, 0], [2, 1, 2, 1, 0])
    yield "ctc_loss too long ignored", lambda: loss([0, 1, 0], [2, 1, 2, 1, 0], ignore_longer_outputs_than_inputs=True)
    yield "ctc_loss collapse", lambda: loss([0, 0], [2], preprocess_collapse_repeated=True)
    yield "ctc_loss not merged", lambda: loss([0, 0], [2], ctc_merge_repeated=False)
    yield "ctc_loss no labels", lambda: loss([], [2])
    yield "ctc_loss negative label", lambda: loss([-1], [2])
    yield "ctc_loss batch major", lambda: tf.nn.ctc_loss(labels([0, 1], [2]), np.swapaxes(inputs, 0, 1), [5, 4], time_major=False)
    yield "ctc_loss bad length", lambda: tf.nn.ctc_loss(labels([0, 1], [2]), inputs, [6, 4])
    yield "greedy decoder", lambda: tf.nn.ctc_greedy_decoder(inputs, [5, 4])
    yield "greedy decoder not merged", lambda: tf.nn.ctc_greedy_decoder(inputs, [5, 4], merge_repeated=False)
    yield "beam search", lambda: tf.nn.ctc_beam_search_decoder(inputs, [5, 4], beam_width=10, top_paths=2)
    yield "beam search not merged", lambda: tf.nn.ctc_beam_search_decoder(inputs, [5, 4], beam_width=10, top_paths=3, merge_repeated=False)
    yield "beam search narrow", lambda: tf.nn.ctc_beam_search_decoder(inputs * 3, [5, 4], beam_width=2, top_paths=1)
    yield "beam search wide", lambda: tf.nn.ctc_beam_search_decoder(np.random.RandomState(3).normal(size=(12, 3, 6)).astype(np.float32), [12, 7, 1])
    yield "beam search too many paths", lambda: tf.nn.ctc_beam_search_decoder(inputs, [5, 4], beam_width=1, top_paths=2)


def _sets(tf, np):
    a, b = np.array([[1, 2, 2], [5, 4, 9]]), np.array([[2, 3], [9, 9]])
    sparse = lambda: tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([2, 1, 7]), [2, 2])
    for function in ("set_intersection", "set_difference", "set_union"):
        yield function, lambda function=function: getattr(tf.sets, function)(a, b)
        yield function + " sparse", lambda function=function: getattr(tf.sets, function)(sparse(), tf.sparse.from_dense(b))
        yield function + " dense and sparse", lambda function=function: getattr(tf.sets, function)(a, sparse())
    yield "set_difference reversed", lambda: tf.sets.set_difference(a, b, aminusb=False)
    yield "set_union strings", lambda: tf.sets.set_union(np.array([["b", "a"]]), np.array([["c", "a"]]))
    yield "set_size", lambda: tf.sets.set_size(sparse())
