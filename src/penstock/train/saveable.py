"""What a Saver saves: SaveableObjects, made from variables, from parts of partitioned variables, or by users."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import device, get_collection
from penstock.ops.array.passing import EnsureShape
from penstock.ops.array.shape_ops import reshape
from penstock.ops.constant import identity
from penstock.ops.state.resource import AssignVariableOp
from penstock.ops.state.state import Assign
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.variable import Variable


class SaveSpec:
    """One tensor to be saved: the tensor (or a function that makes it), its name in the checkpoint, and which part of a larger one it is."""

    def __init__(self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: str | None = None) -> None:
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        if callable(tensor):
            if dtype is None or device is None:
                raise AssertionError("When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must be provided.")
            self.dtype, self.device = dtype, device
        else:
            self.dtype, self.device = tensor.dtype, tensor.device

    @property
    def tensor(self) -> Any:
        """The tensor."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Something that is saved as one or several tensors. Subclasses say in ``restore`` how it gets its value back."""

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op, self.specs, self.name = op, specs, name
        self._device: str | None = None

    @property
    def optional_restore(self) -> bool:
        """May it be missing from the checkpoint? Such objects are for object-based checkpoints."""
        return False

    @property
    def device(self) -> str:
        """Where it is saved."""
        return str(self.specs[0].device)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """An operation that restores it from tensors with the values, one per spec; ``restored_shapes`` are shapes to reshape them to, or None."""
        raise ValueError("Calling an abstract method.")


def _reshape_to(tensor: Tensor, shapes: Sequence[Any] | None) -> Tensor:
    return tensor if shapes is None else reshape(tensor, shapes[0])


class VariableSaveable(SaveableObject):
    """A variable that is a reference."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """Assigns the value; its shape must be that of the variable."""
        target = self.op if isinstance(self.op, Tensor) else self.op._ref()
        return Assign(target, _reshape_to(restored_tensors[0], restored_shapes),
                      validate_shape=restored_shapes is None and bool(target.shape.is_fully_defined()))


class SliceSaveable(VariableSaveable):
    """A part of a partitioned variable."""

    def __init__(self, var: Variable, slice_spec: str, name: str) -> None:
        SaveableObject.__init__(self, var, [SaveSpec(var.value(), slice_spec, name)], name)


class ResourceVariableSaveable(SaveableObject):
    """A variable that is a resource."""

    def __init__(self, var: ResourceVariable, slice_spec: str, name: str) -> None:
        self._variable = var
        super().__init__(var, [SaveSpec(var._as_graph_element(), slice_spec, name)], name)

    @property
    def device(self) -> str:
        """Where the variable is."""
        return str(self._variable.device)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """Assigns the value; its shape must be that of the variable."""
        restored = _reshape_to(restored_tensors[0], restored_shapes)
        shape = self._variable.shape
        with device(self._variable.device):
            # An assignment to a resource would change the shape of the variable: a wrong one has to be found before that.
            checked = EnsureShape(restored, shape=shape, name="Identity") if shape.ndims is not None else identity(restored)
            return AssignVariableOp(self._variable.handle, checked)


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """What a Saver saves by default: the global variables, and what programs have put into the collection for it."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + get_collection(GraphKeys.SAVEABLE_OBJECTS, scope)


def op_list_to_dict(op_list: Iterable[Any]) -> dict[str, Any]:
    """{name in the checkpoint: variable, list of parts, or SaveableObject}; ValueError if two have the same name."""
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    saveables: dict[str, Any] = {}
    for item in sorted(op_list, key=lambda item: str(item.name)) if isinstance(op_list, set) else op_list:
        if isinstance(item, (SaveableObject, PartitionedVariable)):
            _add(saveables, item.name, item)
        elif isinstance(item, Variable) and item._get_save_slice_info() is not None:
            name = str(item._get_save_slice_info().full_name)  # type: ignore[union-attr]
            if isinstance(saveables.setdefault(name, []), list):
                saveables[name].append(item)
            else:
                raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
        else:
            _add(saveables, _variable_name(item), item)
    return saveables


def _add(saveables: dict[str, Any], name: str, item: Any) -> None:
    if name in saveables and not (saveables[name] is item and default_graph().imperative):  # as in TensorFlow: only there it may come twice
        raise ValueError(f"At least two variables have the same name: {name}")
    saveables[name] = item


def _variable_name(item: Any) -> str:
    if isinstance(item, Variable):
        return str(item._shared_name)
    if _is_reference(item):
        return str(item.op.name)
    raise TypeError(f"Variable to save is not a Variable: {item}")


def _is_reference(item: Any) -> bool:
    return isinstance(item, Tensor) and item.dtype.is_ref


def saveable_objects(named: dict[str, Any] | Iterable[Any]) -> list[SaveableObject]:
    """The SaveableObjects for variables that are given by name or as a list, in the order of names."""
    if not isinstance(named, dict):
        named = op_list_to_dict(named)
    saveables: list[SaveableObject] = []
    seen: dict[Any, str] = {}
    for name, item in sorted(named.items()):
        if not isinstance(name, str):
            raise TypeError(f"names_to_saveables must be a dict mapping string names to checkpointable operations. Name is not a string: {name}")
        for saveable in _saveables_for(name, item):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen[id(saveable.op)] = name
            saveables.append(saveable)
    return saveables


def _saveables_for(name: str, item: Any) -> list[SaveableObject]:
    if isinstance(item, SaveableObject):
        return [item]
    if isinstance(item, (list, tuple, PartitionedVariable)):
        return [_slice_saveable(name, part) for part in item]
    if isinstance(item, ResourceVariable):
        return [ResourceVariableSaveable(item, "", name)]
    if isinstance(item, Variable):
        return [VariableSaveable(item._as_graph_element(), "", name)]
    if _is_reference(item):
        return [VariableSaveable(item, "", name)]
    raise TypeError(f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: {item}")


def _slice_saveable(name: str, part: Any) -> SaveableObject:
    info = part._get_save_slice_info() if isinstance(part, Variable) else None
    if info is None:
        raise ValueError(f"Slices must all be slices of one variable: {part} is not a slice")
    if info.full_name != name:
        raise ValueError(f"Slices must all be from the same tensor: {info.full_name} is not {name}")
    kind: Callable[..., SaveableObject] = ResourceVariableSaveable if isinstance(part, ResourceVariable) else SliceSaveable
    return kind(part, info.spec, name)
