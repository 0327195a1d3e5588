"""If and While as TensorFlow 2 writes them where it knows that the functions have no effects of their own; they run as the others do."""
from __future__ import annotations

from typing import Any

from penstock.graph.attrs import FUNC, TYPE, TYPES
from penstock.graph.opdef import OpDef, op
from penstock.ops.flow.functional import SHAPES, If, While


def _stateless(of: OpDef, signature: str, **declared: Any) -> OpDef:
    """Registers the stateless form of an op."""
    body = {"__doc__": f"{of.__doc__} The functions have no effects.", "__module__": __name__, "passes_references": True, "repeats": of.repeats,
            "shape": of.shape, "kernel": of.kernel, "native": of.native, "gradient": of.gradient}
    return op(f"Stateless{of.type}", signature, **declared)(type(f"Stateless{of.type}", (), body))


StatelessIf = _stateless(If, "cond: Tcond, input: Tin -> output: Tout", Tcond=TYPE, Tin=TYPES, Tout=TYPES, then_branch=FUNC,
                         else_branch=FUNC, output_shapes=SHAPES)
StatelessWhile = _stateless(While, "input: T -> output: T", T=TYPES, cond=FUNC, body=FUNC, output_shapes=SHAPES,
                            parallel_iterations=10)
