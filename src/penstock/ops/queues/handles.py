"""Handles of named resources: queues, tables, readers, ...

A handle edge carries the resource itself. TensorFlow has most operations on handles twice: with a resource handle, which is what the Python classes
use, and with the string reference of old graphs. ``two_forms`` registers both from one class.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph.opdef import OpDef, op

SHARING: dict[str, Any] = {"container": "", "shared_name": ""}
_numbers = itertools.count()


def two_forms(op_type: str, signature: str, body: type, new_form: str = "{}V2", **declared: Any) -> tuple[OpDef, OpDef]:
    """Registers an operation with string references where the signature says HANDLE, and its ``new_form`` with resources."""
    return (op(op_type, signature.replace("HANDLE", "Ref(string)"), **declared)(body),
            op(new_form.format(op_type), signature.replace("HANDLE", "resource"), **declared)(body))


def find_or_create(ctx: Any, kind: str, container: str, shared_name: str, factory: Callable[[str], Any], by_node: bool = False) -> Any:
    """The resource that a creating node stands for: made once per task by ``factory(name)``, then found again.

    Without a shared name (which is the node's own, if it is shared ``by_node``) it belongs to its node and goes with the session; its own name, which
    messages show, then has a number, as in TensorFlow: ``_0_fifo_queue``.
    """
    shared = shared_name or (ctx.op.name if by_node else "")
    def create() -> Any:
        return factory(shared or f"_{next(_numbers)}_{ctx.op.name}")

    return ctx.resources_for(shared).lookup_or_create(container, shared or ctx.op.name, kind, create)


def plain(handle: Any) -> Any:
    """The resource itself: a handle that was gathered from a list of handles comes in an array."""
    return handle.item() if isinstance(handle, np.ndarray) else handle
