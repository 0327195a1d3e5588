"""Branches that a fed value decides: the operations of the branch run in the place of the conditional, and the other branch is not there.

Programs feed a bool that says whether they train (``tf.placeholder(tf.bool)``, the learning phase of Keras), and every normalisation and dropout asks
for it. A step is planned anew for each value of such a feed, and native code then sees one program without conditionals.
"""
from __future__ import annotations

from typing import Any

from penstock.graph.dtypes import bool_
from penstock.graph.function import FuncGraph
from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program, expand
from penstock.program.passes.walk import Walk, constant_of, is_pure

_MOST = 3  # feeds that decide: each doubles the number of plans


def deciding_feeds(program: Program) -> tuple[int, ...]:
    """The numbers of the feeds that choose branches, by themselves or by logic; none if there are too many."""
    if not any(node.definition.branch is not None for node in program.nodes) or program.has_frames:
        return ()
    behind: dict[Node, set[int]] = {arg: {number} for number, arg in enumerate(program.args) if arg.output_dtypes == [bool_]}
    deciding: set[int] = set()
    for node in program.nodes:
        if node.definition.branch is not None:
            deciding |= behind.get(node.inputs[0][0], set())
        elif _is_logic(node) and all(producer in behind or producer.definition is Const for producer, _ in node.inputs):
            behind[node] = set().union(*[behind.get(producer, set()) for producer, _ in node.inputs])
    return tuple(sorted(deciding)) if len(deciding) <= _MOST else ()


def take_branches(program: Program, decided: dict[int, Any]) -> Program:
    """The program for these values of some feeds, by their numbers, which are scalars; also without branches that constants decide."""
    walk = Walk(program)
    known: dict[Node, Any] = {program.args[number]: value for number, value in decided.items()}

    def function_of(node: Node) -> tuple[FuncGraph, list[Edge]] | None:
        if _is_logic(node):
            inputs = [known.get(edge[0], constant_of(edge)) for edge in node.inputs]
            if all(value is not None for value in inputs):
                known[node] = node.definition.bind(node, None)(*inputs)
        elif node.definition.branch is not None:
            predicate = known.get(node.inputs[0][0], constant_of(node.inputs[0]))
            function = None if predicate is None else node.definition.branch(node.attrs, predicate)
            if isinstance(function, FuncGraph) and function.signature is None:  # one of a library may be called twice, under the same names
                return function, node.inputs[1:]
        return None

    return walk.sweep(expand(program, function_of))


def _is_logic(node: Node) -> bool:
    """Does it compute one bool from others, and nothing else?"""
    return bool(node.inputs) and node.output_dtypes == [bool_] and is_pure(node) and not node.definition.needs_context
