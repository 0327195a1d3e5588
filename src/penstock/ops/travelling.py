"""Handles and lists on their way to another task, or to the caller of a step, and back. The runtime adds these nodes; programs do not.

A handle names its resource: device, container, name, kind (a ``ResourceHandleProto``). The task that owns the resource finds it again by these; on
any other device an operation that uses the handle is refused. A list of tensors travels with its tensors; what other variants hold (datasets, trees)
stays in its task.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.compat.proto.resource_handle_pb2 import ResourceHandleProto
from tensorboard.compat.proto.tensor_pb2 import TensorProto, VariantTensorDataProto

from penstock.errors import InternalError, KernelError, invalid_argument
from penstock.graph.opdef import op
from penstock.graph.tensor_proto import make_ndarray, make_tensor_proto
from penstock.ops.common import fixed
from penstock.ops.queues.handles import plain
from penstock.state.resources import ForeignResource

_LIST, _OPTIONAL = "tensorflow::TensorList", "tensorflow::data::Optional"


def _scalar(value: Any) -> np.ndarray:
    array = np.empty((), object)
    array[()] = value
    return array


@op("_ResourceName", "resource: resource -> name: string")
class ResourceName:
    """A handle as bytes."""

    stateful = on_host = True
    shape = fixed()
    gradient = None

    def kernel(resource, ctx):
        resource = plain(resource)
        if isinstance(resource, ForeignResource):
            device, container, name, kind = resource.place
        else:
            device, (container, name, kind) = ctx.device, ctx.name_of(resource)
        return _scalar(ResourceHandleProto(device=device, container=container, name=name, maybe_type_name=kind).SerializeToString())


@op("_HandleNames", "handle: Ref(string) -> names: string")
class HandleNames:
    """What the handle of an old graph is when it is fetched: container and name."""

    stateful = on_host = True
    shape = fixed(2)
    gradient = None

    def kernel(handle, ctx):
        container, name, _ = ctx.name_of(plain(handle))
        return np.array([part if isinstance(part, bytes) else part.encode() for part in (container, name)], object)


@op("_NamedResource", "name: string -> resource: resource")
class NamedResource:
    """The resource behind such bytes."""

    stateful = on_host = True
    ranks = {"name": 0}
    shape = fixed()
    gradient = None

    def kernel(name, ctx):
        try:
            proto = ResourceHandleProto.FromString(np.asarray(name)[()])
        except Exception as error:  # protobuf's own class of error depends on its back end
            raise invalid_argument(f"Could not parse a resource handle: {error}") from None
        if proto.device != ctx.device:
            return ForeignResource(proto.device, proto.container, proto.name, proto.maybe_type_name, ctx.device)
        return ctx.resource_named(proto.container, proto.name, proto.maybe_type_name)


@op("_VariantBytes", "variant: variant -> bytes: string")
class VariantBytes:
    """A list of tensors, or an optional, as bytes."""

    on_host = True
    shape = fixed()
    gradient = None

    def kernel(variant):
        return _scalar(_encode(variant).SerializeToString())


@op("_VariantOfBytes", "bytes: string -> variant: variant")
class VariantOfBytes:
    """The list or optional of such bytes."""

    on_host = True
    ranks = {"bytes": 0}
    shape = fixed()
    gradient = None

    def kernel(bytes):
        return _decode(VariantTensorDataProto.FromString(np.asarray(bytes)[()]))


def _encode(variant: Any) -> VariantTensorDataProto:
    if isinstance(variant, tuple):
        return VariantTensorDataProto(type_name=_LIST, tensors=[_encode_part(part) for part in _parts_of(variant)])
    if isinstance(variant, np.ndarray) and variant.shape == () and (variant[()] is None or type(variant[()]) is tuple):
        parts = variant[()]
        return VariantTensorDataProto(type_name=_OPTIONAL, metadata=b"" if parts is None else b"1", tensors=map(_encode_part, parts or ()))
    kind = type(plain(variant)).__name__
    raise KernelError(InternalError, f"a variant that holds a {kind} cannot leave its task: only lists of tensors and optionals can",
                      hint="make and use it under the tf.device of one task")


def _parts_of(chain: Any) -> list[Any]:
    parts = []
    while chain:
        chain, part = chain
        parts.append(part)
    return parts[::-1]


def _encode_part(part: Any) -> TensorProto:
    is_variant = isinstance(part, np.ndarray) and part.dtype == object and part.shape == () and not isinstance(part[()], (bytes, str))
    if isinstance(part, tuple) or is_variant:
        return TensorProto(dtype=21, variant_val=[_encode(part)])
    return make_tensor_proto(np.asarray(part))


def _decode(proto: VariantTensorDataProto) -> Any:
    parts = [_decode(item.variant_val[0]) if item.variant_val else make_ndarray(item) for item in proto.tensors]
    if proto.type_name == _OPTIONAL:
        return _scalar(tuple(parts) if proto.metadata else None)
    chain: Any = ()
    for part in parts:
        chain = (chain, part)
    return chain


# --- handles as the caller of a step sees them -----------------------------------------------------------------------

HANDLE = np.dtype([("resource", np.uint8)])


def as_handle(name: Any) -> np.ndarray:
    """What a fetched handle is: its bytes, as a vector of elements of a type of their own."""
    return np.frombuffer(bytes(name), HANDLE).copy()


def handle_bytes(value: Any) -> np.ndarray:
    """What is fed in the place of a handle, as the string that travels; TypeError if it is none."""
    if isinstance(value, np.ndarray) and value.dtype == HANDLE:
        return _scalar(value.tobytes())
    raise TypeError(f"A handle is fed as it was fetched (a vector of type {HANDLE}), not as {value!r}.")
