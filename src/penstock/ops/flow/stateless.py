"""If and While as TensorFlow 2 writes them where it knows that the functions have no effects of their own; they run as the others do."""
from __future__ import annotations

from typing import Any

from penstock.graph.attrs import FUNC, SHAPES, TYPE, TYPES
from penstock.graph.opdef import OpDef, op
from penstock.ops.flow.functional import If, While


def _stateless(of: OpDef, signature: str, differentiate: Any, **declared: Any) -> OpDef:
    """Registers the stateless form of an op."""
    body = {"__doc__": f"{of.__doc__} The functions have no effects.", "__module__": __name__, "passes_references": True, "repeats": of.repeats,
            "shape": of.shape, "kernel": of.kernel, "native": of.native, "gradient": differentiate}
    return op(f"Stateless{of.type}", signature, **declared)(type(f"Stateless{of.type}", (), body))


def _if_gradient(op, *dys):
    from penstock.function_gradients import if_gradient  # differentiation stands above the ops
    return if_gradient(op, dys)


def _while_gradient(op, *dys):
    from penstock.function_gradients import while_gradient
    return while_gradient(op, dys)


StatelessIf = _stateless(If, "cond: Tcond, input: Tin -> output: Tout", _if_gradient, Tcond=TYPE, Tin=TYPES, Tout=TYPES, then_branch=FUNC,
                         else_branch=FUNC, output_shapes=SHAPES)
StatelessWhile = _stateless(While, "input: T -> output: T", _while_gradient, T=TYPES, cond=FUNC, body=FUNC, output_shapes=SHAPES,
                            parallel_iterations=10)
