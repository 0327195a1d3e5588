"""When native code is there: at once, later, never."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
import penstock.ops
from penstock.graph import dtypes as dt
from penstock.native.config import config
from penstock.native.machine import defects, stacks
from penstock.native.machine.background import Background
from penstock.native.machine.team import team
from support.fused import Native, Sketch
from support.plans import regions_of

SOURCE = Path(penstock.__path__[0]).parent


@pytest.fixture(name="jobs")
def _jobs():
    jobs = Background()
    yield jobs
    jobs.close()


def test_jobs_are_done_in_order_on_another_thread(jobs):
    done: list[tuple[int, bool]] = []
    for index in range(5):
        jobs.submit(lambda index=index: done.append((index, threading.current_thread() is threading.main_thread())))
    assert jobs.wait(60)
    assert done == [(index, False) for index in range(5)]


def test_a_bug_costs_speed_only(jobs, caplog):
    done: list[int] = []
    jobs.submit(lambda: 1 // 0)
    jobs.submit(lambda: done.append(1))
    assert jobs.wait(60)
    assert done == [1]
    assert "ZeroDivisionError" in caplog.text
    defects.reported.clear()


def test_nothing_starts_after_the_end(jobs):
    jobs.close()
    jobs.submit(lambda: pytest.fail("it was closed"))
    assert jobs.wait(1)


def test_many_threads_submit(jobs):
    done: list[int] = []
    threads = [threading.Thread(target=lambda: [jobs.submit(lambda: done.append(1)) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert jobs.wait(60)
    assert len(done) == 400


def test_threads_share_a_kernel():
    """Each step has an arena of its own."""
    x = np.linspace(-1, 1, 300_000, dtype=np.float32)
    run = Native(Sketch((dt.float32,), (), (), (("sum", 0),), frozenset([0])), [x], x.shape)
    wrong: list[int] = []

    def work(index: int) -> None:
        for _ in range(10):
            mine = x + np.float32(index)
            if abs(float(run([mine])[0]) - float(mine.sum(dtype=np.float64))) > 0.1:
                wrong.append(index)
    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


PROGRAM = """
import os, sys
import numpy as np
import penstock as tf
from penstock.native.machine.background import background
from support.fused import native_op
x = np.ones(10, np.float32)
for name in ("Tanh", "Erf", "Sin", "Softplus", "Selu"):
    background.submit(lambda name=name: native_op(name, x))
if sys.argv[1] == "fork":
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    background.submit(lambda: native_op("Relu", x))
    assert background.wait(60)
    os._exit(0)
"""


@pytest.mark.parametrize("how", ["exit", "fork"])
def test_programs_end_well(how, tmp_path):
    """At the end of a program, and of a forked one, while a kernel is being compiled."""
    path = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[2])])
    env = {**os.environ, "PYTHONPATH": path, "PENSTOCK_CACHE_DIR": str(tmp_path), "PENSTOCK_COMPILE": "background"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, how], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


FORKED = """
import os, sys
import numpy as np
import penstock as tf
from penstock.native.machine.team import team
x = tf.placeholder(tf.float32, [None])
y, ones = tf.reduce_sum(tf.exp(x)), np.ones(1 << 20, np.float32)
with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2)) as session:
    before, board = session.run(y, {x: ones}), team.board
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert team.board == board, "tables write on a board that is no more"
    assert session.run(y, {x: ones}) == before
    os._exit(0)
"""
LITTLE_MEMORY = """
import resource
import numpy as np
import penstock as tf
x, turns = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
slope = tf.gradients(tf.while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, tf.sin(y)), (0, x))[1], x)[0]
table = tf.reduce_sum(tf.matmul(tf.exp(x)[:, None], x[None, :]))
few, many = np.zeros(3, np.float32), np.zeros(100_000, np.float32)
with tf.Session() as session:
    for fetch, size, count in ((slope, 100_000, 2000), (table, 20_000, 0)):
        session.run(fetch, {x: many[:size] if count else few, turns: 1})
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.getrlimit(resource.RLIMIT_AS)[1]))
        try:
            session.run(fetch, {x: many[:size], turns: count})
        except tf.errors.ResourceExhaustedError as error:
            print(error.message.splitlines()[0].partition(":")[0])
        session.run(fetch, {x: few, turns: 1})
"""


@pytest.fixture
def small_stacks():
    """Threads that start now have stacks of so many bytes."""
    usual = threading.stack_size(256 << 10)
    yield 256 << 10
    threading.stack_size(usual)


def run_program(text, cache):
    """What a program that compiles eagerly says."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_CACHE_DIR": str(cache), "PENSTOCK_COMPILE": "eager"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_forked_process_runs_what_its_parent_has_compiled(tmp_path):
    run_program(FORKED, tmp_path)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory cannot be limited here")
def test_too_little_memory_is_an_error(tmp_path):
    """For a list that a loop fills, and for the arena."""
    assert run_program(LITTLE_MEMORY, tmp_path) == "out of memory\n" * 2


def test_the_compilers_own_threads_have_large_stacks(small_stacks):
    sizes = []

    class Noted(threading.Thread):
        def start(self):
            sizes.append(threading.stack_size())
            super().start()

    thread = Noted(target=lambda: None)
    stacks.start(thread)
    thread.join()
    assert sizes == [stacks.ENOUGH] and threading.stack_size() == small_stacks


@pytest.mark.parametrize("mode", ["eager", "background"])
def test_steps_need_no_further_threads(mode, monkeypatch):
    """A limit of threads, or the end of the program, costs speed alone."""
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(config, "mode", mode)
    monkeypatch.setattr(team, "_threads", set())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(tf.exp(x) * 2.0)
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=4)) as session:
        for _ in range(30):  # more than NumPy's share
            assert session.run(y, {x: np.zeros(1 << 17)}) == 1 << 18
    assert not team._threads


def test_numpy_runs_what_threads_with_small_stacks_run(small_stacks):
    x = tf.placeholder(tf.float32, [None, None])
    y, found = tf.matmul(x, x) * 2.0 + 1.0, []
    with tf.Session() as session:
        def work():
            found.append(session.run(y, {x: np.ones((30, 30))})[0, 0])
            (region,) = regions_of(session)
            found.append(len(region._ready))

        def work_twice():
            work()
            work()

        thread = threading.Thread(target=work_twice)
        thread.start()
        thread.join()
        assert threading.stack_size(small_stacks) == small_stacks
        work()
    assert found == [61.0, 0, 61.0, 0, 61.0, 1]


def test_bad_settings_are_named():
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_COMPILE": "always"}
    done = subprocess.run([sys.executable, "-c", "import penstock.native.config"], env=env, capture_output=True, text=True, timeout=120)
    assert "PENSTOCK_COMPILE=always" in done.stderr


@pytest.mark.parametrize(("rows", "same_as"), [(7, "eager"), (None, "background")])
@pytest.mark.parametrize("how", ["map", "interleave"])
def test_functions_that_threads_call_at_once_do_not_count_runs(monkeypatch, rows, same_as, how):
    """Which thread comes first is chance: nodes whose shapes the graph tells are native from the first element, the others never."""
    images = np.random.default_rng(5).standard_normal((150, 7, 30), np.float32)
    weights = np.random.default_rng(6).standard_normal((30, 40), np.float32)

    def work(image):
        image.set_shape([rows, 30])
        return tf.nn.softmax(tf.tanh(tf.matmul(image, weights))) * tf.exp(-tf.reduce_mean(image))

    def elements(mode):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Graph().as_default():
            data = tf.data.Dataset.from_generator(lambda: iter(images), tf.float32)
            if how == "map":
                data = data.map(work, num_parallel_calls=3)
            else:
                data = data.interleave(lambda image: tf.data.Dataset.from_tensors(image).repeat(3).map(work), 3, num_parallel_calls=3)
            following = data.make_one_shot_iterator().get_next()
            with tf.Session() as session:
                return np.stack([session.run(following) for _ in range(150)])

    found = elements("background")
    np.testing.assert_array_equal(found, elements(same_as))
    assert (found != elements("off")).any(), "NumPy and native code differ in last bits"
