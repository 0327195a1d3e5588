"""``tf.test``: the test case, its comparisons, numeric gradients."""
from __future__ import annotations

import unittest

import numpy as np
import pytest

import penstock as tf
from penstock.testing.local_devices import list_local_devices
from support.process import python


class TestCaseItself(tf.test.TestCase):
    """Runs as a test case of a program would."""

    def test_each_test_has_its_graph_and_seeds(self):
        self.assertEqual(len(tf.get_default_graph().get_operations()), 0)
        self.assertEqual((tf.get_default_graph().seed, np.random.randint(1000)), (87654321, 539))

    def test_sessions(self):
        with self.test_session() as first, self.cached_session() as second:
            self.assertIs(first, second)
            self.assertAllEqual(tf.constant([1, 2]) + 1, [2, 3])
        with self.session() as third:
            self.assertIsNot(first, third)
        with self.test_session(graph=tf.Graph()) as fourth:
            self.assertIs(fourth.graph, tf.get_default_graph())
        self.assertAllEqual(self.evaluate({"a": tf.constant(3)})["a"], 3)

    def test_close(self):
        self.assertAllClose([1.0, np.nan], [1.0 + 1e-8, np.nan])
        self.assertAllClose({"a": [1.0], "b": [[1], [2, 3]]}, {"a": [1.0], "b": [[1], [2, 3]]})
        self.assertAllCloseAccordingToType(np.float16([1.0]), np.float16([1.0005]))
        self.assertNotAllClose([1.0], [1.1])
        self.assertNear(1.0, 1.4, 0.5)
        self.assertArrayNear([1.0], [1.1], 0.2)
        self.assertNDArrayNear(np.ones(2), np.ones(2), 1e-9)

    def test_equal_and_order(self):
        self.assertAllEqual([b"a", "b"], np.array(["a", "b"]))
        self.assertAllEqual([np.nan], [np.nan])
        self.assertNotAllEqual([1], [2])
        self.assertAllGreater([2, 3], 1)
        self.assertAllLessEqual([2, 3], 3)
        self.assertAllInRange([1, 2], 1, 2)
        self.assertAllInSet([1, 2], {1, 2, 3})
        self.assertDTypeEqual(np.float32(1), tf.float32)

    def test_failures_tell_where(self):
        with self.assertRaisesRegex(AssertionError, r"1 of 2 elements fail(.|\n)*at \(1,\).*2\.1"):
            self.assertAllClose([1.0, 2.0], [1.0, 2.1])
        for left, right in [([1], [1, 2]), ({"a": 1}, {"b": 1}), ({"a": 1}, [1]), ([[1], [2, 3]], [[1], [2, 4]])]:
            with self.assertRaises(AssertionError):
                self.assertAllClose(left, right)

    def test_tensors_devices_protos(self):
        self.assertShapeEqual(np.ones((2, 3)), tf.constant(1.0, shape=[2, 3]))
        self.assertDeviceEqual("/cpu:0", "/device:CPU:0")
        self.assertProtoEquals("allow_soft_placement: true", tf.ConfigProto(allow_soft_placement=True))
        with self.assertRaises(AssertionError):
            self.assertProtoEquals("", tf.ConfigProto(allow_soft_placement=True))

    def test_op_errors(self):
        with self.session() as session, self.assertRaisesOpError("must feed"):
            session.run(tf.placeholder(tf.float32, [2]))
        with self.assertRaises(AssertionError), self.assertRaisesWithPredicateMatch(ValueError, "text"):
            raise ValueError("other")
        with self.assertRaises(AssertionError), self.assertRaisesWithPredicateMatch(ValueError, lambda error: True):
            pass

    def test_threads(self):
        thread = self.checkedThread(self.fail, args=("inside",))
        thread.start()
        with self.assertRaisesRegex(AssertionError, "inside"):
            thread.join()

    def test_temporary_folder(self):
        self.assertTrue(tf.gfile.IsDirectory(self.get_temp_dir()))

    def test_gradients(self):
        with self.session():
            x = tf.constant([1.0, 2.0])
            theoretical, numeric = tf.test.compute_gradient(x, [2], x * x, [2], x_init_value=np.array([1.0, 3.0]))
            self.assertAllClose(theoretical, np.diag([2.0, 6.0]))
            self.assertAllClose(theoretical, numeric, atol=1e-2)
            self.assertLess(tf.test.compute_gradient_error(x, [2], x * x, [2]), 1e-2)


def test_test_session_is_not_a_test():
    assert "test_session" not in unittest.defaultTestLoader.getTestCaseNames(tf.test.TestCase)


def test_gradients_need_a_session():
    x = tf.constant([1.0])
    with pytest.raises(ValueError, match="default session"):
        tf.test.compute_gradient(x, [1], x * x, [1])


def test_the_machine_has_cpus():
    assert [(device.name, device.device_type) for device in list_local_devices()] == [("/device:CPU:0", "CPU")]
    assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda() and tf.test.gpu_device_name() == ""


def test_main():
    program = """
        import penstock as tf
        class T(tf.test.TestCase):
            def testGood(self):
                self.assertEquals(1, 1)
            def testBad(self):
                self.fail("bad")
        if __name__ == "__main__":
            tf.test.main()
    """
    result = python(program, check=False)
    assert result.returncode == 1 and "Ran 2 tests" in result.stderr and "failures=1" in result.stderr


def test_benchmark(capsys):
    with tf.Session() as session:
        measured = tf.test.Benchmark().run_op_benchmark(session, tf.constant(1.0) + 1.0, min_iters=3, name="add")
    assert measured["iters"] == 3 and measured["wall_time"] > 0 and "add iters: 3" in capsys.readouterr().out


def test_equal_graph_defs():
    def graph_def(*values):
        with tf.Graph().as_default() as graph:
            for value in values:
                tf.constant(value, name=f"c{value}")
        return graph.as_graph_def()

    tf.test.assert_equal_graph_def(graph_def(1, 2), graph_def(2, 1))
    for other in (graph_def(1), tf.GraphDef()):
        with pytest.raises(AssertionError, match="nodes differ"):
            tf.test.assert_equal_graph_def(graph_def(1, 2), other)


def test_a_cluster_in_this_process():
    workers, servers = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        v = tf.Variable(2.0)
    with tf.Session(workers[0].target, graph=v.graph) as session:
        session.run(v.initializer)
    with tf.Session(workers[1].target, graph=v.graph) as session:
        assert session.run(v) == 2.0
    for server in (*workers, *servers):
        server.stop()
