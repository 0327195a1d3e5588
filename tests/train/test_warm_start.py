"""Warm starts: variables, and vocabularies that have changed."""
from __future__ import annotations

import pytest

import penstock as tf
from support.checkpoints import saved


def test_warm_start(tmp_path):
    path = saved(tmp_path, **{"w": [1.0, 2.0], "old/b": [3.0], "rest": [4.0]})
    with tf.Graph().as_default(), tf.Session() as sess:
        w, b, rest = tf.get_variable("w", [2]), tf.get_variable("b", [1], use_resource=True), tf.get_variable("rest", [1], trainable=False)
        tf.train.warm_start(path, var_name_to_prev_var_name={"b": "old/b"})
        sess.run([w.initializer, b.initializer])
        assert sess.run(w).tolist() == [1, 2] and sess.run(b).tolist() == [3]
        tf.train.warm_start(str(tmp_path), vars_to_warm_start=["rest"])
        sess.run(rest.initializer)
        assert sess.run(rest).tolist() == [4]
        with pytest.raises(ValueError, match="not warm-started: other"):
            tf.train.warm_start(path, var_name_to_prev_var_name={"other": "w"})
        with pytest.raises(ValueError, match=r"must be a `list` or `str`.*int"):
            tf.train.warm_start(path, vars_to_warm_start=3)


@pytest.mark.parametrize("parts", [1, 2])
def test_warm_start_with_another_vocabulary(tmp_path, parts):
    (tmp_path / "old").write_text("a\nb\nc\n")
    (tmp_path / "new").write_text("c\nd\na\n")
    path = saved(tmp_path, table=[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.get_variable("table", [4, 2], partitioner=tf.fixed_size_partitioner(parts))
        info = tf.train.VocabInfo(str(tmp_path / "new"), 3, 1, str(tmp_path / "old"), backup_initializer=tf.constant_initializer(9.0))
        tf.train.warm_start(path, var_name_to_vocab_info={"table": info})
        sess.run(tf.global_variables_initializer())
        assert sess.run(tf.convert_to_tensor(table))[:, 0].tolist() == [3, 9, 1, 9]
