"""``tf.contrib.summary``: summaries that ops write to an event file themselves."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.summary": "SummaryWriter all_summary_ops always_record_summaries audio create_file_writer create_summary_file_writer eval_dir "
                                "flush generic graph histogram image import_event initialize never_record_summaries "
                                "record_summaries_every_n_global_steps scalar should_record_summaries summary_writer_initializer_op",
    "penstock.api.explained": "create_db_writer",
}
publish(__name__, TABLE)
