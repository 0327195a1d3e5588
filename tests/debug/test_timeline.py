"""A traced step as a Chrome trace, and the debugger's dumps."""
import json

import numpy as np
import pytest

import penstock as tf
from penstock.debug.tfdbg import dump_dir, sessions
from penstock.debug.timeline import Timeline


def traced():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.reduce_sum(tf.log(x, name="inner"), name="outer")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(y, {x: [1.0, 2.0]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    return metadata.step_stats


def test_trace_has_each_op_once_with_its_inputs():
    trace = json.loads(Timeline(traced()).generate_chrome_trace_format(show_memory=True))["traceEvents"]
    ops = {event["args"]["name"]: event for event in trace if event["ph"] == "X"}
    assert ops["outer"]["args"]["op"] == "Sum" and ops["outer"]["args"]["input0"] == "inner" and ops["inner"]["dur"] >= 1
    assert any(event["ph"] == "s" and event["name"] == "inner" for event in trace)
    assert any(event["ph"] == "C" and event["args"]["bytes"] == 8 for event in trace)


def test_every_output_has_a_shape_a_type_and_memory():
    """TensorBoard shows nothing of a step in which a scalar has no shape."""
    rows = {row.node_name: row for device in traced().dev_stats for row in device.node_stats}
    assert all(output.tensor_description.HasField("shape") for row in rows.values() for output in row.output)
    outer, inner = rows["outer"], rows["inner"]
    assert list(outer.output[0].tensor_description.shape.dim) == [] and outer.output[0].tensor_description.dtype == tf.float32.as_datatype_enum
    assert inner.memory[0].total_bytes == 8 and inner.memory[0].allocator_name == "cpu"


def test_dumps_find_the_first_bad_number(tmp_path):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("scope"):
        bad = tf.log(x, name="inner")
    result = tf.reduce_sum(bad * 2.0, name="outer")
    with tf.Session() as plain:
        assert sessions.DumpingDebugWrapperSession(plain, str(tmp_path)).run(result, {x: [1.0, 0.0]}) == -np.inf
    (run,) = tmp_path.iterdir()
    found = dump_dir.DebugDumpDir(str(run))
    first = found.find(dump_dir.has_inf_or_nan, first_n=1)[0]
    assert first.node_name == "scope/inner" and first.get_tensor().tolist() == [0.0, -np.inf]
    assert found.node_op_type("outer") == "Sum" and "scope/inner" in found.transitive_inputs("outer")
    assert found.devices() == ["/job:localhost/replica:0/task:0/device:CPU:0"]
    assert [datum.node_name for datum in found.find(dump_dir.has_inf_or_nan, exclude_node_names="scope/.*")] == ["mul", "outer"]
    values = found.get_tensors("outer", 0, "DebugIdentity", found.devices()[0])
    assert values == [-np.inf] and len(found.get_rel_timestamps("outer", 0, "DebugIdentity")) == 1
    with pytest.raises(ValueError, match='Watch key "outer:0:DebugIdentity" does not exist'):
        found.get_tensors("outer", 0, "DebugIdentity", "/job:localhost/replica:0/task:0/device:CPU:1")


def test_the_most_that_was_held_at_a_time():
    with tf.device("/cpu:0"):
        a = tf.Variable(1.0, name="a")
    with tf.device("/cpu:1"):
        b = tf.Variable(2.0, name="b")
    with tf.device("/cpu:2"):
        result = a + b + a * b
    metadata = tf.RunMetadata()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(tf.global_variables_initializer())
        session.run(result, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    analysis = Timeline(metadata.step_stats).analyze_step_stats()
    assert analysis.allocator_maximums["cpu"].num_bytes == 16 and analysis.allocator_maximums["cpu"].timestamp > 0
    assert analysis.allocator_maximums["cpu"].tensors == {"a/read", "b/read", "add", "mul"}
    events = json.loads(analysis.chrome_trace.format_to_string())["traceEvents"]
    assert {event["name"] for event in events if event.get("cat") == "DataFlow"} >= {"a/read", "b/read"}  # from device to device
