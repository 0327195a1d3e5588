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
    f"{HERE}.canned.linear": "LinearClassifier LinearRegressor",
    f"{HERE}.canned.dnn": "DNNClassifier DNNRegressor",
    f"{HERE}.canned.combined": "DNNLinearCombinedClassifier DNNLinearCombinedRegressor",
    f"{HERE}.canned.baseline": "BaselineClassifier BaselineRegressor",
    "penstock.train.warm_start": "VocabInfo",
    "penstock.train.session_run_hook": "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues",
    "penstock.train.hook_timers": "SecondOrStepTimer",
    "penstock.train.basic_hooks": "StopAtStepHook LoggingTensorHook NanTensorHook NanLossDuringTrainingError GlobalStepWaiterHook FinalOpsHook "
                                  "FeedFnHook",
    "penstock.train.file_hooks": "CheckpointSaverHook CheckpointSaverListener SummarySaverHook StepCounterHook",
    "penstock.debug.profiler_hook": "ProfilerHook",
}
SUBMODULES = "export inputs"
MISSING = (
    "BaselineEstimator BinaryClassHead BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor DNNEstimator DNNLinearCombinedEstimator "
    "Head LinearEstimator LogisticRegressionHead MultiClassHead MultiHead MultiLabelHead PoissonRegressionHead RegressionHead add_metrics "
    "classifier_parse_example_spec experimental regressor_parse_example_spec tpu"
)
publish(__name__, TABLE, SUBMODULES, MISSING)
