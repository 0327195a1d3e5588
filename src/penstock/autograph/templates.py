"""Pieces of syntax trees, written as Python text with places for other pieces."""
from __future__ import annotations

import ast
import copy
from typing import Any


def statements(text: str, at: ast.AST, **parts: Any) -> list[Any]:
    """The statements of ``text``, on the line of ``at``. A key of ``parts`` stands for an expression, or, alone on a line, for statements."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):  # the first line alone: tracebacks of a call name the last line of what is called
            ast.copy_location(node, at)
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset  # type: ignore[attr-defined]
    return _Fill(parts).visit(tree).body  # type: ignore[no-any-return]


def expression(text: str, at: ast.AST, **parts: Any) -> Any:
    """The same for one expression."""
    return statements(text, at, **parts)[0].value


class _Fill(ast.NodeTransformer):
    """Puts the parts into their places."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self._parts.get(node.value.id), list):
            return self._parts[node.value.id]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        part = self._parts.get(node.id)
        if not isinstance(part, ast.AST):
            return node
        if isinstance(node.ctx, ast.Load):
            return part
        part = copy.deepcopy(part)
        part.ctx = node.ctx  # type: ignore[attr-defined]
        return part


def constant(value: Any, at: ast.AST) -> Any:
    """A literal: numbers, strings and tuples of them."""
    return expression(repr(value), at)
