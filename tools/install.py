"""Installs the project for development, from ``requirements-dev.lock``: exact versions, and only files whose hashes are in it.

    python tools/install.py [--locked]

The Python that runs this gets the packages; make runs it with that of ``.venv``. A file whose hash is another one ends the installation, always.
Where the lock does not fit (an index without one of the versions, a platform without a wheel), the ranges of ``pyproject.toml`` are used instead, and
that is said; with ``--locked``, as in CI, it is an error. Nothing is fetched in order to build: hatchling is among the packages.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MISMATCH = "DO NOT MATCH THE HASHES"  # what pip says of a file that is not the one that was locked


def pip_install(*arguments: str) -> tuple[int, str]:
    """Runs ``pip install``; its exit code, and what it said of errors."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    result = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    return result.returncode, result.stderr


def install(lock: Path, locked: bool) -> str | None:
    """What went wrong, or None."""
    code, said = pip_install("--require-hashes", "--only-binary", ":all:", "--requirement", str(lock))
    if code == 0:
        code, said = pip_install("--no-deps", "--no-build-isolation", "--editable", ".")
        return said if code else None
    if MISMATCH in said:
        return f"{said}\nA file is not the one that {lock.name} names. Nothing is installed: find out why before you go on."
    if locked:
        return f"{said}\n{lock.name} cannot be installed here. `make lock` renews it."
    print(f"{lock.name} does not fit here ({last_line(said)}): installing by the ranges of pyproject.toml, without hashes.", file=sys.stderr)
    code, said = pip_install("--editable", ".[dev]")
    return said if code else None


def last_line(text: str) -> str:
    """The last line that says something."""
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["pip says nothing"])[-1]


def main() -> None:
    """Exits with the reason if the project cannot be installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--locked", action="store_true", help="only what the lock file names")
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements-dev.lock", help="another lock file")
    arguments = parser.parse_args()
    sys.exit(install(arguments.lock, arguments.locked))


if __name__ == "__main__":
    main()
