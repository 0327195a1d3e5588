"""``tf.keras.metrics``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.metrics.base": "Metric",
    "penstock.keras.metrics.means": "Mean MeanRelativeError MeanTensor RootMeanSquaredError Sum",
    "penstock.keras.metrics.wrapped": "Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy CategoricalCrossentropy CategoricalHinge "
                                      "CosineSimilarity Hinge KLDivergence LogCoshError MeanAbsoluteError MeanAbsolutePercentageError "
                                      "MeanSquaredError MeanSquaredLogarithmicError Poisson SparseCategoricalAccuracy SparseCategoricalCrossentropy "
                                      "SparseTopKCategoricalAccuracy SquaredHinge TopKCategoricalAccuracy",
    "penstock.keras.metrics.confusion": "AUC FalseNegatives FalsePositives Precision Recall SensitivityAtSpecificity SpecificityAtSensitivity "
                                        "TrueNegatives TruePositives",
    "penstock.keras.metrics.iou": "MeanIoU",
    "penstock.keras.metrics.functions": "binary_accuracy categorical_accuracy sparse_categorical_accuracy sparse_top_k_categorical_accuracy "
                                        "top_k_categorical_accuracy",
    "penstock.keras.losses": "binary_crossentropy categorical_crossentropy cosine=cosine_proximity cosine_proximity hinge "
                             "kullback_leibler_divergence KLD=kullback_leibler_divergence kld=kullback_leibler_divergence mean_absolute_error "
                             "MAE=mean_absolute_error mae=mean_absolute_error mean_absolute_percentage_error MAPE=mean_absolute_percentage_error "
                             "mape=mean_absolute_percentage_error mean_squared_error MSE=mean_squared_error mse=mean_squared_error "
                             "mean_squared_logarithmic_error MSLE=mean_squared_logarithmic_error msle=mean_squared_logarithmic_error poisson "
                             "sparse_categorical_crossentropy squared_hinge",
    "penstock.keras.metrics.registry": "deserialize get serialize",
}
publish(__name__, TABLE)
