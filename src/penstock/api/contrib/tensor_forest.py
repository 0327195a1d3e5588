"""``tf.contrib.tensor_forest``: random forests that learn from batches."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.tensor_forest"
TABLE: dict[str, str] = {
    f"{HERE}.hparams": "CLASSIFICATION_LEAF_MODEL_TYPES FINISH_TYPES ForestHParams PRUNING_TYPES REGRESSION_MODEL_TYPE SPLIT_TYPES "
                       "build_params_proto parse_number_or_string_to_proto",
    f"{HERE}.graphs": "ForestVariables RandomForestGraphs RandomTreeGraphs TreeVariables get_epoch_variable",
    f"{HERE}.data": "CastToFloat DATA_CATEGORICAL DATA_FLOAT DTYPE_TO_FTYPE DataColumn DataColumnCollection GetColumnName ParseDataTensorOrDict "
                    "ParseLabelTensorOrDict TensorForestDataSpec",
    f"{HERE}.resources": "fertile_stats_variable tree_variable",
    "penstock.ops.trees.forests": "feature_usage_counts=FeatureUsageCounts finalize_tree=FinalizeTree grow_tree_v4=GrowTreeV4 "
                                  "process_input_v4=ProcessInputV4 reinterpret_string_to_float=ReinterpretStringToFloat "
                                  "traverse_tree_v4=TraverseTreeV4 tree_predictions_v4=TreePredictionsV4 tree_size=TreeSize "
                                  "update_model_v4=UpdateModelV4",
    f"{HERE}.eval_metrics:": "eval_metrics",
    f"{HERE}.random_forest:": "random_forest",
    # Modules inside, which programs reach through: their names are here.
    "penstock.api.contrib.tensor_forest:": "client python ops tensor_forest data_ops model_ops stats_ops tensor_forest_ops",
}
publish(__name__, TABLE)
