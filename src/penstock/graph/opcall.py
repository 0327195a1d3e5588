"""What calling an op does with what it is given: values become Tensors, types and lengths become attributes, and everything is checked.

The first argument of a type decides it for the others: in ``Add(x, 1)`` the 1 becomes a constant of the type of x. Constants made on the way are
named after their argument, inside the scope of the new node (``Add/y``).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.graph import graph
from penstock.graph.attrs import REQUIRED
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.signature import Argument, Signature

_DTYPE_NAMES = {"float32": "float", "float64": "double"}  # in TensorFlow's messages


class InputConversion:
    """Converts the values of a call to the inputs of a new node; ``attributes`` are those that are known, and grow."""

    __slots__ = ("attributes", "name", "signature", "target")

    def __init__(self, signature: Signature, target: Any, name: str, attributes: dict[str, Any]) -> None:
        self.signature, self.target, self.name, self.attributes = signature, target, name, attributes

    def inputs(self, values: Sequence[Any]) -> list[Tensor]:
        """The flat inputs; adds the attributes that follow from them."""
        if not self.signature.has_lists:
            return [self._one(arg, value) for arg, value in zip(self.signature.inputs, values)]
        return [tensor for arg, value in zip(self.signature.inputs, values) for tensor in self._some(arg, value)]

    def _one(self, arg: Argument, value: Any) -> Tensor:
        """The tensor of an argument that is not a list."""
        dtype = arg.dtype if arg.type_attr is None else self.attributes.get(arg.type_attr)
        tensor = value if isinstance(value, Tensor) else self._convert(arg, value, dtype, arg.name)
        given = tensor._dtype
        if arg.is_ref and not given.is_ref:
            raise self._no_reference(arg)
        given = given.base_dtype
        if dtype is None:
            self.attributes[arg.type_attr] = self._check_type(arg, given)  # type: ignore[index]
        elif given is not dtype:
            raise self._type_mismatch(arg, given, dtype)
        return tensor

    def _some(self, arg: Argument, value: Any) -> list[Tensor]:
        """The tensors of an argument that may be a list."""
        if not arg.is_list:
            return [self._one(arg, value)]
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"Expected list for '{arg.name}' argument to '{self.signature.type}' Op, not {_short(value)}.")
        return self._of_one_type(arg, value) if arg.type_list_attr is None else self._of_mixed_types(arg, value, arg.type_list_attr)

    def _of_mixed_types(self, arg: Argument, value: Sequence[Any], types_attr: str) -> list[Tensor]:
        op_type = self.signature.type
        wanted: Sequence[DType | None] = self.attributes.get(types_attr) or [None] * len(value)
        if len(wanted) != len(value):
            raise ValueError(f"'{arg.name}' of '{op_type}' Op has {len(value)} tensors for the {len(wanted)} types of {types_attr}")
        tensors = [item if isinstance(item, Tensor) and (dtype is None or item.dtype.base_dtype is dtype) else
                   self._convert(arg, item, dtype, f"{arg.name}_{index}") for index, (item, dtype) in enumerate(zip(value, wanted))]
        types = tuple(tensor.dtype.base_dtype for tensor in tensors)
        self.attributes[types_attr] = self.signature.attrs[types_attr].check(op_type, types_attr, types)
        return tensors

    def _of_one_type(self, arg: Argument, value: Sequence[Any]) -> list[Tensor]:
        self._check_length(arg, value)
        dtype = arg.dtype or self.attributes.get(arg.type_attr)  # type: ignore[arg-type]
        if dtype is None:  # a tensor in the list decides, before plain values are converted
            dtype = next((item.dtype.base_dtype for item in value if isinstance(getattr(item, "dtype", None), DType)), None)
        tensors = []
        for index, item in enumerate(value):
            tensor = item if isinstance(item, Tensor) else self._convert(arg, item, dtype, f"{arg.name}_{index}")
            given = tensor.dtype.base_dtype
            dtype = dtype or given
            if given is not dtype:
                types = ", ".join(t.dtype.base_dtype.name if isinstance(getattr(t, "dtype", None), DType) else "?" for t in value)
                raise TypeError(f"Tensors in list passed to '{arg.name}' of '{self.signature.type}' Op have types [{types}] that don't all match.")
            if arg.is_ref and not tensor.dtype.is_ref:
                raise self._no_reference(arg)
            tensors.append(tensor)
        if arg.type_attr is not None and dtype is not None:
            self.attributes[arg.type_attr] = self._check_type(arg, dtype)
        return tensors

    def _check_length(self, arg: Argument, value: Sequence[Any]) -> None:
        number, op_type = arg.number_attr, self.signature.type
        assert number is not None
        wanted = self.attributes.setdefault(number, len(value))
        if wanted != len(value):
            raise ValueError(f"List argument '{arg.name}' to '{op_type}' Op with length {len(value)} must match length {wanted}.")
        self.signature.attrs[number].check(op_type, number, len(value))

    def _convert(self, arg: Argument, value: Any, dtype: DType | None, name: str) -> Tensor:
        """A Tensor for a plain value: its Const is named after the argument, inside the op's own scope."""
        target, op_type = self.target, self.signature.type
        if target.imperative and (plain := target.number(value, dtype)) is not None:
            known: Tensor = plain
            return known
        outer, target._name_stack = target._name_stack, self.name
        default = self.signature.attrs[arg.type_attr].default if arg.type_attr is not None and dtype is None else REQUIRED
        try:
            with graph._graphs.using(target):
                if default is not REQUIRED:
                    return to_tensor(value, None, name, arg.is_ref, preferred=default)
                try:
                    return to_tensor(value, dtype, name, arg.is_ref)
                except (TypeError, ValueError) as error:
                    if isinstance(value, Tensor) or dtype is None:
                        raise type(error)(f"{error} (input '{arg.name}' of '{op_type}' Op)") from None
                    raise TypeError(f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{op_type}', got {_short(value)} of "
                                    f"type '{type(value).__name__}' instead. {error}") from None
        finally:
            target._name_stack = outer

    def _check_type(self, arg: Argument, dtype: DType) -> DType:
        allowed = self.signature.attrs[arg.type_attr].allowed  # type: ignore[index]
        if allowed is not None and dtype not in allowed:
            choices = ", ".join(sorted(d.name for d in allowed))
            raise TypeError(f"Value passed to parameter '{arg.name}' of op '{self.signature.type}' has DataType {dtype.name} not in list of "
                            f"allowed values: {choices}")
        return dtype

    def _type_mismatch(self, arg: Argument, given: DType, wanted: DType) -> Exception:
        if self.target.imperative:
            position = [other.name for other in self.signature.inputs].index(arg.name)
            return InvalidArgumentError(None, None, f"cannot compute {self.signature.type} as input #{position}(zero-based) was expected to be a "
                                                    f"{_DTYPE_NAMES.get(wanted.name, wanted.name)} tensor but is a "
                                                    f"{_DTYPE_NAMES.get(given.name, given.name)} tensor [Op:{self.signature.type}]")
        start = f"Input '{arg.name}' of '{self.signature.type}' Op has type {given.name} that does not match"
        if arg.type_attr is None:
            return TypeError(f"{start} expected type of {wanted.name}.")
        first = next((other.name for other in self.signature.inputs if other.type_attr == arg.type_attr), arg.name)
        source = f"type {wanted.name} of argument '{first}'" if first != arg.name else f"the attribute {arg.type_attr}={wanted.name}"
        return TypeError(f"{start} {source}.")

    def _no_reference(self, arg: Argument) -> TypeError:
        return TypeError(f"'{self.signature.type}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)")


def with_keywords(signature: Signature, values: Sequence[Any], given: dict[str, Any]) -> list[Any]:
    """Inputs given by keyword, taken out of ``given`` and put into their places."""
    complete = list(values)
    if len(complete) > len(signature.inputs):
        raise TypeError(f"{signature.type}() takes {len(signature.inputs)} inputs but {len(complete)} were given")
    for arg in signature.inputs[len(complete):]:
        if arg.name not in given:
            raise TypeError(f"No argument for input {arg.name} of op {signature.type}")
        complete.append(given.pop(arg.name))
    return complete


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
