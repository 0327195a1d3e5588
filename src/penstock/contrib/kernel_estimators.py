"""``tf.contrib.kernel_methods.KernelLinearClassifier``: a linear model of columns, and of features that kernel mappers make of them."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.kernel_methods import DenseKernelMapper
from penstock.contrib.layers.columns.dense import RealValuedColumn, real_valued_column
from penstock.contrib.learn.canned.models import linear_model_fn
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.keys import PredictionKey
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.platform import logging


def _mapped(features: dict[str, Any], columns: Any, mappers: dict[Any, Any] | None) -> tuple[dict[str, Any], set[Any]]:
    """Features and columns, with those that mappers add: ``NAME_MAPPED`` holds what all mappers of a column make of it, side by side."""
    features, columns = dict(features), set(columns)
    for column, column_mappers in (mappers or {}).items():
        if not isinstance(column, RealValuedColumn):
            logging.warning("Updates are currently supported on RealValuedColumns only. Metadata for FeatureColumn %s will not be updated.",
                            column.name)
            continue
        name = column.name + "_MAPPED"
        columns.add(real_valued_column(name, sum(mapper.output_dim for mapper in column_mappers)))
        features[name] = tf.concat([mapper.map(features[column.name]) for mapper in column_mappers], 1)
    return features, columns


def _model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None) -> ModelFnOps:
    features, columns = _mapped(features, params["feature_columns"], params["kernel_mappers"])
    return linear_model_fn(features, labels, mode, {"head": params["head"], "optimizer": params["optimizer"], "feature_columns": columns}, config)


class KernelLinearClassifier(Estimator):
    """``tf.contrib.kernel_methods.KernelLinearClassifier``: ``kernel_mappers`` tells lists of mappers by columns of real values. A column that is
    among ``feature_columns`` as well counts as it is, too."""

    def __init__(self, feature_columns: Any = None, model_dir: str | None = None, n_classes: int = 2, weight_column_name: str | None = None,
                 optimizer: Any = None, kernel_mappers: dict[Any, Any] | None = None, config: Any = None) -> None:
        head = multi_class_head(n_classes, weight_column_name=weight_column_name)
        if not feature_columns and not kernel_mappers:
            raise ValueError("You should set at least one of feature_columns, kernel_mappers.")
        wrong = [mapper for mappers in (kernel_mappers or {}).values() for mapper in mappers if not isinstance(mapper, DenseKernelMapper)]
        if wrong:
            raise ValueError(f"Invalid kernel mappers. They are DenseKernelMappers, such as RandomFourierFeatureMapper, got {wrong[0]!r}.")
        super().__init__(_model_fn, model_dir, config, {"head": head, "feature_columns": feature_columns or [], "optimizer": optimizer,
                                                        "kernel_mappers": kernel_mappers})

    def predict_classes(self, input_fn: Any = None) -> Any:
        """The most probable class of each example, one after the other."""
        return (each[PredictionKey.CLASSES] for each in Estimator.predict(self, input_fn=input_fn, outputs=[PredictionKey.CLASSES]))

    def predict_proba(self, input_fn: Any = None) -> Any:
        """The probabilities of all classes, for each example."""
        return (each[PredictionKey.PROBABILITIES] for each in Estimator.predict(self, input_fn=input_fn, outputs=[PredictionKey.PROBABILITIES]))
