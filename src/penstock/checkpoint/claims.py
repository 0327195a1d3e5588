"""Unfinished files, and how to tell whether they are still being written.

The writer of a temporary file holds a lock on it (flock) until the file has its final name or is removed. The lock ends with the process, however
that ends. So an unfinished file whose lock is free was left behind by a dead process, and the next save removes it. A file whose lock is held is left
alone, however long its writer sleeps.

While data files take their final names, a file with the temporary name of an index is locked (``claim_change``): one that a dead process has left
tells that there may be data which no index names.

A sharded checkpoint grows in a folder of its own, written by several tasks; there the process that asked for the save holds the lock of a file
``owner`` in that folder. Folders without one, and file systems without locks, are judged by their age.

Cleaning up is a kindness of a save to later ones, never a reason for it to fail: what cannot be looked at or removed is left where it is.
"""
from __future__ import annotations

import contextlib
import glob
import logging
import os
import re
import sys
import time
import uuid
from collections.abc import Iterator

from google.protobuf.message import DecodeError

from penstock.checkpoint.protos import BundleHeaderProto
from penstock.checkpoint.sstable import read_table
from penstock.errors import DataLossError

_log = logging.getLogger("tensorflow")
_MARK = ".tempstate_"  # TensorFlow's own temporary files have no underscore there, and are not locked
_ABANDONED = 600  # seconds without a write, after which a file that cannot be locked counts as abandoned
_OWNER = "owner"
INDEX = ".index"
_UNMERGED = re.compile(r"_temp_[0-9a-z]{32}$")


if sys.platform == "win32":
    def _lock(descriptor: int, wait: bool = False) -> None:
        raise OSError("files are not locked here")
else:
    import fcntl

    def _lock(descriptor: int, wait: bool = False) -> None:
        """Locks a file; raises BlockingIOError if the lock is held and ``wait`` is False, another OSError if there are no locks."""
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_if_there(*paths: str) -> None:
    """Removes files; those that are gone already are fine."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def _clean_up(*paths: str) -> None:
    """Removes files that dead processes have left, as far as this user may: in a shared folder they may be another user's."""
    for path in paths:
        try:
            remove_if_there(path)
        except OSError as error:
            _log.info("%s is left behind: %s", path, error)


# --- files -----------------------------------------------------------------------------------------------------------

def temporary_path(path: str) -> str:
    """An unused name beside ``path``; the file that gets it must be locked."""
    return f"{path}{_MARK}{uuid.uuid4().hex[:16]}"


def create(path: str) -> int:
    """A new file, open for writing; it is locked until the descriptor is closed."""
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(OSError):  # a file system without locks: there the age of the file protects it
            _lock(descriptor, wait=True)
        if _is_still(descriptor, path):
            return descriptor
        os.close(descriptor)  # a process that cleans up removed the file before it was locked


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Holds the lock of an existing file, unless another process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # it is locked already, which protects it as well; or there are no locks, and its age protects it
            _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _is_still(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _if_dead(path: str) -> Iterator[bool]:
    """True if the writer of a temporary file is dead. Inside the block no other process can lock the file."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # it is gone, or belongs to another user, or no more files can be opened: in doubt its writer lives
        yield False
        return
    try:
        try:
            _lock(descriptor)
            dead = True
        except BlockingIOError:
            dead = False
        except OSError:  # there are no locks
            dead = _are_old(path)
        yield dead
    finally:
        os.close(descriptor)


def _are_old(*paths: str) -> bool:
    now = time.time()
    try:
        return all(now - os.stat(path).st_mtime > _ABANDONED for path in paths)
    except OSError:  # another process has removed it, or it cannot be looked at: in doubt it is new
        return False


def remove_abandoned(prefix: str) -> None:
    """Removes what dead processes have left of unfinished files in the folder of a checkpoint that is about to be written."""
    for path in glob.glob(os.path.join(glob.escape(os.path.dirname(prefix)), f"*{_MARK}*")):
        with _if_dead(path) as dead:
            if dead:
                name, _, _ = path.partition(_MARK)
                if name.endswith(INDEX):
                    remove_unnamed_data(name.removesuffix(INDEX), path)  # whose lock is held here
                _clean_up(path)  # two tasks may do so at the same time
    for path in glob.glob(glob.escape(prefix) + ".*.tempstate[!_]*"):  # TensorFlow's
        if _are_old(path):
            _clean_up(path)


@contextlib.contextmanager
def claim_change(prefix: str) -> Iterator[None]:
    """While the block lasts, data files of a checkpoint may have names that its index does not know. A claim that is left behind tells of them."""
    claim = temporary_path(prefix + INDEX)
    descriptor = create(claim)
    try:
        yield
        remove_unnamed_data(prefix, claim)
    finally:
        remove_if_there(claim)
        os.close(descriptor)


def remove_unnamed_data(prefix: str, own_claim: str = "") -> None:
    """Removes data files of a checkpoint that its index does not name, as all of them if there is no index; not while a live process changes it."""
    for claim in glob.glob(f"{glob.escape(prefix + INDEX)}{_MARK}*"):
        if claim != own_claim:
            with _if_dead(claim) as dead:
                if not dead and os.path.exists(claim):
                    return
    shards = _shards_of(prefix)
    for path in [] if shards is None else glob.glob(f"{glob.escape(prefix)}.data-?????-of-?????"):
        if not path.endswith(f"-of-{shards:05d}"):
            with _if_dead(path) as dead:
                if dead:
                    _clean_up(path)


def _shards_of(prefix: str) -> int | None:
    """How many data files the index of a checkpoint names; 0 if there is no index, None if it cannot be read."""
    try:
        return int(BundleHeaderProto.FromString(read_table(prefix + INDEX)[b""]).num_shards)
    except FileNotFoundError:
        return 0
    except (OSError, KeyError, DecodeError, DataLossError):  # damaged, or unreadable: what belongs to it cannot be told, and stays
        return None


# --- folders ---------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def claim_folders(folders: list[str]) -> Iterator[None]:
    """Keeps the folders of a sharded save from being taken for abandoned ones. In the end, what is still in them is removed."""
    descriptors = []
    try:
        for folder in folders:
            with contextlib.suppress(OSError):  # if it cannot be made, it is the save that says why
                descriptors.append(_claim(folder))
        yield
    finally:
        for folder in folders:
            remove_unmerged(folder)
        for descriptor in descriptors:
            os.close(descriptor)


def _claim(folder: str) -> int:
    owner = os.path.join(folder, _OWNER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
    remove_if_there(owner)
    return create(owner)


def remove_unmerged(folder: str) -> None:
    """Removes a folder with parts of a checkpoint that will never be merged; nothing else that may be in it."""
    parts = os.path.join(glob.escape(folder), "part-*")
    _clean_up(*glob.glob(parts))
    if glob.glob(parts):
        return  # a task is still writing its part, which is not needed any more: next time. Or it is another user's
    _clean_up(os.path.join(folder, _OWNER))
    with contextlib.suppress(OSError):  # it is not there, or something else is in it
        os.rmdir(folder)


def remove_abandoned_folders(parent: str) -> None:
    """Removes what dead processes have left of sharded checkpoints in a folder."""
    for folder in glob.glob(os.path.join(glob.escape(parent), "*_temp_*")):
        if not (_UNMERGED.search(folder) and os.path.isdir(folder)):
            continue
        owner = os.path.join(folder, _OWNER)
        if os.path.exists(owner):
            with _if_dead(owner) as dead:
                if dead:
                    remove_unmerged(folder)
        elif _are_old(folder, *glob.glob(os.path.join(glob.escape(folder), "*"))):
            remove_unmerged(folder)
