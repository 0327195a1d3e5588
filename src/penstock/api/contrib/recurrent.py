"""``tf.contrib.recurrent``: functions and cells applied along the time."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.recurrent": "Recurrent bidirectional_functional_rnn functional_rnn"}
publish(__name__, TABLE)
