"""``tf.contrib.tfprof.model_analyzer``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.debug.model_analyzer": "print_model_analysis TRAINABLE_VARS_PARAMS_STAT_OPTIONS FLOAT_OPS_OPTIONS PRINT_ALL_TIMING_MEMORY",
    "penstock.debug.profile.profiler": "profile advise Profiler ALL_ADVICE",
    "penstock.debug.profile.options": "ProfileOptionBuilder",
}
publish(__name__, TABLE)
