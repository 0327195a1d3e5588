"""``tf.estimator.inputs``: input functions over arrays in memory."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.estimator.array_inputs": "numpy_input_fn pandas_input_fn"}
publish(__name__, TABLE)
