"""``tf.contrib.compiler.jit``: operations that are compiled."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.contrib.compiler": "experimental_jit_scope"})
