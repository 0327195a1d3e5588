"""Clusters that are given by the session: ``ConfigProto.cluster_def``."""
import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.fixture
def servers():
    """Three servers that know nothing of each other."""
    running = [tf.train.Server.create_local_server() for _ in range(3)]
    yield running
    for server in running:
        server.stop()


def config(job, servers, **options):
    return tf.ConfigProto(cluster_def=tf.train.ClusterSpec({job: [server.target[len("grpc://"):] for server in servers]}).as_cluster_def(), **options)


def test_a_step_over_tasks_that_the_session_names(servers):
    first, second, third = servers
    with tf.Graph().as_default():
        with tf.device("/job:renamed/task:1"):
            x = tf.placeholder(tf.float32, [2])
            doubled = x * 2.0
        with tf.device("/job:renamed/replica:0/task:2/device:CPU:0"):
            y = doubled + 1.0
        with tf.Session(first.target, config=config("renamed", [second, first, third])) as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata), [3.0, 5.0])
            assert {device.name for device in session.list_devices()} == {f"/job:renamed/replica:0/task:{task}/device:CPU:0" for task in range(3)}
    ran = {stats.device: {node.node_name for node in stats.node_stats} for stats in metadata.step_stats.dev_stats}
    assert doubled.op.name in ran["/job:renamed/replica:0/task:1/device:CPU:0"] and y.op.name in ran["/job:renamed/replica:0/task:2/device:CPU:0"]


def test_variables_stay_on_the_servers(servers):
    """Another session with the same cluster finds them; one that isolates its state, or that names another server, does not."""
    first, second, third = servers
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            total = tf.Variable(0.0, name="total")
            add = tf.assign_add(total, 1.0)
        initialize = tf.global_variables_initializer()
        with tf.Session(first.target, config=config("worker", [first, second])) as session:
            session.run(initialize)
            assert session.run(add) == 1.0
        with tf.Session(first.target, config=config("worker", [first, second])) as session:
            assert session.run(add) == 2.0
        for other in (config("worker", [first, second], isolate_session_state=True), config("worker", [first, third])):
            with tf.Session(first.target, config=other) as session, pytest.raises(tf.errors.FailedPreconditionError):
                session.run(total)


def test_what_is_wrong_is_said(servers):
    first, second, third = servers
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with tf.Session(first.target, config=config("worker", [second, third])) as session, \
                pytest.raises(tf.errors.InvalidArgumentError, match="does not contain this server"):
            session.run(x)
        with tf.device("/job:worker/task:1"):
            y = tf.constant(2.0)
        session = tf.Session(first.target, config=config("worker", [first, second]))
        assert session.run(y) == 2.0
        second.stop()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(y)
        session.close()
