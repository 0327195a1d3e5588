"""``tf.autograph.experimental``: what a conversion does and leaves out."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.autograph.api": "do_not_convert",
    "penstock.autograph.features": "Feature",
    "penstock.autograph.loops": "set_loop_options",
}
publish(__name__, TABLE)
