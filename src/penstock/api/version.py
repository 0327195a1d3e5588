"""``tf.version``: the version of TensorFlow's API that programs see. Penstock's own version is ``penstock.__version__``."""
from __future__ import annotations

from penstock.api._table import publish

VERSION = "1.15.0"
GIT_VERSION = "v1.15.0-penstock"
COMPILER_VERSION = "none"  # no C++ was compiled
GRAPH_DEF_VERSION = 134  # what TensorFlow 1.15 writes into `GraphDef.versions.producer`
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0

publish(__name__, {
    __name__: "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
})
