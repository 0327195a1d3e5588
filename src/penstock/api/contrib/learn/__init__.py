"""``tf.contrib.learn``: estimators, experiments, monitors and data from before ``tf.estimator``."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.learn"
TABLE: dict[str, str] = {
    f"{HERE}.keys": "Environment MetricKey ModeKeys PredictionKey ProblemType TaskType",
    f"{HERE}.run_config": "ClusterConfig RunConfig",
    f"{HERE}.model_fn": "ModelFnOps",
    f"{HERE}.metric_spec": "MetricSpec",
    f"{HERE}.interfaces": "Evaluable Trainable",
    f"{HERE}.sklearn_interface": "NotFittedError",
    f"{HERE}.estimator": "BaseEstimator Estimator GraphRewriteSpec SKCompat infer_real_valued_columns_from_input "
                         "infer_real_valued_columns_from_input_fn",
    f"{HERE}.heads.base": "Head",
    f"{HERE}.heads.classes": "binary_svm_head multi_class_head multi_label_head",
    f"{HERE}.heads.regression": "poisson_regression_head regression_head",
    f"{HERE}.heads.multi": "loss_only_head multi_head no_op_train_fn",
    f"{HERE}.canned.linear": "LinearClassifier LinearEstimator LinearRegressor LogisticRegressor",
    f"{HERE}.canned.sdca": "SVM",
    f"{HERE}.canned.dnn": "DNNClassifier DNNEstimator DNNRegressor",
    f"{HERE}.canned.combined": "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor",
    f"{HERE}.canned.kmeans": "KMeansClustering",
    f"{HERE}.canned.dynamic_rnn": "DynamicRnnEstimator PredictionType",
    f"{HERE}.canned.state_saving_rnn": "StateSavingRnnEstimator",
    f"{HERE}.experiment": "Experiment",
    f"{HERE}.export_strategies": "ExportStrategy make_export_strategy",
    f"{HERE}.exports": "InputFnOps build_parsing_serving_input_fn",
    f"{HERE}.graph_actions": "evaluate infer run_feeds run_n train",
    f"{HERE}.io.graph_io": "read_batch_examples read_batch_features read_batch_record_features read_keyed_batch_examples "
                           "read_keyed_batch_examples_shared_queue read_keyed_batch_features read_keyed_batch_features_shared_queue",
    f"{HERE}.io.dask_io": "extract_dask_data extract_dask_labels",
    f"{HERE}.io.pandas_io": "extract_pandas_data extract_pandas_labels extract_pandas_matrix",
    "penstock.train.basic_hooks": "NanLossDuringTrainingError",
    # Modules inside, which programs reach through: most of their names are here.
    "penstock.api.contrib.learn:": "python learn estimators head dnn linear dnn_linear_combined learn_runner_lib",
    f"{HERE}.learn_runner:": "learn_runner",
    f"{HERE}.graph_actions:": "graph_actions",
    f"{HERE}.canned.dynamic_rnn:": "dynamic_rnn_estimator rnn_common",
    f"{HERE}.canned.debug:": "debug",
    f"{HERE}.run_config:": "run_config",
    "penstock.api.contrib.learn.io:": "learn_io",
    f"{HERE}.estimator:": "estimator",
    f"{HERE}.experiment:": "experiment",
    f"{HERE}.model_fn:": "model_fn",
    f"{HERE}.metric_spec:": "metric_spec",
    f"{HERE}.export_strategies:": "export_strategy",
    f"{HERE}.keys:": "constants metric_key prediction_key",
    "penstock.api.train:": "basic_session_run_hooks monitored_session session_run_hook",
}
SUBMODULES = "datasets io models monitors ops preprocessing utils"
publish(__name__, TABLE, SUBMODULES)
