"""Functions of ``language.py`` as LLVM IR. Loaded when the first of them is compiled: it brings in LLVM."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from penstock.codec.language import Native, Primitive

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
LANES = ir.VectorType(I32, 16)
POINTER = ir.PointerType()
IR = Any  # of llvmlite


def module_text(functions: list[Native], triple: str) -> str:
    """The LLVM IR of a module of these functions, and of those that they call."""
    module = ir.Module()
    module.triple = triple
    program = _Program(module)
    for function in functions:
        program.function(function)
    while program.left:
        program.left.pop()()
    return str(module)


class _Program:
    """A module while it is made."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.left: list[Callable[[], None]] = []  # functions that are declared, but not written yet

    def function(self, function: Native) -> ir.Function:
        """The function in this module."""
        name = f"codec_{function.name}"
        if name in self.module.globals:
            return self.module.globals[name]
        declared = ir.Function(self.module, ir.FunctionType(I64, [I64] * len(function.parameters)), name)
        self.left.append(lambda: _Body(self, declared, function).write())
        return declared

    def external(self, name: str, result: ir.Type, parameters: list[ir.Type]) -> ir.Function:
        """An intrinsic, or a function of the C library."""
        return self.module.globals.get(name) or ir.Function(self.module, ir.FunctionType(result, parameters), name)


_ARITHMETIC = {ast.Add: ("add", "fadd"), ast.Sub: ("sub", "fsub"), ast.Mult: ("mul", "fmul"), ast.Div: (None, "fdiv"), ast.FloorDiv: ("sdiv", None),
               ast.Mod: ("srem", None), ast.LShift: ("shl", None), ast.RShift: ("lshr", None), ast.BitAnd: ("and_", None), ast.BitOr: ("or_", None),
               ast.BitXor: ("xor", None)}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class _Body:
    """The body of one function while it is translated."""

    def __init__(self, program: _Program, declared: ir.Function, function: Native) -> None:
        self.program, self.function, self.scope = program, function, function.scope
        self.entry = ir.IRBuilder(declared.append_basic_block("entry"))
        start = declared.append_basic_block("start")
        self.b = ir.IRBuilder(start)
        self.start = start
        self.variables: dict[str, tuple[IR, ir.Type]] = {}
        self.loops: list[tuple[Any, Any]] = []  # (where continue goes, where break goes)
        for name, value in zip(function.parameters, declared.args):
            self.assign(name, value)

    def write(self) -> None:
        """Translates the function."""
        (definition,) = ast.parse(self.function.source).body
        assert isinstance(definition, ast.FunctionDef)
        self.block(definition.body)
        if not self.b.block.is_terminated:
            self.b.ret(ir.Constant(I64, 0))
        self.entry.branch(self.start)

    # --- statements ------------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            translate = getattr(self, f"statement_{type(statement).__name__}", None)
            if translate is None:
                raise self.refusal(statement)
            translate(statement)

    def refusal(self, node: ast.AST) -> SyntaxError:
        return SyntaxError(f"{self.function.name}: the language of native code has no {ast.unparse(node)!r}")

    def statement_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def statement_Pass(self, node: ast.Pass) -> None:
        pass

    def statement_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        if not isinstance(target, ast.Name):
            raise self.refusal(node)
        self.assign(target.id, self.number(node.value))

    def statement_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.refusal(node)
        self.assign(node.target.id, self.arithmetic(node.op, self.read(node.target.id), self.number(node.value), node))

    def assign(self, name: str, value: IR) -> None:
        if name not in self.variables:
            place = self.entry.alloca(value.type)
            place.type = POINTER
            self.variables[name] = place, value.type
        place, kind = self.variables[name]
        if kind != value.type:
            raise SyntaxError(f"{self.function.name}: {name} is {kind} and cannot become {value.type}")
        self.b.store(value, place)

    def statement_Return(self, node: ast.Return) -> None:
        self.b.ret(ir.Constant(I64, 0) if node.value is None else self.number(node.value))

    def statement_If(self, node: ast.If) -> None:
        then, other, after = (self.b.append_basic_block(name) for name in ("then", "else", "after"))
        self.b.cbranch(self.truth(node.test), then, other if node.orelse else after)
        for block, statements in ((then, node.body), (other, node.orelse)):
            self.b.position_at_end(block)
            self.block(statements)
            if not self.b.block.is_terminated:
                self.b.branch(after)
        self.b.position_at_end(after)

    def statement_While(self, node: ast.While) -> None:
        test, body, after = (self.b.append_basic_block(name) for name in ("test", "body", "after"))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.b.cbranch(self.truth(node.test), body, after)
        self._loop(node.body, body, test, after)

    def statement_For(self, node: ast.For) -> None:
        if not (isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
                and isinstance(node.target, ast.Name)) or len(node.iter.args) > 2:
            raise self.refusal(node)
        bounds = [self.number(argument) for argument in node.iter.args]
        name, stop = node.target.id, bounds[-1]
        self.assign(name, bounds[0] if len(bounds) == 2 else ir.Constant(I64, 0))
        test, body, step, after = (self.b.append_basic_block(label) for label in ("test", "body", "step", "after"))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.b.cbranch(self.b.icmp_signed("<", self.read(name), stop), body, after)
        self.b.position_at_end(step)
        self.assign(name, self.b.add(self.read(name), ir.Constant(I64, 1)))
        self.b.branch(test)
        self._loop(node.body, body, step, after)

    def _loop(self, statements: list[ast.stmt], body: Any, again: Any, after: Any) -> None:
        self.loops.append((again, after))
        self.b.position_at_end(body)
        self.block(statements)
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.loops.pop()
        self.b.position_at_end(after)

    def statement_Break(self, node: ast.Break) -> None:
        self.b.branch(self.loops[-1][1])

    def statement_Continue(self, node: ast.Continue) -> None:
        self.b.branch(self.loops[-1][0])

    # --- expressions -----------------------------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> IR:
        """An expression as an integer or a float."""
        value = self.value(node)
        return self.b.zext(value, I64) if value.type == I1 else value

    def truth(self, node: ast.expr) -> IR:
        """An expression as a condition."""
        value = self.value(node)
        return value if value.type == I1 else self.b.icmp_signed("!=", value, ir.Constant(I64, 0))

    def value(self, node: ast.expr) -> IR:
        translate = getattr(self, f"expression_{type(node).__name__}", None)
        if translate is None:
            raise self.refusal(node)
        return translate(node)

    def expression_Constant(self, node: ast.Constant) -> IR:
        return self.constant(node.value, node)

    def constant(self, value: Any, node: ast.expr) -> IR:
        if isinstance(value, int):
            return ir.Constant(I64, (int(value) + (1 << 63)) % (1 << 64) - (1 << 63))
        if isinstance(value, float):
            return ir.Constant(F64, value)
        if isinstance(value, bytes) and len(value) == 1:
            return ir.Constant(I64, value[0])
        raise self.refusal(node)

    def expression_Name(self, node: ast.Name) -> IR:
        return self.read(node.id) if node.id in self.variables else self.constant(self.scope.get(node.id), node)

    def read(self, name: str) -> IR:
        place, kind = self.variables[name]
        return self.b.load(place, typ=kind)

    def expression_BinOp(self, node: ast.BinOp) -> IR:
        return self.arithmetic(node.op, self.number(node.left), self.number(node.right), node)

    def arithmetic(self, operator: ast.operator, left: IR, right: IR, node: ast.AST) -> IR:
        if LANES in (left.type, right.type):
            left, right = self.lanes(left), self.lanes(right)
        name = _ARITHMETIC.get(type(operator), (None, None))[left.type in (F32, F64)]
        name = "ashr" if name == "lshr" and left.type == LANES else name
        if name is None or left.type != right.type:
            raise self.refusal(node)
        return getattr(self.b, name)(left, right)

    def expression_UnaryOp(self, node: ast.UnaryOp) -> IR:
        if isinstance(node.op, ast.Not):
            return self.b.not_(self.truth(node.operand))
        value = self.number(node.operand)
        if isinstance(node.op, ast.USub):
            return self.b.fneg(value) if value.type in (F32, F64) else self.b.neg(value)
        if isinstance(node.op, ast.Invert):
            return self.b.not_(value)
        raise self.refusal(node)

    def expression_Compare(self, node: ast.Compare) -> IR:
        values = [self.number(each) for each in (node.left, *node.comparators)]
        whole = None
        for operator, left, right in zip(node.ops, values, values[1:]):
            sign = _COMPARISONS.get(type(operator))
            if sign is None or left.type != right.type:
                raise self.refusal(node)
            each = self.b.fcmp_ordered(sign, left, right) if left.type in (F32, F64) else self.b.icmp_signed(sign, left, right)
            whole = each if whole is None else self.b.and_(whole, each)
        return whole

    def expression_BoolOp(self, node: ast.BoolOp) -> IR:
        conjunction, after = isinstance(node.op, ast.And), self.b.append_basic_block("joined")
        sources = []
        for index, each in enumerate(node.values):
            value = self.truth(each)
            sources.append((value, self.b.block))
            if index + 1 < len(node.values):
                following = self.b.append_basic_block("next")
                self.b.cbranch(value, *((following, after) if conjunction else (after, following)))
                self.b.position_at_end(following)
            else:
                self.b.branch(after)
        self.b.position_at_end(after)
        result = self.b.phi(I1)
        for value, block in sources:
            result.add_incoming(value, block)
        return result

    def expression_IfExp(self, node: ast.IfExp) -> IR:
        condition, values = self.truth(node.test), (self.number(node.body), self.number(node.orelse))
        return self.b.select(condition, *values)

    def expression_Call(self, node: ast.Call) -> IR:
        if not isinstance(node.func, ast.Name):
            raise self.refusal(node)
        name = node.func.id
        called = self.scope.get(name)
        if isinstance(called, Primitive):
            return PRIMITIVES[called.name](self, *(self.number(argument) for argument in node.args))
        if not isinstance(called, Native) or len(called.parameters) != len(node.args):
            raise self.refusal(node)
        return self.b.call(self.program.function(called), [self.number(argument) for argument in node.args])

    def lanes(self, value: IR) -> IR:
        """Lanes, or 16 of an integer."""
        if value.type != I64:
            return value
        one = self.b.insert_element(ir.Constant(LANES, ir.Undefined), self.b.trunc(value, I32), ir.Constant(I32, 0))
        return self.b.shuffle_vector(one, one, ir.Constant(LANES, [0] * LANES.count))

    # --- memory ----------------------------------------------------------------------------------------------------------

    def load(self, kind: ir.Type, address: IR) -> IR:
        return self.b.load(self.b.inttoptr(address, POINTER), typ=kind, align=1)

    def store(self, value: IR, address: IR) -> IR:
        self.b.store(value, self.b.inttoptr(address, POINTER), align=1)
        return ir.Constant(I64, 0)

    def external(self, name: str, result: ir.Type, parameters: list[ir.Type], arguments: list[IR]) -> IR:
        return self.b.call(self.program.external(name, result, parameters), arguments)


def _cell(f: _Body) -> IR:
    """The address of 8 bytes of the function's own, for what another one gives back beside its result."""
    place = f.entry.alloca(I64)
    place.type = POINTER
    return f.b.ptrtoint(place, I64)


def _copy(f: _Body, target: IR, source: IR, count: IR) -> IR:
    """memcpy."""
    f.external("llvm.memcpy.p0.p0.i64", ir.VoidType(), [POINTER, POINTER, I64, I1],
               [f.b.inttoptr(target, POINTER), f.b.inttoptr(source, POINTER), count, ir.Constant(I1, 0)])
    return ir.Constant(I64, 0)


def _find(f: _Body, start: IR, byte: IR, count: IR) -> IR:
    """The address of the first such byte of ``count`` ones; 0 if there is none."""
    place = f.external("memchr", POINTER, [POINTER, I32, I64], [f.b.inttoptr(start, POINTER), f.b.trunc(byte, I32), count])
    return f.b.ptrtoint(place, I64)


def _call2(f: _Body, function: IR, first: IR, second: IR) -> IR:
    """Calls a C function of two integers, or addresses, by its address."""
    kind = ir.FunctionType(I64, [I64, I64])
    return f.b.call(f.b.inttoptr(function, ir.PointerType(kind)), [first, second])


def _crc(f: _Body, bits: int, crc: IR, data: IR) -> IR:
    kind = I64 if bits == 64 else I32
    result = f.external(f"llvm.x86.sse42.crc32.{'64.64' if bits == 64 else '32.8'}", kind, [kind, I64 if bits == 64 else I8],
                        [crc if bits == 64 else f.b.trunc(crc, I32), data if bits == 64 else f.b.trunc(data, I8)])
    return result if bits == 64 else f.b.zext(result, I64)


def _clamp_bytes(f: _Body, value: IR) -> IR:
    for sign, bound in (("<", f.lanes(ir.Constant(I64, 0))), (">", f.lanes(ir.Constant(I64, 255)))):
        value = f.b.select(f.b.icmp_signed(sign, value, bound), bound, value)
    return value


def _bytes(f: _Body, value: IR) -> IR:
    """The lowest byte of each lane."""
    return f.b.trunc(value, ir.VectorType(I8, LANES.count))


def _in_turn(f: _Body, first: IR, second: IR) -> IR:
    """The elements of two vectors in turn."""
    count = first.type.count
    return _shuffled(f, first, second, [place for index in range(count) for place in (index, count + index)])


def _shuffled(f: _Body, first: IR, second: IR, places: list[int]) -> IR:
    return f.b.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, len(places)), places))


def _store_triples(f: _Body, at: IR, *values: IR) -> IR:
    first, second, third = (_bytes(f, value) for value in values)
    count = LANES.count
    both, rest = _shuffled(f, first, second, [*range(2 * count)]), _shuffled(f, third, third, [*range(2 * count)])
    return f.store(_shuffled(f, both, rest, [place for index in range(count) for place in (index, count + index, 2 * count + index)]), at)


def _store_rows(f: _Body, at: IR, *values: IR) -> IR:
    """The elements of 8 vectors in turn, by joining each with the one that is half of them away."""
    parts = [_bytes(f, value) for value in values]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [_in_turn(f, first, second) for first, second in zip(parts[:half], parts[half:])]
    return f.store(parts[0], at)


# What becomes of each primitive: a function of the body that is being translated and of the arguments.
PRIMITIVES: dict[str, Callable[..., IR]] = {
    "load8": lambda f, at: f.b.zext(f.load(I8, at), I64),
    "load32": lambda f, at: f.b.zext(f.load(I32, at), I64),
    "load64": lambda f, at: f.load(I64, at),
    "load_float64": lambda f, at: f.load(F64, at),
    "load_float32": lambda f, at: f.b.fpext(f.load(F32, at), F64),
    "store8": lambda f, at, value: f.store(f.b.trunc(value, I8), at),
    "store32": lambda f, at, value: f.store(f.b.trunc(value, I32), at),
    "store64": lambda f, at, value: f.store(value, at),
    "store_float32": lambda f, at, value: f.store(f.b.fptrunc(value, F32), at),
    "store_float64": lambda f, at, value: f.store(value, at),
    "load_single": lambda f, at: f.load(F32, at),
    "store_single": lambda f, at, value: f.store(value, at),
    "to_single": lambda f, value: f.b.sitofp(value, F32),
    "to_float": lambda f, value: f.b.sitofp(value, F64),
    "remainder": lambda f, left, right: f.b.urem(left, right),
    "cell": _cell,
    "copy": _copy,
    "find": _find,
    "call2": _call2,
    "crc64": lambda f, crc, data: _crc(f, 64, crc, data),
    "crc8": lambda f, crc, data: _crc(f, 8, crc, data),
    "load_big64": lambda f, at: f.external("llvm.bswap.i64", I64, [I64], [f.load(I64, at)]),
    "load_lanes": lambda f, at: f.load(LANES, at),
    "load_bytes": lambda f, at: f.b.zext(f.load(ir.VectorType(I8, LANES.count), at), LANES),
    "store_lanes": lambda f, at, value: f.store(value, at),
    "clamp_bytes": _clamp_bytes,
    "store_pairs": lambda f, at, first, second: f.store(_in_turn(f, _bytes(f, first), _bytes(f, second)), at),
    "store_triples": _store_triples,
    "store_rows": _store_rows,
}
