"""``tf.contrib.learn.utils``: inputs and strategies of exports."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.learn"
TABLE: dict[str, str] = {
    f"{HERE}.export_strategies": "make_export_strategy",
    f"{HERE}.exports": "InputFnOps build_default_serving_input_fn build_parsing_serving_input_fn",
    f"{HERE}.exports:": "input_fn_utils",
    f"{HERE}.bundle_export": "export_estimator",
    f"{HERE}.bundle_export:": "export",
    "penstock.estimator.gc:": "gc",
    "penstock.checkpoint.inspect_checkpoint:": "inspect_checkpoint",
}
SUBMODULES = "saved_model_export_utils"
publish(__name__, TABLE, SUBMODULES)
