"""``tf.config``: settings of the whole process. The compiler's are Penstock's own."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.native.config": "get_compiler set_compiler get_threads set_threads get_winograd set_winograd",
}
publish(__name__, TABLE, "experimental threading", missing="experimental_connect_to_cluster experimental_connect_to_host experimental_list_devices "
                                                          "experimental_run_functions_eagerly get_soft_device_placement optimizer "
                                                          "set_soft_device_placement")
