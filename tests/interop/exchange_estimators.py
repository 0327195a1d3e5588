"""One side of an exchange of estimators: `exchange_estimators.py penstock|tensorflow write|read FOLDER`. It runs in either system.

The writer trains each canned estimator, exports it, and notes what it predicts and what it would predict after two more steps. The reader serves the
export, goes on training in the model's folder, and must predict the same.
"""
import os
import shutil
import sys

import numpy as np

ROWS = np.arange(12)
FEATURES = {"x": np.sin(ROWS * 1.7).astype(np.float32)[:, None], "word": np.array([[b"a"], [b"b"], [b"c"], [b"d"]] * 3)}
NAMES = ["LinearClassifier", "LinearRegressor", "DNNClassifier", "DNNRegressor", "DNNLinearCombinedClassifier", "DNNLinearCombinedRegressor",
         "BaselineClassifier", "BaselineRegressor", "BoostedTreesClassifier", "BoostedTreesRegressor", "RNNClassifier", "LinearEstimator",
         "DNNEstimator", "DNNLinearCombinedEstimator", "BaselineEstimator"]


def system(name):
    if name == "penstock":
        import penstock as tf
        return tf
    import tensorflow as tf
    return tf


def columns(tf):
    column = tf.feature_column
    words = column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"], num_oov_buckets=1)
    return [column.numeric_column("x"), words], [column.numeric_column("x"), column.embedding_column(words, 2), column.indicator_column(words)]


def classes_of(name):
    return 2 if name.startswith("Boosted") else 3  # trees of more classes cannot be pruned, and so not trained


def make(tf, name, folder):
    wide, deep = columns(tf)
    config = tf.estimator.RunConfig(folder, tf_random_seed=3)
    options = {"n_classes": classes_of(name)} if name.endswith("Classifier") else {}
    if name.endswith("Estimator"):
        options["head"] = tf.contrib.estimator.multi_class_head(classes_of(name))
    if name.startswith("DNNLinear"):
        options.update(linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4, 3])
    elif name.startswith("DNN"):
        options.update(hidden_units=[4, 3], feature_columns=deep, optimizer="Adam")
    elif name.startswith("Boosted"):
        options.update(feature_columns=[deep[0], deep[2]], n_batches_per_layer=2, max_depth=2)
    elif name.startswith("Linear"):
        options.update(feature_columns=wide)
    elif name.startswith("RNN"):
        words = tf.contrib.feature_column.sequence_categorical_column_with_vocabulary_list("word", ["a", "b", "c"], num_oov_buckets=1)
        options.update(sequence_feature_columns=[tf.feature_column.embedding_column(words, 2)], context_feature_columns=[wide[0]], num_units=[3],
                       cell_type="gru")
    return getattr(tf.contrib.estimator if name.startswith("RNN") else tf.estimator, name)(config=config, **options)


def key_of_predictions(name):
    return "predictions" if name.endswith("Regressor") else "probabilities"


def inputs(tf, name, epochs):
    numbers = (2.0 * FEATURES["x"][:, 0] + 1.0).astype(np.float32)
    labels = numbers if name.endswith("Regressor") else (ROWS % classes_of(name))[:, None]
    return tf.estimator.inputs.numpy_input_fn(FEATURES, labels, batch_size=6, num_epochs=epochs, shuffle=False)


def predicted(tf, name, model):
    return np.array([each[key_of_predictions(name)] for each in model.predict(inputs(tf, name, 1))])


def serialized(tf):
    def example(x, word):
        feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                   "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=word.tolist()))}
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    return [example(x, word) for x, word in zip(FEATURES["x"], FEATURES["word"])]


def write(tf, folder):
    notes = {}
    spec = tf.feature_column.make_parse_example_spec(columns(tf)[0])
    for name in NAMES:
        home = os.path.join(folder, name)
        model = make(tf, name, home)
        model.train(inputs(tf, name, None), steps=4)
        notes[name] = predicted(tf, name, model)
        model.export_saved_model(os.path.join(folder, "export", name), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec))
        copy = shutil.copytree(home, home + "_copy")
        later = make(tf, name, copy)
        later.train(inputs(tf, name, None), steps=2)
        notes[name + "_later"] = predicted(tf, name, later)
    np.savez(os.path.join(folder, "notes.npz"), **notes)


def served(tf, path, name):
    """What the export gives for serialized examples."""
    with tf.Graph().as_default(), tf.Session() as sess:
        signatures = tf.saved_model.loader.load(sess, ["serve"], path).signature_def
        default = signatures["serving_default"]
        assert default.method_name == "tensorflow/serving/" + ("regress" if name.endswith("Regressor") else "classify"), default
        signature = signatures["predict"]
        return sess.run(signature.outputs[key_of_predictions(name)].name, {signature.inputs["examples"].name: serialized(tf)})


def read(tf, folder):
    notes = np.load(os.path.join(folder, "notes.npz"))
    for name in NAMES:
        base = os.path.join(folder, "export", name)
        np.testing.assert_allclose(served(tf, os.path.join(base, os.listdir(base)[0]), name), notes[name], rtol=1e-4, atol=1e-6, err_msg=name)
        model = make(tf, name, os.path.join(folder, name))
        np.testing.assert_allclose(predicted(tf, name, model), notes[name], rtol=1e-4, atol=1e-6, err_msg=name)
        model.train(inputs(tf, name, None), max_steps=6)
        np.testing.assert_allclose(predicted(tf, name, model), notes[name + "_later"], rtol=1e-3, atol=1e-5, err_msg=name + " after two more steps")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[2]](system(sys.argv[1]), sys.argv[3])
