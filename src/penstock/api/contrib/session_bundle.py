"""``tf.contrib.session_bundle``: models for serving in the format of before SavedModels."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.session_bundle"
TABLE: dict[str, str] = {f"{HERE}.constants:": "constants", f"{HERE}.exporter:": "exporter", f"{HERE}.manifest:": "manifest_pb2",
                         "penstock.estimator.gc:": "gc"}
publish(__name__, TABLE)
