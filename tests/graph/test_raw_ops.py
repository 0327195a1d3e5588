"""The names that the package takes from ``graph/raw_ops.py``."""
from __future__ import annotations

import ast
from pathlib import Path

import pytest

import penstock
from penstock.graph import raw_ops
from penstock.graph.opdef import REGISTRY
from penstock.ops.math.reduce import Sum

SOURCE = Path(penstock.__path__[0])


def names_taken(text: str) -> set[str]:
    """The op types that a module names as ``raw_ops.<type>``."""
    return {node.attr for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "raw_ops"}


def test_each_name_is_an_op():
    taken = {name for path in SOURCE.rglob("*.py") for name in names_taken(path.read_text(encoding="utf-8"))}
    assert len(taken) > 20
    assert not taken - set(REGISTRY)


def test_an_op_by_its_type():
    assert raw_ops.Sum is Sum


def test_an_unknown_type():
    with pytest.raises(AttributeError, match="no op of type 'NoSuchOp'"):
        raw_ops.NoSuchOp  # noqa: B018
