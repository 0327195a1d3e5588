"""A program under the debugger of a page, without a page: messages in another thread, the program in this one."""
from __future__ import annotations

import subprocess
import textwrap
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.debug.values import described
from penstock.debugger import run as debugger_run
from penstock.debugger.looking import BadRequest
from penstock.debugger.run import PageDebugger
from penstock.session.observers import observing_runs
from support.browser import COMMAND


class Page:
    """What a page does: ``script(page)`` runs in a thread of its own while the program runs in the caller's."""

    def __init__(self, script):
        self.debugger = PageDebugger(__file__)
        self.messages = self.debugger.messages()
        self.errors = []
        self.version = None

        def run():
            try:
                script(self)
            except BaseException as error:
                self.errors.append(error)
            finally:  # the program must not wait forever
                while not self.debugger.ended.is_set():
                    self.ask("state", seen=self.version)
                    self.debugger.stops.breakpoints.clear()
                    try:
                        self.ask("command", command="go")
                    except BadRequest:
                        self.version = None

        self._thread = threading.Thread(target=run)

    def ask(self, name, /, **body):
        return self.messages[name](body)

    def stopped(self):
        """The next stop."""
        while True:
            state = self.ask("state", seen=self.version)
            self.version = state["version"]
            if state["status"] != "running":
                return state

    def go(self, command):
        self.ask("command", command=command)
        return self.stopped()

    def __enter__(self):
        self._observing = observing_runs(self.debugger)
        self._observing.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._observing.__exit__(*error)
        self.debugger.end(0, "")
        self._thread.join()
        self.debugger.stops.close()
        if self.errors and not error[0]:
            raise self.errors[0]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(debugger_run, "PATIENCE", 0.2)


def model():
    x = tf.placeholder(tf.float32, [2], name="x")
    product = tf.multiply(x, 2.0, name="product")
    return x, tf.log(product, name="logarithm")


def test_stop_step_change_and_go_on():
    seen = {}

    def script(page):
        state = page.stopped()
        seen["first"] = state
        page.ask("break", kind="node", where="product")
        state = page.go("go")
        seen["stop"] = state["stop"]
        seen["value"] = page.ask("value", name="product:0")
        page.ask("change", name="product:0", value=[1.0, 1.0])
        seen["next"] = page.go("step")["stop"]
        seen["end"] = page.go("finish")["stop"]
        seen["values"] = page.ask("values")["values"]
        page.ask("break", kind="node", where="product")

    x, y = model()
    with tf.Session() as session, Page(script):
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [0.0, 0.0]
        np.testing.assert_allclose(session.run(y, {x: [1.0, 2.0]}), np.log([2.0, 4.0]), rtol=1e-6)
    assert seen["first"]["run"] == {"number": 1, "fetches": ["logarithm:0"], "feeds": ["x:0"]} and seen["first"]["stop"]["kind"] == "run"
    assert seen["stop"]["node"] == "product" and seen["stop"]["why"] == "node product" and seen["stop"]["file"] == __file__
    assert seen["value"]["rows"] == [["2", "4"]] and seen["next"]["node"] == "logarithm" and seen["end"]["kind"] == "end"
    assert ["logarithm:0", "float32[2]", False] in seen["values"]


def test_a_feed_is_changed_before_its_run():
    def script(page):
        page.stopped()
        page.ask("change", name="x:0", value=0.5)
        page.go("go")

    x, y = model()
    with tf.Session() as session, Page(script):
        assert session.run(y, {x: [3.0, 3.0]}).tolist() == [0.0, 0.0]


def test_the_first_nan_at_step_1000_names_the_op_and_the_line():
    found = []

    def script(page):
        page.stopped()
        page.ask("break", kind="filter", where="has_inf_or_nan")
        found.append(page.go("go"))

    x = tf.placeholder(tf.float32, [], name="x")
    shifted = tf.subtract(x, 1000.0, name="shifted")
    root = tf.sqrt(tf.negative(shifted), name="root")
    total = tf.add(root, 1.0, name="total")
    with tf.Session() as session, Page(script):
        for step in range(1003):
            session.run(total, {x: step})
    [state] = found
    assert state["run"]["number"] == 1002 and state["stop"]["node"] == "root" and "tf.sqrt(tf.negative(shifted)" in state["stop"]["code"]


def test_iterations_of_a_loop_and_lines():
    stops, pictures = [], []

    def script(page):
        state = page.stopped()
        lines = page.ask("source")["lines"]
        line = next(number for number, names in lines.items() if "while/doubled" in names)
        page.ask("break", kind="line", where=f"{__file__}:{line}")
        state = page.go("go")
        while state["status"] == "stopped":
            stops.append((state["stop"]["node"], state["stop"]["frames"]))
            pictures.append(page.ask("graph", inside=True))
            state = page.go("go")

    def body(i, value):
        doubled = tf.multiply(value, 2.0, name="doubled")
        return i + 1, doubled

    result = tf.while_loop(lambda i, value: i < 3, body, [0, 1.0])[1]
    with tf.Session() as session, Page(script):
        assert session.run(result) == 8.0
    iterations = [frames[-1] for node, frames in stops if node == "while/doubled"]
    assert iterations == [["while_body", 0], ["while_body", 1], ["while_body", 2]]
    assert "while/doubled" in {node["name"] for node in pictures[0]["nodes"]}


def test_graph_operation_and_source():
    told = {}

    def script(page):
        page.stopped()
        told.update(graph=page.ask("graph"), operation=page.ask("operation", name="logarithm"), source=page.ask("source"))
        for name, body in (("source", {"file": "/etc/passwd"}), ("operation", {"name": "nothing"}), ("break", {"kind": "node", "where": "nothing"}),
                           ("break", {"kind": "line", "where": f"{__file__}:1"}), ("break", {"kind": "filter"}), ("command", {"command": "jump"}),
                           ("change", {"name": "x:0", "value": [1.0]}), ("change", {"name": "x:0", "value": "spam"}), ("change", {"name": 5}),
                           ("change", {"name": "x:0", "value": 10 ** 400}), ("source", {"file": [1]}), ("operation", {"name": []})):
            with pytest.raises(BadRequest):
                page.ask(name, **body)
        assert "not computed" in page.ask("value", name=[1])["note"]

    x, y = model()
    with tf.Session() as session, Page(script):
        session.run(y, {x: [1.0, 2.0]})
    assert {"product", "logarithm"} <= {node["name"] for node in told["graph"]["nodes"]}
    assert told["operation"]["inputs"] == ["product"] and told["operation"]["code"].endswith('tf.log(product, name="logarithm")')
    assert told["source"]["file"] == __file__ and told["source"]["lines"][told["operation"]["line"]] == ["logarithm"]


def test_an_error_stops_at_its_op():
    stops = []

    def script(page):
        page.stopped()
        stops.append(page.go("finish")["stop"])

    x, y = model()
    checked = tf.check_numerics(y, "it is bad", name="checked")
    with tf.Session() as session, Page(script), pytest.raises(tf.errors.InvalidArgumentError):
        session.run(checked, {x: [0.0, 1.0]})
    assert stops[0]["kind"] == "error" and stops[0]["node"] == "checked" and "it is bad" in stops[0]["error"] and "check_numerics" in stops[0]["code"]


def test_numbers_are_those_without_the_debugger():
    tf.set_random_seed(4)
    w = tf.get_variable("w", [4, 3])
    x = tf.random_normal([8, 4], seed=5)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)

    def losses():
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, train])[0] for _ in range(5)]

    plain = losses()

    def script(page):
        page.stopped()
        page.ask("break", kind="filter", where="has_nan")
        page.go("go")

    with Page(script):
        assert losses() == plain  # watched node by node; the compiler is off in tests, so bits are equal


def test_on_a_cluster():
    stops = []

    def script(page):
        page.stopped()
        page.ask("break", kind="node", where="product")
        stops.append(page.go("go")["stop"])
        page.ask("change", name="product:0", value=1.0)
        page.ask("break", kind="node", where="product")
        stops.append(page.go("finish")["stop"])

    server = tf.train.Server.create_local_server()
    x, y = model()
    with tf.Session(server.target) as session, Page(script):
        assert session.run(y, {x: [3.0, 4.0]}).tolist() == [0.0, 0.0]
    server.stop()
    assert stops[0]["node"] == "product" and stops[0]["changeable"] and stops[1]["kind"] == "end"


def test_a_loop_on_a_cluster():
    """Its iterations, a change in one of them, and the filter that stops where the bad value was made."""
    stops = []

    def script(page):
        page.stopped()
        page.ask("break", kind="node", where="while/doubled")
        for _ in range(2):
            stops.append(page.go("go")["stop"])
        page.ask("change", name="while/doubled:0", value="inf")
        page.ask("break", kind="node", where="while/doubled")
        page.ask("break", kind="filter", where="has_inf_or_nan")
        stops.append(page.go("go")["stop"])
        page.ask("change", name="while/halved:0", value=5.0)

    def body(i, value):
        doubled = tf.multiply(value, 2.0, name="doubled")
        return i + 1, tf.multiply(doubled, 0.5, name="halved")

    server = tf.train.Server.create_local_server()
    result = tf.while_loop(lambda i, value: i < 3, body, [0, 1.0])[1]
    with tf.Session(server.target) as session, Page(script):
        assert session.run(result) == 5.0
    server.stop()
    assert [(stop["node"], stop["frames"], stop["changeable"]) for stop in stops] == [
        ("while/doubled", [["while_body", 0]], True), ("while/doubled", [["while_body", 1]], True), ("while/halved", [["while_body", 1]], True)]
    assert "tf.multiply(doubled, 0.5" in stops[2]["code"]


@pytest.mark.parametrize("value, told", [
    (np.float32([1.0, np.nan, -np.inf, 0.0]), {"counts": {"nan": 1, "+inf": 0, "-inf": 1, "zero": 1, "negative": 0, "positive": 1}, "broken": 2}),
    (np.int32(5), {"rows": [["5"]], "broken": 0, "images": []}), (np.array([b"text", b"\xff"], object), {"rows": [["text", "\ufffd"]]}),
    (np.zeros([0, 3], np.float32), {"broken": 0, "range": None}), (np.array([True, False]), {"rows": [["True", "False"]]})])
def test_values_are_described(value, told):
    described_value = described(value)
    assert {key: described_value[key] for key in told} == told


@pytest.mark.parametrize("shape, count", [([12, 12], 1), ([12, 12, 3], 1), ([2, 12, 12, 1], 2), ([12, 12, 2], 0), ([5, 12, 12], 5), ([4, 4], 0),
                                          ([300, 300], 0), ([5, 12, 12, 7], 0), ([12], 0)])
def test_what_looks_like_an_image(shape, count):
    assert len(described(np.random.RandomState(0).rand(*shape))["images"]) == count


@pytest.mark.parametrize("program, code, words", [("raise ValueError('spam')", 1, "ValueError: spam"), ("import sys; sys.exit(3)", 3, ""),
                                                  ("print('well')", 0, "")])
def test_a_program_that_ends_leaves_no_process(tmp_path, program, code, words):
    """Without a page that is open nothing waits for one."""
    (tmp_path / "prog.py").write_text(textwrap.dedent(program))
    ended = subprocess.run([*COMMAND, "debug", "--browser", "--no-open", str(tmp_path / "prog.py")], capture_output=True, text=True, timeout=120)
    assert ended.returncode == code and words in ended.stderr and "The debugger is at http://127.0.0.1:" in ended.stdout


def test_a_program_that_is_not_there():
    ended = subprocess.run([*COMMAND, "debug", "--browser", "--no-open", "nowhere.py"], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2 and "can't open 'nowhere.py'" in ended.stderr
