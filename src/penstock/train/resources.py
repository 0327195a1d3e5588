"""Resources that must be created before a graph runs, in collections: ``tensorflow.python.ops.resources``."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.graph import dtypes
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, get_collection, name_scope
from penstock.ops.array.gather import boolean_mask
from penstock.ops.array.pack import stack
from penstock.ops.constant import constant
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.compare import logical_not


class Resource(NamedTuple):
    """A handle, the op that creates what it stands for, and whether that has been done."""

    handle: Any
    create: Any
    is_initialized: Any


def register_resource(handle: Any, create_op: Any, is_initialized_op: Any, is_shared: bool = True) -> None:
    """Adds a resource to the collection of those that tasks share, or of those of this task."""
    add_to_collection(GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """The resources that tasks share."""
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """The resources of this task."""
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(resource_list: list[Any] | None = None, name: str = "report_uninitialized_resources") -> Any:
    """The names of the handles whose resources do not exist yet."""
    resources = shared_resources() + local_resources() if resource_list is None else resource_list
    with name_scope(name):
        if not resources:
            return constant([], dtype=dtypes.string)
        return boolean_mask(constant([each.handle.name for each in resources]), logical_not(stack([each.is_initialized for each in resources])))


def initialize_resources(resource_list: list[Any], name: str = "init") -> Any:
    """An op that creates all of them."""
    return group(*[each.create for each in resource_list], name=name) if resource_list else no_op(name=name)
