"""Who may talk to a server. A cluster has a secret, from PENSTOCK_CLUSTER_SECRET or a file of mode 0600 that
PENSTOCK_CLUSTER_SECRET_FILE names, or certificates (mutual TLS), or both. A server that is given neither listens on the
loopback interface only, and its secret is that of its user (``user_secret.py``).

When two tasks connect, each proves that it knows the secret: by an HMAC of two random numbers, one of each side, so
that what was overheard is of no use later. The client proves first: who only connects learns nothing that guesses could
be tried on. The secret itself never travels. What follows is sealed with a key that only this connection has: each
piece carries a keyed hash of its number and all of its bytes. A piece that was changed, left out, repeated or taken from
another connection is refused. Sealing is not encryption: that is what TLS is for.

TLS: PENSTOCK_TLS_CERT, PENSTOCK_TLS_KEY and PENSTOCK_TLS_CA name PEM files; both sides show a certificate, and both must be
signed by the CA.
"""
from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import struct
from dataclasses import dataclass

from penstock.distributed.messages import MalformedMessage
from penstock.distributed.user_secret import user_secret
from penstock.errors import InvalidArgumentError, NotFoundError, PermissionDeniedError, UnauthenticatedError

_LOOPBACK6 = ("::1", "[::1]")
LOOPBACK = ("localhost", "127.0.0.1", *_LOOPBACK6)
VERSION = b"PSK3"
_SHORTEST = 16  # bytes of a secret: a shorter one could be guessed by an eavesdropper who has overheard a greeting
_NONCE, _PROOF, _SEAL = 16, 32, 16
_COUNT = struct.Struct("<Q")
_TLS = ("PENSTOCK_TLS_CERT", "PENSTOCK_TLS_KEY", "PENSTOCK_TLS_CA")


def cluster_secret() -> bytes | None:
    """The secret of the cluster; None if there is none. PermissionDeniedError if its file can be read by others."""
    text = os.environ.get("PENSTOCK_CLUSTER_SECRET")
    path = os.environ.get("PENSTOCK_CLUSTER_SECRET_FILE")
    if not text and path:
        text = read_secret(path)
    return long_enough(text).encode() if text else None


def long_enough(secret: str) -> str:
    """The secret; InvalidArgumentError if it is short enough to be guessed."""
    size = len(secret.encode())
    if size < _SHORTEST:
        raise InvalidArgumentError(None, None, f"the cluster's secret has {size} bytes, and needs {_SHORTEST} at least: a random one comes from "
                                   "python -c 'import secrets; print(secrets.token_hex())'")
    return secret


def read_secret(path: str) -> str:
    """The secret in a file; PermissionDeniedError if it can be read by others, InvalidArgumentError if there is none in it."""
    try:
        with open(path, encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise PermissionDeniedError(None, None, f"the cluster's secret in {path} can be read by others: chmod 600 {path}")
            if status.st_uid not in (os.geteuid(), 0):
                raise PermissionDeniedError(None, None, f"the cluster's secret in {path} belongs to user {status.st_uid}, who can read it: chown it")
            secret = file.read().strip()
    except FileNotFoundError:
        raise NotFoundError(None, None, f"the file of the cluster's secret does not exist: {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(None, None, f"the file of the cluster's secret cannot be read: {path}: {error}") from None
    if not secret:
        raise InvalidArgumentError(None, None, f"the file of the cluster's secret is empty: {path}")
    return long_enough(secret)


@dataclass(frozen=True)
class Certificates:
    """PEM: this task's certificate, its key, and who signs those of the others."""

    certificate: bytes
    key: bytes
    authority: bytes


def certificates() -> Certificates | None:
    """The certificates that the environment names; None if it names none, InvalidArgumentError if not all of them."""
    paths = [os.environ.get(name) for name in _TLS]
    if not any(paths):
        return None
    contents = []
    for name, path in zip(_TLS, paths):
        if not path:
            raise InvalidArgumentError(None, None, f"mutual TLS needs {', '.join(_TLS)}, and {name} is missing")
        try:
            with open(path, "rb") as file:
                contents.append(file.read())
        except OSError as error:
            raise InvalidArgumentError(None, None, f"{name} cannot be read: {error}") from None
    return Certificates(*contents)


@dataclass(frozen=True)
class Access:
    """What this process can show to others, and wants to see of them."""

    secret: bytes | None = None
    tls: Certificates | None = None
    personal: bool = False  # the secret is the user's own, not one of the cluster

    @classmethod
    def from_environment(cls) -> Access:
        """The secret and the certificates that the environment names; if it names neither, the user's own secret."""
        secret, tls = cluster_secret(), certificates()
        personal = secret is None and tls is None
        return cls(user_secret().encode() if personal else secret, tls, personal)

    @property
    def local(self) -> bool:
        """True if there is nothing by which other machines could be recognised: then only this one can connect."""
        return self.tls is None and (self.secret is None or self.personal)

    def listening_host(self, host: str) -> str:
        """The interface to listen on for a task whose address in the cluster is ``host``."""
        if host in _LOOPBACK6:
            return "[::1]"
        return "127.0.0.1" if self.local or host in LOOPBACK else "[::]"

    def __str__(self) -> str:
        """Who may connect."""
        if self.personal:
            return f"processes of user {os.geteuid()} on this machine"
        shown = [*["a certificate of the cluster's authority"] * (self.tls is not None), *["the cluster's secret"] * (self.secret is not None)]
        return f"any process that has {' and '.join(shown)}" if shown else "anybody on this machine"


# --- the first words on a connection ---------------------------------------------------------------------------------

class Greeting:
    """One side of: hello(n1) -> answer(n2) -> proof of the client -> proof of the server.

    >>> client, server = Greeting(b"secret"), Greeting(b"secret")
    >>> client.check(server.finish(client.prove(server.answer(client.hello()))))
    """

    def __init__(self, secret: bytes | None) -> None:
        self._secret, self._own, self._both = secret, secrets.token_bytes(_NONCE), b""

    def hello(self) -> bytes:
        """The client's first words."""
        return VERSION + self._own

    def answer(self, hello: bytes) -> bytes:
        """The server's answer to them."""
        self._both = _nonce_of(hello) + self._own
        return VERSION + self._own

    def prove(self, answer: bytes) -> bytes:
        """The client's answer to that."""
        self._both = self._own + _nonce_of(answer)
        return self._proof(b"client")

    def finish(self, proof: bytes) -> bytes:
        """The server's own proof; UnauthenticatedError if the client does not know the secret."""
        if self._secret is not None:
            if len(proof) != _PROOF or proof == bytes(_PROOF):
                raise UnauthenticatedError(None, None, "this cluster has a secret: set PENSTOCK_CLUSTER_SECRET to it")
            if not hmac.compare_digest(proof, self._proof(b"client")):
                raise UnauthenticatedError(None, None, "the secret is wrong: set PENSTOCK_CLUSTER_SECRET to that of the cluster, or unset it if the "
                                           "server was started by this user without one")
        return self._proof(b"server")

    def check(self, proof: bytes) -> None:
        """The client's last check; UnauthenticatedError if the server does not know the secret."""
        if self._secret is not None and not hmac.compare_digest(proof, self._proof(b"server")):
            raise UnauthenticatedError(None, None, "the server does not know this cluster's secret: it has none, or another one")

    def seal(self, sender: bytes) -> Seal:
        """The seal of what ``sender`` (b"client" or b"server") sends."""
        return Seal(None if self._secret is None else self._digest(b"key of the " + sender))

    def _proof(self, who: bytes) -> bytes:
        return bytes(_PROOF) if self._secret is None else self._digest(b"proof of the " + who)

    def _digest(self, what: bytes) -> bytes:
        assert self._secret is not None
        return hmac.digest(self._secret, what + self._both, "sha256")


def _nonce_of(words: bytes) -> bytes:
    if len(words) != len(VERSION) + _NONCE or words[:len(VERSION)] != VERSION:
        raise MalformedMessage(f"the connection begins with {bytes(words[:8])!r}, not {VERSION!r}: not this protocol, or another version of it")
    return bytes(words[len(VERSION):])


class Seal:
    """Closes the pieces that one side sends, in their order; the other side has one that opens them.

    >>> sender, receiver = Seal(b"key"), Seal(b"key")
    >>> first, second = sender.close(b"one"), sender.close(b"two")
    >>> bytes(receiver.open(first))
    b'one'
    >>> receiver.open(first)
    Traceback (most recent call last):
        ...
    penstock.distributed.messages.MalformedMessage: a piece is forged, repeated or out of order
    """

    def __init__(self, key: bytes | None) -> None:
        self._key, self._count = key, 0

    def close(self, data: bytes) -> bytes:
        """A piece with its seal."""
        return data if self._key is None else self._hash(data) + data

    def open(self, piece: bytes) -> memoryview:
        """What is in a piece; MalformedMessage if the seal is broken."""
        view = memoryview(piece)
        if self._key is None:
            return view
        if not hmac.compare_digest(bytes(view[:_SEAL]), self._hash(view[_SEAL:])):
            raise MalformedMessage("a piece is forged, repeated or out of order")
        return view[_SEAL:]

    def _hash(self, data: bytes | memoryview) -> bytes:
        assert self._key is not None
        digest = hashlib.blake2b(_COUNT.pack(self._count), key=self._key, digest_size=_SEAL)
        digest.update(data)
        self._count += 1
        return digest.digest()
