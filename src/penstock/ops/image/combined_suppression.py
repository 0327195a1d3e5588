"""The best boxes of all classes, for a batch of images: ``tf.image.combined_non_max_suppression``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.image.image_boxes import suppress


@op("CombinedNonMaxSuppression", "boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float32, "
    "score_threshold: float32 -> nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
    pad_per_class=False, clip_boxes=True)
class CombinedNonMaxSuppression:
    """For each image: the best boxes of each class, and of these the best, padded with zeros; and how many there are."""

    ranks = {"boxes": 4, "scores": 3, "max_output_size_per_class": 0, "max_total_size": 0, "iou_threshold": 0, "score_threshold": 0}
    gradient = None

    def shape(boxes, scores, max_output_size_per_class, max_total_size, pad_per_class):
        total, per_class = constant_value(max_total_size), constant_value(max_output_size_per_class)
        classes = scores.shape.extent(2)
        if pad_per_class and total is not None:
            total = None if per_class is None or classes is None else min(int(total), int(per_class) * classes)
        size, batch = None if total is None else int(total), boxes.shape[0]
        return [[batch, size, 4], [batch, size], [batch, size], [batch]]

    def kernel(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold, pad_per_class, clip_boxes):
        if boxes.shape[2] not in (1, scores.shape[2]):
            raise invalid_argument(f"third dimension of boxes must be either 1 or num classes, got {boxes.shape[2]} for {scores.shape[2]} classes")
        if max_total_size <= 0:
            raise invalid_argument("max_total_size must be > 0")
        if max_output_size_per_class <= 0:
            raise invalid_argument("max_size_per_class must be positive")
        if not 0 <= iou_threshold <= 1:
            raise invalid_argument("iou_threshold must be in [0, 1]")
        batch, _, classes = scores.shape
        size = min(int(max_total_size), int(max_output_size_per_class) * classes) if pad_per_class else int(max_total_size)
        result = np.zeros([batch, size, 4], np.float32), np.zeros([batch, size], np.float32), np.zeros([batch, size], np.float32)
        counts = np.zeros(batch, np.int32)
        for image in range(batch):
            candidates = []
            for number in range(classes):
                own = boxes[image, :, min(number, boxes.shape[2] - 1)]
                chosen = suppress(own, scores[image, :, number], max_output_size_per_class, iou_threshold, score_threshold)
                candidates += [(scores[image, index, number], number, own[index]) for index in chosen]
            candidates.sort(key=lambda each: -each[0])
            counts[image] = min(len(candidates), size)
            for place, (score, number, box) in enumerate(candidates[:size]):
                result[0][image, place] = np.clip(box, 0, 1) if clip_boxes else box
                result[1][image, place], result[2][image, place] = score, number
        return *result, counts


def combined_non_max_suppression(boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any, iou_threshold: Any = 0.5,
                                 score_threshold: Any = float("-inf"), pad_per_class: bool = False, clip_boxes: bool = True,
                                 name: str | None = None) -> Any:
    """``tf.image.combined_non_max_suppression``: boxes, scores and classes of the best detections of each image, and how many there are."""
    with name_scope(name, "combined_non_max_suppression"):
        iou, score = to_tensor(iou_threshold, dt.float32, "iou_threshold"), to_tensor(score_threshold, dt.float32, "score_threshold")
        return CombinedNonMaxSuppression(boxes, scores, max_output_size_per_class, max_total_size, iou, score, pad_per_class=pad_per_class,
                                         clip_boxes=clip_boxes)
