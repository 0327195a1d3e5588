"""``tf.initializers``: initial values of variables."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.variables.initializers": "zeros=Zeros ones=Ones constant=Constant random_uniform=RandomUniform random_normal=RandomNormal "
                                       "truncated_normal=TruncatedNormal uniform_unit_scaling=UniformUnitScaling "
                                       "variance_scaling=VarianceScaling orthogonal=Orthogonal identity=Identity "
                                       "glorot_uniform=GlorotUniform glorot_normal=GlorotNormal he_normal he_uniform lecun_normal lecun_uniform",
    "penstock.train.lookup": "tables_initializer",
    "penstock.variables.initialization": "variables=variables_initializer global_variables=global_variables_initializer "
                                         "local_variables=local_variables_initializer",
}
publish(__name__, TABLE)
