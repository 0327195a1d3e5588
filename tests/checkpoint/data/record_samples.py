"""Writes the samples beside this file with real TensorFlow 1.15: PYTHON3.7 record_samples.py

What the files hold is defined here without TensorFlow, so that the tests can import it.
"""
import os
import shutil

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NUMERIC = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64", "complex128"]
IN_VERSION_1 = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64"]


def values():
    """{name: array} of the samples `plain`, and of `version1` as far as that version knows the types."""
    found = {"kinds/" + kind: (np.arange(6).reshape(2, 3) - (0 if "u" in kind else 2)).astype(kind) for kind in NUMERIC}
    found["text"] = np.array([b"a", b"", b"\x00bc" * 100], object)
    found["scalar"] = np.array(3.5, np.float32)
    found["empty"] = np.zeros((0, 3), np.float32)
    found["rows"] = np.arange(14, dtype=np.float32).reshape(7, 2)
    found["columns"] = np.arange(400, dtype=np.float64).reshape(2, 200)
    return found


PARTS = {"rows": (3, 0), "columns": (3, 1)}  # how many, along which axis
INPUTS = [[3.0, 1.0], [-3.0, 0.5]]


def make_variables(tf, chosen):
    for name, value in sorted(chosen.items()):
        if name in PARTS:
            tf.get_variable(name, initializer=tf.constant(value), partitioner=tf.fixed_size_partitioner(*PARTS[name]))
        else:
            tf.Variable(tf.constant(value), name=name)


def record_plain(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        make_variables(tf, values())
        tf.Variable(tf.cast(tf.constant([1.5, -2.0]), tf.bfloat16), name="kinds/bfloat16")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, os.path.join(HERE, "plain"), write_meta_graph=False, write_state=False)


def record_version1(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        make_variables(tf, {name: value for name, value in values().items()
                            if name.split("/")[-1] in IN_VERSION_1 or name in ("text", "scalar", "rows", "columns")})
        sess.run(tf.global_variables_initializer())
        tf.train.Saver(write_version=1).save(sess, os.path.join(HERE, "version1"), write_meta_graph=False, write_state=False)


def record_sharded(tf):
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        with tf.device("/cpu:0"):
            tf.Variable([1.0, 2.0], name="a")
        with tf.device("/cpu:1"):
            tf.Variable([3.0], name="b")
            make_variables(tf, {"rows": values()["rows"]})
        sess.run(tf.global_variables_initializer())
        tf.train.Saver(sharded=True).save(sess, os.path.join(HERE, "sharded"), write_meta_graph=False, write_state=False)


def record_trained(tf):
    """A graph in training: optimizer, conditional, loop, resource variables, collections."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[2.0], [3.0]])
        b = tf.get_variable("b", initializer=[0.5], use_resource=True)
        y = tf.add(tf.matmul(x, w), b, name="y")
        loss = tf.reduce_mean(tf.square(y), name="loss")
        tf.identity(tf.cond(loss > 1.0, lambda: loss * 2.0, lambda: loss), name="branch")
        tf.identity(tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2.0), [0, loss])[1], name="looped")
        train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step(), name="train")
        for key, value in (("ends", y), ("ends", train), ("numbers", 7), ("words", "seven")):
            tf.add_to_collection(key, value)
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        feed = {x: INPUTS}
        sess.run(train, feed)
        saver.save(sess, os.path.join(HERE, "trained"), write_state=False)
        fetched = dict(zip(["y", "branch", "looped"], sess.run(["y:0", "branch:0", "looped:0"], feed)))
        sess.run(train, feed)
        fetched.update(zip(["w_after", "b_after"], sess.run([w, b])))
        np.savez(os.path.join(HERE, "trained.npz"), **fetched)


def record_saved_model(tf):
    folder, words = os.path.join(HERE, "saved_model"), os.path.join(HERE, "words.txt")
    shutil.rmtree(folder, ignore_errors=True)
    with open(words, "w") as handle:
        handle.write("low\nhigh\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [-1.0]])
        score = tf.matmul(x, w, name="score")
        asset = tf.constant("words.txt", name="asset")
        contents = tf.get_variable("contents", initializer="", trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        init = tf.group(tf.assign(contents, tf.read_file(asset)))
        os.chdir(HERE)  # the path in the graph is relative: nothing of this machine is in the sample
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        predict = tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"score": score})
        builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": predict}, assets_collection=[asset], main_op=init)
        builder.add_meta_graph(["train"])
        builder.save()
    os.remove(words)


def main():
    import tensorflow as tf

    for record in (record_plain, record_version1, record_sharded, record_trained, record_saved_model):
        tf.reset_default_graph()
        record(tf)
        print(record.__name__)


if __name__ == "__main__":
    main()
