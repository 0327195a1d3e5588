"""``tf.contrib.staging.StagingArea``: staging areas as Python objects that add operations to the graph."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, name_scope
from penstock.ops.constant import identity
from penstock.ops.flow.misc import no_op
from penstock.ops.queues import staging as ops
from penstock.ops.queues.components import Components


class BaseStagingArea(Components):
    """What areas in order and under keys share."""

    _unequal_length = "StagingArea {} must be the same length as dtypes"

    def __init__(self, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None, capacity: int = 0,
                 memory_limit: int = 0) -> None:
        self._name = shared_name or default_graph().unique_name(type(self).__name__)
        super().__init__([dt.as_dtype(item) for item in dtypes], shapes, names)
        self._capacity, self._memory_limit = capacity, memory_limit
        with name_scope(f"{self._name}_root"):
            self._root = no_op()  # all operations of the area run where this one does

    @property
    def name(self) -> str:
        """The name of the area."""
        return self._name

    @property
    def capacity(self) -> int:
        """The largest number of elements; 0 if there is no limit."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The largest number of bytes; 0 if there is no limit."""
        return self._memory_limit

    def _op(self, definition: Any, *inputs: Any, dtypes: Any = None, name: str | None, what: str) -> Any:
        """An operation on the area of the current device."""
        return definition(*inputs, dtypes=self._dtypes if dtypes is None else dtypes, shared_name=self._name, capacity=self._capacity,
                          memory_limit=self._memory_limit, name=name or f"{self._name}_{what}")

    def _own_op(self, definition: Any, *inputs: Any, **given: Any) -> Any:
        """An operation on this area, wherever it is."""
        with colocate_with(self._root):
            return self._op(definition, *inputs, **given)

    def _components(self, vals: Any, indices: list[int] | None = None) -> tuple[list[Tensor], list[int]]:
        """The tensors of what a caller puts in, and which components they are."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            unknown = set(vals) - set(self._names)
            if unknown:
                raise ValueError(f"Keys in dictionary to put do not match names of staging area. Dictionary: {sorted(vals)}, names: {self._names}")
            indices = [index for index, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[index]] for index in indices]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        else:
            vals = list(vals) if isinstance(vals, (list, tuple)) else [vals]
            indices = list(range(len(vals))) if indices is None else [int(index) for index in indices]
        if len(vals) > len(self._dtypes) or len(vals) != len(indices):
            raise ValueError(f"Unexpected number of inputs '{len(vals)}' vs '{len(self._dtypes)}'")
        tensors = [to_tensor(value, self._dtypes[index]) for value, index in zip(vals, indices)]
        for tensor, index in zip(tensors, indices):
            tensor.shape.assert_is_compatible_with(self._shapes[index])
        return tensors, indices

    def _as_element(self, tensors: list[Tensor], indices: list[int]) -> Any:
        if no_op().device != self._root.device:  # what is taken elsewhere is brought there once
            tensors = [identity(tensor) for tensor in tensors]
        for tensor, index in zip(tensors, indices):
            tensor.set_shape(self._shapes[index])
        if self._names:
            return {self._names[index]: tensor for tensor, index in zip(tensors, indices)}
        return tensors


class StagingArea(BaseStagingArea):
    """``tf.contrib.staging.StagingArea``: tuples of tensors that wait, in order, for the next step; a short queue without a queue's services."""

    def put(self, values: Any, name: str | None = None) -> Operation:
        """An operation that adds an element, when there is room."""
        tensors, _ = self._components(values)
        if len(tensors) != len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs '{len(tensors)}' vs '{len(self._dtypes)}'")
        with colocate_with(self._root):
            return ops.Stage(tensors, shared_name=self._name, capacity=self._capacity, memory_limit=self._memory_limit,
                             name=name or f"{self._name}_put")

    def get(self, name: str | None = None) -> Any:
        """The oldest element, when there is one: a list of tensors, or a dictionary if the area has names."""
        return self._as_element(self._own_op(ops.Unstage, name=name, what="get"), list(range(len(self._dtypes))))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """The element at a place, which stays there."""
        return self._as_element(self._own_op(ops.StagePeek, index, name=name, what="peek"), list(range(len(self._dtypes))))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements."""
        return self._op(ops.StageSize, name=name, what="size")

    def clear(self, name: str | None = None) -> Operation:
        """An operation that removes all elements."""
        return self._op(ops.StageClear, name=name, what="clear")


class MapStagingArea(BaseStagingArea):
    """Tuples of tensors that wait under integer keys; their components may come, and be taken, one by one."""

    def __init__(self, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None, ordered: bool = False, capacity: int = 0,
                 memory_limit: int = 0) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ops = ops.MAP_OPS[ordered]

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """An operation that gives the element of ``key`` some of its components, when there is room."""
        tensors, indices = self._components(vals, indices)
        return self._own_op(self._ops["stage"], key, indices, tensors, name=name, what="put")

    def _positions(self, indices: Any) -> list[int]:
        if indices is None:
            return list(range(len(self._dtypes)))
        return [self._names.index(index) if isinstance(index, str) and self._names else int(index) for index in indices]

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Components of the element of ``key``, which stay."""
        chosen = self._positions(indices)
        dtypes = [self._dtypes[index] for index in chosen]
        return self._as_element(self._own_op(self._ops["peek"], key, chosen, dtypes=dtypes, name=name, what="pop"), chosen)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """(key, components) of the element of ``key``, or of any element (the one with the smallest key, if the area is ordered)."""
        chosen = self._positions(indices)
        dtypes = [self._dtypes[index] for index in chosen]
        if key is None:
            key, tensors = self._own_op(self._ops["unstage_any"], chosen, dtypes=dtypes, name=name, what="get_nokey")
        else:
            tensors = self._own_op(self._ops["unstage"], key, chosen, dtypes=dtypes, name=name, what="get")
        return key, self._as_element(tensors, chosen)

    def size(self, name: str | None = None) -> Tensor:
        """The number of complete elements."""
        return self._op(self._ops["size"], name=name, what="size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of elements that lack components."""
        return self._op(self._ops["incomplete_size"], name=name, what="incomplete_size")

    def clear(self, name: str | None = None) -> Operation:
        """An operation that removes all elements."""
        return self._op(self._ops["clear"], name=name, what="clear")
