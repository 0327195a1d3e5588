"""The program of an entry point as one region of native code, without Python's state.

Variables that no entry point writes are constants. The others are the model's *state*: the region is given their memory. Whatever else Python would
have to do (generators of random numbers, queues, tables, strings) cannot be exported, and is named.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.export.bounded import with_bounds
from penstock.export.failures import CannotExport
from penstock.export.inference import check_assertions, drop_dropout, take_defaults
from penstock.export.quantising import Quantised, quantise_constants
from penstock.graph import dtypes
from penstock.graph.node import Operation, Tensor
from penstock.native.regions.eligibility import folds, has_known_size, why_not_native
from penstock.native.regions.forming import enclose
from penstock.ops.constant import Const, Placeholder
from penstock.program.branches import take_branches
from penstock.program.ir import Edge, Node, Program, RegionBody, prune, reference_source
from penstock.program.passes import PassOptions, optimise
from penstock.program.passes.walk import Walk
from penstock.program.structuring import Unstructured, structured

_FOLDED_BYTES = 1 << 30  # of the results of one node that depends on constants alone: they are computed once, and not in each step


@dataclass(eq=False)
class FrozenVariable:
    """A variable of the model; ``value`` is the one that it has in the session."""

    name: str
    value: np.ndarray


@dataclass(eq=False)
class FrozenStep:
    """What an entry point computes: a region whose arguments are, in this order, what ``sources`` says.

    A source is the position of a feed, or a variable; those that any entry point writes are in ``state``.
    """

    body: RegionBody
    sources: list[int | FrozenVariable]
    state: set[FrozenVariable]
    counts: dict[int, int]  # by the number of an output of which only some rows count: that of the output with their number


def updated_variables(programs: Iterable[Program]) -> set[Operation]:
    """The variables that programs write to."""
    written: set[Operation] = set()
    for program in programs:
        for node in program.nodes:
            definition = node.definition
            if definition.updates:
                for arg, edges in definition.group(node.inputs, node.attrs):
                    if arg.name in definition.updates:
                        written |= {op for edge in edges if (op := _variable_behind(edge)) is not None}
    return written


def variables_of(program: Program) -> list[Operation]:
    """The variables that a program reads or writes."""
    return [node.origin for node in program.nodes if _is_variable(node) and node.origin is not None]


def freeze(fetches: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor], values: dict[Operation, np.ndarray],
           state: dict[Operation, FrozenVariable], quantised: dict[int, Quantised] | None = None) -> FrozenStep:
    """The step of these fetches and targets. ``values`` are those of all variables, ``state`` is what is written by any entry point.

    If ``quantised`` is given, large constants become values of 8 bits, which are noted there.
    """
    program = prune(fetches, targets, feeds)
    _replace_constants(program, values, state)
    take_defaults(program)
    walk, program = Walk(program), check_assertions(program)
    if program.has_frames:
        try:
            program = structured(program)
        except Unstructured as error:
            raise CannotExport([(error.node, f"its loop or conditional is not one that tf.while_loop or tf.cond writes: {error.why}")]) from error
    program, counts = with_bounds(take_branches(walk.sweep(program), {}))
    options = replace(PassOptions(), folded_bytes=_FOLDED_BYTES)
    program = optimise(program, options)
    if any(node.definition.draws for node in program.nodes):
        program = optimise(drop_dropout(program), options)
    if quantised is not None:
        quantise_constants(program, quantised)
    members = _members(program)
    body, edges, _ = enclose(members, program.fetches)
    sources = [_source(edge, program, values, state) for edge in edges]
    return FrozenStep(body, sources, set(state.values()), counts)


def _replace_constants(program: Program, values: dict[Operation, np.ndarray], state: dict[Operation, FrozenVariable]) -> None:
    """Gives variables that are only read, and readings of them, as constants."""
    for node in program.nodes:
        read = node if _is_variable(node) and node.output_dtypes[0].is_ref else None
        if node.definition.snapshot and node.inputs and node.inputs[0][0].output_dtypes[node.inputs[0][1]] is dtypes.resource:
            read = node
        if read is None:
            continue
        operation = _variable_behind((node, 0) if not node.inputs else node.inputs[0])
        if operation is not None and operation not in state and operation in values:
            value = values[operation]
            node.definition, node.inputs, node.control = Const, [], []
            node.attrs, node._dtypes = {"value": value, "dtype": dtypes.as_dtype(value.dtype)}, None


def _is_variable(node: Node) -> bool:
    return not node.inputs and len(node.output_dtypes) == 1 and (node.output_dtypes[0].is_ref or node.output_dtypes[0] is dtypes.resource)


def _variable_behind(edge: Edge) -> Operation | None:
    """The variable whose reference or handle runs along an edge."""
    node, _ = reference_source(edge) or edge
    while node.inputs and (node.definition.aliases or node.definition.forwards_reference):
        node, _ = node.inputs[0]
    return node.origin if _is_variable(node) else None


def _members(program: Program) -> list[Node]:
    """The nodes of the region: all but those that are given. Raises CannotExport."""
    args, folded, sized = set(program.args), set[Node](), set[Node]()
    members, refused = list[Node](), list[tuple[Node, str]]()
    for node in program.nodes:
        if node in args or _is_variable(node) or (node.definition.forwards_reference and reference_source((node, 0), args) is not None):
            continue
        if folds(node, folded):
            folded.add(node)
        elif not has_known_size(node, folded, sized):
            reason = _why_not_frozen(node) or node.note or why_not_native(node)
            if reason:
                refused.append((node, reason))
        members.append(node)
    if refused:
        raise CannotExport(refused)
    return members


def _why_not_frozen(node: Node) -> str:
    """What sets a node apart from those of a session, which has generators and feeds; or nothing."""
    if node.definition is Placeholder:
        return "it is needed, and is not among the feeds"
    return "it draws random numbers from a generator that Python keeps" if node.definition.draws else ""


def _source(edge: Edge, program: Program, values: dict[Operation, np.ndarray], state: dict[Operation, FrozenVariable]) -> int | FrozenVariable:
    node, _ = edge
    if node in program.args:
        return program.args.index(node)
    operation = node.origin
    if operation in state:
        return state[operation]
    assert operation is not None
    if operation not in values:
        raise CannotExport([(node, "what it refers to is not a variable with a value")])
    return FrozenVariable(operation.name, values[operation])


def values_of(session: Any, operations: Iterable[Operation]) -> dict[Operation, np.ndarray]:
    """The values that variables have in a session."""
    readings = {operation: _reading(operation) for operation in operations}
    known = {operation: tensor for operation, tensor in readings.items() if tensor is not None}
    return dict(zip(known, session.run(list(known.values())) if known else []))


def _reading(operation: Operation) -> Tensor | None:
    """A tensor with the value of a variable."""
    handle = operation.outputs[0]
    if handle.dtype.is_ref:
        return handle
    return next((op.outputs[0] for op in handle.consumers() if op.definition.snapshot), None)
