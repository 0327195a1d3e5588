"""CropAndResize: parts of images, given by boxes, all resized to one size; and its gradients."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import KernelError, OutOfRangeError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import one_of
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.array.shape_ops import known_elements, shape

IMAGE = frozenset([dt.uint8, dt.uint16, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.float32, dt.float64])
_METHOD = one_of("bilinear", "nearest", default="bilinear")


def _coordinates(low: np.ndarray, high: np.ndarray, extent: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the samples of each box lie along one axis, [boxes, count], and which of them are inside of the image."""
    span = np.float32(extent - 1)
    if count > 1:
        step = (high - low) * span / np.float32(count - 1)
        places = (low * span)[:, None] + np.arange(count, dtype=np.float32) * step[:, None]
    else:
        places = (np.float32(0.5) * (low + high) * span)[:, None]
    inside = (places >= 0) & (places <= span)
    return np.where(inside, places, np.float32(0)), inside  # a box may hold NaN, which is not an index


class _Samples:
    """The samples of all boxes in an image batch: indices of the four neighbours and the fractions between them."""

    def __init__(self, boxes: np.ndarray, extents: tuple[int, int], crop: tuple[int, int]) -> None:
        self.y, inside_y = _coordinates(boxes[:, 0], boxes[:, 2], extents[0], crop[0])
        self.x, inside_x = _coordinates(boxes[:, 1], boxes[:, 3], extents[1], crop[1])
        self.inside = inside_y[:, :, None] & inside_x[:, None, :]
        (self.top, self.bottom), (self.left, self.right) = _neighbours(self.y, extents[0]), _neighbours(self.x, extents[1])
        self.down = (self.y - self.top).astype(np.float32)[:, :, None, None]
        self.across = (self.x - self.left).astype(np.float32)[:, None, :, None]

    def corners(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(rows, columns, weight) of the four neighbours of each sample."""
        return [(rows[:, :, None], columns[:, None, :], down * across)
                for rows, down in ((self.top, 1 - self.down), (self.bottom, self.down))
                for columns, across in ((self.left, 1 - self.across), (self.right, self.across))]


def _neighbours(places: np.ndarray, extent: int) -> tuple[np.ndarray, np.ndarray]:
    return (np.clip(np.floor(places), 0, extent - 1).astype(np.int64), np.clip(np.ceil(places), 0, extent - 1).astype(np.int64))


def _check_grads(grads: np.ndarray, boxes: np.ndarray, depth: int) -> None:
    """InvalidArgumentError unless there is a gradient, with the depth of the images, for each box."""
    if len(grads) != len(boxes):
        raise invalid_argument("boxes and grads have incompatible shape")
    if grads.shape[3] != depth:
        raise invalid_argument("image_size and grads are incompatible")
    if min(grads.shape[1:3]) <= 0:
        raise invalid_argument("grads dimensions must be positive")


def _check(boxes: np.ndarray, box_ind: np.ndarray, batch: int, *sizes: Any) -> None:
    """InvalidArgumentError unless the boxes fit the images and all sizes are pairs of positive numbers."""
    for size in sizes:
        if len(size) != 2 or min(size) <= 0:
            raise invalid_argument(f"image and crop dimensions must be two positive numbers, got {list(size)}")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid_argument(f"boxes must have 4 columns, got shape {list(boxes.shape)}")
    if box_ind.shape != boxes.shape[:1]:
        raise invalid_argument("box_ind has incompatible shape")
    if box_ind.size and not ((box_ind >= 0) & (box_ind < batch)).all():
        raise KernelError(OutOfRangeError, f"box_index has values outside [0, batch_size): [0, {batch})")


@op("CropAndResize", "image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32", T=IMAGE, method=_METHOD,
    extrapolation_value=0.0)
class CropAndResize:
    """The part of image ``box_ind[i]`` inside of ``boxes[i]``, resized to ``crop_size``, for each i."""

    ranks = {"crop_size": 1}

    def shape(image, boxes, box_ind, crop_size):
        count = boxes.shape.with_rank(2)[0].merge_with(box_ind.shape.with_rank(1)[0])
        height, width = known_elements(crop_size) or (None, None)
        return [count, height, width, image.shape.with_rank(4)[3]]

    def kernel(image, boxes, box_ind, crop_size, method, extrapolation_value):
        _check(boxes, box_ind, len(image), image.shape[1:3], crop_size)
        height, width = int(crop_size[0]), int(crop_size[1])
        samples = _Samples(boxes, image.shape[1:3], (height, width))
        which = box_ind[:, None, None]
        if method == "nearest":
            rows, columns = (np.clip(np.floor(places + np.float32(0.5)), 0, extent - 1).astype(np.int64)
                             for places, extent in ((samples.y, image.shape[1]), (samples.x, image.shape[2])))
            crops = image[which, rows[:, :, None], columns[:, None, :]].astype(np.float32)
        else:
            top_left, top_right, bottom_left, bottom_right = (
                image[which, rows, columns].astype(np.float32) for rows, columns, _ in samples.corners())
            top = top_left + (top_right - top_left) * samples.across
            bottom = bottom_left + (bottom_right - bottom_left) * samples.across
            crops = top + (bottom - top) * samples.down
        crops[~samples.inside] = extrapolation_value
        return crops

    def gradient(op, dy):
        image, boxes, box_ind, _ = op.inputs
        image_grad = CropAndResizeGradImage(dy, boxes, box_ind, shape(image), T=image.dtype.base_dtype, method=op.attrs["method"]) \
            if image.dtype.base_dtype in (dt.float16, dt.float32, dt.float64) else None
        box_grad = CropAndResizeGradBoxes(dy, image, boxes, box_ind) if op.attrs["method"] == "bilinear" else None
        return [image_grad, box_grad, None, None]


@op("CropAndResizeGradImage", "grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T",
    T=frozenset([dt.float32, dt.float16, dt.float64]), method=_METHOD)
class CropAndResizeGradImage:
    """The gradient of CropAndResize in the image."""

    ranks = {"grads": 4, "boxes": 2, "box_ind": 1, "image_size": 1}
    gradient = None

    def shape(image_size):
        extents = [None] * 4 if (known := known_elements(image_size)) is None else known
        if len(extents) != 4:
            raise ValueError(f"image_size must have 4 elements, but has {len(extents)}")
        return extents

    def kernel(grads, boxes, box_ind, image_size, T, method):
        extents = [int(extent) for extent in image_size]
        _check(boxes, box_ind, extents[0], extents[1:3])
        _check_grads(grads, boxes, extents[3])
        samples = _Samples(boxes, (extents[1], extents[2]), grads.shape[1:3])
        out = np.zeros(extents, np.float32 if T is dt.float16 else T.np)
        inside, which = np.where(samples.inside[..., None], grads, 0), box_ind[:, None, None]
        if method == "nearest":
            rows, columns = (np.clip(np.floor(places + np.float32(0.5)), 0, extent - 1).astype(np.int64)
                             for places, extent in ((samples.y, extents[1]), (samples.x, extents[2])))
            np.add.at(out, (which, rows[:, :, None], columns[:, None, :]), inside)
        else:
            for rows, columns, weight in samples.corners():
                np.add.at(out, (which, rows, columns), inside * weight)
        return out.astype(T.np)


@op("CropAndResizeGradBoxes", "grads: float32, image: T, boxes: float32, box_ind: int32 -> output: float32", T=IMAGE,
    method=one_of("bilinear", default="bilinear"))
class CropAndResizeGradBoxes:
    """The gradient of CropAndResize in the boxes."""

    ranks = {"grads": 4, "image": 4, "boxes": 2, "box_ind": 1}
    gradient = None

    def shape(boxes):
        return boxes.shape

    def kernel(grads, image, boxes, box_ind):
        _check(boxes, box_ind, len(image), image.shape[1:3])
        _check_grads(grads, boxes, image.shape[3])
        height, width = grads.shape[1:3]
        samples = _Samples(boxes, image.shape[1:3], (height, width))
        corner = [image[box_ind[:, None, None], rows, columns].astype(np.float32) for rows, columns, _ in samples.corners()]
        slope_y = (corner[2] - corner[0]) * (1 - samples.across) + (corner[3] - corner[1]) * samples.across
        slope_x = (corner[1] - corner[0]) * (1 - samples.down) + (corner[3] - corner[2]) * samples.down
        grads = np.where(samples.inside[..., None], grads, 0)
        along_y, along_x = (grads * slope_y).sum((2, 3)), (grads * slope_x).sum((1, 3))
        (y1, y2), (x1, x2) = _ends(along_y, image.shape[1]), _ends(along_x, image.shape[2])
        return np.stack([y1, x1, y2, x2], 1).astype(np.float32)


def _ends(slopes: np.ndarray, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """How a sum of slopes at evenly spaced samples depends on the two ends of the interval."""
    count = slopes.shape[1]
    share = np.arange(count) / (count - 1) if count > 1 else np.array([0.5])
    scaled = slopes * (extent - 1)
    return scaled @ (1 - share), scaled @ share


def crop_and_resize(image: Any, boxes: Any, box_ind: Any = None, crop_size: Any = None, method: str = "bilinear", extrapolation_value: float = 0,
                    name: str | None = None, box_indices: Any = None) -> Tensor:
    """``tf.image.crop_and_resize``: the parts of the images inside of the boxes, resized to one size."""
    return CropAndResize(image, boxes, box_ind if box_indices is None else box_indices, crop_size, method=method,
                         extrapolation_value=extrapolation_value, name=name)
