"""tf.train.Saver: what is saved under which names, what is kept, what errors say."""
from __future__ import annotations

import errno
import os
import tracemalloc

import numpy as np
import pytest

import penstock as tf
from penstock.checkpoint.bundle import BundleReader
from penstock.checkpoint.bundle_writer import BundleWriter
from penstock.checkpoint.data_file import DataFile
from support.checkpoints import files, saved


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
def test_save_and_restore(tmp_path, use_resource, sharded, version):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=np.arange(6.0).reshape(2, 3), use_resource=use_resource)
        p = tf.get_variable("p", initializer=np.arange(7), partitioner=tf.fixed_size_partitioner(3), use_resource=use_resource)
        saver = tf.train.Saver(sharded=sharded, write_version=version)
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "model"), global_step=3)
        sess.run([part.assign(tf.zeros_like(part)) for part in [v, *p]])
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [[0, 1, 2], [3, 4, 5]] and sess.run(p.as_tensor()).tolist() == list(range(7))
    assert tf.train.latest_checkpoint(str(tmp_path)) == path and tf.train.checkpoint_exists(path)
    assert dict(tf.train.list_variables(path)) == {"v": [2, 3], "p": [7]}


def test_what_is_kept(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="v")
        saver = tf.train.Saver(max_to_keep=2)
        sess.run(tf.global_variables_initializer())
        for step in (1, 2, 3, 2, 10):
            saver.save(sess, str(tmp_path / "model"), global_step=step, write_meta_graph=False)
        assert [os.path.basename(path) for path in saver.last_checkpoints] == ["model-2", "model-10"]
        assert files(tmp_path) == ["checkpoint"] + [f"model-{step}.{end}" for step in (10, 2) for end in ("data-00000-of-00001", "index")]
        another = tf.train.Saver(max_to_keep=1)
        another.recover_last_checkpoints(saver.last_checkpoints)
        another.save(sess, str(tmp_path / "model"), global_step=11, write_meta_graph=False)
        another.save(sess, str(tmp_path / "model"), global_step=12, write_meta_graph=False)
        assert another.last_checkpoints == [str(tmp_path / "model-11"), str(tmp_path / "model-12")]


def test_one_in_some_hours_stays(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="v")
        saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=0)
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            saver.save(sess, str(tmp_path / "model"), global_step=step, write_meta_graph=False, write_state=True)
    assert len([name for name in files(tmp_path) if name.endswith(".index")]) == 4


def test_keep_all(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="v")
        saver = tf.train.Saver(max_to_keep=0, pad_step_number=True)
        sess.run(tf.global_variables_initializer())
        for step in range(7):
            saver.save(sess, str(tmp_path / "model"), global_step=step, write_meta_graph=False)
        assert saver.last_checkpoints == []
    assert sum(name.endswith(".index") for name in files(tmp_path)) == 7 and "model-00000006.index" in files(tmp_path)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-00000006")


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="v")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, "folder/model")
        tf.train.Saver(save_relative_paths=True).save(sess, str(tmp_path / "other" / "model"))
        tf.train.Saver().save(sess, "model")
    assert 'model_checkpoint_path: "model"' in (tmp_path / "folder" / "checkpoint").read_text()
    assert 'model_checkpoint_path: "model"' in (tmp_path / "other" / "checkpoint").read_text()
    assert tf.train.latest_checkpoint("folder") == "folder/model" and tf.train.latest_checkpoint(".") == "./model"
    (tmp_path / "other").rename(tmp_path / "moved")
    assert tf.train.latest_checkpoint("moved") == "moved/model"


# --- which variables -------------------------------------------------------------------------------------------------

def test_other_names_and_reshape(tmp_path):
    path = saved(tmp_path, one=[1.0, 2.0, 3.0, 4.0], two=[5.0])
    with tf.Graph().as_default(), tf.Session() as sess:
        square = tf.Variable([[0.0, 0.0], [0.0, 0.0]], name="square")
        resource = tf.get_variable("resource", [2, 2], use_resource=True)
        tf.train.Saver({"one": square}, reshape=True).restore(sess, path)
        tf.train.Saver({"one": resource}, reshape=True, restore_sequentially=True).restore(sess, path)
        assert sess.run(square).tolist() == sess.run(resource).tolist() == [[1, 2], [3, 4]]


def test_arguments(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match="No variables to save"):
            tf.train.Saver()
        empty = tf.train.Saver(allow_empty=True)
        assert empty.save(sess, str(tmp_path / "empty")) is None
        empty.restore(sess, "nothing")
        deferred = tf.train.Saver(defer_build=True)
        v = tf.Variable(1.0, name="v")
        with pytest.raises(RuntimeError, match="build"):
            deferred.save(sess, str(tmp_path / "model"))
        deferred.build()
        sess.run(v.initializer)
        saver = tf.train.Saver([v], filename="some")
        with pytest.raises(ValueError, match="path components"):
            saver.save(sess, str(tmp_path / "model"), latest_filename="a/b")
        with pytest.raises(ValueError, match="collides"):
            saver.save(sess, str(tmp_path / "checkpoint"))
        with pytest.raises(TypeError, match="Session"):
            saver.save("session", str(tmp_path / "model"))
        with pytest.raises(ValueError, match="None"):
            saver.restore(sess, None)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(sess, str(tmp_path / "nowhere"))
        for wrong in ({"c": tf.constant(1.0)}, [tf.constant(1.0)], 3):
            with pytest.raises(TypeError, match="ariable"):
                tf.train.Saver(wrong)
        with pytest.raises(ValueError, match="two names"):
            tf.train.Saver({"a": v, "b": v})
        with pytest.raises(ValueError, match="same name"):
            tf.train.Saver([v, v])
        with pytest.raises(ValueError, match="deferred"):
            tf.train.Saver([v], defer_build=True)


def test_errors_name_what_is_wrong(tmp_path):
    path = saved(tmp_path, **{"layer/kernel": [[1.0, 2.0]], "number": 3})
    with tf.Graph().as_default(), tf.Session() as sess:
        missing = tf.Variable([[0.0]], name="layer/kernels")
        with pytest.raises(tf.errors.NotFoundError, match=r"Key layer/kernels not found in checkpoint .*model.*layer/kernel"):
            tf.train.Saver([missing]).restore(sess, path)
        for use_resource in (False, True):
            wrong = tf.get_variable(f"wrong{use_resource}", [3], use_resource=use_resource)
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"mismatch(.|\n)*\b1, ?2\b") as caught:
                tf.train.Saver({"layer/kernel": wrong}).restore(sess, path)
            assert "3" in str(caught.value)
        other_type = tf.get_variable("other_type", [], tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="number; expected dtype float32 does not equal original dtype int32"):
            tf.train.Saver({"number": other_type}).restore(sess, path)


def test_damage_is_reported_and_nothing_is_restored(tmp_path):
    path = saved(tmp_path, a=[1.0, 2.0], b=[3.0])
    data = tmp_path / "model.data-00000-of-00001"
    contents = bytearray(data.read_bytes())
    contents[-1] ^= 1
    data.write_bytes(contents)
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = tf.Variable([0.0, 0.0], name="a"), tf.Variable([0.0], name="b")
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.DataLossError, match=r"model\.data-00000-of-00001, tensor b"):
            tf.train.Saver([a, b]).restore(sess, path)
        assert sess.run(a).tolist() == [0, 0]


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = saved(tmp_path, v=[1.0, 2.0])
    before = files(tmp_path)

    def full(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(DataFile, "write", full)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left on device"):
        saved(tmp_path, v=[3.0, 4.0])
    assert files(tmp_path) == before and tf.train.load_variable(path, "v").tolist() == [1, 2]


def test_saving_again_while_a_restored_value_is_held(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.zeros(1000), name="v")
        saver, add = tf.train.Saver(), tf.assign_add(v, np.ones(1000))
        sess.run(v.initializer)
        for number in range(1, 4):
            held = sess.run(add)
            path = saver.save(sess, str(tmp_path / "model"))
            assert tf.train.load_variable(path, "v").tolist() == held.tolist() == [number] * 1000


def test_large_variables_are_not_copied(tmp_path):
    """While 32 MB are saved, or read, hardly any memory is needed beside them."""
    value = np.ones(4 << 20)
    tracemalloc.start()
    try:
        with BundleWriter(str(tmp_path / "model")) as writer:
            writer.add("v", value)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
        tracemalloc.reset_peak()
        assert len(BundleReader(str(tmp_path / "model")).read("v")) == len(value)
        assert tracemalloc.get_traced_memory()[1] < value.nbytes + (2 << 20)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("imported", [False, True])
def test_a_sharded_save_that_fails_leaves_nothing(tmp_path, monkeypatch, imported):
    """One device finds the disk full; what the other one has written would keep it full."""
    add = BundleWriter.add

    def fail(self, name, *args):
        if name == "v1":
            raise OSError(errno.ENOSPC, "No space left on device")
        add(self, name, *args)

    monkeypatch.setattr(BundleWriter, "add", fail)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        for index in range(2):
            with tf.device(f"/cpu:{index}"):
                tf.Variable(1.0, name=f"v{index}")
        saver = tf.train.Saver(sharded=True)
        if imported:
            saver = tf.train.Saver(saver_def=saver.as_saver_def())
        sess.run(tf.global_variables_initializer())
        (tmp_path / "model_temp_of_others").mkdir()
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        assert files(tmp_path) == ["model_temp_of_others"]
        monkeypatch.undo()
        assert saver.save(sess, str(tmp_path / "model"), write_meta_graph=False) == tf.train.latest_checkpoint(str(tmp_path))
