"""Every pass is checked after it has run: one that breaks a program is found out, and named."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import penstock as tf
from penstock.ops.array.shape_ops import Shape
from penstock.ops.constant import Const
from penstock.program import passes
from penstock.program.ir import Node, Program
from penstock.program.passes import PassOptions, legality
from support.programs import nodes_after, types_after

pytestmark = pytest.mark.process


ALL = PassOptions(debugging=True, recompute_cheap=True, recompute_hinted=True)


def optimised(options: PassOptions = PassOptions()) -> list[Node]:
    """What passes leave of a step with a feed, a fetch, a target, and a variable that is read after it was written."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], "x")
        v = tf.Variable([1.0, 2.0], use_resource=True, name="v")
        with tf.control_dependencies([tf.group(v.assign_add(x, name="write"), name="together")]):
            y = tf.exp(v.read_value(), name="y")
        return nodes_after([y], [x], options, [tf.square(x, name="target").op])


def named(program: Program, text: str) -> Node:
    return next(node for node in program.nodes if text in node.name)


def without(program: Program, node: Node) -> Program:
    for other in program.nodes:
        other.control = [each for each in other.control if each is not node]
    return replace(program, nodes=[each for each in program.nodes if each is not node])


def loses_a_target(program: Program) -> Program:
    return without(program, named(program, "target"))


def loses_an_effect(program: Program) -> Program:
    return without(program, next(node for node in program.nodes if node.definition.type == "AssignAddVariableOp"))


def loses_a_wait(program: Program) -> Program:
    for node in program.nodes:
        if node.definition.type == "ReadVariableOp":
            node.control = []
    return program


def loses_a_feed(program: Program) -> Program:
    return replace(program, args=program.args[1:])


def loses_a_fetch(program: Program) -> Program:
    return replace(program, fetches=[])


def fetches_another_type(program: Program) -> Program:
    other = Node(Const, "other", {"value": np.int32(0), "dtype": tf.int32}, device=program.nodes[0].device)
    return replace(program, nodes=[*program.nodes, other], fetches=[(other, 0)])


def gives_another_type(program: Program) -> Program:
    other = Node(Const, "other", {"value": np.int32(0), "dtype": tf.int32}, device=program.nodes[0].device)
    named(program, "target").inputs = [(other, 0)]
    return replace(program, nodes=[other, *program.nodes])


def turns_the_order(program: Program) -> Program:
    return replace(program, nodes=program.nodes[::-1])


def repeats_a_node(program: Program) -> Program:
    return replace(program, nodes=[*program.nodes, program.nodes[-1]])


def uses_a_node_that_is_gone(program: Program) -> Program:
    return without(program, named(program, "_arg"))


def asks_for_too_many_outputs(program: Program) -> Program:
    target = named(program, "target")
    target.inputs = [(target.inputs[0][0], 1)]
    return program


BROKEN = [loses_a_target, loses_an_effect, loses_a_wait, loses_a_feed, loses_a_fetch, fetches_another_type, gives_another_type, turns_the_order,
          repeats_a_node, uses_a_node_that_is_gone, asks_for_too_many_outputs]
PASSES = ["strip_debugging", "drop_loop_variables", "remove_identities", "merge_lookups", "fold_constants", "simplify", "merge_factors",
          "simplify_layout", "choose_layout", "merge_equal", "remove_waits", "recompute", "update_early"]


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_pass_is_caught(broken: Callable, monkeypatch):
    assert optimised()
    monkeypatch.setattr(passes, "simplify", broken)
    with pytest.raises(AssertionError, match=f"the pass {broken.__name__} broke the program"):
        optimised()


@pytest.mark.parametrize("name", PASSES)
def test_whichever_pass_it_is(name, monkeypatch):
    def broken(program: Program, **_: object) -> Program:
        return loses_a_wait(program)

    monkeypatch.setattr(passes, name, broken)
    with pytest.raises(AssertionError, match=r"the pass broken broke the program: .* does not wait for write"):
        optimised(ALL)


def test_checked_after_each_pass(monkeypatch):
    checked = []
    monkeypatch.setattr(legality.Promises, "check", lambda self, program: checked.append(program))
    optimised(ALL)
    assert len(checked) == len(PASSES) == len([*passes._passes(ALL), *passes._last(ALL)])


def test_what_somebody_waits_for_is_not_folded_away():
    """A shape is known without what it is the shape of; who waits for it waits for that all the same."""
    v, x = tf.Variable([1.0, 2.0], use_resource=True), tf.placeholder(tf.float32, [])
    shape = Shape(v.assign_add([1.0, 1.0]))
    with tf.control_dependencies([shape]):
        late = tf.exp(x)
    assert "Shape" in types_after([late], [x])
    assert "Shape" not in types_after([shape * 2])
