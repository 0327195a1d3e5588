"""``tf.estimator.experimental``: early stopping, evaluation in memory, and parts of canned models."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator"
TABLE: dict[str, str] = {
    f"{HERE}.early_stopping": "make_early_stopping_hook stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook stop_if_no_increase_hook",
    f"{HERE}.evaluation_hooks": "InMemoryEvaluatorHook make_stop_at_checkpoint_step_hook",
    f"{HERE}.canned.logits": "call_logit_fn dnn_logit_fn_builder linear_logit_fn_builder",
    f"{HERE}.canned.sdca": "LinearSDCA",
    f"{HERE}.kmeans": "KMeans",
    f"{HERE}.serving": "build_raw_supervised_input_receiver_fn",
}
publish(__name__, TABLE)
