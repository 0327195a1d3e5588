"""Values that cannot travel between tasks: lists of tensors and other variants, and handles of TensorArrays, which live for one step."""
from __future__ import annotations

from penstock.graph import dtypes
from penstock.program.ir import Node, Program


def variant_groups(program: Program, arrays: bool = False) -> list[list[Node]]:
    """The nodes that each list of tensors, or other variant, goes through; with ``arrays`` also those that use a TensorArray."""
    group_of: dict[Node, list[Node]] = {}
    for node in program.nodes:
        for producer, index in node.inputs:
            dtype = producer.output_dtypes[index].base_dtype
            if dtype is dtypes.variant or (arrays and dtype is dtypes.resource and producer.definition.array_role):
                mine, other = group_of.setdefault(node, [node]), group_of.setdefault(producer, [producer])
                if mine is not other:
                    mine += other
                    group_of.update(dict.fromkeys(other, mine))
    return list({id(group): group for group in group_of.values()}.values())
