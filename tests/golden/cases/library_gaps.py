"""Names of the libraries that no other family uses: bijectors, constraints, columns, tables, heads, estimators, views of graphs.

Values and what Python objects say of themselves; the names of nodes are our own.
"""


def _told(tf, *things):
    """What Python objects say, as tensors: a graph must not be empty."""
    return [tf.constant(str(thing), name="told") for thing in things]


def _values(tf, tensors):
    return [tf.identity(tensor, name="result") for tensor in (tensors if isinstance(tensors, (list, tuple)) else [tensors])]


def _bijectors(tf, np):
    b = tf.contrib.distributions.bijectors
    x, vectors, positive = np.float32([[0.5, -1.0, 2.0]]), np.float32([[0.5, -1.0], [2.0, 0.3]]), np.float32([[0.5, 1.0, 2.0]])
    tril = np.float32([[2.0, 0.0], [0.5, 1.5]])
    factor = np.float32([[1.0], [0.5]])
    makers = [
        ("sigmoid", b.Sigmoid, x, 0), ("softplus", b.Softplus, x, 0),
        ("softplus hinge", lambda: b.Softplus(hinge_softness=2.0), x, 0), ("softsign", b.Softsign, x, 0), ("square", b.Square, positive, 0),
        ("invert", lambda: b.Invert(b.Exp()), positive, 0), ("chain", lambda: b.Chain([b.Exp(), b.AffineScalar(1.0, 2.0)]), x, 0),
        ("affine shift", lambda: b.Affine(shift=[1.0, 2.0]), vectors, 1),
        ("affine multiple", lambda: b.Affine(shift=[1.0, 2.0], scale_identity_multiplier=3.0), vectors, 1),
        ("affine diag", lambda: b.Affine(scale_diag=[2.0, 3.0]), vectors, 1),
        ("affine tril", lambda: b.Affine(shift=[1.0, 2.0], scale_tril=tril), vectors, 1),
        ("affine low rank", lambda: b.Affine(scale_diag=[2.0, 3.0], scale_perturb_factor=factor), vectors, 1),
        ("affine sum", lambda: b.Affine(scale_tril=tril, scale_diag=[1.0, 1.0], scale_identity_multiplier=0.5), vectors, 1),
        ("empty chain", lambda: b.Chain([]), x, 0), ("inverted chain", lambda: b.Invert(b.Chain([b.Exp(), b.Softplus()])), positive + 1, 0)]
    for name, make, value, ndims in makers:
        def both(make=make, value=value, ndims=ndims):
            made = make()
            y = made.forward(value)
            return [*_values(tf, [y, made.inverse(made.forward(value + 0.0)), made.forward_log_det_jacobian(value, ndims),
                                  made.inverse_log_det_jacobian(y, ndims), made.inverse(tf.identity(y))]),
                    made.name, str(made.forward_min_event_ndims), str(made.is_constant_jacobian), str(made.forward_event_shape([3, 2]))]
        yield "bijector " + name, both
    yield "bijector event too small", lambda: b.Affine(shift=[1.0]).forward_log_det_jacobian([1.0], event_ndims=0)

    class Cube(b.Bijector):
        """One's own."""

        def __init__(self):
            super().__init__(forward_min_event_ndims=0, name="cube")

        def _forward(self, x):
            return x ** 3

        def _inverse(self, y):
            return y ** (1 / 3.0)

        def _inverse_log_det_jacobian(self, y):
            return -np.log(3.0).astype(np.float32) - 2 / 3.0 * tf.log(y)

    def own():
        d = tf.contrib.distributions
        made = d.TransformedDistribution(d.Uniform([1.0, 2.0], [2.0, 4.0]), Cube())
        drawn = made.sample(2, seed=3)
        return _values(tf, [drawn, made.log_prob(tf.stop_gradient(drawn)), Cube().forward_log_det_jacobian([2.0], 0)])
    yield "bijector of one's own", own


def _distributions(tf, np):
    d = tf.contrib.distributions

    class Shift(d.bijectors.ConditionalBijector):
        """Takes an argument at each call."""

        def __init__(self):
            super().__init__(forward_min_event_ndims=0, validate_args=False, graph_parents=[], is_constant_jacobian=True, name="shift")

        def _forward(self, x, by):
            return x + by

        def _inverse(self, y, by):
            return y - by

        def _inverse_log_det_jacobian(self, y, by):
            return tf.zeros([])

        def _forward_log_det_jacobian(self, x, by):
            return tf.zeros([])

    def conditional():
        made = d.ConditionalTransformedDistribution(d.Normal([0.0, 1.0], [1.0, 2.0]), Shift())
        given = {"shift": {"by": 3.0}}
        x = tf.constant([[3.5, 2.0]])
        return _values(tf, [made.sample(2, seed=1, bijector_kwargs={"by": 3.0}), made.log_prob(x, bijector_kwargs={"by": 3.0}),
                            made.cdf(x, bijector_kwargs={"by": 3.0})]) + [sorted(given)[0]]
    yield "conditional distribution", conditional
    yield "reparameterization", lambda: _told(tf, repr(d.FULLY_REPARAMETERIZED), repr(d.NOT_REPARAMETERIZED), repr(d.ReparameterizationType("MINE")),
                                              d.ReparameterizationType("MINE") == d.ReparameterizationType("MINE"))
    yield "lognormal quantiles", lambda: _values(tf, d.quadrature_scheme_lognormal_quantiles(tf.constant([0.0, 1.0]), tf.constant([1.0, 0.5]), 3))
    yield "softmaxnormal quantiles", lambda: _values(tf, d.quadrature_scheme_softmaxnormal_quantiles([[0.5], [1.0]], [[1.0], [0.5]], 3))


def _constraints(tf, np):
    c = tf.keras.constraints
    w = np.float32([[0.5, -1.0, 2.0], [3.0, 0.1, -0.2]])
    for name, make in [("min_max_norm", lambda: c.min_max_norm(0.5, 1.5, rate=0.7, axis=1)), ("MinMaxNorm", lambda: c.MinMaxNorm()),
                       ("MaxNorm", lambda: c.MaxNorm(1.2, axis=[0, 1])), ("non_neg", c.non_neg), ("NonNeg", c.NonNeg),
                       ("UnitNorm", lambda: c.UnitNorm(1)),
                       ("got", lambda: c.get("non_neg"))]:
        def constrained(make=make):
            made = make()
            return _values(tf, made(tf.constant(w))) + [str(sorted(made.get_config().items()))]
        yield "constraint " + name, constrained
    yield "radial constraint", lambda: _values(tf, c.radial_constraint()(tf.reshape(tf.range(18.0), [3, 3, 2, 1])))
    yield "radial constraint shape", lambda: c.RadialConstraint()(tf.zeros([2, 3]))
    yield "constraint unknown", lambda: c.get("no_such")
    for name, make in [("Zeros", lambda: tf.keras.initializers.Zeros()), ("Ones", lambda: tf.keras.initializers.Ones()),
                       ("Constant", lambda: tf.keras.initializers.Constant(3.0)),
                       ("TruncatedNormal", lambda: tf.keras.initializers.TruncatedNormal(seed=1)),
                       ("glorot_normal", lambda: tf.keras.initializers.glorot_normal(seed=2)),
                       ("VarianceScaling", lambda: tf.keras.initializers.VarianceScaling(2.0, "fan_out", "uniform", seed=3)),
                       ("named", lambda: tf.keras.initializers.get({"class_name": "Constant", "config": {"value": 2.0}}))]:
        def drawn(make=make):
            made = make()
            return _values(tf, made([2, 3])) + [str(sorted(made.get_config().items()))]
        yield "initializer " + name, drawn


def _metrics(tf, np):
    truth, chances = np.array([0, 1, 1, 0, 1]), np.float32([0.1, 0.4, 0.8, 0.6, 0.9])
    for name in ("false_negatives_at_thresholds", "false_positives_at_thresholds", "true_positives_at_thresholds", "true_negatives_at_thresholds"):
        def counted(name=name):
            value, update = getattr(tf.metrics, name)(truth, chances, [0.2, 0.5, 0.85], weights=[1.0, 2.0, 1.0, 0.5, 1.0])
            return _values(tf, update) + [value.name, update.name] + [v.name for v in tf.local_variables()]
        yield "metric " + name, counted


def _columns(tf, np):
    layers, fc = tf.contrib.layers, tf.feature_column

    def transformed():
        real = layers.real_valued_column("x", dimension=2)
        word = layers.sparse_column_with_hash_bucket("w", 10)
        out = layers.transform_features({"x": tf.constant([[1.0, 2.0]]), "w": tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])},
                                        [real, word])
        return [*_values(tf, out[real]), *_values(tf, tf.sparse_tensor_to_dense(out[word]))]
    yield "transform_features", transformed

    def placeholders():
        columns = [layers.real_valued_column("x", dimension=2), layers.sparse_column_with_hash_bucket("w", 10)]
        made = layers.make_place_holder_tensors_for_base_features(columns)
        return _told(tf, sorted((key, type(value).__name__, str(value.dtype)) for key, value in made.items()))
    yield "make_place_holder_tensors_for_base_features", placeholders

    def sequences():
        example = tf.train.SequenceExample()
        example.context.feature["x"].float_list.value.extend([1.0, 2.0])
        for word in (b"a", b"b", b"a"):
            example.feature_lists.feature_list["w"].feature.add().bytes_list.value.append(word)
        context, features = layers.parse_feature_columns_from_sequence_examples(
            tf.placeholder_with_default(example.SerializeToString(), []), [layers.real_valued_column("x", dimension=2)],
            [layers.sparse_column_with_hash_bucket("w", 10)])
        return [*_values(tf, context["x"]), *_values(tf, tf.sparse_tensor_to_dense(features["w"], default_value=""))]
    yield "parse_feature_columns_from_sequence_examples", sequences

    yield "convolution3d_transpose", lambda: _values(tf, layers.convolution3d_transpose(
        tf.reshape(tf.range(16.0), [1, 2, 2, 2, 2]), 2, 2, stride=2, weights_initializer=tf.constant_initializer(0.1), activation_fn=None)) + [
            v.name for v in tf.global_variables()]

    def vocabulary():
        path = _written(["a", "b", "c"])
        column = fc.sequence_categorical_column_with_vocabulary_file("w", path, num_oov_buckets=1)
        words = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["b", "z", "c"], tf.placeholder_with_default(np.int64([2, 2]), [2]))
        layer = tf.keras.experimental.SequenceFeatures([fc.indicator_column(column)])
        return _values(tf, layer({"w": words}))
    yield "sequence vocabulary file", vocabulary

    def from_file():
        column = fc.categorical_column_with_vocabulary_file("w", _written(["a", "b", "c"]), default_value=0)
        return [*_values(tf, fc.input_layer({"w": tf.constant([["b"], ["z"], ["c"]])}, [fc.indicator_column(column)]))]
    yield "vocabulary file", from_file
    yield "vocabulary file is not there", lambda: fc.categorical_column_with_vocabulary_file("w", "/no/such/file")
    yield "sequence identity", lambda: _values(tf, tf.keras.experimental.SequenceFeatures([fc.indicator_column(
        fc.sequence_categorical_column_with_identity("n", 3))])({"n": tf.SparseTensor(
            [[0, 0], [1, 1]], np.int64([2, 0]), tf.placeholder_with_default(np.int64([2, 2]), [2]))}))


def _written(lines):
    """A file with these lines; it is small, and stays for the session that reads it."""
    import os
    import tempfile
    path = os.path.join(tempfile.mkdtemp(), "vocabulary.txt")
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")
    return path


def _tables(tf, np):
    lookup = tf.contrib.lookup
    yield "index table from file", lambda: _values(tf, lookup.string_to_index_table_from_file(
        _written(["a", "b", "c"]), num_oov_buckets=2).lookup(tf.constant(["b", "z", "a"])))
    yield "text file ids", lambda: _values(tf, lookup.HashTable(lookup.TextFileIdTableInitializer(_written(["a", "b"])), -1).lookup(
        tf.constant(["b", "z"])))
    yield "text file strings", lambda: _values(tf, lookup.HashTable(lookup.TextFileStringTableInitializer(_written(["a", "b"])), "?").lookup(
        tf.constant([1, 7], tf.int64)))
    yield "text file columns", lambda: _values(tf, lookup.HashTable(lookup.TextFileInitializer(
        _written(["a 3", "b 4"]), tf.string, 0, tf.int64, 1, delimiter=" "), -1).lookup(tf.constant(["b", "z"])))
    yield "text file whole lines", lambda: _values(tf, lookup.HashTable(lookup.TextFileInitializer(
        _written(["x y", "z"]), tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER), -1).lookup(
            tf.constant(["x y"])))
    yield "hasher", lambda: _told(tf, lookup.FastHashSpec, lookup.HasherSpec("mine", 3))


def _heads(tf, np):
    e = tf.estimator
    logits = np.float32([[1.0, -0.5, 0.2], [0.3, 0.8, -1.0]])
    heads = [("BinaryClassHead", lambda: e.BinaryClassHead(thresholds=[0.4]), logits[:, :1], np.array([[1], [0]])),
             ("MultiClassHead", lambda: e.MultiClassHead(3, label_vocabulary=["a", "b", "c"]), logits, np.array([["b"], ["a"]])),
             ("MultiLabelHead", lambda: e.MultiLabelHead(3, thresholds=[0.5]), logits, np.array([[1, 0, 1], [0, 1, 0]])),
             ("RegressionHead", lambda: e.RegressionHead(label_dimension=3), logits, np.float32([[1, 0, 1], [0, 1, 0]])),
             ("PoissonRegressionHead", e.PoissonRegressionHead, logits[:, :1], np.float32([[1], [2]])),
             ("LogisticRegressionHead", e.LogisticRegressionHead, logits[:, :1], np.float32([[0.3], [0.9]]))]
    for name, make, given, labels in heads:
        def head(make=make, given=given, labels=labels):
            made = make()
            spec = made.create_estimator_spec({}, "eval", tf.constant(given), tf.constant(labels))
            predicted = made.create_estimator_spec({}, "infer", tf.constant(given)).predictions
            return [*_values(tf, spec.loss), str(sorted(map(str, spec.eval_metric_ops))), made.name, made.logits_dimension,
                    *[tf.identity(predicted[key], name="result") for key in sorted(predicted, key=str)], str(sorted(map(str, predicted)))]
        yield "head " + name, head
    yield "call_logit_fn", lambda: _values(tf, tf.contrib.estimator.call_logit_fn(
        lambda features, mode: features * (2.0 if mode == "train" else 3.0), tf.constant([1.0]), "train", None, None))
    yield "call_logit_fn wrong", lambda: tf.contrib.estimator.call_logit_fn(lambda features: 3, tf.constant([1.0]), "train", None, None)

    def builder(kind):
        columns = [tf.feature_column.numeric_column("x")]
        features = {"x": tf.constant([[1.0], [2.0]])}
        if kind == "dnn":
            fn = tf.contrib.estimator.dnn_logit_fn_builder(2, [3], columns, tf.nn.relu, None, None, False)
            tf.set_random_seed(1)
            out = fn(features=features, mode="eval")
        else:
            fn = tf.contrib.estimator.linear_logit_fn_builder(2, columns)
            out = fn(features=features)
        return [*_values(tf, out), [v.name for v in tf.global_variables()]]
    yield "dnn_logit_fn_builder", lambda: builder("dnn")
    yield "linear_logit_fn_builder", lambda: builder("linear")
    column = tf.feature_column.numeric_column
    yield "classifier_parse_example_spec", lambda: _told(tf, str(sorted(tf.estimator.classifier_parse_example_spec(
        [column("x", shape=2)], "y", weight_column="w").items())))
    yield "classifier_parse_example_spec strings", lambda: _told(tf, str(sorted(tf.estimator.classifier_parse_example_spec(
        [column("x")], "y", tf.string).items())))
    yield "classifier_parse_example_spec twice", lambda: tf.estimator.classifier_parse_example_spec([column("y")], "y")
    yield "regressor_parse_example_spec", lambda: _told(tf, str(sorted(tf.estimator.regressor_parse_example_spec(
        [column("x")], "y", label_dimension=2, weight_column=column("w")).items())))


def _exports(tf, np):
    export = tf.estimator.export
    yield "classification output", lambda: [type(export.ClassificationOutput(scores=tf.constant([[0.5]]))).__name__, str(sorted(
        export.ClassificationOutput(scores=tf.constant([[0.5]]), classes=tf.constant([["a"]])).as_signature_def({"x": tf.constant(["s"])}).outputs))]
    yield "classification output wrong", lambda: export.ClassificationOutput(scores=tf.constant(["a"]))
    yield "classification output nothing", lambda: export.ClassificationOutput()
    yield "regression output", lambda: [export.RegressionOutput(tf.constant([0.5])).as_signature_def({"x": tf.constant(["s"])}).method_name]
    yield "regression output wrong", lambda: export.RegressionOutput(tf.constant(["a"]))
    yield "predict output", lambda: [str(sorted(export.PredictOutput(tf.constant([1])).outputs))]
    yield "predict output wrong", lambda: export.PredictOutput({1: tf.constant(3)})
    yield "tensor receiver", lambda: [type(export.TensorServingInputReceiver(tf.constant([1]), tf.constant(["a"])).features).__name__, str(sorted(
        export.TensorServingInputReceiver(tf.constant([1]), tf.constant(["a"])).receiver_tensors))]
    yield "tensor receiver wrong", lambda: export.TensorServingInputReceiver({"a": tf.constant([1])}, tf.constant(["a"]))
    yield "receiver wrong", lambda: export.ServingInputReceiver(None, tf.constant(["a"]))
    yield "learn columns from input_fn", lambda: _told(tf, [
        (column.column_name, column.dimension) for column in tf.contrib.learn.infer_real_valued_columns_from_input_fn(
            lambda: ({"a": tf.zeros([4, 2])}, tf.zeros([4])))])
    yield "learn no_op_train_fn", lambda: [tf.contrib.learn.no_op_train_fn(tf.constant(1.0)).type]


def _views(tf, np):
    ge = tf.contrib.graph_editor

    def graph():
        a = tf.constant([1.0, 2.0], name="a")
        with tf.name_scope("s"):
            b = tf.multiply(a, 2.0, name="b")
            c = tf.add(b, 1.0, name="c")
        d = tf.negative(c, name="d")
        return a, b, c, d

    def told(view):
        return [[op.name for op in view.ops], [t.name for t in view.inputs], [t.name for t in view.outputs]]

    def view():
        a, b, c, d = graph()
        made = ge.make_view(b.op, c.op)
        return [told(made), told(ge.make_view_from_scope("s", tf.get_default_graph())), told(ge.sgv(c.op)), told(made.remap_inputs([0])),
                told(ge.SubGraphView(d.op)), str(made.is_passthrough(a)), [t.name for t in made.connected_outputs]]
    yield "views", view

    def rerouted(function):
        _a, _b, c, d = graph()
        other = tf.constant([5.0, 5.0], name="other")
        e = tf.exp(other, name="e")
        f = tf.abs(e, name="f")
        function(ge.sgv(e.op), ge.sgv(c.op))
        return [*_values(tf, [d, f]), [t.name for t in d.op.inputs], [t.name for t in c.op.inputs], [t.name for t in f.op.inputs]]
    yield "reroute_ios", lambda: rerouted(lambda x, y: ge.reroute_ios(x.remap_inputs([0]), y.remap_inputs([0])))
    yield "reroute_inputs", lambda: rerouted(lambda x, y: ge.reroute_inputs(x.remap_inputs([0]), y.remap_inputs([0])))
    yield "reroute_outputs", lambda: rerouted(ge.reroute_outputs)
    yield "swap_outputs", lambda: rerouted(ge.swap_outputs)

    def transformed():
        _a, b, c, d = graph()
        copier = ge.Transformer()
        copied, info = copier(ge.sgv(b.op, c.op), tf.get_default_graph(), "copy", "")
        return [told(copied), info.transformed(c.op).name, info.transformed(c).name, info.original(info.transformed(b)).name,
                str(info.transformed(d)), type(info).__name__]
    yield "transformer", transformed
    yield "check_cios", lambda: _told(tf, str(ge.check_cios(control_inputs=False, control_outputs=None)))


def cases(tf, np):
    yield from _bijectors(tf, np)
    yield from _distributions(tf, np)
    yield from _constraints(tf, np)
    yield from _metrics(tf, np)
    yield from _columns(tf, np)
    yield from _tables(tf, np)
    yield from _heads(tf, np)
    yield from _exports(tf, np)
    yield from _views(tf, np)
