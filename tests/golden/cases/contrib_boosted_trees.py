"""tf.contrib.boosted_trees: logits of trees as they grow, and how far they are grown.

TensorFlow 1.15's package has the operations of these trees without the estimator. There the loop of the estimator is written out here; under Penstock
the estimator itself is trained. Each step sees all examples. Once the examples are told apart, splits gain the same but for rounding, and which of
them is chosen depends on the last bits of the gradients: cases end before that.
"""
import shutil
import struct
import tempfile

TREE_PER_CLASS, FULL_HESSIAN, DIAGONAL_HESSIAN = 1, 2, 3
PRE_PRUNE, POST_PRUNE = 1, 2


def _data(np):
    random = np.random.RandomState(3)
    x = random.rand(60, 3).astype(np.float32)
    x[:, 2] = np.round(x[:, 2] * 4)
    score = 3 * x[:, 0] - 2 * x[:, 1] + x[:, 2] + 0.3 * random.randn(60)
    return {"a": x[:, :1], "b": x[:, 1:2], "c": x[:, 2:]}, score


class _Config:
    """The settings of a learner."""

    def __init__(self, classes, strategy, depth=2, rate=0.5, l1=0.0, l2=0.0, complexity=0.0, min_weight=0.0, pruning=POST_PRUNE, growing=2,
                 steps=7):
        self.classes, self.strategy, self.depth, self.rate, self.l1, self.l2 = classes, strategy, depth, rate, l1, l2
        self.complexity, self.min_weight, self.pruning, self.growing, self.steps = complexity, min_weight, pruning, growing, steps

    def serialized(self):
        """The protocol buffer by hand: TensorFlow's package has no classes for it."""
        def number(field, value):
            return bytes([field << 3, value])

        def real(field, value):
            return bytes([field << 3 | 5]) + struct.pack("<f", value)

        def part(field, content):
            return bytes([field << 3 | 2, len(content)]) + content
        return (number(1, self.classes) + part(4, real(1, self.l1) + real(2, self.l2) + real(3, self.complexity))
                + part(5, number(1, self.depth) + real(2, self.min_weight)) + part(6, part(1, real(1, self.rate)))
                + number(8, self.pruning) + number(9, self.growing) + number(10, self.strategy))


def _derivatives(tf, logits, labels, config):
    """(gradients, hessians, weights of quantiles) of the mean loss, as the graph of the estimator has them."""
    if config.classes == 2:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels[:, None], tf.float32), logits=logits)
    else:
        powers = tf.exp(logits)
        losses = -tf.log(tf.reduce_sum(tf.one_hot(labels, config.classes) * (powers / tf.reduce_sum(powers, 1, keepdims=True)), 1))
    g = tf.gradients(tf.reduce_mean(losses), logits)[0]
    rows = [tf.gradients(g[:, row], logits)[0] for row in range(logits.shape[1])]
    if config.classes == 2:
        return g[:, 0], rows[0][:, 0], rows[0][:, 0]
    if config.strategy == DIAGONAL_HESSIAN:
        diagonal = tf.stack([each[:, row] for row, each in enumerate(rows)], 1)
        return g, diagonal, tf.reduce_sum(diagonal, 1)
    full = tf.stack(rows, 1)
    return g, full, tf.trace(full)


def _by_operations(tf, np, config, labels, center_bias):
    """The loop of the estimator. Returns the logits after each step, and the number of trees."""
    from tensorflow.contrib.boosted_trees.python.ops import (
        model_ops,
        prediction_ops,
        quantile_ops,
        split_handler_ops,
        stats_accumulator_ops,
        training_ops,
    )
    from tensorflow.python.framework import tensor_shape
    features, _ = _data(np)
    columns = [features[name] for name in sorted(features)]
    size = 1 if config.classes == 2 else config.classes
    shapes = {TREE_PER_CLASS: ([], []), DIAGONAL_HESSIAN: ([size], [size]), FULL_HESSIAN: ([size], [size, size])}[config.strategy]
    with tf.Graph().as_default(), tf.Session() as session:
        ensemble = model_ops.tree_ensemble_variable(stamp_token=0, tree_ensemble_config="", name="trees")
        quantiles = [quantile_ops.QuantileAccumulator(0, epsilon=0.01, num_quantiles=100, name="q%d" % i) for i in range(3)]
        stats = [stats_accumulator_ops.StatsAccumulator(0, *map(tensor_shape.TensorShape, shapes), name="s%d" % i) for i in range(3)]
        session.run(tf.initialize_resources(tf.shared_resources()) if hasattr(tf, "initialize_resources") else
                    tf.group(*[each.create for each in tf.get_collection("resources")]))
        nothing = [[], [], [], [], [], []]
        predict = prediction_ops.gradient_trees_prediction(ensemble, 0, columns, *nothing, learner_config=config.serialized(), apply_dropout=False,
                                                           apply_averaging=False, center_bias=center_bias, reduce_dim=size == 1)[0]
        partition = prediction_ops.gradient_trees_partition_examples(ensemble, columns, *nothing)
        seen = tf.placeholder(tf.float32, [len(labels), size])
        derivatives = _derivatives(tf, seen, labels, config)
        history, centering = [], center_bias
        for stamp in range(config.steps):
            logits, leaves = session.run([predict, partition])
            g, h, weights = session.run(derivatives, {seen: logits})
            ids, gains, splits, all_ready = [], [], [], True
            for number, column in enumerate(columns):
                ready, buckets = session.run(quantiles[number].get_buckets(stamp))
                session.run(quantiles[number].add_summary(stamp, column, weights.reshape(-1, 1)))
                if ready:
                    places = session.run(quantile_ops.quantiles([column], [], [buckets], [], [])[0][0])
                    session.run(stats[number].add(stamp, leaves, places.reshape(-1, 2).astype(np.int64), g, h))
                else:
                    empty = np.zeros((0, 2), np.int64)
                    session.run(stats[number].add(stamp, np.zeros(0, np.int32), empty, g[:0], h[:0]))
                    all_ready = False
                session.run(quantiles[number].flush(stamp, stamp + 1))
                count, parts, bucket_ids, gradients, hessians = session.run(stats[number].flush(stamp, stamp + 1))
                found = session.run(split_handler_ops.build_dense_inequality_splits(
                    num_minibatches=count, bucket_boundaries=buckets, partition_ids=parts, bucket_ids=bucket_ids, gradients=gradients,
                    hessians=hessians, class_id=-1, feature_column_group_id=number, l1_regularization=config.l1, l2_regularization=config.l2,
                    tree_complexity_regularization=config.complexity, min_node_weight=config.min_weight, multiclass_strategy=config.strategy,
                    weak_learner_type=0))
                for kept, each in zip((ids, gains, splits), found):
                    kept.append(each)
            if centering:
                sums = g.reshape(len(g), -1).sum(0), (h if config.classes == 2 else np.zeros_like(g)).reshape(len(g), -1).sum(0)
                delta = np.where(sums[1] > 0, -sums[0] / np.where(sums[1] > 0, sums[1], 1), 0).astype(np.float32)
                centering = session.run(training_ops.center_tree_ensemble_bias(ensemble, stamp, stamp + 1, delta, learner_config=config.serialized()))
            else:
                session.run(training_ops.grow_tree_ensemble(
                    ensemble, stamp, stamp + 1, config.rate if all_ready else 0.0, 0, config.depth, 0, ids if all_ready else [],
                    gains if all_ready else [], splits if all_ready else [], learner_config=config.serialized(), center_bias=center_bias))
            history.append(session.run(predict))
        numbers = session.run(training_ops.tree_ensemble_stats(ensemble, config.steps))
        return history, [int(each) for each in numbers]


def _by_estimator(tf, np, config, labels, center_bias):
    """The estimator, trained step by step."""
    from penstock.checkpoint.contents import load_variable
    from penstock.state.gradient_trees.protos import EnsembleProto
    features, _ = _data(np)
    learner = tf.contrib.boosted_trees.proto.learner_pb2.LearnerConfig.FromString(config.serialized())
    folder, history = tempfile.mkdtemp(), []
    try:
        kind = tf.contrib.boosted_trees.estimator_batch.estimator.GradientBoostedDecisionTreeClassifier
        model = kind(learner, examples_per_layer=len(labels), n_classes=config.classes, model_dir=folder, center_bias=center_bias)

        def train_input():
            return {name: tf.constant(value) for name, value in features.items()}, tf.constant(labels)

        class Watch(tf.train.SessionRunHook):
            """Collects what each step begins with."""

            def before_run(self, run_context):
                return tf.train.SessionRunArgs(tf.get_default_graph().get_tensor_by_name("gbdt/GradientTreesPrediction:0"))

            def after_run(self, run_context, run_values):
                history.append(run_values.results)

        model.fit(input_fn=train_input, steps=config.steps, monitors=[Watch()])
        once = tf.estimator.inputs.numpy_input_fn(features, batch_size=len(labels), shuffle=False)
        history = history[1:] + [np.array([each["logits"] for each in model.predict(input_fn=once)])]
        proto = EnsembleProto.FromString(load_variable(folder, "ensemble_model:0_config"))
        finished = sum(each.is_finalized for each in proto.tree_metadata)
        layers = [each.num_layers_grown for each in proto.tree_metadata]
        growing = proto.growing_metadata
        return history, [finished, sum(layers), len(layers), layers[-1] if layers else 0, growing.num_trees_attempted, growing.num_layers_attempted]
    finally:
        shutil.rmtree(folder)


def _grown(tf, np, config, center_bias=False):
    _, score = _data(np)
    labels = np.digitize(score, np.quantile(score, np.arange(1, config.classes) / config.classes)).astype(np.int64)
    run = _by_estimator if "penstock" in tf.__name__ else _by_operations
    history, numbers = run(tf, np, config, labels, center_bias)
    return [tf.identity(tf.constant(np.stack(history).astype(np.float32)), name="output"), tf.identity(tf.constant(numbers), name="output")]


def cases(tf, np):
    """Settings, and what grows under them."""
    yield "binary", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS))
    yield "binary depth 1", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=1, rate=0.3))
    yield "binary depth 4", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=4, steps=8))
    yield "binary depth 4 min weight", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=4, rate=1.0, min_weight=0.01))
    yield "binary regularized", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, l1=0.01, l2=0.1, complexity=0.01))
    yield "binary pre-pruned", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=3, complexity=0.02, pruning=PRE_PRUNE))
    yield "binary post-pruned", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=3, complexity=0.02))
    yield "binary pruned away", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=2, complexity=9.0))
    yield "binary min weight", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=3, min_weight=0.05))
    yield "binary whole trees", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS, depth=2, growing=1))
    yield "binary centered", lambda: _grown(tf, np, _Config(2, TREE_PER_CLASS), center_bias=True)
    yield "classes diagonal", lambda: _grown(tf, np, _Config(3, DIAGONAL_HESSIAN))
    yield "classes diagonal l2", lambda: _grown(tf, np, _Config(3, DIAGONAL_HESSIAN, depth=3, l2=0.05, min_weight=0.001))
    yield "classes full", lambda: _grown(tf, np, _Config(3, FULL_HESSIAN, l2=0.05))
