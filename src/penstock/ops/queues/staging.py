"""Staging operations. The state is a ``penstock.state.staging.StagingArea`` or ``StagingMap``, found by name: there is no handle."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import Attr, type_list
from penstock.graph.opdef import OpDef, op
from penstock.graph.shape import unknown_shape
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import SHARING
from penstock.state import staging

_LIMITS: dict[str, Any] = {"capacity": Attr("int", 0, minimum=0), "memory_limit": Attr("int", 0, minimum=0), **SHARING}
_FULL = {**_LIMITS, "dtypes": type_list(1)}
_BARE = {**_LIMITS, "dtypes": type_list(0)}
_RANKS = {"index": 0, "key": 0, "indices": 1}
_AREA = ("ctx", "container", "shared_name", "capacity", "memory_limit")


def _area(ctx: Any, container: str, shared_name: str, capacity: int, memory_limit: int) -> staging.StagingArea:
    name = shared_name or ctx.op.name
    return ctx.resources.lookup_or_create(container, name, "StagingArea", lambda: staging.StagingArea(name, capacity, memory_limit))


def _define(op_type: str, signature: str, summary: str, parameters: tuple[str, ...], kernel: Any, shape: Any, blocking: bool,
            **declared: Any) -> OpDef:
    """Registers an op whose kernel takes these parameters."""
    kernel.parameters = parameters
    return op(op_type, signature, **declared)(type(op_type, (), {
        "__doc__": summary, "__module__": __name__, "stateful": True, "blocking": blocking, "heeds_step": blocking,
        "shape": shape, "gradient": None, "kernel": kernel, "ranks": {name: _RANKS[name] for name in parameters if name in _RANKS}}))


def _unknown_list(before: int = 0) -> Any:
    """A shape function: nothing is known of the tensors, which come after ``before`` scalars."""
    def shape(dtypes):
        return [()] * before + [unknown_shape() for _ in dtypes]

    shape.parameters = ("dtypes",)
    return shape


# --- first in, first out ---------------------------------------------------------------------------------------------

def _stage(ctx, container, shared_name, capacity, memory_limit, values):
    _area(ctx, container, shared_name, capacity, memory_limit).put(ctx.step, tuple(values))
    return ()


def _unstage(ctx, container, shared_name, capacity, memory_limit):
    return _area(ctx, container, shared_name, capacity, memory_limit).get(ctx.step)


def _peek(ctx, container, shared_name, capacity, memory_limit, index):
    return _area(ctx, container, shared_name, capacity, memory_limit).peek(ctx.step, int(index))


def _size(ctx, container, shared_name, capacity, memory_limit):
    return np.int32(len(_area(ctx, container, shared_name, capacity, memory_limit)))


def _clear(ctx, container, shared_name, capacity, memory_limit):
    _area(ctx, container, shared_name, capacity, memory_limit).clear()
    return ()


Stage = _define("Stage", "values: dtypes ->", "Adds an element to a staging area.", (*_AREA, "values"), _stage, nothing(), True, **_FULL)
Unstage = _define("Unstage", "-> values: dtypes", "Takes an element out of a staging area.", _AREA, _unstage, _unknown_list(), True, **_FULL)
StagePeek = _define("StagePeek", "index: int32 -> values: dtypes", "The element at a place of a staging area, which stays there.",
                    (*_AREA, "index"), _peek, _unknown_list(), True, **_FULL)
StageSize = _define("StageSize", "-> size: int32", "The number of elements in a staging area.", _AREA, _size, fixed(), False, **_BARE)
StageClear = _define("StageClear", "->", "Removes all elements from a staging area.", _AREA, _clear, nothing(), False, **_BARE)


# --- under keys ------------------------------------------------------------------------------------------------------

def _define_map(prefix: str, ordered: bool) -> dict[str, OpDef]:
    """The operations of ``Map<...>`` or ``OrderedMap<...>``."""
    def area(ctx, container, shared_name, capacity, memory_limit):
        name = shared_name or ctx.op.name
        return ctx.resources.lookup_or_create(container, name, f"{prefix}Staging",
                                              lambda: staging.StagingMap(name, capacity, memory_limit, ordered))

    def stage(ctx, container, shared_name, capacity, memory_limit, dtypes, key, indices, values):
        if len(indices) != len(values):
            raise invalid_argument(f"{len(indices)} indices for {len(values)} values")
        area(ctx, container, shared_name, capacity, memory_limit).put(ctx.step, int(key), indices.tolist(), tuple(values), len(dtypes))
        return ()

    def unstage(ctx, container, shared_name, capacity, memory_limit, key, indices):
        return area(ctx, container, shared_name, capacity, memory_limit).get(ctx.step, int(key), indices.tolist())

    def peek(ctx, container, shared_name, capacity, memory_limit, key, indices):
        return area(ctx, container, shared_name, capacity, memory_limit).peek(ctx.step, int(key), indices.tolist())

    def unstage_any(ctx, container, shared_name, capacity, memory_limit, indices):
        key, values = area(ctx, container, shared_name, capacity, memory_limit).get_any(ctx.step, indices.tolist())
        return np.int64(key), *values

    def size(*arguments):
        return np.int32(len(area(*arguments)))

    def incomplete(*arguments):
        return np.int32(area(*arguments).incomplete_size)

    def clear(*arguments):
        area(*arguments).clear()
        return ()

    order = " in the order of its keys" if ordered else ""
    keyed, some = (*_AREA, "key", "indices"), "key: int64, indices: int32 -> values: dtypes"
    return {
        "stage": _define(f"{prefix}Stage", "key: int64, indices: int32, values: fake_dtypes ->", f"Adds components of an element under a key{order}.",
                         (*_AREA, "dtypes", "key", "indices", "values"), stage, nothing(), True, **_BARE, fake_dtypes=type_list(1)),
        "unstage": _define(f"{prefix}Unstage", some, "Takes components of the element of a key.", keyed, unstage, _unknown_list(), True, **_FULL),
        "peek": _define(f"{prefix}Peek", some, "Components of the element of a key, which stay.", keyed, peek, _unknown_list(), True, **_FULL),
        "unstage_any": _define(f"{prefix}UnstageNoKey", "indices: int32 -> key: int64, values: dtypes", f"Takes components of an element{order}.",
                               (*_AREA, "indices"), unstage_any, _unknown_list(before=1), True, **_FULL),
        "size": _define(f"{prefix}Size", "-> size: int32", "The number of complete elements.", _AREA, size, fixed(), False, **_BARE),
        "incomplete_size": _define(f"{prefix}IncompleteSize", "-> size: int32", "The number of incomplete elements.", _AREA, incomplete, fixed(),
                                   False, **_BARE),
        "clear": _define(f"{prefix}Clear", "->", "Removes all elements.", _AREA, clear, nothing(), False, **_BARE),
    }


MAP_OPS = {False: _define_map("Map", False), True: _define_map("OrderedMap", True)}
