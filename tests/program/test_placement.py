"""Placement and partitioning: which device an op runs on, and what crosses between devices."""
from __future__ import annotations

import logging

import pytest

import penstock as tf
from penstock.ops.queues.barrier import Barrier

TWO = tf.ConfigProto(device_count={"CPU": 2})
CPU = "/job:localhost/replica:0/task:0/device:CPU:%d"


def partitions(config, fetch, feed_dict=None):
    """{device: {node name: op type}} of what ran."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True, trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        result = session.run(fetch, feed_dict, options=options, run_metadata=metadata)
    found = {}
    for graph in metadata.partition_graphs:
        for node in graph.node:
            found.setdefault(node.device, {})[node.name] = node.op
    return result, found


def test_two_devices_work_together():
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0], name="a")
    with tf.device("/cpu:1"):
        b = tf.multiply(a, [3.0, 4.0], name="b")
    with tf.device("/cpu:0"):
        c = tf.add(b, a, name="c")
    with tf.Session(config=TWO) as session:
        assert session.run(c).tolist() == [4, 10]
        assert session.run([a, b, c])[1].tolist() == [3, 8]


def test_edges_between_devices_become_send_and_recv():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:0"):
        a = tf.multiply(x, 2.0, name="a")
    with tf.device("/cpu:1"):
        b = tf.multiply(a, 3.0, name="b")
        c = tf.multiply(a, 4.0, name="c")
    result, parts = partitions(TWO, [b, c], {x: [1.0, 2.0]})
    assert [value.tolist() for value in result] == [[6, 12], [8, 16]]
    assert parts[CPU % 0]["a"] == "Mul" and parts[CPU % 1]["b"] == parts[CPU % 1]["c"] == "Mul"
    sends = [op for op in parts[CPU % 0].values() if op == "_Send"]
    receives = [op for op in parts[CPU % 1].values() if op == "_Recv"]
    assert len(sends) == len(receives) == 1, "one tensor for two consumers on a device crosses once"


def test_control_edges_cross_devices():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0, use_resource=False)
        grow = v.assign_add(1.0)
    with tf.device("/cpu:1"), tf.control_dependencies([grow]):
        after = tf.constant(5.0)
    with tf.Session(config=TWO) as session:
        session.run(v.initializer)
        assert session.run(after) == 5.0
        assert session.run(v) == 2.0


def test_device_that_does_not_exist():
    with tf.device("/gpu:7"):
        a = tf.constant(1.0, name="wanted_on_gpu")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(a)
    assert "wanted_on_gpu" in str(caught.value)


def test_soft_placement():
    with tf.device("/gpu:7"):
        a = tf.constant(1.0)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(a) == 1.0


def test_job_that_does_not_exist_even_with_soft_placement():
    with tf.device("/job:nowhere"):
        a = tf.constant(1.0)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(a)


def test_colocated_ops_share_a_device():
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a")
    with tf.colocate_with(a.op):
        b = tf.multiply(a, 2.0, name="b")
    _, parts = partitions(TWO, b)
    assert "b" in parts[CPU % 1]


def test_full_device_names_work():
    with tf.device(CPU % 1):
        a = tf.constant(3.0)
    with tf.Session(config=TWO) as session:
        assert session.run(a) == 3.0


def test_error_on_another_device_ends_the_step():
    with tf.device("/cpu:1"):
        unfed = tf.placeholder(tf.float32, name="unfed")
    with tf.device("/cpu:0"):
        b = tf.multiply(unfed, 2.0)
    with tf.Session(config=TWO) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="unfed"):
            session.run(b)
        assert session.run(b, {unfed: 2.0}) == 4.0


def test_feeds_and_fetches_on_every_device():
    tensors = []
    for index in range(2):
        with tf.device(f"/cpu:{index}"):
            tensors.append(tf.placeholder(tf.float32))
            tensors.append(tf.identity(tensors[-1]))
    with tf.Session(config=TWO) as session:
        assert session.run(tensors, {tensors[0]: 1.0, tensors[2]: 2.0}) == [1.0, 1.0, 2.0, 2.0]


def test_many_crossings():
    value = tf.placeholder(tf.float32)
    start = value
    for step in range(20):
        with tf.device(f"/cpu:{step % 2}"):
            value = tf.add(value, 1.0)
    with tf.Session(config=TWO) as session:
        for number in range(5):
            assert session.run(value, {start: float(number)}) == number + 20.0


def test_trace_names_what_ran():
    metadata = tf.RunMetadata()
    x = tf.placeholder(tf.float32, [1], name="x")
    b = tf.multiply(x, 2.0, name="b")
    with tf.Session() as session:
        session.run(b, {x: [1.0]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert "b" in names


def test_log_device_placement_is_seen_without_any_set_up_of_logging(monkeypatch, capsys):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with tf.device("/cpu:1"):
        a = tf.constant(3.0, name="placed")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, log_device_placement=True)) as session:
        session.run(a)
    assert f"placed: (Const): {CPU % 1}" in capsys.readouterr().err


RESOURCES = {
    "queue": (lambda: tf.FIFOQueue(3, tf.float32), lambda queue: queue.size()),
    "enqueue": (lambda: tf.FIFOQueue(3, tf.float32), lambda queue: queue.enqueue(1.0)),
    "table": (lambda: tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1), lambda table: table.lookup(tf.constant(["a"]))),
    "reader": (tf.WholeFileReader, lambda reader: reader.num_records_produced()),
    "accumulator": (lambda: tf.ConditionalAccumulator(tf.float32, []), lambda accumulator: accumulator.num_accumulated()),
    "iterator": (lambda: tf.data.Dataset.range(3).make_one_shot_iterator(), lambda iterator: iterator.get_next()),
    "variable": (lambda: tf.Variable(1.0, use_resource=True), lambda variable: tf.raw_ops.AssignVariableOp(resource=variable.handle, value=2.0)),
}


@pytest.mark.parametrize("name", RESOURCES)
def test_what_uses_a_resource_runs_where_it_is(name):
    make, use = RESOURCES[name]
    with tf.device("/cpu:0"):
        resource = make()
    with tf.device("/cpu:1"):
        result = use(resource)
    metadata = tf.RunMetadata()
    with tf.Session(config=TWO) as session:
        session.run(result, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    name = result.op.name if isinstance(result, tf.Tensor) else result.name
    where = [device.device for device in metadata.step_stats.dev_stats if any(node.node_name == name for node in device.node_stats)]
    assert where == [CPU % 0]


# --- resources that are used under another device ----------------------------------------------------------------------

def queue():
    made = tf.FIFOQueue(3, tf.float32, ((),), shared_name="placed")
    return lambda: [made.enqueue([1.0]), made.size(), made.dequeue()]


def table():
    made = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    return lambda: [made.initializer, made.lookup(tf.constant(["a", "b"])), made.size()]


def barrier():
    made = Barrier((tf.float32,), shapes=((),))
    return lambda: [made.insert_many(0, ["a"], [3.0]), made.ready_size(), made.take_many(1)]


def accumulator():
    made = tf.ConditionalAccumulator(tf.float32, [])
    return lambda: [made.apply_grad(2.0), made.num_accumulated(), made.take_grad(1)]


def iterator():
    made = tf.data.Dataset.range(3).make_initializable_iterator()
    return lambda: [made.initializer, made.get_next()]


def section():
    made = tf.CriticalSection()
    return lambda: [made.execute(lambda: tf.constant(3.0) + 1.0)]


@pytest.mark.parametrize("make", [queue, table, barrier, accumulator, iterator, section])
@pytest.mark.parametrize("devices", [("/cpu:0", "/cpu:1"), ("/cpu:1", "/cpu:0")])
def test_ops_run_where_their_resource_is(make, devices):
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        with tf.device(devices[0]):
            use = make()
        with tf.device(devices[1]):
            fetches = use()
        for fetch in fetches:
            session.run(fetch)
