"""``tf.contrib.memory_stats``: the memory that is used."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.memory_stats": "BytesInUse BytesLimit MaxBytesInUse",
}
publish(__name__, TABLE)
