"""``tf.lite``: its names say what to use instead, which is ``penstock export``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "Interpreter OpHint RepresentativeDataset TFLiteConverter TargetSpec TocoConverter toco_convert",
}
publish(__name__, TABLE, "experimental", missing="OpsSet Optimize constants")
