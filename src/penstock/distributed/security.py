"""Who may talk to a server. A cluster has a secret, from PENSTOCK_CLUSTER_SECRET or a file of mode 0600 that
PENSTOCK_CLUSTER_SECRET_FILE names.

A call carries a token: the time, and an HMAC of the time and the method under the secret. The secret itself never
travels, and a token that was overheard is good for one method and five minutes. Without a secret a server listens on
the loopback interface only.
"""
from __future__ import annotations

import hmac
import os
import stat
import time

from penstock.errors import PermissionDeniedError

_VALID = 300.0  # seconds by which clocks may differ
_FRESH = 60.0  # seconds that a token is used for
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")


def cluster_secret() -> bytes | None:
    """The secret of the cluster; None if there is none. PermissionDeniedError if its file can be read by others."""
    text = os.environ.get("PENSTOCK_CLUSTER_SECRET")
    path = os.environ.get("PENSTOCK_CLUSTER_SECRET_FILE")
    if text is None and path:
        text = read_secret(path)
    return text.encode() if text else None


def read_secret(path: str) -> str:
    """The secret in a file; PermissionDeniedError if it can be read by others."""
    with open(path, encoding="utf-8") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise PermissionDeniedError(None, None, f"the cluster's secret in {path} can be read by others: chmod 600 {path}")
        return file.read().strip()


class Tokens:
    """Makes and checks the tokens of calls.

    >>> ours, theirs = Tokens(b"secret"), Tokens(b"guess")
    >>> ours.refusal("Call", ours.issue("Call")), ours.refusal("Call", theirs.issue("Call"))
    ('', 'the token is wrong')
    """

    def __init__(self, secret: bytes | None) -> None:
        self._secret = secret
        self._issued: dict[str, tuple[float, str]] = {}

    @property
    def open(self) -> bool:
        """True if there is no secret."""
        return self._secret is None

    def issue(self, method: str) -> str:
        """A token for a call of ``method``; empty without a secret."""
        if self._secret is None:
            return ""
        now = time.time()
        when, token = self._issued.get(method, (0.0, ""))
        if now - when > _FRESH:
            token = self._token(method, str(int(now)))
            self._issued[method] = now, token
        return token

    def refusal(self, method: str, token: str) -> str:
        """Why a token is not good for a call; empty if it is. Takes the same time for every wrong token."""
        if self._secret is None:
            return ""
        if not token:
            return "there is no token: set PENSTOCK_CLUSTER_SECRET to the cluster's secret"
        moment, _, _ = token.partition(".")
        if not hmac.compare_digest(token.encode(), self._token(method, moment).encode()):
            return "the token is wrong"
        if abs(time.time() - int(moment)) > _VALID:
            return "the token is too old, or the clocks of the machines differ by minutes"
        return ""

    def _token(self, method: str, moment: str) -> str:
        assert self._secret is not None
        return f"{moment}.{hmac.new(self._secret, f'{method}|{moment}'.encode(), 'sha256').hexdigest()}"


def listening_host(host: str, secret: bytes | None) -> str:
    """The interface to listen on for a task whose address in the cluster is ``host``."""
    return "127.0.0.1" if secret is None or host in LOOPBACK else "[::]"
