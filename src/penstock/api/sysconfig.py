"""``tf.sysconfig``: how to compile against TensorFlow."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.version": "CXX11_ABI_FLAG MONOLITHIC_BUILD",
    "penstock.platform.sysconfig": "get_include get_lib get_compile_flags get_link_flags",
}
publish(__name__, TABLE)
