"""Operations of ``tf.contrib.image``'s library: parts of images that hang together, and pairs of rows and columns."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import expand_dims, squeeze
from penstock.ops.common import like

_VALUES = types(dt.int64, dt.int32, dt.uint16, dt.int16, dt.uint8, dt.int8, dt.float16, dt.float32, dt.float64, dt.bool_, dt.string)


@op("ImageConnectedComponents", "image: dtype -> components: int64", dtype=_VALUES)
class ImageConnectedComponents:
    """[images, rows, columns]: a number for each set of equal neighbours, counted from 1; 0 where the image is 0."""

    ranks = {"image": 3}
    shape = like("image")
    gradient = None

    def kernel(image):
        result = np.zeros(image.shape, np.int64)
        nothing = b"" if image.dtype == object else image.dtype.type(0)
        for number, each in enumerate(image):
            for value in {*each.ravel().tolist()} - {nothing}:
                labels, _ = ndimage.label(each == value)
                result[number] = np.where(labels > 0, labels + result[number].max(), result[number])
        return _renumber(result)


def _renumber(labels: np.ndarray) -> np.ndarray:
    """Labels, which differ within an image, as numbers from 1 on, in the order in which they come."""
    parts = labels + np.arange(len(labels)).reshape(-1, 1, 1) * (labels.max(initial=0) + 1) * (labels > 0)
    distinct, first, places = np.unique(parts, return_index=True, return_inverse=True)
    order = np.argsort(first[distinct > 0], kind="stable")
    numbers = np.zeros(len(distinct), np.int64)
    numbers[np.flatnonzero(distinct > 0)[order]] = np.arange(1, len(order) + 1)
    return numbers[places].reshape(labels.shape)


@op("BipartiteMatch", "distance_mat: float32, num_valid_rows: float32 -> row_to_col_match_indices: int32, col_to_row_match_indices: int32", top_k=-1)
class BipartiteMatch:
    """Pairs of a row and a column, the nearest first; -1 for those that are left."""

    ranks = {"distance_mat": 2}
    gradient = None

    def shape(distance_mat):
        return [[distance_mat.shape[0]], [distance_mat.shape[1]]]

    def kernel(distance_mat, num_valid_rows, top_k):
        valid = np.ravel(num_valid_rows)
        if valid.size != 1:
            raise invalid_argument(f"num_valid_rows argument should be a one-element tensor, got shape {list(np.shape(num_valid_rows))}")
        rows, columns = distance_mat.shape
        count = rows if valid[0] < 0 else min(int(valid[0]), rows)
        row_to_col, col_to_row = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
        left = min(count, columns) if top_k < 0 else min(top_k, count, columns)
        for place in np.argsort(distance_mat[:count], axis=None, kind="stable"):
            row, column = divmod(int(place), columns)
            if left and row_to_col[row] < 0 and col_to_row[column] < 0:
                row_to_col[row], col_to_row[column], left = column, row, left - 1
        return row_to_col, col_to_row


def connected_components(images: Any) -> Tensor:
    """``tf.contrib.image.connected_components``: for an image or several, which part each pixel belongs to; 0 where the image is 0."""
    with name_scope("connected_components"):
        image = to_tensor(images, name="image")
        if image.shape.ndims == 2:
            return squeeze(cast(ImageConnectedComponents(expand_dims(image, 0)), dt.int32), [0])
        if image.shape.ndims == 3:
            return cast(ImageConnectedComponents(image), dt.int32)
        raise TypeError(f"images should have rank 2 (HW) or 3 (NHW). Static shape is {image.shape}")




def bipartite_match(distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str = "bipartite_match") -> Any:
    """``tf.contrib.image.bipartite_match``: (the column of each row, the row of each column) of pairs, the nearest first; -1: none."""
    return BipartiteMatch(to_tensor(distance_mat, dt.float32), to_tensor(num_valid_rows, dt.float32), top_k=top_k, name=name)
