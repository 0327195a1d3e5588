"""Image resizing: the operations and their gradients. What makes an output element is in ``ops/image/resize_weights.py``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.codec.resizing import resized
from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.array.shape_ops import known_elements, shape
from penstock.ops.image import resize_weights as weights
from penstock.ops.public import function

IMAGE = frozenset([dt.int8, dt.uint8, dt.int16, dt.uint16, dt.int32, dt.int64, dt.float16, dt.float32, dt.float64])
_CENTERS = {"align_corners": False, "half_pixel_centers": False}
_MAX_PIXELS = 2**31  # of one result: more is a mistake, not an image


def _resized_shape(images: Tensor, size: Tensor) -> TensorShape:
    known = images.shape.with_rank(4)
    if size.shape.with_rank(1).extent(0) not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {size.shape[0]}")
    height, width = known_elements(size) or (None, None)
    return TensorShape([known[0], height, width, known[3]])


def _check(images: Any, size: Any) -> tuple[int, int]:
    """The wanted extents, if the input is a batch of images that can be resized to them."""
    if images.ndim != 4:
        raise invalid_argument(f"input must be 4-dimensional{list(images.shape)}")
    if np.shape(size) != (2,):
        raise invalid_argument(f"shape_t must be 1-dimensional with two elements, not {list(np.shape(size))}")
    height, width = int(size[0]), int(size[1])
    if height <= 0 or width <= 0:
        raise invalid_argument("output dimensions must be positive")
    if not images.shape[1] or not images.shape[2]:
        raise invalid_argument("input image must be of non-zero size")
    if images.shape[0] * height * width * images.shape[3] > _MAX_PIXELS:
        raise invalid_argument(f"resizing to [{height}, {width}] would need more than {_MAX_PIXELS} elements")
    return height, width


def _check_centers(align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        raise invalid_argument("If half_pixel_centers is True, align_corners must be False.")


def _native(emit: Any, images: Any, size: Any, plan: Any, align_corners: bool, half_pixel_centers: bool, back: bool = False) -> Any:
    """Resizing, or its transpose, natively: ``plan`` gives the weights along an axis."""
    if (align_corners and half_pixel_centers) or 0 in (*size, *images.shape[1:3]):
        emit.unsupported("there is nothing to resize")
    sizes = zip(size, images.shape[1:3]) if back else zip(images.shape[1:3], size)
    rows, columns = (weights.matrix(plan(inputs, outputs, align_corners, half_pixel_centers), inputs) for inputs, outputs in sizes)
    return emit.images.resample(images, rows.T, columns.T) if back else emit.images.resample(images, rows, columns)


@op("ResizeBilinear", "images: T, size: int32 -> resized_images: float32", T=IMAGE | {dt.bfloat16}, **_CENTERS)
class ResizeBilinear:
    """Each output element mixes the four input elements around its place."""

    shape = _resized_shape

    def kernel(images, size, align_corners, half_pixel_centers):
        height, width = _check(images, size)
        _check_centers(align_corners, half_pixel_centers)
        if images.shape[1:3] == (height, width):
            return images.astype(np.float32)
        top, bottom, down = weights.bilinear(images.shape[1], height, align_corners, half_pixel_centers)
        left, right, across = weights.bilinear(images.shape[2], width, align_corners, half_pixel_centers)
        quick = resized(images, (top, bottom, down), (left, right, across))
        if quick is not None:
            return quick
        images = images.astype(np.float32)
        across, down = across[:, None], down[:, None, None]
        upper, lower = images[:, top], images[:, bottom]
        upper = upper[:, :, left] + (upper[:, :, right] - upper[:, :, left]) * across
        lower = lower[:, :, left] + (lower[:, :, right] - lower[:, :, left]) * across
        return upper + (lower - upper) * down

    def native(emit, images, size, align_corners, half_pixel_centers):
        return _native(emit, images, emit.known(size).tolist(), weights.bilinear_plan, align_corners, half_pixel_centers)

    def gradient(op, dy):
        if op.inputs[0].dtype.base_dtype not in (dt.float16, dt.bfloat16, dt.float32, dt.float64):
            return [None, None]
        return [ResizeBilinearGrad(dy, op.inputs[0], **_centers(op)), None]


def _centers(op: Any) -> dict[str, bool]:
    return {name: op.attrs[name] for name in _CENTERS}


def _original_shape(grads, original_image):
    images = original_image.shape.with_rank(4)
    return TensorShape([grads.shape.with_rank(4)[0], images[1], images[2], grads.shape.with_rank(4)[3]])


def _resize_transposed(grads: np.ndarray, size: tuple[int, int], plan: Any, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """The transpose of resizing: what each output element got goes back to where it came from."""
    rows, columns = (weights.matrix(plan(inputs, outputs, align_corners, half_pixel_centers), inputs).T
                     for inputs, outputs in zip(size, grads.shape[1:3]))
    return weights.apply_matrices(grads, rows.astype(grads.dtype), columns.astype(grads.dtype))


@op("ResizeBilinearGrad", "grads: float32, original_image: T -> output: T",
    T=frozenset([dt.float32, dt.bfloat16, dt.float16, dt.float64]), **_CENTERS)
class ResizeBilinearGrad:
    """The gradient of ResizeBilinear."""

    shape = _original_shape

    def kernel(grads, original_image, T, align_corners, half_pixel_centers):
        return _resize_transposed(grads, original_image.shape[1:3], weights.bilinear_plan, align_corners, half_pixel_centers).astype(T.np)

    def native(emit, grads, original_image, align_corners, half_pixel_centers):
        if original_image.dtype != grads.dtype:
            emit.unsupported("the gradient has another type")
        return _native(emit, grads, original_image.shape[1:3], weights.bilinear_plan, align_corners, half_pixel_centers, back=True)

    def gradient(op, dy):
        return [ResizeBilinear(dy, shape(op.inputs[0])[1:3], **_centers(op)), None]


@op("ResizeNearestNeighbor", "images: T, size: int32 -> resized_images: T", T=IMAGE, **_CENTERS)
class ResizeNearestNeighbor:
    """Each output element is the input element nearest to its place."""

    gradient_nodes = lambda op: 2 if op.inputs[0].shape[1:3].is_fully_defined() else 6
    shape = _resized_shape

    def kernel(images, size, align_corners, half_pixel_centers):
        height, width = _check(images, size)
        rows = weights.nearest(images.shape[1], height, align_corners, half_pixel_centers)
        columns = weights.nearest(images.shape[2], width, align_corners, half_pixel_centers)
        return images[:, rows[:, None], columns]

    def native(emit, images, size, align_corners, half_pixel_centers):
        rows, columns = (weights.nearest(inputs, outputs, align_corners, half_pixel_centers)
                         for inputs, outputs in zip(images.shape[1:3], emit.known(size).tolist()))
        return emit.images.pick_pixels(images, rows, columns)

    def gradient(op, dy):
        return [ResizeNearestNeighborGrad(dy, shape(op.inputs[0])[1:3], **_centers(op)), None]


@op("ResizeNearestNeighborGrad", "grads: T, size: int32 -> output: T",
    T=frozenset([dt.uint8, dt.int8, dt.int32, dt.float16, dt.float32, dt.float64]), **_CENTERS)
class ResizeNearestNeighborGrad:
    """The gradient of ResizeNearestNeighbor; ``size`` is that of the original image."""

    def shape(grads, size):
        return _resized_shape(grads, size)

    def kernel(grads, size, T, align_corners, half_pixel_centers):
        height, width = _check(grads, size)
        work = grads.astype(np.float32) if T is dt.float16 else grads
        return _resize_transposed(work, (height, width), weights.nearest_plan, align_corners, half_pixel_centers).astype(T.np)

    def native(emit, grads, size, align_corners, half_pixel_centers):
        return _native(emit, grads, emit.known(size).tolist(), weights.nearest_plan, align_corners, half_pixel_centers, back=True)

    def gradient(op, dy):
        return [ResizeNearestNeighbor(dy, shape(op.inputs[0])[1:3], **_centers(op)), None]


@op("ResizeBicubic", "images: T, size: int32 -> resized_images: float32", T=IMAGE, **_CENTERS)
class ResizeBicubic:
    """Each output element mixes the sixteen input elements around its place."""

    shape = _resized_shape

    def kernel(images, size, align_corners, half_pixel_centers):
        height, width = _check(images, size)
        _check_centers(align_corners, half_pixel_centers)
        images = images.astype(np.float32)
        rows, down = weights.bicubic_plan(images.shape[1], height, align_corners, half_pixel_centers)
        columns, across = weights.bicubic_plan(images.shape[2], width, align_corners, half_pixel_centers)
        tall = sum(images[:, rows[:, tap]] * down[:, tap, None, None] for tap in range(4))
        return sum(tall[:, :, columns[:, tap]] * across[:, tap, None] for tap in range(4))

    def native(emit, images, size, align_corners, half_pixel_centers):
        return _native(emit, images, emit.known(size).tolist(), weights.bicubic_plan, align_corners, half_pixel_centers)

    def gradient(op, dy):
        if op.inputs[0].dtype.base_dtype not in (dt.float32, dt.float64):
            return [None, None]
        return [ResizeBicubicGrad(dy, op.inputs[0], **_centers(op)), None]


@op("ResizeBicubicGrad", "grads: float32, original_image: T -> output: T", T=frozenset([dt.float32, dt.float64]), **_CENTERS)
class ResizeBicubicGrad:
    """The gradient of ResizeBicubic."""

    shape = _original_shape

    def kernel(grads, original_image, T, align_corners, half_pixel_centers):
        return _resize_transposed(grads, original_image.shape[1:3], weights.bicubic_plan, align_corners, half_pixel_centers).astype(T.np)

    def native(emit, grads, original_image, align_corners, half_pixel_centers):
        if original_image.dtype != grads.dtype:
            emit.unsupported("the gradient has another type")
        return _native(emit, grads, original_image.shape[1:3], weights.bicubic_plan, align_corners, half_pixel_centers, back=True)

    def gradient(op, dy):
        return [ResizeBicubic(dy, shape(op.inputs[0])[1:3], **_centers(op)), None]


@op("ResizeArea", "images: T, size: int32 -> resized_images: float32", T=IMAGE, align_corners=False)
class ResizeArea:
    """Each output element is the mean of the input area that it covers."""

    shape = _resized_shape
    gradient = None

    def kernel(images, size, align_corners):
        height, width = _check(images, size)
        rows = weights.area_matrix(images.shape[1], height, align_corners)
        columns = weights.area_matrix(images.shape[2], width, align_corners)
        return weights.apply_matrices(images.astype(np.float32), rows, columns)


def _with_name_fourth(definition: Any, public_name: str) -> Any:
    """TensorFlow's Python functions have ``name`` before ``half_pixel_centers``."""

    def call(images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False) -> Tensor:
        return definition(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)

    call.__name__ = call.__qualname__ = public_name
    call.__doc__ = f"``tf.image.{public_name}``: {definition.__doc__}"
    return call


resize_bilinear = _with_name_fourth(ResizeBilinear, "resize_bilinear")
resize_nearest_neighbor = _with_name_fourth(ResizeNearestNeighbor, "resize_nearest_neighbor")
resize_bicubic = _with_name_fourth(ResizeBicubic, "resize_bicubic")
resize_area = function(ResizeArea, "resize_area")
