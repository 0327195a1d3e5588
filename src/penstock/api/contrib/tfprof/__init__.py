"""``tf.contrib.tfprof``: ``tf.profiler`` under its older names."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {}, "model_analyzer tfprof_logger", "ProfileContext")
