"""``get_file``: files from a URL, kept in a cache; archives are taken apart."""
from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import urllib.parse
import zipfile
from typing import Any

_CACHE_VARIABLE = "KERAS_HOME"


def cache_folder() -> str:
    """The folder that files are kept in: what KERAS_HOME says, or ~/.keras."""
    return os.environ.get(_CACHE_VARIABLE) or os.path.join(os.path.expanduser("~"), ".keras")


def _hash_of(path: str, algorithm: str) -> str:
    digest = hashlib.new(algorithm)
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 16), b""):
            digest.update(chunk)
    return digest.hexdigest()


def is_intact(path: str, file_hash: str | None, hash_algorithm: str = "auto") -> bool:
    """Whether a file has this hash; a hash of 64 digits is SHA-256, of 32 MD5."""
    if file_hash is None:
        return True
    algorithm = "sha256" if hash_algorithm == "sha256" or (hash_algorithm == "auto" and len(file_hash) == 64) else "md5"
    return _hash_of(path, algorithm) == file_hash.lower()


def get_file(fname: str, origin: str, untar: bool = False, md5_hash: str | None = None, file_hash: str | None = None, cache_subdir: str = "datasets",
             hash_algorithm: str = "auto", extract: bool = False, archive_format: Any = "auto", cache_dir: str | None = None) -> str:
    """``tf.keras.utils.get_file``: the path of a file in the cache. What is not there is copied from a ``file://`` URL; nothing is downloaded."""
    file_hash = file_hash or md5_hash
    folder = os.path.join(cache_dir or cache_folder(), cache_subdir)
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, fname)
    path = f"{target}.tar.gz" if untar else target
    if not (os.path.exists(path) and is_intact(path, file_hash, hash_algorithm)):
        _copy(origin, path)
        if not is_intact(path, file_hash, hash_algorithm):
            os.remove(path)
            raise ValueError(f"The file {origin} does not have the hash {file_hash}; it is incomplete, or another file.")
    if untar:
        if not os.path.exists(target):
            _extract(path, folder, "tar")
        return target
    if extract:
        _extract(path, folder, archive_format)
    return path


def _copy(origin: str, path: str) -> None:
    parts = urllib.parse.urlparse(origin)
    if parts.scheme not in ("", "file"):
        raise OSError(f"{os.path.basename(path)} is not in the cache, and files are not downloaded: get {origin} yourself, and put it at {path} "
                      f"(set {_CACHE_VARIABLE} to use another cache than {cache_folder()}).")
    shutil.copyfile(urllib.parse.unquote(parts.path) if parts.scheme else origin, path)


def _extract(path: str, folder: str, archive_format: Any) -> bool:
    """Takes an archive apart; False if it is none."""
    formats = [] if archive_format is None else ["tar", "zip"] if archive_format == "auto" else \
        [archive_format] if isinstance(archive_format, str) else list(archive_format)
    if "tar" in formats and tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        return True
    if "zip" in formats and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        return True
    return False
