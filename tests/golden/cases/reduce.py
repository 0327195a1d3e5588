"""Reductions, scans, sequences, segments, counts, clipping."""

MATRIX = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[-5.0, 6.0], [0.5, 8.0]], [[0.25, 1.0], [2.0, 3.0]]]


def named(tf, tensors):
    """Names for gradients: which node computes a gradient is Penstock's own affair."""
    return [tf.identity(tensor, name="value") for tensor in tensors]


def first_and_second(tf, function, *values):
    """The value of a function, its gradients, and the gradients of the sum of their squares."""
    xs = [tf.constant(value) for value in values]
    y = function(*xs)
    first = tf.gradients(y, xs)
    known = [g for g in first if g is not None]
    second = tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in known]), xs)
    return named(tf, [y] + known + [g for g in second if g is not None])


def cases(tf, np):
    """(name, function) pairs."""
    yield from reductions(tf, np)
    yield from composites(tf, np)
    yield from scans(tf, np)
    yield from sequences(tf, np)
    yield from segments(tf, np)
    yield from counts(tf, np)
    yield from clipping(tf, np)
    yield "names of lists", lambda: names_of_lists(tf)


def reductions(tf, np):
    """tf.reduce_* and argmax."""
    for name in ["reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min"]:
        f = getattr(tf, name)
        yield name, lambda f=f: [f(CUBE), f(CUBE, 0), f(CUBE, [0, 2]), f(CUBE, -1), f(CUBE, [1], keepdims=True), f(CUBE, [])]
        yield name + " keepdims", lambda f=f: [f(MATRIX, keepdims=True), f(MATRIX, keep_dims=True), f(MATRIX, reduction_indices=[1])]
        yield name + " names", lambda f=f: [f(MATRIX, name="n"), f(MATRIX), f(tf.constant(MATRIX), 1)]
        yield name + " of ints", lambda f=f: [f([[1, 2], [-3, 5]], 0), f(tf.constant([[1, 2], [3, 5]], tf.int64))]
        yield name + " of nothing", lambda f=f: [f(tf.zeros([0, 2]), 0), f(tf.zeros([2, 0]), 0)]
        yield name + " of halves", lambda f=f: f(tf.constant([0.5, 0.25, 2.0], tf.float16))
        yield name + " gradients", lambda f=f: first_and_second(tf, lambda x: tf.square(f(x, 1)), MATRIX)
        yield name + " gradients keepdims", lambda f=f: first_and_second(tf, lambda x: f(x * x, [0, 2], keepdims=True), CUBE)
    yield "sum of bytes", lambda: [tf.reduce_sum(tf.constant([200, 100], tf.uint8)), tf.reduce_sum(tf.constant([100, 100], tf.int8))]
    yield "sum of unknown axes", lambda: tf.reduce_sum(CUBE, tf.placeholder_with_default([0, 2], [None]))
    yield "sum of unknown shape", lambda: tf.reduce_sum(tf.placeholder_with_default(MATRIX, None))
    yield "sum of unknown shape, axis", lambda: tf.reduce_sum(tf.placeholder_with_default(MATRIX, None), 1)
    yield "sum of partly known shape", lambda: tf.reduce_sum(tf.placeholder_with_default(MATRIX, [None, 3]), 0, keepdims=True)
    yield "unknown shape gradients", lambda: unknown_gradients(tf)
    yield "bad axis", lambda: tf.reduce_sum(MATRIX, 2)
    yield "both names", lambda: tf.reduce_sum(MATRIX, keepdims=True, keep_dims=True)
    yield "all", lambda: [tf.reduce_all([[True, False], [True, True]], a) for a in (None, 0, 1)]
    yield "any", lambda: [tf.reduce_any([[False, False], [True, False]], a, keepdims=True) for a in (None, 0, 1)]
    yield "all of nothing", lambda: [tf.reduce_all(tf.zeros([0], tf.bool)), tf.reduce_any(tf.zeros([0], tf.bool))]
    yield "all of floats", lambda: tf.reduce_all([1.0])
    yield "prod with zeros", lambda: named(tf, [tf.gradients(tf.reduce_prod(x, 1), x)[0] for x in [tf.constant([[0.0, 2.0, 3.0], [0.0, 0.0, 5.0]])]])
    yield "max with ties", lambda: named(tf, [tf.gradients(tf.reduce_max(x), x)[0] for x in [tf.constant([1.0, 3.0, 3.0])]])
    yield "argmax", lambda: [tf.argmax(MATRIX), tf.argmax(MATRIX, 1), tf.argmax(MATRIX, -1), tf.argmax(MATRIX, dimension=1)]
    yield "argmin", lambda: [tf.argmin(MATRIX), tf.argmin(MATRIX, 1, output_type=tf.int32), tf.argmin([1, 0, 0])]
    yield "arg_max", lambda: [tf.arg_max(MATRIX, 0), tf.arg_min(MATRIX, 0)]
    yield "argmax of a bad axis", lambda: tf.argmax(MATRIX, 2)
    yield "euclidean norm", lambda: [tf.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]]), tf.math.reduce_euclidean_norm([[3.0, 4.0]], 1)]


def unknown_gradients(tf):
    """Gradients of reductions whose shapes are only known at run time."""
    x = tf.placeholder_with_default(CUBE, None)
    axes = tf.placeholder_with_default([0, -1], [None])
    ys = [tf.reduce_sum(x * x, axes), tf.reduce_mean(x * x, [1]), tf.reduce_max(x), tf.reduce_prod(x, axes), tf.reduce_prod(x)]
    return named(tf, [tf.gradients(y, x)[0] for y in ys])


def composites(tf, np):
    """Composed reductions."""
    yield "logsumexp", lambda: [tf.reduce_logsumexp(MATRIX), tf.reduce_logsumexp(MATRIX, 1), tf.reduce_logsumexp(MATRIX, 0, keepdims=True)]
    yield "logsumexp of extremes", lambda: [tf.reduce_logsumexp([1000.0, 1000.0]), tf.reduce_logsumexp([-np.inf, -np.inf])]
    yield "logsumexp gradients", lambda: first_and_second(tf, lambda x: tf.reduce_logsumexp(x, 1), MATRIX)
    yield "variance", lambda: [tf.math.reduce_variance(MATRIX), tf.math.reduce_variance(MATRIX, 1, True), tf.math.reduce_std(MATRIX, 0)]
    yield "variance of ints", lambda: tf.math.reduce_variance([1, 2])
    yield "count_nonzero", lambda: [tf.count_nonzero([[0, 1], [2, 0]]), tf.count_nonzero([[0.0, 1.0]], 1), tf.count_nonzero([0, 1], dtype=tf.int32)]
    yield "count_nonzero of strings", lambda: tf.count_nonzero(["", "a", "b"])
    yield "count_nonzero of bools", lambda: tf.count_nonzero([True, False, True], keepdims=True)
    yield "zero_fraction", lambda: [tf.nn.zero_fraction([0.0, 1.0, 0.0, 2.0]), tf.math.zero_fraction([0, 1])]


def scans(tf, np):
    """Cumulative sums and products."""
    for name in ["cumsum", "cumprod"]:
        f = getattr(tf, name)
        yield name, lambda f=f: [f(MATRIX), f(MATRIX, 1), f(MATRIX, -1, exclusive=True), f(MATRIX, 1, reverse=True),
                                 f(MATRIX, 0, exclusive=True, reverse=True)]
        yield name + " of ints", lambda f=f: f([1, 2, 3, 4], name="n")
        yield name + " gradients", lambda f=f: first_and_second(tf, lambda x: tf.square(f(x, 1, exclusive=True)), MATRIX)
        yield name + " reverse gradients", lambda f=f: first_and_second(tf, lambda x: tf.square(f(x, 0, reverse=True)), MATRIX)
    yield "cumsum of a bad axis", lambda: tf.cumsum(MATRIX, 2)
    yield "cumulative_logsumexp", lambda: [tf.math.cumulative_logsumexp(MATRIX, 1), tf.math.cumulative_logsumexp(MATRIX, 1, reverse=True)]
    yield "cumulative_logsumexp exclusive", lambda: tf.math.cumulative_logsumexp(MATRIX, 1, exclusive=True)
    yield "cumulative_logsumexp gradient", lambda: named(tf, [
        tf.gradients(tf.square(tf.math.cumulative_logsumexp(x, 1)), x)[0] for x in [tf.constant(MATRIX)]])


def sequences(tf, np):
    """Ranges and evenly spaced values."""
    yield "range", lambda: [tf.range(5), tf.range(1, 5), tf.range(1, 10, 3), tf.range(5, 0, -2), tf.range(3, 3)]
    yield "range of floats", lambda: [tf.range(3.0), tf.range(0.0, 1.0, 0.25), tf.range(1, 2.5), tf.range(0.5, -1, -0.5)]
    yield "range of a type", lambda: [tf.range(3, dtype=tf.int64), tf.range(0, 3, dtype=tf.float32), tf.range(3, name="r")]
    yield "range of a tensor", lambda: [tf.range(tf.placeholder_with_default(3, [])), tf.range(tf.constant(3, tf.int64))]
    yield "range the wrong way", lambda: tf.range(5, 0)
    yield "range without steps", lambda: tf.range(0, 5, tf.placeholder_with_default(0, []))
    yield "linspace", lambda: [tf.linspace(0.0, 1.0, 5), tf.lin_space(10.0, 12.0, 3, name="s"), tf.linspace(1.0, 2.0, 1)]
    yield "linspace of no points", lambda: tf.linspace(0.0, 1.0, 0)


def segments(tf, np):
    """Reductions over segments."""
    data, ids = [[1.0, 2.0], [3.0, -4.0], [5.0, 6.0], [-7.0, 8.0]], [0, 0, 2, 2]
    unsorted = [2, 0, -1, 2]
    for name in ["sum", "mean", "prod", "max", "min"]:
        f = getattr(tf, "segment_" + name)
        yield "segment_" + name, lambda f=f: [f(data, ids), f([1, 2, 3, 4], ids), f(tf.zeros([0, 2]), tf.zeros([0], tf.int64))]
    for name in ["sum", "mean", "max", "min"]:
        f = getattr(tf, "segment_" + name)
        yield f"segment_{name} gradients", lambda f=f: named(tf, [
            tf.gradients(tf.square(f(x, ids)), x)[0] for x in [tf.constant(data)]])
    for name in ["sum", "mean", "prod", "max", "min", "sqrt_n"]:
        f = getattr(tf, "unsorted_segment_" + name)
        yield "unsorted_segment_" + name, lambda f=f: [f(data, unsorted, 4), f(data, [0, 1, 2, 3], 4)]
        yield f"unsorted_segment_{name} gradients", lambda f=f: named(tf, [
            tf.gradients(tf.gather(f(x, unsorted, 3), [0, 2]), x)[0] for x in [tf.constant(data)]])
    yield "unsorted segments of a matrix", lambda: tf.unsorted_segment_sum(data, [[0, 1], [1, 0], [2, 2], [-1, 0]], 3)
    yield "unsorted segment products with zeros", lambda: named(tf, [
        tf.gradients(tf.unsorted_segment_prod(x, [0, 0, 1, 1], 2), x)[0] for x in [tf.constant([0.0, 2.0, 0.0, 0.0])]])
    yield "segments out of order", lambda: tf.segment_sum(data, [0, 2, 1, 3])
    yield "segments below zero", lambda: tf.segment_sum(data, [-1, 0, 1, 2])
    yield "unsorted segment out of range", lambda: tf.unsorted_segment_sum(data, [0, 1, 2, 5], 4)
    for name in ["sum", "mean", "sqrt_n"]:
        f = getattr(tf, "sparse_segment_" + name)
        yield "sparse_segment_" + name, lambda f=f: [f(data, [3, 0, 1], [0, 0, 2]), f(data, [3, 0, 1], [0, 0, 2], num_segments=5)]
        yield f"sparse_segment_{name} gradients", lambda f=f: named(tf, [
            tf.gradients(tf.square(f(x, [3, 0, 3], [0, 0, 2])), x)[0] for x in [tf.constant(data)]])
    yield "sparse segment index out of range", lambda: tf.sparse_segment_sum(data, [0, 4], [0, 1])
    yield "sparse segments out of order", lambda: tf.sparse_segment_sum(data, [0, 1], [1, 0])


def counts(tf, np):
    """Histograms, bins, confusion matrices."""
    yield "bincount", lambda: [tf.bincount([1, 1, 3]), tf.bincount([1, 1, 3], weights=[1.0, 2.0, 3.0]), tf.bincount([[1], [5]])]
    yield "bincount lengths", lambda: [tf.bincount([1, 1, 3], minlength=6), tf.bincount([1, 1, 3], maxlength=2), tf.bincount([1], dtype=tf.float32)]
    yield "bincount below zero", lambda: tf.bincount([-1])
    yield "histogram", lambda: [tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5),
                                tf.histogram_fixed_width([1, 2, 3, 4], [0, 5], 5, dtype=tf.int64)]
    yield "histogram of a bad range", lambda: tf.histogram_fixed_width([1.0], [5.0, 5.0])
    yield "histogram bins", lambda: tf.histogram_fixed_width_bins([[-1.0, 0.0, 1.5], [2.0, 5.0, 15.0]], [0.0, 5.0], nbins=5)
    yield "confusion matrix", lambda: [tf.confusion_matrix([1, 2, 4], [2, 2, 4]), tf.confusion_matrix([0, 1], [1, 1], num_classes=3)]
    yield "confusion matrix with weights", lambda: tf.confusion_matrix([0, 1, 1], [1, 1, 1], weights=[1.0, 2.0, 3.0], dtype=tf.float32)
    yield "confusion matrix of a column", lambda: tf.confusion_matrix([[1], [2], [4]], [2, 2, 4])
    yield "confusion matrix below zero", lambda: tf.confusion_matrix([0, 1], [1, -1])
    yield "confusion matrix out of range", lambda: tf.confusion_matrix([0, 4], [1, 1], num_classes=3)


def clipping(tf, np):
    """Values and norms."""
    yield "clip_by_value", lambda: [
        tf.clip_by_value(MATRIX, -2.0, 3.0), tf.clip_by_value([1, 5, 9], 2, 6), tf.clip_by_value(MATRIX, [0.0, 1.0, 2.0], 4.0)]
    yield "clip_by_value that broadcasts", lambda: tf.clip_by_value([1.0], [0.0, 1.0], 4.0)
    yield "clip_by_value gradients", lambda: named(tf, [tf.gradients(tf.clip_by_value(x, -2.0, 3.0), x)[0] for x in [tf.constant(MATRIX)]])
    yield "clip_by_norm", lambda: [tf.clip_by_norm([3.0, 4.0], 2.0), tf.clip_by_norm([3.0, 4.0], 10.0), tf.clip_by_norm([0.0, 0.0], 1.0)]
    yield "clip_by_norm with axes", lambda: tf.clip_by_norm([[3.0, 4.0], [6.0, 8.0]], 2.0, axes=[1])
    yield "clip_by_norm gradients", lambda: named(tf, [
        tf.gradients(tf.clip_by_norm(x, 2.0), x)[0] for x in [tf.constant([3.0, 4.0]), tf.constant([0.0, 0.0])]])
    yield "clip_by_norm of slices", lambda: tf.clip_by_norm(tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1])), 2.0).values
    yield "clip_by_average_norm", lambda: [tf.clip_by_average_norm([3.0, 4.0], 1.0), tf.clip_by_average_norm([3.0, 4.0], 9.0)]
    yield "global_norm", lambda: [tf.global_norm([tf.constant([3.0]), None, tf.constant([[4.0]])]), tf.global_norm([])]
    yield "clip_by_global_norm", lambda: [
        x for x in [tf.clip_by_global_norm([tf.constant([3.0, 4.0]), None, tf.constant([12.0])], 2.0)]]
    yield "clip_by_global_norm below", lambda: tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 20.0)
    yield "clip_by_global_norm of infinity", lambda: tf.clip_by_global_norm([tf.constant([3.0, np.inf])], 2.0)
    yield "clip_by_global_norm of slices", lambda: tf.clip_by_global_norm(
        [tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1])), tf.constant([12.0])], 2.0)[0][0].values
    yield "clip_by_global_norm with a norm", lambda: tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 2.0, use_norm=tf.constant(10.0), name="c")
    yield "clip_by_global_norm of a tensor", lambda: tf.clip_by_global_norm(tf.constant([3.0]), 2.0)


def names_of_lists(tf):
    """The nodes that lists with tensors become as arguments, and the order in which they are made."""
    a, b, i = tf.constant(1.0), tf.constant(2.0), tf.constant(1)
    tf.reduce_sum([a, b])
    tf.reduce_mean([1.0, 2.0])
    tf.reduce_all([a > b, b > a])
    tf.matmul([[a, b], [1.0, 2.0]], [[b], [a]])
    tf.pad([[a]], [[i, 0], [0, 0]])
    tf.one_hot([i, 0], 3, dtype=tf.float32)
    tf.gather_nd([a, b], [[i]])
    tf.where([a > b, b > a])
    tf.norm([a, b])
    tf.nn.softmax([[a, b]])
    return [tf.constant([op.type + " " + op.name for op in tf.get_default_graph().get_operations()])]
