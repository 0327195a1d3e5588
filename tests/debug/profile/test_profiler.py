"""tf.profiler, beside what real TensorFlow 1.15.5 counts (data/record_profile.py)."""
from __future__ import annotations

import gzip
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.debug.profile.pprof import Profile
from penstock.debug.profile.protos import ProfileProto

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "profile.json").read_text())
_spec = importlib.util.spec_from_file_location("record_profile", DATA / "record_profile.py")
recorded = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recorded)
Builder = tf.profiler.ProfileOptionBuilder


def test_float_operations_of_single_ops():
    assert recorded.profile_single_ops(tf) == EXPECTED["single"]


@pytest.mark.parametrize("train", [False, True])
def test_a_small_convnet(train):
    found, expected = recorded.profile_convnet(tf, train), EXPECTED["train" if train else "forward"]
    assert found["parameters"] == expected["parameters"] and found["scopes"] == expected["scopes"]
    same = {kind: count for kind, count in found["types"].items() if count > 100}
    assert same == {kind: count for kind, count in expected["types"].items() if count > 100}
    if not train:  # the gradients of a mean are another handful of operations
        assert found == expected


def test_the_report_of_parameters(capsys):
    with tf.Graph().as_default() as graph:
        recorded.convnet(tf)
        tf.profiler.profile(graph, options=Builder.trainable_variables_parameter())
    report = capsys.readouterr().out
    assert report[report.index("node name"):report.index("\n\n====")] == """\
node name | # parameters
_TFProfRoot (--/2.84k params)
  conv1 (--/224 params)
    conv1/b (8, 8/8 params)
    conv1/w (3x3x3x8, 216/216 params)
  conv2 (--/1.17k params)
    conv2/b (16, 16/16 params)
    conv2/w (3x3x8x16, 1.15k/1.15k params)
  fc (--/1.45k params)
    fc/b (10, 10/10 params)
    fc/w (144x10, 1.44k/1.44k params)"""


def test_scopes_that_count_nothing_are_left_out(capsys):
    with tf.Graph().as_default() as graph:
        recorded.convnet(tf)
        tf.profiler.profile(graph, options=Builder.float_operation())
        lines = capsys.readouterr().out.splitlines()
        assert "_TFProfRoot (--/1.11m flops)" in lines and "  conv1/Conv2D (884.74k/884.74k flops)" in lines
        assert "    fc/w/Initializer/random_uniform/mul (1.44k/1.44k flops)" in lines
        few = tf.profiler.profile(graph, options=Builder(Builder.float_operation()).with_min_float_operations(100_000).with_empty_output().build())
        named = Builder(Builder.float_operation()).with_node_names(show_name_regexes=["fc/.*"]).with_empty_output().build()
        assert [node.name for node in few.children] == ["conv1/Conv2D", "conv2/Conv2D"]
        assert tf.profiler.profile(graph, options=named).total_float_ops == 23040 + 2 * (1440 + 10) + 2
    assert capsys.readouterr().out == ""


@pytest.fixture
def traced():
    """A graph whose batch size is known only from a traced step."""
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 20], name="x")
        y = tf.matmul(x, tf.ones([20, 30]), name="layer/y")
        sess.run(y, {x: np.ones((10, 20))}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    return graph, metadata


def test_shapes_times_and_memory_of_a_step(traced, capsys):
    graph, metadata = traced
    assert tf.profiler.profile(graph, options=Builder.float_operation()).total_float_ops == 0
    assert "1 ops no flops stats due to incomplete shapes" in capsys.readouterr().err
    assert tf.profiler.profile(graph, metadata, options=Builder.float_operation()).total_float_ops == 2 * 10 * 20 * 30
    found = tf.profiler.profile(graph, metadata, cmd="op", options=Builder.time_and_memory())
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("MatMul"))
    assert "1.20KB" in line and "%" in line and found.total_exec_micros >= 1 and found.total_requested_bytes >= 10 * 30 * 4
    scopes = tf.profiler.profile(graph, metadata, options=Builder(Builder.time_and_memory()).with_empty_output().build())
    assert scopes.total_exec_micros == found.total_exec_micros
    layer, = [node for node in scopes.children if node.name == "layer"]
    assert layer.total_requested_bytes == 1200 and layer.children[0].devices[0].endswith("CPU:0")


def test_several_steps(traced, tmp_path):
    graph, metadata = traced
    profiler = tf.profiler.Profiler(graph)
    options = Builder(Builder.time_and_memory(min_bytes=0)).with_empty_output()
    profiler.add_step(1, metadata)
    profiler.add_step(2, metadata)
    assert profiler.profile_name_scope(options.build()).total_requested_bytes == profiler.profile_name_scope(
        options.with_step(2).build()).total_requested_bytes
    with pytest.raises(tf.errors.InvalidArgumentError, match="step 7 was not added"):
        profiler.profile_operations(options.with_step(7).build())
    profiler.profile_operations(options.with_step(2).with_timeline_output(str(tmp_path / "timeline")).build())
    assert json.loads((tmp_path / "timeline").read_text())["traceEvents"]


@pytest.mark.parametrize("call", [
    lambda graph: tf.profiler.profile(graph, cmd="colour"), lambda graph: tf.profiler.profile(graph, options=Builder().select(["colour"]).build()),
    lambda graph: tf.profiler.profile(graph, options=Builder().order_by("colour").build()),
    lambda graph: tf.profiler.advise(graph, options={"Nobody": {}}),
    lambda graph: tf.profiler.profile(graph, options=Builder().with_pprof_output("x").build()),
    lambda graph: tf.profiler.profile(graph, cmd="code", options=Builder().select(["micros", "bytes"]).with_pprof_output("x").build())])
def test_what_is_not_there_says_so(traced, call):
    with pytest.raises(tf.errors.InvalidArgumentError, match="profile"):
        call(traced[0])


def _layer(x, units):
    w = tf.get_variable("w", [x.shape[1].value, units])
    return tf.nn.relu(tf.matmul(x, w))


@pytest.fixture
def trained():
    """Two layers that are made by the same lines, and a step of their training."""
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [10, 20], name="x")
        with tf.variable_scope("one"):
            h = _layer(x, 30)
        with tf.variable_scope("two"):
            h = _layer(h, 40)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(h, name="loss"))
        sess.run(tf.global_variables_initializer())
        sess.run(train, {x: np.ones((10, 20))}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    return graph, metadata


def _lines(node):
    """[name without line number, what is below it] of lines in this file."""
    return [[re.sub(r":\d+:", ":", child.name), _lines(child)] for child in node.children]


def test_lines_of_the_program(trained, capsys):
    """Expected is what TensorFlow shows of such a program if lines of its own are left out."""
    graph, metadata = trained
    here = {"show_name_regexes": [r"test_profiler.py:.*"]}
    found = tf.profiler.profile(graph, cmd="code", options={**Builder.trainable_variables_parameter(), **here})
    assert _lines(found) == [["test_profiler.py:trained", [["test_profiler.py:_layer", []]]]] * 2 and found.total_parameters == 600 + 1200
    report = capsys.readouterr().out
    assert report.count(":_layer (600/600 params)") == report.count(":_layer (1.20k/1.20k params)") == 1 and ":trained (--/600 params)" in report
    code = tf.profiler.profile(graph, metadata, cmd="code", options={**Builder(Builder.float_operation()).with_empty_output().build(), **here})
    both = [child for child in code.children if child.children]
    assert {child.name.endswith(" (gradient)") for child in both} == {True, False} and len(both) == 4
    assert sum(child.total_float_ops for child in both if child.name.endswith(" (gradient)")) >= 2 * 2 * 10 * 30 * 40
    (made,) = {node.name for line in both for inner in line.children for node in inner.graph_nodes} & {"one/MatMul"}
    assert made


def test_operations_with_their_inputs(trained, capsys):
    graph, _ = trained
    tf.profiler.profile(graph, cmd="graph", options=Builder.trainable_variables_parameter())
    expected = ["_TFProfRoot (--/1.80k params)", "  one/w (20x30, 600/600 params)", "  two/w (30x40, 1.20k/1.20k params)"]
    assert "\n".join(expected) in capsys.readouterr().out
    options = Builder(Builder.float_operation()).with_min_float_operations(0).order_by("name").with_empty_output()
    start = options.with_node_names(start_name_regexes=["init"], trim_name_regexes=["two/.*"]).build()
    (init,) = tf.profiler.profile(graph, cmd="graph", options=start).children
    (assign,) = init.children
    assert assign.name == "one/w/Assign" and [child.name for child in assign.children] == ["one/w/Initializer/random_uniform"]
    assert init.total_float_ops == 600 + 600 + 1


def test_a_long_chain():
    with tf.Graph().as_default() as graph:
        x = tf.ones([3])
        for _ in range(2000):
            x = tf.square(x)
        assert tf.profiler.profile(graph, cmd="graph", options=Builder(Builder.float_operation()).with_empty_output().build()).total_float_ops == 6000


def test_every_column(trained, capsys):
    """Headings and cells of a graph's root and of a type, in TensorFlow's order."""
    everything = ["bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "params", "float_ops", "device", "op_types", "occurrence",
                  "input_shapes", "tensor_value"]
    options = Builder(Builder.time_and_memory(min_micros=0, min_bytes=0)).select(everything).order_by("occurrence").build()
    graph, metadata = trained
    scopes = tf.profiler.profile(graph, metadata, options=options)
    report = capsys.readouterr().out.splitlines()
    heading = next(line for line in report if line.startswith("node name"))
    assert heading.split(" | ")[1:] == [
        "# parameters", "# float_ops", "requested bytes", "peak bytes", "residual bytes", "output bytes", "total execution time",
        "accelerator execution time", "cpu execution time", "assigned devices", "op types", "op count (run|defined)", "input shapes"]
    (variable,) = [line for line in report if line.lstrip().startswith("two/w ")]
    assert "(30x40, 1.20k/1.20k params, 0/" in variable and "|VariableV2|_trainable_variables, 1/" in variable and "4.80KB/" in variable
    assert sum(child.total_definition_count for child in scopes.children) == len(graph.get_operations())
    tf.profiler.profile(graph, metadata, cmd="op", options=options)
    report = capsys.readouterr().out
    assert "input_type: 0:10x30,\t1:30x40\t(run*1|defined*1)\texec_time: " in report


def test_pprof(trained, tmp_path):
    graph, _ = trained
    options = {**Builder.float_operation(), "output": f"pprof:outfile={tmp_path / 'profile'}"}
    tf.profiler.profile(graph, cmd="code", options=options)
    profile = Profile.FromString(gzip.decompress((tmp_path / "profile").read_bytes()))
    text, functions = list(profile.string_table), {function.id: function for function in profile.function}
    assert [text[kind.type] for kind in profile.sample_type] == ["operations", "float_ops"] and text[0] == ""
    names = {location.id: text[functions[location.line[0].function_id].name] for location in profile.location}
    flops = {}
    for sample in profile.sample:
        flops[names[sample.location_id[0]]] = flops.get(names[sample.location_id[0]], 0) + sample.value[1]
    assert flops["_layer"] == 2 * 10 * 20 * 30 + 2 * 10 * 30 * 40 + 2 * (600 + 1200) + 2  # products, and initial values


def test_advice(trained, capsys):
    graph, metadata = trained
    found = tf.profiler.advise(graph, metadata)
    assert sorted(found.checkers) == ["AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "OperationChecker"]
    types, scopes, lines = found.checkers["ExpensiveOperationChecker"].reports
    assert types.startswith("top 1 operation type: ") and "top 3" in types and "top 1 graph node: " in scopes and "test_profiler.py" in lines
    assert types in capsys.readouterr().out
    profiler = tf.profiler.Profiler(graph)
    assert list(profiler.advise({"ExpensiveOperationChecker": {}}).checkers["ExpensiveOperationChecker"].reports) == []  # no step, no time
    with tf.Graph().as_default() as other, tf.Session() as sess:
        pooled = tf.nn.max_pool(tf.ones([1, 2, 2, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="pooled")
        sess.run(pooled, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        pooled.op._set_attr("data_format", tf.AttrValue(s=b"NCHW"))
        assert "NHWC may be faster" in tf.profiler.advise(other, metadata, {"OperationChecker": {}}).checkers["OperationChecker"].reports[0]


def test_profile_context(tmp_path):
    options = Builder(Builder.time_and_memory()).with_empty_output().build()
    with tf.Graph().as_default(), tf.contrib.tfprof.ProfileContext(str(tmp_path), trace_steps=[1], dump_steps=[2]) as context:
        context.add_auto_profiling("op", options, [0])
        y = tf.matmul(tf.ones([4, 4]), tf.ones([4, 4]), name="y")
        with tf.Session() as sess:
            for _ in range(4):
                sess.run(y)
        assert list(context.get_profiles("op")) == [0] and context.get_profiles("op")[0].total_exec_micros > 0
        assert context.profiler.profile_name_scope({**options, "step": 1}).total_exec_micros > 0
    stored = ProfileProto.FromString((tmp_path / "profile_2").read_bytes())
    (node,) = [node for node in stored.nodes.values() if node.name == "y"]
    assert sorted(node.execs) == [0, 1] and node.op == "MatMul" and stored.id_to_string[node.trace.traces[-1].file_id] == __file__
    with pytest.raises(ValueError, match="directory"):
        tf.contrib.tfprof.ProfileContext("")


def test_op_log_and_older_names(traced, tmp_path, capsys):
    graph, metadata = traced
    tf.profiler.write_op_log(graph, str(tmp_path), run_meta=metadata)
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    assert {entry.name: entry.float_ops for entry in log.log_entries}["layer/y"] == 12000
    traces = next(entry.code_def.traces for entry in log.log_entries if entry.name == "layer/y")
    assert log.id_to_string[traces[-1].file_id] == __file__ and log.id_to_string[traces[-1].function_id] == "traced"
    analyzer = tf.contrib.tfprof.model_analyzer
    found = analyzer.print_model_analysis(graph, metadata, tfprof_options=analyzer.FLOAT_OPS_OPTIONS)
    assert found.total_float_ops == 12000 and "layer/y (12.00k/12.00k flops)" in capsys.readouterr().out
