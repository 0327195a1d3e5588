"""A session asks its back end, and the back ends agree: options, the first run of a step, observers."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute.probe import Probe
from penstock.native.config import config
from penstock.program.stages import Observer, observing
from penstock.session import backends
from penstock.session.observers import RunObserver, observing_runs
from support.cluster import LocalCluster

pytestmark = pytest.mark.process
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


class Plans(Observer):
    """Keeps the plans that are made."""

    def __init__(self):
        self.plans = []

    def planned(self, plan, program):
        self.plans.append(plan)


@pytest.fixture(params=["local", "grpc"])
def target(request):
    server = tf.train.Server.create_local_server() if request.param == "grpc" else None
    yield server.target if server else ""
    if server is not None:
        server.stop()


def test_numpy_runs_the_first_run_of_a_step_wherever_it_runs(target, monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    plans = Plans()
    x = tf.placeholder(tf.float32, [4])
    y = tf.exp(x) * 2.0
    with observing(plans), tf.Session(target) as session:
        for _ in range(3):
            session.run(y, {x: np.zeros(4)})
    assert ["ran once" in plan.why_numpy for plan in plans.plans] == [True, False]


def test_a_session_says_how_many_threads_share_a_kernel_on_every_task():
    cluster = LocalCluster({"ps": 1, "worker": 1})
    cluster.start(WORKER, tf.ConfigProto(intra_op_parallelism_threads=3))
    with tf.device("/job:ps/task:0"):
        there = tf.constant(1.0) + 1.0
    with tf.device("/job:worker/task:0"):
        total = there + 1.0
    for asked, threads in ((1, {PS: 1, WORKER: 1}), (0, {PS: config.threads, WORKER: 3})):
        session = cluster.session(WORKER, config=tf.ConfigProto(intra_op_parallelism_threads=asked))
        assert session.run(total) == 3.0
        for task, wanted in threads.items():
            (pipeline,) = cluster.workers[task]._sessions.values()
            assert pipeline.environment.threads == wanted
        session.close()
        for worker in cluster.workers.values():
            worker._sessions.clear()


def test_observers_of_runs(target):
    class Seen(RunObserver):
        def __init__(self):
            self.events = []

        def before(self, run):
            self.events.append(("before", [tensor.name for tensor in run.wanted.tensors]))
            run.options, run.metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()

        def after(self, run):
            self.events.append(("after", {stats.node_name for device in run.metadata.step_stats.dev_stats for stats in device.node_stats}))

    seen = Seen()
    y = tf.negative(tf.placeholder_with_default(1.0, []), name="y")
    with tf.Session(target) as session:
        with observing_runs(seen):
            assert session.run(y) == -1.0
        assert session.run(y) == -1.0
    assert [name for name, _ in seen.events] == ["before", "after"]
    assert seen.events[0][1] == ["y:0"] and "y" in seen.events[1][1]


def test_metadata_of_an_earlier_run_goes(target):
    metadata = tf.RunMetadata()
    y = tf.negative(tf.placeholder_with_default(1.0, []))
    with tf.Session(target) as session:
        session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True), run_metadata=metadata)
        assert metadata.step_stats.dev_stats and metadata.partition_graphs
        session.run(y, run_metadata=metadata)
    assert metadata == tf.RunMetadata()


def test_a_scheme_is_an_entry_of_the_table(monkeypatch):
    monkeypatch.setattr(backends, "_kinds", dict(backends._kinds))
    made = []

    class Kind:
        def connect(self, target, graph, config):
            made.append(target)
            return backends.connect("", graph, config)

    backends.register("toy", Kind)
    with tf.Session("toy://anywhere") as session:
        assert session.run(tf.constant(3)) == 3 and made == ["toy://anywhere"]
    with pytest.raises(tf.errors.NotFoundError, match="toy://"):
        tf.Session("boat://somewhere")


def test_the_debugger_sees_the_nodes_of_a_cluster():
    server = tf.train.Server.create_local_server()
    seen = []

    class Seeing(Probe):
        def tell(self, frames, device, node, outputs, waits=True):
            seen.append(node.name)

    with tf.Session(server.target) as session:
        assert session.run_probed(tf.constant(1.0, name="one") + 2.0, Seeing()) == 3.0
    server.stop()
    assert "one" in seen and "add" in seen
