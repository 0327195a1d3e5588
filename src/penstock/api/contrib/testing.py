"""``tf.contrib.testing``: what tests ask of summaries."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.testing.summaries": "FakeSummaryWriter assert_summary latest_event_file latest_events latest_summaries simple_values_from_events "
                                  "to_summary_proto",
}
publish(__name__, TABLE)
