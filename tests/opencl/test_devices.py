"""OpenCL devices in sessions: lists, placement, variables, several devices in a step, errors, memory."""
from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

import penstock as tf
from penstock.debug.explain import Explainer
from penstock.opencl import drivers
from penstock.opencl.memory import DeviceArray
from penstock.opencl.queue import DeviceQueue
from penstock.program.default_config import choose
from penstock.testing import local_devices as device_lib
from penstock.testing import physical_devices
from support.plans import nodes_of, regions_of

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("opencl")]


def _without_gpus(**settings):
    return tf.ConfigProto(device_count={"GPU": 0}, **settings)


def _devices(session):
    return [device.name.rpartition("/device:")[2] for device in session.list_devices()]


def test_devices_are_listed():
    count = len(drivers.find().devices)  # PoCL's two, and what else the machine has
    with tf.Session() as session:
        assert [name for name in _devices(session) if name.startswith("GPU")] == [f"GPU:{index}" for index in range(count)]
    assert count >= 2
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 1})) as session:
        assert "GPU:1" not in _devices(session)
    with tf.Session(config=_without_gpus()) as session:
        assert _devices(session) == ["CPU:0"]
    assert tf.test.is_gpu_available() and tf.test.gpu_device_name() == "/device:GPU:0"


def test_kernels_are_kept_on_disk_by_device_and_driver(opencl, monkeypatch):
    x = tf.placeholder(tf.float32, [7])
    y = tf.sqrt(x * 3.0) + 11.25
    for compiles in (True, False):  # a process that finds them compiles nothing
        monkeypatch.setattr(opencl, "_queues", {})
        if not compiles:
            monkeypatch.setattr(DeviceQueue, "_compile", None)
        with tf.Session() as session:
            for _ in range(3):
                np.testing.assert_allclose(session.run(y, {x: np.ones(7)}), np.sqrt(3.0) + 11.25, rtol=1e-6)
            assert regions_of(session)
    queue = opencl._queues[next(iter(opencl._queues))]
    names = {queue._name_of("text")}
    monkeypatch.setattr(queue, "device", Mock(wraps=queue.device, platform=queue.device.platform, version="1", driver_version="another"))
    queue.device.name = "GPU"
    assert queue._name_of("text") not in names


def test_a_list_of_visible_devices_chooses():
    with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="1"))) as session:
        assert [name for name in _devices(session) if name.startswith("GPU")] == ["GPU:0"]
    with pytest.raises(tf.errors.AlreadyExistsError, match="visible_device_list"):
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0")))
    with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="7")))


@pytest.fixture
def chosen(opencl, monkeypatch):
    """``tf.config.experimental`` with nothing set; what a test sets goes with it."""
    for name, value in (("_visible", None), ("_virtual", {}), ("_initialized", False)):
        monkeypatch.setattr(physical_devices, name, value)
    monkeypatch.setattr(opencl, "_queues", {})
    yield tf.config.experimental
    choose(tf.ConfigProto())


def test_hidden_devices(chosen, opencl):
    gpus = chosen.list_physical_devices("GPU")
    assert len(gpus) == len(drivers.find().devices) and chosen.get_visible_devices("GPU") == gpus
    chosen.set_visible_devices(gpus[1], "GPU")
    with tf.Session() as session:
        assert [name for name in _devices(session) if name.startswith("GPU")] == ["GPU:0"]
    assert opencl._numbers == {0: 1}
    chosen.set_visible_devices([], "GPU")
    assert _devices(tf.Session()) == ["CPU:0"] and chosen.list_logical_devices("GPU") == []


def test_a_gpu_becomes_several_with_memory_of_their_own(chosen, opencl):
    gpu = chosen.list_physical_devices("GPU")[0]
    with pytest.raises(ValueError, match="memory limit is required"):
        chosen.set_virtual_device_configuration(gpu, [chosen.VirtualDeviceConfiguration()])
    chosen.set_visible_devices(gpu, "GPU")
    chosen.set_virtual_device_configuration(gpu, [chosen.VirtualDeviceConfiguration(memory_limit=limit) for limit in (64, 8)])
    x = tf.placeholder(tf.float32, [1 << 20])
    results = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            results.append(tf.sqrt(x) + float(index))
    with tf.Session() as session:
        assert [(device.name[-5:], device.memory_limit_bytes) for device in session.list_devices() if device.device_type == "GPU"] == [
            ("GPU:0", 64 << 20), ("GPU:1", 8 << 20)]
        for _ in range(3):
            np.testing.assert_allclose(session.run(results[0], {x: np.ones(1 << 20)}), 1)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(results[1], {x: np.ones(1 << 20)})
    assert opencl._numbers == {0: 0, 1: 0}


def test_nodes_without_a_device_go_to_the_gpu_and_variables_live_there():
    v = tf.Variable(np.ones(3, np.float32))
    y = v * 2.0
    words = tf.strings.join(["a", "b"])  # has no device code
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([y, words])[1] == b"ab"
        session.run([y, tf.assign_add(v, [1.0, 2.0, 3.0])])
        assert {node.device.rpartition("/device:")[2] for node in nodes_of(session) if node.definition.type == "VariableV2"} == {"GPU:0"}
        resources = [value for _, value in session._backend.environment.resources.items()]
        assert isinstance(resources[0].value, DeviceArray)
        np.testing.assert_array_equal(session.run(v), [2, 3, 4])


def test_explicit_and_soft_placement():
    with tf.device("/device:GPU:0"):
        words = tf.strings.join(["a", "b"])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="no supported kernel for GPU devices"):
        session.run(words)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(words) == b"ab"


def test_several_devices_in_one_step():
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.device("/device:GPU:0"):
        a = tf.nn.relu(x) + 1.0
    with tf.device("/device:GPU:1"):
        b = tf.reduce_sum(a * a, axis=1)
    with tf.device("/cpu:0"):
        c = tf.sqrt(b)
    given = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    with tf.Session() as session:
        for _ in range(2):
            found = session.run(c, {x: given})
        assert {node.device.rpartition("/device:")[2] for node in nodes_of(session)} == {"GPU:0", "GPU:1", "CPU:0"}
    np.testing.assert_allclose(found, np.sqrt(((np.maximum(given, 0) + 1) ** 2).sum(1)), rtol=1e-6)


def test_what_was_read_does_not_change():
    v = tf.Variable(np.zeros(4, np.float32), use_resource=True)
    before = v.read_value()
    with tf.control_dependencies([before]):
        update = tf.assign_add(v, np.ones(4, np.float32))
    with tf.control_dependencies([update]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        first, second = session.run([before, after])
    np.testing.assert_array_equal((first, second), [np.zeros(4), np.ones(4)])


def test_a_bad_index_is_an_error_and_nothing_is_written():
    table = tf.Variable(np.zeros((4, 2), np.float32))
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.gather(table, ids)
    update = tf.assign_add(table, tf.ones([4, 2]) + tf.reduce_sum(rows))
    with tf.Session() as session:
        session.run(table.initializer)
        session.run(update, {ids: [1, 3]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="4"):
            session.run(update, {ids: [1, 4]})
        np.testing.assert_array_equal(session.run(table), np.ones((4, 2)))


def test_a_bad_index_of_a_gather_from_a_variable_is_told_as_by_the_cpu():
    with tf.device("/device:GPU:0"):
        table, ids = tf.Variable(tf.ones([4, 2])), tf.placeholder(tf.int32, [2])
        rows = tf.gather(table, ids)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 9 is not in \[0, 4\)"):
                session.run(rows, {ids: [1, 9]})
        np.testing.assert_array_equal(session.run(rows, {ids: [1, 3]}), np.ones((2, 2)))


def test_numbers_that_the_host_casts_for_the_device():
    """A step that is traced runs node by node."""
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.device("/device:GPU:0"):
        count = tf.reduce_sum(tf.cast(tf.greater(x, 0), tf.int32))
        share = tf.cast(count, tf.float32) / tf.cast(tf.size(x), tf.float32)
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        for given in (options, None, None):
            assert session.run(share, {x: [[1, -1, 2], [3, -4, 5]]}, given, tf.RunMetadata()) == pytest.approx(4 / 6)


def test_a_list_of_devices_says_what_they_are():
    gpu = next(each for each in device_lib.list_local_devices() if each.device_type == "GPU")
    assert gpu.physical_device_desc.startswith("device: 0, name: ") and "Portable Computing Language" in gpu.physical_device_desc


def test_a_node_without_a_kernel_for_its_shapes_runs_on_the_host():
    x = tf.placeholder(tf.float32, [None])
    shape = tf.placeholder(tf.int32, [2])  # known in the step alone
    y = tf.reshape(x * 2.0, shape) + 1.0
    with tf.Session() as session:
        for _ in range(2):
            found = session.run(y, {x: np.arange(6), shape: [2, 3]})
        assert any(region.fallbacks for region in regions_of(session))
    np.testing.assert_array_equal(found, (np.arange(6) * 2 + 1).reshape(2, 3))


def test_loops_branches_and_random_numbers():
    x = tf.placeholder(tf.float32, [3])
    y, _ = tf.while_loop(lambda y, i: i < 5, lambda y, i: (y * 1.5 + tf.cast(i, tf.float32), i + 1), [x, 0])
    z = tf.cond(tf.reduce_sum(y) > 100.0, lambda: y - 1.0, lambda: y + 1.0)
    (slope,) = tf.gradients(z, [x])
    draws = [tf.random_uniform([37], seed=5), tf.random_normal([10, 3], seed=6), tf.truncated_normal([33], seed=7),
             tf.random_uniform([9], maxval=50, dtype=tf.int32, seed=8)]
    results = []
    for settings in (tf.ConfigProto(), _without_gpus()):
        with tf.Session(config=settings) as session:
            results.append([session.run([z, slope, *draws], {x: [1.0, 2.0, 3.0]}) for _ in range(2)])
    for gpu, cpu in zip(*results):
        for mine, theirs in zip(gpu, cpu):
            np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=1e-6)


def test_a_loop_over_an_array_of_tensors_is_one_region_and_sizes_are_host_values():
    x = tf.placeholder(tf.float32, [None, 4])
    rows = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)
    first = 0, tf.zeros([4]), tf.TensorArray(tf.float32, rows.size())
    def step(i, total, out):
        total += rows.read(i)
        return i + 1, total, out.write(i, total)

    _, _, sums = tf.while_loop(lambda i, *_: i < rows.size(), step, first)
    size, all_sums = sums.size(), sums.stack()
    given = np.arange(20, dtype=np.float32).reshape(5, 4)
    with tf.Session() as session:
        for _ in range(2):
            count, found = session.run([size, all_sums], {x: given})
        assert not any(region.fallbacks for region in regions_of(session))
        assert not any(node.definition.repeats or node.definition.array_role for node in nodes_of(session))
    assert count == 5 and isinstance(count, np.int32)
    np.testing.assert_array_equal(found, given.cumsum(0))


def test_a_matrix_is_copied_into_panels_once_until_it_changes():
    x, start = tf.placeholder(tf.float32, [64, 40]), np.linspace(-1, 1, 1600, dtype=np.float32).reshape(40, 40)
    w = tf.Variable(start)
    y = x
    for _ in range(5):
        y = tf.matmul(y, w, transpose_b=True)
    with tf.control_dependencies([y]):
        halved = tf.assign(w, w * 0.5)
    with tf.control_dependencies([halved]):
        z = tf.matmul(x, w.read_value(), transpose_b=True)
    given = np.ones((64, 40), np.float32)
    with tf.Session() as session:
        session.run(w.initializer)
        after, changed = session.run([y, z], {x: given})
        (copies,) = ([call for ready in region._ready.values() for call in ready._table.calls if call.label == "copy"]
                     for region in regions_of(session) if any(node.definition.updates for node in region.body.nodes) and len(region.body.nodes) > 5)
    np.testing.assert_allclose(after, given @ np.linalg.matrix_power(start.T, 5), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(changed, given @ start.T * 0.5, rtol=1e-5, atol=1e-5)
    kept = [call for call in copies if call.operands[0].buffer.kind == "input"]
    assert len(kept) <= 4, "two copies, each in whole panels and the rest, serve all six products"


def test_checkpoints(tmp_path):
    v = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(tf.assign(v, v * 2.0))
        path = saver.save(session, str(tmp_path / "model"))
    for settings in (tf.ConfigProto(), _without_gpus()):
        with tf.Session(config=settings) as session:
            saver.restore(session, path)
            np.testing.assert_array_equal(session.run(v), np.arange(6).reshape(2, 3) * 2)


def test_out_of_memory_says_what_holds_how_much(opencl, monkeypatch):
    v = tf.Variable(tf.zeros([256, 256]), name="large")
    more = tf.tile(v, [40, 40])
    with tf.Session() as session:
        session.run(v.initializer)
        monkeypatch.setattr(opencl.queue(0).pool, "limit", opencl.queue(0).pool.taken + (8 << 20))
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating .* on /device:GPU:0.*by variable large"):
            session.run(more * 2.0)
        assert session.run(v).shape == (256, 256)


def test_a_traced_run_has_every_node():
    x = tf.placeholder(tf.float32, [4])
    y = tf.reduce_sum(tf.exp(x), name="total")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        found = session.run(y, {x: np.ones(4)}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    assert found == pytest.approx(4 * np.e, rel=1e-6)
    assert any(stats.node_name == "total" for device in metadata.step_stats.dev_stats for stats in device.node_stats)


def test_sizes_that_do_not_fill_a_group():
    """Kernels look at the bounds of what is rounded up to whole groups: odd batches of odd sizes."""
    random = np.random.default_rng(0)
    x = random.standard_normal((3, 2, 101)).astype(np.float32)
    ids = random.integers(0, 2, (3, 2))
    fed = tf.placeholder(tf.float32, [None, 2, 101])
    picked = tf.gather(tf.transpose(fed, [2, 1, 0]), [1], axis=1)
    hot = tf.one_hot(tf.placeholder_with_default(ids, [3, 2]), 5, axis=0)
    moved = tf.transpose(fed[:, :, ::2], [1, 2, 0]) + tf.reduce_max(fed, axis=[1, 2])
    with tf.Session() as session:
        a, b, c = session.run([picked, hot, moved], {fed: x})
    np.testing.assert_array_equal(a, x.transpose(2, 1, 0)[:, [1]])
    np.testing.assert_array_equal(b, (ids == np.arange(5)[:, None, None]).astype(np.float32))
    np.testing.assert_array_equal(c, x[:, :, ::2].transpose(1, 2, 0) + x.max(axis=(1, 2)))


def test_explain_shows_kernels_copies_and_what_the_host_runs():
    with Explainer() as explainer, tf.Session() as session:
        x, shape = tf.placeholder(tf.float32, [8]), tf.placeholder(tf.int32, [2])
        y = tf.reduce_sum(tf.reshape(tf.nn.relu(x) * 2.0, shape), axis=1)
        for _ in range(3):
            np.testing.assert_array_equal(session.run(y, {x: np.ones(8), shape: [2, 4]}), [8, 8])
    (report,) = explainer.reports()
    types = {op_type for _, op_type, _ in report.fallbacks}
    assert {"_CopyIn", "_CopyOut", "Reshape"} <= types
    assert any("the host runs it for the device" in why for _, _, why in report.fallbacks)
    assert any("Relu" in kernel.name for kernel in report.kernels)
