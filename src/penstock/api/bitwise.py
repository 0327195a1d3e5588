"""``tf.bitwise``: operations on the bits of integers."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.math.bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
}
publish(__name__, TABLE)
