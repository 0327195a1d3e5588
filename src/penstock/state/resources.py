"""What outlives a step: the values of variables, and the table of named resources of a task.

A ``Ref`` holds one variable's value. The contract that lets values travel without copies: an array that was handed out by ``read`` never
changes. So a write goes into the buffer itself only while it has no other holder, and into a private copy otherwise. Other holders are known from
its reference count: a view of an array holds the array, a value in flight and a value that was fetched hold it too.

A kernel that needs a value only while it computes something else from it (a gather, a shape, a native region) *borrows* it. A write waits for
borrowers, so that it need not copy a large table while a few rows are being taken out of it. It waits no longer than the copy would take: two
kernels that borrow and write each other's variables lose some time, but cannot deadlock.
"""
from __future__ import annotations

import collections
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock.errors import FailedPreconditionError, InvalidArgumentError, KernelError, NotFoundError
from penstock.graph import dtypes
from penstock.graph.dtypes import DType

DEFAULT_CONTAINER = "localhost"
_COPIED = 1e9  # bytes per second, of a copy into fresh memory


class Ref:
    """The holder of a variable's value; ``value`` is None until the first assignment.

    ``lock`` guards reads and writes; it may be taken around several of them (an optimizer that updates two variables together).

    >>> from penstock.graph import dtypes
    >>> ref = Ref("v", dtypes.float32)
    >>> ref.assign(np.zeros(2, np.float32))
    >>> seen = ref.read()
    >>> ref.mutable()[0] = 5
    >>> seen.tolist(), ref.read().tolist()
    ([0.0, 0.0], [5.0, 0.0])
    """

    __slots__ = ("__weakref__", "_awaited", "_borrowers", "dtype", "lock", "name", "value")

    def __init__(self, name: str, dtype: DType) -> None:
        self.name, self.dtype = name, dtype.base_dtype
        self.value: np.ndarray | None = None
        self.lock = threading.RLock()
        self._borrowers: list[None] = []  # its length counts: append and pop need no lock
        self._awaited: threading.Event | None = None  # of a writer that waits for borrowers

    @property
    def initialized(self) -> bool:
        """True if there is a value."""
        return self.value is not None

    def read(self) -> np.ndarray:
        """The current value, never to be written to; FailedPreconditionError if there is none."""
        with self.lock:
            if self.value is None:
                raise self._uninitialized_error()
            return self.value

    def borrow(self) -> np.ndarray:
        """The current value, for a moment: drop the array and all views of it, then call ``give_back``. Wait for nothing in between."""
        with self.lock:
            if self.value is None:
                raise self._uninitialized_error()
            self._borrowers.append(None)
            return self.value

    def give_back(self) -> None:
        """Ends one ``borrow``."""
        self._borrowers.pop()
        awaited = self._awaited
        if awaited is not None:
            awaited.set()

    def lend(self, function: Callable[..., Any], *operands: Any) -> Any:
        """``function(value, *operands)``, whose result must not share memory with the value."""
        value = [self.borrow()]
        try:
            return function(value.pop(), *operands)  # this frame keeps no reference
        finally:
            self.give_back()

    def extents(self) -> tuple[int, ...]:
        """The shape of the value."""
        with self.lock:
            if self.value is None:
                raise self._uninitialized_error()
            return self.value.shape

    def assign(self, array: Any) -> None:
        """Makes a copy of ``array`` the value, in the old buffer if it fits and has no other holder."""
        array = np.asarray(array, self.dtype.np)
        with self.lock:
            if self.value is not None and self.value.shape == array.shape and self._alone():
                np.copyto(self.value, array)
            else:
                self.value = np.array(array, order="C", copy=True)

    def mutable(self) -> np.ndarray:
        """The value as an array that may be written in place; what was handed out before does not change.

        Hold ``lock`` while writing, and drop the array afterwards: as long as it lives, the next write makes a copy.
        """
        with self.lock:
            if self.value is None:
                raise self._uninitialized_error()
            if not self._alone():
                self.value = self.value.copy()
            return self.value

    def apply(self, function: Callable[..., Any], *operands: Any) -> None:
        """``value = function(value, *operands)`` for a NumPy ufunc, in place if possible and in one pass either way."""
        with self.lock:
            if self.value is None:
                raise self._uninitialized_error()
            function(self.value, *operands, out=self.value) if self._alone() else self._replace(function, operands)

    def _alone(self) -> bool:
        """True if the value has no other holder, or only borrowers that soon gave it back. The lock is held, so that no new holder can come."""
        assert self.value is not None
        if self._borrowers and sys.getrefcount(self.value) > _SOLE_HOLDER:
            self._await_borrowers(self.value.nbytes / _COPIED)
        return sys.getrefcount(self.value) <= _SOLE_HOLDER

    def _await_borrowers(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._awaited = returned = threading.Event()  # before the count is read: a borrower that gives back from now on sets it
        while self._borrowers and returned.wait(end - time.monotonic()):
            returned.clear()
        self._awaited = None

    def _replace(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        assert self.value is not None
        fresh = np.empty_like(self.value)
        function(self.value, *operands, out=fresh)
        self.value = fresh

    def clear(self) -> None:
        """Forgets the value."""
        with self.lock:
            self.value = None

    def _uninitialized_error(self) -> KernelError:
        return KernelError(FailedPreconditionError, f"Attempting to use uninitialized value {self.name}",
                           hint="run tf.global_variables_initializer() (or the variable's own initializer) in this session first")

    def __repr__(self) -> str:
        state = "uninitialized" if self.value is None else f"shape={self.value.shape}"
        return f"<Ref {self.name!r} {self.dtype.name} {state}>"


def _sole_holder_count() -> int:
    """What ``sys.getrefcount(self.value)`` says when ``self`` alone holds the value: the interpreter's own references are counted with it."""
    probe = Ref("probe", dtypes.float32)
    probe.value = np.zeros(())
    return sys.getrefcount(probe.value)


_SOLE_HOLDER = _sole_holder_count()


class _ForeignAccess(KernelError, AttributeError):
    """The refusal of a foreign resource; one that only asks what a value is (``hasattr``) learns that it is nothing known."""


class ForeignResource:
    """A resource of another device, as its handle names it: whatever is asked of it is refused."""

    def __init__(self, device: str, container: str, name: str, kind: str, here: str) -> None:
        self.place, self._here = (device, container, name, kind), here

    def __getattr__(self, attribute: str) -> Any:
        device, _, name, _ = self.place
        raise _ForeignAccess(InvalidArgumentError, f"Trying to access resource {name} located in device {device} from device {self._here}",
                             hint="run the operation under the tf.device of its resource")


def dereference(value: Any) -> Any:
    """The value of a variable that comes as a reference; any other value as it is."""
    return value.read() if isinstance(value, Ref) else value


def held_value(value: Any) -> Any:
    """``dereference`` for one who only looks: None if the variable has no value yet, and no wait for those who write it."""
    return value.value if isinstance(value, Ref) else value


class Resources:
    """The named resources of one task: variables, queues, tables, ... , in containers that can be cleared one by one."""

    def __init__(self, new_variable: Callable[[str, DType], Ref] = Ref) -> None:
        self._lock = threading.Lock()
        self._table: dict[tuple[str, str, str], Any] = {}
        self._dropped: collections.deque[Any] = collections.deque()  # what ``drop`` was given while the table was in use
        self._new_variable = new_variable
        self._on_devices: dict[str, Resources] = {}  # of all devices but the task's first

    def on(self, device: str, new_variable: Callable[[str, DType], Ref] = Ref) -> Resources:
        """The resources of another device of the task, whose variables ``new_variable`` makes; they are cleared with these."""
        with self._lock:
            return self._on_devices.setdefault(device, Resources(new_variable))

    def lookup_or_create(self, container: str, name: str, kind: str, factory: Callable[[], Any]) -> Any:
        """The resource of this name; ``factory`` makes it the first time. Only one thread makes it."""
        key = (container or DEFAULT_CONTAINER, name, kind)
        resource = self._table.get(key)
        if resource is not None:
            return resource
        with self._lock:
            if key not in self._table:
                self._table[key] = factory()
            resource = self._table[key]
        self._remove_dropped()
        return resource

    def variable(self, container: str, name: str, kind: str, dtype: DType) -> Ref:
        """The variable of this name, made without a value the first time."""
        resource = self._table.get((container or DEFAULT_CONTAINER, name, kind))  # in each step, of each variable
        return resource if resource is not None else self.lookup_or_create(container, name, kind, lambda: self._new_variable(name, dtype))

    def temporary(self, name: str, dtype: DType) -> Ref:
        """A variable that is in no table."""
        return self._new_variable(name, dtype)

    def get(self, container: str, name: str, kind: str) -> Any:
        """The resource of this name, or None."""
        return self._table.get((container or DEFAULT_CONTAINER, name, kind))

    def lookup(self, container: str, name: str, kind: str) -> Any:
        """The resource of this name; NotFoundError if there is none."""
        with self._lock:
            resource = self._table.get((container or DEFAULT_CONTAINER, name, kind))
        if resource is None:
            raise KernelError(NotFoundError, f"Resource {container or DEFAULT_CONTAINER}/{name}/{kind} does not exist.")
        return resource

    def find(self, resource: Any) -> tuple[str, str, str] | None:
        """(container, name, kind) of a resource; None if it is not in the table."""
        with self._lock:
            return next((key for key, value in self._table.items() if value is resource), None)

    def remove(self, resource: Any) -> bool:
        """Takes a resource out of the table; False if it is not there."""
        with self._lock:
            return self._remove(resource)

    def _remove(self, resource: Any) -> bool:
        keys = [key for key, value in self._table.items() if value is resource]
        for key in keys:
            del self._table[key]
        return bool(keys) or any([other.remove(resource) for other in self._on_devices.values()])

    def drop(self, resource: Any) -> None:
        """``remove`` for finalizers, which may run in a thread that is at the table: the resource leaves it as soon as it can."""
        self._dropped.append(resource)
        self._remove_dropped()

    def _remove_dropped(self) -> None:
        while self._dropped and self._lock.acquire(blocking=False):
            try:
                while self._dropped:
                    resource = self._dropped.popleft()
                    if not self._remove(resource):
                        for other in self._on_devices.values():
                            other.drop(resource)
            finally:
                self._lock.release()

    def clear(self, containers: Iterable[str] | None = None) -> None:
        """Forgets the resources of these containers; of all, if none is named. The ``release`` of those that have one (threads to stop) is called."""
        chosen = set(containers or ())
        with self._lock:
            gone = [value for key, value in self._table.items() if not chosen or key[0] in chosen]
            self._table = {key: value for key, value in self._table.items() if chosen and key[0] not in chosen}
            others = list(self._on_devices.values())
        for resource in gone:
            if hasattr(resource, "release"):
                resource.release()
        for other in others:
            other.clear(chosen)

    def items(self) -> list[tuple[tuple[str, str, str], Any]]:
        """((container, name, kind), resource) of all that are in the table, and on other devices."""
        with self._lock:
            own, others = list(self._table.items()), list(self._on_devices.values())
        return own + [item for other in others for item in other.items()]

    def __len__(self) -> int:
        return len(self._table)
