"""``tf.contrib.tfprof.model_analyzer``: ``tf.profiler`` under the names that it had before TensorFlow 1.4."""
from __future__ import annotations

from typing import Any

from penstock.debug.profile.options import ProfileOptionBuilder
from penstock.debug.profile.profiler import advise, profile

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = ProfileOptionBuilder.time_and_memory()


def print_model_analysis(graph: Any, run_meta: Any = None, op_log: Any = None, tfprof_cmd: str = "scope",
                         tfprof_options: dict[str, Any] = TRAINABLE_VARS_PARAMS_STAT_OPTIONS) -> Any:
    """``tf.profiler.profile``; options of that time are read as those of today."""
    options = {**ProfileOptionBuilder().build(), **tfprof_options}
    if options.pop("dump_to_file", ""):
        options["output"] = f"file:outfile={tfprof_options['dump_to_file']}"
    return profile(graph, run_meta, op_log, tfprof_cmd, options)


__all__ = ["FLOAT_OPS_OPTIONS", "PRINT_ALL_TIMING_MEMORY", "TRAINABLE_VARS_PARAMS_STAT_OPTIONS", "advise", "print_model_analysis", "profile"]
