"""Jobs on a Ray cluster: three nodes on loopback, one of which is killed while the job runs."""
from __future__ import annotations

import io
import os
import re
import textwrap
import threading
import time
from pathlib import Path

import pytest

from support.process import SOURCE

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'penstock[ray]'")
engine = pytest.importorskip("penstock.distributed.ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")
# Ray starts threads and leaves sockets and subprocesses to the garbage collector, all outside of what these tests are about.
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("ray_threads")]
LOOPBACK = "127.0.0.1"

PROGRAM = """
    import json, os, sys, time
    import tensorflow as tf
    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    print("runs as", os.getpid(), flush=True)
    if job == "ps":
        server.join()
        sys.exit()
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"])):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        step = v.assign_add(1.0)
    steps, saved = int(sys.argv[1]), 0.0
    with tf.Session(server.target) as sess:
        sess.run(v.initializer)
        while saved < steps:
            try:
                saved = float(sess.run(step))
                open(sys.argv[2], "w").write(str(saved))
            except (tf.errors.UnavailableError, tf.errors.AbortedError):
                time.sleep(0.2)
            except tf.errors.FailedPreconditionError:  # its variables are lost
                print("restores", saved, flush=True)
                v.load(saved, sess)
            time.sleep(0.01)
    print("value", saved, "of", os.getpid())
"""


@pytest.fixture(scope="module")
def ray_threads():
    """Ray's own threads live as long as the process, and are no leak of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")])))
        yield


@pytest.fixture(scope="module")
def cluster(ray_threads):
    """A head without room for tasks, a node for the ps and one for workers."""
    found = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "node_ip_address": LOOPBACK})
    found.first = found.add_node(num_cpus=1, resources={"place of ps": 1}, node_ip_address=LOOPBACK)
    found.add_node(num_cpus=2, node_ip_address=LOOPBACK)
    ray.init(address=found.address, log_to_driver=False)
    yield found
    ray.shutdown()
    found.shutdown()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("job") / "prog.py"
    path.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    return path


def wait_for_steps(path: Path, count: float, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists() or float(path.read_text() or 0) < count:
        assert time.monotonic() < deadline, "the job makes no steps"
        time.sleep(0.05)


def test_a_node_is_killed(cluster, program, tmp_path):
    """The ps comes back on another node, at another address; the workers go on, restore what was lost, and are not started again."""
    progress, steps = tmp_path / "progress", 400
    out, err = io.StringIO(), io.StringIO()

    def accident() -> None:
        wait_for_steps(progress, 20)
        cluster.add_node(num_cpus=1, resources={"place of ps": 1}, node_ip_address=LOOPBACK)
        cluster.remove_node(cluster.first, allow_graceful=False)

    killer = threading.Thread(target=accident)
    killer.start()
    plan = engine.Plan([str(program), str(steps), str(progress)], ps=1, workers=1)
    code = engine.launch(plan, resources={"ps": {"place of ps": 1}}, out=out, err=err)
    killer.join()
    assert code == 0, err.getvalue()
    lines = out.getvalue()
    assert "ps 0 was lost with its machine; starting it again" in err.getvalue() and "ps 0 is at 127.0.0.1:" in err.getvalue(), err.getvalue()
    assert "restores" in lines and len(re.findall(r"ps 0 +\| runs as", lines)) == 2
    pids = re.findall(r"worker 0 \| (?:runs as|value \d+\.0 of) (\d+)", lines)
    assert len(pids) == 2 and pids[0] == pids[1], lines
    assert f"value {steps}.0" in lines
    for pid in re.findall(r"runs as (\d+)", lines):
        assert not Path(f"/proc/{pid}").exists(), f"{pid} is left"


def test_a_task_that_fails_for_good(cluster, tmp_path):
    path = tmp_path / "fails.py"
    path.write_text("import json, os, sys, time\nsys.exit(5 if json.loads(os.environ['TF_CONFIG'])['task']['index'] else time.sleep(60))\n")
    err = io.StringIO()
    assert engine.launch(engine.Plan([str(path)], workers=2), max_restarts=1, out=io.StringIO(), err=err) == 5
    assert "worker 1 ended with code 5; starting it again" in err.getvalue() and "the job has failed" in err.getvalue()
