"""From a function to its converted form: compiled once per code object and options, and bound to the function's own globals and cells."""
from __future__ import annotations
import __future__

import ast
import functools
import sys
import unittest
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any

from penstock.autograph import branches, lists, loops
from penstock.autograph.builtin_functions import OVERLOADS
from penstock.autograph.definitions import definition_of, place_of
from penstock.autograph.errors import NO_RETURN, ConversionError
from penstock.autograph.features import ConversionOptions, Feature
from penstock.autograph.rewrite import rewrite
from penstock.autograph.templates import constant, statements
from penstock.graph.effects import after_effects
from penstock.graph.graph import default_graph
from penstock.graph.scopes import name_scope
from penstock.platform import logging

STANDARD = ConversionOptions(recursive=True, optional_features=None)
_FUTURE = functools.reduce(lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0)
_LIBRARIES = sys.stdlib_module_names | {"penstock", "tensorflow", "numpy", "tensorflow_probability"}  # whose functions are called as they are
_DONE = "_autograph_done"  # the attribute of functions that are not converted (again)
_codes: weakref.WeakKeyDictionary[CodeType, dict[ConversionOptions, CodeType | None]] = weakref.WeakKeyDictionary()  # None: it cannot be converted


class Operators:
    """What converted code calls ``ag__``."""

    NO_RETURN = NO_RETURN
    if_, if_exp, and_, or_, not_ = map(staticmethod, (branches.if_, branches.if_exp, branches.and_, branches.or_, branches.not_))
    eq, not_eq, assert_, result = map(staticmethod, (branches.eq, branches.not_eq, branches.assert_, branches.result))
    while_, for_ = staticmethod(loops.while_), staticmethod(loops.for_)
    new_list, list_append, list_pop = map(staticmethod, (lists.new_list, lists.list_append, lists.list_pop))

    def __init__(self, options: ConversionOptions) -> None:
        self._options = options.call_options()

    def call(self, function: Any) -> Any:
        """What is called where the program calls ``function``."""
        if isinstance(function, (BuiltinFunctionType, type)):
            return OVERLOADS.get(function, function)
        return converted_form(function, self._options) if self._options.internal_convert_user_code else function

    @staticmethod
    def converted(function: Any) -> Any:
        """A function inside of a converted one, which is converted with it."""
        return mark_done(function)


_operators = functools.lru_cache(maxsize=None)(Operators)


def mark_done(function: Any) -> Any:
    """Has a function called as it is from now on."""
    setattr(function, _DONE, True)
    return function


def converted_form(function: Any, options: ConversionOptions = STANDARD) -> Any:
    """A callable like ``function`` in which control flow follows tensors; ``function`` itself if it is of a library, or cannot be converted."""
    if isinstance(function, functools.partial):
        return functools.partial(converted_form(function.func, options), *function.args, **function.keywords)
    if isinstance(function, MethodType):
        if isinstance(function.__self__, unittest.TestCase) or not isinstance(function.__func__, FunctionType):
            return function
        return MethodType(converted_form(function.__func__, options), function.__self__)
    if isinstance(function, FunctionType):
        done = hasattr(function, _DONE) or (not options.user_requested and _is_of_library(function))
        return function if done else _converted_or_same(function, options)
    call = getattr(type(function), "__call__", None)  # noqa: B004 (its own __call__, to be converted)
    if isinstance(function, type) or not isinstance(call, FunctionType) or hasattr(call, _DONE) or _is_of_library(call):
        return function
    return MethodType(_converted_or_same(call, options), function)


def _is_of_library(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).partition(".")[0] in _LIBRARIES


def _converted_or_same(function: FunctionType, options: ConversionOptions) -> Callable[..., Any]:
    known = _codes.setdefault(function.__code__, {})
    if options in known and known[options] is None:
        return function
    try:
        return convert(function, options)
    except ConversionError as error:
        known[options] = None
        logging.warning("AutoGraph calls this function as it is: %s", error)
        return function


def convert(function: FunctionType, options: ConversionOptions) -> Callable[..., Any]:
    """The converted form of a function; ConversionError if it has none."""
    known = _codes.setdefault(function.__code__, {})
    code = known.get(options)
    if code is None:
        code = known[options] = _compile(function, syntax_of(function, options))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells["ag__"] = CellType(_operators(options))
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    return mark_done(_with_scopes(made, options))  # type: ignore[no-any-return]


def syntax_of(function: FunctionType, options: ConversionOptions) -> ast.FunctionDef:
    """The converted ``def`` of a function."""
    node = definition_of(function)
    path = function.__qualname__.split(".")
    rewrite(node, options, path[-2] if len(path) > 1 and path[-2] != "<locals>" else None)
    node.decorator_list, node.returns = [], None
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return node


def _compile(function: FunctionType, node: ast.FunctionDef) -> CodeType:
    """The code of a function. A function around it has its free variables, so that they are free in it as well; it is never called."""
    args = node.args
    args.defaults = [constant(None, node) for _ in args.defaults]  # those of the function itself are used
    args.kw_defaults = [each and constant(None, node) for each in args.kw_defaults]
    names = ", ".join(["ag__", *[name for name in function.__code__.co_freevars if name != "ag__"]])
    name, node.name = node.name, "ag__function"  # a name that hides nothing: the function may call itself
    tree = ast.Module(statements(f"def ag__around({names}):\n    BODY", node, BODY=[node]), [])
    filename = function.__code__.co_filename
    try:
        around = compile(ast.fix_missing_locations(tree), filename, "exec", function.__code__.co_flags & _FUTURE, dont_inherit=True).co_consts[0]
    except SyntaxError as error:
        raise ConversionError(f"{place_of(function)}: {error}") from None
    code: CodeType = next(each for each in around.co_consts if isinstance(each, CodeType) and each.co_name == node.name)
    return code.replace(co_name=name)


def _with_scopes(function: Callable[..., Any], options: ConversionOptions) -> Callable[..., Any]:
    """A function that does what features ask for around its body."""
    names, effects = options.uses(Feature.NAME_SCOPES), options.uses(Feature.AUTO_CONTROL_DEPS)
    if not names and not effects:
        return function

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        first = len(graph._ops)
        with name_scope(_scope_name(function.__name__) if names else None):
            result = function(*args, **kwargs)
        return after_effects(graph, first, result) if effects and not graph.imperative else result

    return scoped


def _scope_name(name: str) -> str:
    return "lambda_" if name == "<lambda>" else f"fn{name}" if name.startswith("_") else name
