"""Exported models with threads of their own: the same bits with and without them, from run to run, and as often as they are started."""
from __future__ import annotations

import platform
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.export import model
from penstock.export.memory import ExportedMemory
from support.exported import Loaded, needs_compiler

pytestmark = [pytest.mark.process, needs_compiler, pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 CPU")]


def network():
    """Layers that are large enough to be cut into parts."""
    x = tf.placeholder(tf.float32, [1, 40, 40, 16], name="x")
    layer = tf.layers.conv2d(x, 32, 3, padding="same", activation=tf.nn.relu6)
    layer = tf.nn.relu6(tf.nn.depthwise_conv2d(layer, tf.get_variable("depthwise", [3, 3, 32, 1]), [1, 1, 1, 1], "SAME"))
    return x, tf.layers.dense(tf.reshape(tf.layers.conv2d(layer, 64, 1), [1, -1]), 70)


@pytest.fixture
def made(tmp_path):
    x, y = network()
    values = np.random.RandomState(0).randn(1, 40, 40, 16).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        exported = tf.export({"y": y}, {"x": x}, tmp_path, session=session, kind="object", name="net", threads=3)
        return exported, values, session.run(y, {x: values})


def thread_count():
    """The threads of this process, those without Python among them where the system tells."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


def test_threads_change_no_bit(made):
    exported, values, expected = made
    loaded = Loaded(exported)
    (alone,) = loaded.run("run", [values], [(1, 70)])
    np.testing.assert_allclose(alone, expected, rtol=1e-3, atol=1e-4)
    before = thread_count()
    for _ in range(3):
        assert loaded.status("start", []) == 0
        assert loaded.status("start", []) == 0  # once more does nothing
        for _ in range(20):
            (together,) = loaded.run("run", [values], [(1, 70)])
            np.testing.assert_array_equal(together, alone)
        loaded.status("stop", [])
        loaded.status("stop", [])
    assert thread_count() <= before, "threads of the model are left"
    np.testing.assert_array_equal(loaded.run("run", [values], [(1, 70)])[0], alone)


def test_threads_sleep_between_runs_and_wake_for_the_next(made, tmp_path):
    exported, _, _ = made
    (tmp_path / "main.c").write_text("""
#include "net.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static net model;
static float x[40 * 40 * 16], y[70], first[70];
int main(void) {
    for (int i = 0; i < 40 * 40 * 16; i++) x[i] = (float)(i % 13) / 13;
    if (net_init(&model) || net_run(&model, x, first) || net_start(&model)) return 2;
    for (int i = 0; i < 5; i++) {
        usleep(20000);  /* long enough for them to go to sleep */
        if (net_run(&model, x, y) || memcmp(y, first, sizeof y)) return 3;
    }
    net_stop(&model);
    puts("the same");
    return 0;
}
""")
    program = tmp_path / "main"
    subprocess.run(["gcc", "-std=c11", "-O1", "-Wall", "-Werror", "-D_DEFAULT_SOURCE", "-o", program, tmp_path / "main.c", exported.files["object"],
                    "-lm", "-lpthread"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "the same\n")


def test_stop_of_a_model_that_was_never_initialised_does_nothing(made, tmp_path):
    """Its memory may hold anything: here, what looks like threads that were started."""
    exported, _, _ = made
    (tmp_path / "main.c").write_text("""
#include "net.h"
#include <stdio.h>
#include <string.h>
static net model;
int main(void) {
    memset(&model, 1, sizeof model);
    net_stop(&model);
    if (net_start(&model) == 0) return 2;
    net_stop(&model);
    puts("nothing");
    return 0;
}
""")
    program = tmp_path / "main"
    subprocess.run(["gcc", "-std=c11", "-O1", "-Wall", "-Werror", "-o", program, tmp_path / "main.c", exported.files["object"], "-lm", "-lpthread"],
                   check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "nothing\n")


@pytest.mark.parametrize(("target", "threads", "words"), [("wasm32", 2, "models for wasm32 run in the thread that calls them"),
                                                          ("armv7-linux", 2, "models for armv7-linux run in the thread"),
                                                          ("host", 0, "threads=0: it can be 1 to 64")])
def test_what_cannot_have_threads_says_so(tmp_path, target, threads, words):
    x = tf.placeholder(tf.float32, [1, 4])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.export(x * 2, x, tmp_path, session=session, kind="object", target=target, threads=threads)


def test_weights_are_cut_into_panels_before_any_step(tmp_path, monkeypatch):
    """Also where the calls that do so are alike, and would be shared by threads."""
    tables: list[Any] = []
    monkeypatch.setattr(model, "ExportedMemory", lambda state, every, *rest: (tables.extend(every), ExportedMemory(state, every, *rest))[1])
    x = layer = tf.placeholder(tf.float32, [8, 64], name="x")
    for _ in range(6):
        layer = tf.nn.relu(tf.layers.dense(layer, 64))
    values = np.random.RandomState(0).randn(8, 64).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = tf.export({"y": layer}, {"x": x}, tmp_path, session=session, kind="object", name="net", threads=2)
        expected = session.run(layer, {x: values})
    assert [call.label for table in tables for call in table.calls] == ["matmul"] * 6
    np.testing.assert_allclose(Loaded(made).run("run", [values], [(8, 64)])[0], expected, rtol=1e-5, atol=1e-6)
