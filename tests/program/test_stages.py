"""The stages of planning: each returns a program and leaves the one that it was given as it was; observers see what goes through."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute.environment import Environment
from penstock.execute.pipeline import Pipeline
from penstock.native.config import config
from penstock.program.devices import local_devices
from penstock.program.stages import Observer, observing

pytestmark = pytest.mark.process


class Shown(Observer):
    """Keeps all that it is shown, with a copy of what it looked like."""

    def __init__(self):
        self.programs, self.parts, self.plans = [], [], []

    def program(self, stage, program):
        self.programs.append((stage, program, description(program.nodes)))

    def partitioned(self, parts):
        self.parts.append((parts, [description(part.nodes) for part in parts.parts]))

    def planned(self, plan, program):
        self.plans.append(plan)


def description(nodes):
    return [(node, node.device, list(node.inputs), list(node.control), dict(node.attrs)) for node in nodes]


@pytest.fixture(params=["off", "eager"])
def pipeline(request, monkeypatch):
    monkeypatch.setattr(config, "mode", request.param)
    return Pipeline(Environment(local_devices(tf.ConfigProto(device_count={"CPU": 2}))))


def build():
    """(x, a loss with constants to fold, equal nodes, a part on another device)"""
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    w = tf.constant(np.ones((8, 4), np.float32)) * 2.0
    with tf.device("/cpu:1"):
        logits = tf.identity(tf.matmul(x, w))
    return x, tf.reduce_sum(tf.exp(logits) + tf.exp(logits), name="loss")


def test_no_stage_changes_what_it_was_given(pipeline):
    shown = Shown()
    pipeline.observers.append(shown)
    x, loss = build()
    placed = pipeline.place(pipeline.prune([loss], [], [x]), pipeline.environment.devices)
    for native in (True, False, True):  # one program serves all plans of a step
        pipeline.pack(placed, native)
    assert [stage for stage, _, _ in shown.programs] == ["pruned", "placed", *["optimised"] * 3] and len(shown.plans) == len(shown.parts) == 3
    for stage, program, before in shown.programs:
        assert description(program.nodes) == before, stage
    for parts, before in shown.parts:
        assert [description(part.nodes) for part in parts.parts] == before
    optimised = [len(program.nodes) for stage, program, _ in shown.programs if stage == "optimised"]
    assert optimised[0] == optimised[2] < optimised[1], "passes found as much to do the second time"


def test_stages_have_nodes_of_their_own(pipeline):
    x, loss = build()
    pruned = pipeline.prune([loss], [], [x])
    placed = pipeline.place(pruned, pipeline.environment.devices)
    optimised = pipeline.optimise(placed)
    parts = pipeline.partition(optimised)
    generations = [set(pruned.nodes), set(placed.nodes), set(optimised.nodes), {node for part in parts.parts for node in part.nodes}]
    for index, nodes in enumerate(generations):
        assert all(nodes.isdisjoint(others) for others in generations[index + 1:])
        reachable = {other for node in nodes for other in node.before}
        assert reachable <= nodes
    assert set(parts.args) <= generations[3] and {node for node, _ in parts.fetches} <= generations[3]


def test_observers_of_the_process_see_every_session():
    shown = Shown()
    with observing(shown), tf.Session() as session:
        session.run(tf.constant(1.0) + 1.0)
    count = len(shown.plans)
    assert count
    with tf.Session() as session:
        session.run(tf.constant(1.0) + 2.0)
    assert len(shown.plans) == count
