"""``tf.contrib.checkpoint``: what is saved through containers comes back, and what they refuse."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process
checkpoint = tf.contrib.checkpoint


def _model(values):
    root = checkpoint.Checkpointable()
    first, second, third, hidden = (tf.Variable(value, use_resource=True) for value in values)
    root.items = checkpoint.List([first])
    root.items += [checkpoint.Mapping(x=second)]
    root.named = checkpoint.UniqueNameTracker()
    root.named.track(third, "layer")
    root.hidden = checkpoint.NoDependency(hidden)
    return root, [first, second, third, hidden]


def test_containers_come_back_and_hidden_attributes_stay(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        root, variables = _model([1.0, 2.0, 3.0, 4.0])
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(root=root).save(str(tmp_path / "model"), session=session)
    with tf.Graph().as_default(), tf.Session() as session:
        root, variables = _model([0.0, 0.0, 0.0, 0.0])
        status = tf.train.Checkpoint(root=root).restore(path)
        session.run(tf.global_variables_initializer())
        status.assert_consumed().initialize_or_restore(session)
        np.testing.assert_array_equal(session.run(variables), [1.0, 2.0, 3.0, 0.0])


def test_lists_only_grow_and_hold_objects():
    with tf.Graph().as_default():
        items = checkpoint.List([tf.Variable(1.0)])
        with pytest.raises(TypeError, match="only grows"):
            items[0] = tf.Variable(2.0)
        with pytest.raises(ValueError, match="Only trackable objects"):
            items.append(1.0)
        assert len(items + [tf.Variable(3.0)]) == 2


def test_arrays_come_back_with_their_names(tmp_path):
    arrays = checkpoint.NumpyState()
    arrays.x = np.arange(6.0).reshape(2, 3)
    arrays.count = np.int64(7)
    saved = tf.train.Checkpoint(arrays=arrays)
    with tf.Session() as session:
        path = saved.save(str(tmp_path / "model"), session=session)
        arrays.x[1, 1] = 40.0
        saved.restore(path)
        np.testing.assert_array_equal(arrays.x, np.arange(6.0).reshape(2, 3))
        other = tf.train.Checkpoint(arrays=checkpoint.NumpyState())
        other.restore(path).assert_consumed()
    np.testing.assert_array_equal(other.arrays.x, np.arange(6.0).reshape(2, 3))
    assert other.arrays.count == 7 and not hasattr(other.arrays, "y")
    with pytest.raises(NotImplementedError, match="not a NumPy array"):
        arrays.y = tf.Variable(1.0)


def test_python_state_is_a_string(tmp_path):
    class Words(checkpoint.PythonStateWrapper):
        def __init__(self, words):
            self.words = words

        def serialize(self):
            return " ".join(self.words)

        def deserialize(self, string_value):
            self.words = string_value.decode().split()

    words = Words(["a", "b"])
    with imperative():
        root = tf.train.Checkpoint(words=words)
        path = root.save(str(tmp_path / "model"))
        words.words = []
        root.restore(path).assert_consumed()
    assert words.words == ["a", "b"]
    with pytest.raises(TypeError, match="abstract"):
        checkpoint.PythonStateWrapper()


def _halves(value):
    """A variable whose halves are saved by two objects."""
    variable = tf.Variable(value, use_resource=True)

    def fill(buffer):
        buffer["left"], buffer["right"] = tf.split(variable, 2)

    parts = checkpoint.split_dependency(["left", "right"], [tf.float32] * 2, fill,
                                        lambda buffer: variable.assign(tf.concat([buffer["left"], buffer["right"]], 0)), device="/cpu:0")
    return variable, tf.train.Checkpoint(left=parts["left"], right=parts["right"]), parts


def test_values_that_are_saved_together(tmp_path):
    with tf.Session() as session:
        variable, root, parts = _halves([1.0, 2.0, 3.0, 4.0])
        session.run(tf.global_variables_initializer())
        path = root.save(str(tmp_path / "model"), session=session)
        assert {"left/.ATTRIBUTES/VARIABLE_VALUE", "right/.ATTRIBUTES/VARIABLE_VALUE"} <= {name for name, _ in tf.train.list_variables(path)}
        session.run(variable.assign(tf.zeros([4])))
        root.restore(path).assert_consumed()
        np.testing.assert_array_equal(session.run(variable), [1.0, 2.0, 3.0, 4.0])
        tf.train.Checkpoint(one=parts["left"]).write(str(tmp_path / "one"), session=session)
        with pytest.raises(AssertionError, match="must be saved together"):
            tf.train.Checkpoint(one=parts["left"]).write(str(tmp_path / "one"), session=session)


def _templates():
    def inner():
        return tf.get_variable("v", [2], initializer=tf.ones_initializer())

    inside = tf.make_template("inside", inner)
    return tf.make_template("outside", lambda: inside() + tf.get_variable("w", [2], initializer=tf.zeros_initializer()))


def test_templates_hold_their_variables(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        template = _templates()
        template()
        session.run([variable.assign([5.0, 6.0]) for variable in tf.global_variables()])
        path = tf.train.Checkpoint(t=template).save(str(tmp_path / "model"), session=session)
        assert [name for name, _ in tf.train.list_variables(path) if name.startswith("t/")] == [
            "t/inside/v/.ATTRIBUTES/VARIABLE_VALUE", "t/w/.ATTRIBUTES/VARIABLE_VALUE"]
    with tf.Graph().as_default(), tf.Session() as session:
        template = _templates()
        total = template()
        tf.train.Checkpoint(t=template).restore(path).initialize_or_restore(session)
        np.testing.assert_array_equal(session.run(total), [10.0, 12.0])
