"""``tf.math``: mathematics, elementwise and over axes."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.math.add_n": "accumulate_n add_n",
    "penstock.ops.math.elementwise": "abs add divide_no_nan=div_no_nan maximum minimum multiply "
                                "multiply_no_nan negative sign square squared_difference subtract",
    "penstock.ops.math.division": "divide floordiv floormod mod truediv",
    "penstock.ops.math.powers": "exp expm1 log log1p pow reciprocal rsqrt sqrt xdivy xlogy",
    "penstock.ops.math.trigonometry": "acos acosh asin asinh atan atan2 atanh cos cosh sigmoid sin sinh tan tanh",
    "penstock.ops.math.rounding": "ceil floor nextafter rint round",
    "penstock.ops.math.special": "bessel_i0e bessel_i1e betainc digamma erf erfc igamma igammac lgamma polygamma zeta",
    "penstock.ops.math.complex": "angle conj imag real",
    "penstock.ops.math.compare": "equal greater greater_equal is_finite is_inf is_nan less less_equal logical_and "
                            "logical_not logical_or logical_xor not_equal",
    "penstock.ops.math.reduce": "reduce_all reduce_any reduce_euclidean_norm reduce_max reduce_mean reduce_min "
                           "reduce_prod reduce_sum",
    "penstock.ops.math.statistics": "count_nonzero reduce_logsumexp reduce_std reduce_variance",
    "penstock.ops.math.argmax": "argmax argmin",
    "penstock.ops.math.cumulative": "cumprod cumsum cumulative_logsumexp",
    "penstock.ops.math.segment": "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
                            "unsorted_segment_min unsorted_segment_prod unsorted_segment_sum",
    "penstock.ops.math.segment_sparse": "unsorted_segment_mean unsorted_segment_sqrt_n",
    "penstock.ops.math.counting": "bincount",
    "penstock.ops.nn.confusion_matrix": "confusion_matrix",
    "penstock.ops.math.math": "bessel_i0 bessel_i1 lbeta log_sigmoid polyval reciprocal_no_nan scalar_mul zero_fraction",
    "penstock.ops.flow.checks": "is_non_decreasing is_strictly_increasing",
    "penstock.ops.nn.activations": "softplus softsign",
    "penstock.ops.nn.softmax": "softmax log_softmax",
    "penstock.ops.nn.nn_ops": "in_top_k l2_normalize",
    "penstock.ops.array.sorting": "top_k",
    "penstock.ops.array.permute": "invert_permutation",
}
publish(__name__, TABLE)
