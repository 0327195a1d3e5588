"""Iterators: a place in the data, kept between steps.

What travels along the handle edges is a ``Position``: the resource that MakeIterator starts and IteratorGetNext moves on.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.errors import DeadlineExceededError, FailedPreconditionError, KernelError, OutOfRangeError, invalid_argument
from penstock.graph.attrs import FUNC, STRING, Attr
from penstock.graph.opdef import op
from penstock.graph.shape import unknown_shape
from penstock.ops.common import fixed, nothing
from penstock.ops.data.dataset_core import OUTPUTS, BoundFunction, Element, Elements, Source, check_element, scalar, text
from penstock.ops.data.dataset_functions import dataset_of
from penstock.ops.data.stored_dataset import dataset_from_bytes, dataset_to_bytes

_FROM_HANDLE = {"output_types": Attr("list(type)", ()), "output_shapes": Attr("list(shape)", ())}
_KIND = "Iterator"
_PATIENCE = 0.1  # seconds between two looks whether the step was cancelled


class Position:
    """Where an iterator of a device stands in which dataset; ``count`` elements have been taken."""

    def __init__(self, container: str, name: str, shared: bool, device: str, types: Any, shapes: Any) -> None:
        self.container, self.name, self.shared, self.device = container, name, shared, device
        self.types, self.shapes = tuple(types), tuple(shapes)
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._elements: Elements = iter(())
        self.count = 0

    @contextmanager
    def _alone(self, step: Any) -> Generator[None, None, None]:
        """Waits until no other step moves the iterator, or this step ends."""
        while not self._lock.acquire(timeout=_PATIENCE):
            if step.cancelled is not None:
                raise step.cancelled
            if step.remaining() == 0.0:
                raise KernelError(DeadlineExceededError, f"Timed out waiting for the iterator '{self.name}', which another step uses.")
        try:
            yield
        finally:
            self._lock.release()

    def start(self, step: Any, source: Source) -> None:
        """Begins an epoch of a dataset."""
        with self._alone(step):
            self._begin(source.for_iterator())

    def start_once(self, step: Any, make: Callable[[], Source]) -> None:
        """Begins with the dataset that ``make`` gives, unless there is one already."""
        if self._source is None:
            with self._alone(step):
                if self._source is None:
                    self._begin(make())

    def _begin(self, source: Source) -> None:
        self._elements = iter(source)
        self._source, self.count = source, 0

    def next(self, step: Any) -> Element:
        """The next element; OutOfRangeError at the end."""
        element = self.next_or_none(step)
        if element is None:
            raise KernelError(OutOfRangeError, "End of sequence")
        return element

    def next_or_none(self, step: Any) -> Element | None:
        """The next element; None at the end."""
        with self._alone(step):
            self._current_dataset("GetNext", "getting the next element")
            return self._take()

    def _take(self) -> Element | None:
        try:
            element = next(self._elements)
        except StopIteration:
            return None
        except Exception:
            self.count += 1  # an element that could not be made was taken too
            raise
        self.count += 1
        return element

    def _current_dataset(self, call: str, purpose: str) -> Source:
        """The dataset; FailedPreconditionError if there is none yet."""
        if self._source is None:
            raise KernelError(FailedPreconditionError, f"{call}() failed because the iterator has not been initialized. Ensure that you have run the "
                                                       f"initializer operation for this iterator before {purpose}.")
        return self._source

    def place(self, step: Any) -> np.ndarray:
        """What must be known to come to this place again: how many elements have been taken, and the seeds of the dataset."""
        with self._alone(step):
            return np.array([self.count, *self._current_dataset("Save", "saving it").all_seeds()], np.int64)

    def dataset(self, step: Any) -> bytes:
        """The dataset as bytes; none if it cannot be stored."""
        with self._alone(step):
            return dataset_to_bytes(self._current_dataset("Save", "saving it"))

    def move_to(self, step: Any, place: np.ndarray) -> None:
        """Starts the dataset again, with the seeds of ``place``: its elements come in the same order. Passes over those that had been taken."""
        count, *seeds = np.asarray(place).reshape(-1).tolist()
        with self._alone(step):
            source = self._current_dataset("Restore", "restoring it")
            wanted = source.all_seeds()
            if seeds and len(seeds) != len(wanted):
                raise invalid_argument(f"the stored place is in a dataset with {len(seeds)} seeds, but that of '{self.name}' has {len(wanted)}")
            self._elements = iter(())  # what it holds, such as the lock of a file, is given back before the dataset starts again
            self._begin(source.again(iter(seeds or wanted)))
            while self.count < count:
                self._pass_over(step, count)

    def _pass_over(self, step: Any, count: int) -> None:
        """Takes one element on the way to the place after ``count``."""
        if step.cancelled is not None:
            raise step.cancelled
        taken = self.count
        try:
            missing = self._take() is None
        except Exception:
            if step.cancelled is not None or self.count == taken:
                raise
            return  # the element could not be made then either
        if missing:
            raise KernelError(OutOfRangeError, f"The dataset has only {self.count} elements, but {count} were taken when its place was stored.")

    @property
    def handle(self) -> bytes:
        """A string that names this resource within its task, or within the session if it is not shared."""
        return f"{self.container}|{'shared' if self.shared else ''}|{self.device}|{self.name}".encode()


def _position(ctx: Any, container: str, shared_name: str, types: Any, shapes: Any) -> Position:
    name, shared = shared_name or ctx.op.name, bool(shared_name)
    position: Position = ctx.resources_for(shared).lookup_or_create(container, name, _KIND, lambda: Position(
        container, name, shared, ctx.device or "", types, shapes))
    if position.types != tuple(types):
        raise invalid_argument(f"the iterator '{name}' has elements of types {_names(position.types)}, not {_names(types)}")
    return position


def _names(types: Any) -> str:
    return ", ".join(dtype.name for dtype in types)


class _Iterator:
    """An iterator that MakeIterator starts."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, shared_name, container, output_types, output_shapes):
        return _position(ctx, container, shared_name, output_types, output_shapes)


Iterator = op("Iterator", "-> handle: resource", shared_name=STRING, container=STRING, **OUTPUTS)(_Iterator)
IteratorV2 = op("IteratorV2", "-> handle: resource", shared_name=STRING, container=STRING, **OUTPUTS)(_Iterator)


@op("OneShotIterator", "-> handle: resource", dataset_factory=FUNC, **OUTPUTS, container="", shared_name="")
class OneShotIterator:
    """An iterator that starts by itself, on the dataset that a function makes, and goes through it once."""

    stateful = calls_later = True
    shape = fixed()
    gradient = None

    def kernel(ctx, dataset_factory, output_types, output_shapes, container, shared_name):
        position = _position(ctx, container, shared_name, output_types, output_shapes)
        position.start_once(ctx.step, lambda: dataset_of(BoundFunction(ctx, dataset_factory, [])()))
        return position


@op("MakeIterator", "dataset: variant, iterator: resource ->")
class MakeIterator:
    """Starts an iterator at the beginning of a dataset."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(dataset, iterator, ctx):
        iterator.start(ctx.step, dataset)
        return ()


class _GetNext:
    """The next element of an iterator. It may have to wait, but not for anything in its own step, so it needs no thread of its own."""

    stateful = True
    gradient = None

    def shape(output_shapes):
        return list(output_shapes)

    def kernel(iterator, ctx, output_types, output_shapes):
        element = iterator.next(ctx.step)
        check_element(element, output_types, output_shapes)
        return element


IteratorGetNext = op("IteratorGetNext", "iterator: resource -> components: output_types", **OUTPUTS)(_GetNext)
IteratorGetNextSync = op("IteratorGetNextSync", "iterator: resource -> components: output_types", **OUTPUTS)(_GetNext)


@op("IteratorToStringHandle", "resource_handle: resource -> string_handle: string")
class IteratorToStringHandle:
    """A string that names an iterator: fed to IteratorFromStringHandle, it chooses it."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(resource_handle):
        return scalar(resource_handle.handle)


class _FromStringHandle:
    """The iterator that a string names."""

    stateful = True
    ranks = {"string_handle": 0}
    shape = fixed()
    gradient = None

    def kernel(string_handle, ctx, output_types, output_shapes):
        container, *rest = text(string_handle).split("|", 3)
        if len(rest) != 3:
            raise invalid_argument(f"Could not parse string_handle as a valid ResourceHandle: {text(string_handle)!r}")
        shared, device, name = rest
        if device != (ctx.device or ""):
            raise invalid_argument(f'Attempted create an iterator on device "{ctx.device}" from handle defined on device "{device}"')
        position = ctx.resources_for(shared).lookup(container, name, _KIND)
        if output_types and position.types != tuple(output_types):
            raise invalid_argument(f"the iterator '{name}' has elements of types {_names(position.types)}, but {_names(output_types)} are expected")
        for mine, wanted in zip(position.shapes, output_shapes):
            if not mine.is_compatible_with(wanted):
                raise invalid_argument(f"the iterator '{name}' has elements of shape {mine}, but {wanted} is expected")
        return position


IteratorFromStringHandle = op("IteratorFromStringHandle", "string_handle: string -> resource_handle: resource", **_FROM_HANDLE)(_FromStringHandle)
IteratorFromStringHandleV2 = op("IteratorFromStringHandleV2", "string_handle: string -> resource_handle: resource", **_FROM_HANDLE)(_FromStringHandle)


@op("SerializeIterator", "resource_handle: resource -> serialized: variant")
class SerializeIterator:
    """The place of an iterator, as numbers."""

    stateful = True
    gradient = None

    def shape():
        return unknown_shape()

    def kernel(resource_handle, ctx):
        return scalar(resource_handle.place(ctx.step))


@op("DeserializeIterator", "resource_handle: resource, serialized: variant ->")
class DeserializeIterator:
    """Moves an iterator, which has been started, to a stored place."""

    stateful = blocking = True
    shape = nothing()
    gradient = None

    def kernel(resource_handle, serialized, ctx):
        resource_handle.move_to(ctx.step, np.asarray(serialized)[()])
        return ()


@op("IteratorGetDevice", "resource: resource -> device: string")
class IteratorGetDevice:
    """The device that an iterator lives on."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(resource):
        return scalar(resource.device.encode())


@op("_IteratorPlace", "iterator: resource -> place: int64")
class IteratorPlace:
    """The place of an iterator, as numbers that a checkpoint can hold."""

    stateful = True
    gradient = None

    def shape():
        return [None]

    def kernel(iterator, ctx):
        return iterator.place(ctx.step)


@op("_MoveIterator", "iterator: resource, place: int64 ->")
class MoveIterator:
    """Moves an iterator, which has been started, to a place, forward or back."""

    stateful = blocking = True
    shape = nothing()
    gradient = None

    def kernel(iterator, place, ctx):
        iterator.move_to(ctx.step, place)
        return ()


@op("_IteratorDataset", "iterator: resource -> dataset: string")
class IteratorDataset:
    """The dataset of an iterator as bytes that a checkpoint can hold; none if it cannot be stored."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(iterator, ctx):
        return scalar(iterator.dataset(ctx.step))


@op("_RestoreIterator", "iterator: resource, place: int64, dataset: string ->")
class RestoreIterator:
    """Moves an iterator to a place in a stored dataset; if none could be stored, in the one that the iterator has been started with."""

    stateful = blocking = calls_later = True
    ranks = {"dataset": 0}
    shape = nothing()
    gradient = None

    def kernel(iterator, place, dataset, ctx):
        stored = np.asarray(dataset)[()]
        if stored:
            iterator.start(ctx.step, dataset_from_bytes(stored, ctx))
        iterator.move_to(ctx.step, place)
        return ()
