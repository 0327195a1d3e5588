"""Decorators of ``tensorflow.python.framework.test_util``: tests in graphs and imperatively."""
from __future__ import annotations

import unittest

import numpy as np
import pytest

import penstock as tf
from penstock.testing import modes
from support.process import python


def results(cls: type) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(cls).run(result)
    return result


def test_a_test_runs_in_a_graph_and_imperatively():
    seen = []

    class Both(tf.test.TestCase):
        def setUp(self):
            super().setUp()
            self.two = tf.constant(2.0)

        @modes.run_in_graph_and_eager_modes
        def test_product(self):
            seen.append((tf.executing_eagerly(), len(tf.get_default_graph().get_operations()) if not tf.executing_eagerly() else None))
            self.assertAllClose(self.evaluate(self.two * 3.0), 6.0)

        @modes.run_in_graph_and_eager_modes(reset_test=False)
        def test_only_imperatively(self):
            if not tf.executing_eagerly():
                self.skipTest("graphs are left out")
            seen.append("imperative")
            self.assertAllClose(tf.constant(2.0).numpy(), 2.0)

    result = results(Both)
    assert (result.errors, result.failures, result.skipped) == ([], [], [])
    assert sorted(map(str, seen)) == ["(False, 1)", "(True, None)", "imperative"]
    assert not tf.executing_eagerly()


def test_a_failure_in_one_of_the_modes_is_the_tests_failure():
    class Fails(tf.test.TestCase):
        @modes.run_in_graph_and_eager_modes
        def test_no_imperative_style(self):
            self.assertFalse(tf.executing_eagerly())

    assert len(results(Fails).failures) == 1
    assert not tf.executing_eagerly()


def test_classes_of_tests():
    seen = []

    @modes.run_all_in_graph_and_eager_modes
    class All(tf.test.TestCase):
        def test_one(self):
            seen.append(("one", tf.executing_eagerly()))

        def test_two(self):
            seen.append(("two", tf.executing_eagerly()))

    assert results(All).wasSuccessful()
    assert seen == [("one", False), ("one", True), ("two", False), ("two", True)]
    with pytest.raises(ValueError, match="run_all_in_graph_and_eager_modes"):
        modes.run_in_graph_and_eager_modes(All)


def test_tests_of_versions_and_devices():
    class Some(tf.test.TestCase):
        @modes.run_v1_only("sessions")
        def test_first_version(self):
            self.assertFalse(tf.executing_eagerly())

        @modes.run_v2_only
        def test_second_version(self):
            raise AssertionError("not in version 1")

        @modes.run_cuda_only
        def test_cuda(self):
            raise AssertionError("there is no CUDA")

        @modes.skip_if(lambda: True)
        def test_left_out(self):
            raise AssertionError("the condition holds")

        @modes.run_deprecated_v1
        def test_graph(self):
            tf.placeholder(tf.float32)

    result = results(Some)
    assert result.wasSuccessful()
    assert sorted(reason for _, reason in result.skipped) == ["Test is only compatible with v2", "Test requires CUDA GPU"]


def test_nodes_and_orders_of_axes():
    tf.constant(1.0, name="one")
    nodes = modes.assert_ops_in_graph({"one": "Const"}, tf.get_default_graph())
    assert nodes["one"].op == "Const"
    with pytest.raises(ValueError, match="Add vs Const"):
        modes.assert_ops_in_graph({"one": "Add"}, tf.get_default_graph())
    assert modes.get_node_def_from_graph("one", tf.get_default_graph().as_graph_def()).name == "one"
    assert modes.get_node_def_from_graph("two", tf.get_default_graph().as_graph_def()) is None
    assert modes.nhwc_to_nchw([1, 2, 3, 4]) == [1, 4, 2, 3] and modes.nchw_to_nhwc([1, 4, 2, 3]) == [1, 2, 3, 4]
    assert modes.nhwc_to_nchw(tf.constant(np.ones((1, 2, 3, 4, 5)))).shape.as_list() == [1, 5, 2, 3, 4]


def test_combinations_have_names():
    cases = modes.generate_combinations_with_testcase_name(mode=["graph", "eager"], n=[1])
    assert [case["testcase_name"] for case in cases] == ["_test_mode_graph_n_1", "_test_mode_eager_n_1"]


def test_a_program_that_is_imperative_runs_tests_for_graphs():
    done = python("""
        import penstock as tf
        from penstock.testing import modes
        tf.enable_eager_execution()

        class Both(tf.test.TestCase):
            @modes.run_deprecated_v1
            def test_graph(self):
                tf.placeholder(tf.float32)

            @modes.also_run_as_tf_function
            def test_twice(self):
                print("twice", tf.executing_eagerly())

        tf.test.main()""")
    assert done.stdout.count("twice True") == 1 and done.stdout.count("twice False") == 1
