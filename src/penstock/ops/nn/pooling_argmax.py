"""Max pooling that also says where each maximum was: as an index into the flattened image or batch."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import Attr, one_of, types
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.array.fill import zeros_like
from penstock.ops.common import INDEX, REAL
from penstock.ops.nn import pooling_core as core
from penstock.ops.nn.conv_shape import check_rank
from penstock.ops.precision import in_float32

_INTS_4 = Attr("list(int)", minimum=4)
_WINDOW = dict(ksize=_INTS_4, strides=_INTS_4)


def _flat(argmax: np.ndarray, shape: tuple[int, ...], include_batch_in_index: bool) -> np.ndarray:
    """The indices as indices into the whole batch; KernelError if one is out of range."""
    flat = argmax.astype(np.int64)
    image = int(np.prod(shape[1:]))
    if not include_batch_in_index:
        flat += np.arange(shape[0]).reshape(-1, 1, 1, 1) * image
    bad = (flat < 0) | (flat >= shape[0] * image)
    if bad.any():
        raise invalid_argument(f"Invalid argmax index {argmax[bad][0]}: the input has {image} elements per image")
    return flat


def _window(op):
    return {name: op.attrs[name] for name in ("ksize", "strides", "padding", "include_batch_in_index")}


@op("MaxPoolWithArgmax", "input: T -> output: T, argmax: Targmax", **_WINDOW,
    Targmax=types(dt.int32, dt.int64, default=dt.int64),
    padding=one_of("SAME", "VALID"), include_batch_in_index=False, T=REAL)
class MaxPoolWithArgmax:
    """The largest element of each window and its index."""

    def shape(input, ksize, strides, padding):
        return [core.pool_shape(input.shape, 4, ksize, strides, padding)] * 2

    @in_float32
    def kernel(input, ksize, strides, padding, include_batch_in_index, Targmax):
        w = core.pool_windows(input.shape, ksize, strides, padding)
        shape = input.shape if include_batch_in_index else (1, *input.shape[1:])
        index = np.broadcast_to(np.arange(np.prod(shape), dtype=Targmax.np).reshape(shape), input.shape)
        return core.max_pool_array(input, w), core.gather_max(input, index, w)

    def gradient(op, dy, _):
        return MaxPoolGradWithArgmax(op.inputs[0], dy, op.outputs[1], **_window(op))


@op("MaxPoolGradWithArgmax", "input: T, grad: T, argmax: Targmax -> output: T", **_WINDOW,
    padding=one_of("SAME", "VALID"),
    include_batch_in_index=False, Targmax=INDEX, T=REAL)
class MaxPoolGradWithArgmax:
    """The gradient of MaxPoolWithArgmax: each element of ``grad`` goes to its index."""

    def shape(input, grad, argmax, ksize, strides, padding):
        TensorShape(core.pool_shape(input.shape, 4, ksize, strides, padding)).merge_with(grad.shape).merge_with(argmax.shape)
        return check_rank(input.shape, 4)

    @in_float32
    def kernel(input, grad, argmax, include_batch_in_index):
        core.check_like("argmax", argmax, grad.shape)
        result = np.zeros(input.shape, grad.dtype)
        np.add.at(result.reshape(-1), _flat(argmax, input.shape, include_batch_in_index).ravel(), grad.ravel())
        return result

    def gradient(op, dy):
        x, _grad, argmax = op.inputs
        return [zeros_like(x), MaxPoolGradGradWithArgmax(x, dy, argmax, **_window(op)), None]


@op("MaxPoolGradGradWithArgmax", "input: T, grad: T, argmax: Targmax -> output: T", **_WINDOW,
    padding=one_of("SAME", "VALID"),
    include_batch_in_index=False, Targmax=INDEX, T=REAL)
class MaxPoolGradGradWithArgmax:
    """The elements of ``grad`` at the indices."""

    def shape(input, argmax, ksize, strides, padding):
        return TensorShape(core.pool_shape(input.shape, 4, ksize, strides, padding)).merge_with(argmax.shape)

    def kernel(input, grad, argmax, include_batch_in_index):
        core.check_like("grad", grad, input.shape)
        return grad.reshape(-1)[_flat(argmax, input.shape, include_batch_in_index)]

    def gradient(op, dy):
        x, _, argmax = op.inputs
        return [zeros_like(x), MaxPoolGradWithArgmax(x, dy, argmax, **_window(op)), None]
