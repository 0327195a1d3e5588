"""Where values enter and leave a step, cross between devices and memories, and are computed together. The runtime adds these nodes; programs do not.

They have no gradient. The executor itself feeds, fetches and waits: Arg, Retval and Recv have no kernel. What is fed, fetched, sent or received
is a host value; ``program/copies.py`` adds the copies between that and the memory of a device.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.attrs import INT, STRING, STRINGS, TYPE, TYPES
from penstock.graph.dtypes import int64
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.common import fixed, like, nothing, unknown


def rendezvous_key(attrs: dict[str, Any]) -> str:
    """The key under which a Send and its Recv meet."""
    return f"{attrs['send_device']};{attrs['recv_device']};{attrs['tensor_name']}"


@op("_Arg", "-> output: T", T=TYPE, index=INT)
class Arg:
    """A value that the caller of the step feeds; stands in for the tensor that is fed."""

    stateful = on_host = True
    host_memory = ("output",)

    shape = unknown()
    gradient = None


@op("_Retval", "input: T ->", T=TYPE, index=INT)
class Retval:
    """A value that the caller of the step fetches."""

    stateful = on_host = True
    host_memory = ("input",)
    shape = nothing()
    gradient = None


@op("_Send", "tensor: T ->", T=TYPE, tensor_name=STRING, send_device=STRING, send_device_incarnation=0, recv_device=STRING, client_terminated=False)
class Send:
    """Hands a tensor over to another device."""

    stateful = hands_over = on_host = True
    host_memory = ("tensor",)
    shape = nothing()
    gradient = None

    def kernel(ctx, tensor):
        ctx.step.rendezvous.send(rendezvous_key(ctx.node.attrs), tensor)


@op("_SendReference", "tensor: Ref(T) ->", T=TYPE, tensor_name=STRING, send_device=STRING, send_device_incarnation=0, recv_device=STRING,
    client_terminated=False)
class SendReference:
    """Hands a variable over to another device of its task, where a conditional or a loop uses it."""

    stateful = hands_over = on_host = allows_uninitialized = True
    host_memory = ("tensor",)
    shape = nothing()
    gradient = None

    def kernel(ctx, tensor):
        ctx.step.rendezvous.send(rendezvous_key(ctx.node.attrs), tensor)


@op("_Recv", "-> tensor: tensor_type", tensor_type=TYPE, tensor_name=STRING, send_device=STRING, send_device_incarnation=0, recv_device=STRING,
    client_terminated=False)
class Recv:
    """Waits for a tensor from another device."""

    stateful = blocking = on_host = True
    host_memory = ("tensor",)

    shape = unknown()
    gradient = None


@op("_Token", "-> tensor: float32")
class Token:
    """Nothing: what travels along a control edge that leaves a device with a memory of its own, after the node that it waits for."""

    stateful = on_host = True
    host_memory = ("tensor",)
    shape = fixed(0)
    gradient = None

    def kernel():
        return np.zeros(0, np.float32)


@op("_CopyIn", "tensor: T -> value: T", T=TYPE)
class CopyIn:
    """Brings a host value into the memory of the node's device."""

    on_host = copies = True
    host_memory = ("tensor",)
    shape = like("tensor")
    gradient = None

    def kernel(ctx, tensor):
        return ctx.memory.copy_in(tensor)


@op("_CopyOut", "value: T -> tensor: T", T=TYPE)
class CopyOut:
    """Brings a value out of the memory of the node's device."""

    on_host = copies = True
    host_memory = ("tensor",)
    shape = like("value")
    gradient = None

    def kernel(ctx, value):
        return ctx.memory.copy_out(value)


@op("_Region", "inputs: Tin -> outputs: Tout", Tin=TYPES, Tout=TYPES, names=STRINGS)
class Region:
    """Nodes that run together, as native code: see native/regions/forming.py. Plans have their kernels."""

    stateful = passes_references = True

    def shape(Tout):
        return [TensorShape(None)] * len(Tout)

    gradient = None


@op("_Refuse", "bad: bool -> status: int64")
class Refuse:
    """Ends a step of native code: the op that made this check then says, by its kernel, what is wrong. See ``native/fusion/composition.py``."""

    elementwise = True
    shape = like("bad")

    def kernel(bad):
        return np.asarray(bad).astype(np.int64)

    def lower(b, bad):
        return b.cast(bad, int64)

    gradient = None
