"""ClusterSpec, names of tasks, TF_CONFIG, ServerDef."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.distributed.cluster_spec import matches, task_of, tf_config
from penstock.distributed.server import make_server_def

pytestmark = pytest.mark.graph
SPEC = {"worker": ["w0:1", "w1:1"], "ps": {3: "p3:1"}}


def test_jobs_and_tasks():
    spec = tf.train.ClusterSpec(SPEC)
    assert spec.jobs == ["worker", "ps"] and spec.num_tasks("worker") == 2 and spec.num_tasks("ps") == 1
    assert spec.task_indices("ps") == [3] and spec.task_address("ps", 3) == "p3:1"
    assert spec.job_tasks("worker") == ["w0:1", "w1:1"] and spec.job_tasks("ps") == [None, None, None, "p3:1"]
    assert spec.as_dict() == SPEC and bool(spec) and not tf.train.ClusterSpec({})
    assert str(spec) == "ClusterSpec({'worker': ['w0:1', 'w1:1'], 'ps': {3: 'p3:1'}})"


def test_protos_and_copies():
    spec = tf.train.ClusterSpec(SPEC)
    proto = spec.as_cluster_def()
    assert [job.name for job in proto.job] == ["ps", "worker"] and dict(proto.job[0].tasks) == {3: "p3:1"}
    assert tf.train.ClusterSpec(proto) == spec == tf.train.ClusterSpec(spec)
    assert tf.train.ClusterSpec({"ps": ["x:1"]}) != spec


def test_names_in_bytes_and_indices_of_numpy():
    spec = tf.train.ClusterSpec({b"ps": {np.int64(1): b"a:1", 0: "b:1"}})
    assert spec == tf.train.ClusterSpec({"ps": ["b:1", "a:1"]}) and spec.as_dict() == {"ps": ["b:1", "a:1"]}
    assert all(type(index) is int for index in spec.task_indices("ps"))


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:abc", "localhost:-1", "localhost:65536", ":2222", "localhost:²"])
def test_addresses_that_nobody_can_listen_on(address):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse port"):
        tf.train.Server({"ps": [address]})


@pytest.mark.parametrize("broken", [3, {"a": 3}, {"a": [3]}, {"a": {"x": "y:1"}}, {"a": {-1: "y:1"}}, {1: ["y:1"]}, {"a": [None]}])
def test_what_is_no_cluster(broken):
    with pytest.raises(TypeError):
        tf.train.ClusterSpec(broken)


def test_unknown_jobs_and_tasks():
    spec = tf.train.ClusterSpec(SPEC)
    for call in (lambda: spec.num_tasks("x"), lambda: spec.job_tasks("x"), lambda: spec.task_address("ps", 0)):
        with pytest.raises(ValueError, match=r"No such job|No task"):
            call()


def test_addresses_and_filters():
    tasks = ["/job:ps/replica:0/task:3", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]
    assert list(tf.train.ClusterSpec(SPEC).addresses()) == tasks
    assert task_of("/job:ps/replica:0/task:3/device:CPU:0") == "/job:ps/replica:0/task:3"
    assert matches("/job:ps/replica:0/task:3", []) and matches("/job:ps/replica:0/task:3", ["/job:ps"])
    assert not matches("/job:worker/replica:0/task:1", ["/job:ps", "/job:worker/task:0"])


def test_tf_config():
    cluster, job, index = tf_config({"TF_CONFIG": '{"cluster": {"ps": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}'})
    assert cluster.jobs == ["ps", "worker"] and (job, index) == ("worker", 0)
    assert tf_config({"TF_CONFIG": '{"cluster": {"worker": {"7": "b:1"}}}'})[0].task_address("worker", 7) == "b:1"
    assert not tf_config({})[0]
    for text in ("{", "[]", '{"cluster": 3}'):
        with pytest.raises(ValueError, match="TF_CONFIG"):
            tf_config({"TF_CONFIG": text})


def test_server_defs():
    alone = make_server_def({"local": ["localhost:0"]}, None, None, None, None)
    assert (alone.job_name, alone.task_index, alone.protocol) == ("local", 0, "grpc")
    config = tf.ConfigProto(device_count={"CPU": 2})
    full = make_server_def(SPEC, "worker", 1, None, config)
    assert full.default_session_config == config and isinstance(full, tf.train.ServerDef)
    again = make_server_def(tf.train.ServerDef.FromString(full.SerializeToString()), None, None, None, None)
    assert again == full


@pytest.mark.parametrize(("arguments", "error"), [
    ((SPEC, None, None, None, None), ValueError), ((SPEC, "worker", None, None, None), ValueError),
    ((SPEC, "x", 0, None, None), tf.errors.InternalError), ((SPEC, "ps", 3, "smoke", None), tf.errors.NotFoundError),
    ((SPEC, "ps", 3, None, "config"), TypeError)])
def test_wrong_server_defs(arguments, error):
    with pytest.raises(error):
        make_server_def(*arguments)


def test_equal_to_a_dict_of_its_tasks():
    """As TensorFlow's, which compares the dict that it holds."""
    assert tf.train.ClusterSpec({}) == {} and tf.train.ClusterSpec({"a": ["x:1"]}) == {"a": {0: "x:1"}}
    assert tf.train.ClusterSpec({"a": ["x:1"]}) != {} and tf.train.ClusterSpec({"a": ["x:1"]}) == tf.train.ClusterSpec({"a": {0: "x:1"}})
