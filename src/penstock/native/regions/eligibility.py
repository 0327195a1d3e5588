"""What native code can run: why a node cannot be in a region, and what needs no code because it is known before anything runs."""
from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.graph import dtypes
from penstock.graph.dtypes import QUANTIZED_DTYPES, DType
from penstock.graph.function import FuncGraph
from penstock.graph.opdef import OpDef
from penstock.native.fusion.lowering import why_not
from penstock.native.specialise.generators import is_generator, separate_generators
from penstock.native.specialise.scope import pure
from penstock.program.ir import Node, functions_of, prune, reference_source

_LARGEST = 10_000  # nodes that a conditional or a loop may become


def why_not_native(node: Node) -> str | None:
    """Why the node cannot be in a region; None if it can. (Which shapes it can handle is seen later.)"""
    definition = node.definition
    if definition.touches == "python":
        return "it calls Python"
    if definition.blocking:
        return "it may wait"
    if definition.control_flow:
        return "it is a primitive of control flow"
    functions = functions_of(node)
    if functions and _written_out(functions, {}) > _LARGEST:
        return f"its functions are more than {_LARGEST} nodes where each call is written out"
    for function in functions:
        reason = _why_not_function(function)
        if reason is not None:
            return reason
    if definition.forwards_reference and reference_source((node, 0)) is not None:
        return "it hands on a reference to a variable"
    if _only_waits(node):
        return None
    inputs = [producer.output_dtypes[index] for producer, index in node.inputs]
    native, hands_on = definition.native is not None, definition.repeats or definition.array_role
    special = {dtypes.variant} if native else set()
    special |= QUANTIZED_DTYPES if native or definition.compose is not None else set()
    foreign = [dtype for dtype in inputs if not _plain(dtype) and dtype not in special | {dtypes.resource}]
    foreign += [dtype for dtype in node.output_dtypes if not _plain(dtype) and dtype not in special | ({dtypes.resource} if hands_on else set())]
    if foreign:
        return f"native code does not cover {foreign[0].base_dtype.name}"
    if native or definition.reduces or definition.keeps_order or definition.broadcasts or definition.compose is not None:
        return None
    if definition.lower is None or not (definition.elementwise or definition.updates):
        return "its op has no native form"
    return None if definition.updates else why_not(definition, node.attrs, [dtype.base_dtype for dtype in inputs])


def _written_out(functions: Iterable[FuncGraph], known: dict[FuncGraph, int]) -> int:
    """How many nodes functions have if each call in them is replaced by what is called; functions that share functions have many more than ops."""
    for function in functions:
        if function not in known:
            known[function] = len(function._ops) + sum(_written_out(functions_of(op), known) for op in function._ops)
    return sum(known[function] for function in functions)


def _only_waits(node: Node) -> bool:
    """Does the node nothing but wait for others, as ``tf.group`` does? In a region everything is in order without it."""
    return not node.inputs and not node.output_dtypes and pure(node.definition)


def _why_not_function(function: FuncGraph) -> str | None:
    """Why not all that a function does can be native."""
    program = prune(function.outputs, (), function.inputs)
    folded: set[Node] = set()
    sized: set[Node] = set()
    for node in separate_generators(program.nodes):
        if folds(node, folded):
            folded.add(node)
        elif node not in program.args and not is_generator(node) and not has_known_size(node, folded, sized):
            reason = why_not_native(node)
            if reason is not None:
                return f"of {node.name} ({node.definition.type}) in it: {reason}"
    return None


def _plain(dtype: DType) -> bool:
    base = dtype.base_dtype
    return base.is_floating or base.is_bool or (base.is_integer and not base.is_quantized)


# --- what is known before anything runs ------------------------------------------------------------------------------

def folds(node: Node, folded: Collection[Node]) -> bool:
    """Does the node compute with shapes and constants alone? ``folded``: nodes before it that do."""
    definition = node.definition
    if not _is_function(definition) or node.control or not all(_plain(dtype) for dtype in node.output_dtypes):
        return False
    return definition.shape_only or all(producer in folded for producer, _ in node.inputs)


def has_known_size(node: Node, folded: Collection[Node], sized: set[Node]) -> bool:
    """Is what the node computes known once the sizes of arrays of tensors are? Then it joins ``sized``."""
    producers = [producer for producer, _ in node.inputs]
    follows = any(each in sized for each in producers) and all(each in sized or each in folded for each in producers)
    follows = follows and _is_function(node.definition)
    if follows or node.definition.array_role == "size":
        sized.add(node)
        return True
    return False


def is_known_ahead(node: Node, known: dict[Node, bool] | None = None) -> bool:
    """Is what a node computes known once shapes, and the sizes of arrays of tensors, are? ``known``: what was found of others."""
    known = {} if known is None else known
    if node not in known:
        definition = node.definition
        ahead = definition.shape_only or definition.array_role == "size"
        known[node] = ahead or (_is_function(definition) and all(is_known_ahead(producer, known) for producer, _ in node.inputs))
    return known[node]


def _is_function(definition: OpDef) -> bool:
    """Does an op give what its inputs and attributes say, and nothing else?"""
    return pure(definition) or definition.copies
