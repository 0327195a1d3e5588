"""``tf.contrib.distributions``: all distributions, and tools for one's own."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.distributions"
TABLE = {
    f"{HERE}.distribution": "Distribution ReparameterizationType FULLY_REPARAMETERIZED NOT_REPARAMETERIZED",
    f"{HERE}.kullback_leibler": "RegisterKL kl_divergence",
    f"{HERE}.batch_reshape": "BatchReshape",
    f"{HERE}.poisson_lognormal": "PoissonLogNormalQuadratureCompound quadrature_scheme_lognormal_gauss_hermite "
                                 "quadrature_scheme_lognormal_quantiles",
    f"{HERE}.wrapped": "Autoregressive QuantizedDistribution",
    f"{HERE}.sample_stats": "auto_correlation assign_log_moving_mean_exp assign_moving_mean_variance moving_mean_variance percentile",
    f"{HERE}.bernoulli": "Bernoulli Binomial Geometric NegativeBinomial",
    f"{HERE}.beta": "Beta BetaWithSoftplusConcentration",
    f"{HERE}.categorical": "Categorical OneHotCategorical",
    f"{HERE}.deterministic": "Deterministic VectorDeterministic",
    f"{HERE}.dirichlet": "Dirichlet DirichletMultinomial Multinomial",
    f"{HERE}.gamma": "Chi2 Chi2WithAbsDf Exponential ExponentialWithSoftplusRate Gamma GammaWithSoftplusConcentrationRate InverseGamma "
                     "InverseGammaWithSoftplusConcentrationRate",
    f"{HERE}.independent": "Independent",
    f"{HERE}.location_scale": "Cauchy Laplace LaplaceWithSoftplusScale Logistic",
    f"{HERE}.mixture": "Mixture",
    f"{HERE}.mixture_same_family": "MixtureSameFamily",
    f"{HERE}.mvn": "MultivariateNormalDiag MultivariateNormalDiagPlusLowRank MultivariateNormalDiagWithSoftplusScale "
                   "MultivariateNormalFullCovariance MultivariateNormalTriL",
    f"{HERE}.normal": "Normal NormalWithSoftplusScale normal_conjugates_known_scale_posterior normal_conjugates_known_scale_predictive",
    f"{HERE}.numerics": "reduce_weighted_logsumexp softplus_inverse",
    f"{HERE}.positive": "HalfNormal Kumaraswamy Poisson",
    f"{HERE}.relaxed": "ExpRelaxedOneHotCategorical RelaxedBernoulli RelaxedOneHotCategorical",
    f"{HERE}.seeds": "SeedStream",
    f"{HERE}.student_t": "StudentT StudentTWithAbsDfSoftplusScale",
    f"{HERE}.transformed": "ConditionalDistribution ConditionalTransformedDistribution TransformedDistribution",
    f"{HERE}.triangular": "fill_triangular fill_triangular_inverse matrix_diag_transform tridiag",
    f"{HERE}.uniform": "Uniform",
    f"{HERE}.vector_diffeomixture": "VectorDiffeomixture quadrature_scheme_softmaxnormal_gauss_hermite quadrature_scheme_softmaxnormal_quantiles",
    f"{HERE}.vectors": "SinhArcsinh VectorExponentialDiag VectorLaplaceDiag VectorSinhArcsinhDiag",
    f"{HERE}.wishart": "WishartCholesky WishartFull",
    "penstock.contrib.learn.heads.regression": "estimator_head_distribution_regression",
    # Modules inside, which programs reach through: their names are here.
    "penstock.api.contrib.distributions:": "python ops",
}
publish(__name__, TABLE, "bijectors")
