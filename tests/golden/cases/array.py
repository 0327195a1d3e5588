"""Shapes, joining, splitting, padding and moving elements."""


def cases(tf, np):
    """(name, function) pairs."""
    def fed(value, shape=None):
        return tf.placeholder_with_default(np.asarray(value), shape)

    def unnamed(values):
        """What has other nodes inside than TensorFlow's: names are not compared."""
        return [unnamed(item) if isinstance(item, (list, tuple)) else tf.identity(item) for item in values]

    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    # shapes
    yield "shape known", lambda: tf.shape(tf.zeros([2, 3]))
    yield "shape unknown", lambda: tf.shape(fed(grid, [None, 4]))
    yield "shape int64", lambda: tf.shape(fed(grid), out_type=tf.int64)
    yield "shape of plain value", lambda: tf.shape([[1, 2]])
    yield "shape of sparse", lambda: tf.shape(tf.SparseTensor([[0, 1]], [1.0], [2, 3]))
    yield "shape_n", lambda: tf.shape_n([fed(grid), fed(grid[0])])
    yield "size", lambda: [tf.size(grid), tf.size(fed(grid)), tf.size(fed(grid), out_type=tf.int64)]
    yield "rank", lambda: [tf.rank(grid), tf.rank(fed(grid))]
    yield "reshape", lambda: tf.reshape(grid, [2, 6])
    yield "reshape open", lambda: tf.reshape(grid, [2, -1, 3])
    yield "reshape unknown rows", lambda: tf.reshape(fed(grid, [None, 4]), [-1, 2])
    yield "reshape keeps rows", lambda: (lambda x: tf.reshape(x, [tf.shape(x)[0], 4]))(fed(cube.reshape(6, 2, 2), [None, 2, 2]))
    yield "reshape packed", lambda: (lambda x: tf.reshape(x, [tf.shape(x)[0], -1]))(fed(cube, [None, 3, 4]))
    yield "reshape to scalar", lambda: tf.reshape([[5]], [])
    yield "reshape empty", lambda: tf.reshape(tf.zeros([0, 3]), [3, 0])
    yield "reshape strings", lambda: tf.reshape([["a", "b"]], [2, 1])
    yield "reshape bad", lambda: tf.reshape(grid, [5, 3])
    yield "reshape bad at run time", lambda: tf.reshape(fed(grid), [5, 3])
    yield "reshape two open", lambda: tf.reshape(grid, [-1, -1])
    yield "squeeze", lambda: tf.squeeze(tf.zeros([1, 3, 1]))
    yield "squeeze axis", lambda: tf.squeeze(tf.zeros([1, 3, 1]), axis=-1)
    yield "squeeze axes", lambda: tf.squeeze(fed(np.zeros((1, 3, 1)), [None, 3, None]), [0, 2])
    yield "squeeze old name", lambda: tf.squeeze(tf.zeros([1, 3, 1]), squeeze_dims=[0])
    yield "squeeze bad", lambda: tf.squeeze(tf.zeros([1, 3, 1]), [1])
    yield "expand_dims", lambda: [tf.expand_dims(grid, 0), tf.expand_dims(grid, -1), tf.expand_dims(grid, dim=1)]
    yield "expand_dims bad", lambda: tf.expand_dims(grid, 4)
    yield "expand_dims unknown", lambda: tf.expand_dims(fed(grid), 1)
    yield "broadcast_dynamic_shape", lambda: tf.broadcast_dynamic_shape(tf.constant([2, 1, 4]), tf.constant([3, 1]))
    yield "broadcast_static_shape", lambda: tf.ones(tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])))

    # fills
    yield "fill", lambda: tf.fill([2, 3], 1.5)
    yield "fill unknown", lambda: tf.fill(tf.shape(fed(grid)), 7)
    yield "fill strings", lambda: tf.fill([2], "x")
    yield "zeros", lambda: [tf.zeros([2, 3]), tf.zeros([], tf.int32), tf.zeros([3], tf.bool), tf.zeros([2], tf.string)]
    yield "zeros large", lambda: [tf.zeros([40, 30]), tf.identity(tf.zeros(3))]
    yield "zeros of shape", lambda: [tf.zeros(tf.TensorShape([2, 2])), tf.zeros(tf.shape(fed(grid, [None, 4])))]
    yield "zeros packed", lambda: tf.zeros([tf.shape(fed(grid, [None, 4]))[0], 2])
    yield "ones", lambda: [tf.ones([2, 3]), tf.ones([2], tf.bool), tf.ones((1, 2), tf.complex64), tf.ones([40, 30], tf.int64)]
    yield "zeros_like", lambda: [tf.zeros_like(grid), tf.zeros_like(fed(grid, [None, 4])), tf.zeros_like(fed(grid, [None, 4]), tf.int32)]
    yield "zeros_like not optimized", lambda: tf.zeros_like(grid, optimize=False)
    yield "ones_like", lambda: [tf.ones_like(grid), tf.ones_like(fed(grid)), tf.ones_like([1, 2], tf.float32)]
    yield "one_hot", lambda: tf.one_hot([0, 2, -1, 5], 3)
    yield "one_hot axis 0", lambda: tf.one_hot([[0, 2], [1, 1]], 3, axis=0)
    yield "one_hot values", lambda: tf.one_hot([0, 1], 2, on_value=5, off_value=-1)
    yield "one_hot bool", lambda: tf.one_hot([0, 1], 2, on_value=True, off_value=False)
    yield "one_hot strings", lambda: tf.one_hot([0, 1], 2, on_value="y", off_value="n")
    yield "one_hot dtype", lambda: tf.one_hot(np.array([0, 1], np.uint8), 2, dtype=tf.float64)
    yield "one_hot unknown depth", lambda: tf.one_hot(fed(np.array([0, 1])), fed(np.int32(2)))
    yield "one_hot mismatch", lambda: tf.one_hot([0], 2, on_value=1.0, dtype=tf.int32)

    # joining
    yield "concat", lambda: tf.concat([grid, grid[:1]], 0)
    yield "concat axis 1", lambda: tf.concat([fed(grid, [None, 4]), fed(grid[:, :1], [None, 1])], 1)
    yield "concat negative axis", lambda: tf.concat([grid, grid], axis=-1)
    yield "concat one", lambda: tf.concat([[1, 2]], 0)
    yield "concat tensor", lambda: tf.concat(tf.constant([1, 2]), 0)
    yield "concat strings", lambda: tf.concat([["a"], ["b", "c"]], 0)
    yield "concat scalars", lambda: tf.concat([tf.constant(1), tf.constant(2)], 0)
    yield "concat mismatch", lambda: tf.concat([tf.zeros([2, 3]), tf.zeros([3, 4])], 0)
    yield "concat mismatch at run time", lambda: tf.concat([fed(grid), fed(grid[:, :2])], 0)
    yield "concat unknown axis", lambda: tf.concat([fed(grid), fed(grid)], fed(np.int32(1)))
    yield "concat gradient", lambda: (lambda a, b: tf.gradients(tf.concat([a, b], 1) * grid, [a, b]))(tf.zeros([3, 1]), tf.zeros([3, 3]))
    yield "stack last axis of values", lambda: tf.stack([[1, 2], [3, 4]], axis=-1)
    yield "stack value before tensor", lambda: tf.stack([1, tf.constant(2)])
    yield "stack", lambda: [tf.stack([1.0, 2.0]), tf.stack([tf.zeros([2]), tf.ones([2])]), tf.stack([fed(grid), fed(grid)], axis=1)]
    yield "stack mixed", lambda: tf.stack([tf.constant([1, 2]), [3, 4]])
    yield "stack axis -1", lambda: tf.stack([tf.constant([1, 2]), [3, 4]], axis=-1)
    yield "stack bad axis", lambda: tf.stack([tf.constant([1, 2]), tf.constant([1, 2])], axis=3)
    yield "stack mismatch", lambda: tf.stack([tf.zeros([2]), tf.zeros([3])])
    yield "stack types", lambda: tf.stack([tf.constant(1), 2.5])
    yield "auto pack", lambda: tf.convert_to_tensor([[tf.constant(1.0), 2.0], [3.0, tf.constant(4.0)]])
    yield "auto pack cast", lambda: tf.convert_to_tensor([tf.constant(1), 2], tf.float32)
    yield "auto pack in add", lambda: tf.constant([1, 2]) + [tf.constant(3), 4]
    yield "parallel_stack", lambda: tf.parallel_stack([tf.zeros([2]), tf.ones([2])])
    yield "unstack", lambda: tf.unstack(grid)
    yield "unstack axis", lambda: tf.unstack(fed(grid, [None, 4]), axis=-1)
    yield "unstack num", lambda: tf.unstack(fed(grid), num=3)
    yield "unstack unknown", lambda: tf.unstack(fed(grid, [None, 4]))
    yield "unstack wrong num", lambda: tf.unstack(fed(grid), num=2)
    yield "split", lambda: tf.split(grid, 2, axis=1)
    yield "split sizes", lambda: tf.split(grid, [1, 3], 1)
    yield "split open size", lambda: tf.split(fed(grid, [None, 4]), [1, -1, 2], axis=1)
    yield "split unknown sizes", lambda: tf.split(grid, fed(np.array([1, 3], np.int32)), 1, num=2)
    yield "split bad", lambda: tf.split(grid, 3, axis=1)
    yield "split bad sizes", lambda: tf.split(grid, [1, 2], 1)
    yield "split gradient", lambda: (lambda x: tf.gradients(tf.split(x, 2, 1)[0], x))(tf.zeros([3, 4]))
    yield "unstack gradient", lambda: (lambda x: tf.gradients(tf.unstack(x)[1], x))(tf.zeros([3, 4]))

    # padding
    yield "pad", lambda: tf.pad(grid, [[1, 0], [2, 1]])
    yield "pad value", lambda: tf.pad(grid, [[1, 0], [2, 1]], constant_values=-1.0)
    yield "pad reflect", lambda: tf.pad(grid, [[2, 1], [3, 0]], "REFLECT")
    yield "pad symmetric", lambda: tf.pad(grid, [[2, 3], [0, 4]], mode="symmetric")
    yield "pad unknown", lambda: tf.pad(fed(grid, [None, 4]), [[1, 0], [2, 1]])
    yield "pad int", lambda: tf.pad([1, 2], [[1, 1]])
    yield "pad bad rank", lambda: tf.pad(grid, [[1, 1]])
    yield "pad too much", lambda: tf.pad(fed(grid), [[3, 0], [0, 0]], "REFLECT")
    yield "pad bad mode", lambda: tf.pad(grid, [[1, 0], [2, 1]], "WRAP")
    yield "pad gradients", lambda: [
        unnamed(tf.gradients(tf.pad(x, [[1, 0], [2, 1]], mode) * np.arange(28, dtype=np.float32).reshape(4, 7), x))
        for mode in ("CONSTANT", "REFLECT", "SYMMETRIC") for x in [tf.constant(grid)]]
    yield "pad value gradient", lambda: (lambda x: unnamed(tf.gradients(tf.pad(x, [[1, 0], [2, 1]], constant_values=2.0), x)))(tf.constant(grid))

    # moving
    yield "transpose", lambda: [tf.transpose(grid), tf.transpose(cube, [2, 0, 1]), tf.transpose(fed(grid))]
    yield "transpose partly known", lambda: tf.transpose(fed(cube, [None, 3, None]), [1, 2, 0])
    yield "transpose conjugate", lambda: tf.transpose(tf.constant(np.array([[1 + 1j, 2j]], np.complex64)), conjugate=True)
    yield "transpose bad", lambda: tf.transpose(grid, [0, 1, 2])
    yield "transpose twice", lambda: tf.transpose(fed(grid), [0, 0])
    yield "transpose gradient", lambda: (lambda x: tf.gradients(tf.transpose(x, [2, 0, 1])[0], x))(tf.constant(cube))
    yield "matrix_transpose", lambda: [tf.matrix_transpose(cube), tf.matrix_transpose(fed(cube))]
    yield "matrix_transpose bad", lambda: tf.matrix_transpose([1.0, 2.0])
    yield "invert_permutation", lambda: tf.invert_permutation([2, 0, 1])
    yield "invert_permutation bad", lambda: tf.invert_permutation(fed(np.array([2, 2, 1], np.int32)))
    yield "reverse", lambda: [tf.reverse(grid, [0]), tf.reverse(grid, [-1]), tf.reverse(grid, [0, 1]), tf.reverse(grid, [])]
    yield "reverse bad", lambda: tf.reverse(grid, [2])
    yield "reverse strings", lambda: tf.reverse(["a", "b"], [0])
    yield "reverse_sequence", lambda: tf.reverse_sequence(cube, [1, 3], seq_axis=1, batch_axis=0)
    yield "reverse_sequence other axes", lambda: tf.reverse_sequence(cube, [1, 2, 0, 2], seq_dim=0, batch_dim=2)
    yield "reverse_sequence gradient", lambda: (lambda x: tf.gradients(tf.reverse_sequence(x, [1, 3], seq_axis=1)[:, 0], x))(tf.constant(cube))
    yield "roll", lambda: [tf.roll(grid, 1, 0), tf.roll(grid, [1, -6], [0, 1])]
    yield "tile", lambda: [tf.tile(grid, [2, 1]), tf.tile([1, 2], [3]), tf.tile(fed(grid, [None, 4]), [1, 2]), tf.tile(grid, [0, 1])]
    yield "tile bad", lambda: tf.tile(grid, [2])
    yield "tile gradient", lambda: (lambda x: tf.gradients(tf.tile(x, [2, 3])[1:], x))(tf.constant(grid))
    yield "broadcast_to", lambda: [tf.broadcast_to([1, 2], [3, 2]), tf.broadcast_to(fed(grid[:, :1]), [2, 3, 2])]
    yield "broadcast_to bad", lambda: tf.broadcast_to([1, 2], [3, 3])
    yield "broadcast_to gradient", lambda: (lambda x: tf.gradients(tf.broadcast_to(x, [2, 3, 4]), x))(tf.ones([3, 1]))
    yield "meshgrid", lambda: [tf.meshgrid([1, 2], [3, 4, 5]), tf.meshgrid([1, 2], [3, 4, 5], indexing="ij"), tf.meshgrid([1.0, 2.0])]
    yield "meshgrid bad", lambda: tf.meshgrid([1, 2], indexing="no")
    yield "sequence_mask", lambda: [
        tf.sequence_mask([1, 3, 0], 4), tf.sequence_mask([1, 3, 0]), tf.identity(tf.sequence_mask([[1], [2]], dtype=tf.float32))]
    yield "sequence_mask unknown", lambda: tf.sequence_mask(fed(np.array([1, 2]), [None]), maxlen=fed(np.int32(3), []))
    yield "repeat", lambda: unnamed([tf.repeat([1, 2], 2), tf.repeat(grid, 2, axis=1), tf.repeat(grid, [1, 0, 2], axis=0)])

    # passing on
    yield "stop_gradient", lambda: (lambda x: tf.gradients(x * tf.stop_gradient(x), x))(tf.constant([2.0, 3.0]))
    yield "check_numerics", lambda: tf.check_numerics([1.0], "fine")
    yield "check_numerics NaN", lambda: tf.check_numerics(fed(np.float32([1.0, np.nan])), "bad")
    yield "check_numerics both", lambda: tf.check_numerics(fed(np.float32([np.inf, np.nan])), "bad")
    yield "identity_n", lambda: tf.identity_n([1, 2.0, "x"])
    yield "ensure_shape", lambda: tf.ensure_shape(fed(grid), [None, 4])
    yield "ensure_shape bad", lambda: tf.ensure_shape(fed(grid), [None, 5])
    yield "guarantee_const", lambda: tf.guarantee_const([1.0])
