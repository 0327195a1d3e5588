"""``tf.contrib.estimator``: heads, recurrent estimators, and what extends an estimator."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator"
TABLE: dict[str, str] = {
    f"{HERE}.heads.contrib_heads": "binary_classification_head logistic_regression_head multi_class_head multi_head multi_label_head "
                                   "poisson_regression_head regression_head",
    f"{HERE}.extenders": "add_metrics clip_gradients_by_norm forward_features",
    f"{HERE}.evaluation_hooks": "InMemoryEvaluatorHook make_stop_at_checkpoint_step_hook",
    f"{HERE}.early_stopping": "make_early_stopping_hook read_eval_metrics stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook "
                              "stop_if_no_increase_hook",
    f"{HERE}.canned.logits": "call_logit_fn dnn_logit_fn_builder linear_logit_fn_builder",
    f"{HERE}.canned.rnn": "RNNClassifier RNNEstimator",
    f"{HERE}.trees.estimators": "boosted_trees_classifier_train_in_memory boosted_trees_regressor_train_in_memory",
    f"{HERE}.exporting": "export_all_saved_models export_saved_model_for_mode",
    f"{HERE}.saved_model_estimator": "SavedModelEstimator",
    f"{HERE}.replicate_model_fn": "TowerOptimizer replicate_model_fn",
    f"{HERE}.serving": "build_raw_supervised_input_receiver_fn build_supervised_input_receiver_fn_from_input_fn",
    # Canned estimators that take a head were here first.
    f"{HERE}.canned.baseline": "BaselineEstimator",
    f"{HERE}.canned.annotations": "DNNClassifierWithLayerAnnotations DNNRegressorWithLayerAnnotations",
    f"{HERE}.canned.dnn": "DNNEstimator",
    f"{HERE}.canned.linear": "LinearEstimator",
    f"{HERE}.canned.combined": "DNNLinearCombinedEstimator",
}
publish(__name__, TABLE)
