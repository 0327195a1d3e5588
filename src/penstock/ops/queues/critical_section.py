"""``tf.CriticalSection``: functions whose operations at most one step runs at a time."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import add_to_collection, colocate_with, control_dependencies, get_collection, name_scope
from penstock.ops.constant import identity
from penstock.ops.flow.misc import group
from penstock.ops.queues.mutex import ConsumeMutexLock, MutexLock, MutexV2

_SECTIONS, _EXECUTIONS = "critical_sections", "critical_section_executions"
_Execution = namedtuple("_Execution", ["op", "handle", "resources", "exclusive_resource_access"])


class CriticalSection:
    """``tf.CriticalSection``: ``execute(fn)`` adds the operations of ``fn()`` so that no two steps run them at the same time."""

    def __init__(self, name: str | None = None, shared_name: str | None = None, critical_section_def: Any = None,
                 import_scope: str | None = None) -> None:
        if critical_section_def is not None:
            raise ValueError("critical_section_def is not supported.")
        with name_scope(name, "CriticalSection", []) as scope:
            self._handle = MutexV2(shared_name=shared_name, name=scope)
        add_to_collection(_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the section."""
        return self._handle.op.name

    def execute(self, fn: Callable[..., Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """What ``fn()`` returns; its operations run while the section is held.

        ValueError if ``fn`` uses this section itself, or, with exclusive access, resources that another section uses.
        """
        with name_scope(name, "critical_section_execute", []):
            graph = default_graph()
            lock = MutexLock(self._handle)
            start = len(graph.get_operations())
            with control_dependencies([lock]):
                result = fn()
            made = graph.get_operations()[start:]
            outside = _inputs_from_outside(made, lock)
            self._check(outside, lock.op, exclusive_resource_access)
            # What the section needs is computed before it is entered: the lock is held as shortly as possible.
            lock.op._add_control_inputs(list(dict.fromkeys(tensor.op for tensor in outside)))
            leaves = [leaf if leaf is None or isinstance(leaf, Operation) else to_tensor(leaf) for leaf in nest.flatten(result)]
            with colocate_with(self._handle), control_dependencies([leaf for leaf in leaves if leaf is not None]):
                released = ConsumeMutexLock(lock)
            with control_dependencies([released]):
                outputs = [_after(leaf) for leaf in leaves]
            return nest.pack_sequence_as(result, outputs)

    def _check(self, outside: list[Tensor], lock: Operation, exclusive: bool) -> None:
        resources = [tensor for tensor in outside if tensor.dtype.base_dtype is dt.resource]
        if any(tensor is self._handle for tensor in resources):
            raise ValueError("The function fn attempts to directly access the CriticalSection in which it would be running.  This is illegal and "
                             "would cause deadlocks.")
        for other in get_collection(_EXECUTIONS):
            shared = [tensor for tensor in resources if any(tensor is theirs for theirs in other.resources)]
            if shared and other.handle is not self._handle and (exclusive or other.exclusive_resource_access):
                raise ValueError(f"This execution would access resources: {shared}.  Either this lock (CriticalSection: {self._handle}) or lock "
                                 f"'{other}' requested exclusive resource access of this resource.")
        add_to_collection(_EXECUTIONS, _Execution(lock, self._handle, resources, exclusive))


def _inputs_from_outside(ops: list[Operation], lock: Tensor) -> list[Tensor]:
    inside = {*ops, lock.op}
    return list(dict.fromkeys(tensor for op in ops for tensor in op.inputs if tensor.op not in inside))


def _after(leaf: Any) -> Any:
    if leaf is None:
        return None
    return group(leaf) if isinstance(leaf, Operation) else identity(leaf)
