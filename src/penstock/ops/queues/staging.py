"""Staging operations. The state is a ``penstock.state.staging.StagingArea`` or ``StagingMap``, found by name: there is no handle."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import Attr, type_list
from penstock.graph.opdef import op
from penstock.graph.shape import unknown_shape
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import SHARING
from penstock.state import staging

_LIMITS: dict[str, Any] = {"capacity": Attr("int", 0, minimum=0), "memory_limit": Attr("int", 0, minimum=0), **SHARING}
_FULL = {**_LIMITS, "dtypes": type_list(1)}
_BARE = {**_LIMITS, "dtypes": type_list(0)}


class _Asking:
    """An op that asks a staging area for something, or empties it."""

    stateful = True
    gradient = None


class _Moving(_Asking):
    """An op that puts an element into a staging area, or takes one, and waits until it can."""

    blocking = cancellable = True

    def shape(dtypes):
        return [unknown_shape() for _ in dtypes]


# --- first in, first out ---------------------------------------------------------------------------------------------

def _area(ctx: Any, container: str, shared_name: str, capacity: int, memory_limit: int) -> staging.StagingArea:
    name = shared_name or ctx.op.name
    return ctx.resources.lookup_or_create(container, name, "StagingArea", lambda: staging.StagingArea(name, capacity, memory_limit))


@op("Stage", "values: dtypes ->", **_FULL)
class Stage(_Moving):
    """Adds an element to a staging area."""

    shape = nothing()

    def kernel(ctx, container, shared_name, capacity, memory_limit, values):
        _area(ctx, container, shared_name, capacity, memory_limit).put(ctx.step, tuple(values))
        return ()


@op("Unstage", "-> values: dtypes", **_FULL)
class Unstage(_Moving):
    """Takes an element out of a staging area."""

    def kernel(ctx, container, shared_name, capacity, memory_limit):
        return _area(ctx, container, shared_name, capacity, memory_limit).get(ctx.step)


@op("StagePeek", "index: int32 -> values: dtypes", **_FULL)
class StagePeek(_Moving):
    """The element at a place of a staging area, which stays there."""

    ranks = {"index": 0}

    def kernel(ctx, container, shared_name, capacity, memory_limit, index):
        return _area(ctx, container, shared_name, capacity, memory_limit).peek(ctx.step, int(index))


@op("StageSize", "-> size: int32", **_BARE)
class StageSize(_Asking):
    """The number of elements in a staging area."""

    shape = fixed()

    def kernel(ctx, container, shared_name, capacity, memory_limit):
        return np.int32(len(_area(ctx, container, shared_name, capacity, memory_limit)))


@op("StageClear", "->", **_BARE)
class StageClear(_Asking):
    """Removes all elements from a staging area."""

    shape = nothing()

    def kernel(ctx, container, shared_name, capacity, memory_limit):
        _area(ctx, container, shared_name, capacity, memory_limit).clear()
        return ()


# --- under keys: each op for areas without and with an order of the keys -----------------------------------------------

def _map(ctx: Any, container: str, shared_name: str, capacity: int, memory_limit: int, ordered: bool) -> staging.StagingMap:
    name, kind = shared_name or ctx.op.name, "OrderedMapStaging" if ordered else "MapStaging"
    return ctx.resources.lookup_or_create(container, name, kind, lambda: staging.StagingMap(name, capacity, memory_limit, ordered))


class _MapStage(_Moving):
    ranks = {"key": 0, "indices": 1}
    shape = nothing()

    def kernel(ctx, container, shared_name, capacity, memory_limit, dtypes, key, indices, values, _ordered):
        if len(indices) != len(values):
            raise invalid_argument(f"{len(indices)} indices for {len(values)} values")
        area = _map(ctx, container, shared_name, capacity, memory_limit, _ordered)
        area.put(ctx.step, int(key), indices.tolist(), tuple(values), len(dtypes))
        return ()


@op("MapStage", "key: int64, indices: int32, values: fake_dtypes ->", **_BARE, fake_dtypes=type_list(1))
class MapStage(_MapStage):
    """Adds components of an element under a key."""

    _ordered = False


@op("OrderedMapStage", "key: int64, indices: int32, values: fake_dtypes ->", **_BARE, fake_dtypes=type_list(1))
class OrderedMapStage(_MapStage):
    """Adds components of an element under a key in the order of its keys."""

    _ordered = True


class _MapUnstage(_Moving):
    ranks = {"key": 0, "indices": 1}

    def kernel(ctx, container, shared_name, capacity, memory_limit, key, indices, _ordered):
        return _map(ctx, container, shared_name, capacity, memory_limit, _ordered).get(ctx.step, int(key), indices.tolist())


@op("MapUnstage", "key: int64, indices: int32 -> values: dtypes", **_FULL)
class MapUnstage(_MapUnstage):
    """Takes components of the element of a key."""

    _ordered = False


@op("OrderedMapUnstage", "key: int64, indices: int32 -> values: dtypes", **_FULL)
class OrderedMapUnstage(_MapUnstage):
    """Takes components of the element of a key."""

    _ordered = True


class _MapPeek(_Moving):
    ranks = {"key": 0, "indices": 1}

    def kernel(ctx, container, shared_name, capacity, memory_limit, key, indices, _ordered):
        return _map(ctx, container, shared_name, capacity, memory_limit, _ordered).peek(ctx.step, int(key), indices.tolist())


@op("MapPeek", "key: int64, indices: int32 -> values: dtypes", **_FULL)
class MapPeek(_MapPeek):
    """Components of the element of a key, which stay."""

    _ordered = False


@op("OrderedMapPeek", "key: int64, indices: int32 -> values: dtypes", **_FULL)
class OrderedMapPeek(_MapPeek):
    """Components of the element of a key, which stay."""

    _ordered = True


class _MapUnstageNoKey(_Moving):
    ranks = {"indices": 1}

    def shape(dtypes):
        return [(), *(unknown_shape() for _ in dtypes)]

    def kernel(ctx, container, shared_name, capacity, memory_limit, indices, _ordered):
        key, values = _map(ctx, container, shared_name, capacity, memory_limit, _ordered).get_any(ctx.step, indices.tolist())
        return np.int64(key), *values


@op("MapUnstageNoKey", "indices: int32 -> key: int64, values: dtypes", **_FULL)
class MapUnstageNoKey(_MapUnstageNoKey):
    """Takes components of an element."""

    _ordered = False


@op("OrderedMapUnstageNoKey", "indices: int32 -> key: int64, values: dtypes", **_FULL)
class OrderedMapUnstageNoKey(_MapUnstageNoKey):
    """Takes components of an element in the order of its keys."""

    _ordered = True


class _MapSize(_Asking):
    shape = fixed()

    def kernel(ctx, container, shared_name, capacity, memory_limit, _ordered):
        return np.int32(len(_map(ctx, container, shared_name, capacity, memory_limit, _ordered)))


@op("MapSize", "-> size: int32", **_BARE)
class MapSize(_MapSize):
    """The number of complete elements."""

    _ordered = False


@op("OrderedMapSize", "-> size: int32", **_BARE)
class OrderedMapSize(_MapSize):
    """The number of complete elements."""

    _ordered = True


class _MapIncompleteSize(_Asking):
    shape = fixed()

    def kernel(ctx, container, shared_name, capacity, memory_limit, _ordered):
        return np.int32(_map(ctx, container, shared_name, capacity, memory_limit, _ordered).incomplete_size)


@op("MapIncompleteSize", "-> size: int32", **_BARE)
class MapIncompleteSize(_MapIncompleteSize):
    """The number of incomplete elements."""

    _ordered = False


@op("OrderedMapIncompleteSize", "-> size: int32", **_BARE)
class OrderedMapIncompleteSize(_MapIncompleteSize):
    """The number of incomplete elements."""

    _ordered = True


class _MapClear(_Asking):
    shape = nothing()

    def kernel(ctx, container, shared_name, capacity, memory_limit, _ordered):
        _map(ctx, container, shared_name, capacity, memory_limit, _ordered).clear()
        return ()


@op("MapClear", "->", **_BARE)
class MapClear(_MapClear):
    """Removes all elements."""

    _ordered = False


@op("OrderedMapClear", "->", **_BARE)
class OrderedMapClear(_MapClear):
    """Removes all elements."""

    _ordered = True


MAP_OPS = {
    False: {"stage": MapStage, "unstage": MapUnstage, "peek": MapPeek, "unstage_any": MapUnstageNoKey, "size": MapSize,
            "incomplete_size": MapIncompleteSize, "clear": MapClear},
    True: {"stage": OrderedMapStage, "unstage": OrderedMapUnstage, "peek": OrderedMapPeek, "unstage_any": OrderedMapUnstageNoKey,
           "size": OrderedMapSize, "incomplete_size": OrderedMapIncompleteSize, "clear": OrderedMapClear},
}
