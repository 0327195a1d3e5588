"""What estimators and training loops log: the lines of training, evaluation, prediction and export, without times, folders and last digits."""
import logging
import re
import shutil
import tempfile

NOISE = re.compile(  # what depends on the moment, and what only TensorFlow tells: that names of its own are older ones
    r"is deprecated|will not be included|experimental and may change|has not been increased|does not grow|Using config|Trapezoidal|SKCompat")


class _Lines(logging.Handler):
    def __init__(self, folder):
        logging.Handler.__init__(self)
        self.folder, self.lines = folder, []

    def emit(self, record):
        line = record.getMessage()
        if NOISE.search(line):
            return
        line = re.sub(r"\d{4}-\d\d-\d\d[T-][0-9:]+Z?|\(\d+\.\d+ sec\)|\d+\.\d+s$|/sec: .*", "TIME", line.replace(self.folder, "FOLDER"))
        if self.lines and line == self.lines[-1]:  # TensorFlow says twice that predictions have ended
            return
        line = re.sub(r"(temp-b?'?)?\d{10}'?", "EXPORT", line)
        self.lines.append(re.sub(r"\d+\.\d+(e-\d+)?", lambda number: "%.3g" % float(number.group()), line))


def _logged(tf, run):
    """The lines that ``run(folder)`` logs."""
    folder, logger, level = tempfile.mkdtemp(), tf.get_logger(), tf.logging.get_verbosity()
    handler = _Lines(folder)
    tf.logging.set_verbosity(tf.logging.INFO)
    logger.addHandler(handler)
    try:
        run(folder)
    finally:
        logger.removeHandler(handler)
        tf.logging.set_verbosity(level)
        shutil.rmtree(folder)
    return tf.constant(handler.lines, name="lines")


def cases(tf, np):
    """Estimators of both kinds, on one machine."""
    learn, x = tf.contrib.learn, np.sin(np.arange(24) * 1.7).astype(np.float32).reshape(12, 2)
    y = (x.sum(1) > 0).astype(np.int32)

    def arrays(epochs=None):
        return tf.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=6, num_epochs=epochs, shuffle=False)

    def classifier(folder, **options):
        config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=7, log_step_count_steps=5, **options)
        return tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x", 2)], config=config)

    def core(folder):
        model = classifier(folder, save_checkpoints_steps=8)
        model.train(arrays(), steps=12)
        model.evaluate(arrays(1), name="mine")
        list(model.predict(arrays(1)))
        receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 2])})
        model.export_savedmodel(folder + "/export", receiver)
        model.train(arrays(), max_steps=10)

    def both(folder):
        model = classifier(folder, save_checkpoints_steps=6)
        tf.estimator.train_and_evaluate(model, tf.estimator.TrainSpec(arrays(), max_steps=12),
                                        tf.estimator.EvalSpec(arrays(1), start_delay_secs=0, throttle_secs=0))

    def tpu_model(features, labels, mode, params):
        logits = tf.layers.dense(features, 2)
        loss = None if labels is None else tf.losses.sparse_softmax_cross_entropy(labels, logits)
        train = None if loss is None else tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())

        def metric_fn(labels, logits):
            return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}

        metrics = None if labels is None else (metric_fn, [labels, logits])
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, eval_metrics=metrics, predictions={"logits": logits})

    def tpu_batches(params):
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat(8).batch(params["batch_size"], drop_remainder=True)

    def tpu(folder):
        config = tf.contrib.tpu.RunConfig(model_dir=folder, tf_random_seed=7, log_step_count_steps=8,
                                          tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=4))
        model = tf.contrib.tpu.TPUEstimator(tpu_model, config=config, params={}, use_tpu=False, train_batch_size=6, eval_batch_size=4,
                                            predict_batch_size=4)
        model.train(tpu_batches, max_steps=7)
        model.evaluate(tpu_batches, steps=2)
        list(model.predict(lambda params: tf.data.Dataset.from_tensor_slices(x).batch(params["batch_size"])))

    def learning(folder, **options):
        config = learn.RunConfig(model_dir=folder, tf_random_seed=7, save_checkpoints_steps=8, save_checkpoints_secs=None, log_step_count_steps=5)
        columns = [tf.contrib.layers.real_valued_column("x", 2)]
        return learn.DNNClassifier([3], columns, optimizer=tf.train.GradientDescentOptimizer(0.1), config=config, **options)

    def tensors():
        return {"x": tf.constant(x)}, tf.constant(y)

    def older(folder):
        model = learning(folder)
        model.fit(input_fn=tensors, steps=12)
        model.evaluate(input_fn=tensors, steps=2)

    def monitored(folder):
        monitor = learn.monitors.ValidationMonitor(input_fn=tensors, eval_steps=1, every_n_steps=8)
        learning(folder).fit(input_fn=tensors, steps=20, monitors=[monitor])

    def experiment(folder):
        learn.Experiment(learning(folder), tensors, tensors, train_steps=12, eval_steps=1).train_and_evaluate()

    def loops(folder):
        training = tf.contrib.training
        with tf.Graph().as_default():
            loss = tf.square(tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=True))
            op = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
            training.train(op, folder, hooks=[tf.train.StopAtStepHook(5), tf.train.LoggingTensorHook({"loss": loss}, 2)], save_summaries_steps=None)
        with tf.Graph().as_default():
            value, update = tf.metrics.mean(tf.get_variable("w", []))
            hooks = [training.StopAfterNEvalsHook(2)]
            training.evaluate_once(tf.train.latest_checkpoint(folder), eval_ops=update, final_ops=value, hooks=hooks)
            training.evaluate_repeatedly(folder, eval_ops=update, final_ops=value, hooks=hooks, eval_interval_secs=0, max_number_of_evaluations=1)

    def warm_started(folder):
        classifier(folder + "/first").train(arrays(), steps=2)
        config = tf.estimator.RunConfig(model_dir=folder + "/second", tf_random_seed=7, log_step_count_steps=5)
        tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x", 2)], config=config, warm_start_from=folder + "/first").train(
            arrays(), steps=2)

    for name, run in (("loops of contrib.training", loops), ("warm start", warm_started), ("estimator", core), ("train and evaluate", both),
                      ("TPUEstimator", tpu), ("contrib.learn", older), ("validation monitor", monitored), ("experiment", experiment)):
        yield name, lambda run=run: _logged(tf, run)
