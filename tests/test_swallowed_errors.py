"""An error that is swallowed says why that is right: a handler of a broad class that does nothing but go on has a comment."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock

pytestmark = pytest.mark.graph
BROAD = {"BaseException", "Exception", "OSError", "OpError", "RuntimeError"}
GOES_ON = (ast.Pass, ast.Continue, ast.Break, ast.Return)


def names(node: ast.AST | None) -> set[str]:
    """The classes that an expression names; a bare ``except`` names them all."""
    if node is None:
        return BROAD
    return {getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(node)}


def swallowed(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The first and the last line of each place that swallows an error of a broad class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and names(node.type) & BROAD and all(isinstance(each, GOES_ON) for each in node.body):
            if not (node.name and any(getattr(each, "id", "") == node.name for each in ast.walk(node))):  # else it is handed on
                yield node.lineno, node.body[-1].end_lineno or node.lineno
        elif isinstance(node, ast.With):
            for item in node.items:
                if names(item.context_expr) >= {"suppress"} and names(item.context_expr) & BROAD:
                    yield node.lineno, node.lineno


def test_swallowed_errors_have_a_reason():
    bare = []
    root = Path(penstock.__path__[0])
    for path in sorted(root.rglob("*.py")):
        source = path.read_text()
        if not any(word in source for word in ("except", "suppress")):
            continue
        lines = source.splitlines()
        bare += [f"{path.relative_to(root)}:{first}" for first, last in swallowed(ast.parse(source)) if "#" not in "".join(lines[first - 1:last])]
    assert not bare, bare


def test_the_check_sees_them():
    text = "try:\n    f()\nexcept (KeyError, OSError):\n    pass\nwith contextlib.suppress(errors.OpError):\n    f()\n"
    assert sorted(swallowed(ast.parse(text))) == [(3, 4), (5, 5)]
    assert not list(swallowed(ast.parse("try:\n    f()\nexcept OSError as error:\n    return str(error)\n")))
