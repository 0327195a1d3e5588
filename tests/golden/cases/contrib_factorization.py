"""tf.contrib.factorization: k-means by graphs and as an estimator."""


def _points(np):
    rows = np.arange(40, dtype=np.float32)
    return np.stack([np.cos(rows) + rows % 3 * 4, np.sin(rows * 1.7) + rows % 2 * 3], 1).astype(np.float32)


def graphs(tf, np):
    def case(num_clusters=3, **more):
        steps = 0 if more.get("use_mini_batch") else 4  # in TensorFlow, small batches race: counts may be read before they are raised or after

        def build():
            with tf.Graph().as_default():
                kmeans = tf.contrib.factorization.KMeans(tf.constant(_points(np)), num_clusters, **more)
                scores, indices, distances, initialized, init_op, train_op = kmeans.training_graph()
                names = [variable.name for variable in tf.global_variables()]
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    for _ in range(8):
                        if session.run(initialized):
                            break
                        session.run(init_op)
                    first = session.run(tf.global_variables()[0])
                    for _ in range(steps):
                        session.run(train_op)
                    values = session.run([tf.global_variables()[0], distances[0], indices[0], scores[0]])
            return [tf.constant(names), tf.constant(first)] + [tf.constant(value) for value in values]
        return build

    for start in ("random", "kmeans_plus_plus"):
        for metric in ("squared_euclidean", "cosine"):
            yield "{} {}".format(start, metric), case(initial_clusters=start, distance_metric=metric, random_seed=3)
            yield "{} {} mini".format(start, metric), case(initial_clusters=start, distance_metric=metric, use_mini_batch=True, random_seed=4)
            yield "{} {} copy".format(start, metric), case(initial_clusters=start, distance_metric=metric, use_mini_batch=True,
                                                           mini_batch_steps_per_iteration=2, random_seed=5)
    for retries in (0, -1):
        yield "retries {}".format(retries), case(initial_clusters="kmeans_plus_plus", kmeans_plus_plus_num_retries=retries)
    yield "too few points", case(initial_clusters="kmeans_plus_plus", num_clusters=41)
    yield "chains", case(initial_clusters="kmc2", kmc2_chain_length=10, random_seed=2)
    yield "given", case(initial_clusters=_points(np)[:3])
    yield "function", case(initial_clusters=lambda inputs, count: inputs[0][:count])
    yield "unknown start", case(initial_clusters="guess")
    yield "unknown distance", case(distance_metric="guess")


def mixtures(tf, np):
    points = _points(np)

    def case(shards=1, **more):
        def build():
            with tf.Graph().as_default():
                settings = dict({"initial_clusters": points[:3].tolist(), "num_clusters": 3, "random_seed": 3}, **more)
                loss, scores, assignments, train_op, init_op, initialized = tf.contrib.factorization.gmm(
                    [tf.constant(part) for part in np.split(points, shards)], **settings)
                names = sorted(variable.name for variable in tf.global_variables())
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    before = session.run(initialized)
                    session.run(init_op)
                    first = session.run([loss, scores] + assignments[0])
                    for _ in range(4):
                        session.run(train_op)
                    last = session.run([loss, initialized] + sorted(tf.global_variables(), key=lambda variable: variable.name))
            return [tf.constant(each, name="found") for each in [names, before] + first + last]
        return build
    yield "mixture", case()
    yield "mixture diagonal", case(covariance_type="diag")
    yield "mixture at random", case(initial_clusters="random")
    yield "mixture of shards", case(shards=2)
    yield "mixture of means and covariances", case(params="mc")  # in TensorFlow, means move only if covariances do
    yield "mixture of weights and covariances", case(params="wc", covariance_type="diag")
    yield "mixture of nothing", case(covariance_type="round")

    def estimator():
        import tempfile
        model = tf.contrib.factorization.GMM(3, tempfile.mkdtemp(), initial_clusters=points[:3].tolist())
        model.fit(input_fn=lambda: (tf.constant(points), None), steps=5)
        assigned = list(model.predict_assignments(input_fn=lambda: tf.data.Dataset.from_tensors(points).make_one_shot_iterator().get_next()))
        found = [assigned, model.weights(), model.clusters(), model.covariances(), sorted(model.get_variable_names())]
        return [tf.constant(each, name="found") for each in found]
    yield "mixture estimator", estimator


def estimators(tf, np):
    def case(**more):
        def build():
            import tempfile
            model = tf.contrib.factorization.KMeansClustering(3, tempfile.mkdtemp(), **more)
            model.train(lambda: tf.data.Dataset.from_tensors(_points(np)).repeat(6))
            inputs = lambda: tf.data.Dataset.from_tensors(_points(np))
            return [tf.constant(model.cluster_centers()), tf.constant(float(model.score(inputs))), str(sorted(model.get_variable_names())),
                    tf.constant(list(model.predict_cluster_index(inputs))), tf.constant(np.array(list(model.transform(inputs))))]
        return build

    yield "at random", case(use_mini_batch=False)
    yield "plus plus", case(initial_clusters="kmeans_plus_plus", use_mini_batch=False, random_seed=7)
    yield "tolerance", case(initial_clusters="kmeans_plus_plus", use_mini_batch=False, relative_tolerance=0.5)
    yield "unknown", case(initial_clusters="kmc2")


def cases(tf, np):
    for part in (graphs, mixtures, estimators):
        for name, case in part(tf, np):
            yield part.__name__ + " " + name, case
