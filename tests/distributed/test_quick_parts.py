"""Parts of steps that take next to no time: they run in the thread that reads, and wait without a thread."""
import threading

import pytest

import penstock as tf
from penstock.distributed import worker as worker_module
from penstock.distributed.service import Service
from support.cluster import PATIENCE, LocalCluster

pytestmark = pytest.mark.process
PS, WORKER, OTHER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(worker_module, "_QUICK", 1e9)  # all parts are
    return LocalCluster({"ps": 2, "worker": 2})


class Running:
    """A step on a thread of its own."""

    def __init__(self, session, fetch):
        self.result = self.error = None
        self._thread = threading.Thread(target=self._work, args=(session, fetch), daemon=True)
        self._thread.start()

    def _work(self, session, fetch):
        try:
            self.result = session.run(fetch)
        except tf.errors.OpError as error:
            self.error = error

    def ended(self, seconds=PATIENCE):
        self._thread.join(seconds)
        return not self._thread.is_alive()


def queue_on_ps():
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(-1, tf.float32, shapes=(), shared_name="queue")
        return queue.enqueue(3.0), queue.dequeue(), queue.size()


def line_on(cluster):
    """Who stands in the line of the queue."""
    found = [item for (_, _, kind), item in cluster.workers[PS].resources.items() if kind == "FIFOQueue"]
    return len(found[0]._dequeuing) if found else 0


def until_one_waits(cluster):
    for _ in range(int(PATIENCE / 0.01)):
        if line_on(cluster):
            return
        threading.Event().wait(0.01)
    raise AssertionError("it must not wait")


def test_no_request_that_runs_a_part_gets_a_thread(cluster, monkeypatch):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.device("/job:worker/task:0"):
        twice = v * 2.0
    with tf.device("/job:ps/task:1"):
        more = twice + 1.0
    update = tf.assign_sub(v, more)
    session = cluster.session(WORKER)
    session.run(v.initializer)
    handled, handle = [], Service.handle
    monkeypatch.setattr(Service, "handle", lambda self, message, caller: (handled.append(message.method), handle(self, message, caller)))
    assert session.run([update, more]) == [-2.0, 3.0] and "RunStep" in handled and "RunGraph" not in handled
    session.close()


def test_a_dequeue_on_another_task(cluster):
    enqueue, dequeue, _ = queue_on_ps()
    session, other = cluster.session(WORKER), cluster.session(OTHER)
    taking = Running(session, dequeue * 2.0)
    until_one_waits(cluster)
    other.run(enqueue)
    assert taking.ended() and taking.result == 6.0


@pytest.mark.parametrize("end", [lambda cluster, session: session.close(), lambda cluster, session: cluster.kill(WORKER)])
def test_a_step_that_ends_while_it_stands_in_line(cluster, end):
    enqueue, dequeue, size = queue_on_ps()
    session, other = cluster.session(WORKER), cluster.session(OTHER)
    taking = Running(session, dequeue)
    until_one_waits(cluster)
    end(cluster, session)
    assert taking.ended() and isinstance(taking.error, (tf.errors.CancelledError, tf.errors.UnavailableError))
    for _ in range(int(PATIENCE / 0.01)):
        if not line_on(cluster):
            break
        threading.Event().wait(0.01)
    other.run(enqueue)
    assert other.run(size) == 1 and other.run(dequeue) == 3.0


def test_a_time_limit_ends_the_waiting(cluster):
    _, dequeue, _ = queue_on_ps()
    session = cluster.session(WORKER, config=tf.ConfigProto(operation_timeout_in_ms=200))
    taking = Running(session, dequeue)
    assert taking.ended() and isinstance(taking.error, tf.errors.DeadlineExceededError)
    assert not line_on(cluster)


def test_an_error_on_one_task_ends_the_waiting_on_another(cluster):
    enqueue, dequeue, _ = queue_on_ps()
    with tf.device("/job:ps/task:1"):
        bad = tf.check_numerics(tf.log(tf.placeholder_with_default(-1.0, [])), "no")
    session = cluster.session(WORKER)
    taking = Running(session, [dequeue, bad])
    assert taking.ended() and isinstance(taking.error, tf.errors.InvalidArgumentError)
    session.run(enqueue)
    assert session.run(dequeue) == 3.0
