"""First steps and peak memory. One process measures one thing in one framework and prints it as JSON, as core.py does.

Usage: python startup.py FRAMEWORK MEASUREMENT     (FRAMEWORK: penstock or tensorflow)

``first`` is what a user waits for who starts a program for the first time: no kernel is on disk, and compiling may go on in the background.
``delay`` is the same as a multiple of the first step by NumPy alone. ``cold`` is the first step that is compiled, with nothing on disk; ``warm`` the
same in a later process. Building the graph counts in none of them. ``memory`` is the peak of steps whose kernels are on disk,
``default_memory`` that of a user's first steps, compiled with nothing on disk.
"""
from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time

import core

CASES = {"mlp": "mlp", "lstm": "lstm", "transformer": "transformer", "resnet": "resnet_4", "googlenet": "googlenet_8", "alexnet": "alexnet_16"}
TURNS = 3


def first_step(framework, case):
    """Seconds of the first step of a new session, which has initialized its variables."""
    from models import tf_models

    step = tf_models.make(CASES[case], framework)
    start = time.perf_counter()
    step.run()
    return time.perf_counter() - start


def _with_cache(mode, times, kind="step"):
    """A measurement in a process whose kernels are compiled in a mode, and kept in a folder that is empty before the first of some runs."""
    def measure(framework, case):
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "PENSTOCK_CACHE_DIR": folder, "PENSTOCK_COMPILE": mode}
            for _ in range(times):
                command = [sys.executable, __file__, framework, f"{case}_{kind}"]
                process = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        return float(core.json.loads(process.stdout.splitlines()[-1])["seconds"])
    return measure


def delay(framework, case):
    """The time until the first result, over that of the first step by NumPy alone; the fastest of some turns each."""
    fastest = {}
    for _ in range(TURNS):
        for mode in ("background", "off"):
            fastest[mode] = min(_with_cache(mode, 1)(framework, case), fastest.get(mode, float("inf")))
    return fastest["background"] / fastest["off"]


def peak(framework, case):
    """Bytes by which the process grows, at most, through training steps: the model's own numbers included, the framework itself not.

    A small step comes first: it brings in what a framework loads late (here: operations, LLVM). The steps go on until code that is made meanwhile
    runs them.
    """
    from models import tf_models

    tf = tf_models.load(framework)
    mode = tf.config.get_compiler() if framework == "penstock" else ""
    if mode:
        dir(tf.raw_ops)
    if mode == "background":
        tf.config.set_compiler("eager")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [8])
        total = tf.reduce_sum(tf.tanh(x * 2.0))
        for _ in range(3):
            session.run(total, {x: [0.5] * 8})
    if mode:
        tf.config.set_compiler(mode)
    ctypes.CDLL(None).malloc_trim(0)  # what is free now would hide some of what comes
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the highest mark so far is forgotten
    before = _memory("VmRSS")
    step = tf_models.make(CASES[case], framework)
    for _ in range(3):
        step.run()
    if mode == "background":
        from penstock.native.machine.background import background
        background.wait(60.0)
        for _ in range(3):
            step.run()
    return _memory("VmHWM") - before


def _memory(field):
    """Bytes: what the process has now (VmRSS), or had at most (VmHWM)."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024


def plan(framework):
    """Seconds of the first run of a graph of 10,000 operations: a third of them constants, the others small sums and products."""
    tf = core.load(framework)
    with tf.Graph().as_default(), tf.Session() as session:
        value = x = tf.placeholder(tf.float32, [4])
        for index in range(core.GRAPH_OPS // 3):
            value = (value + float(index % 7)) * x
        start = time.perf_counter()
        session.run(value, {x: [0.5, 0.25, 0.125, 0.0]})
        return time.perf_counter() - start


def _of(measure, case):
    def named(framework):
        return measure(framework, case)
    return named


KINDS = {"step": first_step, "first": _with_cache("background", 1), "cold": _with_cache("eager", 1), "warm": _with_cache("eager", 2),
         "delay": delay, "peak": peak, "memory": _with_cache("eager", 2, "peak"), "default_memory": _with_cache("background", 1, "peak")}
core.MEASUREMENTS = {f"{case}_{kind}": _of(measure, case) for case in CASES for kind, measure in KINDS.items()} | {"plan": plan}

if __name__ == "__main__":
    core.importlib.import_module(sys.argv[1])
    core.main(*sys.argv[1:])
