"""``tf.contrib.timeseries``: models of series over time."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.timeseries"
TABLE: dict[str, str] = {
    f"{HERE}.ar_model": "ARModel",
    f"{HERE}.estimators": "ARRegressor StructuralEnsembleRegressor TimeSeriesRegressor",
    f"{HERE}.head": "OneShotPredictionHead",
    f"{HERE}.inputs": "RandomWindowInputFn WholeDatasetInputFn predict_continuation_input_fn",
    f"{HERE}.keys": "FilteringResults TrainEvalFeatures",
    f"{HERE}.readers": "CSVReader NumpyReader",
    f"{HERE}.saved_model_utils:": "saved_model_utils",
}
publish(__name__, TABLE)
