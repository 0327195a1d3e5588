"""Functions of the C API in Python: ``@entry`` marks one, and ``callback`` makes the C function of it.

A function takes what its declaration in the header says, in the form that is useful here:

    TF_Graph* and other handles     the object behind it; None for a NULL where that is allowed
    TF_Output, TF_Input             the Tensor; a pair (operation, index)
    const char*                     a str; None for NULL. If its length follows: its address
    TF_Tensor*, void*               an address
    other pointers                  a ctypes pointer, which is false if it is NULL
    TF_Status*                      nothing: an exception sets it, and a function that returns has succeeded

and returns the object of a handle, a str for ``const char*`` (which lives as long as the object of the first parameter), a struct of
``structs.py``, or a number.
"""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.capi import handles
from penstock.capi.declarations import Declaration, Parameter
from penstock.capi.structs import AttrMetadata, Buffer, Output, WhileParams
from penstock.errors import InvalidArgumentError, OpError
from penstock.graph.node import Operation

Function = Callable[..., Any]
ENTRIES: dict[str, Function] = {}
KINDS: dict[str, type] = {"TF_Graph*": handles.GraphState, "TF_Operation*": Operation}  # what is behind a handle of a C type
OPTIONAL = ("opts", "options", "session_options", "opt", "grad")  # handles that may be NULL

_SIMPLE = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "float": ctypes.c_float,
           "unsigned char": ctypes.c_ubyte, "TF_DataType": ctypes.c_int, "void": None, "char": ctypes.c_char_p, "TF_Output": Output,
           "TF_Input": Output, "TF_Buffer": Buffer, "TF_WhileParams": WhileParams}
_STRUCTS = {"TF_Output": Output, "TF_Buffer": Buffer, "TF_AttrMetadata": AttrMetadata, "TF_WhileParams": WhileParams}


def entry(function: Function) -> Function:
    """Marks the Python form of a function of the header, which has its name."""
    ENTRIES[function.__name__] = function
    return function


def kind(c_type: str) -> Callable[[type], type]:
    """Marks the class of the objects behind handles of a C type."""
    def mark(cls: type) -> type:
        KINDS[c_type] = cls
        return cls
    return mark


class Services:
    """The functions of ``shim.c`` that Python calls. They do not wait, so they are called with Python's lock held."""

    library: Any = None
    set_status: Any = None
    fill_buffer: Any = None

    @classmethod
    def load(cls, path: str) -> None:
        """From the library that has started this."""
        cls.library = library = ctypes.PyDLL(path)
        cls.set_status, cls.fill_buffer = library.TF_SetStatus, library.penstock_fill_buffer
        cls.set_status.argtypes, cls.set_status.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p], None
        cls.fill_buffer.argtypes, cls.fill_buffer.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t], None


# --- types -----------------------------------------------------------------------------------------------------------

def _pointer(c_type: str) -> Any:
    """The ctypes type of a pointer type other than a handle."""
    target = c_type[:-1]
    if target.endswith("*") and c_type not in ("char**", "char***"):
        return ctypes.POINTER(ctypes.POINTER(_SIMPLE[target[:-1]]) if target in ("int*", "int64_t*", "TF_Output*", "TF_Buffer*") else ctypes.c_void_p)
    if c_type == "char**":
        return ctypes.POINTER(ctypes.c_char_p)
    return ctypes.POINTER(ctypes.c_void_p) if c_type == "char***" else ctypes.POINTER(_SIMPLE[target])


def _is_address(declaration: Declaration, index: int) -> bool:
    """Memory that is not looked at here: tensors, bytes with a length."""
    parameters = declaration.parameters
    sized = index + 1 < len(parameters) and parameters[index + 1].type == "size_t"
    kind = parameters[index].type
    return kind in ("void*", "TF_Tensor*", "TF_FunctionOptions*", "TF_Status*", "function") or (kind == "char*" and sized)


def _argument(declaration: Declaration, index: int) -> tuple[Any, Function | None]:
    """The ctypes type of a parameter, and what turns its value into what the function takes; None: nothing has to."""
    parameter = declaration.parameters[index]
    if _is_address(declaration, index):
        return ctypes.c_void_p, None
    if parameter.type in KINDS:
        return ctypes.c_void_p, _resolver(parameter, KINDS[parameter.type], declaration.name.startswith("TF_Delete"))
    if parameter.type == "char*":
        return ctypes.c_char_p, _text
    if parameter.type == "TF_Output":
        return ctypes.c_void_p, _tensor
    if parameter.type == "TF_Input":
        return ctypes.c_void_p, _input
    return (_pointer(parameter.type) if parameter.type.endswith("*") else _SIMPLE[parameter.type]), None


def _resolver(parameter: Parameter, cls: type, deletes: bool) -> Function:
    optional, what = deletes or parameter.name in OPTIONAL, f"{parameter.type} {parameter.name}"
    return lambda number: None if number is None and optional else handles.get(number, cls, what)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="surrogateescape")


def _tensor(address: int) -> Any:
    output = Output.from_address(address)
    return handles.tensor(output.oper, output.index)


def _input(address: int) -> tuple[Operation, int]:
    place = Output.from_address(address)
    op = handles.get(place.oper, Operation, "the operation of a TF_Input")
    if not 0 <= place.index < len(op.inputs):
        raise InvalidArgumentError(None, None, f"Node '{op.name}' has no input {place.index}")
    return op, place.index


# --- the C function --------------------------------------------------------------------------------------------------

def callback(declaration: Declaration) -> Any:
    """The C function of a declaration, as ctypes has it."""
    function, arguments = ENTRIES[declaration.name], [_argument(declaration, index) for index in range(len(declaration.parameters))]
    types = [each[0] for each in arguments]
    struct = _STRUCTS.get(declaration.returns)
    if struct is not None:
        types.insert(0, ctypes.c_void_p)  # where the struct goes
    is_handle, is_text = declaration.returns in KINDS, declaration.returns == "char*"
    returns = None if struct is not None else ctypes.c_void_p if declaration.returns.endswith("*") else _SIMPLE[declaration.returns]
    converters = [(index, each[1]) for index, each in enumerate(arguments) if each[1] is not None]
    status_at, ends = declaration.status, _ends(declaration)

    def call(*values: Any) -> Any:
        place, given = (values[0], list(values[1:])) if struct is not None else (None, list(values))
        raw = given[0] if given else None
        status = None if status_at is None else given[status_at]
        try:
            for index, convert in converters:
                given[index] = convert(given[index])
            if ends and raw is not None:
                handles.remove(raw)
            if status_at is not None:
                del given[status_at]
            result = function(*given)
            if status is not None:
                Services.set_status(status, errors.OK, b"")
            if place is not None and result is not None:
                ctypes.memmove(place, ctypes.byref(result), ctypes.sizeof(result))
                return None
            if result is None:
                return None if returns is None or returns is ctypes.c_void_p else 0
            return handles.add(result) if is_handle else handles.text(raw or 0, result) if is_text else result
        except BaseException as error:  # whatever it is, it must not be lost in C
            _report(declaration, status, given, error)
            return None if returns is None or returns is ctypes.c_void_p else 0

    return ctypes.CFUNCTYPE(returns, *types)(call)


def _ends(declaration: Declaration) -> bool:
    """Is the handle of the first parameter used for the last time?"""
    return bool(declaration.parameters) and declaration.parameters[0].type in KINDS and (
        declaration.name.startswith("TF_Delete") or declaration.name == "TF_FinishOperation")


def _report(declaration: Declaration, status: int | None, given: list[Any], error: BaseException) -> None:
    """Into the status; without one into the description of an operation, whose end tells of it; or else to standard error."""
    code, message = described(error)
    if status is not None:
        Services.set_status(status, code, message.encode(errors="replace").replace(b"\0", b"?"))
    elif given and hasattr(given[0], "note_error"):
        given[0].note_error(error)
    else:
        print(f"{declaration.name}: {message}", file=sys.stderr)


def described(error: BaseException) -> tuple[int, str]:
    """The code and the message of an exception, as a status has them."""
    if isinstance(error, OpError):
        return error.error_code, error.message
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, MemoryError):
        return errors.RESOURCE_EXHAUSTED, f"out of memory: {message}"
    if isinstance(error, NotImplementedError):
        return errors.UNIMPLEMENTED, message
    if isinstance(error, FileNotFoundError):
        return errors.NOT_FOUND, message
    if isinstance(error, OSError):
        return errors.UNKNOWN, message
    if isinstance(error, (ValueError, TypeError, KeyError, IndexError, RuntimeError)):
        return errors.INVALID_ARGUMENT, message or type(error).__name__
    return errors.INTERNAL, f"{type(error).__name__}: {message}"
