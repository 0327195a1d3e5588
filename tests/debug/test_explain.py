"""``Explainer`` and ``penstock explain``: who ran, how often, and why in NumPy."""
from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.debug.explain import Explainer, describe
from penstock.execute.report import KernelReport, PlanReport, watch
from penstock.native.config import config
from penstock.ops.flow import primitives

pytestmark = pytest.mark.process

PROGRAM = """
import sys
import tensorflow as tf
x = tf.placeholder(tf.float32, [3, 3])
with tf.Session() as session:
    session.run(tf.matmul(x, x, name="product"), {x: [[1.0] * 3] * 3})
print("came to its end with", sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def numpy_only(monkeypatch):
    monkeypatch.setattr(config, "mode", "off")


def test_explainer_counts_runs_and_work():
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 5])
        y = tf.matmul(x, x, transpose_b=True, name="product")
        for _ in range(3):
            session.run(y, {x: np.ones((4, 5))})
    (report,) = explainer.reports()
    assert (report.title, report.runs) == ("product", 3)
    (kernel,) = report.kernels
    assert (kernel.nodes, kernel.flops, kernel.bytes) == (("product",), 2 * 4 * 4 * 5, 4 * (20 + 20 + 16))
    assert report.fallbacks == [("product", "MatMul", "the compiler is off (PENSTOCK_COMPILE=off)")]
    assert kernel.seconds > 0


def test_nothing_is_watched_afterwards():
    with Explainer() as explainer:
        assert watch.on
    assert not watch.on
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.constant(1.0) + 1.0)
    assert explainer.text() == "no step was run"


def test_work_of_a_convolution():
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 4, 4, 2])
        w = tf.placeholder(tf.float32, [3, 3, 2, 5])
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        session.run(tf.gradients(y, [x, w]), {x: np.ones((1, 4, 4, 2)), w: np.ones((3, 3, 2, 5))})
    (report,) = explainer.reports()
    work = 2 * (4 * 4 * 5) * (3 * 3 * 2)
    assert [kernel.flops for kernel in report.kernels if "Backprop" in kernel.name] == [work, work]


def test_text():
    kernels = [KernelReport("loop", ("a", "b"), 3e-3, 6e6, 3e6), KernelReport("MatMul", ("c",), 1e-3)]
    text = describe(PlanReport(kernels, 2 << 20, [("c", "MatMul", "of its types")], "loss", 7), kernels=1)
    assert text.splitlines() == [
        "loss: 7 runs, 4.00 ms in 2 kernels, arena 2.0 MB",
        "    share      time  GFLOP/s    GB/s  kernel",
        "   75.0 %   3.00 ms      2.0     1.0  loop: a, b",
        "   25.0 %   1.00 ms                   1 more",
        "  NumPy ran 1 node:",
        "    of its types: MatMul (c)"]


def test_a_step_that_ran_once_and_one_whose_first_run_was_without_native_code():
    text = describe(PlanReport([KernelReport("loop", ("a",), 2e-3, 1e3, 1e3)], 0, [], "loss", 1, first=0.5))
    assert text.splitlines()[0] == "loss: 1 run, 2.00 ms in 1 kernel; the first run, without native code, took 500 ms"
    assert text.splitlines()[2] == "  100.0 %   2.00 ms                   loop: a"  # rates of nearly nothing are not told


def test_the_first_run_belongs_to_those_that_follow(monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4])
        y = tf.add(tf.exp(x) * x, 1.0, name="y")
        for _ in range(3):
            session.run(y, {x: np.ones(4)})
        session.run(tf.negative(x, name="once"), {x: np.ones(4)})
    steps = {report.title: report for report in explainer.reports()}
    assert set(steps) == {"y", "once"} and steps["y"].runs == 2 and steps["y"].first > 0 and not steps["once"].first


def test_what_a_product_has_taken_over(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32, [4, 4]), tf.placeholder(tf.float32, [4, 4])
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w, name="product"), tf.ones([4]), name="bias"), name="floor")
        session.run(y, {x: np.ones((4, 4)), w: np.ones((4, 4))})
    (report,) = explainer.reports()
    assert [(kernel.name, kernel.nodes) for kernel in report.kernels] == [("matmul", ("product", "bias", "floor"))] and report.fallbacks == []


def test_it_says_when_and_why_native_code_took_over(monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [300, 300])
        y = tf.tanh(tf.matmul(x, x), name="end")
        for _ in range(2):
            session.run(y, {x: np.zeros((300, 300))})
    (switch,) = explainer.reports()[0].switches
    assert re.fullmatch(r"end: native from run 2 on: NumPy would take about .* ms, and its share .* were used up", switch)
    assert switch in explainer.text()


def test_numpy_in_the_place_of_native_code_is_a_kernel(monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = tf.tanh(tf.exp(x), name="end")
        for _ in range(3):
            session.run(y, {x: [0.0, 0.0]})
    (report,) = explainer.reports()
    (kernel,) = report.kernels
    assert kernel.name == "NumPy" and re.fullmatch(r"2 nodes up to end \(so little work .* for 2 of 2 runs\)", kernel.nodes[0])
    assert kernel.seconds > 0 and report.fallbacks == []


def test_a_step_made_of_primitives_of_control_flow():
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [8])
        no, yes = primitives.Switch(x, tf.constant(True), name="fork")
        y, _ = primitives.Merge([tf.negative(no, name="left"), tf.exp(yes, name="right")])
        for _ in range(3):
            session.run(y, {x: np.zeros(8)})
    (report,) = explainer.reports()
    names = {kernel.name for kernel in report.kernels}
    assert report.runs == 3 and names >= {"Switch", "Exp"} and "Neg" not in names
    assert ("right", "Exp", "its step has primitives of control flow (Switch, Merge, Enter, ...)") in report.fallbacks


@pytest.mark.parametrize(("size", "native"), [(100, False), (100_000, True), (None, True)])
def test_one_node_is_native_unless_the_graph_tells_that_it_has_little_to_do(monkeypatch, size, native):
    monkeypatch.setattr(config, "mode", "eager")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [size])
        session.run(tf.tanh(x, name="alone"), {x: np.zeros(size or 7)})
    (report,) = explainer.reports()
    assert [kernel.nodes for kernel in report.kernels] == [("alone",)]
    reason = "it stands alone and has little to do: a call of native code would not pay"
    assert report.fallbacks == ([] if native else [("alone", "Tanh", reason)])


def test_what_an_optimizer_does_to_rows_has_a_name(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(np.ones((9, 4), np.float32))
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(tf.square(tf.gather(table, [1, 3, 3]))))
        session.run(tf.global_variables_initializer())
        session.run(train)
    names = {kernel.name for report in explainer.reports() for kernel in report.kernels}
    assert "rows momentum" in names and not [name for name in names if "penstock" in name]


class Inside:
    """Stands for several nodes, and tells of them."""

    def describe(self):
        return PlanReport([KernelReport("nest", ("a", "b"), 1.0)], 64, [("c", "Unique", "of its shape")])


def test_what_a_region_tells():
    with Explainer() as explainer, tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        session.run(tf.exp(x), {x: [0.0, 0.0]})
        explainer._plans[0]._watches[0]._inside = Inside()
    (report,) = explainer.reports()
    assert (report.kernels[0].name, report.arena_bytes, report.fallbacks) == ("nest", 64, [("c", "Unique", "of its shape")])


def test_command(tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    env = {**os.environ, "PENSTOCK_COMPILE": "off", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-m", "penstock", "explain", "--kernels", "3", "prog.py", "--own", "flag"], cwd=tmp_path, env=env,
                          capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "came to its end with ['--own', 'flag']\n"
    assert "product: 1 run" in done.stderr and "MatMul: product" in done.stderr
