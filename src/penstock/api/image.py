"""``tf.image``: operations on images."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.patches": "extract_image_patches extract_patches=extract_image_patches",
}
publish(__name__, TABLE)
