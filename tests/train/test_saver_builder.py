"""The nodes of a saver."""
from __future__ import annotations

import penstock as tf


def test_nodes_are_named_as_in_tensorflow():
    with tf.Graph().as_default() as graph:
        tf.Variable([1.0], name="v")
        tf.get_variable("r", [3], use_resource=True)
        tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        definition = tf.train.Saver().as_saver_def()
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert definition.filename_tensor_name == "save/Const:0" and definition.save_tensor_name == "save/control_dependency:0"
    assert definition.restore_op_name == "save/restore_all" and definition.version == tf.train.SaverDef.V2 and definition.max_to_keep == 5
    assert list(nodes["save/SaveV2"].input) == ["save/Const", "save/SaveV2/tensor_names", "save/SaveV2/shape_and_slices", "p/part_0/read",
                                                "p/part_1/read", "r/Read/ReadVariableOp", "v"]
    assert list(nodes["save/SaveV2/shape_and_slices"].attr["value"].tensor.string_val) == [b"4 2 0,2:0,2", b"4 2 2,2:0,2", b"", b""]
    assert nodes["save/RestoreV2"].device == "/device:CPU:0" and nodes["save/Assign_2"].input[0] == "v"
