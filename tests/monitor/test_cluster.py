"""What the page of a cluster is told: descriptions with queues, history and waits, and recordings of steps."""
from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.cli import status as command
from penstock.distributed.client import connection
from penstock.distributed.cluster_spec import task_name
from penstock.distributed.messages import Message
from penstock.distributed.status import cluster_status, record_cluster
from penstock.monitor.cluster import BadRequest, Monitor, lanes
from support.cluster import free_ports

PS, WORKER = task_name("ps", 0), task_name("worker", 0)


@pytest.fixture
def worker():
    """The target of a worker, beside a ps, of this process, on loopback."""
    ports = free_ports(2)
    spec = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]}
    servers = [tf.train.Server(spec, job_name=job, task_index=0) for job in spec]
    yield servers[1].target
    for server in servers:
        server.stop()


def model():
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [256], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        return v, tf.assign_add(v, tf.tanh(v) + 1.0)


def running(session, fetch):
    """Runs a step again and again in a thread, until it is told to end."""
    over = threading.Event()

    def run():
        while not over.is_set():
            session.run(fetch)

    thread = threading.Thread(target=run)
    thread.start()

    def end():
        over.set()
        thread.join()

    return end


def test_a_recording_shows_all_tasks_and_changes_no_number(worker):
    v, step = model()
    with tf.Session(worker) as session:
        session.run(v.initializer)
        plain = [session.run(step) for _ in range(6)]
        session.run(v.initializer)
        results = []
        asked = threading.Thread(target=lambda: results.append(record_cluster(worker, 3, 8)))
        asked.start()
        recorded = []
        while asked.is_alive() or len(recorded) < 6:
            recorded.append(session.run(step))
        asked.join()
    np.testing.assert_array_equal(plain, recorded[:6])
    told = {task["task"]: task for task in results[0]}
    assert set(told) == {PS, WORKER} and len(told[WORKER]["steps"]) == 3 and told[PS]["steps"] == []
    picture = lanes(results[0])
    assert set(picture["lanes"]) == {f"{PS}/device:CPU:0", f"{WORKER}/device:CPU:0"} and len(picture["steps"]) == 3
    received = [bar for bar in picture["bars"] if bar[3] == "_Recv"]
    assert received and all(bar[4] == 1024 for bar in received)  # bytes of v
    assert min(bar[0] for bar in picture["bars"]) == 0 and picture["length"] > 0


def test_bars_of_a_lane_do_not_overlap():
    rows = [["a", "Add", 100, 50, 0, 1], ["b", "Mul", 120, 50, 0, 2], ["c", "Sub", 150, 5, 0, 1]]
    picture = lanes([{"task": WORKER, "state": "up", "steps": [{"session": "s-1", "devices": {"cpu": rows}}]}, {"task": PS, "state": "lost"}])
    assert [(bar[2], bar[0], bar[6]) for bar in picture["bars"]] == [("a", 0, 0), ("b", 20, 1), ("c", 50, 0)]
    assert picture["lanes"] == {"cpu": 2} and picture["lost"] == [PS] and picture["length"] == 70


def test_the_last_recording_as_a_chrome_trace():
    rows = [["a", "Add", 100, 50, 8, 1]]
    recorded = [{"task": WORKER, "state": "up", "steps": [{"session": "s", "devices": {"cpu": rows}}]}]
    monitor = Monitor("grpc://x:1", record=lambda target, steps, seconds: recorded)
    with pytest.raises(BadRequest, match="nothing is recorded"):
        monitor.trace()
    monitor.record({"steps": 1, "seconds": 1})
    events = json.loads(monitor.trace())["traceEvents"]
    assert [event["ph"] for event in events] == ["M", "X"] and events[1]["ts"] == 100 and events[1]["args"]["name"] == "a"


@pytest.mark.parametrize("body", [{}, {"steps": 0, "seconds": 1}, {"steps": 5, "seconds": 1e3}, {"steps": "5", "seconds": 1},
                                  {"steps": True, "seconds": 1}])
def test_a_recording_that_makes_no_sense(body):
    with pytest.raises(BadRequest, match="whole number"):
        Monitor("grpc://x:1", record=None).record(body)


def test_queues_waits_and_history(worker):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(3, tf.float32, [[]], shared_name="batches")
        taken = queue.dequeue()
    v, step = model()
    with tf.Session(worker) as session:
        session.run(v.initializer)
        session.run(queue.enqueue(1.0))
        [told] = [task["queues"] for task in cluster_status(worker) if task["task"] == PS]
        assert told == [{"name": "batches", "container": "localhost", "kind": "FIFOQueue", "size": 1, "capacity": 3, "enqueuing": 0, "dequeuing": 0,
                         "closed": False}]
        session.run(taken)
        waiting = threading.Thread(target=lambda: session.run(taken))
        waiting.start()
        tasks = {}
        for _ in range(400):
            tasks = {task["task"]: task for task in cluster_status(worker)}
            if tasks[PS]["waits"] and tasks[WORKER]["waits"]:
                break
            time.sleep(0.02)
        session.run(queue.enqueue(2.0))
        waiting.join()
        assert {"for": "batches", "what": "1 to dequeue", "seconds": None} in tasks[PS]["waits"]
        assert {wait["for"] for wait in tasks[WORKER]["waits"]} == {PS}
        end = running(session, step)
        try:
            time.sleep(1.2)
            told = next(task for task in cluster_status(worker) if task["task"] == WORKER)
        finally:
            end()
    assert sum(told["history"]) > 0 and len(told["history"]) <= 120


def test_the_cluster_is_not_asked_too_often():
    asked = []

    def ask(target):
        asked.append(target)
        if len(asked) == 2:
            raise tf.errors.UnavailableError(None, None, "it is gone")
        return [{"task": WORKER}]

    monitor = Monitor("grpc://x:1", ask)
    assert [monitor.state()["tasks"] for _ in range(5)] == [[{"task": WORKER}]] * 5 and asked == ["grpc://x:1"]
    monitor._asked = 0.0
    state = monitor.state()
    assert state["trouble"] == "it is gone" and state["tasks"] == [{"task": WORKER}]  # what was last known stays


def test_no_page_of_a_cluster_that_does_not_answer(capsys):
    target = f"grpc://127.0.0.1:{free_ports(1)[0]}"
    assert command.main([target, "--browser", "--no-open"]) == 1
    assert target in capsys.readouterr().err


@pytest.mark.parametrize("fields", [{}, {"steps": 0, "seconds": 1}, {"steps": 10**9, "seconds": 1},
                                    {"steps": 1, "seconds": 3600}, {"steps": "1", "seconds": 1}])
def test_a_task_refuses_nonsense(worker, fields):
    link = connection(worker)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="malformed Record"):
            link.call(Message("Record", fields), 5.0)
    finally:
        link.close()
