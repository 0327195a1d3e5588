"""``tf.manip``: moving the elements of a tensor."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.array.shape_ops": "reshape",
    "penstock.ops.array.permute": "reverse roll tile",
    "penstock.ops.array.gather": "gather_nd",
    "penstock.ops.array.scatter_nd": "scatter_nd",
    "penstock.ops.array.space": "batch_to_space_nd space_to_batch_nd",
}
publish(__name__, TABLE)
