"""``tf.manip``: moving the elements of a tensor."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.shape_ops": "reshape",
    "penstock.ops.permute": "reverse roll tile",
    "penstock.ops.gather": "gather_nd",
    "penstock.ops.scatter_nd": "scatter_nd",
    "penstock.ops.space": "batch_to_space_nd space_to_batch_nd",
}
publish(__name__, TABLE)
