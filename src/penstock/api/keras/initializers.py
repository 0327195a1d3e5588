"""``tf.keras.initializers``: initial values of variables, with Keras's defaults."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.variables.initializers": "Constant Identity Initializer Ones Orthogonal VarianceScaling Zeros constant=Constant "
                                       "glorot_normal=GlorotNormal glorot_uniform=GlorotUniform he_normal he_uniform identity=Identity "
                                       "lecun_normal lecun_uniform ones=Ones orthogonal=Orthogonal zeros=Zeros",
    "penstock.layers.initializers": "RandomNormal RandomUniform TruncatedNormal normal=RandomNormal random_normal=RandomNormal "
                                    "random_uniform=RandomUniform truncated_normal=TruncatedNormal uniform=RandomUniform deserialize get serialize",
}
publish(__name__, TABLE)
