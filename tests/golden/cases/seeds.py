"""Seeds that are not given: with the graph's seed alone, that of a random op is the number of nodes that there are. How many each thing leaves."""


def _after(tf, build):
    """The second seed of a random op that is made after the rest."""
    tf.compat.v1.set_random_seed(1)
    build()
    drawn = tf.random_uniform([1], name="drawn_after")
    return tf.identity(tf.constant(drawn.graph.get_operation_by_name("drawn_after/RandomUniform").get_attr("seed2")), name="output")


def _inputs(tf):
    return tf.placeholder(tf.float32, [None, 5, 3], name="inputs")


def _rnn(tf, cell, **options):
    def build():
        tf.nn.dynamic_rnn(cell(), _inputs(tf), dtype=tf.float32, **options)
    return build


def _lengths(tf):
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), _inputs(tf), tf.placeholder(tf.int32, [None]), dtype=tf.float32)


def _recurrent(tf):
    cells = tf.nn.rnn_cell
    yield "dynamic_rnn basic", _rnn(tf, lambda: cells.BasicRNNCell(4))
    yield "dynamic_rnn gru", _rnn(tf, lambda: cells.GRUCell(4))
    yield "dynamic_rnn lstm", _rnn(tf, lambda: cells.LSTMCell(4))
    yield "dynamic_rnn basic lstm", _rnn(tf, lambda: cells.BasicLSTMCell(4))
    yield "dynamic_rnn stacked", _rnn(tf, lambda: cells.MultiRNNCell([cells.GRUCell(4), cells.GRUCell(4)]))
    yield "dynamic_rnn dropout", _rnn(tf, lambda: cells.DropoutWrapper(cells.GRUCell(4), 0.5, 0.5))
    yield "dynamic_rnn time major", _rnn(tf, lambda: cells.GRUCell(4), time_major=True)
    yield "dynamic_rnn lengths", lambda: _lengths(tf)
    yield "dynamic_rnn known batch", lambda: tf.nn.dynamic_rnn(cells.GRUCell(4), tf.zeros([2, 5, 3]), dtype=tf.float32)
    yield "dynamic_rnn known batch lstm", lambda: tf.nn.dynamic_rnn(cells.LSTMCell(4), tf.zeros([2, 5, 3]), dtype=tf.float32)
    yield "dynamic_rnn known batch lengths", lambda: tf.nn.dynamic_rnn(cells.LSTMCell(4), tf.zeros([2, 5, 3]), [3, 5], dtype=tf.float32)
    yield "zero_state", lambda: cells.LSTMCell(4).zero_state(2, tf.float32)
    yield "zero_state tensor", lambda: cells.LSTMCell(4).zero_state(tf.placeholder(tf.int32, []), tf.float32)
    yield "static_rnn known batch", lambda: tf.nn.static_rnn(cells.LSTMCell(4), [tf.zeros([2, 3])] * 3, dtype=tf.float32)
    yield "static_rnn lengths", lambda: tf.nn.static_rnn(cells.GRUCell(4), [tf.zeros([2, 3])] * 3, dtype=tf.float32, sequence_length=[1, 3])
    yield "bidirectional_dynamic_rnn", lambda: tf.nn.bidirectional_dynamic_rnn(cells.GRUCell(4), cells.GRUCell(4), _inputs(tf), dtype=tf.float32)
    yield "static_rnn", lambda: tf.nn.static_rnn(cells.GRUCell(4), tf.unstack(_inputs(tf), axis=1), dtype=tf.float32)
    yield "static_rnn lstm", lambda: tf.nn.static_rnn(cells.BasicLSTMCell(4), tf.unstack(_inputs(tf), axis=1), dtype=tf.float32)


def _attention(tf):
    seq2seq = tf.contrib.seq2seq

    def memory():
        return tf.placeholder(tf.float32, [None, None, 6], name="memory")
    yield "attention bahdanau", lambda: seq2seq.BahdanauAttention(4, memory(), [1, 2])
    yield "attention bahdanau normalized", lambda: seq2seq.BahdanauAttention(4, memory(), tf.placeholder(tf.int32, [None]), normalize=True)
    yield "attention luong", lambda: seq2seq.LuongAttention(4, memory(), [1, 2])
    yield "attention without lengths", lambda: seq2seq.LuongAttention(4, memory(), scale=True)
    yield "attention monotonic", lambda: seq2seq.BahdanauMonotonicAttention(4, memory(), tf.placeholder(tf.int64, [None]))


def _rates(tf):
    train = tf.train
    yield "exponential_decay", lambda: train.exponential_decay(0.1, train.get_or_create_global_step(), 10, 0.9)
    yield "exponential_decay staircase", lambda: train.exponential_decay(0.1, train.get_or_create_global_step(), 10, 0.9, staircase=True)
    yield "piecewise_constant", lambda: train.piecewise_constant(train.get_or_create_global_step(), [10, 20], [0.1, 0.01, 0.001])
    yield "piecewise_constant one", lambda: train.piecewise_constant(train.get_or_create_global_step(), [10], [0.1, 0.01])
    yield "piecewise_constant four", lambda: train.piecewise_constant(train.get_or_create_global_step(), [1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4, 0.5])
    yield "piecewise_constant real", lambda: train.piecewise_constant(tf.placeholder(tf.float32, []), [1.0, 2.0], [1, 2, 3])
    yield "polynomial_decay", lambda: train.polynomial_decay(0.1, train.get_or_create_global_step(), 10)
    yield "polynomial_decay cycle", lambda: train.polynomial_decay(0.1, train.get_or_create_global_step(), 10, cycle=True)
    yield "natural_exp_decay", lambda: train.natural_exp_decay(0.1, train.get_or_create_global_step(), 10, 0.9)
    yield "inverse_time_decay", lambda: train.inverse_time_decay(0.1, train.get_or_create_global_step(), 10, 0.9)
    yield "cosine_decay", lambda: train.cosine_decay(0.1, train.get_or_create_global_step(), 10)
    yield "cosine_decay_restarts", lambda: train.cosine_decay_restarts(0.1, train.get_or_create_global_step(), 10)
    yield "linear_cosine_decay", lambda: train.linear_cosine_decay(0.1, train.get_or_create_global_step(), 10)
    yield "noisy_linear_cosine_decay", lambda: train.noisy_linear_cosine_decay(0.1, train.get_or_create_global_step(), 10)


def _averages(tf):
    def averaged(zero_debias, of_variable, steps):
        def build():
            average = tf.train.ExponentialMovingAverage(0.9, tf.train.get_or_create_global_step() if steps else None, zero_debias=zero_debias)
            value = tf.get_variable("v", [2]) if of_variable else tf.constant([1.0, 2.0]) * 2
            average.apply([value])
            average.average(value)
        return build

    yield "moving average of a variable", averaged(False, True, False)
    yield "moving average of variables", lambda: tf.train.ExponentialMovingAverage(0.9).apply([tf.get_variable("v", [2]), tf.get_variable("w", [3])])
    yield "moving average of a resource", lambda: tf.train.ExponentialMovingAverage(0.9).apply([tf.get_variable("v", [2], use_resource=True)])
    yield "moving average of a tensor", averaged(False, False, False)
    yield "moving average debiased", averaged(True, False, False)
    yield "moving average with steps", averaged(False, True, True)


def _images(tf):
    image = tf.image

    def single():
        return tf.placeholder(tf.float32, [8, 8, 3])

    def batch():
        return tf.placeholder(tf.float32, [None, 8, 8, 3])
    for name in ("random_flip_left_right", "random_flip_up_down"):
        yield name, lambda name=name: getattr(image, name)(single())
        yield name + " batch", lambda name=name: getattr(image, name)(batch())
    yield "random_flip unknown rank", lambda: image.random_flip_left_right(tf.placeholder(tf.float32))
    yield "flip_left_right", lambda: image.flip_left_right(single())
    yield "random_brightness", lambda: image.random_brightness(single(), 0.2)
    yield "random_contrast", lambda: image.random_contrast(single(), 0.2, 1.8)
    yield "random_hue", lambda: image.random_hue(single(), 0.2)
    yield "random_saturation", lambda: image.random_saturation(single(), 0.5, 1.5)
    yield "random_crop", lambda: tf.random_crop(single(), [4, 4, 3])
    yield "per_image_standardization", lambda: image.per_image_standardization(single())
    yield "resize_images", lambda: image.resize_images(batch(), [4, 4])
    yield "resize_image_with_crop_or_pad", lambda: image.resize_image_with_crop_or_pad(single(), 4, 10)
    yield "central_crop", lambda: image.central_crop(single(), 0.5)
    yield "pad_to_bounding_box", lambda: image.pad_to_bounding_box(single(), 1, 1, 12, 12)
    yield "adjust_brightness", lambda: image.adjust_brightness(single(), 0.1)
    yield "adjust_contrast", lambda: image.adjust_contrast(single(), 0.1)
    yield "adjust_gamma", lambda: image.adjust_gamma(single(), 0.5)
    yield "rgb_to_grayscale", lambda: image.rgb_to_grayscale(single())
    yield "total_variation", lambda: image.total_variation(batch())
    yield "convert_image_dtype", lambda: image.convert_image_dtype(tf.placeholder(tf.uint8, [8, 8, 3]), tf.float32)
    yield "sample_distorted_bounding_box", lambda: image.sample_distorted_bounding_box([8, 8, 3], [[[0.0, 0.0, 1.0, 1.0]]], min_object_covered=0.1)


def _others(tf):
    yield "one_hot", lambda: tf.one_hot(tf.placeholder(tf.int64, [None]), 3)
    yield "one_hot values", lambda: tf.one_hot(tf.placeholder(tf.int64, [None]), 3, 1.0, 0.0)
    yield "one_hot one value", lambda: tf.one_hot(tf.placeholder(tf.int64, [None]), 3, on_value=5.0)
    yield "zero_fraction", lambda: tf.nn.zero_fraction(tf.placeholder(tf.float32, [None, 3]))
    yield "zero_fraction known", lambda: tf.nn.zero_fraction(tf.placeholder(tf.float32, [2, 3]))
    yield "numpy_input_fn", lambda: _arrays(tf, 1)
    yield "numpy_input_fn many", lambda: _arrays(tf, 4, num_epochs=None)
    yield "numpy_input_fn shuffled", lambda: _arrays(tf, 2, shuffle=True)


def _variables(tf):
    """Variables where tensors are usual; dropout of nothing."""
    for kind, resource in (("reference", False), ("resource", True)):
        def variable(resource=resource):
            return tf.get_variable("v", [2], use_resource=resource)
        yield "Assert of a %s variable" % kind, lambda v=variable: tf.Assert(tf.constant(True), [v()])
        yield "reduce_mean of a %s variable" % kind, lambda v=variable: tf.reduce_mean(v())
        for name, build in _taking_a_variable(tf):
            yield "%s %s" % (name, kind), lambda v=variable, build=build: build(v())
    yield "dropout of nothing", lambda: tf.nn.dropout(_inputs(tf), 1.0)
    yield "dropout of nothing by rate", lambda: tf.nn.dropout(_inputs(tf), rate=0.0)
    yield "dropout of nothing by a tensor", lambda: tf.nn.dropout(_inputs(tf), rate=tf.constant(0.0))
    yield "layers.dropout of nothing", lambda: tf.layers.dropout(_inputs(tf), 0.0, training=True)


def _taking_a_variable(tf):
    yield "moments", lambda v: tf.nn.moments(v, [0])
    yield "clip_by_global_norm", lambda v: tf.clip_by_global_norm([v], 1.0)
    yield "clip_by_global_norm of two", lambda v: tf.clip_by_global_norm([v, v], 1.0)
    yield "metrics.mean of a variable", lambda v: tf.metrics.mean(v)
    yield "foldl", lambda v: tf.foldl(lambda a, b: a + b, v)
    yield "foldr", lambda v: tf.foldr(lambda a, b: a + b, v, initializer=tf.constant(0.0))
    yield "meshgrid", lambda v: tf.meshgrid(v, v)
    yield "cast to the same", lambda v: tf.cast(v, tf.float32)
    yield "scalar_mul", lambda v: tf.scalar_mul(2.0, v)
    yield "einsum", lambda v: tf.einsum("i,j->ij", v, v)


def _contractions(tf):
    def matrix():
        return tf.placeholder(tf.float32, [None, 3])

    def vector():
        return tf.placeholder(tf.float32, [None])

    def unknown():
        return tf.placeholder(tf.float32)
    yield "einsum of vectors", lambda: (lambda p: tf.einsum("i,i->", p, p))(vector())
    yield "einsum product", lambda: tf.einsum("ij,jk->ik", matrix(), tf.zeros([3, 4]))
    yield "einsum of rows", lambda: (lambda p: tf.einsum("ij,ij->i", p, p))(matrix())
    yield "einsum sum", lambda: tf.einsum("ij->i", matrix())
    yield "einsum transposed", lambda: tf.einsum("ij->ji", matrix())
    yield "einsum trace", lambda: tf.einsum("ii", tf.zeros([2, 2]))
    yield "einsum heads", lambda: tf.einsum("bth,hnd->btnd", tf.placeholder(tf.float32, [None, None, 4]), tf.zeros([4, 2, 3]))
    yield "einsum attention", lambda: tf.einsum("btnh,bsnh->bnts", *[tf.placeholder(tf.float32, [None, None, 2, 3]) for _ in range(2)])
    yield "einsum of heads back", lambda: tf.einsum("btnd,ndh->bth", tf.placeholder(tf.float32, [None, 5, 2, 3]), tf.zeros([2, 3, 4]))
    yield "einsum known", lambda: tf.einsum("abc,cd->dab", tf.zeros([2, 3, 4]), tf.zeros([4, 5]))
    yield "einsum of three", lambda: tf.einsum("ij,jk,kl->il", matrix(), tf.zeros([3, 4]), tf.zeros([4, 2]))
    yield "einsum dropped label", lambda: tf.einsum("ij,jk->i", matrix(), tf.zeros([3, 4]))
    yield "tensordot of unknown rank", lambda: tf.tensordot(unknown(), tf.zeros([3, 4]), 1)
    yield "tensordot of two unknown ranks", lambda: tf.tensordot(unknown(), unknown(), [[0], [0]])
    yield "zero_fraction of unknown rank", lambda: tf.nn.zero_fraction(unknown())


def _images_of_unknown_extents(tf):
    image = tf.image

    def single():
        return tf.placeholder(tf.float32, [None, None, 3])
    for name in ("flip_left_right", "flip_up_down", "random_flip_left_right", "random_flip_up_down", "transpose_image", "rot90",
                 "per_image_standardization"):
        yield name + " of unknown extents", lambda name=name: getattr(image, name)(single())
    yield "rot90 of known extents", lambda: image.rot90(tf.zeros([4, 5, 3]), 3)


def _shapes_of_tensors(tf):
    def number():
        return tf.placeholder(tf.int32, [])

    def rows():
        return tf.placeholder(tf.float32, [None, 3])
    yield "zeros of a number", lambda: tf.zeros([number()])
    yield "zeros of a number and 3", lambda: tf.zeros([number(), 3])
    yield "zeros of 3 and a number", lambda: tf.zeros((3, number()))
    yield "zeros of two numbers", lambda: tf.zeros([number(), number()])
    yield "zeros of four extents", lambda: tf.zeros([2, 3, number(), 4])
    yield "zeros of the extent of a batch", lambda: tf.zeros([tf.shape(rows())[0], 4])
    yield "zeros of a stack", lambda: tf.zeros(tf.stack([number(), 3]))
    yield "ones of a number and 3", lambda: tf.ones([number(), 3], tf.int32)
    yield "fill", lambda: tf.fill([number(), 3], 0.0)
    yield "boolean_mask", lambda: tf.boolean_mask(rows(), tf.placeholder(tf.bool, [None]))
    yield "boolean_mask of a list", lambda: tf.boolean_mask(tf.zeros([2, 3]), [True, False])
    yield "boolean_mask of two axes", lambda: tf.boolean_mask(tf.zeros([2, 3, 4]), tf.placeholder(tf.bool, [2, 3]))
    yield "boolean_mask of axis 1", lambda: tf.boolean_mask(rows(), tf.placeholder(tf.bool, [3]), axis=1)
    yield "sequence_mask", lambda: tf.sequence_mask(tf.placeholder(tf.int32, [None]), number())
    yield "sequence_mask int64", lambda: tf.sequence_mask(tf.placeholder(tf.int64, [None]), 5)
    yield "sequence_mask of the longest", lambda: tf.sequence_mask(tf.placeholder(tf.int32, [None]), dtype=tf.float32)
    yield "mean_per_class_accuracy", lambda: tf.metrics.mean_per_class_accuracy(*[tf.placeholder(tf.int64, [None]) for _ in range(2)], num_classes=3)


def _sampled_losses(tf):
    def loss(name, num_true=1, shape=(None,), **options):
        def build():
            labels, inputs = tf.placeholder(tf.int64, [*shape, num_true]), tf.placeholder(tf.float32, [*shape, 3])
            getattr(tf.nn, name)(tf.get_variable("w", [20, 3]), tf.get_variable("b", [20]), labels, inputs, 5, 20, num_true, **options)
        return build
    for name in ("nce_loss", "sampled_softmax_loss"):
        yield name, loss(name)
        yield name + " known", loss(name, shape=(4,))
        yield name + " of two", loss(name, num_true=2)
        for hits in (False, True):
            yield "%s hits %s" % (name, hits), loss(name, remove_accidental_hits=hits)


def _arrays(tf, number, **options):
    import numpy as np
    options.setdefault("shuffle", False)
    tf.estimator.inputs.numpy_input_fn({"x%d" % each: np.zeros([4, 2], np.float32) for each in range(number)}, np.zeros(4, np.int64), 2, **options)()


def _losses(tf):
    losses = tf.losses

    def pair(shape=(None, 3)):
        return tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, shape)
    for name in ("absolute_difference", "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error", "mean_squared_error",
                 "sigmoid_cross_entropy", "softmax_cross_entropy"):
        yield name, lambda name=name: getattr(losses, name)(*pair())
        yield name + " known", lambda name=name: getattr(losses, name)(*pair([4, 3]))
    yield "cosine_distance", lambda: losses.cosine_distance(*pair(), axis=1)
    yield "sparse_softmax_cross_entropy", lambda: losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32,
                                                                                                                                       [None, 3]))
    yield "weighted loss", lambda: losses.mean_squared_error(*pair(), weights=tf.placeholder(tf.float32, [None, 1]))
    yield "weighted loss scalar", lambda: losses.mean_squared_error(*pair(), weights=0.5)
    yield "weighted loss known", lambda: losses.mean_squared_error(*pair([4, 3]), weights=tf.placeholder(tf.float32, [4, 1]))
    yield "weighted loss scalar tensor", lambda: losses.mean_squared_error(*pair(), weights=tf.placeholder(tf.float32, []))
    yield "weighted softmax", lambda: losses.softmax_cross_entropy(*pair(), weights=tf.placeholder(tf.float32, [None]))
    yield "weighted sparse softmax", lambda: losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int64, [None]), pair()[0],
                                                                               weights=tf.placeholder(tf.float32, [None]))
    yield "weighted loss unknown", lambda: losses.mean_squared_error(*pair(None), weights=tf.placeholder(tf.float32))
    for reduction in sorted(set(losses.Reduction.all())):
        yield "reduction " + reduction, lambda reduction=reduction: losses.mean_squared_error(*pair(), reduction=reduction)
    yield "total loss", lambda: (losses.mean_squared_error(*pair()), losses.get_total_loss())
    yield "l2_loss", lambda: tf.nn.l2_loss(pair()[0])
    yield "sparse_softmax with logits", lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.placeholder(tf.int64, [None]),
                                                                                             logits=pair()[0])
    yield "softmax v1 with logits", lambda: tf.nn.softmax_cross_entropy_with_logits(labels=pair()[0], logits=pair()[0])
    yield "weighted_cross_entropy", lambda: tf.nn.weighted_cross_entropy_with_logits(*pair(), 2.0)
    yield "log_poisson_loss", lambda: tf.nn.log_poisson_loss(*pair(), compute_full_loss=True)


def _metrics(tf):
    metrics = tf.metrics

    def pair():
        return tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])

    def classes():
        return tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    for name in ("auc", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "precision", "recall", "true_positives",
                 "false_positives", "true_negatives", "false_negatives"):
        yield "metrics " + name, lambda name=name: getattr(metrics, name)(*pair())
    yield "metrics accuracy", lambda: metrics.accuracy(*classes())
    yield "metrics accuracy weights", lambda: metrics.accuracy(*classes(), weights=tf.placeholder(tf.float32, [None]))
    yield "metrics mean", lambda: metrics.mean(pair()[0])
    yield "metrics mean weights", lambda: metrics.mean(*pair())
    yield "metrics mean_tensor", lambda: metrics.mean_tensor(tf.placeholder(tf.float32, [3]))
    yield "metrics mean_iou", lambda: metrics.mean_iou(*classes(), num_classes=3)
    yield "metrics mean_relative_error", lambda: metrics.mean_relative_error(*pair(), normalizer=pair()[0])
    yield "metrics mean_cosine_distance", lambda: metrics.mean_cosine_distance(*[tf.placeholder(tf.float32, [4, 3]) for _ in range(2)], dim=1)
    yield "metrics percentage_below", lambda: metrics.percentage_below(pair()[0], 0.5)

    def ranked():
        return tf.placeholder(tf.int64, [None, 1]), tf.placeholder(tf.float32, [None, 3]), 2
    for name in ("precision_at_k", "recall_at_k", "average_precision_at_k"):
        yield "metrics " + name, lambda name=name: getattr(metrics, name)(*ranked())
    for name in ("precision_at_top_k", "recall_at_top_k"):
        yield "metrics " + name, lambda name=name: getattr(metrics, name)(tf.placeholder(tf.int64, [None, 1]), tf.placeholder(tf.int64, [None, 2]), 2)
    yield "metrics precision_at_k of a class", lambda: metrics.precision_at_k(*ranked(), class_id=1)
    yield "metrics sensitivity_at_specificity", lambda: metrics.sensitivity_at_specificity(*pair(), specificity=0.5)
    yield "metrics precision_at_thresholds", lambda: metrics.precision_at_thresholds(*pair(), thresholds=[0.2, 0.8])
    yield "metrics recall_at_thresholds", lambda: metrics.recall_at_thresholds(*pair(), thresholds=[0.2, 0.8])


def cases(tf, np):
    """What is made, and the seed of what is made after it."""
    for family in (_recurrent, _attention, _rates, _averages, _images, _others, _losses, _metrics, _shapes_of_tensors, _sampled_losses,
                   _variables, _contractions, _images_of_unknown_extents):
        for name, build in family(tf):
            yield name, lambda build=build: _after(tf, build)
