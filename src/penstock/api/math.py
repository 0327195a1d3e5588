"""``tf.math``: mathematics, elementwise and over axes."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.elementwise": "abs accumulate_n add add_n divide_no_nan=div_no_nan maximum minimum multiply "
                                "multiply_no_nan negative sign square squared_difference subtract",
    "penstock.ops.division": "divide floordiv floormod mod truediv",
    "penstock.ops.powers": "exp expm1 log log1p pow reciprocal rsqrt sqrt xdivy xlogy",
    "penstock.ops.trigonometry": "acos acosh asin asinh atan atan2 atanh cos cosh sigmoid sin sinh tan tanh",
    "penstock.ops.rounding": "ceil floor nextafter rint round",
    "penstock.ops.special": "bessel_i0e bessel_i1e betainc digamma erf erfc igamma igammac lgamma polygamma zeta",
    "penstock.ops.cast": "angle conj imag real",
    "penstock.ops.compare": "equal greater greater_equal is_finite is_inf is_nan less less_equal logical_and "
                            "logical_not logical_or logical_xor not_equal",
    "penstock.ops.reduce": "reduce_all reduce_any reduce_euclidean_norm reduce_max reduce_mean reduce_min "
                           "reduce_prod reduce_sum",
    "penstock.ops.statistics": "count_nonzero reduce_logsumexp reduce_std reduce_variance",
    "penstock.ops.argmax": "argmax argmin",
    "penstock.ops.cumulative": "cumprod cumsum cumulative_logsumexp",
    "penstock.ops.segment": "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
                            "unsorted_segment_min unsorted_segment_prod unsorted_segment_sum",
    "penstock.ops.segment_sparse": "unsorted_segment_mean unsorted_segment_sqrt_n",
    "penstock.ops.counting": "bincount confusion_matrix",
    "penstock.ops.math": "bessel_i0 bessel_i1 lbeta log_sigmoid polyval reciprocal_no_nan scalar_mul zero_fraction",
    "penstock.ops.checks": "is_non_decreasing is_strictly_increasing",
    "penstock.ops.activations": "softplus softsign",
    "penstock.ops.softmax": "softmax log_softmax",
    "penstock.ops.nn_ops": "in_top_k l2_normalize",
    "penstock.ops.sorting": "top_k",
    "penstock.ops.permute": "invert_permutation",
}
publish(__name__, TABLE)
