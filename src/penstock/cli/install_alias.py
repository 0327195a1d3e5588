"""``penstock install-alias``: a package ``tensorflow==1.15.0`` in this environment that is Penstock.

Libraries of TensorFlow's time require ``tensorflow`` of pip, and import it. The alias is a package of two files: its metadata, which satisfies pip,
and a module that puts Penstock in its own place when it is imported. ``--remove``, or ``pip uninstall tensorflow``, takes it away.
"""
from __future__ import annotations

import argparse
import base64
import hashlib
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from penstock import VERSION, __version__

_INSTALLER = "penstock"
_MODULE = '''\
"""Penstock as ``tensorflow``: made by `penstock install-alias`."""
import sys

del sys.modules[__name__]  # the import system takes what stands there when this module has run: Penstock
import penstock  # noqa: E402

'''
_INSTALL = "penstock.install_as_tensorflow(era={})\n"


def main(argv: list[str]) -> int:
    """Runs the command; the exit code is 1 if the environment does not allow it."""
    options = _parse(argv)
    folder = Path(options.target or sysconfig.get_path("purelib"))
    try:
        message = remove(folder, options.name) if options.remove else install(folder, options.name, options.version, options.era)
    except (OSError, ValueError) as error:
        print(f"penstock install-alias: {error}", file=sys.stderr)
        return 1
    print(message)
    return 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="penstock install-alias",
                                     description="Make `import tensorflow`, and pip's requirements of it, mean Penstock in this environment.")
    parser.add_argument("--remove", action="store_true", help="take the alias away")
    parser.add_argument("--name", default="tensorflow", metavar="PACKAGE",
                        help="the package that pip sees, such as tensorflow-gpu (default: %(default)s)")
    parser.add_argument("--version", default=VERSION, help="its version (default: %(default)s)")
    parser.add_argument("--era", action="store_true", help="importing tensorflow also brings back the names of NumPy and Python that libraries of "
                                                           "2016-2019 expect, as `penstock run` does")
    parser.add_argument("--target", metavar="FOLDER", help="another folder of packages than this environment's")
    return parser.parse_args(argv)


def install(folder: Path, name: str, version: str, era: bool) -> str:
    """Writes the alias into a folder of packages. Raises ValueError if another package of the name is there."""
    _refuse_others(folder, name)
    remove(folder, name)
    files = {"tensorflow/__init__.py": _MODULE + _INSTALL.format(era)}
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: Penstock {__version__} as {name}\n"
                                 "Requires-Dist: penstock\n")
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: penstock\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/INSTALLER"] = _INSTALLER + "\n"
    files[f"{info}/top_level.txt"] = "tensorflow\n"
    files[f"{info}/RECORD"] = "".join(_record_line(path, text) for path, text in files.items()) + f"{info}/RECORD,,\n"
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
    return f"{name} {version} in {folder} is Penstock {__version__} now. Take it away with `penstock install-alias --remove`."


def remove(folder: Path, name: str) -> str:
    """Takes the alias out of a folder of packages; what is not ours stays."""
    ours = [package for package in _distributions(folder, name) if _is_ours(package)]
    for package in ours:
        shutil.rmtree(_folder_of(package))
    module = folder / "tensorflow" / "__init__.py"
    others = any(map(_is_ours, metadata.distributions(path=[str(folder)])))
    if not others and module.is_file() and module.read_text(encoding="utf-8").startswith(_MODULE):
        shutil.rmtree(module.parent)
    return f"{name} is not an alias in {folder} any more." if ours else f"There was no alias {name} in {folder}."


def _refuse_others(folder: Path, name: str) -> None:
    module = folder / "tensorflow" / "__init__.py"
    if module.exists() and not module.read_text(encoding="utf-8", errors="replace").startswith(_MODULE):
        raise ValueError(f"{module.parent} is there, and is not an alias: uninstall TensorFlow first (pip uninstall tensorflow)")
    for package in _distributions(folder, name):
        if not _is_ours(package):
            raise ValueError(f"{name} {package.version} is installed in {folder}: uninstall it first (pip uninstall {name})")


def _distributions(folder: Path, name: str) -> list[metadata.Distribution]:
    wanted = name.lower().replace("_", "-")
    return [package for package in metadata.distributions(path=[str(folder)]) if (package.metadata["Name"] or "").lower().replace("_", "-") == wanted]


def _is_ours(package: metadata.Distribution) -> bool:
    return (package.read_text("INSTALLER") or "").strip() == _INSTALLER


def _folder_of(package: metadata.Distribution) -> Path:
    return Path(str(package.locate_file(f"{str(package.metadata['Name']).replace('-', '_')}-{package.version}.dist-info")))


def _record_line(path: str, text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(text.encode())}\n"
