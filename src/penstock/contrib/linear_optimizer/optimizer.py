"""``tf.contrib.linear_optimizer.SDCAOptimizer``: trains linear models of the columns of ``tf.contrib.layers``."""
from __future__ import annotations

from typing import Any

from penstock.contrib.layers.columns.dense import RealValuedColumn
from penstock.contrib.linear_optimizer.features import training_data
from penstock.contrib.linear_optimizer.model import SdcaModel
from penstock.estimator.columns.base import CategoricalColumn, FeatureCache


class SdcaSettings:
    """What both optimizers are told, and how they make a model of it."""

    slot_suffix = "_unshrinked/SDCAOptimizer"  # of the names of unshrinked weights

    def __init__(self, example_id_column: str, num_loss_partitions: int, num_table_shards: int | None, symmetric_l1_regularization: float,
                 symmetric_l2_regularization: float, adaptive: bool) -> None:
        self.example_id_column, self.num_loss_partitions, self.num_table_shards = example_id_column, num_loss_partitions, num_table_shards
        self.symmetric_l1_regularization, self.symmetric_l2_regularization = symmetric_l1_regularization, symmetric_l2_regularization
        self.adaptive = adaptive

    def train_step(self, data: tuple[dict[str, Any], dict[str, Any]], loss_type: str, global_step: Any) -> tuple[SdcaModel, Any]:
        """(a model of the data, the operation of a step)."""
        model = SdcaModel(*data, {
            "symmetric_l1_regularization": self.symmetric_l1_regularization, "symmetric_l2_regularization": self.symmetric_l2_regularization,
            "adaptive": self.adaptive, "num_loss_partitions": self.num_loss_partitions, "num_table_shards": self.num_table_shards,
            "loss_type": loss_type, "slot_suffix": self.slot_suffix})
        return model, model.minimize(global_step=global_step)


class SDCAOptimizer(SdcaSettings):
    """``tf.contrib.linear_optimizer.SDCAOptimizer``. Not a ``tf.train.Optimizer``: linear estimators know it."""

    def __init__(self, example_id_column: str, num_loss_partitions: int = 1, num_table_shards: int | None = None,
                 symmetric_l1_regularization: float = 0.0, symmetric_l2_regularization: float = 1.0, adaptive: bool = True,
                 partitioner: Any = None) -> None:
        super().__init__(example_id_column, num_loss_partitions, num_table_shards, symmetric_l1_regularization, symmetric_l2_regularization, adaptive)
        self.partitioner = partitioner

    def get_name(self) -> str:
        """The name of the optimizer."""
        return "SDCAOptimizer"

    def get_train_step(self, columns_to_variables: dict[Any, Any], weight_column_name: str | None, loss_type: str, features: dict[Any, Any],
                       targets: Any, global_step: Any) -> tuple[SdcaModel, Any]:
        """(model, operation of a step)."""
        columns = sorted(columns_to_variables, key=lambda column: column.key)
        for column in columns:
            if not isinstance(column, (CategoricalColumn, RealValuedColumn)):
                raise ValueError(f"SDCAOptimizer does not support column type {type(column).__name__}.")
        variables = {column: given[0] if len(given) == 1 else given for column, given in columns_to_variables.items()}
        cache = FeatureCache(features)
        data = training_data(columns, variables, cache, lambda column: column.linear_numbers(cache), targets,
                             features[weight_column_name] if weight_column_name else None, features[self.example_id_column])
        return self.train_step(data, loss_type, global_step)
