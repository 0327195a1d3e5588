"""``tf.feature_column``: how the features of examples become tensors."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator.columns"
TABLE: dict[str, str] = {
    f"{HERE}.numeric": "numeric_column bucketized_column",
    f"{HERE}.categorical": "categorical_column_with_hash_bucket categorical_column_with_identity categorical_column_with_vocabulary_file "
                           "categorical_column_with_vocabulary_list",
    f"{HERE}.combined": "crossed_column weighted_categorical_column",
    f"{HERE}.dense": "embedding_column indicator_column shared_embedding_columns",
    f"{HERE}.sequence": "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
                        "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list sequence_numeric_column",
    f"{HERE}.building": "input_layer linear_model make_parse_example_spec",
}
publish(__name__, TABLE)
