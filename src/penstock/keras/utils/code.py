"""Python functions in configurations: their byte code, as Keras writes it. It can be read by the version of Python that wrote it."""
from __future__ import annotations

import codecs
import marshal
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any


def dump_function(function: Callable[..., Any]) -> tuple[str, Any, Any]:
    """(byte code as text, defaults, values of the variables that it takes from around it)."""
    code = codecs.encode(marshal.dumps(function.__code__), "base64").decode("ascii")
    closure = tuple(cell.cell_contents for cell in function.__closure__) if function.__closure__ else None
    return code, function.__defaults__, closure


def load_function(dumped: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """The function that ``dump_function`` wrote; ``names`` are its globals."""
    code, defaults, closure = dumped if isinstance(dumped, (list, tuple)) else (dumped, None, None)
    try:
        loaded = marshal.loads(codecs.decode(code.encode("ascii"), "base64"))
        if not isinstance(loaded, CodeType):
            raise ValueError("not code")
    except (ValueError, TypeError, EOFError) as error:
        raise ValueError(f"The code of this Lambda layer was written by another version of Python than {sys.version.split()[0]}, which cannot read "
                         "it. Make the model from its source, and load its weights alone.") from error
    cells = None if closure is None else tuple(_cell(value) for value in closure)
    return FunctionType(loaded, names, loaded.co_name, tuple(defaults) if isinstance(defaults, list) else defaults, cells)


def _cell(value: Any) -> Any:
    return (lambda: value).__closure__[0]  # type: ignore[index]
