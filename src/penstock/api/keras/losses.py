"""``tf.keras.losses``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.losses": "BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge Huber KLDivergence LogCosh Loss "
                             "MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson "
                             "SparseCategoricalCrossentropy SquaredHinge binary_crossentropy categorical_crossentropy categorical_hinge "
                             "cosine_proximity cosine=cosine_proximity cosine_similarity=cosine_proximity hinge kullback_leibler_divergence "
                             "KLD=kullback_leibler_divergence kld=kullback_leibler_divergence logcosh mean_absolute_error MAE=mean_absolute_error "
                             "mae=mean_absolute_error mean_absolute_percentage_error MAPE=mean_absolute_percentage_error "
                             "mape=mean_absolute_percentage_error mean_squared_error MSE=mean_squared_error mse=mean_squared_error "
                             "mean_squared_logarithmic_error MSLE=mean_squared_logarithmic_error msle=mean_squared_logarithmic_error poisson "
                             "sparse_categorical_crossentropy squared_hinge deserialize get serialize",
}
publish(__name__, TABLE)
