"""``tf.contrib.reduce_slice_ops``: sums, products and extremes of slices."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.reduce_slice_ops": "reduce_slice_max reduce_slice_min reduce_slice_prod reduce_slice_sum",
}
publish(__name__, TABLE)
