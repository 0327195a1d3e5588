"""The secret of a user, for clusters that were given none: tasks and clients of one user on one machine find each other by it, other users cannot.

It is made when it is first needed, in a file of mode 0600 that only this user can have written: ``~/.config/penstock/cluster_secret``, or
``penstock-UID`` in the folder for temporary files for a user without a home. The home is that of the user's account, whatever HOME says: tasks
that are started in different ways still agree.
"""
from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import tempfile

from penstock.errors import PermissionDeniedError
from penstock.platform.private import NotPrivate, private_folder, read_private

_NAME = "cluster_secret"
_LENGTH = 32  # bytes, twice as many characters


def user_secret() -> str:
    """This user's secret, made if there is none. PermissionDeniedError if there is no folder that is this user's alone."""
    reasons = []
    for folder in folders():
        try:
            return _secret_in(folder)
        except OSError as error:
            reasons.append(f"{folder}: {error}")
            if isinstance(error, NotPrivate):
                break  # another user's, or open to others: to go elsewhere would hide that
    raise PermissionDeniedError(None, None, f"there is no place for this user's own secret ({'; '.join(reasons)}); set PENSTOCK_CLUSTER_SECRET, or "
                                "PENSTOCK_CLUSTER_SECRET_FILE to a file of mode 0600")


def folders() -> list[str]:
    """Where the secret may be, the best place first."""
    places = [os.path.join(tempfile.gettempdir(), f"penstock-{os.geteuid()}")]
    with contextlib.suppress(KeyError):  # a user whom the system does not know has no home
        home = pwd.getpwuid(os.geteuid()).pw_dir
        if os.path.isdir(home):
            places.insert(0, os.path.join(home, ".config", "penstock"))
    return places


def _secret_in(path: str) -> str:
    with private_folder(path, make=True) as folder:
        try:
            return _read(folder)
        except FileNotFoundError:
            _make(folder)
            return _read(folder)


def _read(folder: int) -> str:
    text = read_private(_NAME, folder, hidden=True).decode("ascii", "replace").strip()
    if len(text) < _LENGTH:
        raise OSError(f"{_NAME} is damaged: remove it, and end the tasks that use it")
    return text


def _make(folder: int) -> None:
    """Writes a secret under another name and links it: of two tasks that do so at the same time one is first, and both read its secret."""
    temporary = f".{_NAME}-{secrets.token_hex(8)}"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "w") as content:
            content.write(secrets.token_hex(_LENGTH))
        with contextlib.suppress(FileExistsError):
            os.link(temporary, _NAME, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.unlink(temporary, dir_fd=folder)
