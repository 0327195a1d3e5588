"""tf.contrib.losses and its metric_learning: values, gradients, names, collections, weights."""


def _pair(tf, np):
    predictions = tf.constant(np.cos(np.arange(12) * 0.7).reshape(4, 3) * 0.9, tf.float32)
    return predictions, tf.constant((np.arange(12).reshape(4, 3) * 5 % 7 < 3).astype(np.float32))


def _result(tf, loss, *inputs):
    names = [loss.name] + [element.name for key in ("losses", "regularization_losses") for element in tf.get_collection(key)]
    names += [op.type + " " + op.name for op in tf.get_default_graph().get_operations()]
    gradients = [tf.identity(g, name="gradient") for g in tf.gradients(loss, list(inputs)) if g is not None]
    return [loss, tf.constant(names, name="names")] + gradients


def elementwise(tf, np):
    losses = tf.contrib.losses

    def case(call, **more):
        def build():
            predictions, labels = _pair(tf, np)
            return _result(tf, call(predictions, labels, **more), predictions)
        return build

    calls = [("absolute_difference", losses.absolute_difference), ("mean_squared_error", losses.mean_squared_error),
             ("sigmoid_cross_entropy", losses.sigmoid_cross_entropy), ("softmax_cross_entropy", losses.softmax_cross_entropy),
             ("log_loss", lambda p, y, **more: losses.log_loss(p * 0.4 + 0.5, y, **more)),
             ("cosine_distance", lambda p, y, **more: losses.cosine_distance(p, y, axis=1, **more)),
             ("mean_pairwise_squared_error", losses.mean_pairwise_squared_error)]
    for name, call in calls:
        yield name, case(call)
        yield name + " scalar weight", case(call, weights=2.5, scope="mine")
        yield name + " no weight", case(call, weights=0.0)
        yield name + " per example", case(call, weights=[1.0, 0.0, 2.0, 0.5])
        yield name + " column", case(call, weights=[[1.0], [0.0], [2.0], [0.5]])
    yield "hinge_loss", case(losses.hinge_loss)
    yield "per element", case(losses.mean_squared_error, weights=np.arange(12).reshape(4, 3) % 4 * 0.5)
    yield "sigmoid smoothing", case(losses.sigmoid_cross_entropy, label_smoothing=0.2)
    yield "softmax smoothing", case(losses.softmax_cross_entropy, label_smoothing=0.2)
    yield "sparse_softmax_cross_entropy", case(lambda p, y: losses.sparse_softmax_cross_entropy(p, tf.constant([[0], [2], [1], [1]])))
    yield "cosine_distance without axis", case(losses.cosine_distance)


def collections(tf, np):
    def total():
        predictions, labels = _pair(tf, np)
        tf.contrib.losses.mean_squared_error(predictions, labels)
        tf.contrib.losses.add_loss(tf.constant(2.0, name="mine"))
        tf.add_to_collection("regularization_losses", tf.constant(0.5))
        count = len(tf.contrib.losses.get_losses()), len(tf.contrib.losses.get_losses("mean_squared_error")), len(
            tf.contrib.losses.get_regularization_losses())
        return [tf.contrib.losses.get_total_loss(), tf.contrib.losses.get_total_loss(False, name="bare"), count]
    yield "get_total_loss", total

    def unknown_rank():
        return tf.contrib.losses.compute_weighted_loss(tf.placeholder(tf.float32))
    yield "unknown rank", unknown_rank


def metric_learning(tf, np):
    learning = tf.contrib.losses.metric_learning
    labels = np.array([0, 1, 0, 2, 1, 0])

    def embeddings(phase):
        return tf.constant(np.cos(np.arange(18) ** 2 * 0.37 + phase).reshape(6, 3), tf.float32)

    def case(call):
        def build():
            anchors, positives = embeddings(0.0), embeddings(0.4)
            loss = call(anchors, positives)
            return [loss] + [tf.identity(g, name="gradient") for g in tf.gradients(loss, [anchors, positives]) if g is not None]
        return build

    yield "triplet_semihard_loss", case(lambda a, p: learning.triplet_semihard_loss(tf.constant(labels), a))
    yield "triplet_semihard_loss margin", case(lambda a, p: learning.triplet_semihard_loss(tf.constant(labels), a, margin=0.3))
    yield "lifted_struct_loss", case(lambda a, p: learning.lifted_struct_loss(tf.constant(labels), a))
    yield "npairs_loss", case(lambda a, p: learning.npairs_loss(tf.constant(labels), a, p))
    yield "npairs_loss strength", case(lambda a, p: learning.npairs_loss(tf.constant(labels), a, p, reg_lambda=0.1))
    yield "contrastive_loss", case(lambda a, p: learning.contrastive_loss(tf.constant([1, 0, 0, 1, 1, 0]), a, p, margin=1.2))

    def multilabel():
        sparse = [tf.SparseTensor([[i] for i in places], [1] * len(places), [4]) for places in ([0, 1], [1, 2], [3])]
        anchors, positives = embeddings(0.0)[:3], embeddings(0.4)[:3]
        loss = learning.npairs_loss_multilabel(sparse, anchors, positives)
        return [loss] + [tf.identity(g, name="gradient") for g in tf.gradients(loss, [anchors, positives])]
    yield "npairs_loss_multilabel", multilabel
    yield "npairs_loss_multilabel dense", case(lambda a, p: learning.npairs_loss_multilabel([tf.constant([1])], a, p))


    def clusters(refined):  # recorded with scikit-learn 0.24, which TensorFlow asks for whatever the margin is
        def build():
            points = tf.constant(np.sin(np.arange(24) * 1.7).reshape(12, 2) + np.arange(12)[:, None] % 4 * 0.7, tf.float32)
            loss = learning.cluster_loss(tf.constant(np.arange(12) % 4), points, 0.8, refined, "const")
            return [loss, tf.identity(tf.gradients(loss, points)[0], name="gradient"),
                    tf.constant(sorted(each.name for each in tf.get_collection("summaries")), name="summaries")]
        return build
    yield "cluster_loss", clusters(True)
    yield "cluster_loss greedy", clusters(False)
    yield "cluster_loss unknown margin", lambda: learning.cluster_loss(tf.constant([1, 2]), tf.constant([[1.0], [2.0]]), 1.0, margin_type="sum")
    yield "labels of rank 2", case(lambda a, p: learning.triplet_semihard_loss(tf.constant(labels[:, None]), a))


def cases(tf, np):
    for family in (elementwise, collections, metric_learning):
        yield from family(tf, np)
