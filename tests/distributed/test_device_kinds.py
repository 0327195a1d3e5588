"""A device kind that the package has never heard of, on clusters: inside this process, over gRPC, and in processes of their own."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.distributed import client
from penstock.program import devices
from support.cluster import LocalCluster, Processes, free_ports
from support.toy import Toy

pytestmark = pytest.mark.process
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


@pytest.fixture
def toy():
    kind = Toy(lacks={"Tanh"})
    devices.register(kind)
    yield kind
    if kind in devices.kinds():
        devices.unregister("TOY")


def check_training(session, toy, tmp_path):
    """Trains with variables on the ps's toy and the computation on the worker's, saves, restores, and loops over both."""
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/job:ps/device:TOY:0"):
        w = tf.get_variable("w", initializer=tf.constant([[1.0], [-1.0]]), use_resource=False)
        b = tf.get_variable("b", initializer=tf.constant([0.5]), use_resource=True)
    with tf.device("/job:worker/device:TOY:0"):
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    total = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + y), [0, loss])[1]
    saver = tf.train.Saver()
    feeds = {x: [[1.0, 0.5], [0.5, 2.0]]}
    session.run(tf.global_variables_initializer())
    first = session.run(loss, feeds)
    for _ in range(30):
        session.run(train, feeds)
    toy.copies()
    session.run(train, feeds)
    copied_in, copied_out = toy.copies()
    assert copied_in > 0 and copied_out > 0
    last, eight = session.run([loss, total], feeds)
    assert last < first / 10 and eight == last * 8
    values = session.run([w, b])
    path = session.run(saver.saver_def.save_tensor_name, {saver.saver_def.filename_tensor_name: str(tmp_path / "model")})
    session.run(tf.global_variables_initializer())
    session.run(saver.saver_def.restore_op_name, {saver.saver_def.filename_tensor_name: path})
    for value, again in zip(values, session.run([w, b])):
        np.testing.assert_array_equal(value, again)


def test_training_on_a_cluster_inside_this_process(toy, tmp_path):
    cluster = LocalCluster({"ps": 1, "worker": 1})
    session = cluster.session(WORKER)
    listed = [(device.name, device.device_type, device.memory_limit_bytes) for device in session.remote.list_devices()]
    assert listed == [(f"{task}/device:{kind}:0", kind, size) for task in (WORKER, PS) for kind, size in (("CPU", 256 << 20), ("TOY", 1 << 20))]
    check_training(session, toy, tmp_path)
    session.close()


def test_training_over_grpc(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "in_process", {})
    ps, worker = (f"127.0.0.1:{port}" for port in free_ports(2))
    spec = {"ps": [ps], "worker": [worker]}
    servers = [tf.train.Server(spec, job, 0) for job in spec]
    with tf.Session(servers[1].target) as session:
        check_training(session, toy, tmp_path)
    for server in servers:
        server.stop()


def test_soft_placement_stays_in_the_task(toy):
    cluster = LocalCluster({"ps": 1, "worker": 1})
    with tf.device("/job:ps/device:TOY:0"):
        y = tf.tanh(tf.constant(0.0), name="y")
    strict, soft = cluster.session(WORKER), cluster.session(WORKER, config=tf.ConfigProto(allow_soft_placement=True))
    with pytest.raises(errors.InvalidArgumentError, match="no supported kernel for TOY devices is available: Tanh"):
        strict.run(y)
    metadata = tf.RunMetadata()
    soft.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    where = {node.node_name: stats.device for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    assert where["y"] == f"{PS}/device:CPU:0"
    strict.close()
    soft.close()


def test_a_name_without_a_task_finds_the_task_that_has_the_device(toy):
    cluster = LocalCluster({"ps": 1, "worker": 1})
    devices.unregister("TOY")
    cluster.start(WORKER)
    devices.register(toy)
    session = cluster.session(WORKER)
    with tf.device("/device:TOY:0"):
        y = tf.constant(1.0) + 1.0
    assert session.run(y) == 2.0 and list(toy.memories) == [f"{PS}/device:TOY:0"]
    session.close()


def test_a_master_that_does_not_know_the_kind():
    """Only the process of the ps has it."""
    processes = Processes(ps=1)
    processes.prelude = (f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
                         "from penstock.program import devices; from support.toy import Toy; devices.register(Toy(lacks={'Tanh'}))\n")
    with processes:
        spec = {**processes.spec, "worker": [f"127.0.0.1:{free_ports(1)[0]}"]}
        processes.spec = spec
        processes.kill("ps", 0)
        processes.start("ps", 0)
        server = tf.train.Server(spec, "worker", 0)
        with tf.device("/job:ps/device:TOY:0"):
            v = tf.Variable([1.0, 2.0], use_resource=True)
            y, z = v * 2.0, tf.tanh(v.read_value())
        with tf.Session(server.target) as session:
            assert [device.device_type for device in session.list_devices()] == ["CPU", "CPU", "TOY"]
            session.run(v.initializer)
            assert session.run(y).tolist() == [2, 4]
            with pytest.raises(errors.InvalidArgumentError, match="no supported kernel for TOY devices is available"):
                session.run(z)
        server.stop()


def test_a_queue_of_another_task_is_used_under_ones_own_device():
    cluster = LocalCluster({"ps": 1, "worker": 1})
    session = cluster.session(WORKER)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(4, tf.float32, shared_name="tokens")
    with tf.device("/job:worker/task:0"):
        put, count, take = queue.enqueue(3.0), queue.size(), queue.dequeue()
    session.run(put)
    assert session.run(count) == 1 and session.run(take) == 3.0
    session.close()
