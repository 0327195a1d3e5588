"""Iterators of pipelines, four kinds: one-shot, initializable, reinitializable (``from_structure``) and feedable (``from_string_handle``)."""
from __future__ import annotations

import warnings
from typing import Any

from penstock.data import structure
from penstock.data.iterator_saveable import PlaceInCheckpoint
from penstock.errors import OutOfRangeError
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, name_scope
from penstock.ops.data.iterator import IteratorFromStringHandleV2, IteratorGetNext, IteratorToStringHandle, IteratorV2, MakeIterator

_MANY_CALLS = 32
_MANY_CALLS_WARNING = (
    "An unusually high number of `Iterator.get_next()` calls was detected. Each call adds an operation to the graph: call it once, before the "
    "training loop, and run its result again and again.")


class Iterator(structure.Structured, PlaceInCheckpoint):
    """A place in a dataset; ``get_next()`` gives the next element when it runs."""

    def __init__(self, iterator_resource: Tensor, initializer: Operation | None, output_types: Any = None, output_shapes: Any = None,
                 output_classes: Any = None, *, specs: Any = None) -> None:
        self._iterator_resource, self._initializer = iterator_resource, initializer
        self._structure = structure.from_legacy(output_types, output_shapes, output_classes) if specs is None else specs
        self._string_handle = IteratorToStringHandle(iterator_resource)
        self._calls = 0

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None) -> Iterator:
        """An iterator for any dataset of this structure; ``make_initializer(dataset)`` says which."""
        specs = structure.from_legacy(output_types, output_shapes, output_classes)
        resource = IteratorV2(container="", shared_name=shared_name or "", **structure.output_attrs(specs))
        return Iterator(resource, None, specs=specs)

    @staticmethod
    def from_string_handle(string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Iterator:
        """The iterator that a string names when it runs: feed the value of another iterator's ``string_handle()``."""
        specs = structure.from_legacy(output_types, output_shapes, output_classes)
        handle = to_tensor(string_handle, dt.string)
        return Iterator(IteratorFromStringHandleV2(handle, **structure.output_attrs(specs)), None, specs=specs)

    @property
    def initializer(self) -> Operation:
        """The operation that starts it."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """An operation that starts it at the beginning of ``dataset``."""
        with name_scope(name, "make_initializer") as scope:
            structure.check_fits(self._structure, dataset._structure, "The dataset does not have the iterator's structure")
            with colocate_with(self._iterator_resource):
                made: Operation = MakeIterator(dataset._variant_tensor, self._iterator_resource, name=scope)
        return made

    def get_next(self, name: str | None = None) -> Any:
        """The next element, in the structure of the dataset: one element for all fetches of a step."""
        self._calls += 1
        if self._calls > _MANY_CALLS:
            warnings.warn(_MANY_CALLS_WARNING, stacklevel=2)
        components = IteratorGetNext(self._iterator_resource, name=name, **structure.output_attrs(self._structure))
        return structure.decode(self._structure, components)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that names this iterator, for ``from_string_handle``."""
        return self._string_handle if name is None else IteratorToStringHandle(self._iterator_resource, name=name)


class EagerIterator(structure.Structured, PlaceInCheckpoint):
    """An iterator of imperative style: Python's ``for`` goes over it, and so does ``get_next``, which ends in OutOfRangeError."""

    def __init__(self, dataset: Any) -> None:
        self._structure = dataset._structure
        self._dataset = dataset  # what it goes over lives as long as it does
        self._iterator_resource = IteratorV2(container="", shared_name="", **structure.output_attrs(self._structure))
        MakeIterator(dataset._variant_tensor, self._iterator_resource)

    def __iter__(self) -> EagerIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next element; OutOfRangeError behind the last one."""
        components = IteratorGetNext(self._iterator_resource, name=name, **structure.output_attrs(self._structure))
        return structure.decode(self._structure, components)
