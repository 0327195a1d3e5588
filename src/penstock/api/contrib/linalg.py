"""``tf.contrib.linalg``: linear operators, before ``tf.linalg`` had them (up to TensorFlow 1.7)."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.linalg"
TABLE: dict[str, str] = {
    f"{HERE}.linear_operator": "LinearOperator",
    f"{HERE}.identity": "LinearOperatorIdentity LinearOperatorScaledIdentity",
    f"{HERE}.combined": "LinearOperatorComposition",
    f"{HERE}.low_rank": "LinearOperatorUDVHUpdate=LinearOperatorLowRankUpdate",
    f"{HERE}.matrices": "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorTriL=LinearOperatorLowerTriangular",
}
publish(__name__, TABLE, missing="add_operators")
