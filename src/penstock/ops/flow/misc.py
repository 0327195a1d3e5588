"""Operations that compute nothing: ordering, assertions, time."""
from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError, invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import type_list
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import colocate_with, control_dependencies, device, name_scope
from penstock.ops.common import fixed, nothing
from penstock.ops.constant import identity
from penstock.ops.flow.summarize import summarize as summary

_SHOWN_ANYWHERE = (dtypes.string, dtypes.int32)  # TensorFlow has these in the memory of the host, whatever the device


@op("NoOp", "->")
class NoOp:
    """Does nothing; control edges give it its meaning."""

    on_host = True
    shape = nothing()
    gradient = None

    def kernel():
        return ()


def no_op(name: str | None = None) -> Any:
    """``tf.no_op``: an operation that does nothing; None in imperative style."""
    return None if default_graph().imperative else NoOp(name=name)


def group(*inputs: Any, **kwargs: Any) -> Any:
    """``tf.group``: an operation that is done when all ``inputs`` (tensors, operations, nests of them) are."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    if default_graph().imperative:
        return None  # what was called has run
    by_device: dict[str, list[Operation]] = {}
    for item in _flatten(inputs):
        waited = default_graph()._control_op(item)
        by_device.setdefault(waited.device, []).append(waited)
    with name_scope(name, "group_deps", _flatten(inputs)) as scope:
        if len(by_device) <= 1:
            return _wait_for(next(iter(by_device.items()), ("", [])), scope)
        # One node per device: each crossing to another device then carries a single signal.
        parts = [_wait_for(entry, None) for entry in sorted(by_device.items())]
        with control_dependencies(parts):
            return NoOp(name=scope)


def _flatten(values: Any) -> list[Any]:
    if isinstance(values, dict):
        return [leaf for key in sorted(values) for leaf in _flatten(values[key])]
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in _flatten(value)]
    if not (isinstance(values, (Tensor, Operation)) or hasattr(values, "_as_graph_element") or hasattr(values, "op")):
        raise TypeError(f"Expected tf.group() expected Tensor objects not None or {type(values).__name__}: {values!r}")
    return [values]


def _wait_for(entry: tuple[str, list[Operation]], name: str | None) -> Operation:
    where, ops = entry
    with control_dependencies(ops):
        if not where:
            return NoOp(name=name)
        with device(where):
            return NoOp(name=name)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """``output_tensor``, not available before ``dependencies`` have run."""
    values = output_tensor.values if isinstance(output_tensor, IndexedSlices) else output_tensor
    with name_scope(name, "control_dependency", [*dependencies, values]) as scope, colocate_with(values), control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            return IndexedSlices(identity(values, name=scope), output_tensor.indices, output_tensor.dense_shape)
        return identity(to_tensor(output_tensor), name=scope)


def tuple_(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """``tf.tuple``: the same tensors, none of which is available before all are (and ``control_inputs`` have run)."""
    with name_scope(name, "tuple", [x for x in tensors if x is not None]):
        ops = [x if isinstance(x, Operation) else x.op for x in tensors if x is not None]
        ops += [default_graph()._control_op(item) for item in control_inputs or ()]
        if not ops:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*dict.fromkeys(ops))
        return [None if x is None else gate if isinstance(x, Operation) else with_dependencies([gate], x) for x in tensors]


@op("Assert", "condition: bool, data: T ->", T=type_list(1), summarize=3)
class AssertOp:
    """Fails, showing ``data``, if ``condition`` is false."""

    stateful = watches = True
    shape = nothing()
    gradient = None

    def kernel(condition, data, summarize):
        if np.ndim(condition):
            raise invalid_argument("In[0] should be a scalar: " + str(list(np.shape(condition))))
        if not condition:
            raise invalid_argument("assertion failed: " + " ".join(f"[{summary(value, summarize)}]" for value in data))
        return ()


def _first_elements(value: Any, count: int | None) -> str:
    """The first elements of a value, as assertions of imperative style show them."""
    elements, count = np.ravel(to_tensor(value).numpy()), 3 if count is None else count
    shown = elements if count < 0 else elements[:count]
    return ", ".join([*[str(each) for each in shown], *["..."] * (len(shown) < len(elements))])


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Any:
    """``tf.Assert``: an operation that fails with InvalidArgumentError, showing ``data``, if ``condition`` is false."""
    data = list(data)
    if default_graph().imperative:
        if not condition:
            raise InvalidArgumentError(None, None, f"Expected '{condition!s}' to be true. Summarized data: "
                                       + "\n".join(_first_elements(value, summarize) for value in data))
        return None
    with name_scope(name, "Assert", [condition, *data]):
        # Reports what cannot be shown before a node is made; the constants count, as in TensorFlow, for op seeds.
        shown = [to_tensor(value) for value in data]
        if not all(tensor.dtype.base_dtype in _SHOWN_ANYWHERE for tensor in shown):
            # TensorFlow guards it by a conditional, whose inputs are Switches.
            default_graph().imply(9 + sum(hasattr(value, "op") for value in data))
        return AssertOp(condition, data, summarize=summarize, name="Assert")


@op("Timestamp", "-> ts: float64")
class Timestamp:
    """Seconds since the epoch, when it runs."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel():
        return np.float64(time.time())


def timestamp(name: str | None = None) -> Tensor:
    """``tf.timestamp``: seconds since 1970-01-01 UTC, read when it runs."""
    return Timestamp(name=name)
