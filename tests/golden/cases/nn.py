"""Activations, softmax, cross entropies, bias, dropout, normalization."""


def cases(tf, np):
    random = np.random.RandomState(7)
    x = random.standard_normal((3, 4)).astype(np.float32)
    images = random.standard_normal((2, 3, 3, 4)).astype(np.float32)
    special = np.array([-np.inf, -100.0, -20.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 5.5, 20.0, 100.0, np.inf], np.float32)
    finite = special[1:-1]

    def gradient(function, *values):
        def build():
            xs = [tf.constant(value) for value in values]
            y = function(*xs)
            return tf.gradients(tf.square(y), xs)
        return build

    def second(function, *values):
        def build():
            xs = [tf.constant(value) for value in values]
            first = tf.gradients(tf.square(function(*xs)), xs)
            return [g + 0.0 for g in tf.gradients([tf.square(g) for g in first], xs)]
        return build

    for name in ("relu", "relu6", "elu", "selu", "softplus", "softsign", "leaky_relu"):
        yield name, lambda name=name: getattr(tf.nn, name)(x)
        yield name + " of special values", lambda name=name: getattr(tf.nn, name)(finite)
        yield name + " named", lambda name=name: getattr(tf.nn, name)(tf.constant(x), name="act")
        yield name + " half", lambda name=name: getattr(tf.nn, name)(x.astype(np.float16))
        yield name + " double", lambda name=name: getattr(tf.nn, name)(x.astype(np.float64))
        yield name + " gradient", gradient(getattr(tf.nn, name), x)
        if name != "softsign":
            yield name + " second order", second(getattr(tf.nn, name), x)
    for name in ("relu", "relu6", "elu", "selu", "softplus"):
        yield name + " of infinity", lambda name=name: getattr(tf.nn, name)(np.array([-np.inf, np.inf], np.float32))
    yield "relu of integers", lambda: tf.nn.relu([-1, 0, 3])
    yield "relu of nan", lambda: tf.nn.relu(tf.constant([np.nan, 1.0, -1.0, 2.0, 3.0, -4.0, 5.0, 6.0, np.nan]))
    yield "relu6 of bytes", lambda: tf.nn.relu6(np.array([0, 3, 6, 200], np.uint8))
    yield "relu of strings", lambda: tf.nn.relu(["a"])
    yield "leaky_relu alpha", lambda: tf.nn.leaky_relu(x, alpha=0.7)
    yield "leaky_relu of integers", lambda: tf.nn.leaky_relu([-3, 4])
    yield "crelu", lambda: tf.nn.crelu(x)
    yield "crelu axis", lambda: tf.nn.crelu(x, axis=0, name="both")
    yield "swish", lambda: tf.nn.swish(tf.constant(x)) + 0.0
    yield "swish gradient", lambda: gradient(tf.nn.swish, x)()[0] + 0.0

    yield "softmax", lambda: tf.nn.softmax(x)
    yield "softmax of large values", lambda: tf.nn.softmax(x * 1000)
    yield "softmax axis 0", lambda: tf.nn.softmax(x, axis=0)
    yield "softmax axis -2", lambda: tf.nn.softmax(images, axis=-2)
    yield "softmax dim 1, named", lambda: tf.nn.softmax(tf.constant(images), dim=1, name="sm")
    yield "softmax last axis by number", lambda: tf.nn.softmax(images, axis=3)
    yield "softmax of a vector", lambda: tf.nn.softmax([1.0, 2.0, 3.0])
    yield "softmax of nothing", lambda: tf.nn.softmax(np.zeros((0, 3), np.float32))
    yield "softmax bad axis", lambda: tf.nn.softmax(x, axis=2)
    yield "softmax of a scalar", lambda: tf.nn.softmax(1.0)
    yield "softmax half", lambda: tf.nn.softmax(x.astype(np.float16))
    yield "softmax gradient", gradient(tf.nn.softmax, x)
    yield "softmax second order", second(tf.nn.softmax, x)
    yield "log_softmax", lambda: tf.nn.log_softmax(x)
    yield "log_softmax axis 1", lambda: tf.nn.log_softmax(images, axis=1)
    yield "log_softmax of large values", lambda: tf.nn.log_softmax(x * 1000)
    yield "log_softmax gradient", gradient(tf.nn.log_softmax, x)
    yield "log_softmax second order", second(tf.nn.log_softmax, x)

    labels = np.abs(x) / np.abs(x).sum(axis=1, keepdims=True)
    classes = np.array([2, 0, 3], np.int32)
    entropy = tf.nn.softmax_cross_entropy_with_logits_v2
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits
    yield "cross entropy", lambda: tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=x)
    yield "cross entropy named", lambda: tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=x, name="loss")
    yield "cross entropy v2", lambda: entropy(labels=labels, logits=x)
    yield "cross entropy v2 axis", lambda: entropy(labels=images ** 2, logits=images, axis=1)
    yield "cross entropy of a vector", lambda: entropy(labels=[0.5, 0.5], logits=[1.0, 2.0])
    yield "cross entropy of a batch of images", lambda: entropy(labels=images ** 2, logits=images)
    yield "cross entropy half", lambda: entropy(labels=labels.astype(np.float16), logits=x.astype(np.float16))
    yield "cross entropy without labels", lambda: tf.nn.softmax_cross_entropy_with_logits(logits=x)
    yield "cross entropy unknown batch", lambda: entropy(
        labels=tf.placeholder_with_default(labels, [None, 4]), logits=tf.placeholder_with_default(x, [None, 4]))
    yield "cross entropy gradient", gradient(lambda a, b: entropy(labels=a, logits=b), labels, x)
    yield "cross entropy second order", second(lambda b: entropy(labels=labels, logits=b), x)
    yield "sparse cross entropy", lambda: sparse(labels=classes, logits=x)
    yield "sparse cross entropy of images", lambda: sparse(labels=np.ones((2, 3, 3), np.int64), logits=images)
    yield "sparse cross entropy of unknown shape", lambda: sparse(
        labels=tf.placeholder_with_default(np.ones((2, 3, 3), np.int64), [None, None, 3]),
        logits=tf.placeholder_with_default(images, [None, 3, None, 4]))
    yield "sparse cross entropy half", lambda: sparse(labels=classes, logits=x.astype(np.float16))
    yield "sparse cross entropy label out of range", lambda: sparse(labels=[0, 1, 4], logits=x)
    yield "sparse cross entropy wrong rank", lambda: sparse(labels=[[0, 1, 3]], logits=x)
    yield "sparse cross entropy gradient", gradient(lambda b: sparse(labels=classes, logits=b), x)
    yield "sigmoid cross entropy", lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x)
    yield "sigmoid cross entropy of large values", lambda: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=labels, logits=x * 1000)
    yield "sigmoid cross entropy gradient", gradient(
        lambda a, b: tf.nn.sigmoid_cross_entropy_with_logits(labels=a, logits=b), labels, x)
    yield "sigmoid cross entropy at zero", gradient(
        lambda b: tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=b), np.zeros(2, np.float32))
    yield "sigmoid cross entropy wrong shape", lambda: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=labels[:2], logits=x)
    yield "weighted cross entropy", lambda: tf.nn.weighted_cross_entropy_with_logits(labels, x, 3.0)
    yield "weighted cross entropy targets", lambda: tf.nn.weighted_cross_entropy_with_logits(
        targets=labels, logits=x, pos_weight=0.5)

    yield "bias_add", lambda: tf.nn.bias_add(x, [1.0, 2.0, 3.0, 4.0])
    yield "bias_add NCHW", lambda: tf.nn.bias_add(images, [1.0, 2.0, 3.0], data_format="NCHW")
    yield "bias_add N..C", lambda: tf.nn.bias_add(images, [1.0, 2.0, 3.0, 4.0], data_format="NHWC", name="b")
    yield "bias_add wrong size", lambda: tf.nn.bias_add(x, [1.0, 2.0, 3.0])
    yield "bias_add wrong format", lambda: tf.nn.bias_add(x, [1.0, 2.0, 3.0, 4.0], data_format="HW")
    yield "bias_add gradient", gradient(tf.nn.bias_add, images, x[0])
    yield "bias_add second order", second(tf.nn.bias_add, images, x[0])
    yield "bias_add NCHW gradient", gradient(lambda a, b: tf.nn.bias_add(a, b, "NCHW"), images, x[:, 0].copy())
    yield "xw_plus_b", lambda: tf.nn.xw_plus_b(x, x.T, [1.0, 2.0, 3.0])
    yield "relu_layer", lambda: tf.nn.relu_layer(x, x.T, [1.0, 2.0, 3.0])
    yield "l2_loss", lambda: tf.nn.l2_loss(x)
    yield "l2_loss gradient", gradient(tf.nn.l2_loss, x)
    yield "l2_normalize", lambda: tf.nn.l2_normalize(x, 1)
    yield "l2_normalize dims", lambda: tf.nn.l2_normalize(images, dim=[1, 2], epsilon=0.1)
    yield "l2_normalize gradient", gradient(lambda a: tf.nn.l2_normalize(a, 0) * x, x)
    yield "log_poisson_loss", lambda: tf.nn.log_poisson_loss(labels * 5, x)
    yield "log_poisson_loss full", lambda: tf.nn.log_poisson_loss(labels * 5, x, compute_full_loss=True)
    yield "in_top_k", lambda: tf.nn.in_top_k(x, classes, 2)
    yield "in_top_k of ties and infinities", lambda: tf.nn.in_top_k(
        [[1.0, 1.0, 0.0], [np.inf, 0.0, 0.0], [np.nan, 1.0, 0.0], [1.0, 2.0, 3.0]], [1, 1, 1, 7], 1)

    for seed in (1, 42):
        yield f"dropout seed {seed}", lambda seed=seed: tf.nn.dropout(x, 0.6, seed=seed)
    yield "dropout rate", lambda: tf.nn.dropout(x, rate=0.3, seed=5, name="drop")
    yield "dropout graph seed", lambda: (tf.set_random_seed(3), tf.nn.dropout(tf.constant(x), rate=0.5))[1]
    yield "dropout noise_shape", lambda: tf.nn.dropout(images, keep_prob=0.5, noise_shape=[2, 1, 1, 4], seed=5)
    yield "dropout noise_shape with None", lambda: tf.nn.dropout(x, rate=0.5, noise_shape=[None, 1], seed=5)
    yield "dropout half", lambda: tf.nn.dropout(x.astype(np.float16), rate=0.5, seed=5)
    yield "dropout double", lambda: tf.nn.dropout(x.astype(np.float64), rate=0.5, seed=5)
    yield "dropout of nothing", lambda: tf.nn.dropout(tf.constant(x, name="x"), keep_prob=1.0)
    yield "dropout tensor", lambda: tf.nn.dropout(x, tf.constant(0.25), seed=9)
    yield "dropout bad rate", lambda: tf.nn.dropout(x, rate=1.5)
    yield "dropout of integers", lambda: tf.nn.dropout([1, 2], rate=0.5)
    yield "dropout without rate", lambda: tf.nn.dropout(x)
    yield "dropout gradient", gradient(lambda a: tf.nn.dropout(a, 0.5, seed=4), x)

    vector = np.array([0.5, 1.5, 2.0, -1.0], np.float32)
    variance = np.array([0.5, 1.5, 2.0, 1.0], np.float32)
    yield "moments", lambda: tf.nn.moments(tf.constant(images), [0, 1, 2])
    yield "moments keep_dims", lambda: tf.nn.moments(tf.constant(images), [1, 2], keep_dims=True)
    yield "moments half", lambda: tf.nn.moments(tf.constant(x, tf.float16), [0], name="m")
    yield "moments gradient", lambda: gradient(lambda a: tf.nn.moments(a, [0])[1], x)()[0] + 0.0
    yield "weighted_moments", lambda: tf.nn.weighted_moments(x, [0], np.abs(x[:, :1]))
    yield "weighted_moments keepdims", lambda: tf.nn.weighted_moments(x, [1], np.abs(x), keepdims=True)
    yield "sufficient_statistics", lambda: tf.nn.sufficient_statistics(x, [0])[:3]
    yield "sufficient_statistics shift", lambda: tf.nn.sufficient_statistics(x, [0], shift=vector, keep_dims=True)
    yield "normalize_moments", lambda: tf.nn.normalize_moments(3.0, vector, variance * 9, vector)
    yield "normalize_moments no shift", lambda: tf.nn.normalize_moments(3.0, vector, variance * 9, None)
    yield "batch_normalization", lambda: tf.nn.batch_normalization(
        tf.constant(x), vector, variance, vector, vector, 1e-3)
    yield "batch_normalization plain", lambda: tf.nn.batch_normalization(
        tf.constant(x), vector, variance, None, None, 1e-3)
    yield "batch norm global", lambda: tf.nn.batch_norm_with_global_normalization(
        tf.constant(images), tf.constant(vector), tf.constant(variance), tf.constant(vector), tf.constant(vector), 1e-3,
        True)
    yield "fused_batch_norm", lambda: tf.nn.fused_batch_norm(images, vector, vector)
    yield "fused_batch_norm inference", lambda: tf.nn.fused_batch_norm(
        images, vector, vector, vector, variance, is_training=False)[0]
    yield "fused_batch_norm half", lambda: tf.nn.fused_batch_norm(images.astype(np.float16), vector, vector)
    yield "fused_batch_norm wrong size", lambda: tf.nn.fused_batch_norm(images, vector[:3], vector)

    def batch_norm(training):
        def function(a, scale, offset):
            given = {} if training else dict(mean=vector, variance=variance)
            return tf.nn.fused_batch_norm(a, scale, offset, is_training=training, epsilon=0.01, **given)[0]
        return function

    for training in (True, False):
        yield f"fused_batch_norm gradient {training}", gradient(batch_norm(training), images, vector, variance)
        yield f"fused_batch_norm second order {training}", second(batch_norm(training), images, vector, variance)
    yield "lrn", lambda: tf.nn.lrn(images, depth_radius=1, bias=2.0, alpha=0.5, beta=0.75)
    yield "lrn defaults", lambda: tf.nn.local_response_normalization(images)
    yield "lrn gradient", gradient(lambda a: tf.nn.lrn(a, depth_radius=1, bias=2.0, alpha=0.5, beta=0.75), images)
    yield "dilation2d", lambda: tf.nn.dilation2d(images, images[0] / 4, [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    yield "dilation2d strides and rates", lambda: tf.nn.dilation2d(
        images, images[0, :2, :2] / 4, [1, 2, 1, 1], [1, 1, 2, 1], "SAME")
    yield "dilation2d gradient", gradient(
        lambda a, b: tf.nn.dilation2d(a, b, [1, 1, 1, 1], [1, 1, 1, 1], "VALID"), images, images[0, :2, :2].copy())
    yield "erosion2d", lambda: tf.nn.erosion2d(images, images[0, :2, :2] / 4, [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
