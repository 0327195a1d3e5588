"""What to read of examples for a canned estimator: its columns, its labels and the weights of examples."""
from __future__ import annotations

from typing import Any

from penstock.estimator.columns.building import make_parse_example_spec
from penstock.estimator.columns.numeric import NumericColumn, numeric_column
from penstock.graph import dtypes
from penstock.ops.text.parsing import FixedLenFeature


def classifier_parse_example_spec(feature_columns: Any, label_key: str, label_dtype: Any = dtypes.int64, label_default: Any = None,
                                  weight_column: Any = None) -> dict[str, Any]:
    """``tf.estimator.classifier_parse_example_spec``: features, one label, perhaps a weight."""
    return _parse_spec(feature_columns, label_key, FixedLenFeature((1,), label_dtype, label_default), weight_column)


def regressor_parse_example_spec(feature_columns: Any, label_key: str, label_dtype: Any = dtypes.float32, label_default: Any = None,
                                 label_dimension: int = 1, weight_column: Any = None) -> dict[str, Any]:
    """``tf.estimator.regressor_parse_example_spec``: features, ``label_dimension`` labels, perhaps a weight."""
    return _parse_spec(feature_columns, label_key, FixedLenFeature((label_dimension,), label_dtype, label_default), weight_column)


def _parse_spec(feature_columns: Any, label_key: str, label: FixedLenFeature, weight_column: Any) -> dict[str, Any]:
    spec = make_parse_example_spec(feature_columns)
    if label_key in spec:
        raise ValueError(f"label should not be used as feature. label_key: {label_key}, features: {sorted(spec)}")
    spec[label_key] = label
    if weight_column is None:
        return spec
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise ValueError(f"weight_column should be an instance of tf.feature_column.numeric_column. Given type: {type(column)} value: {column}")
    if column.key in spec:
        raise ValueError(f"weight_column should not be used as feature. weight_column: {column.key}, features: {sorted(spec)}")
    return {**spec, **column.parse_example_spec}
