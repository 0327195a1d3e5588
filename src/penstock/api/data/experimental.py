"""``tf.data.experimental``: further transformations."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.data.dataset": "AUTOTUNE",
    "penstock.data.interleave": "parallel_interleave sample_from_datasets choose_from_datasets RandomDataset",
}
publish(__name__, TABLE)
