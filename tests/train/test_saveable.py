"""Saveable objects: what is saved beside variables."""
from __future__ import annotations

import penstock as tf
from penstock.train.saver_builder import BaseSaverBuilder


def test_saveable_objects(tmp_path):
    class Pair(BaseSaverBuilder.SaveableObject):
        """Two variables, of which the second is saved negated."""

        def __init__(self, one, two):
            spec = BaseSaverBuilder.SaveSpec
            self.one, self.two = one, two
            super().__init__(one, [spec(one.value(), "", "pair/one"), spec(lambda: -two.value(), "", "pair/two", tf.float32, "")], "pair")

        def restore(self, restored_tensors, restored_shapes):
            return tf.group(self.one.assign(restored_tensors[0]), self.two.assign(-restored_tensors[1]))

    with tf.Graph().as_default(), tf.Session() as sess:
        one, two = tf.Variable([1.0], collections=[]), tf.Variable([2.0], collections=[])
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, Pair(one, two))
        saver = tf.train.Saver()
        sess.run([one.initializer, two.initializer])
        path = saver.save(sess, str(tmp_path / "model"))
        assert tf.train.load_variable(path, "pair/two").tolist() == [-2]
        sess.run([one.assign([0.0]), two.assign([0.0])])
        saver.restore(sess, path)
        assert sess.run([one, two]) == [[1.0], [2.0]]
