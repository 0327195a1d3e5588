"""``tf.contrib.solvers``: iterations that only multiply by an operator."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.solvers:": "lanczos least_squares linear_equations util",
    "penstock.api.contrib.solvers:": "python ops",
}
publish(__name__, TABLE)
