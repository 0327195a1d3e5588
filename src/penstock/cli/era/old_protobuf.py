"""What protocol buffers had before 2023: an argument of ``json_format``, and the prototypes of a symbol database."""
from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from penstock.cli.era.changes import Function, replace

_NEW, _OLD = "always_print_fields_with_no_presence", "including_default_value_fields"


def restore(module: ModuleType) -> None:
    """``including_default_value_fields`` of ``MessageToDict`` and ``MessageToJson``, or ``GetPrototype``."""
    if hasattr(module, "MessageToDict"):
        for name in ("MessageToDict", "MessageToJson"):
            if _NEW in inspect.signature(getattr(module, name)).parameters:
                replace(module, name, _with_older_name)
    elif not hasattr(module.SymbolDatabase, "GetPrototype"):
        from google.protobuf import message_factory
        module.SymbolDatabase.GetPrototype = lambda self, descriptor: message_factory.GetMessageClass(descriptor)


def _with_older_name(function: Function) -> Function:
    def convert(message: Any, *args: Any, **options: Any) -> Any:
        if _OLD in options:
            options[_NEW] = options.pop(_OLD)
        return function(message, *args, **options)

    return convert
