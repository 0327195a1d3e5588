"""``tf.io.gfile``: files, with the names of later versions."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.gfile": "GFile",
    "penstock.platform.io_gfile": "copy exists glob isdir listdir makedirs mkdir remove rename rmtree stat walk",
}
publish(__name__, TABLE)
