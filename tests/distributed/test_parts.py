"""How a step is cut by task: what travels between the parts, and what need not."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.distributed.parts import split
from penstock.program import ir
from support.cluster import LocalCluster

pytestmark = pytest.mark.process
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
CPU = "/device:CPU:0"


def parts_of(*targets, every_edge=False):
    """{task: {type of a node: its names}} of a step whose operations name their devices in full."""
    parts = split(ir.prune((), targets, ()), every_edge)
    kinds = {}
    for part in parts:
        ir.check(ir.Program(part.nodes, [], []))
        for node in part.nodes:
            kinds.setdefault(part.task, {}).setdefault(node.definition.type, []).append(node.name)
    return kinds


def test_small_constants_are_on_each_task_that_needs_them():
    with tf.device(WORKER + CPU):
        rate = tf.constant(0.5, name="rate")
        table = tf.constant(np.zeros(1000, np.float32), name="table")
        word = tf.constant("word", name="word")
    with tf.device(PS + CPU):
        a, b = rate * 2.0, rate + 1.0
        c, d = tf.negative(table), tf.strings.length(word)
    kinds = parts_of(a.op, b.op, c.op, d.op)
    assert sorted(name for name in kinds[PS]["Const"] if "rate" in name) == ["rate/_copy0"]
    assert [name.split("/")[0] for name in kinds[PS]["_Recv"]] == ["table", "word"], "a large one, and strings, are sent"
    assert len(parts_of(a.op, b.op, c.op, d.op, every_edge=True)[PS]["_Recv"]) == 3


def test_a_constant_that_waits_is_sent():
    with tf.device(PS + CPU):
        first = tf.no_op("first")
    with tf.device(WORKER + CPU), tf.control_dependencies([first]):
        rate = tf.constant(0.5, name="rate")
    with tf.device(PS + CPU):
        result = tf.negative(rate)
    assert [name.split("/")[0] for name in parts_of(result.op)[PS]["_Recv"]] == ["rate"]


def test_the_last_operation_does_not_wait_for_other_tasks():
    with tf.device(PS + CPU):
        variable = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        update = tf.assign_add(variable, 1.0)
    with tf.device(WORKER + CPU):
        with tf.control_dependencies([update]):
            here = tf.no_op("here")
        with tf.control_dependencies([here]):
            after = tf.identity(tf.constant(2.0), "after")
    assert "_Send" not in parts_of(here)[PS]
    assert len(parts_of(after.op)[PS]["_Send"]) == 1, "what comes after it waits"


def test_a_step_ends_when_all_updates_have_been_made():
    cluster = LocalCluster({"ps": 2, "worker": 1})
    variables = []
    for index in range(2):
        with tf.device(f"/job:ps/task:{index}"):
            variables.append(tf.get_variable(f"v{index}", [3], initializer=tf.zeros_initializer()))
    with tf.device("/job:worker/task:0"):
        step = tf.train.MomentumOptimizer(0.5, 0.5).minimize(tf.add_n([tf.reduce_sum(variable) for variable in variables]))
    session = cluster.session(WORKER)
    session.run(tf.global_variables_initializer())
    speed = value = 0.0
    for _ in range(8):
        session.run(step)
        speed = speed * 0.5 + 1.0
        value -= 0.5 * speed
        assert np.array_equal(session.run(variables), np.full((2, 3), value, np.float32))
    session.close()
