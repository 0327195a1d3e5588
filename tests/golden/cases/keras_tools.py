"""tf.keras around models: settings of the backend, callbacks, utilities, preprocessing, schedules, other names of layers, configurations."""
import contextlib
import io
import json
import os
import shutil
import tempfile


@contextlib.contextmanager
def _folder():
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _read(path):
    with open(path) as file:
        return file.read()


def _backend(tf, np):
    K = tf.keras.backend

    def settings():
        found = [K.floatx(), K.image_data_format(), str(K.epsilon())]
        try:
            K.set_floatx("float64")
            K.set_image_data_format("channels_first")
            K.set_epsilon(1e-3)
            found += [K.floatx(), K.image_data_format(), str(K.epsilon()), K.zeros([1]).dtype.name, tf.keras.layers.Dense(2).dtype or "none",
                      str(tf.keras.layers.Conv2D(2, 3).data_format)]
        finally:
            K.set_floatx("float32")
            K.set_image_data_format("channels_last")
            K.set_epsilon(1e-7)
        return tf.constant(found, name="found")

    def names():
        K.reset_uids()
        found = [K.get_uid("a"), K.get_uid("a"), K.get_uid("b")]
        K.reset_uids()
        return tf.constant(found + [K.get_uid("a")], name="found")

    def phases():
        found = [K.learning_phase().op.type]
        with K.learning_phase_scope(1):
            found.append(str(K.learning_phase()))
        found.append(K.learning_phase().op.type)
        K.set_learning_phase(0)
        found.append(str(K.learning_phase()))
        found.append(str(K.in_train_phase(1, 2)))
        return tf.constant(found, name="found")

    def average():
        variable = K.variable(np.array([1.0, 2.0], "float32"))
        update = K.moving_average_update(variable, tf.constant([3.0, 6.0]), 0.9)
        K.get_session().run(tf.global_variables_initializer())
        K.get_session().run(update)
        return tf.constant(K.get_value(variable), name="value")

    def sessions():
        old = K.get_session()
        with tf.Session() as session:
            K.set_session(session)
            variable = K.variable(2.0)
            same = K.get_session() is session
            value = K.get_value(variable)
        K.set_session(old)
        return tf.constant([float(same), value], name="found")

    def manual():
        K.manual_variable_initialization(True)
        try:
            variable = K.variable(2.0)
            session = K.get_session()
            before = session.run(tf.is_variable_initialized(variable))
            session.run(variable.initializer)
            return tf.constant([float(before), float(session.run(variable))], name="found")
        finally:
            K.manual_variable_initialization(False)

    def labels():
        sparse = K.ctc_label_dense_to_sparse(tf.constant([[1, 2, 0], [3, 0, 0]]), tf.constant([2, 1]))
        return [tf.identity(sparse.indices, name="indices"), tf.identity(sparse.values, name="values")]

    yield "backend settings", settings
    yield "backend names", names
    yield "backend learning phases", phases
    yield "backend moving_average_update", average
    yield "backend set_session", sessions
    yield "backend manual_variable_initialization", manual
    yield "backend ctc_label_dense_to_sparse", labels
    yield "backend print_tensor", lambda: tf.identity(K.print_tensor(tf.constant([1.0, 2.0]), message="told "), name="same")


def _callbacks(tf, np):
    callbacks = tf.keras.callbacks
    x = np.arange(48, dtype="float32").reshape(24, 2) / 48

    def model(rate=0.1):
        made = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
        made.compile(tf.keras.optimizers.SGD(rate), "mse", metrics=["mae"])
        return made

    def said(make, rate=0.1, epochs=6):
        def build():
            out = io.StringIO()
            with _folder() as folder, contextlib.redirect_stdout(out):
                trained = model(rate)
                history = trained.fit(x, x[:, :1], 10, epochs, verbose=0, shuffle=False, validation_data=(x, x[:, :1]), callbacks=[make(folder)])
                printed = out.getvalue().replace(folder, "FOLDER")
                files = sorted(name for name in os.listdir(folder) if "data-" not in name)
                texts = [_read(os.path.join(folder, name)) for name in files if name.endswith(".csv")]
            rates = [float(tf.keras.backend.get_value(trained.optimizer.lr)), len(history.epoch)]
            return [tf.constant(printed, name="printed"), tf.constant(np.array(rates, "float32"), name="rate"),
                    tf.constant(files + [text.split("\n")[0] for text in texts], name="files"),
                    tf.constant(np.array([history.history[key] for key in sorted(history.history)], "float32"), name="history")]
        return build

    yield "callback EarlyStopping", said(lambda _: callbacks.EarlyStopping("loss", min_delta=0.05, patience=1, verbose=1), epochs=20)
    yield "callback EarlyStopping best weights", said(lambda _: callbacks.EarlyStopping("val_mean_absolute_error", mode="max", patience=2, verbose=1,
                                                                                       restore_best_weights=True))
    yield "callback EarlyStopping baseline", said(lambda _: callbacks.EarlyStopping("val_loss", baseline=0.001, patience=2, verbose=1))
    yield "callback ReduceLROnPlateau", said(lambda _: callbacks.ReduceLROnPlateau("loss", factor=0.5, min_delta=0.05, patience=1, cooldown=1,
                                                                                   min_lr=0.03, verbose=1))
    yield "callback LearningRateScheduler", said(lambda _: callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1), verbose=1), epochs=3)
    yield "callback LearningRateScheduler of rates", said(lambda _: callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5), epochs=3)
    yield "callback LearningRateScheduler of integers", said(lambda _: callbacks.LearningRateScheduler(lambda epoch: 1), epochs=3)
    yield "callback TerminateOnNaN", said(lambda _: callbacks.TerminateOnNaN(), rate=1e30, epochs=3)
    yield "callback CSVLogger", said(lambda folder: callbacks.CSVLogger(os.path.join(folder, "log.csv"), separator=";"), epochs=2)
    yield "callback ModelCheckpoint", said(lambda folder: callbacks.ModelCheckpoint(os.path.join(folder, "w{epoch:02d}.h5"), verbose=1), epochs=2)
    yield "callback ModelCheckpoint best", said(lambda folder: callbacks.ModelCheckpoint(os.path.join(folder, "best"), save_best_only=True, verbose=1,
                                                                                        save_weights_only=True), epochs=3)
    yield "callback ModelCheckpoint period", said(lambda folder: callbacks.ModelCheckpoint(os.path.join(folder, "p{epoch}.h5"), period=2), epochs=4)
    yield "callback LambdaCallback", said(lambda _: callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch, sorted(logs)),
                                                                             on_train_end=lambda logs: print("end", logs)), epochs=2)
    yield "callback LambdaCallback without arguments", said(lambda _: callbacks.LambdaCallback(on_epoch_end=lambda: None), epochs=1)
    yield "callback ReduceLROnPlateau refuses", lambda: callbacks.ReduceLROnPlateau(factor=1.5)
    yield "callback ProgbarLogger refuses", lambda: callbacks.ProgbarLogger("epochs")
    yield "callback History", lambda: tf.constant(np.array(model().fit(x, x[:, :1], 10, 2, verbose=0, shuffle=False).history["loss"], "float32"))


def _utils(tf, np):
    utils, layers = tf.keras.utils, tf.keras.layers

    def categorical():
        labels = np.array([[0], [2], [1]])
        return [tf.constant(utils.to_categorical(labels), name="three"), tf.constant(utils.to_categorical([1, 1], 4, "int32"), name="four"),
                tf.constant(utils.to_categorical(3), name="one"), tf.constant(utils.normalize(np.array([3.0, 4.0])), name="normal")]

    def bar(verbose, interval, target=3):
        def build():
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                made = utils.Progbar(target, width=10, verbose=verbose, interval=interval, stateful_metrics=["b"])
                for step in range(3):
                    made.update(step + 1, [("a", step + 0.5), ("b", step), ("c", 1e-5)])
            text = out.getvalue().replace("0us/step", "TIME").replace("0ms/step", "TIME").replace("\b", "")
            return tf.constant([part.split(" - ")[-3:] for part in text.replace("\r", "\n").split("\n") if " - a" in part], name="parts")
        return build

    class Doubled(layers.Dense):
        pass

    def scope():
        found = [str("Doubled" in utils.get_custom_objects())]
        with utils.custom_object_scope({"Doubled": Doubled}):
            found.append(str("Doubled" in utils.get_custom_objects()))
            layer = layers.deserialize({"class_name": "Doubled", "config": {"units": 3}})
            found.append(type(layer).__name__)
        with utils.CustomObjectScope({"twice": _folder}):
            found.append(str(utils.deserialize_keras_object("twice", module_objects={}) is _folder))
        described = utils.serialize_keras_object(layers.Dense(2, name="d"))
        return tf.constant(found + [described["class_name"], str(described["config"]["units"]), utils.serialize_keras_object(tf.keras.losses.mse)],
                           name="found")

    def sources():
        first, second = tf.keras.Input((2,), name="first"), tf.keras.Input((2,), name="second")
        outputs = layers.Dense(1)(layers.concatenate([layers.Dense(2)(first), second]))
        return [tf.zeros([1], name="x")] + [tf.constant([tensor.op.name for tensor in utils.get_source_inputs(outputs)], name="names")]

    class Rows(utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return np.full([2], index, "float32")

    def ordered():
        enqueuer = utils.OrderedEnqueuer(Rows())
        enqueuer.start(workers=1, max_queue_size=2)
        values = enqueuer.get()
        rows = [next(values) for _ in range(6)]
        enqueuer.stop()
        return tf.constant(np.array(rows), name="rows")

    def generated():
        enqueuer = utils.GeneratorEnqueuer(iter([np.float32(1), np.float32(2), np.float32(3)]))
        enqueuer.start(workers=1, max_queue_size=2)
        rows = list(enqueuer.get())
        enqueuer.stop()
        return tf.constant(np.array(rows), name="rows")

    def files():
        with _folder() as folder:
            path = os.path.join(folder, "data.txt")
            with open(path, "w") as file:
                file.write("text")
            where = utils.get_file("copy.txt", "file://" + path, cache_dir=folder, cache_subdir="kept")
            again = utils.get_file("copy.txt", "file:///nowhere", cache_dir=folder, cache_subdir="kept")
            return tf.constant([os.path.relpath(where, folder), str(where == again), _read(where)], name="found")


    yield "utils to_categorical", categorical
    for verbose, interval in ((1, 0), (2, 0)):
        yield "utils Progbar verbose %d" % verbose, bar(verbose, interval)
    yield "utils custom objects", scope
    yield "utils get_source_inputs", sources
    yield "utils OrderedEnqueuer", ordered
    yield "utils GeneratorEnqueuer", generated
    yield "utils get_file", files


def _text(tf, np):
    text, sequence = tf.keras.preprocessing.text, tf.keras.preprocessing.sequence
    lines = ["The cat sat on the mat.", "The dog -- a big dog! -- sat; on THE log?", "", "Zebras\tdo not: (sit)"]

    def tokens():
        made = text.Tokenizer(num_words=6, oov_token="<oov>")
        made.fit_on_texts(lines)
        again = text.tokenizer_from_json(made.to_json()) if hasattr(text, "tokenizer_from_json") else made
        found = [str(made.texts_to_sequences(lines)), str(sorted(made.word_index.items())), str(sorted(made.word_counts.items())),
                 str(made.document_count), str(made.sequences_to_texts([[1, 2, 3], [9]])), str(again.texts_to_sequences(["the dog"]))]
        return [tf.constant(found, name="found")] + [tf.constant(made.texts_to_matrix(lines[:2], mode), name="matrix")
                                                     for mode in ("binary", "count", "tfidf", "freq")]

    def characters():
        made = text.Tokenizer(char_level=True, lower=False)
        made.fit_on_texts(lines)
        return tf.constant([str(made.texts_to_sequences(["cat The"])), str(sorted(made.word_index.items(), key=lambda pair: pair[1])[:5])],
                           name="found")

    def padded():
        rows = [[1, 2, 3], [4], [], [5, 6, 7, 8, 9]]
        return [tf.constant(sequence.pad_sequences(rows), name="plain"), tf.constant(sequence.pad_sequences(rows, 3, padding="post"), name="post"),
                tf.constant(sequence.pad_sequences(rows, 2, dtype="float32", truncating="post", value=-1.5), name="cut"),
                tf.constant(sequence.pad_sequences([[[1, 2]], [[3, 4], [5, 6]]]), name="pairs")]

    def grams():
        import random
        random.seed(3)
        couples, labels = sequence.skipgrams([1, 2, 3, 4], 5, window_size=1, negative_samples=0.0, shuffle=False)
        sampled, kinds = sequence.skipgrams([1, 2, 0, 4, 3], 5, window_size=2, seed=7)
        random.seed(11)
        seedless, _ = sequence.skipgrams([1, 2, 3, 4, 5], 6)
        return [tf.constant(seedless, name="seedless")] + [
                tf.constant(couples, name="couples"), tf.constant(labels, name="labels"), tf.constant([len(sampled), sum(kinds)], name="sampled"),
                tf.constant(sequence.make_sampling_table(6), name="table")]

    def series():
        data = np.arange(20, dtype="float32").reshape(10, 2)
        made = sequence.TimeseriesGenerator(data, np.arange(10), length=3, sampling_rate=1, stride=2, batch_size=2)
        found = [tf.constant(len(made), name="length")]
        for index in range(len(made)):
            rows, targets = made[index]
            found += [tf.constant(rows, name="rows"), tf.constant(targets, name="targets")]
        backward = sequence.TimeseriesGenerator(data, data, length=4, sampling_rate=2, reverse=True, batch_size=3, start_index=1, end_index=8)[0]
        return found + [tf.constant(backward[0], name="backward")]

    yield "text Tokenizer", tokens
    yield "text Tokenizer of characters", characters
    yield "text text_to_word_sequence", lambda: tf.constant(text.text_to_word_sequence(lines[1]) + text.text_to_word_sequence("A,B", split=","))
    yield "text one_hot", lambda: tf.constant(text.hashing_trick(lines[0], 50, "md5"), name="hashes")
    yield "sequence pad_sequences", padded
    yield "sequence pad_sequences refuses", lambda: sequence.pad_sequences([[1]], padding="middle")
    yield "sequence skipgrams", grams
    yield "sequence TimeseriesGenerator", series
    yield "sequence TimeseriesGenerator refuses", lambda: sequence.TimeseriesGenerator(np.zeros([3, 1]), np.zeros(3), length=5)


def _images(tf, np):
    image = tf.keras.preprocessing.image
    picture = (np.abs(np.sin(np.arange(48))) * 255).reshape(4, 4, 3).astype("float32")
    pictures = np.stack([picture, picture[::-1], picture[:, ::-1]])

    def flow(**options):
        def build():
            np.random.seed(4)
            made = image.ImageDataGenerator(**options)
            if options.get("featurewise_center"):
                made.fit(pictures)
            batches = made.flow(pictures, np.arange(3), batch_size=2, shuffle=True, seed=5)
            return [tf.constant(np.concatenate([batches[index][0] for index in range(2)]), name="images"),
                    tf.constant(np.concatenate([batches[index][1] for index in range(2)]), name="labels")]
        return build

    def whitened():
        many = np.cos(np.arange(64) ** 1.5).reshape(16, 2, 2, 1).astype("float32")
        made = image.ImageDataGenerator(zca_whitening=True, zca_epsilon=1e-2)
        made.fit(many)
        return tf.constant(made.flow(many, batch_size=16, shuffle=False)[0], name="images")

    def whitened_with_deviations():
        made = image.ImageDataGenerator(zca_whitening=True, featurewise_std_normalization=True)
        made.fit(np.cos(np.arange(64) ** 1.5).reshape(16, 2, 2, 1).astype("float32"))
        return tf.constant([made.featurewise_center, made.featurewise_std_normalization, made.std is None], name="settings")

    def with_further_inputs(**options):
        def build():
            made = image.ImageDataGenerator(horizontal_flip=True, **options)
            others = [np.arange(3), np.arange(6).reshape(3, 2)]
            batches = made.flow((pictures, others), np.arange(3) * 2, batch_size=2, sample_weight=np.ones(3), seed=5)
            (changed, numbers, pairs), labels, weights = next(batches)
            return [tf.constant(value, name="value") for value in (changed, numbers, pairs, labels, weights)]
        return build

    def empty():
        with _folder() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            os.mkdir(os.path.join(folder, "none"))
            images, labels = next(image.ImageDataGenerator().flow_from_directory(folder, target_size=(2, 2)))
        return [tf.constant(said.getvalue(), name="said"), tf.constant(images.shape + labels.shape, name="shapes")]

    def deep():
        return tf.constant(np.array(image.array_to_img(picture[:, :, :1] * 100, scale=False)), name="values")

    def moved(change):
        def build():
            np.random.seed(4)
            return tf.constant(change(), name="image")
        return build

    axes = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    yield "image plain generator", flow()
    yield "image generator with flips", flow(horizontal_flip=True, vertical_flip=True, rescale=0.5)
    yield "image generator with moves", flow(rotation_range=30, width_shift_range=0.2, height_shift_range=0.2, shear_range=10.0, zoom_range=0.2)
    yield "image generator with whole shifts", flow(width_shift_range=3, height_shift_range=[-2, 1, 2], fill_mode="reflect")
    yield "image generator with listed shares", flow(width_shift_range=[0.25, 0.5], height_shift_range=0)
    yield "image generator with whitening and deviations", whitened_with_deviations
    yield "image generator with further inputs", with_further_inputs()
    yield "image generator of further inputs of another length", lambda: image.ImageDataGenerator().flow((pictures, np.arange(2)), np.arange(3))
    yield "image generator of weights of another length", lambda: image.ImageDataGenerator().flow(pictures, sample_weight=np.arange(2))
    yield "image generator of an empty folder", empty
    yield "image array_to_img of deep values", deep
    yield "image generator with channels", flow(channel_shift_range=20.0)
    yield "image generator with moments", flow(featurewise_center=True, featurewise_std_normalization=True)
    yield "image generator by samples", flow(samplewise_center=True, samplewise_std_normalization=True)
    yield "image generator with whitening", whitened
    yield "image apply_affine_transform", moved(lambda: image.apply_affine_transform(picture, theta=20, tx=1, ty=0.5, shear=5, zx=0.9, zy=1.1))
    yield "image apply_channel_shift", moved(lambda: image.apply_channel_shift(picture, 30.0, channel_axis=2))
    yield "image random_rotation", moved(lambda: image.random_rotation(picture, 40, **axes))
    yield "image random_shift", moved(lambda: image.random_shift(picture, 0.3, 0.3, **axes))
    yield "image random_shear", moved(lambda: image.random_shear(picture, 20, **axes))
    yield "image random_zoom", moved(lambda: image.random_zoom(picture, (0.7, 1.3), **axes))
    yield "image random_channel_shift", moved(lambda: image.random_channel_shift(picture, 40.0, channel_axis=2))
    yield "image generator refuses", lambda: image.ImageDataGenerator(zoom_range=[1, 2, 3])


def _schedules(tf, np):
    decays = tf.keras.experimental
    for name, make in (("CosineDecayRestarts", lambda: decays.CosineDecayRestarts(0.5, 4, t_mul=1.5, m_mul=0.8, alpha=0.1)),
                       ("LinearCosineDecay", lambda: decays.LinearCosineDecay(0.5, 10, num_periods=0.7, alpha=0.1, beta=0.01)),
                       ("CosineDecay", lambda: decays.CosineDecay(0.5, 10, alpha=0.2))):
        for step in (0, 3, 7, 12, 40):
            yield "schedule %s %d" % (name, step), lambda make=make, step=step: tf.identity(make()(tf.constant(step)), name="rate")
        yield "schedule %s config" % name, lambda make=make: tf.constant(str(sorted(make().get_config().items())), name="config")

    def noisy():
        tf.set_random_seed(3)
        return tf.identity(decays.NoisyLinearCosineDecay(0.5, 10, initial_variance=0.5)(tf.constant(3.0)), name="rate")

    def own():
        class Halves(tf.keras.optimizers.schedules.LearningRateSchedule):
            def __call__(self, step):
                return 0.5 / (tf.cast(step, tf.float32) + 1.0)

            def get_config(self):
                return {}

        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
        model.compile(tf.keras.optimizers.SGD(Halves()), "mse")
        x = np.arange(8, dtype="float32").reshape(4, 2) / 8
        return tf.constant(np.array([model.train_on_batch(x, x[:, :1]) for _ in range(3)], "float32"), name="losses")

    yield "schedule NoisyLinearCosineDecay", noisy
    yield "schedule LearningRateSchedule of one's own", own


def _layers(tf, np):
    layers = tf.keras.layers
    line, plane, space = (np.cos(np.arange(48)).reshape(shape).astype("float32") for shape in ((2, 8, 3), (2, 4, 2, 3), (1, 2, 4, 2, 3)))
    for name, data in [(name, line) for name in ("AvgPool1D", "MaxPool1D", "GlobalAvgPool1D", "GlobalMaxPool1D", "GlobalMaxPooling1D")] + [
            (name, plane) for name in ("AvgPool2D", "MaxPool2D", "GlobalAvgPool2D", "GlobalMaxPool2D", "GlobalMaxPooling2D")] + [
            (name, space) for name in ("AvgPool3D", "MaxPool3D", "GlobalAvgPool3D", "GlobalMaxPool3D", "GlobalMaxPooling3D",
                                       "GlobalAveragePooling3D")]:
        yield "layer %s" % name, lambda name=name, data=data: tf.identity(getattr(layers, name)()(tf.constant(data)), name="pooled")


def _models(tf, np):
    models, layers = tf.keras.models, tf.keras.layers
    x = np.cos(np.arange(12)).reshape(4, 3).astype("float32")

    def model():
        inputs = tf.keras.Input((3,), name="inputs")
        hidden = layers.Dense(4, activation="tanh", kernel_initializer=tf.keras.initializers.Constant(0.3), name="hidden")(inputs)
        made = tf.keras.Model(inputs, [layers.Dense(1, kernel_initializer="ones", name="first")(hidden), layers.Flatten(name="second")(hidden)])
        made.compile("adam", "mse", loss_weights=[1.0, 0.5])
        return made

    def same(change):
        def build():
            made = model()
            made.train_on_batch(x, [x[:, :1], np.ones([4, 4], "float32")])
            other = change(made)
            return [tf.constant(value, name="prediction") for value in other.predict(x)] + [
                tf.constant(json.dumps(json.loads(other.to_json()), sort_keys=True), name="json")]
        return build

    def stored(made):
        with _folder() as folder:
            models.save_model(made, os.path.join(folder, "model.h5"))
            return models.load_model(os.path.join(folder, "model.h5"))

    def with_weights(other, made):
        other.set_weights(made.get_weights())
        return other

    yield "models clone_model", same(lambda made: with_weights(models.clone_model(made), made))
    yield "models model_from_json", same(lambda made: with_weights(models.model_from_json(made.to_json()), made))
    yield "models model_from_config", same(lambda made: with_weights(models.model_from_config({"class_name": "Model", "config": made.get_config()}),
                                                                     made))
    yield "models load_model", same(stored)


def cases(tf, np):
    """All of them."""
    for family in (_backend, _callbacks, _utils, _text, _images, _schedules, _layers, _models):
        yield from family(tf, np)
