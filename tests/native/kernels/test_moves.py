"""Data movement: views and copies against the NumPy kernels."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.native.calls import Unsupported
from penstock.native.emitter import Emitter
from support.native import check, native

pytestmark = pytest.mark.process
DTYPES = [np.bool_, np.int8, np.float16, np.int32, np.float32, np.int64, np.float64, np.complex128]


def numbers(*shape, dtype=np.float32):
    """Whole numbers, all different as far as the type can tell them apart."""
    return np.arange(1, int(np.prod(shape)) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (7, 9), (16, 33), (65, 3), (3, 65), (0, 4), (130, 70)])
def test_transpose_of_a_matrix(dtype, shape):
    check("Transpose", numbers(*shape, dtype=dtype), np.int32([1, 0]))


@pytest.mark.parametrize("perm", [(0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 2, 3), (0, 1, 3, 2), (-1, 0, 1, 2)])
@pytest.mark.parametrize("shape", [(2, 5, 6, 17), (3, 1, 9, 16), (1, 40, 40, 3)])
def test_transpose(perm, shape):
    check("Transpose", numbers(*shape), np.int32(perm))


def test_large_transposes_are_spread_over_threads():
    for threads in (1, 3):
        check("Transpose", numbers(515, 1030), np.int32([1, 0]), threads=threads)
        check("Transpose", numbers(4, 60, 60, 64), np.int32([0, 3, 1, 2]), threads=threads)
        check("Transpose", numbers(4, 64, 60, 60), np.int32([0, 2, 3, 1]), threads=threads)


def test_strided_inputs():
    base = numbers(12, 14, 6)
    for view in (base[::2, ::-1], base[:, 3:9:2, ::3], base.transpose(2, 0, 1), base[::-1, ::-1, ::-1], np.broadcast_to(base[:1], (5, 14, 6))):
        check("Transpose", view, np.int32([2, 0, 1]))
        check("Reshape", view, np.int32([-1]))
        check("Tile", view, np.int32([2, 1, 3]))
        check("Concat", np.int32(1), [view, view])


@pytest.mark.parametrize("shape,wanted", [
    ((2, 3, 4), (6, 4)), ((2, 3, 4), (-1,)), ((2, 3, 4), (4, -1, 2)), ((0, 3), (3, 0)), ((), (1, 1)), ((1,), ()), ((6,), (1, 2, 1, 3))])
def test_reshape(shape, wanted):
    check("Reshape", numbers(*shape), np.int32(wanted))


def test_reshape_of_views_copies_only_where_it_must():
    def calls(view, shape):
        emit = Emitter(1)
        array = emit.empty(view.shape, np.float32)
        array.strides = view.strides
        emit.move.reshape(array, shape)
        return len(emit.calls)
    base = numbers(4, 6, 10)
    assert calls(base[:, :, ::2], (24, 5)) == 0
    assert calls(base[:, :, :5], (4, 2, 3, 5)) == 0
    assert calls(np.broadcast_to(base[0, 0, 0], (4, 6)), (24,)) == 0
    assert calls(base[:, :, :5], (120,)) == 1
    assert calls(base.transpose(1, 0, 2), (24, 10)) == 1


def test_reshape_that_does_not_fit_is_left_to_numpy():
    for wanted in ([5], [-1, 4], [-1, -1], [-2, -3]):
        with pytest.raises(Unsupported):
            _reshape(wanted)


def _reshape(wanted):
    emit = Emitter(1)
    emit.move.reshape(emit.empty((2, 3), np.float32), wanted)


def test_axes_of_extent_one():
    check("Squeeze", numbers(1, 3, 1), squeeze_dims=[])
    check("Squeeze", numbers(1, 3, 1), squeeze_dims=[-1])
    for axis in (0, 1, 2, -1, -3):
        check("ExpandDims", numbers(2, 3), np.int32(axis))


def test_slices():
    x = numbers(5, 6, 7)
    check("Slice", x, np.int32([1, 0, 2]), np.int32([3, -1, 4]))
    check("Slice", x, np.int32([5, 0, 2]), np.int32([0, 6, 4]))
    check("StridedSlice", x, np.int32([1, 4]), np.int32([4, 0]), np.int32([2, -1]))
    check("StridedSlice", x, np.int32([1, 0, 2]), np.int32([2, 0, 9]), np.int32([1, 1, 1]), shrink_axis_mask=1, new_axis_mask=2)
    check("StridedSlice", x, np.int32([1, 2, 3]), np.int32([2, 3, 4]), np.int32([1, 1, 1]), shrink_axis_mask=7)
    check("StridedSlice", x, np.int32([0, -1]), np.int32([0, 0]), np.int32([1, -3]), ellipsis_mask=1, begin_mask=2, end_mask=2)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_gradient_of_strided_slice(dtype):
    shape = np.int32([5, 6, 7])
    check("StridedSliceGrad", shape, np.int32([1, 4]), np.int32([4, 0]), np.int32([2, -1]), numbers(2, 4, 7, dtype=dtype))
    check("StridedSliceGrad", shape, np.int32([0]), np.int32([0]), np.int32([1]), numbers(5, 6, 7, dtype=dtype), ellipsis_mask=1)
    with pytest.raises(Unsupported):
        native("StridedSliceGrad", shape, np.int32([1]), np.int32([4]), np.int32([1]), numbers(2, 6, 7, dtype=dtype))


def test_joining_and_splitting():
    for axis in (0, 1, 2, -1):
        check("ConcatV2", [numbers(3, 4, 5), numbers(3, 4, 5) + 100], np.int32(axis))
        check("Pack", [numbers(3, 4, 5), numbers(3, 4, 5) + 100, numbers(3, 4, 5) + 200], axis=axis)
        check("Unpack", numbers(3, 3, 3), num=3, axis=axis)
        check("Split", np.int32(axis), numbers(6, 6, 6), num_split=3)
        check("SplitV", numbers(6, 6, 6), np.int64([1, -1, 0, 2]), np.int32(axis), num_split=4)
    check("ConcatV2", [numbers(3, 4), numbers(0, 4), numbers(5, 4)], np.int32(0))
    check("ConcatV2", [numbers(300, 1), numbers(300, 70), numbers(300, 2)], np.int32(1))
    check("ConcatV2", [numbers(700, 401), numbers(700, 300)], np.int32(1), threads=4)
    check("Pack", [np.float32(1), np.float32(2)], axis=0)
    check("ParallelConcat", [numbers(1, 4), numbers(1, 4)], shape=[2, 4])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_padding(dtype):
    for pairs in ([[0, 0], [0, 0], [0, 0]], [[1, 2], [0, 3], [2, 0]], [[0, 0], [1, 1], [0, 0]]):
        check("Pad", numbers(3, 4, 5, dtype=dtype), np.int32(pairs))
        check("PadV2", numbers(3, 4, 5, dtype=dtype), np.int32(pairs), dtype(7))
    check("Pad", numbers(2, 90, 90, 8, dtype=dtype), np.int32([[0, 0], [3, 2], [1, 4], [0, 0]]))
    check("Pad", numbers(0, 3, dtype=dtype), np.int32([[1, 1], [2, 0]]))
    check("PadV2", numbers(300, 70, dtype=dtype), np.int32([[1, 1], [2, 1]]), dtype(3))


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirrors(mode):
    for pairs in ([[1, 2], [0, 3], [2, 4]], [[0, 0], [1, 1], [0, 0]], [[0, 0], [0, 0], [0, 0]]):
        check("MirrorPad", numbers(3, 4, 5), np.int32(pairs), mode=mode)
    with pytest.raises(Unsupported):
        native("MirrorPad", numbers(2, 3), np.int32([[3, 0], [0, 0]]), mode=mode)


def test_repetition():
    check("Tile", numbers(3, 4), np.int32([2, 3]))
    check("Tile", numbers(3, 4), np.int32([0, 3]))
    check("Tile", numbers(5), np.int32([7]))
    check("BroadcastTo", numbers(3, 1), np.int32([2, 3, 4]))
    check("Fill", np.int32([3, 50]), np.float32(2.5))
    check("Fill", np.int64([]), np.int32(3))
    check("ZerosLike", numbers(3, 4))
    check("OnesLike", numbers(3, 4, dtype=np.bool_))


def test_reversal_and_rolling():
    x = numbers(4, 5, 6)
    check("ReverseV2", x, np.int32([0, -1]))
    check("Reverse", x, np.array([True, False, True]))
    check("Roll", x, np.int32([2, -1]), np.int32([0, 2]))
    check("Roll", x, np.int32([5, 3]), np.int32([1, 1]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_rows_of_groups_backwards(dtype, channels):
    for width in (1, 2, 7, 20, 64, 131):
        x = numbers(3, width, channels, dtype=dtype)
        for axes in ([1], [0, 1], [1, 2], [0, 1, 2]):
            check("ReverseV2", x, np.int32(axes))
    check("ReverseV2", numbers(30, 400, channels, dtype=dtype), np.int32([1]), threads=3)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_space_and_depth(data_format):
    check("SpaceToDepth", numbers(2, 4, 6, 4), block_size=2, data_format=data_format)
    check("DepthToSpace", numbers(2, 4, 6, 4) if data_format == "NHWC" else numbers(2, 4, 6, 3), block_size=2, data_format=data_format)


def test_space_and_batch():
    check("SpaceToBatchND", numbers(2, 4, 5, 3), np.int32([2, 3]), np.int32([[1, 1], [0, 1]]))
    check("BatchToSpaceND", numbers(12, 3, 2, 3), np.int32([2, 3]), np.int32([[1, 1], [0, 1]]))
    check("SpaceToBatch", numbers(2, 4, 6, 3), np.int32([[1, 1], [0, 0]]), block_size=2)
    check("BatchToSpace", numbers(8, 2, 3, 1), np.int32([[0, 1], [1, 0]]), block_size=2)


def test_passing():
    x = numbers(3, 4)
    for op_type in ("Identity", "StopGradient", "PreventGradient", "Snapshot"):
        check(op_type, x)
    check("IdentityN", [x, numbers(2, dtype=np.int32)])
    check("EnsureShape", x, shape=[3, None])


def test_diagonals():
    for shape in ((4,), (2, 3)):
        check("Diag", numbers(*shape))
        check("DiagPart", numbers(*shape, *shape))
        check("DiagPart", np.asfortranarray(numbers(*shape, *shape)))
    for shape in ((3, 4, 5), (5, 4), (2, 0, 3), (3, 3)):
        check("MatrixDiagPart", numbers(*shape))
        check("MatrixSetDiag", numbers(*shape), numbers(*shape[:-2], min(shape[-2:])) + 100)
        check("MatrixDiag", numbers(*shape))


@pytest.mark.parametrize("band", [(0, 0), (-1, 0), (1, -1), (2, 1), (-1, -1), (4, 5)])
def test_bands(band):
    for dtype in (np.float32, np.int8, np.complex128):
        check("MatrixBandPart", numbers(3, 4, 5, dtype=dtype), np.int64(band[0]), np.int64(band[1]))
    check("MatrixBandPart", numbers(300, 200), np.int64(band[0]), np.int64(band[1]), threads=3)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_gradients_of_mirrored_padding(mode, dtype):
    x = np.arange(9 * 10 * 11).reshape(9, 10, 11).astype(dtype)
    for paddings in ([[0, 0], [2, 1], [3, 3]], [[2, 3], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]], [[1, 0], [0, 4], [4, 0]]):
        check("MirrorPadGrad", x, np.int32(paddings), known=(1,), mode=mode)
        check("MirrorPadGrad", x[:, ::-1].swapaxes(0, 2), np.int32(paddings)[::-1], known=(1,), mode=mode)
    with pytest.raises(Unsupported):
        native("MirrorPadGrad", x, np.int32([[5, 0], [0, 0], [0, 0]]), known=(1,), mode=mode)


def test_the_same_bytes_as_another_type():
    for dtype, other in ((np.float32, np.int32), (np.int64, np.float64), (np.float64, np.int32), (np.int32, np.uint8)):
        for x in (numbers(3, 4, dtype=dtype), numbers(6, 4, dtype=dtype)[::2]):
            check("Bitcast", x, type=other)
    check("Bitcast", numbers(3, 2, dtype=np.int32), type=np.int64)
    check("Bitcast", numbers(5, 3, 4, dtype=np.uint8)[::2], type=np.float32)
