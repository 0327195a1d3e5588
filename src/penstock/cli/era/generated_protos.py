"""Modules that older compilers of protocol buffers wrote (``*_pb2.py``): their messages are made by today's library.

Until version 3.20 such a module built every descriptor by hand, from Python. The library in C refuses that: "Descriptors cannot be created directly".
All that they say stands once more in the bytes of the file, from which a newer module is made. So only what is not about descriptors runs.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.internal import builder

_KEPT = (ast.Import, ast.ImportFrom, ast.Try, ast.ClassDef, ast.FunctionDef)  # after the descriptor: public imports, gRPC's stubs


class OldProtos:
    """Finds the modules whose names end as those of generated code do."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not fullname.endswith("_pb2"):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Loads what an older compiler wrote from its source: compiled files on the disk are those of the module as it is."""

    def get_code(self, fullname: str) -> CodeType | None:
        text = self.get_data(self.path)
        if b"FileDescriptor(" not in text:
            return super().get_code(fullname)
        return compile(_renewed(ast.parse(text, self.path)), self.path, "exec", dont_inherit=True)


def _renewed(module: ast.Module) -> ast.Module:
    """A module of an older compiler without its descriptors; any other one as it is."""
    for number, statement in enumerate(module.body):
        match statement:
            case ast.Assign([ast.Name("DESCRIPTOR")], ast.Call(ast.Attribute(_, "FileDescriptor"), _, keywords)):
                contents = [each.value for each in keywords if each.arg == "serialized_pb"]
                described = ast.parse(f"from {__name__} import describe as _describe\nDESCRIPTOR = _describe(None, globals())").body
                described[1].value.args[0] = contents[0]  # type: ignore[attr-defined]
                after = [each for each in module.body[number + 1:] if isinstance(each, _KEPT)]
                return ast.fix_missing_locations(ast.Module([*module.body[:number], *described, *after], []))
    return module


def describe(contents: bytes, namespace: dict[str, Any]) -> Any:
    """The descriptor of a file; its messages, enumerations and extensions are put where a generated module has them."""
    descriptor = descriptor_pool.Default().AddSerializedFile(contents)
    builder.BuildMessageAndEnumDescriptors(descriptor, namespace)
    builder.BuildTopDescriptorsAndMessages(descriptor, namespace["__name__"], namespace)
    return descriptor
