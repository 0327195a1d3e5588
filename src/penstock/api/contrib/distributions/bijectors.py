"""``tf.contrib.distributions.bijectors``: invertible functions that know their Jacobians."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.distributions.bijectors"
TABLE = {
    f"{HERE}.bijector": "Bijector ConditionalBijector",
    f"{HERE}.affine": "Affine AffineLinearOperator",
    f"{HERE}.combined": "Chain Inline Invert ScaleTriL TransformDiagonal",
    f"{HERE}.distribution_functions": "Gumbel Kumaraswamy Weibull",
    f"{HERE}.elementwise": "AbsoluteValue AffineScalar Exp Identity PowerTransform Sigmoid SinhArcsinh Softplus Softsign Square",
    f"{HERE}.flows": "BatchNormalization MaskedAutoregressiveFlow RealNVP masked_autoregressive_default_template masked_dense "
                     "real_nvp_default_template",
    f"{HERE}.matrices": "CholeskyOuterProduct FillTriangular MatrixInverseTriL",
    f"{HERE}.vectors": "Ordered Permute Reshape SoftmaxCentered",
}
publish(__name__, TABLE)
