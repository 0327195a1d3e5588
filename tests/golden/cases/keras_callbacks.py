"""What callbacks are told, what is printed, and what is written while a Keras model trains: texts without the times that steps took."""
import contextlib
import glob
import io
import os
import re
import shutil
import tempfile


def _text(made):
    """A text without what changes from run to run."""
    made = re.sub(r"\d+s \d+[mu]?s/", "TIME/", made.replace("\b", "").replace("\r", "\n"))
    made = re.sub(r"- \d+s( |$)", r"- TIME\1", re.sub(r"ETA: \d+s", "ETA", made), flags=re.M)
    return "\n".join(line.rstrip() for line in made.splitlines() if line.strip() and "ETA" not in line)


def _teller(tf, said):
    """A callback that says what it is told."""
    def show(value):
        if not isinstance(value, dict):
            return str(value)
        return " ".join("%s %s" % (key, each) if key in ("batch", "size") else key for key, each in sorted(value.items()))

    class Teller(tf.keras.callbacks.Callback):
        def set_params(self, params):
            self.params = params
            said("params %s" % [(key, params[key]) for key in sorted(params)])

    for hook in ("batch_begin batch_end epoch_begin epoch_end train_begin train_end test_begin test_end test_batch_begin test_batch_end "
                 "predict_begin predict_end predict_batch_begin predict_batch_end").split():
        def method(self, *args, **kwargs):
            said("%s %s verbose %s" % (kwargs.pop("hook"), " ".join(show(each) for each in args + tuple(kwargs.values())), self.params["verbose"]))

        setattr(Teller, "on_" + hook, lambda self, *args, method=method, hook=hook, **kwargs: method(self, *args, hook=hook, **kwargs))
    return Teller()


def cases(tf, np):
    x = np.arange(48, dtype="float32").reshape(24, 2) / 48
    y = x[:, :1]
    callbacks = tf.keras.callbacks

    def model():
        made = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
        made.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
        return made

    def batches(size):
        while True:
            for start in range(0, 24, size):
                yield x[start:start + size], y[start:start + size]

    class Rows(tf.keras.utils.Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return x[index * 8:index * 8 + 8], y[index * 8:index * 8 + 8]

    def dataset(size):
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(size)

    runs = {
        "fit": lambda told, verbose: model().fit(x, y, 8, validation_data=(x[:5], y[:5]), shuffle=False, callbacks=told, verbose=verbose),
        "generator with arrays": lambda told, verbose: model().fit_generator(batches(10), 3, epochs=2, validation_data=(x, y), callbacks=told,
                                                                             verbose=verbose),
        "generators": lambda told, verbose: model().fit_generator(batches(10), 3, epochs=2, validation_data=batches(24), validation_steps=2,
                                                                  callbacks=told, verbose=verbose),
        "Sequence": lambda told, verbose: model().fit_generator(Rows(), validation_data=Rows(), shuffle=False, workers=0, callbacks=told,
                                                                verbose=verbose),
        "dataset": lambda told, verbose: model().fit(dataset(8), validation_data=dataset(12), callbacks=told, verbose=verbose),
        "evaluate": lambda told, verbose: model().evaluate(x, y, 8, callbacks=told, verbose=verbose),
        "evaluate_generator": lambda told, verbose: model().evaluate_generator(batches(10), 3, callbacks=told, verbose=verbose),
        "predict": lambda told, verbose: model().predict(x, 8, callbacks=told, verbose=verbose),
        "predict_generator": lambda told, verbose: model().predict_generator(batches(10), 3, callbacks=told, verbose=verbose),
    }

    def told(run, verbose):
        def build():
            lines, out = [], io.StringIO()
            with contextlib.redirect_stdout(out):
                run([_teller(tf, lines.append)], verbose)
            return [tf.constant(lines, name="told"), tf.constant(_text(out.getvalue()), name="printed")]
        return build

    for name, run in sorted(runs.items()):
        for verbose in (0, 1, 2):
            yield "%s verbose %d" % (name, verbose), told(run, verbose)

    def means(own, data):
        def build():
            def values():
                if data == "generator":
                    return model().fit_generator(batches(10), 3, epochs=2, verbose=0, callbacks=own(), validation_data=(x, y)).history
                return model().fit(x, y, 10, 2, verbose=0, callbacks=own(), shuffle=False).history
            history = values()
            return [tf.constant(np.array([history[key] for key in sorted(history)], "float32"), name="history")]
        return build

    for data in ("arrays", "generator"):
        yield "BaseLogger of one's own, %s" % data, means(lambda: [callbacks.BaseLogger()], data)
        yield "BaseLogger with metrics, %s" % data, means(lambda: [callbacks.BaseLogger(stateful_metrics=["loss"])], data)

    def written(**options):
        def build():
            folder = tempfile.mkdtemp()
            try:
                model().fit(x, y, 10, 3, verbose=0, shuffle=False, validation_data=(x, y), callbacks=[callbacks.TensorBoard(folder, **options)])
                events = [event for path in sorted(glob.glob(os.path.join(folder, "events*"))) for event in tf.train.summary_iterator(path)]
            finally:
                shutil.rmtree(folder)
            return [tf.constant(["%d %s %s %.4f" % (event.step, value.tag, value.WhichOneof("value"), value.simple_value)
                                 for event in events for value in event.summary.value], name="events")]
        return build

    yield "TensorBoard", written(profile_batch=0)
    yield "TensorBoard by batches", written(update_freq="batch", profile_batch=0)
    yield "TensorBoard by samples", written(update_freq=20, profile_batch=0)
    yield "TensorBoard with histograms", written(histogram_freq=1, profile_batch=0)
    yield "TensorBoard with gradients and images", written(histogram_freq=2, write_grads=True, write_images=True, write_graph=False, profile_batch=0)

    def own_summaries():
        tf.summary.scalar("mine", tf.constant(2.0))
        return written(histogram_freq=1, profile_batch=0)()

    yield "TensorBoard with summaries of one's own", own_summaries

    def without_targets(train):
        def build():
            inputs = tf.keras.Input((2,))
            outputs = tf.keras.layers.Dense(3, kernel_initializer="ones")(inputs)
            made = tf.keras.Model(inputs, outputs)
            made.add_loss(tf.reduce_mean(outputs ** 2))
            made.compile("sgd")
            return [tf.constant(np.array(train(made), "float32"), name="losses")]
        return build

    def endless(value):
        while True:
            yield value

    yield "inputs alone: fit", without_targets(lambda made: made.fit(x, verbose=0, epochs=2, shuffle=False).history["loss"])
    yield "inputs alone: batches", without_targets(lambda made: [made.train_on_batch(x), made.test_on_batch(x), made.evaluate(x, verbose=0)])
    yield "inputs alone: generator of arrays", without_targets(lambda made: made.fit_generator(endless(x), 2, verbose=0).history["loss"])
    yield "inputs alone: generator of lists", without_targets(lambda made: made.fit_generator(endless([x]), 2, verbose=0).history["loss"])
    yield "inputs alone: generator of tuples", without_targets(lambda made: made.fit_generator(endless((x,)), 2, verbose=0).history["loss"])
    yield "inputs alone: generator with None", without_targets(lambda made: made.fit_generator(endless((x, None)), 2, verbose=0).history["loss"])
    yield "inputs alone: dataset", without_targets(lambda made: made.fit(tf.data.Dataset.from_tensor_slices(x).batch(8).repeat(), steps_per_epoch=2,
                                                                         verbose=0).history["loss"])
    yield "inputs alone: validation", without_targets(lambda made: made.fit(x, validation_data=(x, None), verbose=0).history["val_loss"])

    def more_inputs():
        made = model()
        return [tf.constant(np.array(made.fit([x, x], y, verbose=0).history["loss"], "float32"), name="losses"),
                tf.constant(made.predict([x, x + 1]), name="predictions")]

    yield "a list of more arrays than inputs", more_inputs
    yield "a list of more arrays than outputs", lambda: model().fit(x, [y, y], verbose=0)
