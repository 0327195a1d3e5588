"""Which variables a statement reads and writes, and which of them matter after it.

A variable is *live* at a place if some way from there reads it before it is written. Only live variables are results of a branch or variables of a
loop: what a block uses for itself need not exist in the other branch, nor before the loop.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

Live = frozenset[str]
_NONE: Live = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class NamesUsed(ast.NodeVisitor):
    """The names that some statements or expressions read and write in their own scope, the attributes that they set, and what they declare."""

    def __init__(self, *nodes: Any) -> None:
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.attributes: dict[str, ast.Attribute] = {}  # by their text: "self.x"
        self.declared: dict[str, str] = {}  # "global" or "nonlocal", by name
        self.closures: dict[str, set[str]] = {}  # what functions that are defined here read from around them
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        (self.reads if isinstance(node.ctx, ast.Load) else self.writes).add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.reads.add(node.target.id)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store) and _is_dotted(node):
            self.attributes[ast.unparse(node)] = node
        self.generic_visit(node)

    def _visit_declaration(self, node: Any) -> None:
        self.declared.update((name, type(node).__name__.lower()) for name in node.names)

    visit_Global = visit_Nonlocal = _visit_declaration

    def visit_alias(self, node: ast.alias) -> None:
        self.writes.add((node.asname or node.name).split(".")[0])

    def _visit_named(self, node: Any) -> None:  # handlers, patterns
        if node.name:
            self.writes.add(node.name)
        self.generic_visit(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _visit_named

    def visit_MatchMapping(self, node: Any) -> None:
        if node.rest:
            self.writes.add(node.rest)
        self.generic_visit(node)

    def _visit_function(self, node: Any) -> None:
        inner = free_names(node)
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        if hasattr(node, "name"):
            self.writes.add(node.name)
            self.closures[node.name] = inner
        self.reads |= inner

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        inner = NamesUsed(*node.body, *node.bases, *node.keywords, *node.decorator_list)
        self.reads |= inner.reads
        self.writes.add(node.name)

    def _visit_comprehension(self, node: Any) -> None:
        inner = NamesUsed(*ast.iter_child_nodes(node))
        own = NamesUsed(*[generator.target for generator in node.generators]).writes
        walrus = {child.target.id for child in ast.walk(node) if isinstance(child, ast.NamedExpr)}  # binds around the comprehension
        self.reads |= inner.reads - own
        self.writes |= walrus

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension


def free_names(node: Any) -> set[str]:
    """What a function reads from around it."""
    body = node.body if isinstance(node.body, list) else [node.body]
    names, args = NamesUsed(*body), node.args
    parameters = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg is not None}
    outside = names.writes & set(names.declared)
    return (names.reads | outside) - parameters - (names.writes - outside)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def mark_live(body: list[Any]) -> None:
    """Gives each if and loop of a function's body ``ag_live``: the names that are live after it, for a loop also at its head."""
    closures = NamesUsed(*body).closures
    _Marking(closures).block(body, _NONE)


class _Marking:
    """Goes backwards through blocks. Methods take what is live after a statement, and return what is live before it."""

    def __init__(self, closures: dict[str, set[str]]) -> None:
        self._closures = closures

    def block(self, block: Iterable[Any], after: Live) -> Live:
        for statement in reversed(list(block)):
            method = getattr(self, f"_{type(statement).__name__.lower()}", self._plain)
            after = method(statement, after)
        return after

    def _reads(self, *nodes: Any) -> Live:
        reads = NamesUsed(*nodes).reads
        return frozenset(reads.union(*[self._closures[name] for name in reads if name in self._closures]))

    def _plain(self, node: ast.AST, after: Live) -> Live:
        return (after - NamesUsed(node).writes) | self._reads(node)

    def _if(self, node: Any, after: Live) -> Live:
        node.ag_live = after
        return self._reads(node.test) | self.block(node.body, after) | self.block(node.orelse, after)

    def _while(self, node: Any, after: Live) -> Live:
        head = after | self._reads(node.test)
        node.ag_live = head = self._settle(node.body, head)
        return head

    def _for(self, node: Any, after: Live) -> Live:
        stops = frozenset(getattr(node, "ag_stops", "").split(" or ")) - {""}
        targets = NamesUsed(node.target).writes
        node.ag_live = head = self._settle(node.body, after | stops, targets)
        return self._reads(node.iter) | head

    def _settle(self, body: list[Any], head: Live, targets: Iterable[str] = ()) -> Live:
        """What is live at the head of a loop: also what its next turn reads."""
        while True:
            grown = head | (self.block(body, head) - set(targets))
            if grown == head:
                return head
            head = grown

    def _with(self, node: Any, after: Live) -> Live:
        inside = self.block(node.body, after)
        items = NamesUsed(*[item.optional_vars for item in node.items if item.optional_vars is not None])
        return (inside - items.writes) | self._reads(*node.items)

    def _try(self, node: Any, after: Live) -> Live:
        final = self.block(node.finalbody, after)
        handlers = frozenset().union(*[self.block(handler.body, final) | self._reads(*filter(None, [handler.type])) for handler in node.handlers])
        following = self.block(node.orelse, final)
        anywhere = handlers | final | following | after  # a handler may begin after any statement of the block
        return self.block(node.body, anywhere) | anywhere

    _trystar = _try

    def _match(self, node: Any, after: Live) -> Live:
        inside = frozenset().union(*[self.block(case.body, after) for case in node.cases])
        return after | inside | self._reads(node.subject, *[case.pattern for case in node.cases], *[case.guard for case in node.cases if case.guard])

    def _raise(self, node: Any, after: Live) -> Live:
        return self._reads(node)
