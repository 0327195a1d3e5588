"""Imports point down the layers only, also inside functions. What is imported for type checkers alone does not count."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock

SOURCE = Path(penstock.__path__[0])

# From the bottom to the top; what stands in one line may import from the same line.
LAYERS = [
    "errors",
    "platform",     # files, flags, messages: knows nothing of graphs
    "graph",
    "state",        # what outlives a step
    "checkpoint",   # files: the formats of checkpoints, without operations
    "ops",
    "gradients custom_gradient function_gradients",
    "variables",    # Python objects over the operations of `ops`: the executor knows their resources, not them
    "program",
    "native",
    "execute",
    "distributed session",
    "layers",           # the one Layer: recurrent cells are layers, too
    "data train rnn summary saved_model",
    "keras contrib estimator",
    "debug testing",    # over sessions and gradients; programs, not the layers below, use them
    "api",
    "datasets cli playground",
    "__init__ __main__",
]
# (file, module above it): why.
EXCEPTIONS = {
    ("ops/flow/functional.py", "penstock.function_gradients"): "a loop's gradient comes from its body's: it calls differentiation itself",
}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
FACE = LEVEL["api"]  # `import penstock as tf`: the public face


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def layer(module: str) -> str:
    """``graph`` for ``penstock.graph.shape``."""
    inside = module.removeprefix("penstock.")
    return inside.split(".")[0]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, module of Penstock) of each import that happens when the program runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "penstock")
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "penstock":
            yield from ((node.lineno, imported(str(node.module), alias.name)) for alias in node.names)
        else:
            yield from imports(node)


def imported(module: str, name: str) -> str:
    """The module behind ``from module import name``."""
    folder = SOURCE.joinpath(*module.split(".")[1:])
    is_module = (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()
    return f"{module}.{name}" if is_module or module == "penstock" else module


def level_of(module: str) -> int:
    """The height of an imported module; a public name that is no module (``from penstock import VERSION``) is as high as the API."""
    return FACE if module == "penstock" else LEVEL.get(layer(module), FACE)


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    relative = path.relative_to(SOURCE)
    own = layer(".".join(relative.with_suffix("").parts))
    assert own in LEVEL, f"{own} has no place in LAYERS"
    upward = [f"line {line}: {module}" for line, module in imports(ast.parse(path.read_text(encoding="utf-8")))
              if level_of(module) > LEVEL[own] and (relative.as_posix(), module) not in EXCEPTIONS]
    assert not upward, f"{relative} imports from a layer above its own ({own}): {upward}"


def test_exceptions_are_needed():
    for file, module in EXCEPTIONS:
        assert module in [found for _, found in imports(ast.parse((SOURCE / file).read_text(encoding="utf-8")))], f"{file} does not import {module}"


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_relative_imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level], "say `from penstock.x import y`"


def test_the_rule_finds_an_upward_import():
    tree = ast.parse("import numpy\ndef f():\n    from penstock.api import root\nif TYPE_CHECKING:\n    import penstock.cli")
    assert list(imports(tree)) == [(3, "penstock.api.root")]
    assert level_of("penstock.api.root") > LEVEL["graph"]
    assert level_of("penstock.state.queues") < LEVEL["ops"] < level_of("penstock.session.session")
