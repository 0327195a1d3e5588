"""``tf.debugging``: checks that are part of the graph."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.flow.misc": "Assert",
    "penstock.ops.flow.checks": "assert_equal assert_none_equal assert_less assert_less_equal assert_greater assert_greater_equal assert_positive "
                           "assert_negative assert_non_negative assert_non_positive assert_near is_non_decreasing is_strictly_increasing "
                           "assert_type assert_integer is_numeric_tensor assert_same_float_dtype assert_proper_iterable",
    "penstock.ops.flow.check_shapes": "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_shapes "
                                 "assert_all_finite=verify_tensor_all_finite",
    "penstock.ops.math.compare": "is_finite is_inf is_nan",
    "penstock.ops.array.passing": "check_numerics",
}
publish(__name__, TABLE)
