"""``tf.keras.constraints``: what the values of variables are held to."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.layers.constraints": "Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm max_norm=MaxNorm min_max_norm=MinMaxNorm "
                                   "non_neg=NonNeg radial_constraint=RadialConstraint unit_norm=UnitNorm deserialize get serialize",
}
publish(__name__, TABLE)
