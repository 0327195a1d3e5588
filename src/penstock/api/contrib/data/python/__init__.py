"""``tf.contrib.data.python``: private modules that programs import all the same."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {}, "ops")
