"""``tf.contrib.sparsemax``: a softmax that gives exact zeros."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.sparsemax": "sparsemax sparsemax_loss",
}
publish(__name__, TABLE)
