"""``make docs``: writes the sources of the documentation site to ``build/docs``: the pages of ``docs/``, and the API reference.

The reference has a page per namespace, made of the tables of ``penstock.api``: each name with its signature and the first sentence of its docstring,
and marks for what is there, there in part (``penstock.api.partial``), or missing. What TensorFlow 1.15 has is told by the recorded signatures that
the tests compare with (``tests/api/data/signatures.txt.gz``).
"""
from __future__ import annotations

import gzip
import importlib
import inspect
import json
import pkgutil
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import penstock.api
from penstock.api._table import public_name
from penstock.api.partial import PARTIAL

ROOT = Path(__file__).resolve().parent.parent
SOURCES, TARGET = ROOT / "docs", ROOT / "build" / "docs"
REPOSITORY_FILES = re.compile(r"\]\(\.\./([\w/.-]+)\)")    # links out of docs/ have nowhere to go on the site
MARKS = {"exists": "●", "partial": "◐", "missing": "○"}


def main() -> int:
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for path in sorted(SOURCES.iterdir()):
        if path.suffix == ".md":
            (TARGET / path.name).write_text(REPOSITORY_FILES.sub(r"](index.md)", path.read_text(encoding="utf-8")), encoding="utf-8")
        elif path.suffix in (".png", ".svg"):
            shutil.copy(path, TARGET)
    counts = write_reference(TARGET / "reference")
    print(f"{counts['exists']} names in the reference, {counts['partial']} in part; {counts['missing']} of TensorFlow 1.15 are missing")
    return 0


def write_reference(folder: Path) -> dict[str, int]:
    """A page per namespace, and an index with their coverage. Returns how many names have each mark."""
    folder.mkdir()
    theirs = _recorded()
    pages = {public_name(name).replace("tensorflow", "tf", 1): module for name, module in _namespaces().items()}
    total: dict[str, int] = defaultdict(int)
    index = ["# API reference", "",
             f"{MARKS['exists']} there, {MARKS['partial']} there in part, {MARKS['missing']} missing: of TensorFlow 1.15's functions and classes.",
             "", "| namespace | there | in part | missing |", "|---|---|---|---|"]
    for name, module in sorted(pages.items()):
        text, counts = _page(name, module, theirs.get(name, set()))
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        index.append(f"| [{name}]({name}.md) | {counts['exists']} | {counts['partial']} | {counts['missing'] or ''} |")
        for mark, count in counts.items():
            total[mark] += count
    index += ["", f"In all {total['exists'] + total['partial']} names, {total['partial']} of them in part; {total['missing']} missing."]
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return total


def _namespaces() -> dict[str, Any]:
    names = ["penstock.api.root", *(info.name for info in pkgutil.walk_packages(penstock.api.__path__, "penstock.api."))]
    modules = {name: importlib.import_module(name) for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "ORIGINS")}


def _recorded() -> dict[str, set[str]]:
    """{namespace: the functions and classes that TensorFlow has there}; methods of classes are left out."""
    found: dict[str, set[str]] = defaultdict(set)
    with gzip.open(ROOT / "tests" / "api" / "data" / "signatures.txt.gz", "rt") as lines:
        for line in lines:
            space, _, name = json.loads(line)[0].rpartition(".")
            found[space].add(name)
    return found


def _page(name: str, module: Any, theirs: set[str]) -> tuple[str, dict[str, int]]:
    lines = [f"# {name}", "", _first_sentence(module), ""]
    counts = dict.fromkeys(MARKS, 0)
    below = sorted(public for public, origin in module.ORIGINS.items() if origin.endswith(":"))
    if below:
        lines += ["Namespaces: " + ", ".join(f"`{name}.{each}`" for each in below), ""]
    lines += ["| | name | |", "|---|---|---|"]
    missing = {each for each in theirs | set(module.MISSING) if each not in module.ORIGINS}
    for public in sorted({each for each in module.ORIGINS if each not in below} | missing, key=str.lower):
        full = f"{name}.{public}"
        note = next((PARTIAL[prefix] for prefix in _prefixes(full) if prefix in PARTIAL), "")
        mark = "missing" if public in missing else "partial" if note else "exists"
        counts[mark] += 1
        said = "" if mark == "missing" else _described(getattr(module, public))
        signature = "" if mark == "missing" else _signature(getattr(module, public))
        lines.append(f"| {MARKS[mark]} | `{public}{signature}` | {_cell(said)}{f' *In part: {_cell(note)}.*' if note else ''} |")
    return "\n".join(lines) + "\n", counts


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 1, -1)]


def _first_sentence(value: Any) -> str:
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return re.sub(r"^``tf\.[\w.]+``(?:\([^)]*\))?: ", "", text)


def _described(value: Any) -> str:
    plain = isinstance(value, (bool, int, float, str, bytes, tuple, list, dict, frozenset))
    return f"`{value!r}`" if plain and len(repr(value)) < 80 else "" if plain else _first_sentence(value)


def _signature(value: Any) -> str:
    if not callable(value) or (isinstance(value, type) and issubclass(value, BaseException)):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # a protocol buffer, a builtin
        return ""
    shown = [f"{'*' * (each.kind is each.VAR_POSITIONAL) or '**' * (each.kind is each.VAR_KEYWORD)}{each.name}"
             f"{'' if each.default is each.empty else '=' + _short(each.default)}" for each in parameters]
    return f"({', '.join(shown)})"


def _short(default: Any) -> str:
    text = repr(default) if default is None or isinstance(default, (bool, int, float, str, tuple, list)) else str(getattr(default, "name", "..."))
    return text if len(text) <= 30 else "..."


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
