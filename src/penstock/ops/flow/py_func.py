"""``tf.py_func``: a Python function as an operation.

A node names its function by a token. The functions live in a table of this process, and as long as the graphs that use them: the table holds
them weakly, the graph strongly.
"""
from __future__ import annotations

import secrets
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.errors import KernelError, invalid_argument
from penstock.graph import dtypes, nest
from penstock.graph.attrs import STRING, type_list
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation
from penstock.graph.opdef import op
from penstock.graph.shape import unknown_shape

# Which error of a step an error of the function becomes: the first class that fits.
_ERRORS = (((TypeError, ValueError), errors.InvalidArgumentError), (StopIteration, errors.OutOfRangeError),
           (MemoryError, errors.ResourceExhaustedError), (NotImplementedError, errors.UnimplementedError),
           (BaseException, errors.UnknownError))
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}  # of types, in messages
_functions: weakref.WeakValueDictionary[str, _Function] = weakref.WeakValueDictionary()


class _Function:
    """A holder that can be referred to weakly, which not every callable can."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


def _any_shapes(Tout):
    return [unknown_shape() for _ in Tout]


def _kernel(input, token, Tout):
    function = _functions.get(token)
    if function is None:
        raise invalid_argument(f"callback {token} is not found", hint="a py_func runs only in the process and program that made its graph")
    try:
        result = function.call(*[_argument(value) for value in input])
        values = _as_list(result)
        return tuple(_as_declared(token, index, value, dtype) for index, (value, dtype) in enumerate(zip(_check_count(token, values, Tout), Tout)))
    except KernelError:
        raise
    except (Exception, SystemExit) as error:  # a thread that ended by sys.exit() would leave the step waiting
        entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        raise KernelError(*class_and_message(error)) from (error if entered else None)  # else: wrong arguments


def class_and_message(error: BaseException) -> tuple[type[errors.OpError], str]:
    """The class of the error that an error of the function becomes, and its message."""
    kind = next(error_class for caught, error_class in _ERRORS if isinstance(error, caught))
    return kind, f"{type(error).__name__}: {error}\n{_trace(error)}"


def _trace(error: BaseException) -> str:
    """The traceback from the user's function on."""
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return "".join(traceback.format_exception(type(error), error, inner))


def _argument(value: Any) -> Any:
    """An array of its own: the function may write to it. A scalar comes as a NumPy scalar or as bytes."""
    if not isinstance(value, np.ndarray):
        return value
    return value.copy() if value.ndim else value[()]


def _as_list(result: Any) -> list[Any]:
    if result is None:
        return []
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _check_count(token: str, values: list[Any], wanted: Any) -> list[Any]:
    if len(values) != len(wanted):
        raise invalid_argument(f"{token} returns {len(values)} values, but expects to see {len(wanted)} values.")
    return values


def _as_declared(token: str, index: int, value: Any, wanted: dtypes.DType) -> Any:
    """A result as an array of the declared type, in this machine's order of bytes; what has another type is an error, never cast."""
    array = _text(np.asarray(value))
    if array.dtype.names is not None:
        raise KernelError(errors.InternalError, f"Unsupported numpy data type: {array.dtype}")
    given = dtypes.as_dtype(array.dtype)
    if given is not wanted:
        raise invalid_argument(f"{index}-th value returned by {token} is {_NAMES.get(given.name, given.name)}, "
                               f"but expects {_NAMES.get(wanted.name, wanted.name)}",
                               hint=f"convert it in the function: np.asarray(value, np.{wanted.name})" if wanted is not dtypes.string else "")
    return np.array(array, wanted.np, copy=True if isinstance(value, np.ndarray) else None)


def _text(array: np.ndarray) -> np.ndarray:
    """Strings as an object array of bytes; anything else as it is."""
    if array.dtype.kind not in "SUO":
        return array
    flat = np.empty(array.size, object)
    for index, item in enumerate(array.reshape(-1).tolist()):
        if not isinstance(item, (str, bytes)):
            raise KernelError(errors.InternalError, f"Unsupported object type {type(item).__name__}")
        flat[index] = item.encode() if isinstance(item, str) else item
    return flat.reshape(array.shape)


@op("PyFunc", "input: Tin -> output: Tout", token=STRING, Tin=type_list(), Tout=type_list())
class PyFunc:
    """Calls a Python function, which may have effects of its own."""

    touches = "python"
    stateful = blocking = True
    shape = _any_shapes
    kernel = _kernel
    gradient = None


@op("PyFuncStateless", "input: Tin -> output: Tout", token=STRING, Tin=type_list(), Tout=type_list())
class PyFuncStateless:
    """Calls a Python function whose results depend on its arguments alone."""

    touches = "python"
    blocking = True
    shape = _any_shapes
    kernel = _kernel
    gradient = None


def py_func(func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """``tf.py_func``: calls ``func`` with arrays when it runs; ``Tout`` is the type of its result, or a list of types.

    The result has no gradient unless ``gradient_override_map`` gives it one.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    several = isinstance(Tout, (list, tuple))
    if default_graph().imperative:
        return _call_python(func, list(inp))
    node = _node(func, list(inp), [dtypes.as_dtype(item) for item in (Tout if several else [Tout])], stateful, name)
    if not several:
        return node.outputs[0]
    return list(node.outputs) if node.outputs or not stateful else node


def _call_python(func: Callable[..., Any], inputs: list[Any]) -> Any:
    """The function called at once: imperative style. As in TensorFlow, results have the types that they have, and one that is alone stands alone."""
    results = nest.flatten(func(*[to_tensor(item).numpy() for item in inputs]))  # type: ignore[attr-defined]
    tensors = [None if item is None else to_tensor(item) for item in results]
    return tensors[0] if len(tensors) == 1 else tensors


def _node(func: Callable[..., Any], inputs: list[Any], types: list[dtypes.DType], stateful: bool, name: str | None) -> Operation:
    token = f"pyfunc_{secrets.token_hex(8)}"  # not to be guessed: a graph from elsewhere must not reach this program's functions
    function = _functions[token] = _Function(func)
    definition = PyFunc if stateful else PyFuncStateless
    node = definition.node([inputs], {"token": token, "Tout": types}, name)
    _keep(node.graph, function)
    return node


def _keep(graph: Any, function: _Function) -> None:
    """Lets the function live as long as the graph."""
    vars(graph).setdefault("_py_functions", []).append(function)


def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """``tf.numpy_function``: ``py_func`` under its later name."""
    return py_func(func, inp, Tout, True, name)

