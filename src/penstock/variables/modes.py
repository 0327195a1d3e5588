"""How copies of a variable in several replicas stay together: accepted everywhere, acted on by distribution strategies only."""
from __future__ import annotations

import enum


class VariableSynchronization(enum.Enum):
    """``tf.VariableSynchronization``: when the copies of a variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """``tf.VariableAggregation``: how updates from several replicas become one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # its name before 1.13


def decide_trainable(trainable: bool | None, synchronization: VariableSynchronization | None) -> bool:
    """Trainable unless said otherwise; a variable that is only put together when it is read cannot be."""
    if synchronization is VariableSynchronization.ON_READ:
        if trainable:
            raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
                             "You have specified trainable=True and synchronization=VariableSynchronization.ON_READ.")
        return False
    return trainable is None or bool(trainable)
