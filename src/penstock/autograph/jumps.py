"""break, continue and return as assignments and ifs, so that every block of a function ends where it ends.

    for x in xs:                        stop = False
        if x > limit:                   for x in xs:            # until stop
            break           becomes         if x > limit:
        total += x                              stop = True
    return total                            else:
                                                total += x
                                        return total

What follows an ``if`` that always jumps in one branch belongs to the other branch; what follows any other jump is guarded by its flag. A ``return``
inside a loop or a branch sets a variable, which is returned at the end of the function.
"""
from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.autograph.templates import statements

RESULT, RETURNED = "ag__result", "ag__returned"
_JUMPS = (ast.Return, ast.Break, ast.Continue)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.While, ast.For)


class _Loop(NamedTuple):
    """The flags of a loop."""

    stop: str
    skip: str


def lower_jumps(function: ast.FunctionDef) -> None:
    """Takes the jumps out of a function. A ``for`` loop that may stop early has the flags that say so in ``ag_stops``."""
    body = function.body
    returns = any(isinstance(node, ast.Return) for statement in body if not isinstance(statement, ast.Return) for node in _within(statement))
    lowering = _Lowering(returns)
    function.body = lowering.block(body, None)[0]
    if returns:
        function.body = [*statements(f"{RETURNED} = False\n{RESULT} = ag__.NO_RETURN", body[0]), *function.body,
                         *statements(f"return ag__.result({RESULT})", body[-1])]


def _within(statement: ast.AST) -> Iterator[ast.AST]:
    """A statement and what stands inside it, but for functions and classes of its own."""
    yield statement
    if not isinstance(statement, _SCOPES):
        for child in ast.iter_child_nodes(statement):
            yield from _within(child)


def _leaves(statement: ast.stmt) -> bool:
    """True if a statement may jump out of the block that it stands in."""
    if isinstance(statement, _LOOPS):
        return any(isinstance(node, ast.Return) for node in _within(statement)) or any(_leaves(child) for child in statement.orelse)
    if isinstance(statement, _JUMPS):
        return True
    return not isinstance(statement, _SCOPES) and any(_leaves(child) for child in _children(statement))


def _children(node: ast.AST) -> Iterator[Any]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, getattr(ast, "match_case", ast.ExceptHandler))):
            yield from _children(child)


def _always_jumps(block: list[ast.stmt]) -> bool:
    """True if what follows the block is never reached from it."""
    return any(isinstance(each, (*_JUMPS, ast.Raise)) or (isinstance(each, ast.If) and _always_jumps(each.body) and _always_jumps(each.orelse))
               or (isinstance(each, ast.With) and _always_jumps(each.body)) for each in block)


class _Lowering:
    """Rewrites blocks; ``returns``: also the ``return``s of the function."""

    def __init__(self, returns: bool) -> None:
        self._returns, self._numbers = returns, itertools.count()

    def block(self, block: list[Any], loop: _Loop | None) -> tuple[list[Any], set[str]]:
        """The block without jumps, and the flags that are set where it jumped."""
        done: list[Any] = []
        for index, statement in enumerate(block):
            rest = block[index + 1:]
            if isinstance(statement, ast.If) and _leaves(statement) and rest:
                rest = self._move(statement, rest)
            lowered, flags = self._statement(statement, loop)
            done += lowered
            if flags:
                following, more = self.block(rest, loop)
                if isinstance(statement, _JUMPS) or not following:
                    return done, flags | (set() if isinstance(statement, _JUMPS) else more)
                return [*done, *statements(f"if not ({_any_of(flags)}):\n    BODY", following[0], BODY=following)], flags | more
            if len(rest) < len(block) - index - 1:  # moved
                break
        return done, set()

    def _move(self, branches: ast.If, rest: list[Any]) -> list[Any]:
        """Moves what follows an ``if`` into the branch that gets there, if only one does."""
        then, otherwise = _always_jumps(branches.body), _always_jumps(branches.orelse)
        if then and not otherwise:
            branches.orelse = branches.orelse + rest
        elif otherwise and not then:
            branches.body = branches.body + rest
        return [] if then or otherwise else rest

    def _statement(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        if isinstance(node, ast.Return):
            if not self._returns:
                return [node], set()
            value = node.value or ast.copy_location(ast.Constant(None), node)
            return statements(f"{RESULT} = VALUE\n{RETURNED} = True", node, VALUE=value), {RETURNED}
        if isinstance(node, (ast.Break, ast.Continue)):
            assert loop is not None
            flag = loop.stop if isinstance(node, ast.Break) else loop.skip
            return statements(f"{flag} = True", node), {flag}
        if isinstance(node, _LOOPS):
            return self._loop(node, loop)
        if isinstance(node, _SCOPES):
            return [node], set()
        return [node], self._parts(node, loop)

    def _parts(self, node: Any, loop: _Loop | None) -> set[str]:
        """Lowers the blocks of a statement in place."""
        flags: set[str] = set()
        for field in ("body", "handlers", "cases", "orelse", "finalbody"):
            part = getattr(node, field, None)
            if not isinstance(part, list) or not part:
                continue
            if field in ("handlers", "cases"):
                for child in part:
                    flags |= self._parts(child, loop)
                continue
            block, more = self.block(part, loop)
            if field == "orelse" and isinstance(node, ast.Try) and flags:  # it follows the block only if that came to its end
                block = statements(f"if not ({_any_of(flags)}):\n    BODY", block[0], BODY=block)
            setattr(node, field, block)
            flags |= more
        return flags

    def _loop(self, node: Any, outer: _Loop | None) -> tuple[list[Any], set[str]]:
        number = next(self._numbers)
        loop = _Loop(f"ag__stop_{number}", f"ag__skip_{number}")
        body, flags = self.block(node.body, loop)
        before = []
        if loop.skip in flags:
            body = [*statements(f"{loop.skip} = False", node), *body]
        if loop.stop in flags:
            before = statements(f"{loop.stop} = False", node)
        stops = flags - {loop.skip}
        if stops and isinstance(node, ast.While):
            node.test = statements(f"not ({_any_of(stops)}) and TEST", node.test, TEST=node.test)[0].value
        elif stops:
            node.ag_stops = _any_of(stops)
        after, more = self.block(node.orelse, outer)
        if after and stops:
            after = statements(f"if not ({_any_of(stops)}):\n    BODY", after[0], BODY=after)
        node.body, node.orelse = body, []
        return [*before, node, *after], (flags & {RETURNED}) | more


def _any_of(flags: set[str]) -> str:
    return " or ".join(sorted(flags))
