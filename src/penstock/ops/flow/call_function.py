"""A function called by one node."""
from __future__ import annotations

from penstock.graph.attrs import FUNC, type_list
from penstock.graph.opdef import op


@op("_CallFunction", "args: Tin -> output: Tout", f=FUNC, Tin=type_list(), Tout=type_list())
class CallFunction:
    """The outputs of a function, which says itself what its gradient is: see ``imperative/whole_calls.py``."""

    stateful = True  # the function may be
    sees_unused = True  # most outputs are there for the gradient alone

    def shape(f):
        return [tensor.shape for tensor in f.outputs]

    def kernel(args, ctx, f):
        return tuple(ctx.call(f, list(args)))

    def gradient(op, *dys):
        return op.attrs["f"].differentiate(op, dys)
