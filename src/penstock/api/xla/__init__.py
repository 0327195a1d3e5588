"""``tf.xla``: compiling a computation, as every step is here."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {}, submodules="experimental")
