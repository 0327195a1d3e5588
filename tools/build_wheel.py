"""Builds the wheel and its bill of materials (SBOM, CycloneDX 1.6): the same bytes for the same sources, wherever and whenever they are built.

    python tools/build_wheel.py [FOLDER]      dist/ unless told otherwise

The bill lists what the wheel brings with it when it is installed: the packages that it needs, and those that these need, in the versions that
``requirements-dev.lock`` holds and the tests run with. A version that is only for some Pythons carries its marker. It names no time and no place.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EPOCH = "1580601600"  # of all files in the wheel: 2 February 2020, as hatchling has it
Pin = tuple[str, str]  # a version, and the marker that says where it is for


def build_wheel(folder: Path, root: Path = ROOT) -> Path:
    """The wheel of the sources in ``root``, built by the hatchling that is installed."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)


def read_lock(text: str) -> tuple[dict[str, list[Pin]], dict[str, set[str]]]:
    """The pins of each package, and the packages that each one needs."""
    pins: dict[str, list[Pin]] = {}
    needs: dict[str, set[str]] = {}
    name = ""
    for line in text.splitlines():
        pin = re.match(r"([\w.-]+)==(\S+)(?: ; (.*?))?(?: \\)?$", line)
        needer = re.match(r" +#(?: via| ) +([\w.-]+)", line)
        if pin:
            name = pin[1]
            pins.setdefault(name, []).append((pin[2], pin[3] or ""))
        elif needer:
            needs.setdefault(needer[1], set()).add(name)
    return pins, needs


def normal_name(name: str) -> str:
    """The name of a package as lock files and package URLs have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(direct: set[str], needs: dict[str, set[str]]) -> list[str]:
    """The packages and all that they need, in order."""
    found: set[str] = set()
    waiting = set(direct)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= needs.get(name, set()) - found
    return sorted(found)


def bill_of_materials(wheel: Path, lock: str) -> dict[str, object]:
    """The CycloneDX document of a wheel."""
    metadata = wheel_metadata(wheel)
    direct = {normal_name(re.match(r"[\w.-]+", line)[0]) for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    pins, needs = read_lock(lock)
    names = needed(direct, needs)
    root = package_url(metadata["Name"], metadata["Version"])
    references = {name: [package_url(name, version) for version, _ in pins[name]] for name in names}
    tree = [(root, direct)] + [(reference, needs.get(name, set())) for name in names for reference in references[name]]
    dependencies = [{"ref": reference, "dependsOn": sorted(url for name in behind for url in references[name])} for reference, behind in tree]
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "metadata": {"component": {
            "type": "library", "bom-ref": root, "name": metadata["Name"], "version": metadata["Version"], "purl": root,
            "licenses": [{"expression": metadata["License-Expression"]}], "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": [component(name, pin) for name in names for pin in pins[name]],
        "dependencies": dependencies}


def wheel_metadata(wheel: Path):
    """The METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as contents:
        name = next(name for name in contents.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(contents.read(name).decode("utf-8"))


def package_url(name: str, version: str) -> str:
    """The purl of a package of the Python package index."""
    return f"pkg:pypi/{normal_name(name)}@{version}"


def component(name: str, pin: Pin) -> dict[str, object]:
    """A package in one version."""
    version, marker = pin
    described: dict[str, object] = {"type": "library", "bom-ref": package_url(name, version), "name": name, "version": version,
                                    "purl": package_url(name, version), "scope": "required"}
    if marker:
        described["properties"] = [{"name": "python:marker", "value": marker}]
    return described


def main(folder: Path) -> None:
    """Writes both files, and says what they are."""
    wheel = build_wheel(folder)
    bill = wheel.with_name(wheel.name + ".cdx.json")
    document = bill_of_materials(wheel, (ROOT / "requirements-dev.lock").read_text(encoding="utf-8"))
    bill.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for path in (wheel, bill):
        print(hashlib.sha256(path.read_bytes()).hexdigest(), path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").absolute())
