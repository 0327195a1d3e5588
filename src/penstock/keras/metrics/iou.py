"""MeanIoU: how well predicted regions cover the true ones."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.keras.metrics.base import Metric
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import reshape
from penstock.ops.linalg.diag import diag_part
from penstock.ops.math.compare import not_equal
from penstock.ops.math.elementwise import div_no_nan
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.confusion_matrix import confusion_matrix
from penstock.variables.initializers import Zeros


class MeanIoU(Metric):
    """``tf.keras.metrics.MeanIoU``: intersection over union, in the mean over classes."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", shape=(num_classes, num_classes), initializer=Zeros, dtype=dtypes.float64)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Counts the pairs of a batch."""
        def flat(tensor: Any) -> Any:
            return reshape(tensor, [-1]) if tensor.shape.ndims > 1 else tensor

        y_true, y_pred = flat(cast(y_true, self._dtype)), flat(cast(y_pred, self._dtype))
        weights = None if sample_weight is None else flat(sample_weight)
        return self.total_cm.assign_add(confusion_matrix(y_true, y_pred, self.num_classes, weights=weights, dtype=dtypes.float64))

    def result(self) -> Any:
        """The mean over the classes that occurred."""
        rows, columns = (cast(reduce_sum(self.total_cm, axis=axis), self._dtype) for axis in (0, 1))
        right = cast(diag_part(self.total_cm), self._dtype)
        union = rows + columns - right
        return div_no_nan(reduce_sum(div_no_nan(right, union), name="mean_iou"), reduce_sum(cast(not_equal(union, 0), self._dtype)))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "num_classes": self.num_classes}
