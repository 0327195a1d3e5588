"""``tf.linalg``: linear algebra."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.permute": "matrix_transpose transpose=matrix_transpose",
}
publish(__name__, TABLE)
