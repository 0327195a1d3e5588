"""The syntax tree of a function, found in its file by the line and the names of its code object."""
from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
from types import CodeType, FunctionType
from typing import Any

from penstock.autograph.errors import ConversionError

_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def place_of(function: Any) -> str:
    """``program.py:12, in step``: where a function stands."""
    code = getattr(function, "__code__", None)
    return repr(function) if code is None else f"{code.co_filename}:{code.co_firstlineno}, in {code.co_name}"


def definition_of(function: FunctionType) -> ast.FunctionDef:
    """A copy of the ``def`` of a function, with the line numbers of its file; a lambda as a ``def`` that returns its expression.

    ConversionError if there is no source or if the function cannot be converted.
    """
    code = function.__code__
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ConversionError(f"{place_of(function)}: generators and coroutines cannot be converted to graph control flow. "
                              "Move what is to be converted into a function without yield and await.")
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise ConversionError(f"{place_of(function)}: there is no source code to convert (the function was made by exec, or typed in at a prompt). "
                              "Put the function into a file, or mark it with tf.autograph.experimental.do_not_convert.")
    try:
        candidates = _by_line("".join(lines)).get(code.co_firstlineno, [])
    except SyntaxError as error:
        raise ConversionError(f"{place_of(function)}: its file cannot be read: {error}") from None
    matching = [node for node in candidates if _matches(node, code)]
    if len(matching) > 1:
        matching = _at_column(matching, code)
    if len(matching) != 1:
        why = "several functions with these arguments begin on this line. Write each of them on a line of its own." if matching else \
            "no such function stands on this line: has the file been changed since it was loaded?"
        raise ConversionError(f"{place_of(function)}: {why}")
    return _as_def(copy.deepcopy(matching[0]))


@functools.lru_cache(maxsize=64)
def _by_line(text: str) -> dict[int, list[Any]]:
    """The functions of a file, by the line that their code objects begin on: that of the first decorator."""
    by_line: dict[int, list[Any]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _FUNCTIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            by_line.setdefault(first, []).append(node)
    return by_line


def _matches(node: Any, code: CodeType) -> bool:
    args = node.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg is not None]
    own = tuple(code.co_varnames[:len(names)])
    mangled = len(own) == len(names) and all(mine == name or mine.endswith(name) for mine, name in zip(own, names))
    return getattr(node, "name", "<lambda>") == code.co_name and mangled


def _at_column(nodes: list[Any], code: CodeType) -> list[Any]:
    """Those of several lambdas of a line whose expression stands where the code says; Python 3.10 does not say it."""
    if not hasattr(code, "co_positions"):
        return [node for node in nodes if _same_code(node, code)] or nodes
    columns = [position[2] for position in code.co_positions() if position[2]]
    return [node for node in nodes if columns and node.body.col_offset <= min(columns) and max(columns) < node.body.end_col_offset]


def _same_code(node: Any, code: CodeType) -> bool:
    compiled = compile(ast.Expression(copy.deepcopy(node)), code.co_filename, "eval").co_consts[0]
    return (compiled.co_names, compiled.co_consts) == (code.co_names, code.co_consts)


def _as_def(node: Any) -> ast.FunctionDef:
    if isinstance(node, ast.FunctionDef):
        return node
    result = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.parse("def lambda_(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [result]
    return ast.copy_location(made, node)
