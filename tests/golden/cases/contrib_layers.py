"""tf.contrib.layers: outputs, gradients, names of variables and of ops, collections, seeded initial values, errors."""
import hashlib
import importlib


def _inside(tf, name):
    """A module inside tf.contrib.layers, which TensorFlow hides."""
    package = getattr(tf.contrib.layers, "python", None)
    return importlib.import_module("tensorflow.contrib.layers.python.layers." + name) if package is None else getattr(package.layers, name)


def _initializer(tf, np):
    """Different numbers in every place, the same under both systems."""
    def make(shape, dtype=None, partition_info=None, **_):
        shape = [int(extent) for extent in shape]
        size = int(np.prod(shape)) if shape else 1
        return tf.constant(np.sin(np.arange(size) * 1.3 + len(shape)).reshape(shape) * 0.6, dtype=dtype or tf.float32)
    return make


def _data(tf, np, *shape):
    return tf.constant(np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape), tf.float32)


def _names(tf):
    """Variables and collections, as a tensor."""
    parts = []
    for key in ("variables", "trainable_variables", "model_variables", "local_variables", "update_ops", "regularization_losses", "weights", "biases",
                "activations", "summaries", "mine", "outs"):
        parts += [key] + [element.name for element in tf.get_collection(key)]
    return tf.constant(parts, name="names")


def _ops(tf):
    """Number and hash of types and names of all ops: their number decides the seeds of later ones."""
    listed = [op.type + " " + op.name for op in tf.get_default_graph().get_operations()]
    return tf.constant([str(len(listed)), hashlib.sha256("\n".join(listed).encode()).hexdigest()], name="all_ops")


def calls(tf, np):
    """(name, function of the layer's inputs, shape of the inputs)."""
    inner = _inside(tf, "layers")
    layers = tf.contrib.layers
    w = {"weights_initializer": _initializer(tf, np)}
    norm = {"beta": tf.constant_initializer(0.3), "gamma": tf.constant_initializer(1.4)}
    both = dict(w, variables_collections={"weights": ["mine"], "biases": ["mine"]}, outputs_collections=["outs"])
    l2 = layers.l2_regularizer(0.1)
    return [
        ("fully_connected", lambda x: layers.fully_connected(x, 4, **w), [2, 3]),
        ("fully_connected rank 3", lambda x: layers.fully_connected(x, 4, tf.tanh, scope="fc", **w), [2, 3, 3]),
        ("fully_connected collections", lambda x: layers.fully_connected(x, 4, weights_regularizer=l2, biases_regularizer=l2, **both), [2, 3]),
        ("fully_connected normalized", lambda x: layers.fully_connected(
            x, 4, normalizer_fn=layers.batch_norm, normalizer_params={"scale": True, "is_training": True}, **w), [5, 3]),
        ("fully_connected without biases", lambda x: layers.fully_connected(x, 4, biases_initializer=None, trainable=False, **w), [2, 3]),
        ("linear", lambda x: layers.linear(x, 2, **w), [2, 3]),
        ("relu", lambda x: layers.relu(x, 2, **w), [2, 3]),
        ("relu6", lambda x: layers.relu6(x, 2, **w), [2, 3]),
        ("elu", lambda x: layers.elu(x, 2, **w), [2, 3]),
        ("conv2d", lambda x: layers.conv2d(x, 4, 3, **both), [2, 5, 4, 3]),
        ("conv2d valid strides", lambda x: layers.conv2d(x, 2, [3, 2], 2, "VALID", activation_fn=None, scope="c", **w), [1, 7, 6, 2]),
        ("conv2d with a rate", lambda x: layers.conv2d(x, 2, 3, rate=2, activation_fn=tf.nn.elu, weights_regularizer=l2, **w), [1, 7, 6, 2]),
        ("conv2d batch_norm", lambda x: layers.conv2d(x, 4, 3, normalizer_fn=layers.batch_norm, **w), [2, 4, 4, 2]),
        ("conv1d", lambda x: layers.conv1d(x, 4, 3, stride=2, **w), [2, 9, 3]),
        ("conv3d", lambda x: layers.conv3d(x, 2, 2, stride=2, **w), [1, 4, 4, 5, 2]),
        ("convolution", lambda x: layers.convolution(x, 2, 3, **w), [1, 5, 5, 2]),
        ("conv2d_transpose", lambda x: layers.conv2d_transpose(x, 3, 3, 2, **both), [1, 3, 4, 2]),
        ("conv3d_transpose", lambda x: layers.conv3d_transpose(x, 2, 2, 2, padding="VALID", activation_fn=None, **w), [1, 2, 2, 3, 2]),
        ("conv2d_in_plane", lambda x: layers.conv2d_in_plane(x, 3, **w), [1, 4, 5, 3]),
        ("conv2d_in_plane normalized", lambda x: layers.conv2d_in_plane(x, [1, 2], 2, normalizer_fn=layers.layer_norm, **w), [2, 4, 5, 3]),
        ("separable_conv2d", lambda x: layers.separable_conv2d(x, 4, 3, 2, **both), [1, 5, 5, 3]),
        ("separable_conv2d depthwise", lambda x: layers.separable_conv2d(x, None, 3, 2, 2, weights_regularizer=l2, **both), [1, 5, 5, 3]),
        ("separable_conv2d normalized", lambda x: layers.separable_conv2d(
            x, 4, [2, 3], 1, normalizer_fn=layers.batch_norm, pointwise_initializer=_initializer(tf, np), **w), [2, 5, 5, 3]),
        ("avg_pool2d", lambda x: layers.avg_pool2d(x, 3, outputs_collections=["outs"]), [2, 7, 6, 3]),
        ("max_pool2d", lambda x: layers.max_pool2d(x, [2, 3], [1, 2], "SAME", scope="pool"), [2, 7, 6, 3]),
        ("avg_pool3d", lambda x: layers.avg_pool3d(x, 2, padding="SAME"), [1, 4, 5, 4, 2]),
        ("max_pool3d", lambda x: layers.max_pool3d(x, 2), [1, 4, 5, 4, 2]),
        ("bias_add", lambda x: layers.bias_add(x, tf.nn.relu, initializer=_initializer(tf, np), regularizer=l2), [2, 3, 4]),
        ("dropout", lambda x: layers.dropout(x, 0.6, seed=7), [4, 5]),
        ("dropout inference", lambda x: layers.dropout(x, 0.6, is_training=False, outputs_collections=["outs"]), [4, 5]),
        ("flatten", lambda x: layers.flatten(x, outputs_collections=["outs"]), [2, 3, 4]),
        ("layer_norm", lambda x: layers.layer_norm(x), [2, 3, 4]),
        ("layer_norm axes", lambda x: layers.layer_norm(x, begin_norm_axis=2, begin_params_axis=1, activation_fn=tf.tanh, scale=False), [2, 3, 4]),
        ("instance_norm", lambda x: layers.instance_norm(x, param_initializers=norm), [2, 3, 3, 2]),
        ("instance_norm NCHW", lambda x: layers.instance_norm(x, data_format="NCHW", activation_fn=tf.nn.relu), [2, 2, 3, 4]),
        ("group_norm", lambda x: layers.group_norm(x, 2, param_initializers=norm), [2, 3, 2, 4]),
        ("group_norm first", lambda x: layers.group_norm(x, 2, 1, (2, 3), mean_close_to_zero=True, center=False), [2, 4, 3, 2]),
        ("unit_norm", lambda x: layers.unit_norm(x, 1), [2, 3, 4]),
        ("maxout", lambda x: layers.maxout(x, 2), [2, 3, 4]),
        ("poincare_normalize", lambda x: inner.poincare_normalize(x), [2, 3]),
        ("softmax", lambda x: layers.softmax(x), [2, 3, 4]),
        ("spatial_softmax", lambda x: layers.spatial_softmax(x), [2, 3, 4, 2]),
        ("spatial_softmax NCHW", lambda x: layers.spatial_softmax(x, 0.5, data_format="NCHW", trainable=False), [2, 2, 3, 4]),
        ("images_to_sequence", lambda x: layers.images_to_sequence(x), [2, 3, 4, 2]),
        ("sequence_to_images", lambda x: layers.sequence_to_images(x, 3), [4, 6, 2]),
        ("gdn", lambda x: layers.gdn(x), [1, 3, 3, 2]),
        ("gdn inverse volumes", lambda x: layers.gdn(x, inverse=True, name="g"), [1, 2, 2, 2, 2]),
        ("repeat", lambda x: layers.repeat(x, 2, layers.conv2d, 2, [3, 3], scope="conv1", **w), [1, 4, 4, 2]),
        ("repeat without scope", lambda x: layers.repeat(x, 2, layers.fully_connected, 3, **w), [2, 3]),
        ("stack", lambda x: layers.stack(x, layers.fully_connected, [4, 3], scope="fc", **w), [2, 3]),
        ("stack of arguments", lambda x: layers.stack(x, layers.conv2d, [(2, [3, 3]), (3, [1, 1])], **w), [1, 4, 4, 2]),
        ("legacy_fully_connected", lambda x: layers.legacy_fully_connected(x, 3, tf.nn.relu, weight_init=_initializer(tf, np)), [2, 2, 3]),
        ("legacy_linear", lambda x: layers.legacy_linear(x, 3, weight_init=_initializer(tf, np), weight_regularizer=l2), [2, 3]),
        ("legacy_relu", lambda x: layers.legacy_relu(x, 3, weight_init=_initializer(tf, np), name="r"), [2, 3]),
        ("batch_norm images", lambda x: layers.batch_norm(x), [2, 3, 3, 4]),
        ("batch_norm matrix", lambda x: layers.batch_norm(x, scale=True, decay=0.9, param_initializers=norm), [6, 4]),
        ("batch_norm at once", lambda x: layers.batch_norm(x, updates_collections=None, scale=True, activation_fn=tf.nn.relu), [2, 3, 3, 4]),
        ("batch_norm debiased", lambda x: layers.batch_norm(x, zero_debias_moving_mean=True, scope="bn"), [2, 3, 3, 4]),
        ("batch_norm inference", lambda x: layers.batch_norm(x, is_training=False, scale=True), [2, 3, 3, 4]),
        ("batch_norm inference at once", lambda x: layers.batch_norm(x, is_training=False, updates_collections=None), [6, 4]),
        ("batch_norm plain", lambda x: layers.batch_norm(x, fused=False, scale=True, param_regularizers={"beta": l2, "gamma": l2}), [6, 4]),
        ("batch_norm plain at once", lambda x: layers.batch_norm(x, fused=False, updates_collections=None, scale=True, center=False), [6, 4]),
        ("batch_norm weights", lambda x: layers.batch_norm(
            x, batch_weights=tf.constant([1.0, 0.0, 2.0, 1.0]), scale=True, updates_collections=["mine"]), [4, 3]),
        ("batch_norm weights NCHW", lambda x: layers.batch_norm(x, batch_weights=tf.constant([1.0, 2.0]), data_format="NCHW"), [2, 3, 2, 2]),
        ("batch_norm rank 3", lambda x: layers.batch_norm(x, scale=True, variables_collections=["mine"], outputs_collections=["outs"]), [2, 3, 4]),
        ("batch_norm renorm", lambda x: layers.batch_norm(
            x, renorm=True, renorm_clipping={"rmax": 1.5, "rmin": 0.5, "dmax": 0.5}, renorm_decay=0.9, scale=True), [6, 3]),
        ("batch_norm adjustment", lambda x: layers.batch_norm(x, adjustment=lambda shape: (tf.fill([3], 1.5), tf.fill([3], 0.25))), [6, 3]),
    ]


def single(tf, np):
    """Each call: its output, its updates, the gradients of inputs and variables, all names, and the ops in their order."""
    # tf.strided_slice and tf.meshgrid add fewer ops than TensorFlow's.
    fewer = ("unit_norm", "spatial_softmax", "spatial_softmax NCHW")

    def case(call, shape, counted):
        def build():
            with tf.variable_scope("model"):
                x = _data(tf, np, *shape)
                y = call(x)
            ops, names = _ops(tf) if counted else None, _names(tf)
            slopes = tf.sin(tf.cast(tf.reshape(tf.range(tf.size(y)), tf.shape(y)), tf.float32) * 2.1) + 0.3
            gradients = tf.gradients(tf.reduce_sum(y * slopes + y * y), [x] + tf.trainable_variables())
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS) + tf.get_collection("mine_updates") + [y]):
                averages = [tf.identity(v.read_value()) for v in tf.global_variables() if "moving" in v.name or "renorm" in v.name]
            losses = [tf.identity(loss) for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
            return [y, names, ops] + [tf.identity(g, name="gradient") for g in gradients if g is not None] + losses + averages
        return build

    for name, call, shape in calls(tf, np):
        yield name, case(call, shape, name not in fewer)


def dynamic(tf, np):
    """Whether to train is known only when the graph runs: two steps of training, then inference."""
    def case(call, shape):
        def build():
            training = tf.placeholder_with_default(True, [])
            y = call(_data(tf, np, *shape) * 2.0 + 0.5, training)
            slopes = np.sin(np.arange(int(np.prod(shape))) * 2.1).reshape(shape).astype(np.float32) + 0.3
            gradients = tf.gradients(tf.reduce_sum(y * slopes + y * y), tf.trainable_variables())
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            values = []
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for train in (True, True, False):
                    values += sess.run([y, gradients, updates], {training: train})[:1] + sess.run(tf.global_variables())
            names = [v.name for v in tf.global_variables()] + [str(len(updates))]
            return [tf.constant(value, name="value") for value in values] + [tf.constant(names, name="names")]
        return build

    layers = tf.contrib.layers
    yield "dynamic batch_norm", case(lambda x, training: layers.batch_norm(x, is_training=training, decay=0.9, scale=True), [2, 3, 3, 4])
    yield "dynamic matrix", case(lambda x, training: layers.batch_norm(x, is_training=training, decay=0.9, scale=True), [6, 4])
    yield "dynamic at once", case(lambda x, training: layers.batch_norm(x, is_training=training, decay=0.9, updates_collections=None), [2, 3, 3, 4])
    yield "dynamic debiased", case(lambda x, training: layers.batch_norm(
        x, is_training=training, decay=0.9, updates_collections=None, zero_debias_moving_mean=True), [6, 4])
    yield "dynamic plain at once", case(lambda x, training: layers.batch_norm(
        x, is_training=training, decay=0.9, updates_collections=None, fused=False, scale=True), [6, 4])
    yield "dynamic plain", case(lambda x, training: layers.batch_norm(x, is_training=training, decay=0.9, fused=False), [6, 4])
    yield "dynamic dropout", case(lambda x, training: layers.fully_connected(
        layers.dropout(x, 0.6, seed=7, is_training=training), 4, weights_initializer=_initializer(tf, np)), [4, 4])


def seeded(tf, np):
    """The graph's seed decides the initial values, through the number of ops before each initializer."""
    layers = tf.contrib.layers

    def convnet():
        tf.set_random_seed(42)
        x = tf.ones([2, 8, 8, 3])
        x = layers.conv2d(x, 4, 3)
        x = layers.max_pool2d(x, 2)
        x = layers.batch_norm(x)
        x = layers.conv2d_transpose(x, 2, 3, weights_initializer=layers.variance_scaling_initializer())
        x = layers.separable_conv2d(x, 2, 3, 1)
        x = layers.fully_connected(layers.dropout(layers.flatten(x)), 3)
        return [tf.identity(v.initial_value, name="initial") for v in tf.global_variables()] + [tf.identity(tf.random_normal([2]), name="drawn")]

    def initializers():
        tf.set_random_seed(3)
        made = [layers.xavier_initializer(), layers.xavier_initializer(False), layers.xavier_initializer_conv2d(seed=5),
                layers.variance_scaling_initializer(), layers.variance_scaling_initializer(1.5, "FAN_OUT", True, seed=2),
                layers.variance_scaling_initializer(mode="FAN_AVG", dtype=tf.float64)]
        return [make(shape) for make in made for shape in ([4], [3, 4], [2, 2, 3, 2])]

    yield "seeded convnet", convnet
    yield "initializers", initializers


def regularizers(tf, np):
    """Penalties, their names, their collections."""
    layers = tf.contrib.layers
    x = lambda: tf.constant([[1.0, -2.0], [0.5, 3.0]])
    yield "l1_regularizer", lambda: layers.l1_regularizer(0.5)(x())
    yield "l2_regularizer", lambda: layers.l2_regularizer(0.5, "mine")(x())
    yield "l1_l2_regularizer", lambda: layers.l1_l2_regularizer(0.5, 0.25)(x())
    yield "l1_l2_regularizer l1 only", lambda: layers.l1_l2_regularizer(0.5, 0.0)(x())
    yield "sum_regularizer", lambda: layers.sum_regularizer([layers.l1_regularizer(0.5), None, layers.l2_regularizer(0.0)])(x())
    yield "regularizer of scale 0", lambda: [layers.l2_regularizer(0.0)(x()), layers.sum_regularizer([None])]
    yield "apply_regularization", lambda: [layers.apply_regularization(layers.l2_regularizer(0.5), [x(), x() * 2.0]), _names(tf)]
    for name, call in [("l1 integer", lambda: layers.l1_regularizer(1)), ("l2 negative", lambda: layers.l2_regularizer(-0.5)),
                       ("l1_l2 integer", lambda: layers.l1_l2_regularizer(1, 0.5)),
                       ("nothing", lambda: layers.apply_regularization(layers.l2_regularizer(0.5)))]:
        yield "error: regularizer " + name, call


def others(tf, np):
    """Sparse results, embeddings, summaries, optimize_loss, argument scopes, aliases."""
    optimizers = _inside(tf, "optimizers")
    layers, framework = tf.contrib.layers, tf.contrib.framework

    def sparse_ids():
        return tf.SparseTensor([[0, 0], [0, 1], [2, 0], [2, 1]], tf.constant([1, -1, 0, 3], tf.int64), [4, 2])

    table = lambda: tf.constant(np.arange(12.0).reshape(4, 3), tf.float32)

    def embedded():
        with tf.variable_scope("m", initializer=_initializer(tf, np)):
            ids = tf.constant([[1, 2, 1], [0, 3, 3]])
            return [layers.embed_sequence(ids, 4, 3), layers.embed_sequence(ids, 4, 3, unique=True, scope="s"),
                    layers.embed_sequence(ids, scope="s", reuse=True), layers.bow_encoder(ids, 4, 3),
                    layers.bow_encoder(ids, 4, 3, False), _names(tf)]

    def unique():
        return layers.embedding_lookup_unique(table(), tf.constant([[3, 1], [1, 1]]))

    def summarized():
        x = tf.constant([[-1.0, 7.0]], name="x")
        made = [layers.summarize_activation(tf.nn.relu6(x, name="six")), layers.summarize_tensor(tf.constant(3.0, name="three")),
                layers.summarize_tensor(x, "tag")]
        tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, tf.nn.relu(x, name="r"))
        made += layers.summarize_activations() + layers.summarize_collection(tf.GraphKeys.ACTIVATIONS, "r") + layers.summarize_tensors([x])
        return made + [_names(tf), _ops(tf)]

    def optimized(**options):
        def build():
            tf.set_random_seed(1)
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0, 3.0]))
            v = tf.get_variable("v", initializer=tf.constant([[1.0, 2.0], [0.5, 1.0]]))
            loss = tf.reduce_sum(w * w) + tf.reduce_sum(tf.gather(v, [0, 0]))
            given = dict({"learning_rate": 0.1, "optimizer": "SGD"}, **options)
            if "gradient_multipliers" in options:
                given["gradient_multipliers"] = {"w:0": 0.5, v: 2.0}
            train = layers.optimize_loss(loss, step, **given)
            values = []
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for _ in range(2):
                    sess.run(train)  # its value is the loss before or after the step
                    values += sess.run([w, v, step])
            return [tf.constant(train.name, name="train"), _names(tf)] + [tf.constant(value, name="value") for value in values]
        return build

    def scoped():
        x = _data(tf, np, 1, 4, 4, 2)
        with framework.arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=_initializer(tf, np), activation_fn=None):
            with framework.arg_scope([layers.conv2d], stride=2) as scope:
                a = layers.conv2d(x, 2, 3)
            b = layers.conv2d(x, 2, 3, stride=1)
        with framework.arg_scope(scope):
            c = layers.conv2d(x, 2, 3, scope="again")
            keys = sorted(set(name for values in framework.current_arg_scope().values() for name in values))
        return [a, b, c, tf.constant(keys), tf.constant(framework.has_arg_scope(layers.conv2d)), tf.constant(framework.has_arg_scope(layers.stack))]

    def aliases():
        utils = _inside(tf, "utils")
        x = _data(tf, np, 1, 4, 4, 2)
        with tf.variable_scope("m"):
            y = layers.conv2d(x, 2, 3, outputs_collections="outs", scope="c")
            layers.max_pool2d(y, 2, outputs_collections="outs")
        found = utils.convert_collection_to_dict("outs", clear_collection=True)
        return [tf.constant(list(found)), tf.constant([t.name for t in found.values()]), tf.constant(len(tf.get_collection("outs"))),
                tf.constant(utils.get_tensor_aliases(x))]

    def partitioned():
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            y = layers.fully_connected(tf.ones([1, 4]), 3, weights_initializer=tf.ones_initializer(), variables_collections=["mine"])
            z = layers.batch_norm(y, updates_collections=None)
        return [y, z, _names(tf)]

    def reused():
        x = _data(tf, np, 2, 3)
        y = layers.fully_connected(x, 3, scope="fc", weights_initializer=_initializer(tf, np), weights_regularizer=layers.l2_regularizer(0.1))
        z = layers.fully_connected(x, 3, scope="fc", reuse=True)
        with tf.variable_scope("a"):
            layers.batch_norm(x, scope="n")
        with tf.variable_scope("a", reuse=True):
            layers.batch_norm(x, scope="n")
        return [y, z, _names(tf)]

    def reversible():
        x1, x2 = _data(tf, np, 2, 3), _data(tf, np, 2, 3) * 0.5
        dense = lambda x: tf.layers.dense(x, 3, tf.tanh, kernel_initializer=_initializer(tf, np), name="d")
        y1, y2 = layers.rev_block(x1, x2, dense, dense, num_layers=2)
        gradients = tf.gradients(y1 * 2.0 + y2 * y2, [x1, x2] + tf.trainable_variables())
        return [tf.identity(t, name="t") for t in [y1, y2] + gradients] + [tf.constant([v.name for v in tf.trainable_variables()], name="names")]

    def recomputed():
        @layers.recompute_grad
        def twice(x):
            return tf.layers.dense(x, 3, tf.tanh, kernel_initializer=_initializer(tf, np), name="d")

        with tf.variable_scope("r", use_resource=True):
            x = _data(tf, np, 2, 3)
            y = twice(x)
            gradients = tf.gradients(y * y, [x] + tf.trainable_variables())
        return [tf.identity(t, name="t") for t in [y] + gradients] + [tf.constant([v.name for v in tf.trainable_variables()], name="names")]

    yield "one_hot_encoding", lambda: layers.one_hot_encoding(tf.constant([1, 0, 3]), 4)
    yield "one_hot_encoding values", lambda: layers.one_hot_encoding([[1], [2]], 3, 5.0, -1.0, scope="o")
    yield "dense_to_sparse", lambda: layers.dense_to_sparse(tf.constant([[1, 0, 2], [0, 0, 3]]))
    yield "safe_embedding_lookup_sparse", lambda: [tf.identity(layers.safe_embedding_lookup_sparse([table()], sparse_ids(), combiner=c), name="r")
                                                   for c in ("mean", "sum", "sqrtn", None)]
    yield "safe_embedding_lookup_sparse default", lambda: tf.identity(layers.safe_embedding_lookup_sparse(
        [table()], sparse_ids(), tf.SparseTensor([[0, 0], [0, 1], [2, 0], [2, 1]], [2.0, 1.0, 0.5, 0.0], [4, 2]), "mean", default_id=2), name="r")
    yield "scattered_embedding_lookup", lambda: tf.identity(_scattered(tf, np), name="r")
    yield "encoders", embedded
    yield "embedding_lookup_unique", unique
    yield "summaries", summarized
    yield "optimize_loss", optimized()
    yield "optimize_loss Momentum", optimized(optimizer="Momentum", clip_gradients=1.5, summaries=["loss", "gradients", "gradient_norm"])
    yield "optimize_loss class", optimized(optimizer=tf.train.AdamOptimizer, learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(
        rate, step, 1, 0.5), gradient_multipliers=True)
    yield "optimize_loss object", optimized(optimizer=tf.train.GradientDescentOptimizer(0.5), learning_rate=None, name="opt",
                                            increment_global_step=False, summaries=[])
    yield "optimize_loss function", optimized(optimizer=lambda rate: tf.train.AdagradOptimizer(rate),
                                              clip_gradients=optimizers.adaptive_clipping_fn(report_summary=True, static_max_norm=2.5))
    yield "arg_scope", scoped
    yield "aliases", aliases
    yield "partitioned", partitioned
    yield "reuse", reused
    yield "rev_block", reversible
    yield "recompute_grad", recomputed


def _scattered(tf, np):
    embedding_ops = _inside(tf, "embedding_ops")
    params = [tf.constant(np.arange(7.0), tf.float32), tf.constant(np.arange(6.0) + 10.0, tf.float32)]
    keyed = embedding_ops.scattered_embedding_lookup(params, tf.constant([["a", "b"], ["c", "a"]]), 3, hash_key=12345)
    first = embedding_ops.scattered_embedding_lookup(params, tf.constant([["a", "b"], ["c", "a"]]), 3)
    numbers = embedding_ops.scattered_embedding_lookup_sparse(
        params, tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([5, 9, 5], tf.int64), [3, 2]), 3, combiner="sum")
    return tf.concat([tf.reshape(each, [-1]) for each in (keyed, first, numbers)], 0)


def errors(tf, np):
    """What is refused."""
    layers = tf.contrib.layers
    unknown = tf.placeholder
    image = lambda: tf.ones([1, 8, 8, 3])
    for name, call in [
            ("num_outputs", lambda: layers.fully_connected(tf.ones([2, 3]), "4")),
            ("unknown depth", lambda: layers.fully_connected(unknown(tf.float32, [3, None]), 2)),
            ("rank of conv2d", lambda: layers.conv2d(tf.ones([3, 2]), 2, 3)),
            ("rank of convolution", lambda: layers.convolution(tf.ones([3, 2]), 2, 3)),
            ("data_format", lambda: layers.conv2d(image(), 2, 3, data_format="channels_last")),
            ("data_format of pool", lambda: layers.max_pool2d(image(), 2, data_format="NCDHW")),
            ("data_format of batch_norm", lambda: layers.batch_norm(image(), data_format="CHWN")),
            ("data_format of transpose", lambda: layers.conv2d_transpose(image(), 2, 3, data_format="CHWN")),
            ("unknown channels", lambda: layers.batch_norm(unknown(tf.float32, [1, 8, 8, None]), updates_collections=None)),
            ("unknown rank", lambda: layers.layer_norm(unknown(tf.float32))),
            ("renorm at once", lambda: layers.batch_norm(tf.ones([4, 3]), renorm=True, updates_collections=None)),
            ("layer_norm axis", lambda: layers.layer_norm(tf.ones([4, 3]), begin_norm_axis=2)),
            ("groups", lambda: layers.group_norm(image(), 2)),
            ("too many groups", lambda: layers.group_norm(image(), 4)),
            ("group axes", lambda: layers.group_norm(image(), 3, reduction_axes=(-1, -2))),
            ("maxout", lambda: layers.maxout(tf.ones([2, 5]), 2)),
            ("unit_norm", lambda: layers.unit_norm(tf.ones([2, 5]), 2)),
            ("stack", lambda: layers.stack(tf.ones([2, 5]), layers.fully_connected, 3)),
            ("same scope", lambda: [layers.fully_connected(tf.ones([1, 2]), 3, scope="d") for _ in range(2)]),
            ("reuse of nothing", lambda: layers.fully_connected(tf.ones([1, 2]), 3, scope="d", reuse=True)),
            ("initializer of integers", lambda: layers.xavier_initializer(dtype=tf.int32)),
            ("mode of initializer", lambda: layers.variance_scaling_initializer(mode="FAN")),
            ("embed_sequence", lambda: layers.embed_sequence(tf.constant([1]))),
            ("bow_encoder", lambda: layers.bow_encoder(tf.constant([[1]]), 0, 3)),
            ("gdn format", lambda: layers.gdn(image(), data_format="NHWC")),
            ("gdn rank", lambda: layers.gdn(tf.ones([2, 3]))),
            ("optimizer name", lambda: layers.optimize_loss(tf.constant(1.0), None, 0.1, "Best")),
            ("learning rate", lambda: layers.optimize_loss(tf.constant(1.0), None, "0.1", "SGD")),
            ("summaries", lambda: layers.optimize_loss(tf.constant(1.0), None, 0.1, "SGD", summaries=["all"])),
            ("arg_scope of a plain function", lambda: tf.contrib.framework.arg_scope([tf.nn.conv2d], stride=1).__enter__()),
            ("arg_scope of no list", lambda: tf.contrib.framework.arg_scope(layers.conv2d, stride=1).__enter__()),
            ("arg_scope twice", lambda: tf.contrib.framework.arg_scope({}, stride=1).__enter__())]:
        yield "error: " + name, call


def cases(tf, np):
    """All of them."""
    for part in (single, dynamic, seeded, regularizers, others, errors):
        yield from part(tf, np)
