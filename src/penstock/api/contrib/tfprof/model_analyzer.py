"""``tf.contrib.tfprof.model_analyzer``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.debug.model_analyzer": "print_model_analysis TRAINABLE_VARS_PARAMS_STAT_OPTIONS FLOAT_OPS_OPTIONS PRINT_ALL_TIMING_MEMORY",
    "penstock.debug.profiler": "profile advise Profiler",
    "penstock.debug.profile_options": "ProfileOptionBuilder",
}
publish(__name__, TABLE)
