"""Stops inside of runs, on the command line; a whole program in the debugger; the screen."""
from __future__ import annotations

import os
import re
import textwrap

import numpy as np
import pytest

import penstock as tf
from penstock.debug.tfdbg import sessions
from penstock.debug.tfdbg.commands import CommandLine
from penstock.debug.tfdbg.elements import element_rows
from penstock.debug.tfdbg.every_run import EveryRun
from penstock.debug.tfdbg.screen import Screen
from penstock.debug.tfdbg.stops import Breakpoint, Stops, converted
from penstock.debug.tfdbg.tensor_text import describe
from penstock.session.observers import observing_runs
from support.terminal import Terminal


@pytest.fixture
def typed(monkeypatch):
    """Commands that a person will type."""
    commands: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: commands.pop(0))
    return commands


def model():
    x = tf.placeholder(tf.float32, [2], name="x")
    product = tf.multiply(x, 2.0, name="product")
    return x, tf.log(product, name="logarithm")


def test_a_breakpoint_shows_values_and_changes_them(typed, capsys):
    x, y = model()
    typed += ["break product", "run", "pt x:0", "set [7.38905609893065, 1.0]", "continue", "run", "exit"]
    with sessions.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline") as session:
        np.testing.assert_allclose(session.run(y, {x: [1.0, 2.0]}), [2.0, 0.0], atol=1e-6)
    told = capsys.readouterr().out
    assert "stop: node product: product" in told and "product = Mul(" in told and "array([2., 4.], dtype=float32)" in told
    assert "array([1., 2.], dtype=float32)" in told and "test_breakpoints.py" in told


def test_step_by_step_through_a_loop(typed, capsys):
    total = tf.while_loop(lambda i: i < 2, lambda i: tf.add(i, 1, name="next"), [0], name="loop")
    typed += ["break loop/next", "run", "continue", "step", "continue", "run", "exit"]
    with sessions.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline") as session:
        assert session.run(total) == 2
    told = capsys.readouterr().out
    assert "in while_body, iteration 0" in told and "in while_body, iteration 1" in told and "stop: step: " in told


def test_the_first_bad_value_stops_the_run_in_which_it_comes(typed, capsys):
    x, y = model()
    typed += ["break has_inf_or_nan", "run", "run", "run", "continue", "run", "exit"]
    with sessions.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline") as session:
        for value in (1.0, 2.0, 0.0):
            session.run(y, {x: [value, 1.0]})
    told = capsys.readouterr().out
    assert told.count("stop: filter has_inf_or_nan: logarithm") == 1 and "-inf" in told


def test_a_line_of_the_program(typed, capsys):
    x, y = model()
    file, line = y.op.traceback[-1][:2]
    typed += [f"break {os.path.basename(file)}:{line}", "break", "break nothing", "run", "continue", "exit"]
    with pytest.raises(SystemExit), sessions.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline") as session:
        session.run(y, {x: [1.0, 2.0]})
        session.run(y, {x: [1.0, 2.0]})
    told = capsys.readouterr().out
    assert "stop: line" in told and "ERROR: nothing is neither a node, nor a line" in told


def test_who_leaves_at_a_stop_ends_the_program(typed, capsys):
    x, y = model()
    typed += ["break product", "run", "exit"]
    with pytest.raises(SystemExit), sessions.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline") as session:
        session.run(y, {x: [1.0, 2.0]})
    assert "user exited" in capsys.readouterr().err


@pytest.mark.parametrize("command, answer", [("set spam", "malformed"), ("set [1.0]", "does not fit"), ("set -o 3 1", "there is no value"),
                                             ("pt nothing", "has no value yet")])
def test_what_is_not_possible_at_a_stop(typed, capsys, command, answer):
    x, y = model()
    typed += ["break product", "run", command, "continue", "run", "exit"]
    with sessions.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline") as session:
        session.run(y, {x: [1.0, 2.0]})
    assert answer in capsys.readouterr().out


def test_a_variable_gets_another_value():
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=False)
    update = tf.assign_add(v, [1.0, 1.0], name="update")
    stops = Stops({}, lambda stop: stops.change(0, np.float32([5.0, 6.0])))
    stops.toggle(Breakpoint("node", "update"))
    options = tf.RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(node_name="*", output_slot=-1, debug_ops=["DebugIdentity"], debug_urls=[stops.url])
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(update, options=options, run_metadata=tf.RunMetadata())
        assert session.run(v).tolist() == [5.0, 6.0]
    stops.close()


def test_other_values():
    assert converted(3, np.zeros([2], np.float32)).tolist() == [3.0, 3.0]
    assert converted([[1], [2]], np.zeros([2, 1], np.int64)).dtype == np.int64
    with pytest.raises(ValueError, match="does not fit"):
        converted([1, 2, 3], np.zeros([2]))


def test_every_run_of_a_program(typed, capsys):
    x, y = model()
    typed += ["run", "run -n", "run -n", "exit"]
    with tf.Session() as session, observing_runs(EveryRun("readline")):
        assert session.run(y, {x: [0.5, 0.5]}).tolist() == [0.0, 0.0]
        session.run(y, {x: [0.5, 0.5]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.check_numerics(y, "bad"), {x: [0.0, 0.0]})
    told = capsys.readouterr().out
    assert "run-start: run #1" in told and "run-end: run #1" in told and "run-start: run #3" in told


PROGRAM = """
    import tensorflow as tf
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.log(x, name="y")
    with tf.Session() as sess:
        for value in (3.0, 1.0):
            print("GOT", sess.run(y, {x: value}))
"""


def debugged_program(tmp_path, **environment):
    (tmp_path / "prog.py").write_text(textwrap.dedent(PROGRAM))
    return Terminal(["-m", "penstock", "debug", str(tmp_path / "prog.py")], tmp_path, **environment)


def test_a_program_on_a_terminal_without_a_screen(tmp_path):
    terminal = debugged_program(tmp_path, TERM="dumb")
    try:
        terminal.wait_for("tfdbg> ")
        terminal.type("break y\nrun\n")
        terminal.wait_for("stop: node y: y")
        terminal.type("continue\n")
        terminal.wait_for("run-end: run #1")
        terminal.type("run -n\n")
        terminal.wait_for("GOT 0.0")
        code = terminal.wait_for_end()
    finally:
        terminal.close()
    assert code == 0


def test_a_program_on_a_screen(tmp_path):
    terminal = debugged_program(tmp_path, TERM="xterm", LINES="30", COLUMNS="100")
    try:
        terminal.wait_for("run-start: run #1")
        terminal.wait_for("tfdbg> ")
        terminal.type("ru\tn\b\n")  # completed, and corrected: run
        terminal.wait_for("run-end: run #1")
        terminal.type("pt y:0\n")
        terminal.wait_for("1.0986")
        terminal.type("run\n")
        terminal.wait_for("run-end: run #2")
        terminal.type("\x04")
        terminal.wait_for("user exited from debugger CLI")
        code = terminal.wait_for_end()
    finally:
        terminal.close()
    assert code == 1


# --- the screen, without a terminal ------------------------------------------------------------------------------------

@pytest.fixture
def screen():
    line = CommandLine()
    line.add("count", "c", "Counts.", lambda parsed: [f"tensor_{number}:0 and more" for number in range(20)], lambda: ["tensor_1", "tensor_2"])
    line.add("node_info", "ni", "A node.", lambda parsed: ["told"], lambda: ["hidden/MatMul"]).add_argument("name")
    return Screen(line, "run-end", rows=10, columns=40)


def type_in(screen, text):
    for key in text:
        screen.key({"\n": "ENTER", "\t": "TAB"}.get(key, key))


def test_what_stands_on_the_screen(screen):
    screen.run("count")
    rows = screen.visible()
    assert len(rows) == 10 and rows[0].startswith("--- run-end ---") and rows[1] == "tfdbg> count" and rows[2] == "tensor_0:0 and more"
    assert rows[-2].startswith("--- 1-7 of 21") and rows[-1] == "tfdbg> " and all(len(row) <= 40 for row in rows)
    screen.key("NPAGE")
    assert screen.visible()[1] == "tensor_6:0 and more"
    screen.key("END")
    assert screen.visible()[7] == "tensor_19:0 and more"
    screen.key("WHEEL_UP")
    assert screen.visible()[7] == "tensor_16:0 and more"
    screen.key("HOME")
    assert screen.top == 0


def test_typing_completing_and_the_history(screen):
    type_in(screen, "cou\t ten\t")
    assert screen.typed == "count  tensor_" and "tensor_1  tensor_2" in screen.visible()[-2]
    type_in(screen, "1")
    screen.key("BACKSPACE")
    screen.typed = ""
    type_in(screen, "ni hid\t\n")
    assert screen.lines == ["tfdbg> ni hidden/MatMul ", "told"] and screen.typed == ""
    screen.key("UP")
    assert screen.typed == "ni hidden/MatMul "
    screen.key("DOWN")
    assert screen.typed == ""


def test_the_history_is_there_behind_a_long_answer(screen):
    """Up and Down are the history's, as in TensorFlow: what is long is scrolled by other keys."""
    type_in(screen, "ni hidden/MatMul\ncount\n")
    assert len(screen.lines) > screen.height
    screen.key("UP")
    assert screen.typed == "count" and screen.top == 0
    screen.key("UP")
    assert screen.typed == "ni hidden/MatMul"


def test_a_line_is_edited(screen):
    type_in(screen, "cont")
    for key in ("LEFT", "LEFT", "u", "RIGHT", "RIGHT", "RIGHT", "s"):
        screen.key(key)
    assert screen.typed == "counts" and screen.cursor == 6
    for key in ("BACKSPACE", "\x01", "DELETE", "k", "\x05", "s"):
        screen.key(key)
    assert screen.typed == "kounts"
    for key in ("LEFT", "LEFT", "\x0b"):
        screen.key(key)
    assert screen.typed == "koun"
    for key in ("LEFT", "\x15"):
        screen.key(key)
    assert screen.typed == "n" and screen.cursor == 0
    screen.key("DELETE")
    screen.key("BACKSPACE")
    assert screen.typed == ""


def test_what_is_searched_for_is_marked(screen):
    type_in(screen, "count\n/tensor_1[89]\n")
    assert screen.visible()[1].startswith("tensor_18:0") and screen.visible()[-2].startswith("--- 2 line(s) match")
    assert screen.matches() == [(1, 0, "tensor_18"), (2, 0, "tensor_19")]
    type_in(screen, "/\n")
    assert screen.visible()[1].startswith("tensor_19:0")
    type_in(screen, "/\n")  # and around
    assert screen.visible()[1].startswith("tensor_18:0")
    type_in(screen, "/(\n")
    assert "is not a regular expression" in screen.visible()[-2]
    type_in(screen, "/nowhere\n")
    assert screen.matches() == [] and screen.visible()[-2].startswith("--- 0 line(s)")
    screen.run("count")
    assert screen.matches() == []
    type_in(screen, "/\n")
    assert screen.visible()[-2].startswith("Nothing was searched for")


@pytest.mark.parametrize("shape, everything, place", [((4, 3), False, (2, 1)), ((60, 40, 3), False, (58, 1, 2)), ((60, 40, 3), True, (30, 20, 1)),
                                                      ((3000,), True, (1234,)), ((3000,), False, (2998,)), ((2, 300, 300), False, (1, 298, 0))])
def test_where_an_element_stands(shape, everything, place):
    value = np.arange(np.prod(shape)).reshape(shape)
    lines = describe(value, "x:0", everything=everything)
    assert re.search(rf"\b{value[place]}\b", lines[element_rows(lines)[place]])


def test_going_to_an_element(screen):
    screen.lines = ["tfdbg> pt x:0", *describe(np.arange(100.0).reshape(50, 2), "x:0")]
    type_in(screen, "@[30, 1]\n")
    assert screen.visible()[1].strip() == "[60., 61.]," and "[30, 1]" in screen.visible()[-2]
    type_in(screen, "@7\n")
    assert screen.visible()[1].strip() == "[14., 15.],"
    for wrong in ("@[50, 0]\n", "@[0, 0, 0]\n"):
        type_in(screen, wrong)
        assert "is not shown" in screen.visible()[-2] and screen.visible()[1].strip() == "[14., 15.],"
    type_in(screen, "@here\n")
    assert "is not a place in a tensor" in screen.visible()[-2]


def test_a_click_types_a_command(screen):
    screen.run("count")
    screen.click(2, 3)
    assert screen.typed == "pt tensor_0:0"
    screen.lines = ["see hidden/MatMul there"]
    screen.click(1, 6)
    assert screen.typed == "ni -a -d -t hidden/MatMul"
    screen.typed = ""
    screen.click(5, 5)
    assert screen.typed == ""
