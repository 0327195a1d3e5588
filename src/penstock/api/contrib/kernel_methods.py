"""``tf.contrib.kernel_methods``: linear models of features in which a kernel is nearly a product."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.kernel_methods": "RandomFourierFeatureMapper sparse_multiclass_hinge_loss",
    "penstock.contrib.kernel_estimators": "KernelLinearClassifier",
}
publish(__name__, TABLE)
