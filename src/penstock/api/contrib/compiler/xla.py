"""``tf.contrib.compiler.xla``: functions that are compiled as a whole."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.contrib.compiler": "compile estimator_model_fn"}, missing="check_function_argument_count")
