"""Jobs on a Ray cluster: nodes on loopback, one of which is killed while a job runs.

Ray runs in a process of its own: its threads, signal handlers and settings are none of these tests' business.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from importlib.util import find_spec

import pytest

from support.process import environment

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'penstock[ray]'")]
PATIENCE = 240.0

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



DRIVER = """
    import sys, threading, time
    from pathlib import Path
    import ray
    from ray.cluster_utils import Cluster
    from penstock.distributed.ray import Plan, launch

    def wait_for_steps(path, count):
        deadline = time.monotonic() + 60.0
        while not path.exists() or float(path.read_text() or 0) < count:
            assert time.monotonic() < deadline, "the job makes no steps"
            time.sleep(0.05)

    def accident():
        wait_for_steps(Path("progress"), 20)
        cluster.add_node(num_cpus=1, resources={"place of ps": 1})
        cluster.remove_node(first, allow_graceful=False)

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        first = cluster.add_node(num_cpus=1, resources={"place of ps": 1})
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        codes = []
        job = threading.Thread(daemon=True, target=lambda: codes.append(launch(
            Plan([sys.argv[1], "400", "progress"], ps=1, workers=1), resources={"ps": {"place of ps": 1}},
            runtime_env={"env_vars": {"OF_THE_JOB": "1"}})))
        job.start()
        accident()
        job.join(60.0)
        print("first job", codes, flush=True)
        print("second job", launch(Plan([sys.argv[2]], workers=2), max_restarts=1), flush=True)
        ray.shutdown()
    finally:
        cluster.shutdown()
"""

FAILS = """
    import json, os, sys, time
    print("of the first job:", os.environ.get("OF_THE_JOB"))
    sys.exit(5 if json.loads(os.environ["TF_CONFIG"])["task"]["index"] else time.sleep(60))
"""


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """What the driver wrote: (output, errors)."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, text in (("prog.py", PROGRAM), ("fails.py", FAILS), ("driver.py", DRIVER)):
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    short = tempfile.mkdtemp(prefix="r")  # Ray keeps Unix sockets there, whose names must not be long
    # On other systems Ray keeps to loopback by itself; the second variable makes it do so everywhere.
    variables = environment(RAY_TMPDIR=short, RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")
    process = subprocess.Popen([sys.executable, "driver.py", str(folder / "prog.py"), str(folder / "fails.py")], cwd=folder, env=variables, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        yield process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
        shutil.rmtree(short, ignore_errors=True)


def test_a_node_is_killed(jobs):
    """The ps comes back on another node, at another address; the worker goes on, restores what was lost, and is not started again."""
    out, err = jobs
    assert "first job [0]" in out, err
    assert "ps 0 was lost with its machine; starting it again" in err and "ps 0 is at 127.0.0.1:" in err
    assert "restores" in out and len(re.findall(r"ps 0 +\| runs as", out)) == 2
    pids = re.findall(r"worker 0 \| (?:runs as|value 400\.0 of) (\d+)", out)
    assert len(pids) == 2 and pids[0] == pids[1], out
    for pid in re.findall(r"runs as (\d+)", out):
        assert not os.path.exists(f"/proc/{pid}"), f"{pid} is left"


def test_a_task_that_fails_for_good(jobs):
    out, err = jobs
    assert "second job 5" in out and "worker 1 | of the first job: None" in out
    assert "worker 1 ended with code 5; starting it again" in err and "the job has failed" in err
