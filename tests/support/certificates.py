"""Certificates for tests of TLS, made with the openssl command."""
from __future__ import annotations

import subprocess
from pathlib import Path

NAMES = ("PENSTOCK_TLS_CERT", "PENSTOCK_TLS_KEY", "PENSTOCK_TLS_CA")


def openssl(folder: Path, *arguments: str) -> None:
    """Runs the openssl command."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def make_certificates(folder: Path, authority: str) -> list[str]:
    """A certificate authority, and a certificate for localhost that it has signed: the values of ``NAMES``."""
    folder.mkdir()
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", f"/CN={authority}", "-days", "2")
    openssl(folder, "req", *key, "-keyout", "task.key", "-out", "task.csr", "-subj", "/CN=task")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(folder, "x509", "-req", "-in", "task.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "task.pem", "-days", "2",
            "-extfile", "names")
    return [str(folder / name) for name in ("task.pem", "task.key", "ca.pem")]
