"""``tf.contrib.deprecated``: summaries under the names of the first releases."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.summary.summary": "audio_summary histogram_summary image_summary merge_all_summaries=merge_all merge_summary=merge scalar_summary",
}
publish(__name__, TABLE)
