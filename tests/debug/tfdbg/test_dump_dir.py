"""``DebugDumpDir`` as TensorFlow 1.15's answers: what is missing, variables without a value, names of files."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.debug.tfdbg import dump_dir
from penstock.debug.tfdbg.sessions import DumpingDebugWrapperSession
from penstock.debug.tfdbg.tensor_text import describe
from penstock.debug.tfdbg.watching import watch_graph

pytestmark = pytest.mark.process
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def dumped(folder, fetches, feeds, initialize=True):
    """The dump of a run."""
    options = tf.RunOptions()
    with tf.Session() as session:
        if initialize:
            session.run(tf.global_variables_initializer())
        watch_graph(options, session.graph, debug_urls=f"file://{folder}")
        try:
            session.run(fetches, feeds, options=options)
        except tf.errors.FailedPreconditionError:
            assert not initialize
    return dump_dir.DebugDumpDir(str(folder))


@pytest.fixture
def product():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=np.eye(2, dtype=np.float32), use_resource=False)
    return x, tf.matmul(x, w, name="y")


def test_what_is_missing_is_told_in_tensorflows_words(product, tmp_path):
    x, y = product
    dump = dumped(tmp_path / "dump", y, {x: np.ones([1, 2])})
    missing = dump_dir.WatchKeyDoesNotExistInDebugDumpDirError
    with pytest.raises(missing, match='Watch key "none:0:DebugIdentity" does not exist in the debug dump of device None'):
        dump.get_tensors("none", 0, "DebugIdentity")
    with pytest.raises(missing, match=f'Watch key "y:1:DebugIdentity" does not exist in the debug dump of device {CPU}'):
        dump.get_tensors("y", 1, "DebugIdentity")
    for ask in (dump.get_rel_timestamps, dump.get_tensor_file_paths, dump.get_dump_sizes_bytes):
        with pytest.raises(ValueError, match=r"None of the 1 device\(s\) has a node named 'none'"):
            ask("none", 0, "DebugIdentity")
        with pytest.raises(missing, match=f"of device {CPU}"):
            ask("y", 0, "DebugNanCount")
        assert len(ask("y", 0, "DebugIdentity")) == 1
    with pytest.raises(ValueError, match="Invalid device name: /job:x"):
        dump.nodes("/job:x")
    assert dump.nodes(CPU) == dump.nodes()
    (tmp_path / "empty").mkdir()
    with pytest.raises(LookupError, match="No partition graphs have been loaded"):
        dump_dir.DebugDumpDir(str(tmp_path / "empty")).nodes()


def test_a_variable_without_a_value_is_dumped_as_such(product, tmp_path):
    x, y = product
    dump = dumped(tmp_path, y, {x: np.ones([1, 2])}, initialize=False)
    value, = dump.get_tensors("w", 0, "DebugIdentity")
    assert isinstance(value, dump_dir.InconvertibleTensorProto) and not value.initialized
    assert str(value).startswith("Uninitialized tensor:\ndtype: DT_FLOAT\ntensor_shape {\n  dim {\n    size: 2\n")
    assert dump.find(dump_dir.has_inf_or_nan) == []
    assert describe(value, "w:0", "[0, :]")[:4] == ['Tensor "w:0[0, :]":', "", "Uninitialized tensor:", "dtype: DT_FLOAT"]


def test_one_of_unknown_shape_is_too(tmp_path):
    w = tf.Variable(np.eye(2), validate_shape=False, use_resource=False, name="w")
    dump = dumped(tmp_path, tf.identity(w), {}, initialize=False)
    assert [str(each).split("\n")[:2] for each in dump.get_tensors("w", 0, "DebugIdentity")] == [["Uninitialized tensor:", "dtype: DT_DOUBLE"]]


def test_a_second_file_of_the_same_moment_is_read(tmp_path):
    folder = tmp_path / "_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"
    folder.mkdir()
    for stamp in ("1500", "1500-1", "1499"):
        (folder / f"a_b_0_DebugIdentity_{stamp}").touch()
    data = dump_dir.DebugDumpDir(str(tmp_path)).dumped_tensor_data
    assert [(datum.watch_key, datum.timestamp, datum.extended_timestamp) for datum in data] == [
        ("a_b:0:DebugIdentity", 1499, "1499"), ("a_b:0:DebugIdentity", 1500, "1500"), ("a_b:0:DebugIdentity", 1500, "1500-1")]


def test_runs_are_counted_and_their_names_are_in_order(product, tmp_path):
    x, y = product
    z = tf.identity(y, name="a")
    with tf.Session() as plain:
        plain.run(tf.global_variables_initializer())
        session = DumpingDebugWrapperSession(plain, str(tmp_path))
        for _ in range(2):
            session.run([y, z], {x: np.ones([1, 2])})
    dumps = [dump_dir.DebugDumpDir(str(folder)) for folder in sorted(tmp_path.iterdir())]
    first, second = (dump.core_metadata for dump in dumps)
    assert second.session_run_index == first.session_run_index + 1 and first.output_names == ["a:0", "y:0"]
    assert dumps[0].run_feed_keys_info == f"dict_keys([{x!r}])"
