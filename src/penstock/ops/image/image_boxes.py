"""Boxes in images: crops, overlaps, drawing. A box is (y1, x1, y2, x2), as fractions of height and width."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import Attr, types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.shape_ops import known_elements
from penstock.ops.common import like
from penstock.ops.image import distorted_box
from penstock.ops.random.random import generator

_PIXEL = types(dt.float16, dt.float32, default=dt.float32)
_SIZES = frozenset([dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64])
_SAMPLING = {"seed": 0, "seed2": 0, "aspect_ratio_range": Attr("list(float)", (0.75, 1.3300000429153442)),
             "area_range": Attr("list(float)", (0.05000000074505806, 1.0)), "max_attempts": 100, "use_image_if_no_bounding_boxes": False}

# --- suppression of overlapping boxes --------------------------------------------------------------------------------


def _overlaps(boxes: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Intersection over union of one box with each of several; 0 where one of the two is empty."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    box_low, box_high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    areas, area = np.prod(high - low, axis=1), np.prod(box_high - box_low)
    common = np.prod(np.maximum(np.minimum(high, box_high) - np.maximum(low, box_low), 0), axis=1)
    valid = (areas > 0) & (area > 0)
    return np.where(valid, common / np.where(valid, areas + area - common, 1), 0)


def suppress(boxes: Any, scores: Any, limit: Any, iou_threshold: Any, score_threshold: Any = -np.inf) -> np.ndarray:
    """Indices of boxes by falling score, without those that overlap one chosen before too much."""
    boxes, scores = np.asarray(boxes, np.float32), np.asarray(scores, np.float32)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid_argument(f"boxes must have 4 columns, got shape {list(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise invalid_argument("scores has incompatible shape")
    if not 0 <= iou_threshold <= 1:
        raise invalid_argument("iou_threshold must be in [0, 1]")
    candidates = np.argsort(-scores, kind="stable")
    candidates = candidates[scores[candidates] > score_threshold]
    chosen: list[int] = []
    while candidates.size and len(chosen) < limit:
        chosen.append(int(candidates[0]))
        rest = candidates[1:]
        candidates = rest[_overlaps(boxes[rest], boxes[candidates[0]]) <= iou_threshold]
    return np.array(chosen, np.int32)


def _selected_shape(boxes, scores, max_output_size):
    if boxes.shape.with_rank(2).extent(1) not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {boxes.shape[1]}")
    boxes.shape[0].assert_is_compatible_with(scores.shape.with_rank(1)[0])
    max_output_size.shape.assert_has_rank(0)
    return [None]


def _bounded(*thresholds: float) -> Any:
    """The op with a known number of outputs; ``thresholds`` are those that are not among the inputs."""
    def form(attrs: dict[str, Any]) -> tuple[str, dict[str, Any], tuple[Any, ...]] | None:
        if dt.float16 in attrs.values():
            return None
        given = (attrs["iou_threshold"],) if "iou_threshold" in attrs else ()
        return "_BoundedNonMaxSuppression", {}, tuple(np.float32(each) for each in (*given, *thresholds))

    return form


@op("_BoundedNonMaxSuppression", "boxes: float32, scores: float32, max_output_size: int32, iou_threshold: float32, score_threshold: float32 -> "
    "selected_indices: int32, valid_outputs: int32")
class BoundedNonMaxSuppression:
    """As NonMaxSuppressionV4 with padding."""

    gradient = None

    def shape(boxes, scores, max_output_size):
        _selected_shape(boxes, scores, max_output_size)
        return [known_elements(max_output_size), []]

    def kernel(boxes, scores, max_output_size, iou_threshold, score_threshold):
        return _padded(suppress(boxes, scores, max_output_size, iou_threshold, score_threshold), max_output_size)

    def native(emit, boxes, scores, max_output_size, iou_threshold, score_threshold):
        return emit.select.boxes(boxes, scores, int(emit.known(max_output_size)), iou_threshold, score_threshold)


def _padded(chosen: np.ndarray, length: Any) -> tuple[np.ndarray, np.int32]:
    return np.concatenate([chosen, np.zeros(int(length) - len(chosen), np.int32)]), np.int32(len(chosen))


@op("NonMaxSuppression", "boxes: float32, scores: float32, max_output_size: int32 -> selected_indices: int32", iou_threshold=0.5)
class NonMaxSuppression:
    """The best boxes that do not overlap each other too much."""

    shape = _selected_shape
    bounded = _bounded(-np.inf)
    gradient = None

    def kernel(boxes, scores, max_output_size, iou_threshold):
        return suppress(boxes, scores, max_output_size, iou_threshold)


@op("NonMaxSuppressionV2", "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold -> selected_indices: int32", T=_PIXEL,
    T_threshold=_PIXEL)
class NonMaxSuppressionV2:
    """The best boxes that do not overlap each other too much."""

    ranks = {"iou_threshold": 0}
    shape = _selected_shape
    bounded = _bounded(-np.inf)
    gradient = None

    def kernel(boxes, scores, max_output_size, iou_threshold):
        return suppress(boxes, scores, max_output_size, iou_threshold)


@op("NonMaxSuppressionV3", "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold -> "
    "selected_indices: int32", T=_PIXEL, T_threshold=_PIXEL)
class NonMaxSuppressionV3:
    """The best boxes with scores above a threshold that do not overlap each other too much."""

    ranks = {"iou_threshold": 0, "score_threshold": 0}
    shape = _selected_shape
    bounded = _bounded()
    gradient = None

    def kernel(boxes, scores, max_output_size, iou_threshold, score_threshold):
        return suppress(boxes, scores, max_output_size, iou_threshold, score_threshold)


@op("NonMaxSuppressionV4", "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold -> "
    "selected_indices: int32, valid_outputs: int32", T=_PIXEL, T_threshold=_PIXEL, pad_to_max_output_size=False)
class NonMaxSuppressionV4:
    """As V3, padded with zeros to a fixed length if it is asked for; the second output is the number of boxes."""

    ranks = {"iou_threshold": 0, "score_threshold": 0}
    bounded = _bounded()
    gradient = None

    def shape(boxes, scores, max_output_size, pad_to_max_output_size):
        _selected_shape(boxes, scores, max_output_size)
        return [known_elements(max_output_size) if pad_to_max_output_size else [None], []]

    def kernel(boxes, scores, max_output_size, iou_threshold, score_threshold, pad_to_max_output_size):
        chosen = suppress(boxes, scores, max_output_size, iou_threshold, score_threshold)
        return _padded(chosen, max_output_size) if pad_to_max_output_size else (chosen, np.int32(len(chosen)))

    def native(emit, boxes, scores, max_output_size, iou_threshold, score_threshold, pad_to_max_output_size):
        if not pad_to_max_output_size:
            emit.unsupported("how many boxes are chosen is found out in the step")
        return emit.select.boxes(boxes, scores, int(emit.known(max_output_size)), iou_threshold, score_threshold)


def non_max_suppression(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
                        name: str | None = None) -> Tensor:
    """``tf.image.non_max_suppression``: indices of the best boxes that do not overlap each other too much."""
    with name_scope(name, "non_max_suppression", [boxes, scores]):
        iou, score = to_tensor(iou_threshold, dt.float32, "iou_threshold"), to_tensor(score_threshold, dt.float32, "score_threshold")
        return NonMaxSuppressionV3(boxes, scores, max_output_size, iou, score)


def non_max_suppression_padded(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
                               pad_to_max_output_size: bool = False, name: str | None = None) -> Any:
    """``tf.image.non_max_suppression_padded``: as ``non_max_suppression``, with a fixed length and the number of boxes."""
    with name_scope(name, "non_max_suppression_padded", [boxes, scores]):
        iou, score = to_tensor(iou_threshold, dt.float32, "iou_threshold"), to_tensor(score_threshold, dt.float32, "score_threshold")
        return NonMaxSuppressionV4(boxes, scores, max_output_size, iou, score, pad_to_max_output_size=pad_to_max_output_size)


# --- random crops ----------------------------------------------------------------------------------------------------

_MAX_ATTEMPTS = 1 << 20


def _sampled_shapes(image_size, bounding_boxes, aspect_ratio_range, area_range, max_attempts):
    for name, values in (("Aspect ratio", aspect_ratio_range), ("Area", area_range)):
        if len(values) != 2:
            raise ValueError(f"{name} range field must specify 2 dimensions")
        if not all(0 < value < math.inf for value in values):
            raise ValueError(f"{name} range must be non-negative: {list(values)}")
    if max(area_range) > 1:
        raise ValueError(f"Area range must be less then or equal to 1.0: {list(area_range)}")
    if not 0 < max_attempts <= _MAX_ATTEMPTS:
        raise ValueError(f"Max attempts must be non-negative, and at most {_MAX_ATTEMPTS}: {max_attempts}")
    image_size.shape.with_rank(1)
    bounding_boxes.shape.with_rank(3)
    return [[3], [3], [1, 1, 4]]


def _sample(ctx: Any, image_size: np.ndarray, boxes: np.ndarray, covered: float, attrs: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    seed, seed2, ratios, areas, attempts, whole_image = attrs
    if image_size.shape != (3,):
        raise invalid_argument(f"image_size must contain 3 elements{list(image_size.shape)}")
    height, width = int(image_size[0]), int(image_size[1])
    if height <= 0 or width <= 0:
        raise invalid_argument(f"image height and width must be positive, got {height} and {width}")
    if not 0 <= covered <= 1:
        raise invalid_argument(f"Min object covered must be in [0.0, 1.0]: {covered}")
    objects = _objects(boxes, width, height, whole_image)
    box = distorted_box.sample(generator(ctx, seed, seed2), width, height, objects, covered, ratios, areas, attempts)
    scale = np.array([height, width, height, width], np.float32)
    corners = np.array([box.top, box.left, box.bottom, box.right], np.float32) / scale
    return (np.array([box.top, box.left, 0], image_size.dtype), np.array([box.bottom - box.top, box.right - box.left, -1]).astype(image_size.dtype),
            corners.reshape(1, 1, 4))


def _objects(boxes: np.ndarray, width: int, height: int, whole_image: bool) -> list[distorted_box.Box]:
    boxes = boxes.reshape(-1, 4)
    if not len(boxes):
        if not whole_image:
            raise invalid_argument("No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not "
                                   "provide any bounding boxes.")
        return [distorted_box.Box(0, 0, width, height)]
    if not ((boxes >= 0) & (boxes <= 1)).all():
        raise invalid_argument("All bounding box coordinates must be in [0.0, 1.0]")
    pixels = (boxes * np.array([height, width, height, width], np.float32)).astype(np.int32).tolist()
    return [distorted_box.Box(left, top, right, bottom) for top, left, bottom, right in pixels]


@op("SampleDistortedBoundingBox", "image_size: T, bounding_boxes: float32 -> begin: T, size: T, bboxes: float32", T=_SIZES,
    **{"seed": 0, "seed2": 0, "min_object_covered": 0.10000000149011612, **_SAMPLING})
class SampleDistortedBoundingBox:
    """A random crop that keeps enough of one of the boxes in view."""

    stateful = True
    shape = _sampled_shapes
    gradient = None

    def kernel(image_size, bounding_boxes, ctx, min_object_covered, seed, seed2, aspect_ratio_range, area_range, max_attempts,
               use_image_if_no_bounding_boxes):
        return _sample(ctx, image_size, bounding_boxes, min_object_covered,
                       (seed, seed2, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes))


@op("SampleDistortedBoundingBoxV2", "image_size: T, bounding_boxes: float32, min_object_covered: float32 -> begin: T, size: T, bboxes: float32",
    T=_SIZES, **_SAMPLING)
class SampleDistortedBoundingBoxV2:
    """A random crop that keeps enough of one of the boxes in view."""

    ranks = {"min_object_covered": 0}
    stateful = True
    shape = _sampled_shapes
    gradient = None

    def kernel(image_size, bounding_boxes, min_object_covered, ctx, seed, seed2, aspect_ratio_range, area_range, max_attempts,
               use_image_if_no_bounding_boxes):
        return _sample(ctx, image_size, bounding_boxes, float(min_object_covered),
                       (seed, seed2, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes))


def sample_distorted_bounding_box(image_size: Any, bounding_boxes: Any, seed: int | None = None, seed2: int | None = None,
                                  min_object_covered: Any = 0.1, aspect_ratio_range: Any = None, area_range: Any = None,
                                  max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None,
                                  name: str | None = None) -> Any:
    """``tf.image.sample_distorted_bounding_box``: (begin, size, bboxes) of a random crop; the first two are made for ``tf.slice``."""
    with name_scope(name, "sample_distorted_bounding_box"):
        # TensorFlow gives this op the two seeds as they are: a graph seed does not matter here.
        return SampleDistortedBoundingBoxV2(
            image_size, bounding_boxes, min_object_covered, seed=seed, seed2=seed2, aspect_ratio_range=aspect_ratio_range, area_range=area_range,
            max_attempts=max_attempts, use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes)


# --- drawing and glimpses --------------------------------------------------------------------------------------------

_COLORS = np.array([[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1], [0.5, 0.5, 0, 1], [0.5, 0, 0, 1],
                    [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]], np.float32)


def _draw(images: np.ndarray, boxes: np.ndarray, colors: np.ndarray) -> np.ndarray:
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        raise invalid_argument(f"images must be [batch, height, width, 1, 3 or 4], got shape {list(images.shape)}")
    if boxes.ndim != 3 or boxes.shape[2] != 4 or len(boxes) != len(images):
        raise invalid_argument(f"boxes must be [batch, boxes, 4], got shape {list(boxes.shape)}")
    if colors.shape[1] < images.shape[3]:
        raise invalid_argument(f"colors must have equal or more channels than the image provided: {list(colors.shape)}")
    out = images.copy()
    limit = np.array([images.shape[1] - 1, images.shape[2] - 1] * 2)
    if images.shape[3] == 1:
        colors = np.ones((len(colors), 4), np.float32)
    with np.errstate(invalid="ignore"):  # NaN and infinity become boxes outside of the image
        places = (boxes * limit.astype(np.float32)).astype(np.int64)
    for image, rows in zip(out, places):
        for index, (top, left, bottom, right) in enumerate(rows.tolist()):
            if top > bottom or left > right or top > limit[0] or bottom < 0 or left > limit[1] or right < 0:
                continue
            _frame(image, top, left, bottom, right, colors[index % len(colors)][:images.shape[3]])
    return out


def _frame(image: np.ndarray, top: int, left: int, bottom: int, right: int, color: np.ndarray) -> None:
    """Draws the edges of a box that are inside of the image."""
    height, width = image.shape[:2]
    rows, columns = slice(max(top, 0), min(bottom, height - 1) + 1), slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            image[row, columns] = color
    for column in (left, right):
        if 0 <= column < width:
            image[rows, column] = color


@op("DrawBoundingBoxes", "images: T, boxes: float32 -> output: T", T=_PIXEL)
class DrawBoundingBoxes:
    """The images with their boxes drawn, one colour after the other."""

    ranks = {"images": 4, "boxes": 3}
    shape = like("images")
    gradient = None

    def kernel(images, boxes):
        return _draw(images, boxes, _COLORS)


@op("DrawBoundingBoxesV2", "images: T, boxes: float32, colors: float32 -> output: T", T=_PIXEL)
class DrawBoundingBoxesV2:
    """The images with their boxes drawn in the given colours."""

    ranks = {"images": 4, "boxes": 3, "colors": 2}
    shape = like("images")
    gradient = None

    def kernel(images, boxes, colors):
        return _draw(images, boxes, colors if colors.size else _COLORS)


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """``tf.image.draw_bounding_boxes``: the images with their boxes drawn."""
    return DrawBoundingBoxes(images, boxes, name=name) if colors is None else DrawBoundingBoxesV2(images, boxes, colors, name=name)


@op("ExtractGlimpse", "input: float32, size: int32, offsets: float32 -> glimpse: float32", centered=True, normalized=True, uniform_noise=True,
    noise="uniform")
class ExtractGlimpse:
    """A window of each image at its own offset; what lies outside of the image is noise."""

    ranks = {"size": 1, "offsets": 2}
    gradient = None

    def shape(input, size, offsets):
        known = input.shape.with_rank(4)
        height, width = known_elements(size) or (None, None)
        return [known[0], height, width, known[3]]

    def kernel(input, size, offsets, centered, normalized, uniform_noise, noise):
        if np.shape(size) != (2,) or min(size) <= 0:
            raise invalid_argument(f"the size of a glimpse must be two positive numbers, not {np.asarray(size).tolist()}")
        height, width = int(size[0]), int(size[1])
        if offsets.shape != (len(input), 2):
            raise invalid_argument(f"offset must be a matrix of [batch, 2], got shape {list(offsets.shape)}")
        extent = np.array(input.shape[1:3], np.float32)
        places = offsets * extent if normalized else offsets.astype(np.float32)
        places = places / 2 + extent / 2 if centered else places
        starts = np.trunc(places - np.array([height, width], np.float32) / 2).astype(np.int64)
        out = _noise(input, (len(input), height, width, input.shape[3]), uniform_noise, noise)
        for image, target, (top, left) in zip(input, out, starts.tolist()):
            rows, columns = np.arange(height) + top, np.arange(width) + left
            inside = np.ix_((rows >= 0) & (rows < len(image)), (columns >= 0) & (columns < image.shape[1]))
            kept_rows, kept_columns = rows[(rows >= 0) & (rows < len(image))], columns[(columns >= 0) & (columns < image.shape[1])]
            target[inside] = image[np.ix_(kept_rows, kept_columns)]
        return out


def _noise(images: np.ndarray, shape: tuple[int, ...], uniform: bool, noise: str) -> np.ndarray:
    if noise == "zero":
        return np.zeros(shape, np.float32)
    rng = np.random.default_rng()
    gaussian = noise == "gaussian" or not uniform
    unit = rng.standard_normal(shape, np.float32) if gaussian else rng.random(shape, np.float32)
    if not images.size:
        return unit
    start, spread = (images.mean(), images.std()) if gaussian else (images.min(), images.max() - images.min())
    return start + spread * unit


def extract_glimpse(input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True, uniform_noise: bool = True,
                    name: str | None = None) -> Tensor:
    """``tf.image.extract_glimpse``: a window of each image at its own offset."""
    return ExtractGlimpse(input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise, name=name)
