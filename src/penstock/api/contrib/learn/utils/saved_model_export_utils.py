"""``tf.contrib.learn.utils.saved_model_export_utils``: signatures, strategies and folders of exports."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.learn"
TABLE: dict[str, str] = {
    f"{HERE}.exports": "DEFAULT_INPUT_ALTERNATIVE_KEY FEATURES_INPUT_ALTERNATIVE_KEY build_all_signature_defs build_standardized_signature_def "
                       "get_input_alternatives get_output_alternatives",
    f"{HERE}.export_strategies": "BestModelSelector extend_export_strategy garbage_collect_exports get_most_recent_export get_temp_export_dir "
                                 "get_timestamped_export_dir make_best_model_export_strategy make_export_strategy make_parsing_export_strategy",
}
publish(__name__, TABLE)
