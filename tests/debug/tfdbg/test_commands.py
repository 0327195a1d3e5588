"""The commands of the debugger. What they print was recorded from TensorFlow 1.15's readline interface; times and sizes of files differ."""
from __future__ import annotations

import re
from types import SimpleNamespace as node

import numpy as np
import pytest

import penstock as tf
from penstock.debug.tfdbg.analyzer import Analyzer
from penstock.debug.tfdbg.commands import CommandLine, Leave, tokens
from penstock.debug.tfdbg.config import Config
from penstock.debug.tfdbg.dump_dir import DebugDumpDir, has_inf_or_nan
from penstock.debug.tfdbg.tensor_text import apply_slicing, describe, parse_ranges
from penstock.debug.tfdbg.watching import add_debug_tensor_watch, watch_graph, watch_graph_with_blacklists

RANGES = "[[-inf,0],[1.5,3]]"


def build():
    x = tf.placeholder(tf.float32, [3], name="x")
    w = tf.Variable([1.0, 2.0, 0.0], name="w")
    with tf.name_scope("hidden"):
        y = tf.multiply(w, x, name="product")
        z = tf.log(y, name="logarithm")
    return x, tf.reduce_sum(z, name="loss")


def watched_run(folder, watch=watch_graph, **patterns):
    """The dump of a step whose second number is a logarithm of 0."""
    x, loss = build()
    options = tf.RunOptions()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        watch(options, sess.graph, debug_urls=f"file://{folder}", **patterns)
        assert sess.run(loss, {x: [1.0, 2.0, 3.0]}, options=options) == -np.inf
        dump = DebugDumpDir(str(folder))
        dump.set_python_graph(sess.graph)
        return dump


@pytest.fixture
def line(tmp_path):
    line = CommandLine()
    Analyzer(watched_run(tmp_path), {"has_inf_or_nan": has_inf_or_nan}, line.config).register(line)
    return line


def without_times(lines):
    return [re.sub(r"t \(ms\) +", "t (ms)   ", re.sub(r"\[\d+\.\d+\] +\d+ +", "[T] S ", text)) for text in lines]


def test_list_tensors(line):
    head, rows = without_times(line.dispatch("lt"))[:3], without_times(line.dispatch("lt"))[3:]
    assert head == ["7 dumped tensor(s):", "", "t (ms)   Size (B) Op type    Tensor name"]
    assert sorted(rows) == sorted("[T] S " + text for text in (  # independent nodes run in any order
        "Const      Const:0", "VariableV2 w:0", "Identity   w/read:0", "_Arg       _arg_x_0_0:0", "Mul        hidden/product:0",
        "Log        hidden/logarithm:0", "Sum        loss:0"))
    assert rows[-3:] == ["[T] S Mul        hidden/product:0", "[T] S Log        hidden/logarithm:0", "[T] S Sum        loss:0"]
    assert without_times(line.dispatch("list_tensors -f has_inf_or_nan")) == [
        '2 dumped tensor(s) passing filter "has_inf_or_nan":', "", "t (ms)   Size (B) Op type Tensor name", "[T] S Log     hidden/logarithm:0",
        "[T] S Sum     loss:0"]
    assert without_times(line.dispatch("lt -n hidden.* -t Mul")) == [
        "1 dumped tensor(s):", 'Op type regex filter: "Mul"', 'Node name regex filter: "hidden.*"', "", "t (ms)   Size (B) Op type    Tensor name",
        "[T] S Mul        hidden/product:0"]
    assert line.dispatch("lt -s tensor_name -r")[3].endswith(" w:0") and line.dispatch("lt -s tensor_name")[3].endswith(" Const:0")
    assert line.dispatch("lt -f nothing") == ['ERROR: There is no tensor filter named "nothing".']


def test_print_tensor(line):
    head = ['Tensor "hidden/product:0:DebugIdentity":', "  dtype: float32", "  shape: (3,)", ""]
    array = ["array([1., 4., 0.], dtype=float32)"]
    assert line.dispatch("pt hidden/product:0") == head + array
    assert line.dispatch("print_tensor hidden/product") == head + array
    assert line.dispatch("pt hidden/product:0[1:]") == ['Tensor "hidden/product:0:DebugIdentity[1:]":', "  dtype: float32", "  shape: (2,)", "",
                                                        "array([4., 0.], dtype=float32)"]
    assert line.dispatch("pt hidden/product:0 -r [2,10]")[0] == head[0] + " Highlighted([2,10]): 1 of 3 element(s) (33.33%)"
    assert line.dispatch("pt hidden/product:0 -s") == [
        *head, "Numeric summary:", "| 0 + | total |", "| 1 2 |     3 |", "|       min       max      mean       std |",
        "|       0.0       4.0 1.6666666 1.6996732 |", "", *array]
    assert line.dispatch("pt nothing") == ['ERROR: Node "nothing" does not exist in partition graphs']
    assert line.dispatch("pt loss:1") == ['ERROR: Tensor "loss:1" did not generate any dumps.']
    assert line.dispatch("pt loss[5]")[:1] == ["Error occurred during handling of command: print_tensor loss[5]:"]


def test_values_go_to_files(line, tmp_path):
    assert f"Saved value to: {tmp_path}/y.npy (140B)" in line.dispatch(f"pt hidden/product -w {tmp_path}/y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == [1, 4, 0]
    line.dispatch(f"pt hidden/product > {tmp_path}/text")
    assert (tmp_path / "text").read_text().endswith("array([1., 4., 0.], dtype=float32)\n")


def test_node_info(line):
    plain = ["Node hidden/product", "", "  Op: Mul", "  Device: /job:localhost/replica:0/task:0/device:CPU:0", "",
             "  2 input(s) + 0 control input(s):", "    2 input(s):", "      [Identity] w/read", "      [_Arg] _arg_x_0_0", "",
             "  1 recipient(s) + 0 control recipient(s):", "    1 recipient(s):", "      [Log] hidden/logarithm"]
    assert line.dispatch("ni hidden/product") == plain
    more = line.dispatch("ni -a -d -t hidden/product:0")
    assert more[:len(plain)] == plain
    assert more[len(plain):len(plain) + 4] == ["", "Node attributes:", "  T:", "    type: DT_FLOAT"]
    assert "1 dumped tensor(s):" in more and re.search(r"  Slot 0 @ DebugIdentity @ \d+\.\d{3} ms", "\n".join(more))
    assert more[-5:] == [f"{more[-5][0]}: {__file__}", f"  Line:     {build.__code__.co_firstlineno + 4}", "  Function: build",
                         '  Text:     "y = tf.multiply(w, x, name="product")"', ""]


def test_trees_of_inputs_and_outputs(line):
    assert line.dispatch("li -r hidden/logarithm") == [
        'Inputs to node "hidden/logarithm" (Depth limit = 20):', "|- (1) hidden/product", "   |- (2) w/read", "   |  |- (3) w",
        "   |- (2) _arg_x_0_0", "", "Legend:", "  (d): recursion depth = d."]
    assert line.dispatch("li -c -d 1 loss") == [
        'Inputs to node "loss" (Depth limit = 1, control inputs included):', "|- (1) hidden/logarithm", "|  |- ...", "|- (1) Const", "", "Legend:",
        "  (d): recursion depth = d.", "  (Ctrl): Control input."]
    assert line.dispatch("lo -r -t w")[1:5] == ["|- (1) [Identity] w/read", "   |- (2) [Mul] hidden/product", "      |- (3) [Log] hidden/logarithm",
                                                "         |- (4) [Sum] loss"]
    line.dispatch("config set graph_recursion_depth 2")
    assert line.dispatch("lo -r w")[1:4] == ["|- (1) w/read", "   |- (2) hidden/product", "      |- ..."]
    assert line.dispatch("li nothing") == ['ERROR: There is no node named "nothing" in the partition graphs']


def test_source(line):
    assert line.dispatch("ls")[:4] == ["List of source files that created nodes in this run", "", "File(s) outside TensorFlow Python library:",
                                       line.dispatch("ls")[3]]
    row = next(text for text in line.dispatch("ls -p .*test_commands") if text.startswith(__file__))
    assert row.split()[1:] == ["10", "9", "6"]  # all that the program made; what is fed is dumped as a node of the runtime
    printed = line.dispatch(f"ps {__file__} -b {build.__code__.co_firstlineno}")
    first = build.__code__.co_firstlineno
    assert printed[0].startswith(f"L{first}") and "    hidden/product" in printed and "    hidden/logarithm" in printed
    assert "    hidden/product:0" in line.dispatch(f"ps {__file__} -t")
    assert line.dispatch("ls -p nothing")[1:] == ['File path regex filter: "nothing"', "", "[No source file information.]"]
    assert line.dispatch("ps /nothing.py")[1].startswith("<class 'FileNotFoundError'>")


def test_eval(line):
    assert line.dispatch("eval np.sum(`hidden/product:0`)") == ["Tensor \"from eval of expression 'np.sum(`hidden/product:0`)'\":", "", "5.0"]
    assert line.dispatch('ev "`hidden/product` + 1"')[-1] == "array([2., 5., 1.], dtype=float32)"
    assert line.dispatch("eval foo")[1] == "<class 'NameError'>: name 'foo' is not defined"


def test_the_command_line_itself(line):
    assert line.dispatch("config") == ["Command-line configuration:", "", "  graph_recursion_depth: 20", "  mouse_mode: True"]
    assert line.dispatch("foo") == ['ERROR: Invalid command prefix "foo"']
    assert line.dispatch("pt") == ["Syntax error for command: pt", 'For help, do "help pt"']
    assert line.dispatch("lt -x") == ["Syntax error for command: lt", 'For help, do "help lt"']
    assert line.dispatch("") == []
    assert line.dispatch("h li")[:2] == ["list_inputs", "  Aliases: li"]
    assert all(name in line.dispatch("help") for name in ("list_tensors", "print_tensor", "node_info", "eval", "print_source"))
    with pytest.raises(Leave):
        line.dispatch("exit")
    assert tokens("run -t 5  'a b'") == ["run", "-t", "5", "a b"]


def test_settings_stay_for_the_next_program(config_path, tmp_path, capsys):
    line = CommandLine()
    line.dispatch("mouse off")
    assert not config_path.exists()  # for this program
    assert line.dispatch("config set graph_recursion_depth 7")[2:] == ["  graph_recursion_depth: 7", "  mouse_mode: False"]
    assert CommandLine().config["graph_recursion_depth"] == 7
    assert line.dispatch("config set mouse_mode perhaps")[1] == "<class 'ValueError'>: Invalid string value for bool type: perhaps"
    assert line.dispatch("config set depth 3")[0].startswith("ERROR: depth is not a valid property name")
    config_path.write_text('{"graph_recursion_depth": "deep", "other": 1}')
    assert dict(CommandLine().config) == {"graph_recursion_depth": 20, "mouse_mode": True}
    config_path.write_text("broken")
    assert dict(Config(str(tmp_path / "of_ones_own"))) == dict(CommandLine().config)
    assert f"tfdbg: {config_path}: " in capsys.readouterr().err


def test_mouse():
    line = CommandLine()
    assert line.dispatch("mouse") == ["Mouse mode: on"] and line.dispatch("m OFF") == ["Mouse mode: off"]
    assert line.config["mouse_mode"] is False and line.dispatch("mouse on") == ["Mouse mode: on"]
    assert line.dispatch("mouse sideways")[0] == "Syntax error for command: mouse"


def test_output_to_a_file_that_cannot_be_written(tmp_path):
    """The program that is debugged goes on."""
    line = CommandLine()
    assert line.dispatch(f"mouse > {tmp_path / 'told'}") == ["Mouse mode: on"] and (tmp_path / "told").read_text() == "Mouse mode: on\n"
    nowhere = tmp_path / "none" / "told"
    assert line.dispatch(f"mouse > {nowhere}") == ["Mouse mode: on", f"ERROR: {nowhere} was not written: No such file or directory"]


# --- values ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value, summary", [
    (np.array([[np.nan, 1, 2], [-np.inf, np.inf, -3.5]], np.float32),
     ["|  nan -inf    -    + +inf | total |", "|    1    1    1    2    1 |     6 |", "|         min         max        mean         std |",
      "|        -3.5         2.0 -0.16666667   2.3921165 |"]),
    (np.array([True, False, True]), ["| False  True | total |", "|     1     2 |     3 |"]),
    (np.arange(6, dtype=np.int32), ["| 0 + | total |", "| 1 5 |     6 |",
                                    "|               min               max              mean               std |",
                                    "|                 0                 5               2.5 1.707825127659933 |"]),
    (np.zeros((0, 3), np.float32), ["No numeric summary available due to empty tensor."]),
    (np.array([b"a"], object), ["No numeric summary available due to tensor dtype: object."]),
    (np.array([np.nan] * 12, np.float32), ["| nan | total |", "|  12 |    12 |"])])
def test_numeric_summaries(value, summary):
    lines = describe(value, "t", summary=True)
    assert lines[5:5 + len(summary)] == summary and lines[5 + len(summary)] == ""


def test_large_values_have_ellipses():
    assert describe(np.arange(3000.0), "t")[4] == "array([0.000e+00, 1.000e+00, 2.000e+00, ..., 2.997e+03, 2.998e+03,"
    assert "..." not in "".join(describe(np.arange(3000.0), "t", everything=True))


def test_ranges():
    """An infinite end takes infinities in, which TensorFlow leaves out: there inf is the largest finite number."""
    value = np.array([[np.nan, 1, 2], [-np.inf, np.inf, -3.5]], np.float32)
    assert describe(value, "t", ranges=RANGES)[0] == f'Tensor "t": Highlighted({RANGES}): 3 of 6 element(s) (50.00%)'
    assert parse_ranges("[0, 1]") == [(0, 1)]
    for bad in ("", "1", "[1]", "a,b", "[[1,2],3]"):
        with pytest.raises(ValueError):
            parse_ranges(bad)


def test_slices():
    value = np.arange(12).reshape(3, 4)
    assert apply_slicing(value, "[1, ::2]").tolist() == [4, 6] and apply_slicing(value, "[-1]").tolist() == [8, 9, 10, 11]
    with pytest.raises(ValueError, match="Invalid tensor-slicing"):
        apply_slicing(value, "[__import__('os')]")


# --- what is watched -------------------------------------------------------------------------------------------------

def names(dump):
    return {datum.tensor_name for datum in dump.dumped_tensor_data}


def test_watches_by_regular_expressions(tmp_path):
    assert names(watched_run(tmp_path / "a", node_name_regex_whitelist="hidden")) == {"hidden/product:0", "hidden/logarithm:0"}
    tf.reset_default_graph()
    both = names(watched_run(tmp_path / "b", op_type_regex_whitelist="(Mul|Sum)", tensor_dtype_regex_whitelist="float.*"))
    assert both == {"hidden/product:0", "loss:0"}
    tf.reset_default_graph()
    left = names(watched_run(tmp_path / "c", watch_graph_with_blacklists, node_name_regex_blacklist="hidden", op_type_regex_blacklist="Const"))
    assert left == {"w:0", "w/read:0", "loss:0"}


def test_one_tensor_is_watched(tmp_path):
    options, (x, loss) = tf.RunOptions(), build()
    add_debug_tensor_watch(options, "hidden/product", debug_urls=[f"file://{tmp_path}/1", f"file://{tmp_path}/2"], global_step=7)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(loss, {x: [1.0, 1.0, 1.0]}, options=options, run_metadata=tf.RunMetadata())
    for folder in ("1", "2"):
        dump = DebugDumpDir(str(tmp_path / folder))
        assert names(dump) == {"hidden/product:0"} and dump.core_metadata.global_step == 7 and dump.core_metadata.input_names == ["x:0"]


@pytest.mark.parametrize(("watch", "error"), [
    ({"debug_urls": "http://localhost:1"}, tf.errors.UnimplementedError),
    ({"debug_urls": "file:///tmp/x", "debug_ops": "DebugNoSuch"}, tf.errors.FailedPreconditionError)])
def test_what_cannot_be_watched(watch, error):
    options = tf.RunOptions()
    add_debug_tensor_watch(options, "*", -1, **watch)
    with tf.Session() as sess, pytest.raises(error):
        sess.run(tf.constant(1.0) + 1.0, options=options)


def test_inputs_of_tensorflows_own_dumps(tmp_path):
    """TensorFlow's debugger puts copies between the nodes that it watches."""
    graph = node(node=[node(name="w/read", op="Identity", input=["w"], device="", attr={}),
                       node(name="__copy_w/read_0", op="Copy", input=["w/read"], device="", attr={}),
                       node(name="y", op="Mul", input=["__copy_w/read_0", "x:1", "^__dbg_w/read:0_0_DebugIdentity", "^init"], device="", attr={})])
    dump = DebugDumpDir(str(tmp_path), partition_graphs=[graph])
    assert dump.nodes() == ["w/read", "y"] and dump.node_inputs("y") == ["w/read", "x"] and dump.node_inputs("y", True) == ["init"]
    assert dump.node_recipients("w/read") == ["y"]
