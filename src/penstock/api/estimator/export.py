"""``tf.estimator.export``: inputs and outputs of exported models."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.estimator.serving": "ServingInputReceiver TensorServingInputReceiver build_parsing_serving_input_receiver_fn "
                                  "build_raw_serving_input_receiver_fn",
    "penstock.estimator.export_outputs": "ExportOutput ClassificationOutput RegressionOutput PredictOutput",
}
publish(__name__, TABLE)
