"""``tf.contrib.feature_column``: columns of sequences, and the layer that reads them."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator.columns"
TABLE: dict[str, str] = {
    f"{HERE}.building": "sequence_input_layer",
    f"{HERE}.sequence": "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
                        "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list sequence_numeric_column",
}
publish(__name__, TABLE)
