"""``tf.app``: the start of a program."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.app": "run",
    "penstock.api.flags:": "flags",
}
publish(__name__, TABLE)
