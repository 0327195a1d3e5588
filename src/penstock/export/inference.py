"""What a program is that is not trained any more: defaults that are not fed are their values, and dropout with a rate of 0 drops nothing. What it
asserts is checked, by a number that is not one if the assertion fails: the strings that would be shown stay behind.

A layer of dropout whose rate is fed in training draws random numbers in inference, too, and keeps each element whose number is at least 0: all.
"""
from __future__ import annotations

from collections import defaultdict

import numpy as np

from penstock.graph.dtypes import bool_, float32
from penstock.ops.array.cast import Cast
from penstock.ops.array.fill import Fill
from penstock.ops.array.passing import CheckNumerics
from penstock.ops.constant import Const, Identity, PlaceholderWithDefault
from penstock.ops.flow.misc import AssertOp
from penstock.ops.math.compare import GreaterEqual
from penstock.ops.math.elementwise import Add, AddV2, Mul, RealDiv
from penstock.ops.random.random import RandomUniform
from penstock.program.ir import Node, Program
from penstock.program.passes.walk import constant_of

_ANYTHING = 0.5  # a number of the interval that is drawn from


def take_defaults(program: Program) -> None:
    """Puts the default in place of each placeholder that has one and is not fed."""
    for node in program.nodes:
        if node.definition is PlaceholderWithDefault:
            node.definition, node.attrs = Identity, {"T": node.attrs["dtype"]}


def check_assertions(program: Program) -> Program:
    """Has native code check what is asserted: an entry point returns a status that names the node."""
    nodes = list[Node]()
    for node in program.nodes:
        if node.definition is AssertOp:
            number = Node(Cast, f"{node.name}/number", {"SrcT": bool_, "DstT": float32, "Truncate": False}, [node.inputs[0]], origin=node.origin)
            quotient = Node(RealDiv, f"{node.name}/quotient", {"T": float32}, [(number, 0), (number, 0)], origin=node.origin)
            nodes += [number, quotient]
            node.definition, node.inputs, node._dtypes = CheckNumerics, [(quotient, 0)], None
            node.attrs = {"T": float32, "message": "assertion failed"}
        nodes.append(node)
    return Program(nodes, program.args, program.fetches)


def drop_dropout(program: Program) -> Program:
    """Draws no numbers that are only compared with a bound that all of them reach."""
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in program.nodes:
        for producer, _ in node.inputs:
            users[producer].append(node)
    fetched = {node for node, _ in program.fetches}
    nodes = []
    for node in program.nodes:
        if node.definition is RandomUniform and node not in fetched and _always_kept(node, users, fetched, 0.0):
            value = Node(Const, f"{node.name}/_any", {"value": np.array(_ANYTHING, node.attrs["dtype"].np), "dtype": node.attrs["dtype"]},
                         device=node.device, origin=node.origin)
            node.definition, node.inputs, node._dtypes = Fill, [node.inputs[0], (value, 0)], None
            node.attrs = {"T": node.attrs["dtype"], "index_type": node.attrs["T"]}
            nodes.append(value)
        nodes.append(node)
    return Program(nodes, program.args, program.fetches)


def _always_kept(node: Node, users: dict[Node, list[Node]], fetched: set[Node], least: float) -> bool:
    """Is a value that is at least ``least`` only compared with bounds that are not above it?"""
    return bool(users[node]) and node not in fetched and all(_passes(user, node, users, fetched, least) for user in users[node])


def _passes(user: Node, node: Node, users: dict[Node, list[Node]], fetched: set[Node], least: float) -> bool:
    if len(user.inputs) != 2 or user.inputs[0][0] is not node:
        return False
    bound = constant_of(user.inputs[1])
    if bound is None or bound.size != 1:
        return False
    number = float(bound.reshape(()))
    if user.definition is GreaterEqual:
        return number <= least
    if user.definition is Mul and number > 0:
        return _always_kept(user, users, fetched, least * number)
    return user.definition in (Add, AddV2) and _always_kept(user, users, fetched, least + number)
