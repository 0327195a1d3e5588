"""``tf.keras.backend``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.backend.math": "abs all any argmax argmin clip cos cumprod cumsum equal exp greater greater_equal l2_normalize less less_equal "
                                   "log max maximum mean min minimum not_equal pow prod round sign sin sqrt square std sum var",
}
publish(__name__, TABLE)
