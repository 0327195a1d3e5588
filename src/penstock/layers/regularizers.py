"""``tf.keras.regularizers``: losses that keep weights or outputs small."""
from __future__ import annotations

from typing import Any

from penstock.layers import settings
from penstock.layers.objects import deserialize_object, getter_of, serialize_object
from penstock.ops.constant import constant
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import square
from penstock.ops.math.reduce import reduce_sum


class Regularizer:
    """``tf.keras.regularizers.Regularizer``: a function of a tensor whose value is a loss."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """The regularizer that ``get_config`` describes."""
        return cls(**config)


class L1L2(Regularizer):
    """``tf.keras.regularizers.L1L2``: ``l1`` times the sum of absolute values plus ``l2`` times the sum of squares."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = settings.cast_to_floatx(l1), settings.cast_to_floatx(l2)

    def __call__(self, x: Any) -> Any:
        if not self.l1 and not self.l2:
            return constant(0.0)
        total: Any = 0.0
        if self.l1:
            total += self.l1 * reduce_sum(absolute(x))
        if self.l2:
            total += self.l2 * reduce_sum(square(x))
        return total

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"l1": float(self.l1), "l2": float(self.l2)}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741  # TensorFlow's name
    """``tf.keras.regularizers.l1``."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741  # TensorFlow's name
    """``tf.keras.regularizers.l2``."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """``tf.keras.regularizers.l1_l2``."""
    return L1L2(l1=l1, l2=l2)


_MAKERS = {"l1": l1, "l2": l2, "l1_l2": l1_l2}


def serialize(regularizer: Any) -> Any:
    """``tf.keras.regularizers.serialize``."""
    return serialize_object(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.regularizers.deserialize``."""
    return deserialize_object(config, {"Regularizer": Regularizer, "L1L2": L1L2, **_MAKERS}, custom_objects, "regularizer")


get = getter_of(deserialize, _MAKERS, "regularizer")
