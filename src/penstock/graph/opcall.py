"""What calling an op does with what it is given: values become Tensors, types and lengths become attributes, and everything is checked.

The first argument of a type decides it for the others: in ``Add(x, 1)`` the 1 becomes a constant of the type of x. Constants made on the way are
named after their argument, inside the scope of the new node (``Add/y``).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.graph import graph
from penstock.graph.attrs import REQUIRED, not_in_types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Tensor
from penstock.graph.signature import Argument, Signature
from penstock.graph.tensor_proto import to_array

_UNCONVERTIBLE = "<NOT CONVERTIBLE TO TENSOR>"
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
        try:
            tensors = [item if isinstance(item, Tensor) and (dtype is None or item.dtype.base_dtype is dtype) else
                       self._convert(arg, item, dtype, f"{arg.name}_{index}") for index, (item, dtype) in enumerate(zip(value, wanted))]
        except (TypeError, ValueError) as error:
            first = next((other.name for other in self.signature.inputs if other.type_list_attr == types_attr), arg.name)
            if first == arg.name or _UNCONVERTIBLE in (observed := ", ".join(map(_observed_type, value))):
                raise self._mixed_types(arg, value, None, None) from error
            expected = ", ".join(dtype.name for dtype in wanted if dtype is not None)
            raise TypeError(f"Input '{arg.name}' of '{op_type}' Op has type list of {observed} that does not match type list {expected} "
                            f"of argument '{first}'.") from error
        types = tuple(tensor.dtype.base_dtype for tensor in tensors)
        allowed = self.signature.attrs[types_attr].allowed
        for dtype in types:
            if allowed is not None and dtype not in allowed:
                raise not_in_types(arg.name, dtype, allowed)
        self.attributes[types_attr] = self.signature.attrs[types_attr].check(op_type, types_attr, types)
        return tensors

    def _of_one_type(self, arg: Argument, value: Sequence[Any]) -> list[Tensor]:
        self._check_length(arg, value)
        known = arg.dtype or self.attributes.get(arg.type_attr)  # type: ignore[arg-type]
        dtype = known
        if dtype is None:  # a tensor in the list decides, before plain values are converted
            dtype = next((item.dtype.base_dtype for item in value if isinstance(getattr(item, "dtype", None), DType)), None)
        tensors = []
        for index, item in enumerate(value):
            try:
                tensor = item if isinstance(item, Tensor) else self._convert(arg, item, dtype, f"{arg.name}_{index}")
            except (TypeError, ValueError) as error:
                raise self._mixed_types(arg, value, known, dtype) from error
            given = tensor.dtype.base_dtype
            dtype = dtype or given
            if given is not dtype:
                raise self._mixed_types(arg, value, known, dtype)
            if arg.is_ref and not tensor.dtype.is_ref:
                raise self._no_reference(arg)
            tensors.append(tensor)
        if arg.type_attr is not None:
            if dtype is not None:
                self.attributes[arg.type_attr] = self._check_type(arg, dtype)
            elif self.signature.attrs[arg.type_attr].default is REQUIRED:
                raise TypeError("Don't know how to infer type variable from empty input list passed to input "
                                f"'{arg.name}' of '{self.signature.type}' Op.")
        return tensors

    def _mixed_types(self, arg: Argument, value: Sequence[Any], known: DType | None, wanted: DType | None) -> TypeError:
        """The error of a list whose elements have not the type that is wanted; ``known`` is that of the op, or of its earlier arguments."""
        types = ", ".join(_observed_type(item) for item in value)
        start = f"Tensors in list passed to '{arg.name}' of '{self.signature.type}' Op have types [{types}]"
        if arg.number_attr is None:
            return TypeError(f"{start} that are invalid. Tensors: {_short(value)}")
        if known is None or wanted is None:
            return TypeError(f"{start} that don't all match.")
        if arg.type_attr is None:
            return TypeError(f"{start} that do not match expected type {wanted.name}.")
        return TypeError(f"{start} that do not match type {wanted.name} inferred from earlier arguments.")

    def _check_length(self, arg: Argument, value: Sequence[Any]) -> None:
        number, op_type = arg.number_attr, self.signature.type
        assert number is not None
        least = self.signature.attrs[number].minimum
        if least is not None and len(value) < least:
            raise ValueError(f"List argument '{arg.name}' to '{op_type}' Op with length {len(value)} shorter than minimum length {least}.")
        wanted = self.attributes.setdefault(number, len(value))
        if wanted != len(value):
            first = next((other.name for other in self.signature.inputs if other.number_attr == number), arg.name)
            source = f" of argument '{first}'" if first != arg.name else ""
            raise ValueError(f"List argument '{arg.name}' to '{op_type}' Op with length {len(value)} must match length {wanted}{source}.")
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
                    own = _own_dtype(value) if isinstance(error, ValueError) else None
                    if own is not None:
                        raise self._type_mismatch(arg, own, dtype) from None
                    raise TypeError(f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{op_type}', got {_short(value)} of "
                                    f"type '{type(value).__name__}' instead. Error: {error}") from None
        finally:
            target._name_stack = outer

    def _check_type(self, arg: Argument, dtype: DType) -> DType:
        allowed = self.signature.attrs[arg.type_attr].allowed  # type: ignore[index]
        if allowed is not None and dtype not in allowed:
            raise not_in_types(arg.name, dtype, allowed)
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


def _own_dtype(value: Any) -> DType | None:
    """The type of the tensor that ``value`` becomes if none is asked for; None if it becomes none."""
    try:
        return to_tensor(value).dtype
    except (TypeError, ValueError):
        return None


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


def _observed_type(value: Any) -> str:
    """The name of the type that a value has as a tensor."""
    if isinstance(getattr(value, "dtype", None), DType):
        return str(value.dtype.base_dtype.name)
    try:
        return as_dtype(to_array(value).dtype).name
    except (TypeError, ValueError):
        return _UNCONVERTIBLE


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
