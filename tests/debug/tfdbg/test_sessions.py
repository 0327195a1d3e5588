"""Debugged sessions: in monitored sessions, on a real terminal, and from files afterwards."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.debug.tfdbg import dump_dir, hooks, offline_analyzer, sessions, watching
from penstock.debug.tfdbg.dump_dir import DebugDumpDir
from penstock.debug.tfdbg.watching import WatchOptions
from support.terminal import Terminal

PROGRAM = """
import sys
import penstock as tf
from penstock.debug.tfdbg import sessions
x = tf.placeholder(tf.float32, [], name="x")
y = tf.log(x, name="y")
with sessions.LocalCLIDebugWrapperSession(tf.Session(), dump_root=sys.argv[1]) as sess:
    for value in (3.0, 2.0, 1.0, 0.0, 5.0):
        print("GOT", sess.run(y, {x: value}))
"""


def test_on_a_terminal(tmp_path):
    terminal = Terminal(["-c", PROGRAM, str(tmp_path / "dump")], tmp_path)
    try:
        assert "run-start: run #1: 1 fetch (y:0); 1 feed (x:0)" in terminal.wait_for("tfdbg> ")
        terminal.type("pf x:0\n")
        assert "array(3., dtype=float32)" in terminal.wait_for("tfdbg> ")
        terminal.type("run\n")
        assert "run-end: run #1" in terminal.wait_for("2 dumped tensor(s):")
        terminal.wait_for("tfdbg> ")
        terminal.type("print_t\t y\t\n")  # completed: print_tensor y:0
        assert "array(1.0986123, dtype=float32)" in terminal.wait_for("tfdbg> ")
        terminal.type("run -f has_inf_or_nan\n")
        found = terminal.wait_for("tfdbg> ")
        assert "run-end: run #4" in found and '1 dumped tensor(s) passing filter "has_inf_or_nan":' in found
        terminal.type("ni -t y\n")
        assert "Line:     6" in terminal.wait_for("tfdbg> ")
        terminal.type("run -n\n")
        terminal.wait_for("GOT 1.609438")
        code = terminal.wait_for_end()
    finally:
        terminal.close()
    assert code == 0 and not (tmp_path / "dump").exists()


def test_who_leaves_the_debugger_ends_the_program(tmp_path):
    terminal = Terminal(["-c", PROGRAM, str(tmp_path / "dump")], tmp_path)
    try:
        terminal.wait_for("tfdbg> ")
        terminal.type("exit\n")
        terminal.wait_for("user exited from debugger CLI")
        code = terminal.wait_for_end()
    finally:
        terminal.close()
    assert code == 1 and not (tmp_path / "dump").exists()


@pytest.fixture
def typed(monkeypatch):
    """Commands that a person will type."""
    commands: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: commands.pop(0))
    return commands


def debugged(tmp_path, **options):
    return sessions.LocalCLIDebugWrapperSession(tf.Session(), dump_root=str(tmp_path / "dump"), ui_type="readline", **options)


def test_runs_pass_until_the_last_of_several(tmp_path, typed, capsys):
    value = tf.constant([1.0, 2.0], name="value")
    typed += ["run -t 3", "run -n"]
    with debugged(tmp_path) as sess:
        for _ in range(4):
            sess.run(value)
    out = capsys.readouterr().out
    assert out.count("run-start") == 1 and out.count("run-end") == 1 and "run-end: run #3" in out and not typed


def test_a_filter_of_ones_own(tmp_path, typed, capsys):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.identity(x * 2.0, name="y")
    typed += ["run -f large -fenn mul", "lt", "run"]
    with debugged(tmp_path) as sess:
        sess.add_tensor_filter("large", lambda datum, value: datum.node_name not in "_arg_x_0_0" and np.max(value) > 5)
        assert [sess.run(y, {x: value}) for value in (1.0, 2.0, 3.0)] == [2, 4, 6]
        with pytest.raises(TypeError, match="callable"):
            sess.add_tensor_filter("bad", 3)
    out = capsys.readouterr().out
    assert "run-end: run #3" in out and 'passing filter "large"' in out


def test_a_run_that_fails_is_shown_and_then_fails(tmp_path, typed, capsys):
    y = tf.check_numerics(tf.log(tf.constant([0.0], name="zero")), "it is", name="check")
    typed += ["run", "pt zero", "run"]
    with debugged(tmp_path) as sess, pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(y)
    out = capsys.readouterr().out
    assert "!!! An error occurred during the run !!!" in out and "Op name:    check" in out and "array([0.], dtype=float32)" in out


def test_the_same_numbers_with_and_without(tmp_path, typed):
    x = tf.placeholder(tf.float32, [4, 3])
    w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(tf.matmul(x, w))))
    data = np.random.RandomState(0).rand(4, 3)

    def trained(sess):
        with sess:
            sess.session.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(train, {x: data})
            return sess.session.run(w)
    typed += ["run"] * 4
    with_debugger = trained(debugged(tmp_path))
    typed += ["run -n"] * 3
    assert np.array_equal(with_debugger, trained(debugged(tmp_path / "other")))


def test_the_depth_of_trees_is_set_for_all_runs(tmp_path, typed, capsys):
    value = tf.identity(tf.identity(tf.constant(1.0, name="a"), name="b"), name="c")
    typed += ["config set graph_recursion_depth 1", "run", "li -r c", "run", "li -r c", "run -n"]
    with debugged(tmp_path) as sess:
        for _ in range(3):
            sess.run(value)
    assert capsys.readouterr().out.count('Inputs to node "c" (Depth limit = 1)') == 2 and not typed


def test_callables_and_functions_of_steps_are_debugged(tmp_path, typed, capsys):
    x = tf.placeholder(tf.float32, [], name="x")
    typed += ["run", "run", "run", "run -n"]
    with debugged(tmp_path) as sess:
        assert sess.make_callable(tf.square(x), [x])(3.0) == 9.0
        assert sess.run_step_fn(lambda step: step.run_with_hooks(tf.negative(x), {x: 2.0})) == -2.0
        with pytest.raises(NotImplementedError, match="debug-wrapper"):
            sess.partial_run_setup([x], [x])
    out = capsys.readouterr().out
    assert "run-end: run #1: 1 fetch (Square:0); 1 feed (x:0)" in out and "run-end: run #2: 1 fetch (Neg:0); 1 feed (x:0)" in out


def test_other_threads_are_left_alone(tmp_path):
    with debugged(tmp_path, thread_name_filter="nobody") as sess:
        assert sess.run(tf.constant(3)) == 3
        assert tf.constant(4).eval() == 4  # it is the default session


def test_bad_arguments(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with tf.Session(graph=tf.Graph()) as sess:
        for options in ({"dump_root": str(tmp_path / "full")}, {"dump_root": str(tmp_path / "full" / "file")}, {"ui_type": "window"}):
            with pytest.raises(ValueError):
                sessions.LocalCLIDebugWrapperSession(sess, **options)
    with pytest.raises(TypeError):
        sessions.LocalCLIDebugWrapperSession("session")


def test_hooks(tmp_path, typed, capsys):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1, name="count")
    shown = hooks.LocalCLIDebugHook(dump_root=str(tmp_path / "dump"))
    shown.add_tensor_filter("two", lambda datum, value: datum.node_name == "count" and value == 2)
    dumped = hooks.DumpingDebugHook(str(tmp_path / "runs"), watch_fn=lambda fetches, feeds: WatchOptions(node_name_regex_whitelist="count"))
    typed += ["run -f two", "pt count:0", "run -n"]
    with tf.train.SingularMonitoredSession(hooks=[shown]) as sess:
        for _ in range(3):
            sess.run(train)
    out = capsys.readouterr().out
    assert "run-end: run #2" in out and "array(2" in out
    with tf.train.SingularMonitoredSession(hooks=[dumped]) as sess:
        for _ in range(2):
            sess.run(train)
    runs = sorted((tmp_path / "runs").iterdir())
    assert [DebugDumpDir(str(run)).get_tensors("count", 0, "DebugIdentity")[0] for run in runs] == [1, 2]


def test_offline(tmp_path, typed, capsys):
    with sessions.DumpingDebugWrapperSession(tf.Session(), str(tmp_path)) as sess:
        sess.run(tf.add(1.0, 2.0, name="sum"))
    (run,) = tmp_path.iterdir()
    assert DebugDumpDir(str(run)).run_fetches_info.startswith("<tf.Tensor 'sum:0'")
    typed += ["pt sum", "ni -t sum", "ls", "exit"]
    assert offline_analyzer.main([f"--dump_dir={run}"]) == 0
    out = capsys.readouterr().out
    assert "array(3., dtype=float32)" in out and "The graph of the program is not loaded" in out
    assert "Op: Add" in out and "(Unavailable because no Python graph has been loaded)" in out
    assert offline_analyzer.main(["--dump_dir=/nothing/here"]) == 1


@pytest.fixture
def profiled(tmp_path, typed, capsys):
    """What a run prints after ``run -p`` and some commands."""
    x = tf.placeholder(tf.float32, [200, 200], name="x")
    loss = tf.reduce_sum(tf.matmul(x, x, name="product"), name="loss")

    def run(*commands):
        typed.extend(["run -p", *commands, "run -n"])
        with debugged(tmp_path) as sess:
            sess.run(loss, {x: np.ones((200, 200), np.float32)})
            sess.run(loss, {x: np.ones((200, 200), np.float32)})
        assert not typed
        return capsys.readouterr().out
    return run


def test_where_the_time_goes(profiled):
    out = profiled("lp -n product -s op_time -r --time_unit ms", "lp -t Sum", "lp -e '>1000s'")
    everything, products, sums, slow = out.split("Device 1 of 1: ")[1:]
    assert "product" in everything and "loss" in everything and "test_sessions.py" in everything and "Device Total" in everything
    assert "MatMul" in products and "0.000ms" in products and "loss" not in products
    assert "Sum" in sums and "MatMul" not in sums and "MatMul" not in slow


def test_times_beside_lines(profiled):
    line = next(line for line in profiled(f"ps {__file__}").splitlines() if 'loss = tf.reduce_sum(tf.matmul(x, x, name="product")' in line)
    assert "us" in line and "(" in line.split("L")[0]


def test_what_cannot_be_profiled(profiled):
    out = profiled("lp -e fast", "lp -o '[1, later]'", "ps /no/such/file.py", "run -p -n")
    assert "not a range of times" in out and "'later' is not a time" in out and "does not contain any profile information" in out
    assert "goes neither with" in out


def test_paths_and_names_of_a_dump(tmp_path):
    """As TensorFlow 1.15's DebugDumpDir has them."""
    x = tf.placeholder(tf.float32, [2], name="x")
    z = tf.log(tf.multiply(x, 2.0, name="y"), name="z")
    options = tf.RunOptions()
    watching.watch_graph(options, z.graph, debug_urls=f"file://{tmp_path}")
    with tf.Session() as session:
        session.run(z, {x: [1.0, 2.0]}, options=options)
    dump = DebugDumpDir(str(tmp_path))
    assert dump.loaded_partition_graphs() and [list(graphs) for graphs in [dump.reconstructed_non_debug_partition_graphs()]] == [dump.devices()]
    assert dump.find_some_path("y", "z") == ["y", "z"] and dump.find_some_path("y", "z", include_control=False) == ["y", "z"]
    assert dump.find_some_path("z", "y") is None
    with pytest.raises(ValueError, match="has a node named 'nowhere'"):
        dump.find_some_path("nowhere", "z")
    with pytest.raises(dump_dir.WatchKeyDoesNotExistInDebugDumpDirError, match='Watch key "nope:0:DebugIdentity" does not exist in the debug dump'):
        dump.get_tensors("nope", 0, "DebugIdentity")
    (here,) = dump.devices()
    assert dump.node_exists("y", here) and not dump.node_exists("nope", here) and dump.node_op_type("y", device_name=here) == "Mul"
    for ask in (dump.node_exists, dump.node_op_type, lambda name, device: dump.node_inputs(name, device_name=device)):
        with pytest.raises(ValueError, match="The specified device_name '/job:ps' cannot be found"):
            ask("y", "/job:ps")
    assert dump.run_fetches_info == dump.run_feed_keys_info == []  # a wrapped session writes them
    device = "/job:worker/replica:0/task:1/device:CPU:0"
    assert dump_dir.device_path_to_device_name(dump_dir.device_name_to_device_path(device)) == device


def test_a_dump_of_a_graph_as_tensorflow_writes_it():
    """It copies what it watches."""
    written = tf.GraphDef()
    for name, inputs in (("a", []), ("__copy_a_0", ["a"]), ("__dbg_a:0_0_DebugIdentity", ["__copy_a_0"]), ("b", ["__copy_a_0", "^__dbg_a:0_0"])):
        written.node.add(name=name, op="Identity").input.extend(inputs)
    plain = dump_dir.reconstruct_non_debug_graph_def(written)
    assert [(node.name, list(node.input)) for node in plain.node] == [("a", []), ("b", ["a:0"])]


def test_a_loop_on_a_cluster_is_dumped(tmp_path):
    server = tf.train.Server.create_local_server()
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.multiply(a, 2.0, name="doubled")), [0, 1.0])[1]
    with sessions.DumpingDebugWrapperSession(tf.Session(server.target), str(tmp_path)) as session:
        assert session.run(loop) == 8.0
    server.stop()
    [folder] = tmp_path.glob("run_*")
    dump = DebugDumpDir(str(folder))
    dump.set_python_graph(loop.graph)
    assert dump.get_tensors("while/doubled", 0, "DebugIdentity") == [2.0, 4.0, 8.0]
    assert dump.node_traceback("while/doubled")[-1][0] == __file__
