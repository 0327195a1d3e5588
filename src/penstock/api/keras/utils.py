"""``tf.keras.utils``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.utils.progbar": "Progbar",
    "penstock.keras.utils.data": "GeneratorEnqueuer OrderedEnqueuer Sequence SequenceEnqueuer",
}
publish(__name__, TABLE)
