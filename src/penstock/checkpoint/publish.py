"""How a new checkpoint takes the place of an old one.

What must stay true: whenever the process is killed, what ``PREFIX.index`` describes is a whole checkpoint, the old one or the new one. So data is
complete before an index speaks of it, and renaming the index is the moment of change.

A process that is killed loses nothing that it has written; a machine whose power fails loses what the operating system has not brought to the disk
yet. By default a save does not wait for that, as in TensorFlow. PENSTOCK_FSYNC=1 makes every save wait, at each step of the order above, so that the
promise holds for power failures too.

A checkpoint under a new name is simple: its data files take their names, then its index. One that replaces another of the same name cannot just
rename two files, for in between the old index would describe new data. The number of shards, which is part of the names of the data files, helps: the
new data first takes names of another number, and the index says that number (the change happens here); then the usual names become further names
of the same files (hard links), the index says the usual number, and the other names go.
"""
from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from tensorboard.compat.proto.versions_pb2 import VersionDef

from penstock.checkpoint.claims import INDEX, claim_change, create, locked, remove_if_there, temporary_path
from penstock.checkpoint.protos import BundleHeaderProto
from penstock.checkpoint.sstable import build_table

HEADER_KEY = b""
_BUNDLE_VERSION = 1


def waits_for_disk() -> bool:
    """Is PENSTOCK_FSYNC set?"""
    return os.environ.get("PENSTOCK_FSYNC", "0") not in ("", "0")


def sync_if_wanted(descriptor: int) -> None:
    """Waits, if that is wanted, until an open file is on the disk."""
    if waits_for_disk():
        os.fsync(descriptor)


def index_path(prefix: str) -> str:
    """The file that says what a checkpoint holds, and where."""
    return prefix + INDEX


def data_path(prefix: str, shard: int, shards: int) -> str:
    """A file with values: ``PREFIX.data-00000-of-00001``."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def write_atomically(path: str, contents: bytes) -> None:
    """Writes a file so that ``path`` has either its old contents or all of the new ones."""
    temporary = temporary_path(path)
    try:
        with open(create(temporary), "wb") as file:
            file.write(contents)
            file.flush()
            sync_if_wanted(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        remove_if_there(temporary)
        raise
    sync_folder(path)


def sync_folder(path: str) -> None:
    """Waits, if that is wanted, until the names of the files beside ``path`` are on the disk."""
    if not waits_for_disk():
        return
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems of networks keep names in order without being asked
            raise
    finally:
        os.close(folder)


def publish(prefix: str, data: Sequence[str], entries: dict[bytes, Any]) -> None:
    """Makes ``data``, files that are complete and on the disk, and ``entries``, which speak of them by number, the checkpoint ``prefix``."""
    names = _names(prefix, len(data))
    with claim_change(prefix):
        if os.path.exists(index_path(prefix)) and any(map(os.path.exists, names)):
            _replace(prefix, data, entries, names)
        else:
            _move(data, names)
            _write_index(prefix, entries, len(data))


def _replace(prefix: str, data: Sequence[str], entries: dict[bytes, Any], names: list[str]) -> None:
    spare = len(names) + 1
    while glob.glob(f"{glob.escape(prefix)}.data-?????-of-{spare:05d}"):
        spare += 1
    others = _names(prefix, len(names), spare)
    _move(data, others)
    _write_index(prefix, entries, spare)
    for source, target in zip(others, names):
        _link(source, target)
    sync_folder(prefix)
    _write_index(prefix, entries, len(names))
    remove_if_there(*others)  # those of earlier processes go when the claim ends


def _names(prefix: str, count: int, shards: int | None = None) -> list[str]:
    return [data_path(prefix, shard, shards or count) for shard in range(count)]


def _move(sources: Iterable[str], targets: Iterable[str]) -> None:
    target = ""
    for source, target in zip(sources, targets):
        os.replace(source, target)
    if target:
        sync_folder(target)


def _link(source: str, target: str) -> None:
    """Makes ``target``, whatever it is now, another name of ``source``; a copy where the file system has no links."""
    temporary = temporary_path(target)
    with locked(source):  # and so all of its names are
        try:
            os.link(source, temporary)
        except OSError:
            _copy(source, target)
        else:
            os.replace(temporary, target)


def _copy(source: str, target: str) -> None:
    temporary = temporary_path(target)
    with open(source, "rb") as contents, open(create(temporary), "wb") as file:
        shutil.copyfileobj(contents, file, 1 << 20)
        file.flush()
        sync_if_wanted(file.fileno())
        os.replace(temporary, target)


def _write_index(prefix: str, entries: dict[bytes, Any], shards: int) -> None:
    header = BundleHeaderProto(num_shards=shards, version=VersionDef(producer=_BUNDLE_VERSION))
    pairs = [(HEADER_KEY, header), *sorted(entries.items(), key=lambda pair: pair[0])]
    write_atomically(index_path(prefix), build_table((key, proto.SerializeToString(deterministic=True)) for key, proto in pairs))
