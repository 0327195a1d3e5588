"""``tf.python_io``: TFRecord files, outside of a graph."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.platform.tf_record": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator"}
publish(__name__, TABLE)
