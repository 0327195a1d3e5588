"""Collections in MetaGraphs, as protos."""
from __future__ import annotations

import penstock as tf
from penstock.train import collection_protos


def test_collections(tmp_path):
    path = str(tmp_path / "graph.meta")
    with tf.Graph().as_default():
        v = tf.Variable([1.0], name="v")
        r = tf.get_variable("r", [2], use_resource=True)
        p = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
        y = tf.add(v, 1.0, name="y")
        step = tf.train.get_or_create_global_step()
        for key, value in (("tensors", y), ("ops", y.op), ("ints", 3), ("floats", 2.5), ("words", "text"), ("mine", v), ("nothing", object())):
            tf.add_to_collection(key, value)
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver([v]))
        names = [variable.name for variable in tf.global_variables()]
        assert len(names) == 5 and step in tf.global_variables() and r in tf.global_variables() and len(list(p)) == 2
        tf.train.export_meta_graph(path)
    with tf.Graph().as_default() as graph:
        assert tf.train.import_meta_graph(path) is not None
        assert [variable.name for variable in tf.global_variables()] == names
        first = tf.global_variables()[0]
        assert tf.trainable_variables()[0] is first and tf.trainable_variables()[0].shape == [1]
        assert tf.get_collection("tensors") == [graph.get_tensor_by_name("y:0")] and tf.get_collection("ops") == [graph.get_operation_by_name("y")]
        assert tf.get_collection("ints") == [3] and tf.get_collection("floats") == [2.5] and tf.get_collection("words") == [b"text"]
        assert tf.get_collection("mine") == [graph.get_tensor_by_name("v:0")] and not tf.get_collection("nothing")
        assert tf.get_collection(tf.GraphKeys.SAVERS)[0].as_saver_def().restore_op_name == "save/restore_all"
        assert tf.train.get_global_step() is tf.get_collection(tf.GraphKeys.GLOBAL_STEP)[0]
        parts = [variable for variable in tf.global_variables() if variable._get_save_slice_info() is not None]
        assert [part._get_save_slice_info().spec for part in parts] == ["4 0,2", "4 2,2"]


def test_collections_with_protos_of_their_own():
    collection_protos.register_proto_function(
        "shouted", tf.train.SaverDef, lambda item, export_scope: tf.train.SaverDef(save_tensor_name=item.upper()),
        lambda proto, import_scope: proto.save_tensor_name)
    with tf.Graph().as_default():
        tf.add_to_collection("shouted", "hello")
        exported = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(exported)
        assert tf.get_collection("shouted") == ["HELLO"]


def test_queue_runners():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.int32, name="queue")
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
        tf.identity(queue.dequeue(), name="next")
        exported = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(exported)
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        assert sess.run("next:0") == 7
        coordinator.request_stop()
        coordinator.join(threads)
