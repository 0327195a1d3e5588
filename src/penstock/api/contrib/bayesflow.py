"""``tf.contrib.bayesflow``: expectations as means over samples."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.monte_carlo:": "monte_carlo",
}
publish(__name__, TABLE)
