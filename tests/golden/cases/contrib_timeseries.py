"""tf.contrib.timeseries: estimators that train, evaluate, predict and are exported; statistics of a series; matrices of state space models.

Weights that begin at random are set before the first step, so that all numbers that follow are those of the models.
"""
import importlib
import tempfile

OWN = {"math_utils": "matrices statistics densities", "level_trend": "state_space.components", "periodic": "state_space.components",
       "state_space_model": "state_space.configuration"}


class _Inside:
    """The names of a module inside of the package, which neither shows."""

    def __init__(self, tf, name):
        if tf.__name__.startswith("penstock"):
            modules = ["penstock.contrib.timeseries." + each for each in OWN[name].split()]
        else:
            folder = "" if name == "math_utils" else "state_space_models."
            modules = ["tensorflow.contrib.timeseries.python.timeseries." + folder + name]
        self._modules = [importlib.import_module(each) for each in modules]

    def __getattr__(self, name):
        return next(getattr(module, name) for module in self._modules if hasattr(module, name))


def _weights_hook(tf, np):
    class Weights(tf.train.SessionRunHook):
        """Sets weights, but for the noises of state space models, which begin at known values."""

        def begin(self):
            def is_set(variable):
                name = variable.op.name
                is_noise = "noise" in name or "scale" in name
                return "prior_state_mean" in name or (variable in tf.trainable_variables() and ("exogenous" in name or not is_noise))
            self.variables = [each for each in tf.global_variables() if is_set(each)]
            self.values = [tf.placeholder(each.dtype.base_dtype, each.shape) for each in self.variables]
            self.sets = [tf.assign(*pair) for pair in zip(self.variables, self.values)]

        def after_create_session(self, session, coord):
            for variable, value, op in zip(self.variables, self.values, self.sets):
                shape = variable.shape.as_list()
                numbers = np.sin(np.arange(int(np.prod(shape))) * 0.7 + len(variable.op.name))
                session.run(op, {value: 0.3 * numbers.reshape(shape)})
    return Weights()


def _series(tf, np, times, features, outside):
    values = [np.sin(np.pi * times / 20.0) + times / 100.0, 3 * np.cos(times)][:features]
    result = {"times": times, "values": np.stack(values, -1)}
    if outside:
        result["z"] = (np.cos(times)[..., None] * np.ones([outside])).astype(np.float32)
    return result


def _all_numbers(tf, np, estimator, features=1, outside=0, is_one_shot=False):
    """What an estimator learns, evaluates, predicts and exports."""
    series = tf.contrib.timeseries
    windows = np.stack([np.arange(i * 30, i * 30 + 30) for i in range(4)])
    estimator.train(lambda: ({key: tf.constant(value) for key, value in _series(tf, np, windows, features, outside).items()}, None),
                    steps=3, hooks=[_weights_hook(tf, np)])
    told = {name: estimator.get_variable_value(name).ravel()[:6] for name in sorted(estimator.get_variable_names())}
    data = _series(tf, np, np.arange(65), features, outside)
    evaluation = estimator.evaluate(series.WholeDatasetInputFn(series.NumpyReader(data)), steps=1)
    told.update({"evaluated " + key: np.ravel(value)[-8:] for key, value in evaluation.items() if key != "start_tuple"})
    if not is_one_shot:
        after = {"z": np.ones([1, 13, outside], np.float32)} if outside else None
        made = list(estimator.predict(series.predict_continuation_input_fn(evaluation, steps=13, exogenous_features=after)))
        told.update({"predicted " + key: np.ravel(value)[-8:] for key, value in made[0].items()})
        folder = estimator.export_savedmodel(tempfile.mkdtemp(), estimator.build_raw_serving_input_receiver_fn())
        with tf.Graph().as_default(), tf.Session() as session:
            utils = series.saved_model_utils
            signatures = tf.saved_model.loader.load(session, ["serve"], folder)
            state = utils.cold_start_filter(signatures, session, {key: value[:40] for key, value in data.items()})
            state = utils.filter_continuation(state, signatures, session, {key: value[40:60] for key, value in data.items()})
            made = utils.predict_continuation(state, signatures, session, steps=13, exogenous_features=after)
            told.update({"served " + key: np.ravel(value)[-8:] for key, value in made.items()})
    assert all(len(np.atleast_1d(value)) >= 0 for value in told.values())
    names = sorted(told)
    numbers = np.concatenate([np.atleast_1d(told[name]).astype(np.float64) for name in names])
    return [tf.constant(names, name="names"), tf.constant(numbers.astype(np.float32), name="numbers")]


def estimators(tf, np):
    series = tf.contrib.timeseries
    column = tf.feature_column.numeric_column

    def case(make, *arguments):
        def build():
            return _all_numbers(tf, np, make(tf.estimator.RunConfig(tf_random_seed=7, model_dir=tempfile.mkdtemp())), *arguments)
        return build
    yield "ARRegressor", case(lambda config: series.ARRegressor(20, 20, 10, 1, config=config))
    yield "ARRegressor squared, hidden, outside", case(
        lambda config: series.ARRegressor([20, 7], 20, 10, 2, loss="squared_loss", hidden_layer_sizes=[5], config=config,
                                          exogenous_feature_columns=[column("z", shape=(2,))]), 2, 2)
    for distribution in ("gaussian", "cauchy"):
        yield "ARRegressor " + distribution, case(
            lambda config, distribution=distribution: series.ARRegressor(20, 20, 10, 1, anomaly_prior_probability=0.1,
                                                                         anomaly_distribution=distribution, config=config))
    yield "TimeSeriesRegressor, OneShotPredictionHead", case(
        lambda config: series.TimeSeriesRegressor(series.ARModel(20, 20, 10, 1), head_type=series.OneShotPredictionHead, config=config), 1, 0, True)
    yield "StructuralEnsembleRegressor", case(lambda config: series.StructuralEnsembleRegressor(20, 1, cycle_num_latent_values=5, config=config))
    yield "StructuralEnsembleRegressor, two features, anomalies", case(
        lambda config: series.StructuralEnsembleRegressor([20, 7.5], 2, cycle_num_latent_values=3, moving_average_order=1, autoregressive_order=2,
                                                          anomaly_prior_probability=0.1, config=config), 2)
    yield "StructuralEnsembleRegressor, outside", case(
        lambda config: series.StructuralEnsembleRegressor(20, 1, cycle_num_latent_values=3, moving_average_order=1, config=config,
                                                          exogenous_feature_columns=[column("z", shape=(2,))]), 1, 2)


def inputs(tf, np):
    series = tf.contrib.timeseries
    data = {"times": np.arange(40), "values": np.arange(40.0) * 2}

    def started(build):
        def run():
            features, _ = build()
            with tf.Session() as session:
                session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                coordinator = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(session, coordinator)
                values = [session.run(features) for _ in range(2)]
                coordinator.request_stop()
                session.run([])
                coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)
            return [tf.constant(each[key], name=key) for each in values for key in sorted(each)]
        return run

    def file(text):
        path = tempfile.mktemp()
        with open(path, "w") as out:
            out.write(text)
        return path
    lines = "head\n" + "".join("%d,%f,%f\n" % (i, i * 0.5, -i) for i in range(12))
    yield "CSVReader", started(lambda: series.WholeDatasetInputFn(series.CSVReader(
        file(lines), column_names=("times", "values", "values"), skip_header_lines=1))())
    yield "too short", lambda: series.RandomWindowInputFn(series.NumpyReader(data), 50, 3)
    yield "no times", lambda: series.NumpyReader({"values": np.arange(3.0)})
    yield "columns", lambda: series.CSVReader("x", column_names=("times", "other"))
    yield "steps and times", lambda: series.predict_continuation_input_fn({"times": np.array([[3]]), "start_tuple": ()}, steps=2, times=[[5]])
    yield "times too early", lambda: series.predict_continuation_input_fn({"times": np.array([[3]]), "start_tuple": ()}, times=[[2]])


def statistics(tf, np):
    def build():
        generator = _Inside(tf, "math_utils").InputStatisticsFromMiniBatch(2, tf.float64, starting_variance_window_size=3)
        times = tf.constant([[5, 6, 7, 8], [10, 12, 14, 16]], tf.int64)
        values = tf.constant(np.sin(np.arange(16.0)).reshape(2, 4, 2))
        found = generator.initialize_graph({"times": times, "values": values})
        return [tf.identity(each, name="told") for each in tf.contrib.framework.nest.flatten(found)]
    yield "InputStatisticsFromMiniBatch", build


def matrices(tf, np):
    def case(call):
        def build():
            return tf.identity(call(_Inside(tf, "math_utils")), name="result")
        return build
    square = np.array([[0.9, 0.2], [-0.1, 0.8]])
    batch = np.stack([square, square * 0.5, np.eye(2)])
    yield "power_sums_tensor", case(lambda m: m.power_sums_tensor(3, tf.constant(square), tf.constant(np.eye(2))))
    yield "block_diagonal", case(lambda m: m.block_diagonal([tf.constant(batch), tf.ones([3, 1, 2], tf.float64)], tf.float64))
    yield "clip_covariance", case(lambda m: m.clip_covariance(tf.constant(np.diag([1e-9, 2.0, 5.0])), 1e3, 0.003))
    yield "sign_magnitude_positive_definite", case(lambda m: m.sign_magnitude_positive_definite(tf.constant(batch), tf.constant(0.3, tf.float64)))
    yield "log_noninformative_covariance_prior", case(lambda m: m.log_noninformative_covariance_prior(tf.constant(np.diag([0.2, 3.0]))))
    yield "batch_times_matrix", case(lambda m: m.batch_times_matrix(tf.constant(batch), tf.constant(square), adj_y=True))
    yield "matrix_times_batch", case(lambda m: m.matrix_times_batch(tf.constant(square), tf.constant(batch), adj_x=True))
    yield "entropy_matched_cauchy_scale", case(lambda m: m.entropy_matched_cauchy_scale(tf.constant(batch)))
    yield "cauchy_log_prob", case(lambda m: m.cauchy_log_prob(0.3, 2.0, tf.constant([0.1, -5.0])))
    yield "make_toeplitz_matrix", case(lambda m: m.make_toeplitz_matrix(tf.constant(batch)))

    def powers(make):
        def build():
            level, cycles, space = (_Inside(tf, each) for each in ("level_trend", "periodic", "state_space_model"))
            model = make(level, cycles, space.StateSpaceModelConfiguration(dtype=tf.float64))
            model.initialize_graph()
            steps = tf.constant([1, 2, 9, 20])
            return [tf.identity(model.transition_to_powers(tf.cast(steps, model.dtype)), name="powers"),
                    tf.identity(model.transition_power_noise_accumulator(steps), name="noises")]
        return build
    yield "AdderStateSpaceModel", powers(lambda level, cycles, given: level.AdderStateSpaceModel(configuration=given))
    yield "ResolutionCycleModel", powers(lambda level, cycles, given: cycles.ResolutionCycleModel(5, 7.5, configuration=given))


def cases(tf, np):
    for group in (estimators, inputs, statistics, matrices):
        for name, function in group(tf, np):
            yield "{}: {}".format(group.__name__, name), function
