"""replica_device_setter and the strategies that choose a ps task; the tables were made by TensorFlow 1.15."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.graph
BLOCKS = ["", "/job:foo", "/cpu:0", "/task:1", "/job:ps", "/job:ps/task:1", ""]


def placed(**arguments):
    """(device of a variable, device of its initial value) in each of BLOCKS."""
    found = []
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(**arguments)):
        for number, block in enumerate(BLOCKS):
            with tf.device(block):
                v = tf.Variable(1.0, name=f"v{number}")
                found.append((v.device, v.initial_value.device))
    return found


@pytest.mark.parametrize(("arguments", "variables", "others"), [
    ({"worker_device": "/job:worker/task:1"},
     ["/job:ps/task:0", "/job:foo", "/job:ps/task:1/device:CPU:0", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1"],
     ["/job:worker/task:1", "/job:foo/task:1", "/job:worker/task:1/device:CPU:0", "/job:worker/task:1", "/job:ps/task:1", "/job:ps/task:1",
      "/job:worker/task:1"]),
    ({"ps_device": "/job:ps/task:1"},
     ["/job:ps/task:0", "/job:foo/task:1", "/job:ps/task:1/device:CPU:0", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1"],
     ["/job:worker", "/job:foo", "/job:worker/device:CPU:0", "/job:worker/task:1", "/job:ps", "/job:ps/task:1", "/job:worker"]),
    ({"merge_devices": False},
     ["/job:ps/task:0", "/job:foo", "/device:CPU:0", "/task:1", "/job:ps", "/job:ps/task:1", "/job:ps/task:1"],
     ["/job:worker", "/job:foo", "/device:CPU:0", "/task:1", "/job:ps", "/job:ps/task:1", "/job:worker"]),
    ({"ps_ops": ["Const"]},
     ["/job:worker", "/job:foo", "/job:worker/device:CPU:0", "/job:worker/task:1", "/job:ps", "/job:ps/task:1", "/job:worker"],
     ["/job:ps/task:0", "/job:foo", "/job:ps/task:1/device:CPU:0", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1"]),
], ids=["worker_device", "ps_device", "merge_devices", "ps_ops"])
def test_nested_devices(arguments, variables, others):
    assert placed(ps_tasks=2, **arguments) == list(zip(variables, others))


def test_tasks_are_counted_in_the_cluster():
    cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:1", "c:1"], "worker": ["d:1"]})
    for given in (cluster, cluster.as_dict(), cluster.as_cluster_def()):
        with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(cluster=given)):
            assert [tf.get_variable(name, [1]).device[-1] for name in "abcd"] == ["0", "1", "2", "0"]
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster=tf.train.ClusterSpec({"worker": ["d:1"]})) is None


def test_random_strategy_is_tensorflows():
    strategy = tf.contrib.training.RandomStrategy(2, seed=3)
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        assert [int(tf.get_variable(f"v{number}", [2]).device[-1]) for number in range(8)] == [1, 1, 1, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("resource", [False, True])
def test_greedy_strategy(resource):
    greedy = tf.contrib.training.GreedyLoadBalancingStrategy(3, tf.contrib.training.byte_size_load_fn)
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=3, ps_strategy=greedy)):
        sizes = [30, 20, 10, 5, 10]
        assert [int(tf.get_variable(f"v{n}", [size], use_resource=resource).device[-1]) for n, size in enumerate(sizes)] == [0, 1, 2, 2, 2]


@pytest.mark.parametrize("resource", [False, True])
def test_the_initial_assignment_is_where_the_variable_is(resource):
    """And on no device of the worker: there may be no such device."""
    setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/replica:0/task:1/device:GPU:3")
    with tf.Graph().as_default(), tf.device(setter):
        v = tf.get_variable("v", [2], use_resource=resource)
        assert v.device == v.initializer.device == "/job:ps/task:0"


def test_what_does_not_work():
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        tf.train.replica_device_setter(ps_tasks=2, ps_strategy=3)
    with pytest.raises(TypeError, match="cluster"):
        tf.train.replica_device_setter(cluster=3)
    with pytest.raises(ValueError, match="fully defined"):
        tf.contrib.training.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)
    with pytest.raises(ValueError, match="single output"):
        tf.contrib.training.byte_size_load_fn(tf.no_op())
    assert tf.contrib.training.byte_size_load_fn(tf.Variable(["a", "b"]).op) == 16
