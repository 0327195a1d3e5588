"""Slices, gathers, masks, sets and order."""


def cases(tf, np):
    """(name, function) pairs."""
    def fed(value, shape=None):
        return tf.placeholder_with_default(np.asarray(value), shape)

    def unnamed(values):
        """What has other nodes inside than TensorFlow's: names are not compared."""
        if isinstance(values, (list, tuple)):
            return [unnamed(item) for item in values]
        if isinstance(values, tf.IndexedSlices):
            return tf.IndexedSlices(tf.identity(values.values), tf.identity(values.indices), tf.identity(values.dense_shape))
        return tf.identity(values)

    def sliced(key, shape=(3, 4)):
        size = int(np.prod(shape))
        return lambda: tf.constant(np.arange(size, dtype=np.float32).reshape(shape))[key]

    def sliced_unknown(key, shape=(3, 4)):
        size = int(np.prod(shape))
        return lambda: fed(np.arange(size, dtype=np.float32).reshape(shape), [None, *shape[1:]])[key]

    def slice_gradient(key, shape=(3, 4)):
        def build():
            x = tf.constant(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
            return tf.gradients(x[key] ** 2, x)
        return build

    s = np.s_
    keys = [
        ("int", s[1]), ("negative int", s[-1]), ("two ints", s[1, -2]), ("range", s[1:3]), ("open range", s[1:]), ("open start", s[:2]),
        ("whole", s[:]), ("step", s[::2]), ("negative step", s[::-1]), ("negative step with bounds", s[2:0:-1]), ("columns", s[:, 1]),
        ("column range", s[:, 1:3]), ("column steps", s[:, ::-2]), ("ellipsis", s[..., 0]), ("ellipsis first", s[0, ...]),
        ("ellipsis alone", s[...]), ("newaxis", s[None]), ("newaxis inside", s[:, None, :]), ("newaxis last", s[..., None]),
        ("beyond", s[1:100]), ("far negative", s[-100:2]), ("empty", s[2:1]), ("negative bounds", s[-2:-1, -3:]),
        ("empty negative step", s[0:2:-1]), ("mixed", s[None, 1:, ..., -1, None]), ("numpy int", s[np.int64(1)]), ("list", [1, 2])]
    for name, key in keys:
        yield name, sliced(key)
        yield name + " of unknown rows", sliced_unknown(key)
        yield name + " gradient", slice_gradient(key)
    yield "ellipsis in the middle", sliced(s[0, ..., ::2], (2, 3, 4))
    yield "empty tuple", sliced(())
    yield "tensor index", lambda: tf.constant([1, 2, 3])[tf.constant(1)]
    yield "tensor bounds", lambda: fed(np.arange(5), [5])[fed(np.int32(1), []):fed(np.int32(4), [])]
    yield "int64 tensor", lambda: tf.constant([1, 2, 3])[tf.constant(1, tf.int64):]
    yield "int64 index", lambda: tf.constant([1, 2, 3])[tf.constant(1, tf.int64)]
    yield "dimension", lambda: tf.constant([1, 2, 3])[tf.TensorShape([1])[0]:]
    yield "strings", lambda: tf.constant(["a", "b", "c"])[1:]
    yield "string", lambda: tf.constant(["a", "b", "c"])[1]
    yield "shape element", lambda: tf.shape(fed(np.zeros((2, 3)), [None, 3]))[1]
    yield "mask", lambda: tf.constant([1, 2, 3])[tf.constant([True, False, True])]
    yield "numpy mask", lambda: tf.constant([1, 2, 3])[np.array([True, False, True])]
    yield "out of bounds", lambda: tf.constant([1, 2, 3])[3]
    yield "out of bounds at run time", lambda: fed(np.arange(3))[3]
    yield "too many indices", lambda: tf.constant([1, 2, 3])[0, 0]
    yield "too many indices at run time", lambda: fed(np.arange(3))[0, 0]
    yield "two ellipses", lambda: tf.constant([1, 2, 3])[..., ...]
    yield "zero step", lambda: tf.constant([1, 2, 3])[::0]
    yield "float index", lambda: tf.constant([1, 2, 3])[1.5]
    yield "vector index", lambda: tf.constant([1, 2, 3])[tf.constant([1])]
    yield "array index", lambda: tf.constant([1, 2, 3])[np.array([1, 2])]
    yield "string index", lambda: tf.constant([1, 2, 3])["a"]
    yield "bool index", lambda: tf.constant([1, 2, 3])[True]
    yield "second gradient", lambda: (lambda x: tf.gradients(tf.gradients(x[1:, ::2] ** 3, x), x))(tf.constant([[1.0, 2.0], [3.0, 4.0]]))

    yield "slice", lambda: tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1])
    yield "slice unknown", lambda: tf.slice(fed(np.zeros((2, 3)), [None, 3]), [1, 0], [1, 2])
    yield "slice unknown begin", lambda: tf.slice(fed(np.arange(5), [5]), fed(np.array([2], np.int32), [1]), [2])
    yield "slice bad at run time", lambda: tf.slice(fed(np.arange(3)), [2], [2])
    yield "slice gradient", lambda: (lambda x: unnamed(tf.gradients(tf.slice(x, [0, 1], [1, -1]), x)))(tf.zeros([2, 3]))
    yield "strided_slice", lambda: tf.strided_slice([[1, 2, 3], [4, 5, 6]], [0, 2], [2, 0], [1, -1])
    yield "strided_slice defaults", lambda: tf.strided_slice([[1, 2, 3], [4, 5, 6]], [0, 1], [1, 3])

    # gathering
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    yield "gather", lambda: [tf.gather(table, [0, 3, 0]), tf.gather(table, 2), tf.gather(table, [[0], [1]]), tf.gather(table, [0, 2], axis=1)]
    yield "gather negative axis", lambda: tf.gather(table, [2], axis=-1)
    yield "gather batch", lambda: [tf.gather(table, [[0], [1], [2], [0]], batch_dims=1), tf.identity(tf.batch_gather(table, [[0], [1], [2], [0]]))]
    yield "gather batch axis", lambda: tf.gather(np.arange(24).reshape(2, 3, 4), [[0, 3], [1, 1]], axis=2, batch_dims=1)
    yield "gather unknown", lambda: tf.gather(fed(table, [None, 3]), fed(np.array([1]), [None]))
    yield "gather strings", lambda: tf.gather(["a", "b"], [1, 0])
    yield "gather bad", lambda: tf.gather(table, [[0, 4]])
    yield "gather bad scalar", lambda: tf.gather(table, -1)
    yield "gather gradient", lambda: (lambda x: unnamed(tf.gradients(tf.gather(x, [0, 2, 0]) * [[1.0], [2.0], [4.0]], x)))(tf.constant(table))
    yield "gather gradient matrix indices", lambda: (lambda x: unnamed(tf.gradients(tf.gather(x, [[0], [2]]), x)))(tf.constant(table))
    yield "gather gradient axis 1", lambda: (lambda x: unnamed(tf.gradients(tf.gather(x, [0, 2, 0], axis=1), x)))(tf.constant(table))
    yield "gather gradient batch", lambda: (lambda x: unnamed(tf.gradients(tf.batch_gather(x, [[0], [1], [2], [0]]), x)))(tf.constant(table))
    yield "gather gradient of concat", lambda: (lambda x, y: unnamed(tf.gradients(tf.gather(tf.concat([x, y], 0), [1, 5, 5]), [x, y])))(
        tf.constant(table), tf.constant(table))
    yield "gather gradient of wide concat", lambda: (lambda x, y: unnamed(tf.gradients(tf.gather(tf.concat([x, y], 1), [1, 2]), [x, y])))(
        tf.constant(table), tf.constant(table))
    yield "gather_nd", lambda: [tf.gather_nd(table, [[0, 1], [3, 2]]), tf.gather_nd(table, [[1], [0]]), tf.gather_nd(table, [1, 1])]
    yield "gather_nd batch", lambda: tf.identity(tf.gather_nd(table, [[0], [1], [2], [0]], batch_dims=1))
    yield "gather_nd bad", lambda: tf.gather_nd(table, [[0, 3]])
    yield "gather_nd too deep", lambda: tf.gather_nd(table, [[0, 0, 0]])
    yield "gather_nd gradient", lambda: (lambda x: unnamed(tf.gradients(tf.gather_nd(x, [[0, 1], [0, 1], [2, 2]]), x)))(tf.constant(table))
    yield "gather_nd gradient rows", lambda: (lambda x: unnamed(tf.gradients(tf.gather_nd(x, [[0], [1]]), x)))(tf.constant(table))
    yield "scatter_nd", lambda: [tf.scatter_nd([[1], [3], [1]], [1.0, 2.0, 4.0], [5]), tf.scatter_nd([[0, 1]], [7], [2, 2])]
    yield "scatter_nd bad", lambda: tf.scatter_nd(fed(np.array([[5]], np.int32)), [1.0], [3])
    yield "scatter_nd mismatch", lambda: tf.scatter_nd([[1]], [1.0, 2.0], [3])
    yield "scatter_nd gradient", lambda: (lambda u: unnamed(tf.gradients(tf.scatter_nd([[1], [1]], u, [3]) ** 2, u)))(tf.constant([1.0, 2.0]))
    yield "tensor_scatter", lambda: [
        tf.tensor_scatter_update(table, [[1]], [[9.0, 9.0, 9.0]]), tf.tensor_scatter_add(table, [[1, 1], [1, 1]], [5.0, 6.0]),
        tf.tensor_scatter_sub(table, [[0]], [[1.0, 2.0, 3.0]])]
    yield "boolean_mask", lambda: [
        tf.boolean_mask([1, 2, 3], [True, False, True]), tf.boolean_mask(table, [True, False, False, True]), tf.boolean_mask(table, table > 5),
        tf.boolean_mask(table, [True, False, True], axis=1)]
    yield "boolean_mask unknown", lambda: tf.boolean_mask(fed(table, [None, 3]), fed(np.array([True, False, True, False]), [None]))
    yield "boolean_mask matrix unknown", lambda: tf.boolean_mask(fed(table, [None, 3]), fed(table > 5, [None, 3]))
    yield "boolean_mask scalar", lambda: tf.boolean_mask([1, 2], True)
    yield "boolean_mask mismatch", lambda: tf.boolean_mask([1, 2, 3], [True, False])
    yield "boolean_mask gradient", lambda: (lambda x: unnamed(tf.gradients(tf.boolean_mask(x, [True, False, True]), x)))(tf.constant([1.0, 2.0, 3.0]))

    # choosing
    yield "where", lambda: [tf.where([[True, False], [True, True]]), tf.where([0.0, 2.0]), tf.where(fed(np.array([False])))]
    yield "where choice", lambda: tf.where([True, False], [1, 2], [3, 4])
    yield "where rows", lambda: tf.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]])
    yield "where scalar", lambda: tf.where(True, [1, 2], [3, 4])
    yield "where mismatch", lambda: tf.where([True, False], [1, 2, 3], [4, 5, 6])
    yield "where one missing", lambda: tf.where([True], [1])
    yield "where strings", lambda: tf.where([True, False], ["a", "b"], ["c", "d"])
    yield "where gradient", lambda: (lambda x, y: unnamed(tf.gradients(tf.where([True, False], x * x, y), [x, y])))(
        tf.constant([2.0, 3.0]), tf.ones([2]))
    yield "where_v2", lambda: [tf.where_v2([[True], [False]], [1, 2], 0), tf.where_v2([True, False])]
    yield "where_v2 gradient", lambda: (lambda x: unnamed(tf.gradients(tf.where_v2([[True], [False]], x, 0.0), x)))(tf.constant([2.0, 3.0]))

    # sets and order
    yield "unique", lambda: [tf.unique([3, 1, 3, 2]), tf.unique(["b", "a", "b"]), tf.unique([1.5, 1.5], tf.int64)]
    yield "unique empty", lambda: tf.unique(np.zeros(0, np.int32))
    yield "unique matrix", lambda: tf.unique([[1, 2]])
    yield "unique_with_counts", lambda: tf.unique_with_counts([3, 1, 3, 2])
    yield "setdiff1d", lambda: [tf.setdiff1d([1, 2, 3, 2, 4], [2]), tf.setdiff1d(["a", "b"], ["b"])]
    yield "edit_distance", lambda: [tf.edit_distance(
        tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2]), tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["b", "c", "d"], [2, 2]),
        normalize=normalize) for normalize in (True, False)]
    yield "top_k", lambda: [tf.nn.top_k([1.0, 4.0, 2.0, 4.0], 3), tf.nn.top_k([[1, 2], [4, 3]]), tf.nn.top_k(fed(np.array([[1.0, 2.0]])), 1)]
    yield "top_k too many", lambda: tf.nn.top_k([1.0, 2.0], 3)
    yield "top_k too many at run time", lambda: tf.nn.top_k(fed([1.0, 2.0]), 3)
    yield "top_k gradient", lambda: (lambda x: unnamed(tf.gradients(tf.nn.top_k(x, 2).values, x)))(tf.constant([[1.0, 5.0, 3.0], [6.0, 2.0, 4.0]]))
    yield "sort", lambda: [tf.sort([3.0, 1.0, 2.0]), tf.identity(tf.sort([[3, 1], [2, 5]], axis=0)), tf.sort([3, 1, 2], direction="DESCENDING")]
    yield "argsort", lambda: [tf.argsort([3.0, 1.0, 2.0]), tf.argsort([[3, 1], [2, 5]], axis=0), tf.argsort([3, 1, 2], direction="DESCENDING")]
    yield "sort bad", lambda: tf.sort([1, 2], direction="UP")
    yield "searchsorted", lambda: [tf.searchsorted([1.0, 3.0, 5.0], [3.0, 4.0]), tf.searchsorted([[1, 3, 5]], [[3, 9]], side="right")]
    yield "dynamic_partition", lambda: tf.dynamic_partition([[1, 2], [3, 4], [5, 6]], [1, 0, 1], 3)
    yield "dynamic_partition bad", lambda: tf.dynamic_partition([1, 2], fed(np.array([0, 2], np.int32)), 2)
    yield "dynamic_partition gradient", lambda: (lambda x: unnamed(tf.gradients(tf.dynamic_partition(x, [1, 0, 1], 2)[1], x)))(
        tf.constant([1.0, 2.0, 3.0]))
    yield "dynamic_stitch", lambda: tf.dynamic_stitch([[0, 2], [[1], [3]]], [[1.0, 2.0], [[3.0], [4.0]]])
    yield "dynamic_stitch last wins", lambda: tf.dynamic_stitch([[0, 1], [1]], [[1, 2], [3]])
    yield "dynamic_stitch gradient", lambda: (lambda x, y: unnamed(tf.gradients(tf.dynamic_stitch([[0, 2], [1]], [x, y]) * [1.0, 2.0, 3.0], [x, y])))(
        tf.constant([1.0, 2.0]), tf.constant([3.0]))

    # space
    image = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
    yield "space_to_depth", lambda: [tf.space_to_depth(image, 2), tf.space_to_depth(fed(image), 2)]
    yield "space_to_depth bad", lambda: tf.space_to_depth(image[:, :3], 2)
    yield "depth_to_space", lambda: tf.depth_to_space(np.arange(16).reshape(1, 2, 2, 4), 2)
    yield "space_to_batch", lambda: tf.space_to_batch(image, [[0, 0], [2, 0]], 2)
    yield "space_to_batch_nd", lambda: [
        tf.space_to_batch_nd(image, [2, 1], [[0, 0], [2, 0]]), tf.space_to_batch_nd(fed(image, [None, 4, 4, 2]), [2, 2], [[0, 0], [0, 0]])]
    yield "space_to_batch bad", lambda: tf.space_to_batch_nd(fed(image), [3, 1], [[0, 0], [0, 0]])
    yield "batch_to_space", lambda: tf.batch_to_space(np.arange(16).reshape(4, 2, 2, 1), [[0, 1], [1, 0]], 2)
    yield "batch_to_space_nd", lambda: tf.batch_to_space_nd(np.arange(16).reshape(4, 4, 1), [2], [[1, 2]])
    yield "required_space_to_batch_paddings", lambda: [
        tf.required_space_to_batch_paddings([3, 4], [2, 3]), tf.required_space_to_batch_paddings([3, 4], [2, 3], [[1, 0], [0, 1]])]
    yield "required paddings unknown", lambda: tf.required_space_to_batch_paddings(fed(np.array([3, 4], np.int32), [2]), [2, 3])
    yield "extract_image_patches", lambda: [
        tf.extract_image_patches(image, [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], "VALID"),
        tf.extract_image_patches(image, [1, 2, 2, 1], [1, 1, 2, 1], [1, 2, 1, 1], "SAME")]
    yield "extract_image_patches gradient", lambda: (lambda x: unnamed(tf.gradients(
        tf.extract_image_patches(x, [1, 2, 2, 1], [1, 1, 2, 1], [1, 2, 1, 1], "SAME") ** 2, x)))(tf.constant(image))
    yield "unravel_index", lambda: [tf.unravel_index([2, 5], [3, 4]), tf.unravel_index(fed(np.array([11])), fed(np.array([3, 4])))]
