"""``tf.contrib.tfprof.tfprof_logger``."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.debug.profile.log": "write_op_log"})
