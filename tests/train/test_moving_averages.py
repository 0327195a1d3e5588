"""Moving averages of one variable by several calls; where those of tensors are."""
from __future__ import annotations

import penstock as tf

tf.install_as_tensorflow(era=False)
from tensorflow.python.training.moving_averages import assign_moving_average  # noqa: E402 (after the alias)


def test_several_averages_move_one_variable():
    with tf.variable_scope("one") as scope:
        variable = tf.Variable(1.0, name="v")
        for _ in range(3):
            assign_moving_average(variable, 0.0, 0.99)
    assert [each.op.name for each in scope.global_variables()] == ["one/v", *(
        f"one/one/v/{name}{suffix}" for suffix in ("", "_1", "_2") for name in ("biased", "local_step"))]


def test_the_average_of_a_variable_of_an_operation_is_beside_it():
    with tf.device("/job:a"):
        variable = tf.raw_ops.VariableV2(shape=[1], dtype=tf.float32, name="w")
    average = tf.train.ExponentialMovingAverage(0.25)
    with tf.device("/job:b"):
        average.apply([variable, total := variable + 1.0])
    assert average.average(variable).op.colocation_groups() == [b"loc:@w"]
    assert average.average(total).device == "/job:b"
