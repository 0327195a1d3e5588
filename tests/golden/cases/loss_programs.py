"""tf.losses, tf.metrics, slim, distributions and data sets as programs use them: weights that broadcast, collections, what is refused."""
import os
import shutil
import tempfile


def _said(tf, value):
    return tf.constant(str(value), name="said")


def _told(tf, *values):
    return [tf.identity(each, name="told") for each in values]


def _data(np, *shape):
    return np.sin(np.arange(int(np.prod(shape))) * 0.7).reshape(shape).astype(np.float32)


def losses(tf, np):
    L = tf.losses
    labels, predictions = _data(np, 3, 4) > 0, _data(np, 3, 4) * 2
    elementwise = [("absolute_difference", L.absolute_difference), ("mean_squared_error", L.mean_squared_error), ("log_loss", None),
                   ("hinge_loss", L.hinge_loss), ("huber_loss", L.huber_loss),
                   ("sigmoid_cross_entropy", L.sigmoid_cross_entropy)]
    weights = [("scalar", 0.5), ("rows", [[1.0], [0.0], [2.0]]), ("columns", [[1.0, 0.0, 2.0, 0.5]]), ("all", np.abs(_data(np, 3, 4))),
               ("zero", 0.0), ("vector", [1.0, 2.0, 3.0]), ("integers", 2), ("column", [[1.0], [2.0]]), ("cube", np.ones([3, 4, 1], np.float32))]
    for name, function in elementwise:
        for label, weight in weights:
            def case(name=name, function=function, weight=weight):
                given = np.abs(predictions) / 2.1 if name == "log_loss" else predictions
                call = function or L.log_loss
                return [call(tf.constant(labels.astype(np.float32)), tf.constant(given), weights=weight, reduction=reduction)
                        for reduction in L.Reduction.all()]
            yield "{} {}".format(name, label), case
    wrong = [("reduction", lambda: L.mean_squared_error([1.0], [2.0], reduction="median")),
             ("shapes", lambda: L.mean_squared_error(tf.zeros([2, 3]), tf.zeros([3, 2]))),
             ("ranks", lambda: L.absolute_difference(tf.zeros([2]), tf.zeros([2, 1]))),
             ("no labels", lambda: L.mean_squared_error(None, tf.zeros([2]))),
             ("no predictions", lambda: L.huber_loss(tf.zeros([2]), None)),
             ("no logits", lambda: L.sparse_softmax_cross_entropy(tf.zeros([2], tf.int32), None)),
             ("no weights", lambda: L.mean_squared_error(tf.zeros([2]), tf.zeros([2]), weights=None)),
             ("text weights", lambda: L.mean_squared_error(tf.zeros([2]), tf.zeros([2]), weights="a")),
             ("sparse of floats", lambda: L.sparse_softmax_cross_entropy(tf.zeros([2]), tf.zeros([2, 3]))),
             ("sparse of columns", lambda: L.sparse_softmax_cross_entropy(tf.zeros([2, 1], tf.int32), tf.constant(_data(np, 2, 3)))),
             ("sparse out of range", lambda: L.sparse_softmax_cross_entropy(tf.constant([0, 7]), tf.constant(_data(np, 2, 3)))),
             ("sparse weights by row", lambda: L.sparse_softmax_cross_entropy([0, 1], tf.constant(_data(np, 2, 3)), weights=[1.0, 0.0])),
             ("sparse weights of columns", lambda: L.sparse_softmax_cross_entropy([0, 1], _data(np, 2, 3), weights=[[1.0], [0.5]])),
             ("softmax of other shape", lambda: L.softmax_cross_entropy(tf.zeros([2, 3]), tf.zeros([2, 4]))),
             ("softmax smoothed", lambda: L.softmax_cross_entropy(tf.constant([[0, 1, 0], [1, 0, 0]]), tf.constant(_data(np, 2, 3)),
                                                                  label_smoothing=0.2, weights=[1.0, 3.0])),
             ("cosine", lambda: L.cosine_distance(tf.constant(_data(np, 2, 3)), tf.constant(_data(np, 2, 3) * 2), axis=1, weights=[[1.0], [0.5]])),
             ("cosine without axis", lambda: L.cosine_distance(tf.zeros([2, 3]), tf.zeros([2, 3]))),
             ("cosine dim", lambda: L.cosine_distance(tf.constant(_data(np, 2, 3)), tf.constant(_data(np, 2, 3) + 1), dim=1)),
             ("pairs", lambda: L.mean_pairwise_squared_error(_data(np, 3, 4), tf.constant(_data(np, 3, 4) * 2), weights=[1.0, 0.0, 2.0])),
             ("pairs of other shapes", lambda: L.mean_pairwise_squared_error(tf.zeros([3, 4]), tf.zeros([4, 3]))),
             ("weighted", lambda: L.compute_weighted_loss(tf.constant(_data(np, 2, 2, 3)), weights=[[[1.0]], [[2.0]]])),
             ("weighted integers", lambda: L.compute_weighted_loss(tf.constant([1, 2, 3]), weights=2)),
             ("weighted unknown", lambda: L.compute_weighted_loss(tf.placeholder_with_default(_data(np, 2, 3), None),
                                                                  weights=tf.placeholder_with_default(np.ones([2, 1], np.float32), None))),
             ("weighted unknown wrong", lambda: L.compute_weighted_loss(tf.placeholder_with_default(_data(np, 2, 3), None),
                                                                        weights=tf.placeholder_with_default(np.ones([3, 1], np.float32), None))),
             ("float16", lambda: L.mean_squared_error(tf.constant([1.0, 2.0], tf.float16), tf.constant([2.0, 4.0], tf.float16), weights=[1.0, 2.0])),
             ("float64", lambda: L.mean_squared_error(tf.constant([1.0, 2.0], tf.float64), tf.constant([2.0, 4.0], tf.float64))),
             ("gradient", lambda: (lambda p: _told(tf, *tf.gradients(L.huber_loss(tf.zeros([4]), p, [1.0, 0.0, 2.0, 1.0], delta=0.5), p)))(
                 tf.constant(_data(np, 4))))]
    yield from (("loss " + label, build) for label, build in wrong)

    def collected():
        with tf.name_scope("net"):
            L.mean_squared_error(tf.zeros([2]), tf.ones([2]), scope="first")
            L.absolute_difference(tf.zeros([2]), tf.ones([2]), loss_collection="mine")
            L.log_loss(tf.ones([2]), tf.fill([2], 0.5), loss_collection=None)
        L.add_loss(tf.constant(3.0, name="own"))
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5, name="reg"))
        names = [[t.name for t in part] for part in (L.get_losses(), L.get_losses(scope="net"), L.get_losses(loss_collection="mine"),
                                                     L.get_regularization_losses())]
        return [L.get_total_loss(), L.get_total_loss(add_regularization_losses=False), L.get_regularization_loss(), L.get_regularization_loss("x"),
                L.get_total_loss(scope="net"), _said(tf, names)]
    yield "loss collections", collected


def metrics(tf, np):
    M = tf.metrics
    zeros, floats = tf.zeros, _data(np, 6)
    wrong = [("thresholds", lambda: M.precision_at_thresholds(zeros([2]), zeros([2]), [0.5, 1.5])),
             ("auc below", lambda: M.auc(tf.constant([0, 1]), tf.constant([-0.5, 0.2]))),
             ("auc curve", lambda: M.auc(zeros([2]), zeros([2]), curve="X")),
             ("auc method", lambda: M.auc(zeros([2]), zeros([2]), summation_method="X")),
             ("auc minoring", lambda: M.auc(tf.constant([0, 1, 1]), tf.constant([0.2, 0.6, 0.1]), summation_method="minoring", num_thresholds=5)[1]),
             ("accuracy of other shapes", lambda: M.accuracy(zeros([2]), zeros([3]))),
             ("accuracy weights", lambda: M.accuracy(tf.constant([[1], [2]]), tf.constant([1, 2]), weights=[[1.0], [0.0]])[1]),
             ("accuracy weights wrong", lambda: M.accuracy(tf.constant([1, 2]), tf.constant([1, 2]), weights=[1.0, 2.0, 3.0])),
             ("accuracy of strings", lambda: M.accuracy(tf.constant(["a", "b"]), tf.constant(["a", "c"]))[1]),
             ("mean weights wrong", lambda: M.mean(tf.constant(floats), weights=tf.constant([1.0, 2.0]))),
             ("iou", lambda: M.mean_iou([0, 1, 1], [1, 1, 0], 2, weights=[1.0, 2.0, 0.0])[1]),
             ("iou out of range", lambda: M.mean_iou(tf.constant([0, 5]), tf.constant([0, 1]), 2)[1]),
             ("mean per class", lambda: M.mean_per_class_accuracy([0, 1, 1, 2], [0, 1, 0, 1], 3)[1]),
             ("sensitivity", lambda: M.sensitivity_at_specificity([0, 1, 1], [0.2, 0.7, 0.4], 1.5)),
             ("specificity", lambda: M.specificity_at_sensitivity([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.5], 0.5, num_thresholds=7)[1]),
             ("cosine", lambda: M.mean_cosine_distance(tf.constant(_data(np, 2, 3)), tf.constant(_data(np, 2, 3)) * 2, dim=1)[1]),
             ("relative", lambda: M.mean_relative_error([1.0, 2.0], [2.0, 2.0], [0.0, 4.0])[1]),
             ("percentage", lambda: M.percentage_below(tf.constant(floats), 0.1, weights=tf.constant(floats) > 0)[1]),
             ("recall at k", lambda: M.recall_at_k(tf.constant([[1], [2]], tf.int64), tf.constant(_data(np, 2, 4)), 2)[1]),
             ("recall at k wrong", lambda: M.recall_at_k(tf.constant([[1], [2]], tf.int64), tf.constant(_data(np, 2, 4)), 9)[1]),
             ("precision at top k", lambda: M.precision_at_top_k(tf.constant([[1], [2]], tf.int64), tf.constant([[1, 0], [0, 1]], tf.int64))[1]),
             ("average precision", lambda: M.average_precision_at_k(tf.constant([[1], [2]], tf.int64), tf.constant(_data(np, 2, 4)), 0)),
             ("mean of integers", lambda: M.mean(tf.constant([1, 2, 4]))[1]),
             ("mean of nothing", lambda: M.mean(tf.zeros([0]))[1]),
             ("tensor", lambda: M.mean_tensor(tf.constant(floats), weights=tf.constant(np.abs(floats)))[1]),
             ("rmse", lambda: M.root_mean_squared_error(tf.constant(floats), tf.constant(floats) * 2, weights=tf.constant(0.5))[1])]
    yield from (("metric " + label, build) for label, build in wrong)

    def loop():
        with tf.Graph().as_default():
            x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int64, [None])
            with tf.variable_scope("eval"):
                values, updates = tf.contrib.metrics.aggregate_metric_map({
                    "auc": M.auc(y, x, num_thresholds=11), "acc": M.accuracy(y, tf.cast(x > 0.5, tf.int64)), "mean": M.mean(x, name="average"),
                    "recall": M.recall(y, x > 0.3, metrics_collections=["m"], updates_collections=["u"])})
            reset = tf.variables_initializer(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES, scope="eval"))
            with tf.Session() as sess:
                sess.run(tf.local_variables_initializer())
                seen = []
                for turn in range(2):
                    for at in range(3):
                        sess.run(updates, {x: np.abs(_data(np, 5) * (at + 1) / 3.0), y: np.arange(5) % 2})
                    seen.append([float(np.round(v, 5)) for _, v in sorted(sess.run(values).items())])
                    if turn == 0:
                        sess.run(reset)
            told = [seen, [v.name for v in tf.local_variables()], [t.name for t in tf.get_collection("m") + tf.get_collection("u")],
                    len(tf.global_variables())]
        return _said(tf, told)
    yield "metric loop", loop


def slim(tf, np):
    s = tf.contrib.slim
    layers = tf.contrib.layers

    def summarized():
        with tf.Graph().as_default():
            s.fully_connected(tf.constant(_data(np, 2, 3)), 2, scope="fc")
            made = [s.summarize_weights("fc"), s.summarize_biases("fc"), s.summarize_variables(), layers.summarize_activations(),
                    layers.summarize_collection("trainable_variables", "fc/b")]
            told = [[t.op.name for t in part] for part in made], [t.op.name for t in tf.get_collection("summaries")]
        return _said(tf, told)
    yield "slim summaries", summarized
    yield "slim keys", lambda: _said(tf, [s.arg_scope_func_key(s.conv2d) == s.arg_scope_func_key(s.conv2d), s.has_arg_scope(s.conv2d)])

    def program():
        tf.set_random_seed(9)
        images, classes = tf.constant(_data(np, 4, 12, 12, 3)), tf.constant([0, 1, 2, 1])
        with s.arg_scope([s.conv2d, s.fully_connected], activation_fn=tf.nn.relu6, weights_initializer=s.variance_scaling_initializer(seed=3),
                         weights_regularizer=s.l1_l2_regularizer(0.001, 0.002), normalizer_fn=s.batch_norm,
                         normalizer_params={"is_training": True, "decay": 0.9, "updates_collections": None, "scale": True}):
            with s.arg_scope([s.conv2d, s.separable_conv2d], outputs_collections="ends"):
                net = s.repeat(images, 2, s.conv2d, 4, [3, 3], scope="conv")
                net = s.separable_conv2d(net, None, 3, 1, stride=2, normalizer_fn=None, weights_initializer=tf.constant_initializer(0.1), scope="dw")
                net = s.conv2d(net, 6, 1, padding="VALID", data_format="NHWC", rate=1, scope="pw")
            net = s.flatten(s.avg_pool2d(net, [3, 3], stride=3, scope="pool"))
            net = s.stack(net, s.fully_connected, [5, 4], scope="fc")
            logits = s.fully_connected(s.dropout(net, 0.9, is_training=False), 3, activation_fn=None, normalizer_fn=None, scope="logits")
        s.losses.softmax_cross_entropy(s.one_hot_encoding(classes, 3), logits)
        total = s.losses.get_total_loss()
        train = s.learning.create_train_op(total, tf.train.RMSPropOptimizer(0.01), clip_gradient_norm=1.0)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            seen = [float(sess.run(train)) for _ in range(3)]
        names = [[v.op.name for v in part] for part in (s.get_model_variables(), s.get_variables_to_restore(exclude=["logits"]),
                                                        s.get_variables_by_suffix("gamma"), s.get_trainable_variables("fc"))]
        ends = [(key, t.shape.as_list()) for key, t in s.utils.convert_collection_to_dict("ends").items()] if hasattr(s, "utils") else None
        return [tf.constant(np.float32(seen), name="seen"), _said(tf, (names, ends, train.name))]
    yield "slim program", program
    wrong = [("unknown layer", lambda: s.conv2d(tf.zeros([1, 4, 4, 1]), 2)),
             ("two dimensions", lambda: s.conv2d(tf.zeros([1, 4]), 2, 3)),
             ("format", lambda: s.conv2d(tf.zeros([1, 4, 4, 1]), 2, 3, data_format="NCWH")),
             ("stride and rate", lambda: s.conv2d(tf.zeros([1, 4, 4, 1]), 2, 3, stride=2, rate=2)),
             ("outputs as text", lambda: s.fully_connected(tf.zeros([2, 3]), "4")),
             ("scalar", lambda: s.fully_connected(tf.constant(1.0), 4)),
             ("dropout", lambda: s.dropout(tf.zeros([2, 3]), 0.0)),
             ("batch norm rank", lambda: s.batch_norm(tf.placeholder(tf.float32))),
             ("batch norm format", lambda: s.batch_norm(tf.zeros([2, 3]), data_format="NC")),
             ("batch norm fused weights", lambda: s.batch_norm(tf.zeros([2, 3, 3, 1]), fused=True, batch_weights=[1.0, 2.0])),
             ("scope of no function", lambda: s.arg_scope([tf.add], x=1).__enter__()),
             ("scope of no list", lambda: s.arg_scope(3, x=1).__enter__()),
             ("scope twice", lambda: s.arg_scope({"a": {}}, x=1).__enter__()),
             ("unknown argument of a scope", lambda: _in_scope()),
             ("stack of nothing", lambda: s.stack(tf.zeros([2, 3]), s.fully_connected, 3)),
             ("repeat", lambda: s.repeat(tf.zeros([2, 3]), 0, s.fully_connected, 3)),
             ("one hot", lambda: s.one_hot_encoding(tf.constant(["a"]), 3)),
             ("pool", lambda: s.max_pool2d(tf.zeros([1, 4, 4, 1]), 2, data_format="X")),
             ("unit norm", lambda: layers.unit_norm(tf.zeros([2, 3]), 5)),
             ("maxout", lambda: layers.maxout(tf.zeros([2, 5]), 2)),
             ("group norm", lambda: layers.group_norm(tf.zeros([2, 3, 3, 5]), groups=2)),
             ("layer norm", lambda: layers.layer_norm(tf.zeros([2, 3]), begin_norm_axis=3)),
             ("instance norm", lambda: layers.instance_norm(tf.placeholder(tf.float32))),
             ("regularizer", lambda: layers.l2_regularizer(-1.0)), ("regularizer integer", lambda: layers.l1_regularizer(2)),
             ("optimizer", lambda: layers.optimize_loss(tf.constant(1.0), None, 0.1, "Best")),
             ("optimizer of nothing", lambda: layers.optimize_loss(tf.constant(1.0), tf.train.get_or_create_global_step(), 0.1, "SGD")),
             ("learning rate", lambda: layers.optimize_loss(tf.constant(1.0), tf.train.get_or_create_global_step(), -0.1, "SGD")),
             ("embedding", lambda: layers.embed_sequence(tf.constant([[1, 2]]))),
             ("vocabulary", lambda: layers.embed_sequence(tf.constant([[1, 2]]), 0, 3)),
             ("initializer", lambda: layers.variance_scaling_initializer(mode="FAN")([2, 2])),
             ("bow", lambda: layers.bow_encoder(tf.constant([[1, 2]]), 4, 3, sparse_lookup=False).shape)]

    def _in_scope():
        with s.arg_scope([s.fully_connected], kernel=3):
            return s.fully_connected(tf.zeros([2, 3]), 4)
    yield from (("slim error: " + label, build) for label, build in wrong)


def distributions(tf, np):
    d = tf.contrib.distributions
    yield "percentile", lambda: _told(tf, d.percentile(tf.constant(_data(np, 5)), 30.0), d.percentile(
        tf.constant(_data(np, 2, 5)), 50.0, axis=1, interpolation="lower", keep_dims=True))
    yield "percentile wrong", lambda: d.percentile(tf.constant(_data(np, 5)), 30.0, interpolation="linear")
    yield "moving", lambda: [d.moving_mean_variance(tf.constant(_data(np, 3)), 0.9), str([v.name for v in tf.global_variables()])]

    def assigned():
        mean, variance, log = (tf.Variable([value] * 3) for value in (0.5, 1.0, 0.1))
        value = tf.constant(_data(np, 3))
        return [d.assign_moving_mean_variance(mean, variance, value, 0.9), d.assign_log_moving_mean_exp(log, value, 0.8)]
    yield "assigned", assigned

    def vae():
        tf.set_random_seed(4)
        x = tf.constant(_data(np, 3, 4))
        params = tf.layers.dense(x, 4)
        posterior = d.MultivariateNormalDiag(params[:, :2], tf.nn.softplus(params[:, 2:]) + 0.1)
        prior = d.MultivariateNormalDiag(tf.zeros(2), tf.ones(2))
        z = posterior.sample(2, seed=7)
        likelihood = d.Independent(d.Bernoulli(logits=tf.layers.dense(z, 4)), 1)
        elbo = tf.reduce_mean(likelihood.log_prob(tf.cast(x > 0, tf.int32)) - d.kl_divergence(posterior, prior))
        gradients = tf.gradients(elbo, tf.trainable_variables())
        return _told(tf, z, elbo, *gradients) + [str((posterior.batch_shape, posterior.event_shape, likelihood.name, str(posterior)))]
    yield "vae", vae

    def policy():
        tf.set_random_seed(4)
        logits = tf.constant(_data(np, 3, 4))
        dist = tf.distributions.Categorical(logits=logits)
        action = dist.sample(seed=5)
        normal = tf.distributions.Normal([0.0, 1.0], [1.0, 2.0], allow_nan_stats=False)
        return _told(tf, action, dist.log_prob(action), dist.entropy(), dist.mode(), normal.cdf([0.5, 0.5]), normal.quantile([0.3, 0.7]),
                     tf.distributions.kl_divergence(normal, tf.distributions.Normal(0.0, 1.0)),
                     normal.cross_entropy(tf.distributions.Normal(0.0, 1.0)))
    yield "policy", policy
    wrong = [("negative scale", lambda: d.Normal(0.0, -1.0, validate_args=True).sample(seed=1)),
             ("types", lambda: d.Normal(0.0, tf.constant(1.0, tf.float64))),
             ("no parameters", lambda: d.Bernoulli()), ("both", lambda: d.Bernoulli(logits=0.0, probs=0.5)),
             ("integers", lambda: d.Normal(0, 1).sample(seed=1)),
             ("no kl", lambda: d.kl_divergence(d.Normal(0.0, 1.0), d.Gamma(1.0, 1.0))),
             ("no mean", lambda: d.Cauchy(0.0, 1.0).mean()),
             ("nan stats", lambda: d.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False).variance()),
             ("nan mean", lambda: d.StudentT(0.5, 0.0, 1.0).mean()),
             ("outside", lambda: d.Beta(2.0, 3.0, validate_args=True).log_prob(1.5)),
             ("cholesky", lambda: d.MultivariateNormalFullCovariance([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], validate_args=True).sample(seed=2)),
             ("mixture", lambda: d.Mixture(d.Categorical(probs=[0.5, 0.5]), [d.Normal(0.0, 1.0)])),
             ("no quantile", lambda: d.Gamma(1.0, 1.0).quantile(0.5)),
             ("copy", lambda: d.Normal(1.0, 2.0).copy(loc=3.0).mean()),
             ("parameters", lambda: _said(tf, sorted(d.Normal(1.0, 2.0, name="n").parameters))),
             ("param shapes", lambda: _said(tf, sorted((k, str(v)) for k, v in d.Normal.param_static_shapes([2, 3]).items()))),
             ("integer prob", lambda: d.Poisson(2.0, validate_args=True).log_prob(1.5)),
             ("one hot", lambda: d.OneHotCategorical(probs=[0.2, 0.8]).log_prob([0, 1])),
             ("multinomial", lambda: d.Multinomial(4.0, probs=[0.2, 0.8], validate_args=True).log_prob([1.0, 2.0]))]
    yield from (("distribution error: " + label, build) for label, build in wrong)


def datasets(tf, np):
    base = tf.contrib.learn.datasets.base

    def read(folder):
        path, other = os.path.join(folder, "a.csv"), os.path.join(folder, "b.csv")
        with open(path, "w") as file:
            file.write("2,3,x,y\n1.0,2.0,3.0,0\n4.5,5.0,6.0,1\n")
        with open(other, "w") as file:
            file.write("0,1.0,2.0\n1,3.0,4.0\n")
        one = base.load_csv_with_header(path, np.int64, np.float32)
        two = base.load_csv_without_header(other, np.int64, np.float32, target_column=0)
        base.shrink_csv(other, 2)
        return _said(tf, (one.data.tolist(), one.target.tolist(), two.data.tolist(), two.target.tolist(), str(one.data.dtype), one._fields,
                          base.Datasets(1, 2, 3)._fields, base.maybe_download("a.csv", folder, "nowhere") == path, sorted(os.listdir(folder))))

    def case():
        folder = tempfile.mkdtemp()
        try:
            return read(folder)
        finally:
            shutil.rmtree(folder)
    yield "csv", case

    def circles():
        synthetic = tf.contrib.learn.datasets.synthetic
        parts = [synthetic.circles(8, noise=0.1, seed=3, n_classes=2), synthetic.spirals(8, noise=0.1, seed=3),
                 tf.contrib.learn.datasets.make_dataset("circles", n_samples=4, seed=1)]
        return [tf.constant(np.float32(np.concatenate([np.ravel(p.data), np.ravel(p.target)])), name="points") for p in parts]
    yield "synthetic", circles
    yield "synthetic unknown", lambda: tf.contrib.learn.datasets.make_dataset("squares")
    yield "data set unknown", lambda: tf.contrib.learn.datasets.load_dataset("nothing")


def cases(tf, np):
    for family in (losses, metrics, slim, distributions, datasets):
        yield from family(tf, np)
