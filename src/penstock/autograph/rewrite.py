"""Statements that may depend on tensors become calls of ``ag__``, and their blocks functions.

    if x > 0:                   def ag__if_body():
        y = x                       nonlocal y
    else:                           y = x
        y = -x                  def ag__else_body():
                     becomes        nonlocal y
                                    y = ag__.call(neg)(x)
                                ag__.if_(x > 0, ag__if_body, ag__else_body, ("y",), ("y",), ())

A block assigns the variables of the function by ``nonlocal``, so Python's own cells hold them: ``state.py`` reads and sets them around a block, and a
variable that is not set yet is an empty cell.
"""
from __future__ import annotations

import ast
from typing import Any

from penstock.autograph.features import ConversionOptions, Feature
from penstock.autograph.jumps import lower_jumps
from penstock.autograph.liveness import NamesUsed, mark_live
from penstock.autograph.templates import constant, expression, statements

_IF = """
def ag__if_body():
    DECLARE
    BODY
def ag__else_body():
    DECLARE
    ORELSE
ag__.if_(TEST, ag__if_body, ag__else_body, NAMES, LIVE, ATTRIBUTES)
"""
_WHILE = """
def ag__loop_test():
    DECLARE
    return TEST
def ag__loop_body():
    DECLARE
    BODY
ag__.while_(ag__loop_test, ag__loop_body, NAMES, LIVE, ATTRIBUTES, OPTIONS)
"""
_FOR = """
def ag__loop_body(ag__item):
    DECLARE
    TARGET = ag__item
    BODY
ag__.for_(ITER, ag__loop_body, NAMES, LIVE, ATTRIBUTES, OPTIONS, STOP)
"""
_LOGICAL = {ast.And: "ag__.and_(lambda: FIRST, lambda: REST)", ast.Or: "ag__.or_(lambda: FIRST, lambda: REST)"}
_EQUALITY = {ast.Eq: "ag__.eq(LEFT, RIGHT)", ast.NotEq: "ag__.not_eq(LEFT, RIGHT)"}
_UNTOUCHED = ("pdb.set_trace", "ipdb.set_trace", "breakpoint", "locals", "globals", "vars", "eval", "exec")  # they look at the frame of their caller


def rewrite(function: ast.FunctionDef, options: ConversionOptions, class_name: str | None) -> None:
    """Rewrites the body of a function in place. ``class_name``: the class that it is a method of."""
    if class_name is not None:
        _PrivateNames(class_name).visit(function)
    if options.uses(Feature.LISTS):
        _Lists().visit(function)
    _Scope(function, options).rewrite()


class _Lists(ast.NodeTransformer):
    """Lists that may be tensors (``lists.py``): what changes one assigns the variable."""

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        return expression("ag__.new_list()", node) if isinstance(node.ctx, ast.Load) and not node.elts else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        if not _is_method(node.value, "append"):
            return node
        return statements("LIST = ag__.list_append(LIST, ITEM)", node, LIST=node.value.func.value, ITEM=node.value.args[0])  # type: ignore[attr-defined]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        call: Any = node.value
        if not _is_method(call, "pop") or len(node.targets) != 1:
            return node
        return statements("LIST, ITEM = CALL", node, LIST=call.func.value, ITEM=node.targets[0],
                          CALL=expression("ag__.list_pop(LIST)", node, LIST=call.func.value) if not call.args else
                          expression("ag__.list_pop(LIST, INDEX)", node, LIST=call.func.value, INDEX=call.args[0]))


class _PrivateNames(ast.NodeTransformer):
    """Does what Python does with names like ``__x`` in a class, which the converted function does not stand in."""

    def __init__(self, class_name: str) -> None:
        self._prefix = f"_{class_name.lstrip('_')}"

    def visit(self, node: ast.AST) -> Any:
        for field in ("id", "attr", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field, self._prefix + name)
        return self.generic_visit(node)


class _Scope(ast.NodeTransformer):
    """The rewriting of one function; functions inside it get scopes of their own."""

    def __init__(self, function: Any, options: ConversionOptions) -> None:
        self._function, self._options = function, options
        self._bound: set[str] = set()  # variables that blocks assign

    def rewrite(self) -> None:
        """Rewrites the body of the function."""
        function = self._function
        lower_jumps(function)
        mark_live(function.body)
        declared = NamesUsed(*function.body).declared
        self._globals = {name for name, kind in declared.items() if kind == "global"}
        head = [f"{kind} {name}" for name, kind in declared.items()]  # they come before every use
        body = self._block(function.body)
        if own := sorted(self._bound - set(declared)):
            head.append(f"if False:\n    {' = '.join(own)} = None")  # never runs: it tells Python that these are variables of this function
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        function.body = [*body[:documented], *statements("\n".join(head), function), *body[documented:]]

    def _block(self, block: list[Any]) -> list[Any]:
        result: list[Any] = []
        for statement in block:
            rewritten = self.visit(statement)
            result += rewritten if isinstance(rewritten, list) else [] if rewritten is None else [rewritten]
        return result

    # --- statements --------------------------------------------------------------------------------------------------

    def _parts(self, node: Any, *parts: Any) -> dict[str, Any]:
        """What the templates of statements share: the variables that ``parts`` assign, and which of them are live."""
        names = NamesUsed(*parts)
        own = sorted(names.writes - self._globals)
        self._bound.update(own)
        lines = ([f"nonlocal {', '.join(own)}"] if own else []) + [f"global {name}" for name in sorted(names.writes & self._globals)]
        attributes = "".join(f"(lambda: {ast.unparse(each.value)}, {each.attr!r})," for each in names.attributes.values())
        return {"DECLARE": statements("\n".join(lines) or "pass", node), "NAMES": constant(tuple(own), node),
                "LIVE": constant(tuple(name for name in own if name in node.ag_live), node), "ATTRIBUTES": expression(f"({attributes})", node)}

    def visit_If(self, node: Any) -> Any:
        parts = self._parts(node, *node.body, *node.orelse)
        nothing = [ast.copy_location(ast.Pass(), node)]
        return statements(_IF, node, TEST=self.visit(node.test), BODY=self._block(node.body), ORELSE=self._block(node.orelse) or nothing, **parts)

    def visit_While(self, node: Any) -> Any:
        options = _take_options(node)
        parts = self._parts(node, node.test, *node.body)
        return statements(_WHILE, node, TEST=self.visit(node.test), BODY=self._block(node.body), OPTIONS=options, **parts)

    def visit_For(self, node: Any) -> Any:
        options = _take_options(node)
        stops = getattr(node, "ag_stops", None)
        stop = constant(None, node) if stops is None else self.visit(expression(f"lambda: {stops}", node)).args[0]
        parts = self._parts(node, node.target, *node.body)
        items = self.visit(node.iter)
        return statements(_FOR, node, ITER=items, TARGET=node.target, BODY=self._block(node.body), OPTIONS=options, STOP=stop, **parts)

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        if not self._options.uses(Feature.ASSERT_STATEMENTS):
            return node
        return statements("ag__.assert_(TEST, lambda: MESSAGE)", node, TEST=node.test, MESSAGE=node.msg or constant("Assertion error", node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function inside: converted in place, unless it is a generator."""
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        self._defaults(node.args)
        if not _is_generator(node):
            _Scope(node, self._options).rewrite()
            node.decorator_list.append(expression("ag__.converted", node))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._defaults(node.args)
        if _is_generator(node):
            return node
        node.body = self.visit(node.body)
        return expression("ag__.converted(FUNCTION)", node, FUNCTION=node)

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self.visit(each) for each in args.defaults]
        args.kw_defaults = [None if each is None else self.visit(each) for each in args.kw_defaults]

    def _verbatim(self, node: Any) -> Any:
        return node

    visit_ClassDef = visit_AsyncFunctionDef = _verbatim

    def _visit_declaration(self, node: Any) -> Any:
        return ast.copy_location(ast.Pass(), node)  # it stands at the head of the function

    visit_Global = visit_Nonlocal = _visit_declaration

    def visit_With(self, node: ast.With) -> Any:
        node.body = self._block(node.body)
        return node

    # --- expressions -------------------------------------------------------------------------------------------------

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        if _binds(node):
            return node
        *firsts, result = node.values
        for value in reversed(firsts):
            result = expression(_LOGICAL[type(node.op)], node, FIRST=value, REST=result)
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return expression("ag__.not_(VALUE)", node, VALUE=node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        if _binds(node):
            return node
        return expression("ag__.if_exp(TEST, lambda: BODY, lambda: ORELSE)", node, TEST=node.test, BODY=node.body, ORELSE=node.orelse)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        template = _EQUALITY.get(type(node.ops[0]))
        if template is None or len(node.ops) > 1 or not self._options.uses(Feature.EQUALITY_OPERATORS):
            return node
        return expression(template, node, LEFT=node.left, RIGHT=node.comparators[0])

    def visit_Call(self, node: ast.Call) -> Any:
        called = ast.unparse(node.func)
        if called.startswith("ag__."):
            return self.generic_visit(node)
        if called == "super" and not node.args:
            return expression(f"super(__class__, {self._function.args.args[0].arg})", node)
        self.generic_visit(node)
        if called not in _UNTOUCHED and (called != "print" or self._options.uses(Feature.BUILTIN_FUNCTIONS)):
            node.func = expression("ag__.call(FUNCTION)", node.func, FUNCTION=node.func)
        return node


def _is_method(node: Any, name: str) -> bool:
    """True for ``variable.name(...)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name and isinstance(node.func.value, ast.Name) \
        and not node.keywords and len(node.args) <= 1


def _take_options(loop: Any) -> Any:
    """The arguments of ``set_loop_options``, if the body of a loop begins with a call of it, as a function that returns a dict."""
    first = loop.body[0]
    call = first.value if isinstance(first, ast.Expr) else None
    if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("set_loop_options"):
        return constant(None, first)
    loop.body = loop.body[1:] or [ast.copy_location(ast.Pass(), first)]
    return expression("lambda: FUNCTION", first, FUNCTION=call)


def _is_generator(node: Any) -> bool:
    body = node.body if isinstance(node.body, list) else [node.body]
    pending = list(body)
    while pending:
        each = pending.pop()
        if isinstance(each, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending += ast.iter_child_nodes(each)
    return False


def _binds(node: ast.AST) -> bool:
    """True if an expression assigns: inside a lambda the name would be the lambda's."""
    return any(isinstance(child, ast.NamedExpr) for child in ast.walk(node))
