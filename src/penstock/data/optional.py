"""``tf.data.experimental.Optional``: an element that may be missing."""
from __future__ import annotations

from typing import Any

from penstock.data import structure
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.data.optional import IteratorGetNextAsOptional, OptionalFromValue, OptionalGetValue, OptionalHasValue, OptionalNone


class Optional:
    """An element, or nothing, which is known when it runs."""

    def __init__(self, variant_tensor: Tensor, specs: Any) -> None:
        self._optional, self.value_structure = variant_tensor, specs

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An optional that holds ``value``."""
        with name_scope("optional"):
            element = structure.normalize(value, "value")
            specs = structure.structure_of(element)
            return Optional(OptionalFromValue(structure.encode(specs, element)), specs)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """An optional that holds nothing, where there could be an element of this structure."""
        return Optional(OptionalNone(), value_structure)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether it holds something."""
        tensor: Tensor = OptionalHasValue(self._optional, name=name)
        return tensor

    def get_value(self, name: str | None = None) -> Any:
        """What it holds; InvalidArgumentError if it is nothing."""
        with name_scope(name, "OptionalGetValue", [self._optional]) as scope:
            components = OptionalGetValue(self._optional, name=scope, **structure.output_attrs(self.value_structure))
            return structure.decode(self.value_structure, components)


def get_next_as_optional(iterator: Any) -> Optional:
    """The next element of an iterator, or nothing at the end."""
    specs = iterator.element_spec
    return Optional(IteratorGetNextAsOptional(iterator._iterator_resource, **structure.output_attrs(specs)), specs)
