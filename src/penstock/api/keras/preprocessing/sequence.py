"""``tf.keras.preprocessing.sequence``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.preprocessing.sequence": "TimeseriesGenerator make_sampling_table pad_sequences skipgrams"}
publish(__name__, TABLE)
