"""``tf.contrib.gan.estimator``: estimators that train both networks."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.estimator.gan": "GANEstimator GANHead StarGANEstimator SummaryType gan_head",
    "penstock.api.contrib.gan.estimator:": "gan_estimator",
}
publish(__name__, TABLE, missing="LatentGANEstimator TPUGANEstimator")
