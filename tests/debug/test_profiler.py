"""tf.profiler, beside what real TensorFlow 1.15.5 counts (data/record_profile.py)."""
from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

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


def test_what_is_not_there_says_so(traced):
    graph, _ = traced
    for call in (lambda: tf.profiler.advise(graph), lambda: tf.profiler.profile(graph, cmd="code"), lambda: tf.profiler.Profiler(graph).advise(),
                 lambda: tf.profiler.profile(graph, options=Builder().select(["peak_bytes"]).build()),
                 lambda: tf.profiler.profile(graph, options=Builder().with_pprof_output("x").build())):
        with pytest.raises(tf.errors.UnimplementedError):
            call()


def test_op_log_and_older_names(traced, tmp_path, capsys):
    graph, metadata = traced
    tf.profiler.write_op_log(graph, str(tmp_path), run_meta=metadata)
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    assert {entry.name: entry.float_ops for entry in log.log_entries}["layer/y"] == 12000
    analyzer = tf.contrib.tfprof.model_analyzer
    found = analyzer.print_model_analysis(graph, metadata, tfprof_options=analyzer.FLOAT_OPS_OPTIONS)
    assert found.total_float_ops == 12000 and "layer/y (12.00k/12.00k flops)" in capsys.readouterr().out
