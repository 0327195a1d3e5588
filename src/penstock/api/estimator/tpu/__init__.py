"""``tf.estimator.tpu``: estimators of programs for TPUs, which run on CPUs."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.estimator.tpu"
TABLE: dict[str, str] = {f"{HERE}.config": "InputPipelineConfig RunConfig TPUConfig", f"{HERE}.spec": "TPUEstimatorSpec",
                         f"{HERE}.estimator": "TPUEstimator"}
publish(__name__, TABLE, "experimental")
