"""``tf.gfile``: files, with TensorFlow's names and errors."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.gfile": "Copy DeleteRecursively Exists FastGFile GFile Glob IsDirectory ListDirectory MakeDirs MkDir Open Remove Rename "
                               "Stat Walk ListDir OpenFast",
}
publish(__name__, TABLE)
