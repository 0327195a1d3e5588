"""How the modules of the package may import each other: down the layers, in no cycle, and at the head of the file. Tests stand as modules do.

What is imported for type checkers alone does not count, nor does a name in a table of ``penstock.api``.
"""
from __future__ import annotations

import ast
import functools
import graphlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import penstock

SOURCE = Path(penstock.__path__[0])

# From the bottom to the top; what stands in one line may import from the same line.
LAYERS = [
    "errors",
    "platform",     # files, flags, messages: knows nothing of graphs
    "codec",        # native code for bytes: it knows arrays and files, but no graphs
    "graph",
    "state",        # what outlives a step
    "checkpoint",   # files: the formats of checkpoints, without operations
    "ops",
    "gradients custom_gradient backward function_gradients call_gradients",
    "ragged",       # tensors with rows of many lengths, composed of operations
    "variables",    # Python objects over the operations of `ops`: the executor knows their resources, not them
    "program",
    "native",
    "execute",
    "opencl",       # the device kind GPU: regions as kernels of OpenCL C
    "distributed",
    "session",
    "autograph",        # Python control flow as operations: functions of imperative style are converted
    "imperative",       # values at once, by the same plans
    "layers",           # the one Layer: recurrent cells are layers, too
    "data train rnn summary saved_model",
    "keras contrib estimator",
    "export",           # models as native code without Python: over sessions and SavedModels
    "pages",            # the server of our pages, and what they are made of: knows nothing of what they show
    "debug testing",    # over sessions and gradients; programs, not the layers below, use them
    "api",
    "capi",             # TensorFlow's C API: sessions, graphs and functions for programs in other languages
    "datasets cli playground monitor debugger simulate",
    "__init__ __main__",
]
# (file, module above it): why.
EXCEPTIONS = {
    ("contrib/slim/learning.py", "penstock.debug.timeline"): "slim's loop writes the timelines of steps that it traces",
    ("codec/library.py", "penstock.native.config"): "machine code is made, and kept on disk, in one place: that of the compiler,",
    ("codec/library.py", "penstock.native.machine.target"): "whose lowest part knows nothing of operations",
    ("codec/library.py", "penstock.native.unsupported"): "(the same)",
    ("ops/flow/functional.py", "penstock.function_gradients"): "a loop's gradient comes from its body's: it calls differentiation itself",
    ("ops/flow/function_call.py", "penstock.call_gradients"): "and so does the gradient of a call",
}
MOST_DEFERRED = 25  # imports of our own inside functions
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
FACE = LEVEL["api"]  # `import penstock as tf`: the public face


class Import(NamedTuple):
    """A module of Penstock that is imported when the program runs; ``deferred``: inside a function."""

    line: int
    module: str
    deferred: bool


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def module_name(path: Path) -> str:
    """``penstock.graph.shape``; a package, not its ``__init__``."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module: str) -> str:
    """``graph`` for ``penstock.graph.shape``."""
    return module.removeprefix("penstock.").split(".")[0]


def imports(tree: ast.AST, deferred: bool = False) -> Iterator[Import]:
    """The imports of Penstock's own modules."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name, deferred) for alias in node.names if alias.name.split(".")[0] == "penstock")
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "penstock":
            yield from (Import(node.lineno, imported(str(node.module), alias.name), deferred) for alias in node.names)
        else:
            yield from imports(node, deferred or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


def imported(module: str, name: str) -> str:
    """The module behind ``from module import name``."""
    folder = SOURCE.joinpath(*module.split(".")[1:])
    is_module = (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()
    return f"{module}.{name}" if is_module or module == "penstock" else module


@functools.cache
def imports_of(path: Path) -> list[Import]:
    return list(imports(ast.parse(path.read_text(encoding="utf-8"))))


def level_of(module: str) -> int:
    """The height of an imported module; a public name other than a module (``from penstock import VERSION``) is as high as the API."""
    return FACE if module == "penstock" else LEVEL.get(layer(module), FACE)


# --- down the layers -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    relative = path.relative_to(SOURCE)
    own = layer(".".join(relative.with_suffix("").parts))
    assert own in LEVEL, f"{own} has no place in LAYERS"
    upward = [f"line {line}: {module}" for line, module, _ in imports_of(path)
              if level_of(module) > LEVEL[own] and (relative.as_posix(), module) not in EXCEPTIONS]
    assert not upward, f"{relative} imports from a layer above its own ({own}): {upward}"


def test_exceptions_are_needed():
    for file, module in EXCEPTIONS:
        assert module in [each.module for each in imports_of(SOURCE / file)], f"{file} does not import {module}"


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_relative_imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level], "say `from penstock.x import y`"


def test_the_rule_finds_an_upward_import():
    tree = ast.parse("import numpy\ndef f():\n    from penstock.api import root\nif TYPE_CHECKING:\n    import penstock.cli")
    assert list(imports(tree)) == [(3, "penstock.api.root", True)]
    assert level_of("penstock.api.root") > LEVEL["graph"]
    assert level_of("penstock.state.queues") < LEVEL["ops"] < level_of("penstock.session.session")


# --- in no cycle -----------------------------------------------------------------------------------------------------

def import_graph(folder: str, depth: int | None) -> dict[str, set[str]]:
    """Which unit of a folder imports which others of it. Its units: its modules, or with a ``depth`` what lies so many levels below the top."""
    edges: dict[str, set[str]] = {}
    for path in sorted((SOURCE / folder).rglob("*.py")):
        own, file = unit(module_name(path), depth), path.relative_to(SOURCE).as_posix()
        others = [each.module for each in imports_of(path) if (file, each.module) not in EXCEPTIONS]
        edges.setdefault(own, set()).update(unit(module, depth) for module in others)
    return {own: {other for other in others if other in edges and other != own} for own, others in edges.items()}


def unit(module: str, depth: int | None) -> str:
    return module if depth is None else ".".join(module.split(".")[:depth + 1])


def cycle_in(edges: dict[str, set[str]]) -> list[str]:
    """A cycle, if there is one: its last name is its first."""
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


FOLDERS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_two_parts_of_a_folder_import_each_other(folder):
    """Neither its subfolders and modules, in a cycle of any length, nor any two modules in it."""
    assert not cycle_in(import_graph(folder, 2))
    assert not cycle_in(import_graph(folder, None))


def test_the_rule_finds_a_cycle():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) in (["b", "c", "b"], ["c", "b", "c"])
    assert not cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()})


# --- at the head of the file -----------------------------------------------------------------------------------------

def deferred_imports() -> list[tuple[str, str]]:
    """(place, the line itself) of each import of our own inside a function."""
    result = []
    for path in files():
        lines = path.read_text(encoding="utf-8").splitlines()
        numbers = dict.fromkeys(each.line for each in imports_of(path) if each.deferred)
        result += [(f"{path.relative_to(SOURCE)}:{number}", lines[number - 1]) for number in numbers]
    return result


def test_few_imports_are_deferred():
    places = [place for place, _ in deferred_imports()]
    assert len(places) <= MOST_DEFERRED, f"imports inside functions: {places}"


def test_deferred_imports_carry_their_reason():
    silent = [place for place, line in deferred_imports() if "#" not in line]
    assert not silent, f"an import inside a function says why it stands there, in a comment on its line: {silent}"


# --- tests in the folders of what they test --------------------------------------------------------------------------

def test_the_tests_of_a_module_stand_where_it_does():
    """A test file that is named after a module, or a package, of its top folder is in the same folder as that."""
    tests = Path(__file__).parent
    folders: dict[tuple[str, str], set[Path]] = {}  # (top folder, name): where such modules are
    for top, *below in (module_name(path).split(".")[1:] for path in files() if path.parent != SOURCE):
        folders.setdefault((top, [top, *below][-1]), set()).add(Path(top, *below[:-1]))
    for test in (path.relative_to(tests).with_suffix("") for path in tests.rglob("test_*.py")):
        places = folders.get((test.parts[0], test.name.removeprefix("test_")), set())
        assert not places or test.parent in places, f"{test} is named after a module of {', '.join(map(str, places))}"
