"""``tf.sets``: operations on sets, given as the rows of a tensor."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.sparse.sets": "set_intersection set_difference set_union set_size intersection=set_intersection difference=set_difference "
                         "union=set_union size=set_size",
}
publish(__name__, TABLE)
