"""``tf.distributions``: random variables as objects."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.contrib.distributions.distribution": "Distribution ReparameterizationType FULLY_REPARAMETERIZED NOT_REPARAMETERIZED",
    "penstock.contrib.distributions.kullback_leibler": "RegisterKL kl_divergence",
    "penstock.contrib.distributions.bernoulli": "Bernoulli",
    "penstock.contrib.distributions.beta": "Beta",
    "penstock.contrib.distributions.categorical": "Categorical",
    "penstock.contrib.distributions.dirichlet": "Dirichlet DirichletMultinomial Multinomial",
    "penstock.contrib.distributions.gamma": "Exponential Gamma",
    "penstock.contrib.distributions.location_scale": "Laplace",
    "penstock.contrib.distributions.normal": "Normal",
    "penstock.contrib.distributions.student_t": "StudentT",
    "penstock.contrib.distributions.uniform": "Uniform",
    "penstock.api.contrib.distributions.bijectors:": "bijectors",    # TensorFlow 1.4 and 1.5 had them here
}
publish(__name__, TABLE)
