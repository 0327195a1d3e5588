"""``tf.contrib.quantize``: graphs that train, and run, as integers of few bits would."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.quantize.graphs": "create_eval_graph create_training_graph experimental_create_eval_graph "
                                        "experimental_create_training_graph",
}
publish(__name__, TABLE)
