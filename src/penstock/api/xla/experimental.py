"""``tf.xla.experimental``."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.contrib.compiler": "compile jit_scope=experimental_jit_scope"})
