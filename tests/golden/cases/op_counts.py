"""How many operations TensorFlow makes where we make fewer: seeds that are not given follow from the number of operations before."""


def _calls(tf, np):
    for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"):
        reduction = getattr(tf, name)
        yield name + " of a variable", lambda x, v, r, reduction=reduction: reduction(v)
        yield name + " of a resource", lambda x, v, r, reduction=reduction: reduction(r)
        yield name + " of a variable, one axis", lambda x, v, r, reduction=reduction: reduction(v, 1)
        yield name + " of an array", lambda x, v, r, reduction=reduction: reduction(np.ones((2, 3), np.float32))
        yield name + " of a tensor", lambda x, v, r, reduction=reduction: reduction(x)
    yield "summaries of a variable", lambda x, v, r: tf.sqrt(tf.reduce_mean(tf.square(v - tf.reduce_mean(v))))
    yield "strided slice", lambda x, v, r: tf.strided_slice(x, [0, 1], [1, 2])
    yield "strided slice by tensors", lambda x, v, r: tf.strided_slice(x, tf.constant([0]), tf.constant([1]))
    yield "strided slice with strides", lambda x, v, r: tf.strided_slice(x, [0, 1], [1, 2], [1, 1])
    yield "meshgrid", lambda x, v, r: tf.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0])
    yield "meshgrid of three", lambda x, v, r: tf.meshgrid([1.0, 2.0], [3.0], [4.0, 5.0])
    yield "meshgrid of one", lambda x, v, r: tf.meshgrid([1.0, 2.0])
    yield "meshgrid of tensors", lambda x, v, r: tf.meshgrid(tf.range(3), tf.placeholder(tf.int32, [None]), indexing="ij")
    yield "softmax of the first axis", lambda x, v, r: tf.nn.softmax(x, 0)
    yield "softmax of an axis from the end", lambda x, v, r: tf.nn.log_softmax(x, -2)
    yield "swish", lambda x, v, r: tf.nn.swish(x)
    yield "sort", lambda x, v, r: tf.sort(x)
    yield "argsort", lambda x, v, r: tf.argsort(x, direction="DESCENDING")
    yield "sort of the first axis", lambda x, v, r: tf.sort(x, axis=0)
    images = np.ones((2, 6, 6, 4), np.float32)
    for name in ("reduce_variance", "reduce_std"):
        reduction = getattr(tf.math, name)
        yield name + " of a variable", lambda x, v, r, reduction=reduction: reduction(v)
        yield name + " of a resource", lambda x, v, r, reduction=reduction: reduction(r, 1)
        yield name + " of a tensor", lambda x, v, r, reduction=reduction: reduction(x)
        yield name + " of an array", lambda x, v, r, reduction=reduction: reduction(np.ones((2, 3), np.float32), 0, True)
    yield "clip_by_average_norm", lambda x, v, r: tf.clip_by_average_norm(x, 1.0)
    yield "clip_by_average_norm of a variable", lambda x, v, r: tf.clip_by_average_norm(v, 1.0)
    yield "percentile", lambda x, v, r: tf.contrib.distributions.percentile(x, 30.0)
    yield "percentile along axes", lambda x, v, r: tf.contrib.distributions.percentile(x, 30.0, axis=[0], interpolation="lower", keep_dims=True)
    yield "losses of a layer", lambda x, v, r: [_read_losses(tf.layers.Dense(3, kernel_regularizer=tf.nn.l2_loss), x) for _ in range(2)]
    yield "losses of a Keras layer", lambda x, v, r: _read_losses(tf.keras.layers.Dense(3, kernel_regularizer=tf.keras.regularizers.l2(0.1)), x)
    yield "rows of a resource, and their gradient", lambda x, v, r: tf.gradients(tf.gather(r, [0, 1, 1]), r)
    yield "gradients of given gradients", lambda x, v, r: tf.gradients([x * x, tf.sin(x)], x, [None, x])
    for arguments, results, variables in ((1, 1, 0), (2, 1, 0), (1, 2, 0), (2, 2, 2)):
        yield f"custom gradient of {arguments} arguments, {results} results, {variables} variables", \
            lambda x, v, r, counts=(arguments, results, variables): _custom_gradient(tf, x, *counts)
    yield "reversible block", lambda x, v, r: tf.contrib.layers.rev_block(x, x, lambda a: tf.layers.dense(a, 6), lambda a: tf.layers.dense(a, 6), 2)
    yield "unit_norm", lambda x, v, r: tf.contrib.layers.unit_norm(x, 1)
    yield "spatial_softmax", lambda x, v, r: tf.contrib.layers.spatial_softmax(tf.constant(images))


def _read_losses(layer, x):
    """Asks a layer for its losses twice."""
    layer(x)
    return [layer.losses, layer.losses]


def _custom_gradient(tf, x, arguments, results, variables):
    """The gradient of a function that has its own."""
    @tf.custom_gradient
    def function(*args):
        weights = [tf.get_variable(f"w{index}", [6], use_resource=True, initializer=tf.zeros_initializer()) for index in range(variables)]
        values = [args[0] * tf.add_n(weights) if weights else args[0] * 2.0] * results

        def gradient(*dys):
            return [dys[0]] * arguments

        def gradient_with_variables(*dys, **options):
            return [dys[0]] * arguments, [tf.reduce_sum(dys[0], 0) for _ in options["variables"]]
        return tuple(values), gradient_with_variables if variables else gradient
    with tf.variable_scope("inside", use_resource=True):
        ys = function(*[tf.identity(x) for _ in range(arguments)])
    tf.gradients(ys[0] if isinstance(ys, (list, tuple)) else ys, x)


def cases(tf, np):
    """The seed of a random op that came next."""
    for name, call in _calls(tf, np):
        def count(call=call):
            tf.set_random_seed(1)
            x, zeros = tf.placeholder(tf.float32, [2, 6]), tf.zeros_initializer()
            variable, resource = tf.get_variable("v", [2, 6], initializer=zeros), tf.get_variable("r", [2, 6], initializer=zeros, use_resource=True)
            call(x, variable, resource)
            seed = tf.compat.v1.random.get_seed(None)[1]
            return tf.constant(seed, name="seed")
        yield name, count
