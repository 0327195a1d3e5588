"""One side of an exchange of files: `exchange.py penstock|tensorflow write|read FOLDER`. It runs in either system, on Python 3.7 and later.

The writer trains a model, saves it in every form, and notes what it computes; the reader loads every form and must compute the same.
"""
import os
import sys

import numpy as np
from google.protobuf import text_format

INPUTS = np.array([[3.0, 1.0], [-3.0, 0.5], [0.25, 2.0]], np.float32)
TEXT = [b"one", b"", b"t\x00wo"]
TABLE = np.arange(14, dtype=np.float32).reshape(7, 2)
KINDS = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64", "complex128"]


def system(name):
    if name == "penstock":
        import penstock as tf
        return tf
    import tensorflow
    if hasattr(tensorflow, "compat") and hasattr(tensorflow.compat, "v1"):
        tf = tensorflow.compat.v1
        tf.disable_v2_behavior()
        return tf
    return tensorflow


def session(tf):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def build(tf):
    """A model with a bit of everything that has to survive."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.variable_scope("layer", use_resource=False):
        w = tf.get_variable("w", initializer=np.float32([[1.0, -1.0], [0.5, 2.0]]))
        b = tf.get_variable("b", initializer=np.float32([0.1, 0.2]), use_resource=True)
    with tf.device("/cpu:1"):
        rows = tf.get_variable("rows", initializer=tf.constant(TABLE), partitioner=tf.fixed_size_partitioner(3), use_resource=False)
    for kind in KINDS:
        tf.get_variable("kinds/" + kind, initializer=tf.constant(np.arange(6).reshape(2, 3).astype(kind)), trainable=False, use_resource=False)
    tf.get_variable("kinds/text", initializer=tf.constant(np.array(TEXT, object)), trainable=False, use_resource=False)
    hidden = tf.nn.relu(tf.matmul(x, w) + b)
    y = tf.reduce_sum(hidden, axis=1, name="y")
    loss = tf.reduce_mean(tf.square(y - 1.0), name="loss") + 1e-3 * tf.add_n([tf.reduce_sum(tf.square(part)) for part in rows])
    tf.identity(tf.cond(loss > 0.5, lambda: loss * 2.0, lambda: loss - 1.0), name="branch")
    tf.identity(tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t * 1.5), [0, loss])[1], name="looped")
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step, name="train")
    average = tf.train.ExponentialMovingAverage(0.9, step)
    tf.group(average.apply([w]), name="average")
    for key, value in (("ends", y), ("ends", train), ("numbers", 7), ("words", "seven")):
        tf.add_to_collection(key, value)
    return x, y


OUTPUTS = ["y:0", "branch:0", "looped:0", "layer/w:0", "layer/w/ExponentialMovingAverage:0", "kinds/complex128:0", "global_step:0"]


def write(tf, folder):
    with tf.Graph().as_default() as graph, session(tf) as sess:
        x, y = build(tf)
        savers = {"plain": tf.train.Saver(), "sharded": tf.train.Saver(sharded=True), "version1": tf.train.Saver(
            [v for v in tf.global_variables() if v.dtype.base_dtype.name in ("float32", "int64", "int32")], write_version=1)}
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(["train", "average"], {x: INPUTS})
        for name, saver in savers.items():
            saver.save(sess, os.path.join(folder, name), latest_filename=name + "_state")
        beside = {"asynchronous": True} if hasattr(tf.train.Saver, "wait") else {}  # Penstock's graph has further nodes then
        saver = tf.train.Saver(**beside)
        saver.save(sess, os.path.join(folder, "latest"), global_step=3)
        if beside:
            saver.wait()
        tf.saved_model.simple_save(sess, os.path.join(folder, "saved_model"), {"x": x}, {"y": y})
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
        tf.train.write_graph(frozen, folder, "frozen.pb", as_text=False)
        tf.train.write_graph(graph.as_graph_def(), folder, "graph.pbtxt")
        noted = {name: value for name, value in zip(OUTPUTS, sess.run(OUTPUTS, {x: INPUTS}))}
        sess.run("train", {x: INPUTS})
        noted["after"] = sess.run("layer/w:0")
        write_events(tf, sess, folder)
    np.savez(os.path.join(folder, "noted.npz"), **{name.replace("/", "|"): value for name, value in noted.items()})


def write_events(tf, sess, folder):
    """An event file with a graph, summaries of several kinds and the statistics of a step."""
    summary = tf.summary.merge([tf.summary.scalar("number", tf.constant(2.5)), tf.summary.histogram("spread", tf.constant([1.0, 2.0, 2.0])),
                                tf.summary.image("picture", tf.ones([1, 4, 4, 1]))])
    metadata = tf.RunMetadata()
    value = sess.run(summary, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    writer = tf.summary.FileWriter(os.path.join(folder, "log"), sess.graph)
    writer.add_summary(value, 5)
    writer.add_run_metadata(metadata, "a step", 5)
    writer.close()


def close(found, wanted, name):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=name)


def read(tf, folder):
    stored = np.load(os.path.join(folder, "noted.npz"))
    noted = {name.replace("|", "/"): stored[name] for name in stored.files}
    read_training(tf, folder, noted)
    read_values(tf, folder, noted)
    read_models(tf, folder, noted)
    read_events(tf, folder)


def read_training(tf, folder, noted):
    """A graph that this program did not build goes on with its training."""
    assert os.path.basename(tf.train.latest_checkpoint(folder)) == "latest-3"
    for name in ("plain", "sharded", "latest-3"):
        with tf.Graph().as_default(), session(tf) as sess:
            saver = tf.train.import_meta_graph(os.path.join(folder, name + ".meta"))
            saver.restore(sess, os.path.join(folder, name))
            for output, value in zip(OUTPUTS, sess.run(OUTPUTS, {"x:0": INPUTS})):
                close(value, noted[output], output)
            assert sess.run("kinds/text:0").tolist() == TEXT
            assert tf.get_collection("numbers") == [7] and tf.get_collection("words") in (["seven"], [b"seven"])
            assert [v.op.name for v in tf.trainable_variables()][:2] == ["layer/w", "layer/b"]
            sess.run(tf.get_collection("ends")[1], {"x:0": INPUTS})
            close(sess.run("layer/w:0"), noted["after"], "after")
            gradient = tf.gradients(tf.get_collection("ends")[0], tf.trainable_variables()[0])[0]
            assert sess.run(gradient, {"x:0": INPUTS}).shape == (2, 2)


def read_values(tf, folder, noted):
    for name in ("plain", "sharded"):
        reader = tf.train.NewCheckpointReader(os.path.join(folder, name))
        for kind in KINDS:
            value = reader.get_tensor("kinds/" + kind)
            assert value.dtype == kind and value.tolist() == np.arange(6).reshape(2, 3).astype(kind).tolist(), kind
    for name in ("plain", "sharded", "version1"):
        with tf.Graph().as_default(), session(tf) as sess:
            whole = tf.get_variable("rows", TABLE.shape)
            step = tf.get_variable("global_step", [], tf.int64)
            tf.train.Saver([whole, step]).restore(sess, os.path.join(folder, name))
            close(sess.run(step), noted["global_step:0"], "step")
            assert sess.run(whole).shape == TABLE.shape


def read_models(tf, folder, noted):
    with tf.Graph().as_default(), session(tf) as sess:
        signature = tf.saved_model.loader.load(sess, ["serve"], os.path.join(folder, "saved_model")).signature_def["serving_default"]
        close(sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: INPUTS}), noted["y:0"], "served")
    with tf.Graph().as_default(), session(tf) as sess:
        definition = tf.GraphDef()
        with open(os.path.join(folder, "frozen.pb"), "rb") as file:
            definition.ParseFromString(file.read())
        (y,) = tf.import_graph_def(definition, return_elements=["y:0"], name="")
        close(sess.run(y, {"x:0": INPUTS}), noted["y:0"], "frozen")
    with tf.Graph().as_default(), session(tf) as sess, open(os.path.join(folder, "graph.pbtxt")) as file:
        y, init = tf.import_graph_def(text_format.Parse(file.read(), tf.GraphDef()), return_elements=["y:0", "init"], name="")
        sess.run(init)
        assert sess.run(y, {"x:0": INPUTS}).shape == noted["y:0"].shape


def read_events(tf, folder):
    (name,) = os.listdir(os.path.join(folder, "log"))
    events = list(tf.train.summary_iterator(os.path.join(folder, "log", name)))
    graphs = [tf.GraphDef.FromString(event.graph_def) for event in events if event.WhichOneof("what") == "graph_def"]
    assert len(graphs) == 1 and "layer/w" in {node.name for node in graphs[0].node}
    (summary,) = [event for event in events if event.WhichOneof("what") == "summary"]
    values = {value.tag: value for value in summary.summary.value}
    assert summary.step == 5 and values["number"].simple_value == 2.5 and values["spread"].histo.num == 3
    assert values["picture/image/0"].image.height == 4 and values["picture/image/0"].image.encoded_image_string[1:4] == b"PNG"
    (tagged,) = [event.tagged_run_metadata for event in events if event.WhichOneof("what") == "tagged_run_metadata"]
    assert tagged.tag == "a step" and tf.RunMetadata.FromString(tagged.run_metadata).step_stats.dev_stats


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[2]](system(sys.argv[1]), sys.argv[3])
