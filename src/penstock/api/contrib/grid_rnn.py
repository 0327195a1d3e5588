"""``tf.contrib.grid_rnn``: recurrent cells along the dimensions of a grid."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.grid_rnn": "Grid1BasicLSTMCell Grid1BasicRNNCell Grid1LSTMCell Grid2BasicLSTMCell Grid2BasicRNNCell Grid2GRUCell "
                                 "Grid2LSTMCell Grid3LSTMCell GridRNNCell",
}
publish(__name__, TABLE)
