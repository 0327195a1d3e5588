"""Without what only watches, if it is asked for: assertions wait and do nothing, checks and prints hand on their input."""
from __future__ import annotations

from penstock.ops.flow.misc import NoOp
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk


def strip_debugging(program: Program) -> Program:
    """Without nodes whose op is there to find mistakes."""
    walk = Walk(program)
    for node in program.nodes:
        if node.definition.watches and not node.output_dtypes:
            node.control = list(dict.fromkeys(node.before))
            node.definition, node.attrs, node.inputs = NoOp, {}, []

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        if not node.definition.watches or walk.stays(node) or not walk.is_plain(node, node.inputs[0]):
            return None
        return [node.inputs[0]]
    return walk.rewrite(visit)
