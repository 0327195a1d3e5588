"""``tf.tpu.experimental``: what only TPUs can do says so."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "AdagradParameters AdamParameters DeviceAssignment StochasticGradientDescentParameters embedding_column "
                              "initialize_tpu_system shared_embedding_columns",
}
publish(__name__, TABLE)
