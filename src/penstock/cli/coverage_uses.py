"""Which names of TensorFlow a program uses, and where: found in its syntax tree, without running it.

Names are followed through imports (``import tensorflow.contrib.slim as slim``, ``from tensorflow.python.ops import array_ops``) and plain
assignments (``layers = tf.layers``). A file that Python 3 cannot parse is read as text: attributes of names that it imports TensorFlow as.
"""
from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from penstock.cli import notebooks, python2

ROOTS = ("tensorflow", "tensorflow_core", "penstock")
SKIPPED = {".git", ".hg", ".svn", ".tox", ".eggs", "__pycache__", "node_modules", "site-packages"}


@dataclass(frozen=True)
class Use:
    """One place where a name stands: ``tf.nn.relu``, with the keywords that it is called with there."""
    name: str
    line: int
    keywords: tuple[str, ...] = ()


@dataclass
class ProgramUses:
    """A file and what it uses."""
    path: Path
    uses: list[Use] = field(default_factory=list)
    problem: str | None = None    # why the file could not be parsed, if so
    own: frozenset[str] = frozenset()    # names that the program gives TensorFlow itself: tf.GraphKeys.MINE = "mine"


def find_sources(paths: list[Path]) -> list[Path]:
    """The Python files and notebooks among ``paths`` and in folders below them, without environments and hidden folders."""
    sources: dict[Path, None] = {}
    for path in paths:
        if path.is_file():
            sources[path] = None
        elif path.is_dir():
            sources.update(dict.fromkeys(_inside(path)))
        else:
            raise FileNotFoundError(f"{path} is neither a file nor a folder")
    return list(sources)


def _inside(folder: Path) -> list[Path]:
    files: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in SKIPPED and not entry.name.startswith(".") and not (entry / "pyvenv.cfg").exists():
                files += _inside(entry)
        elif entry.suffix in (".py", ".ipynb") and entry.is_file():
            files.append(entry)
    return files


def read_source(path: Path) -> ProgramUses:
    """What the file uses."""
    try:
        text = _code_of(path)
    except (OSError, ValueError, SyntaxError, LookupError) as error:  # unreadable, not JSON, an unknown encoding
        return ProgramUses(path, problem=f"cannot be read: {error}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's own, such as "\d" in a string
            tree = ast.parse(text, str(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        return ProgramUses(path, _uses_in_text(text), _why_not_parsed(error))
    finder = _Finder()
    finder.visit(tree)
    return ProgramUses(path, finder.uses, own=frozenset(finder.own))


def _code_of(path: Path) -> str:
    data = path.read_bytes()
    if not notebooks.is_notebook(path):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    return "\n".join(map(notebooks.as_python, notebooks.cells(data)))


def _why_not_parsed(error: Exception) -> str:
    if not isinstance(error, SyntaxError):
        return f"cannot be parsed: {error}"
    sign = python2.sign(error)
    return f"line {error.lineno} is Python 2 ({sign})" if sign else f"line {error.lineno}: {error.msg}"


def _module_name(name: str) -> str | None:
    """``tf.nn`` for ``tensorflow.nn``; None for other packages."""
    root, _, rest = name.partition(".")
    if root not in ROOTS:
        return None
    rest = re.sub(r"^(_api\.v1|compat\.v1)(\.|$)", "", rest)
    return f"tf.{rest}" if rest else "tf"


_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _local_names(function: _Function) -> set[str]:
    """The names that are the function's own: parameters, and what its body binds, as Python sees it. Functions inside of it have their own."""
    arguments = function.args
    names = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if each}
    elsewhere: set[str] = set()
    nodes: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        if not isinstance(node, (_Function, ast.ClassDef, _Comprehension)):
            nodes += ast.iter_child_nodes(node)
    return names - elsewhere


class _Finder(ast.NodeVisitor):
    """Collects uses. ``names`` says what a name of the program stands for where the visitor is."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.uses: list[Use] = []
        self.own: set[str] = set()
        self._keywords: dict[int, tuple[str, ...]] = {}    # of the call whose function the node is, by the node's id

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = _module_name(alias.name)
            if module is None:
                continue
            if alias.asname:
                self.names[alias.asname] = module
            else:
                self.names[alias.name.partition(".")[0]] = "tf"
            self.uses.append(Use(module, node.lineno))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = _module_name(node.module or "") if not node.level else None
        if module is None:
            return
        for alias in node.names:
            name = module if alias.name == "*" else f"{module}.{alias.name}"
            name = "tf" if name == "tf.compat.v1" else name
            if alias.name != "*":
                self.names[alias.asname or alias.name] = name
            self.uses.append(Use(name, node.lineno))

    def _visit_function(self, node: _Function) -> None:
        """The decorators and defaults stand outside, the body has names of its own; what it imports or assigns ends with it."""
        outside = [*getattr(node, "decorator_list", ()), *filter(None, (*node.args.defaults, *node.args.kw_defaults))]
        for part in outside:
            self.visit(part)
        before, local = self.names, _local_names(node)
        self.names = {name: meaning for name, meaning in before.items() if name not in local}
        for part in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self.visit(part)
        self.names = before

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def _visit_comprehension(self, node: _Comprehension) -> None:
        before = self.names
        self.visit(node.generators[0].iter)  # the first one is looked up outside
        bound = {each.id for generator in node.generators for each in ast.walk(generator.target) if isinstance(each, ast.Name)}
        self.names = {name: meaning for name, meaning in before.items() if name not in bound}
        for index, generator in enumerate(node.generators):
            for part in [*([generator.iter] if index else []), *generator.ifs]:
                self.visit(part)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self.names = before

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        name = self._meaning(node.value)
        if name is not None:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.names[target.id] = name

    def visit_Call(self, node: ast.Call) -> None:
        self._keywords[id(node.func)] = tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._meaning(node)
        if name is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Store):
            self.own.add(name)
        else:
            self.uses.append(Use(name, node.lineno, self._keywords.get(id(node), ())))

    def visit_Name(self, node: ast.Name) -> None:
        keywords = self._keywords.get(id(node))
        if keywords and node.id in self.names:  # a function that was imported by name: its arguments are known here only
            self.uses.append(Use(self.names[node.id], node.lineno, keywords))

    def _meaning(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            value = self._meaning(node.value)
            return None if value is None else re.sub(r"^tf\.compat\.v1(?=\.|$)", "tf", f"{value}.{node.attr}")
        return None


_IMPORT = re.compile(r"^\s*import\s+(?P<module>tensorflow[\w.]*)(?:\s+as\s+(?P<name>\w+))?|"
                     r"^\s*from\s+(?P<package>tensorflow[\w.]*)\s+import\s+(?P<member>\w+)(?:\s+as\s+(?P<alias>\w+))?")


def _uses_in_text(text: str) -> list[Use]:
    """Uses in a file that cannot be parsed, line by line; comments are cut off, strings are not known as such."""
    names: dict[str, str] = {}
    uses: list[Use] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0]
        match = _IMPORT.match(line)
        if match:
            module = _module_name(match["module"] or f"{match['package']}.{match['member']}") or "tf"
            names[match["name"] or match["alias"] or match["member"] or "tensorflow"] = module if match["name"] or match["member"] else "tf"
            uses.append(Use(module, number))
            continue
        for head, rest in re.findall(r"(?<![\w.])(\w+)((?:\.[A-Za-z_]\w*)+)", line):
            if head in names:
                uses.append(Use(names[head] + rest, number))
    return uses
