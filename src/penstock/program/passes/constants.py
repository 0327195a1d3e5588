"""Constant folding: what depends on constants alone, or on shapes that are known, is computed once, when the plan is made.

A kernel that fails then is left in its place, so that its error comes when it is run, and names it. So is one that makes much of little, such as the
zeros that a variable begins with: the plan would keep them.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType
from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, constant_of, is_pure

_MUCH = 1 << 18  # bytes


def fold_constants(program: Program, limit: int) -> Program:
    """With constants in the place of nodes whose outputs are known and have at most ``limit`` bytes.

    What a node waits for stays, if it waits for inputs that it does not need to be known.
    """
    walk = Walk(program)
    waited = {other for node in program.nodes for other in node.control}

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        if not _may_be_known(node) or not (node in walk.used or node in walk.fetched) or not _may_fold(node, limit):
            return None
        values = None
        if node.definition.static is not None and node not in waited and not any(map(walk.carries_reference, node.inputs)):
            values = _value_from_shapes(node)
        values = values or _kernel_results(node)
        if values is None:
            return None
        made = _constants(node, values)
        nodes.extend(made)
        return [(constant, 0) for constant in made]
    return walk.rewrite(visit)


def _may_be_known(node: Node) -> bool:
    if not node.inputs:
        return False
    if node.definition.static is not None:
        return True
    return all(producer.definition is Const for producer, _ in node.inputs)


def _may_fold(node: Node, limit: int) -> bool:
    if node.origin is None or not is_pure(node) or not node.definition.__module__.startswith("penstock."):
        return False  # users' kernels may do what they like, each time
    sizes = [_bytes(tensor.shape.num_elements(), dtype) for tensor, dtype in zip(node.origin.outputs, node.output_dtypes)]
    given = sum(value.nbytes for value in map(constant_of, node.inputs) if value is not None)
    return bool(sizes) and sum(sizes) <= min(limit, max(given, _MUCH))


def _bytes(elements: int | None, dtype: DType) -> float:
    return math.inf if elements is None else elements * dtype.size


def _value_from_shapes(node: Node) -> list[np.ndarray] | None:
    """The value that the op tells from its inputs' static shapes."""
    definition, origin = node.definition, node.origin
    assert origin is not None and definition.static is not None
    value = definition.static(*definition.arguments(origin._inputs, origin.attrs))
    if value is None or len(node.output_dtypes) != 1 or (np.asarray(value) == -1).any():
        return None
    return [np.asarray(value).astype(node.output_dtypes[0].np)]


def _kernel_results(node: Node) -> list[np.ndarray] | None:
    """What the kernel gives for constant inputs."""
    inputs = [constant_of(edge) for edge in node.inputs]
    if any(value is None for value in inputs) or node.definition.needs_context:
        return None
    try:
        with np.errstate(all="ignore"):
            result = node.definition.bind(node, None)(*inputs)
    except Exception:
        return None  # it will fail again where it is heard of
    return _arrays(node, [result] if len(node.output_dtypes) == 1 else list(result))


def _arrays(node: Node, results: list[Any]) -> list[np.ndarray] | None:
    arrays = [np.asarray(result) for result in results]
    shapes = [tensor.shape for tensor in node.origin.outputs] if node.origin is not None else []
    fits = all(array.dtype == dtype.np and shape.is_compatible_with(array.shape)
               for array, dtype, shape in zip(arrays, node.output_dtypes, shapes))
    return arrays if fits and len(arrays) == len(shapes) else None


def _constants(node: Node, values: list[np.ndarray]) -> list[Node]:
    """A Const per output; it waits for whatever the node and its inputs waited for."""
    waits = [other for producer, _ in node.inputs if producer.definition is Const for other in producer.control]
    control = list(dict.fromkeys([*node.control, *waits]))
    if len(values) == 1:
        return [Node(Const, node.name, {"value": values[0], "dtype": node.output_dtypes[0]}, [], control, node.device, node.origin)]
    return [Node(Const, f"{node.name}/_{index}", {"value": value, "dtype": dtype}, [], list(control), node.device)
            for index, (value, dtype) in enumerate(zip(values, node.output_dtypes))]
