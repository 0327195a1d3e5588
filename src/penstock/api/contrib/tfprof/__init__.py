"""``tf.contrib.tfprof``: ``tf.profiler`` under its older names."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.debug.profile.context": "ProfileContext"}, "model_analyzer tfprof_logger")
