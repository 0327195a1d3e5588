"""``tf.resource_loader``: files that lie beside a program."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.resource_loader": "get_data_files_path get_path_to_datafile get_root_dir_with_all_resources load_resource "
                                         "readahead_file_path",
}
publish(__name__, TABLE)
