"""``penstock status``, and tasks that join a cluster later or move."""
from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as tf
from penstock.cli import status as cli
from penstock.distributed import activity
from penstock.distributed.activity import Activity
from penstock.distributed.cluster_spec import task_name
from penstock.distributed.messages import Message
from penstock.distributed.status import cluster_status
from support.cluster import LocalCluster, free_ports

PS, WORKER, LATE = task_name("ps", 0), task_name("worker", 0), task_name("worker", 7)


def model(worker: int = 0):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    with tf.device(f"/job:worker/task:{worker}"):
        return v, tf.assign_add(v, tf.random_uniform([2]) * 0.0 + 1.0)


@pytest.fixture
def servers():
    """A ps and a worker of this process, on loopback."""
    ports = free_ports(2)
    spec = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]}
    started = [tf.train.Server(spec, job_name=job, task_index=0) for job in spec]
    yield started
    for server in started:
        server.stop()


def test_a_cluster_tells_how_it_is(servers, capsys):
    ps, worker = servers
    v, step = model()
    with tf.Session(worker.target) as session:
        session.run(v.initializer)
        for _ in range(5):
            session.run(step)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.check_numerics(v / 0.0, "it is infinite"))
        tasks = {task["task"]: task for task in cluster_status(worker.target)}
        assert list(tasks) == [WORKER, PS] and {task["state"] for task in tasks.values()} == {"up"}
        assert tasks[PS]["variables"] == [{"name": "v", "container": "localhost", "dtype": "float32", "initialized": True, "shape": [2], "bytes": 8}]
        assert tasks[WORKER]["sessions"][0]["steps"] == 6 and tasks[WORKER]["sessions"][0]["steps_per_second"] > 0.5
        assert tasks[PS]["steps"] >= 6 and tasks[PS]["devices"] == [PS + "/device:CPU:0"]
        assert tasks[WORKER]["errors"][-1]["class"] == "InvalidArgumentError" and "it is infinite" in tasks[WORKER]["errors"][-1]["message"]
        assert cli.main([ps.target]) == 0
    text = capsys.readouterr().out
    for part in ("/job:ps/task:0", "/job:worker/task:0", "[2]", "float32", "8 B", "InvalidArgumentError", "CPU:0", "steps/s"):
        assert part in text, text


def test_the_address_of_a_server_on_any_port():
    server = tf.train.Server.create_local_server()
    assert [task["address"] for task in cluster_status(server.target)] == [server.target.removeprefix("grpc://")]
    server.stop()


def test_a_lost_task_is_told_of(servers, capsys):
    ps, worker = servers
    ps.stop()
    assert cli.main([worker.target, "--json"]) == 3
    tasks = json.loads(capsys.readouterr().out)
    assert [task["state"] for task in tasks] == ["up", "lost"] and tasks[1]["reason"]
    assert cli.main([worker.target]) == 3 and "lost: " in capsys.readouterr().out


def test_nobody_answers(capsys):
    assert cli.main([f"grpc://127.0.0.1:{free_ports(1)[0]}"]) == 1
    assert "penstock status: grpc://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["", "grpc://", "localhost", "grpc://localhost:", "grpc://127.0.0.1:99999", "localhost:0", "localhost:-1"])
def test_what_is_no_address(target, capsys):
    assert cli.main([target]) == 1
    assert "names no task of a cluster: grpc://host:port does" in capsys.readouterr().err
    if target.startswith("grpc://"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="names no task"):
            tf.Session(target)


def test_rates_and_errors_are_of_late(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(activity.time, "monotonic", lambda: now[0])
    found = Activity()
    for _ in range(30):
        found.count()
        now[0] += 0.5
    assert found.total == 30 and found.rate() == pytest.approx(2.0, rel=0.1)
    now[0] += 60.0
    assert found.rate() == 0.0
    for number in range(50):
        found.failed("RunStep", tf.errors.AbortedError(None, None, f"{number}" * 1000))
    assert len(found.errors()) == 20 and found.errors()[-1]["message"].startswith("49") and len(found.errors()[-1]["message"]) == 500


# --- joining, leaving, moving ----------------------------------------------------------------------------------------

def test_a_worker_joins_that_nobody_knew_of():
    """The ps has to fetch what the new worker sends it: it learns where that is from the graph that the worker registers."""
    cluster = LocalCluster({"ps": 1, "worker": 1})
    v, step = model()
    session = cluster.session(WORKER)
    session.run(v.initializer)
    session.run(step)
    late = tf.train.ClusterSpec({"ps": cluster.spec.as_dict()["ps"], "worker": {7: LATE}})
    cluster.join(LATE, late)
    with tf.Graph().as_default():
        v, late_step = model(worker=7)
        joined = cluster.session(LATE)
        np.testing.assert_array_equal(joined.run(late_step), [2.0, 2.0])
        cluster.kill(LATE)  # it leaves: the others do not notice
    np.testing.assert_array_equal(session.run(step), [3.0, 3.0])
    cluster.join(LATE, late)  # and comes back
    with tf.Graph().as_default():
        v, late_step = model(worker=7)
        again = cluster.session(LATE)
        np.testing.assert_array_equal(again.run(late_step), [4.0, 4.0])
        again.close()
    session.close()


def test_a_step_that_needs_a_task_that_never_joined():
    cluster = LocalCluster({"ps": 1, "worker": 1})
    link = cluster.session(WORKER).remote._link
    peers = cluster.workers[PS].steps._fetch.__self__
    with pytest.raises(tf.errors.UnavailableError, match="worker/replica:0/task:7 is not in the cluster"):
        peers.call(LATE, Message("GetStatus"))
    for senseless in (None, [], {"a": 1}):
        with pytest.raises(tf.errors.InvalidArgumentError):
            link.call(Message("SetAddresses", {"addresses": senseless}))


def test_a_task_that_moved():
    """A scheduler starts a lost ps elsewhere and tells the others: their sessions go on, with the variables lost."""
    cluster = LocalCluster({"ps": 1, "worker": 1})
    v, step = model()
    session = cluster.session(WORKER)
    session.run(v.initializer)
    session.run(step)
    cluster.kill(PS)
    with pytest.raises(tf.errors.UnavailableError):
        session.run(step)
    cluster.join(PS, tf.train.ClusterSpec({"ps": ["elsewhere"], "worker": [WORKER]}), address="elsewhere")
    session.remote._link.call(Message("SetAddresses", {"addresses": {PS: "elsewhere"}}))
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        session.run(step)
    session.run(v.initializer)
    np.testing.assert_array_equal(session.run(step), [1.0, 1.0])
    session.close()
