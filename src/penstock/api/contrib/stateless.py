"""``tf.contrib.stateless``: random numbers that depend on their seed alone."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.random.random_stateless": "stateless_multinomial stateless_random_normal stateless_random_uniform stateless_truncated_normal",
}
publish(__name__, TABLE)
