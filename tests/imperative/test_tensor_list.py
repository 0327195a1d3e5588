"""TensorArrays of imperative style: lists of values, with gradients; variables that traced functions make."""
from __future__ import annotations

import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process


def test_elements_wait_and_have_gradients():
    with imperative() as graph:
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
            for index in range(3):
                array = array.write(index, x * float(index))
            y = array.stack()
            assert graph.thread.recording.operations, "nothing has run"
        assert y.numpy().tolist() == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]] and int(array.size()) == 3
        assert tape.gradient(y, x).numpy().tolist() == [3.0, 3.0]


def test_all_methods():
    with imperative():
        array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack([[1.0], [2.0], [3.0]])
        assert isinstance(array, tf.TensorArray) and array.read(tf.constant(1)).numpy().tolist() == [2.0] == array.read(1).numpy().tolist()
        assert array.gather([2, 0]).numpy().tolist() == [[3.0], [1.0]] and array.concat().numpy().tolist() == [1.0, 2.0, 3.0]
        array = array.scatter([0, 2], [[7.0], [8.0]])
        assert array.stack().numpy().tolist() == [[7.0], [2.0], [8.0]] and array.identity() is array and array.element_shape == [1]
        assert tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2, 3], [1, 2]).read(1).numpy().tolist() == [2, 3]
        assert tf.TensorArray(tf.float32, 2, element_shape=[2]).write(1, [1.0, 1.0]).stack().numpy().tolist() == [[0.0, 0.0], [1.0, 1.0]]
        assert tf.TensorArray(tf.float32, 0, element_shape=[2]).stack().shape == (0, 2)
        assert tf.map_fn(lambda x: x * 2, tf.range(3)).numpy().tolist() == [0, 2, 4]
        assert tf.scan(lambda a, b: a + b, tf.range(4)).numpy().tolist() == [0, 1, 3, 6]


@pytest.mark.parametrize(("use", "error"), [
    (lambda a: a.read(-1), tf.errors.OutOfRangeError), (lambda a: a.read(2), tf.errors.OutOfRangeError),
    (lambda a: (a.write(0, 1.0).read(0), a.read(0)), tf.errors.InvalidArgumentError), (lambda a: a.write(-1, 1.0), tf.errors.OutOfRangeError),
    (lambda a: a.write(2, 1.0), tf.errors.OutOfRangeError), (lambda a: a.write(0, tf.constant(1)), tf.errors.InvalidArgumentError),
    (lambda a: a.write(0, 1.0).write(1, [1.0]), ValueError), (lambda a: a.unstack([1.0, 2.0, 3.0]), ValueError),
    (lambda a: a.grad("g"), NotImplementedError), (lambda a: tf.function(lambda b: b.stack())(a), NotImplementedError)])
def test_errors(use, error):
    with imperative(), pytest.raises(error):
        use(tf.TensorArray(tf.float32, 2))


def test_a_traced_function_makes_its_variables_once():
    with imperative():
        class Model:
            v = None

            @tf.function
            def __call__(self, x):
                if self.v is None:
                    self.v = tf.Variable(tf.ones([2, 2]) * scale)
                return tf.matmul(x, self.v)

        scale = tf.constant(3.0)
        model = Model()
        assert model(tf.ones([1, 2])).numpy().tolist() == [[6.0, 6.0]] == model(tf.ones([1, 2])).numpy().tolist()
        assert model(tf.ones([3, 2])).shape == (3, 2) and model.v.numpy().tolist() == [[3.0, 3.0], [3.0, 3.0]]

        @tf.function
        def of_argument(x):
            return tf.Variable(x * 2.0)

        with pytest.raises(ValueError, match="depends transitively on a placeholder"):
            of_argument(tf.constant(1.0))


def test_steps_that_are_summarized(tmp_path):
    with imperative():
        step = tf.train.get_or_create_global_step()
        with tf.contrib.summary.create_file_writer(str(tmp_path), flush_millis=1).as_default(), \
                tf.contrib.summary.record_summaries_every_n_global_steps(2):
            for _ in range(4):
                step.assign_add(1)
                tf.contrib.summary.scalar("loss", 0.5)
            tf.contrib.summary.flush()
        events = [event for path in tmp_path.iterdir() for event in tf.train.summary_iterator(str(path))]
        assert [event.step for event in events if event.summary.value] == [2, 4]
