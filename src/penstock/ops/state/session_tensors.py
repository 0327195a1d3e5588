"""Tensors that a session keeps between its steps, under handles. ``session/handles.py`` has the functions that programs call."""
from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import TYPE
from penstock.graph.opdef import op
from penstock.ops.common import fixed, nothing, unknown

_KIND = "SessionTensor"
_numbers = itertools.count(1)


class _Kept(NamedTuple):
    """The value behind one handle."""

    value: Any


def _text(handle: Any) -> str:
    handle = np.asarray(handle).item()
    return handle.decode() if isinstance(handle, bytes) else str(handle)


def _find_kept(ctx: Any, handle: str) -> _Kept:
    def missing() -> _Kept:
        raise invalid_argument(f"The tensor with handle '{handle}' is not in the session store.")

    kept: _Kept = ctx.resources_for(shared=False).lookup_or_create("", handle, _KIND, missing)
    return kept


@op("GetSessionHandle", "value: T -> handle: string", T=TYPE)
class GetSessionHandle:
    """Keeps a value in the session; its handle is ``node;number;device``."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(value, ctx):
        handle = f"{ctx.node.name};{next(_numbers)};{ctx.device}"
        ctx.resources_for(shared=False).lookup_or_create("", handle, _KIND, lambda: _Kept(value))
        return np.array(handle.encode(), object)


@op("GetSessionTensor", "handle: string -> value: dtype", dtype=TYPE)
class GetSessionTensor:
    """The value that the session keeps under a handle."""

    stateful = True
    ranks = {"handle": 0}
    shape = unknown()
    gradient = None

    def kernel(handle, ctx, dtype):
        handle = _text(handle)
        value = _find_kept(ctx, handle).value
        if isinstance(value, np.ndarray) and value.dtype != dtype.np:
            raise invalid_argument(f"The tensor with handle '{handle}' is {value.dtype}, not {dtype.name}")
        return value


@op("DeleteSessionTensor", "handle: string ->")
class DeleteSessionTensor:
    """Makes the session forget the value under a handle."""

    stateful = True
    ranks = {"handle": 0}
    shape = nothing()
    gradient = None

    def kernel(handle, ctx):
        ctx.resources_for(shared=False).remove(_find_kept(ctx, _text(handle)))
        return ()
