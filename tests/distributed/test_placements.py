"""Resources used under another device than their own: all runs where TensorFlow 1.15 runs it, with its numbers, or is refused with its class.

Golden: ``data/placement_runs.py``. In one process with two devices, on a cluster inside of this process, and on one of two processes.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import penstock as tf
from support.cluster import Processes

DATA = Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))

import placement_runs as runs  # noqa: E402 (beside its recording)

GOLDEN = json.loads((DATA / "placements.json").read_text())
LOCAL = [setting for setting in runs.SETTINGS if setting.startswith("local")]
CLUSTER = [setting for setting in runs.SETTINGS if setting not in LOCAL]

# What TensorFlow 1.15 refuses and Penstock does: feeds of handles (1.15 has no type of NumPy for them in a feed_dict, though it fetches them),
# tensors that a cluster keeps between steps, and an iterator over several devices whose dataset TensorFlow puts on a third task.
MORE = {"fetched_and_fed", "fetched_and_fed_elsewhere", "fed_under_no_device", "fed_by_a_callable", "kept_tensor", "iterator_of_several_devices"}


@pytest.fixture(autouse=True, scope="module")
def tensorflow():
    tf.install_as_tensorflow(era=False)


@pytest.fixture(scope="module")
def in_process():
    spec = {"ps": ["placements:1"], "worker": ["placements:2"]}
    servers = [tf.train.Server(spec, job, 0, protocol="local") for job in spec]
    yield servers[0].target
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def in_processes():
    with Processes(ps=1, worker=1) as cluster:
        yield cluster.target("ps", 0)


def check(case, setting, make_session):
    found, golden = runs.run_case(tf, case, runs.SETTINGS[setting], make_session), GOLDEN[case][setting]
    assert len(found) == len(golden)
    for number, (mine, theirs) in enumerate(zip(found, golden)):
        where = f"{case}, {setting}, use {number}: {mine} in the place of {theirs}"
        if case in MORE and "error" in theirs:
            continue
        assert mine.get("error") == theirs.get("error"), where
        assert mine.get("value") == theirs.get("value"), where
        if _tells_where(mine, theirs):
            assert mine["ran"] == theirs["ran"], where


def _tells_where(mine, theirs):
    """Not of constants that TensorFlow folded, nor of what is another operation there: the merge of a conditional, a call, a group."""
    return bool(theirs.get("ran")) and mine["op"] == theirs["op"]


@pytest.mark.process
@pytest.mark.parametrize("setting", LOCAL)
@pytest.mark.parametrize("case", sorted(GOLDEN))
def test_on_two_devices(case, setting):
    check(case, setting, lambda: tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})))


@pytest.mark.process
@pytest.mark.parametrize("setting", CLUSTER)
@pytest.mark.parametrize("case", sorted(GOLDEN))
def test_on_two_tasks(in_process, case, setting):
    check(case, setting, lambda: _fresh_session(in_process))


@pytest.mark.cluster
@pytest.mark.parametrize("setting", CLUSTER)
@pytest.mark.parametrize("case", sorted(GOLDEN))
def test_on_two_processes(in_processes, case, setting):
    check(case, setting, lambda: _fresh_session(in_processes))


def _fresh_session(target):
    tf.Session.reset(target)
    return tf.Session(target)


# --- handles that are fed, which TensorFlow 1.15 cannot do ------------------------------------------------------------

def _read_fed(here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    with tf.device(there):
        fed = tf.placeholder(tf.resource, [])
        return v, fed, tf.raw_ops.ReadVariableOp(resource=fed, dtype=tf.float32)


@pytest.mark.process
@pytest.mark.parametrize("here", runs.TASKS)
def test_a_fetched_handle_is_resolved_where_its_resource_is(in_process, here):
    v, fed, read = _read_fed(here, here)
    with tf.Session(in_process) as session:
        session.run(v.initializer)
        handle = session.run(v.handle)
        assert [session.run(read, {fed: handle}).tolist() for _ in range(3)] == [[1.0, 2.0]] * 3


@pytest.mark.process
@pytest.mark.parametrize("here, there", [runs.TASKS, runs.TASKS[::-1]])
def test_the_handle_of_a_foreign_device_is_refused(in_process, here, there):
    v, fed, read = _read_fed(here, there)
    with tf.Session(in_process) as session:
        session.run(v.initializer)
        handle = session.run(v.handle)
        for _ in range(3):  # by NumPy, and by native code
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Trying to access resource Variable.* located in device .* from device "):
                session.run(read, {fed: handle})


@pytest.mark.process
def test_a_handle_of_what_is_gone(in_process):
    v, fed, read = _read_fed("", "")
    with tf.Session(in_process) as session:
        session.run(v.initializer)
        handle = session.run(v.handle)
        session.run(tf.raw_ops.DestroyResourceOp(resource=v.handle))
        with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
            session.run(read, {fed: handle})


@pytest.mark.process
def test_only_handles_are_fed_as_handles():
    _, fed, read = _read_fed("", "")
    with tf.Session() as session, pytest.raises(TypeError, match="A handle is fed as it was fetched"):
        session.run(read, {fed: 3})


@pytest.mark.process
def test_later_operations_follow_a_resource_that_has_a_place():
    v = tf.Variable(1.0, use_resource=True)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(v.initializer)
        with tf.device("/cpu:1"):
            later = v.assign_add(1.0)
        session.run(later)
        assert session.run(v.read_value()) == 2.0


@pytest.mark.process
def test_lists_and_optionals_travel(in_process):
    with tf.device(runs.TASKS[0]):
        empty = [tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=dtype) for dtype in (tf.string, tf.variant)]
        inner = tf.raw_ops.TensorListPushBack(input_handle=empty[0], tensor=["a", "b"])
        outer = tf.raw_ops.TensorListPushBack(input_handle=empty[1], tensor=inner)
        nothing = tf.data.experimental.Optional.none_from_structure(tf.data.experimental.TensorStructure(tf.float32, []))
    with tf.device(runs.TASKS[1]):
        found = tf.raw_ops.TensorListPopBack(input_handle=outer, element_shape=-1, element_dtype=tf.variant)
        strings = tf.raw_ops.TensorListStack(input_handle=found.tensor, element_shape=-1, element_dtype=tf.string)
        length, has = tf.raw_ops.TensorListLength(input_handle=found.output_handle), nothing.has_value()
    with tf.Session(in_process) as session:
        words, count, there = session.run([strings, length, has])
    assert words.tolist() == [[b"a", b"b"]] and count == 0 and not there
