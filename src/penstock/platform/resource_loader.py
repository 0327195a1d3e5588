"""``tf.resource_loader``: files that lie beside a program's source."""
from __future__ import annotations

import os
import sys
from pathlib import Path


def _folder_of_caller(depth: int) -> str:
    return os.path.dirname(sys._getframe(depth + 1).f_code.co_filename)


def get_data_files_path() -> str:
    """The folder of the file that calls this."""
    return _folder_of_caller(1)


def get_path_to_datafile(path: str) -> str:
    """The path of a file that lies beside the file that calls this."""
    return os.path.join(_folder_of_caller(1), path)


def get_root_dir_with_all_resources() -> str:
    """The folder of the file that calls this: Penstock has no bundles of programs with their data."""
    return _folder_of_caller(1)


def load_resource(path: str) -> bytes:
    """The contents of a file that lies beside the file that calls this, or below the current folder."""
    beside = Path(_folder_of_caller(1), path)
    return (beside if beside.exists() else Path(path)).read_bytes()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """``path``: files are local and the operating system reads ahead."""
    return path
