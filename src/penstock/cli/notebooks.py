"""Notebooks as programs: ``penstock run book.ipynb`` runs the code cells in their order, as "Run all" does in Jupyter.

Each cell has a file name of its own (``book.ipynb, cell 3``), so that tracebacks and "made at" name the cell, and the value of its last expression is
printed. Lines that are not Python (``%matplotlib inline``, ``!ls``, ``%%bash``) become calls of ``get_ipython()``, which is what Jupyter's own
export to a script makes of them; ``notebook_commands.py`` carries out those that a program may depend on.
"""
from __future__ import annotations

import ast
import io
import json
import linecache
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

_COMMAND = re.compile(r"(?P<indent>\s*)(?P<target>[\w.,\[\]'\" ]+=\s*)?(?P<kind>%|!!?)(?P<text>.*)")
_HELP = re.compile(r"(?P<indent>\s*)(\?{1,2}[\w.*]+|%{0,2}[\w.*]+\?{1,2})\s*")
_CELL_COMMAND = re.compile(r"\s*%%(?P<name>\w+)(?P<line>[^\n]*)\n?(?P<rest>.*)", re.DOTALL)


class NotANotebook(ValueError):
    """The file has the name of a notebook, and something else in it."""


def is_notebook(path: str | Path) -> bool:
    """Whether the name is that of a notebook."""
    return str(path).endswith(".ipynb")


def cells(text: str | bytes) -> list[str]:
    """The code cells of a notebook, as they are written there."""
    try:
        book = json.loads(text)
    except ValueError as error:
        raise NotANotebook(f"not a notebook: {error}") from None
    found = book.get("cells") if isinstance(book, dict) else None
    if found is None:    # before format 4
        sheets = book.get("worksheets", []) if isinstance(book, dict) else []
        found = [cell for sheet in sheets for cell in sheet.get("cells", [])]
    if not all(isinstance(cell, dict) for cell in found) or not found:
        raise NotANotebook("not a notebook: it has no cells")
    return ["".join(cell.get("source", cell.get("input", ""))) for cell in found if cell.get("cell_type") == "code"]


def as_python(cell: str) -> str:
    """The cell as Python, line by line: commands of the notebook are calls of ``get_ipython()``."""
    whole = _CELL_COMMAND.fullmatch(cell)
    if whole:
        lines = whole["rest"].count("\n") + 1
        call = f"get_ipython().run_cell_magic({whole['name']!r}, {whole['line'].strip()!r}, {whole['rest']!r})"
        return call + "\n" * lines
    if _parses(cell):
        return cell
    lines = []
    for line in cell.split("\n"):
        is_command = _COMMAND.fullmatch(line) or _HELP.fullmatch(line)
        lines.append(_as_call(line) if is_command and _statement_begins(lines) else line)
    return "\n".join(lines)


def programs(path: Path) -> Iterator[CodeType]:
    """The code of one cell after the other, each compiled when the one before has run."""
    book = cells(path.read_bytes())
    return (code for number, cell in enumerate(book, 1) for code in compiled(cell, f"{path}, cell {number}"))


def compiled(cell: str, file: str) -> Iterator[CodeType]:
    """The code of a cell, whose last expression is shown, unless a semicolon ends it; tracebacks call it ``file``."""
    source = as_python(cell)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    body = ast.parse(source, file).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    if body:
        yield compile(ast.Module(body, []), file, "exec", dont_inherit=True)
    if last is not None:
        yield compile(ast.Interactive([last]), file, "single", dont_inherit=True)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _statement_begins(lines: list[str]) -> bool:
    """Whether what follows these lines begins a statement: no bracket, string or continued line is open."""
    if lines and lines[-1].endswith("\\"):
        return False
    try:
        list(tokenize.generate_tokens(io.StringIO("\n".join([*lines, ""])).readline))
    except tokenize.TokenError:    # the end comes inside of something
        return False
    except SyntaxError:    # indentation that does not fit: the compiler says so
        return True
    return True


def _as_call(line: str) -> str:
    asked = _HELP.fullmatch(line)
    if asked:
        return f"{asked['indent']}pass"
    command = _COMMAND.fullmatch(line)
    assert command is not None
    head, text = f"{command['indent']}{command['target'] or ''}get_ipython()", command["text"]
    if command["kind"] != "%":
        return f"{head}.{'getoutput' if command['target'] or command['kind'] == '!!' else 'system'}({text.strip()!r})"
    name, _, rest = text.lstrip("%").partition(" ")
    return f"{head}.run_line_magic({name!r}, {rest.strip()!r})"
