"""Mutex operations. The state is a ``penstock.state.mutexes.Mutex``."""
from __future__ import annotations

from penstock.errors import invalid_argument
from penstock.graph.opdef import op
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import SHARING, find_or_create, plain
from penstock.state import mutexes


@op("MutexV2", "-> resource: resource", **SHARING)
class MutexV2:
    """A mutex."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, container, shared_name):
        return find_or_create(ctx, "Mutex", container, shared_name, mutexes.Mutex, by_node=True)


@op("MutexLock", "mutex: resource -> mutex_lock: variant")
class MutexLock:
    """Waits for a mutex; what it gives is the lock, which ConsumeMutexLock ends."""

    stateful = blocking = True
    shape = fixed()
    gradient = None

    def kernel(mutex, ctx):
        held = plain(mutex)
        if not isinstance(held, mutexes.Mutex):
            raise invalid_argument(f"Trying to access a resource of the wrong kind: this op cannot use a {type(held).__name__}")
        return held.lock(ctx.step)


@op("ConsumeMutexLock", "mutex_lock: variant ->")
class ConsumeMutexLock:
    """Gives a lock back."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(mutex_lock):
        plain(mutex_lock).consume()
        return ()
