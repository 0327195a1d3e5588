"""``tf.estimator``: training that is described by a model function, and models that are there already."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator"
TABLE: dict[str, str] = {
    f"{HERE}.mode_keys": "ModeKeys",
    f"{HERE}.spec": "EstimatorSpec",
    f"{HERE}.run_config": "RunConfig",
    f"{HERE}.estimator": "Estimator",
    f"{HERE}.warm_start_settings": "WarmStartSettings",
    f"{HERE}.train_eval_specs": "TrainSpec EvalSpec",
    f"{HERE}.train_and_evaluate": "train_and_evaluate",
    f"{HERE}.exporters": "Exporter FinalExporter LatestExporter BestExporter",
    f"{HERE}.canned.linear": "LinearClassifier LinearEstimator LinearRegressor",
    f"{HERE}.canned.dnn": "DNNClassifier DNNEstimator DNNRegressor",
    f"{HERE}.canned.combined": "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor",
    f"{HERE}.canned.baseline": "BaselineClassifier BaselineEstimator BaselineRegressor",
    f"{HERE}.trees.estimators": "BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor",
    f"{HERE}.heads.base": "Head",
    f"{HERE}.heads.classes": "BinaryClassHead MultiClassHead MultiLabelHead",
    f"{HERE}.heads.regression": "LogisticRegressionHead PoissonRegressionHead RegressionHead",
    f"{HERE}.heads.multi": "MultiHead",
    f"{HERE}.extenders": "add_metrics",
    f"{HERE}.parse_specs": "classifier_parse_example_spec regressor_parse_example_spec",
    "penstock.train.warm_start": "VocabInfo",
    "penstock.train.session_run_hook": "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues",
    "penstock.train.hook_timers": "SecondOrStepTimer",
    "penstock.train.basic_hooks": "StopAtStepHook LoggingTensorHook NanTensorHook NanLossDuringTrainingError GlobalStepWaiterHook FinalOpsHook "
                                  "FeedFnHook",
    "penstock.train.file_hooks": "CheckpointSaverHook CheckpointSaverListener SummarySaverHook StepCounterHook",
    "penstock.debug.profiler_hook": "ProfilerHook",
}
SUBMODULES = "experimental export inputs tpu"
publish(__name__, TABLE, SUBMODULES)
