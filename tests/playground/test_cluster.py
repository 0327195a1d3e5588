"""The cluster of a board: its program, real tasks that are killed and come back, and no process that outlives the server."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import penstock as tf
from penstock.distributed.launch_plan import Task
from penstock.playground.cluster import BoardCluster, trains, travels
from penstock.playground.cluster_notes import RESTORING, note
from penstock.playground.cluster_program import MODES, ClusterSettings, build_network, read_cluster, write_cluster_program
from penstock.playground.messages import Playground
from penstock.playground.settings import ACTIVATIONS, OPTIMIZERS, BadSettings, Settings

PATIENCE = 200  # seconds


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [Settings(), Settings(layers=(), features=("x", "xy"), regularization="l2", regularization_rate=0.01),
                                      Settings(problem="regression", data="plane", optimizer="adam", activation="relu")])
def test_the_program_builds_the_network_of_the_board(settings, mode):
    cluster = {"ps": ["a:1", "b:2"], "worker": ["c:3", "d:4"]}
    names = build_network(write_cluster_program(settings, ClusterSettings(2, 2, mode)), cluster)
    assert len(names["weights"]) == len(settings.layers) + 1
    assert {variable.device for variable in tf.trainable_variables()} <= {"/job:ps/task:0", "/job:ps/task:1"}
    assert names["loss"].device == "/job:worker/task:0" and names["reports"].shape == [2, 4]
    assert names["before"].device == names["after"].device == "/job:ps/task:0"
    assert (mode != "asynchronous") == isinstance(names["optimizer"], tf.train.SyncReplicasOptimizer)
    assert settings.activation in ACTIVATIONS and settings.optimizer in OPTIMIZERS


@pytest.mark.parametrize("message", [None, [], {"ps": 0}, {"ps": 3}, {"workers": 5}, {"workers": True}, {"mode": "later"}, {"more": 1},
                                     {"mode": "backup", "workers": 1}])
def test_settings_that_make_no_sense(message):
    with pytest.raises(BadSettings):
        read_cluster(message)


def test_messages_without_a_cluster():
    playground = Playground()
    messages = playground.messages()
    for name in ("cluster_stop", "cluster_frame", "cluster_record", "cluster_kill", "cluster_slow", "cluster_start"):
        with pytest.raises(BadSettings):
            messages[name]({"board": 7})
    playground.close()


def test_what_travels():
    picture = {"bars": [[0, 1, "a", "_Recv", 100, "/job:ps/task:0", 0, 0], [0, 1, "b", "_Recv", 60, "/job:ps/task:0", 0, 1],
                        [0, 1, "c", "_Recv", 40, "/job:worker/task:1", 0, 1], [0, 1, "d", "Add", 40, "/job:worker/task:1", 0, 1]], "steps": [{}, {}]}
    assert travels(picture) == [["gradients", "/job:ps/task:0", 80.0], ["variables", "/job:worker/task:1", 40.0]]  # step 0 is that of another worker


@pytest.mark.parametrize("nodes, expected", [(["gradients/output/mul_grad/_region"], True), (["GradientDescent/update_output/weights/_region"], True),
                                             (["global_step", "reports"], False)])
def test_steps_that_train(nodes, expected):
    """By what all modes and optimizers have in common."""
    assert trains({"devices": {"/job:ps/task:0": [[node, "_Region", 0, 1, 0, 0] for node in nodes]}}) == expected


WORKERS, SERVER_0 = [Task("worker", index) for index in range(3)], Task("ps", 0)


@pytest.mark.parametrize("mode, away, expected", [
    ("asynchronous", [], ""), ("asynchronous", [WORKERS[1]], "worker 1 is away: the others go on."),
    ("asynchronous", [WORKERS[0]], "worker 0 is away: the others go on, and no checkpoint is written."),
    ("synchronous", [WORKERS[2]], "worker 2 is away: the others wait."), ("backup", [WORKERS[2]], "worker 2 is away: the backup worker stands in."),
    ("backup", [WORKERS[0]], "worker 0 is away: the others wait, for the chief applies the gradients."),
    ("backup", WORKERS[1:], "worker 1 and worker 2 are away: the others wait."),
    ("asynchronous", WORKERS, "worker 0 and worker 1 and worker 2 are away: nothing trains until they are back."),
    ("backup", [SERVER_0, WORKERS[1]], "ps 0 and worker 1 are away: all workers wait, then the chief restores the last checkpoint.")])
def test_who_waits_for_whom_is_said(mode, away, expected):
    assert note(ClusterSettings(1, 3, mode), away, None) == expected


@pytest.mark.parametrize("error, expected", [(tf.errors.UnavailableError(None, None, "grpc://h:1 cannot be reached"), RESTORING),
                                             (tf.errors.FailedPreconditionError(None, None, "uninitialized value v"), RESTORING),
                                             (tf.errors.InternalError(None, None, "broken\nat line 7"), "broken")])
def test_errors_of_a_cluster_that_is_there(error, expected):
    assert note(ClusterSettings(), [], error) == expected


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def processes_of(folder):
    """The processes whose command names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # it has ended
            continue
    return found


def test_killed_tasks_come_back_and_the_rest_goes_on():
    cluster = BoardCluster(Settings(layers=(2,)), ClusterSettings(2, 2, "asynchronous"))
    try:
        until(lambda: cluster.step > 20 and cluster.state()["tasks"][3]["state"] == "running")
        cluster.slow(0, 0.05)
        with pytest.raises(BadSettings):
            cluster.kill("worker 5")
        cluster.kill("worker 1")
        until(lambda: cluster.state()["trouble"] == "worker 1 is away: the others go on.")
        until(lambda: cluster.state()["tasks"][3]["restarts"] == 1)
        step = cluster.step
        until(lambda: cluster.step > step + 20 and not cluster.state()["trouble"])
        assert cluster.reports[0, 1] >= 0 and cluster.reports[0, 2] >= cluster.reports[0, 1]  # staleness
        json.dumps(cluster.state())  # as a page gets it
        assert [weights.shape for weights in cluster.weights] == [(2, 2), (2, 1)] and cluster.state()["tasks"][2]["pause"] == 0.05
        assert {task for lane in cluster.record()["lanes"] for task in ("ps/task:0", "ps/task:1") if task in lane.replace("replica:0/", "")} \
            == {"ps/task:0", "ps/task:1"}
        cluster.kill("ps 0")  # it holds the global step: the chief restores its last checkpoint
        assert "trouble" in cluster.record()
        until(lambda: cluster.state()["tasks"][0]["restarts"] == 1)
        until(lambda: cluster.step > 0 and not cluster.state()["trouble"])
        step = cluster.step
        until(lambda: cluster.step > step)
        folder = cluster._folder
        assert len(processes_of(folder)) >= 3
    finally:
        cluster.close()
    assert processes_of(folder) == [] and not os.path.exists(folder)


SERVER = """
import sys, time
from penstock.playground.cluster import BoardCluster
from penstock.playground.cluster_program import ClusterSettings
from penstock.playground.settings import Settings
cluster = BoardCluster(Settings(layers=()), ClusterSettings(1, 1))
while cluster.state()["tasks"][0]["state"] != "running":
    time.sleep(0.05)
print(cluster._folder, flush=True)
time.sleep(600)
"""


def test_no_task_and_no_folder_outlives_a_server_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        folder = server.stdout.readline().strip()
        until(lambda: len(processes_of(folder)) >= 2)
        server.send_signal(signal.SIGKILL)
        until(lambda: not processes_of(folder) and not os.path.exists(folder))
