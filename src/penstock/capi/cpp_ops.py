"""The operations of the C++ front end: ``penstock/ops.h``, written from the registry.

Each op is a class of its name. Its constructor takes the scope, the inputs, and the attributes that must be given; the others are set by an ``Attrs``
whose functions have their names in CamelCase, as in TensorFlow's C++ API. The outputs are members.

    auto product = ops::MatMul(scope, x, w, ops::MatMul::TransposeB(true));
"""
from __future__ import annotations

from penstock.graph.attrs import REQUIRED, Attr
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.graph.signature import Argument

_TYPES = {"int": "int64_t", "float": "float", "bool": "bool", "string": "std::string", "type": "DataType",
          "shape": "PartialTensorShape", "tensor": "Tensor"}
_RESERVED = frozenset("""and auto bool break case catch char class const continue default delete do double else enum explicit export extern false
    final float for friend goto if inline int long mutable namespace new not operator or private protected public register return scope short signed
    sizeof static struct switch template this throw true try typedef union unsigned using virtual void volatile while xor attrs operation
    index""".split())
_HEAD = """// The operations, as classes: written by `penstock capi` from Penstock's registry.
#pragma once

#include "penstock/client.h"

namespace penstock {
namespace ops {
"""
_TAIL = """
}  // namespace ops
}  // namespace penstock
"""


def header() -> str:
    """The text of ``penstock/ops.h``."""
    return "\n".join([_HEAD, *(_class(REGISTRY[name]) for name in names()), _TAIL])


def names() -> list[str]:
    """The ops that C++ has: all but those of the runtime, those that take functions, and Const, which is written by hand."""
    return [name for name in sorted(REGISTRY) if name.isidentifier() and not name.startswith("_") and name != "Const"
            and all(_cpp_type(attr) is not None for attr in REGISTRY[name].attrs.values())]


def _cpp_type(attr: Attr) -> str | None:
    """The type of an attribute in C++, or None if it cannot be given there."""
    if attr.kind.startswith("list("):
        inner = _TYPES.get(attr.kind[5:-1])
        return None if inner in (None, "Tensor") else f"std::vector<{inner}>"
    return _TYPES.get(attr.kind)


def _name(text: str) -> str:
    return f"{text}_" if text in _RESERVED else text


def _camel(text: str, op_type: str) -> str:
    name = "".join(part[:1].upper() + part[1:] for part in text.split("_"))
    return f"{name}_" if name == op_type or name == "Attrs" else name


def _class(definition: OpDef) -> str:
    op_type = definition.type
    given = {name: attr for name, attr in definition.attrs.items() if name not in definition.inferred}
    required = {name: attr for name, attr in given.items() if attr.default is REQUIRED}
    optional = {name: attr for name, attr in given.items() if attr.default is not REQUIRED}
    parameters = ["const Scope& scope", *(_input(arg) for arg in definition.inputs),
                  *(f"const {_cpp_type(attr)}& {_name(name)}" for name, attr in required.items())]
    calls = "".join(f".input({_name(arg.name)})" for arg in definition.inputs) + "".join(f'.attr("{name}", {_name(name)})' for name in required)
    lines = [f"class {op_type} {{", " public:"]
    if optional:
        parameters.append("const Attrs& attrs = Attrs()")
        calls += ".attrs(attrs)"
        lines += _attrs(op_type, optional)
    explicit = "explicit " if len(parameters) == 1 or (len(parameters) == 2 and optional) else ""
    lines += [f"  {explicit}{op_type}({', '.join(parameters)})",
              f'      : operation(detail::Node(scope, "{op_type}"){calls}.finish()) {{{_assignments(definition)}}}']
    if len(definition.outputs) == 1:
        member = _name(definition.outputs[0].name)
        kind = "OutputList" if definition.outputs[0].is_list else "Output"
        lines.append(f"  operator {kind}() const {{ return {member}; }}")
        if kind == "Output":
            lines.append(f"  operator Input() const {{ return {member}; }}")
    if not definition.outputs:
        lines.append("  operator Operation() const { return operation; }")
    lines.append("  Operation operation;")
    lines += [f"  {'OutputList' if arg.is_list else 'Output'} {_name(arg.name)};" for arg in definition.outputs]
    return "\n".join([*lines, "};", ""])


def _input(arg: Argument) -> str:
    return f"const std::vector<Input>& {_name(arg.name)}" if arg.is_list else f"const Input& {_name(arg.name)}"


def _attrs(op_type: str, optional: dict[str, Attr]) -> list[str]:
    """The struct of the attributes with defaults, and the functions that begin one."""
    lines = ["  struct Attrs : detail::Attributes {"]
    for name, attr in optional.items():
        lines.append(f'    Attrs {_camel(name, op_type)}(const {_cpp_type(attr)}& x) const {{ Attrs r(*this); r.values.emplace_back("{name}", x); '
                     "return r; }")
    lines.append("  };")
    return lines + [f"  static Attrs {_camel(name, op_type)}(const {_cpp_type(attr)}& x) {{ return Attrs().{_camel(name, op_type)}(x); }}"
                    for name, attr in optional.items()]


def _assignments(definition: OpDef) -> str:
    """Statements that set the members of the outputs: a list has as many as the operation has beyond the single ones."""
    if not definition.outputs:
        return ""
    if not any(arg.is_list for arg in definition.outputs):
        return " " + " ".join(f"{_name(arg.name)} = operation.output({index});" for index, arg in enumerate(definition.outputs)) + " "
    lines = ["int at = 0;", "detail::Status status;"]
    for arg in definition.outputs:
        if arg.is_list:
            lines.append(f'for (int end = at + TF_OperationOutputListLength(operation.op, "{arg.name}", status); at < end;) '
                         f"{_name(arg.name)}.push_back(operation.output(at++));")
        else:
            lines.append(f"{_name(arg.name)} = operation.output(at++);")
    return " " + " ".join(lines) + " "
