"""Machine code on disk, so that a program that ran once starts with compiled kernels.

A file holds its own checksum: one that is damaged, or half written by a machine that lost power, is as good as absent. Files are written
under another name and renamed, so processes never see parts; two that compile the same kernel write the same bytes. A folder that cannot be
used is not an error: kernels are then compiled again by each process.

What is in a file runs in this process. So a folder or file is used only if it belongs to this user and no other user can write to it; of any other
folder it is said once why it is not used. A checksum does not protect against that: a user who can write a file can write its checksum too.
"""
from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import random
import tempfile
from pathlib import Path

from penstock.platform.logging import runtime_logger
from penstock.platform.private import NotPrivate, private_folder, read_private

_log = logging.getLogger(__name__)
_MAGIC = b"penstock kernel 1\n"
_SUFFIX = ".kernel"
LIMIT = 256 << 20  # bytes; the files that were used longest ago go first
_KEEP = 0.8  # of the limit, when files have to go
_UNSEEN = 1 / 16  # of the limit: what a process stores, at most, before it looks again at what all have stored
_distrusted: set[Path] = set()  # folders of which has been said that they are not used
_draws = random.Random()  # of its own: a program's seeded draws stay what they are, whether its kernels are cached or not
_room: dict[Path, float] = {}  # by folder: bytes that this process stores before it looks


def folder() -> Path:
    """Where kernels are kept: PENSTOCK_CACHE_DIR, else ``penstock`` in the user's cache folder. FileNotFoundError for a user without a home."""
    own = os.environ.get("PENSTOCK_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "penstock"
    try:
        return Path.home() / ".cache" / "penstock"
    except RuntimeError as error:
        raise FileNotFoundError("this user has no home folder; PENSTOCK_CACHE_DIR names another place for kernels") from error


def load(name: str) -> bytes | None:
    """What was stored under a name; None if there is nothing, or nothing sound."""
    try:
        path = folder() / (name + _SUFFIX)
        with private_folder(path.parent) as parent:
            content = read_private(path.name, parent)
    except NotPrivate as error:
        _distrust(folder(), str(error))
        return None
    except OSError:  # it is not there, or cannot be read: the kernel is compiled
        return None
    header = len(_MAGIC) + hashlib.sha256().digest_size
    payload = content[header:]
    if content[:len(_MAGIC)] != _MAGIC or content[len(_MAGIC):header] != _checksum(name, payload):
        _log.warning("ignoring the damaged kernel %s", path)
        return None
    with contextlib.suppress(OSError):  # a folder that cannot be written to: files keep their age
        os.utime(path)
    return payload


def store(name: str, payload: bytes) -> None:
    """Keeps bytes under a name."""
    try:
        target = folder() / (name + _SUFFIX)
        with private_folder(target.parent, make=True):
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _checksum(name, payload) + payload)
                os.replace(temporary, target)
            except BaseException:
                os.unlink(temporary)
                raise
            _make_room(target.parent, len(payload))
    except NotPrivate as error:
        _distrust(folder(), str(error))
    except OSError as error:
        _log.info("cannot keep a kernel: %s", error)


def _distrust(where: Path, reason: str) -> None:
    """Says, once, why a folder is not used."""
    if where in _distrusted:
        return
    _distrusted.add(where)
    runtime_logger().warning("the kernels in %s are not used, and are compiled again by each process: %s; PENSTOCK_CACHE_DIR names another folder",
                             where, reason)


def _checksum(name: str, payload: bytes) -> bytes:
    return hashlib.sha256(name.encode() + payload).digest()  # with the name: a file that was renamed is damaged


def entries() -> list[tuple[Path, os.stat_result]]:
    """All files, the one used longest ago first."""
    files_and_stats = []
    with contextlib.suppress(OSError), os.scandir(folder()) as files:  # no folder, no files
        for file in files:
            if file.name.endswith(_SUFFIX) or file.name.startswith(".new-"):
                with contextlib.suppress(OSError):  # another process has removed it
                    files_and_stats.append((Path(file.path), file.stat()))
    return sorted(files_and_stats, key=lambda entry: entry[1].st_mtime)


def _make_room(where: Path, added: int) -> None:
    """Sees to the limit: not at every store, as thousands of files take a while to look at.

    A process begins anywhere between two looks, so that many which store a little each look as often, together, as one that stores as much.
    """
    _room[where] = _room.get(where, _draws.uniform(0, LIMIT * _UNSEEN)) - added
    if _room[where] <= 0:
        _room[where] = min(LIMIT - evict(), LIMIT * _UNSEEN)


def evict(limit: int | None = None) -> int:
    """Removes the oldest files if there are more bytes than the limit; returns how many bytes are left."""
    limit = LIMIT if limit is None else limit
    files = entries()
    total = sum(status.st_size for _, status in files)
    if total <= limit:
        return total
    for path, status in files:
        if total <= limit * _KEEP:
            break
        path.unlink(missing_ok=True)
        total -= status.st_size
    return total


def clear() -> int:
    """Removes all files; returns how many there were."""
    files = entries()
    for path, _ in files:
        path.unlink(missing_ok=True)
    return len(files)
