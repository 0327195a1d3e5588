"""Max and average pooling and their gradients."""
from __future__ import annotations

from penstock.graph import dtypes as dt
from penstock.graph.attrs import Attr, one_of, types
from penstock.graph.opdef import op
from penstock.graph.static import constant_value, constant_value_as_shape
from penstock.ops.array.fill import zeros
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.common import FLOATS, REAL
from penstock.ops.nn import pooling_core as core
from penstock.ops.nn.conv_shape import check_rank
from penstock.ops.precision import in_float32, widen

_FLOAT_OR_NARROWER = (dt.float16, dt.bfloat16, dt.float32)
_MAX_TYPES = types(*FLOATS, dt.int32, dt.int64, dt.uint8, dt.int16, dt.int8, dt.uint16, default=dt.float32)
_REAL_OR_FLOAT = types(*REAL, default=dt.float32)
_PADDING = one_of("SAME", "VALID")
_INTS_4, _INTS_5 = Attr("list(int)", minimum=4), Attr("list(int)", minimum=5)
_WINDOW_4 = dict(ksize=_INTS_4, strides=_INTS_4, padding=_PADDING)
_WINDOW_5 = dict(ksize=_INTS_5, strides=_INTS_5, padding=_PADDING)
_FORMAT_2D = one_of("NHWC", "NCHW", default="NHWC")
_FORMAT_MAX = one_of("NHWC", "NCHW", "NCHW_VECT_C", default="NHWC")
_FORMAT_3D = one_of("NDHWC", "NCDHW", default="NDHWC")


def _window(op):
    """The attributes that pooling hands on to its gradients."""
    return {name: op.attrs[name] for name in ("ksize", "strides", "padding", "data_format") if name in op.attrs}


def _no_gradient(tensor):
    """Max pooling is piecewise linear: zeros, not None, where a second derivative is asked for."""
    return zeros(shape_of(tensor), tensor.dtype.base_dtype)


@in_float32
def _max_pool(input, ksize, strides, padding):
    return core.max_pool_array(input, core.pool_windows(input.shape, ksize, strides, padding))


def _max_pool_grad(orig_input, orig_output, grad, ksize, strides, padding):
    w = core.pool_windows(orig_input.shape, ksize, strides, padding)
    return core.scatter_max(orig_input, widen(grad), w).astype(grad.dtype, copy=False)


def _max_pool_grad_grad(orig_input, orig_output, grad, ksize, strides, padding):
    return core.gather_max(orig_input, grad, core.pool_windows(orig_input.shape, ksize, strides, padding))


# --- max pooling -----------------------------------------------------------------------------------------------------

class _MaxPoolGrad:
    """Of images and volumes, whose rank is ``_rank``."""

    def shape(orig_input, _rank):
        return check_rank(orig_input.shape, _rank)

    kernel = _max_pool_grad

    def native(emit, orig_input, grad, ksize, strides, padding, data_format):
        return emit.windows.max_pool_gradient(orig_input, grad, core.pool_windows(orig_input.shape, ksize, strides, padding), data_format)


class _MaxPoolGradGrad:
    def shape(orig_input, ksize, strides, padding, _rank):
        return core.pool_shape(orig_input.shape, _rank, ksize, strides, padding)

    kernel = _max_pool_grad_grad


@op("MaxPool", "input: T -> output: T", T=_MAX_TYPES, **_WINDOW_4, data_format=_FORMAT_MAX)
class MaxPool:
    """The largest element of each window."""

    images = ("input", "output")
    per_axis = ("ksize", "strides")

    def shape(input, ksize, strides, padding, data_format):
        if data_format == "NCHW_VECT_C":
            raise ValueError("The data format NCHW_VECT_C is for quantized types only")
        return core.pool_shape(input.shape, 4, ksize, strides, padding)

    kernel = _max_pool

    def native(emit, input, ksize, strides, padding, data_format):
        return emit.windows.max_pool(input, core.pool_windows(input.shape, ksize, strides, padding), data_format)

    def gradient(op, dy):
        return MaxPoolGrad(op.inputs[0], op.outputs[0], dy, **_window(op))


@op("MaxPoolGrad", "orig_input: T, orig_output: T, grad: T -> output: T", **_WINDOW_4, data_format=_FORMAT_2D,
    T=_REAL_OR_FLOAT)
class MaxPoolGrad(_MaxPoolGrad):
    """The gradient of MaxPool: each window's goes to its first maximum."""

    images = ("orig_input", "orig_output", "grad", "output")
    per_axis = ("ksize", "strides")
    _rank = 4

    def gradient(op, dy):
        x, y, _ = op.inputs
        return [_no_gradient(x), _no_gradient(y), MaxPoolGradGrad(x, y, dy, **_window(op))]


@op("MaxPoolGradGrad", "orig_input: T, orig_output: T, grad: T -> output: T", **_WINDOW_4, data_format=_FORMAT_2D,
    T=REAL)
class MaxPoolGradGrad(_MaxPoolGradGrad):
    """Per window, the element of ``grad`` where the input has its maximum."""

    ranks = {"orig_output": 4}
    _rank = 4

    def gradient(op, dy):
        x, y, _ = op.inputs
        return [_no_gradient(x), _no_gradient(y), MaxPoolGrad(x, y, dy, **_window(op))]


def _shape_v2(input, ksize, strides, padding):
    window, steps = constant_value(ksize), constant_value(strides)
    if window is None or steps is None:
        return check_rank(input.shape, 4).extents[:1] + (None,) * 3
    return core.pool_shape(input.shape, 4, tuple(window.tolist()), tuple(steps.tolist()), padding)


@op("MaxPoolV2", "input: T, ksize: int32, strides: int32 -> output: T", T=_MAX_TYPES, padding=_PADDING,
    data_format=_FORMAT_MAX)
class MaxPoolV2:
    """MaxPool with windows that are computed in the graph."""

    images = ("input", "output")
    per_axis = ("ksize", "strides")
    ranks = {"ksize": 1, "strides": 1}

    def shape(input, ksize, strides, padding):
        return _shape_v2(input, ksize, strides, padding)

    kernel = _max_pool

    def native(emit, input, ksize, strides, padding, data_format):
        return emit.windows.max_pool(input, core.pool_windows(input.shape, emit.known(ksize), emit.known(strides), padding), data_format)

    def gradient(op, dy):
        x, ksize, strides = op.inputs
        return [MaxPoolGradV2(x, op.outputs[0], dy, ksize, strides, **_window(op)), None, None]


@op("MaxPoolGradV2", "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    padding=_PADDING,
    data_format=_FORMAT_2D, T=_REAL_OR_FLOAT)
class MaxPoolGradV2:
    """The gradient of MaxPoolV2."""

    images = ("orig_input", "orig_output", "grad", "output")
    per_axis = ("ksize", "strides")
    ranks = {"ksize": 1, "strides": 1}

    def shape(orig_input):
        return check_rank(orig_input.shape, 4)

    kernel = _max_pool_grad

    def native(emit, orig_input, grad, ksize, strides, padding, data_format):
        windows = core.pool_windows(orig_input.shape, emit.known(ksize), emit.known(strides), padding)
        return emit.windows.max_pool_gradient(orig_input, grad, windows, data_format)

    def gradient(op, dy):
        x, y, _, ksize, strides = op.inputs
        return [_no_gradient(x), _no_gradient(y), MaxPoolGradGradV2(x, y, dy, ksize, strides, **_window(op)), None,
                None]


@op("MaxPoolGradGradV2", "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    padding=_PADDING,
    data_format=_FORMAT_2D, T=REAL)
class MaxPoolGradGradV2:
    """MaxPoolGradGrad with windows that are computed in the graph."""

    ranks = {"ksize": 1, "strides": 1}

    def shape(orig_input, ksize, strides, padding):
        return _shape_v2(orig_input, ksize, strides, padding)

    kernel = _max_pool_grad_grad

    def gradient(op, dy):
        x, y, _, ksize, strides = op.inputs
        return [_no_gradient(x), _no_gradient(y), MaxPoolGradV2(x, y, dy, ksize, strides, **_window(op)), None, None]


@op("MaxPool3D", "input: T -> output: T", **_WINDOW_5, data_format=_FORMAT_3D, T=types(*_FLOAT_OR_NARROWER))
class MaxPool3D:
    """MaxPool for volumes."""

    def shape(input, ksize, strides, padding):
        return core.pool_shape(input.shape, 5, ksize, strides, padding)

    kernel = _max_pool

    def native(emit, input, ksize, strides, padding, data_format):
        return emit.windows.max_pool(input, core.pool_windows(input.shape, ksize, strides, padding), data_format)

    def gradient(op, dy):
        return MaxPool3DGrad(op.inputs[0], op.outputs[0], dy, **_window(op))


@op("MaxPool3DGrad", "orig_input: TInput, orig_output: TInput, grad: T -> output: T", **_WINDOW_5,
    data_format=_FORMAT_3D,
    T=types(*_FLOAT_OR_NARROWER, default=dt.float32), TInput=types(*_FLOAT_OR_NARROWER, default=dt.float32))
class MaxPool3DGrad(_MaxPoolGrad):
    """The gradient of MaxPool3D."""

    _rank = 5

    def gradient(op, dy):
        x, y, _ = op.inputs
        return [_no_gradient(x), _no_gradient(y), MaxPool3DGradGrad(x, y, dy, **_window(op))]


@op("MaxPool3DGradGrad", "orig_input: T, orig_output: T, grad: T -> output: T", **_WINDOW_5, data_format=_FORMAT_3D,
    T=REAL)
class MaxPool3DGradGrad(_MaxPoolGradGrad):
    """MaxPoolGradGrad for volumes."""

    ranks = {"orig_output": 5}
    _rank = 5

    def gradient(op, dy):
        x, y, _ = op.inputs
        return [_no_gradient(x), _no_gradient(y), MaxPool3DGrad(x, y, dy, **_window(op))]


# --- average pooling -------------------------------------------------------------------------------------------------

@in_float32
def _avg_pool_grad(orig_input_shape, grad, ksize, strides, padding):
    shape = tuple(int(extent) for extent in orig_input_shape)
    return core.spread_average(shape, grad, core.pool_windows(shape, ksize, strides, padding))


class _AvgPoolGrad:
    ranks = {"orig_input_shape": 1}

    def shape(orig_input_shape, _rank):
        return check_rank(constant_value_as_shape(orig_input_shape), _rank)

    kernel = _avg_pool_grad

    def native(emit, orig_input_shape, grad, ksize, strides, padding, data_format):
        windows = core.pool_windows(tuple(emit.known(orig_input_shape).tolist()), ksize, strides, padding)
        return emit.windows.average_gradient(grad, windows, data_format)


@op("AvgPool", "value: T -> output: T", **_WINDOW_4, data_format=_FORMAT_2D, T=FLOATS)
class AvgPool:
    """The mean of each window; padding does not count."""

    images = ("value", "output")
    per_axis = ("ksize", "strides")

    def shape(value, ksize, strides, padding):
        return core.pool_shape(value.shape, 4, ksize, strides, padding)

    @in_float32
    def kernel(value, ksize, strides, padding):
        return core.average(value, core.pool_windows(value.shape, ksize, strides, padding))

    def native(emit, value, ksize, strides, padding, data_format):
        return emit.windows.average(value, core.pool_windows(value.shape, ksize, strides, padding), data_format)

    def gradient(op, dy):
        return AvgPoolGrad(shape_of(op.inputs[0]), dy, **_window(op))


@op("AvgPoolGrad", "orig_input_shape: int32, grad: T -> output: T", **_WINDOW_4, data_format=_FORMAT_2D, T=FLOATS)
class AvgPoolGrad(_AvgPoolGrad):
    """The gradient of AvgPool: each window's is shared evenly."""

    images = ("grad", "output")
    per_axis = ("ksize", "strides", "orig_input_shape")
    _rank = 4

    def gradient(op, dy):
        return [None, AvgPool(dy, **_window(op))]


@op("AvgPool3D", "input: T -> output: T", **_WINDOW_5, data_format=_FORMAT_3D, T=FLOATS)
class AvgPool3D:
    """AvgPool for volumes."""

    def shape(input, ksize, strides, padding):
        return core.pool_shape(input.shape, 5, ksize, strides, padding)

    @in_float32
    def kernel(input, ksize, strides, padding):
        return core.average(input, core.pool_windows(input.shape, ksize, strides, padding))

    def native(emit, input, ksize, strides, padding, data_format):
        return emit.windows.average(input, core.pool_windows(input.shape, ksize, strides, padding), data_format)

    def gradient(op, dy):
        return AvgPool3DGrad(shape_of(op.inputs[0]), dy, **_window(op))


@op("AvgPool3DGrad", "orig_input_shape: int32, grad: T -> output: T", **_WINDOW_5, data_format=_FORMAT_3D, T=FLOATS)
class AvgPool3DGrad(_AvgPoolGrad):
    """The gradient of AvgPool3D."""

    _rank = 5

    def gradient(op, dy):
        return [None, AvgPool3D(dy, **_window(op))]
