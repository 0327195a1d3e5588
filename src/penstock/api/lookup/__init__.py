"""``tf.lookup``: tables from keys to values."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.lookup": "KeyValueTensorInitializer StaticHashTable TextFileIndex TextFileInitializer",
    "penstock.train.index_tables": "StaticVocabularyTable",
}
publish(__name__, TABLE, "experimental")
