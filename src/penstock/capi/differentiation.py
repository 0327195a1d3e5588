"""Gradients."""
from __future__ import annotations

from typing import Any

from penstock.capi.entries import entry
from penstock.capi.handles import GraphState
from penstock.capi.imports import unchanged_if_it_fails
from penstock.capi.memory import tensors, write_output
from penstock.errors import InvalidArgumentError
from penstock.gradients import gradients
from penstock.graph.convert import to_tensor


@entry
def TF_AddGradients(graph: GraphState, y: Any, ny: int, x: Any, nx: int, dx: Any, dy: Any) -> None:
    """Adds the nodes that compute d(sum of y)/dx."""
    TF_AddGradientsWithPrefix(graph, None, y, ny, x, nx, dx, dy)


@entry
def TF_AddGradientsWithPrefix(graph: GraphState, prefix: str | None, y: Any, ny: int, x: Any, nx: int, dx: Any, dy: Any) -> None:
    """The same, under a scope of one's own."""
    ys, xs = tensors(y, ny, "y"), tensors(x, nx, "x")
    weights = tensors(dx, ny, "dx") if dx else None
    if prefix is not None and any(name.startswith(f"{prefix}/") for name in graph.graph._by_name):
        raise InvalidArgumentError(None, None, f"prefix [{prefix}] conflicts with existing node in the graph")
    with graph.lock, unchanged_if_it_fails(graph.graph), graph.graph.as_default():
        made = gradients(ys, xs, weights, name="gradients" if prefix is None else prefix)
        for tensor, gradient in zip(xs, made):
            if gradient is None:
                raise InvalidArgumentError(None, None, f"Cannot compute the partial derivative for node '{tensor.op.name}' as it's unreachable from "
                                                       "the output node(s).")
        dense = [to_tensor(gradient) for gradient in made]
    for index, gradient in enumerate(dense):
        write_output(dy[index], gradient)
