"""The error tree: what a step can raise, with TensorFlow's classes and codes.

    OpError
    ├── CancelledError            a step was stopped: session closed, coordinator asked
    ├── UnknownError              an error without a class of its own (a py_func raised)
    ├── InvalidArgumentError      a value does not fit: ``sess.run(y)`` with a placeholder left unfed
    ├── DeadlineExceededError     ``RunOptions(timeout_in_ms=...)`` ran out
    ├── NotFoundError             a file, a checkpoint key, a table entry is missing
    ├── AlreadyExistsError        something to be created is there already
    ├── PermissionDeniedError     the file system or the cluster said no
    ├── UnauthenticatedError      no or a wrong secret
    ├── ResourceExhaustedError    out of memory, disk or quota
    ├── FailedPreconditionError   a variable was read before it was initialised
    ├── AbortedError              a step lost its peer; it may be tried again
    ├── OutOfRangeError           the end of the data
    ├── UnimplementedError        this op exists, this case of it does not
    ├── InternalError             Penstock broke a promise to itself: please report
    ├── UnavailableError          a task cannot be reached now
    └── DataLossError             a file is damaged

Errors raised while a graph is *built* are plain ``ValueError`` and ``TypeError``, but for OperatorNotAllowedInGraphError, a TypeError.
"""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.graph.graph import Operation

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """An error that happened in a step; ``op`` is the operation at fault, if it is known."""

    code = UNKNOWN

    def __init__(self, node_def: Any, op: Operation | None, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self._node_def, self._op, self._message = node_def, op, message
        self._error_code = self.code if error_code is None else error_code

    @property
    def message(self) -> str:
        """What went wrong, for people."""
        return self._message

    @property
    def op(self) -> Operation | None:
        """The operation that failed, or None."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The NodeDef proto of the operation that failed, or None."""
        return self._op.node_def if self._node_def is None and self._op is not None else self._node_def

    @property
    def error_code(self) -> int:
        """The numeric code, one of the constants of this module."""
        return self._error_code

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, None, self._message)


class OperatorNotAllowedInGraphError(TypeError):
    """Python control flow over a tensor that has no value yet: ``if tensor``, ``for row in tensor``."""


class KernelError(Exception):
    """What a kernel raises: a class of the tree, a message, and what to try. The executor adds the op, its inputs and its origin."""

    def __init__(self, error_class: type[OpError], message: str, hint: str = "") -> None:
        super().__init__(message)
        self.error_class, self.message, self.hint = error_class, message, hint


class CancelledError(OpError):
    """The step was cancelled: its session closed or its caller gave up."""

    code = CANCELLED


class UnknownError(OpError):
    """An error without a class of its own, such as one raised inside a py_func."""

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """A value does not fit the operation it went into."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The time that the step was given ran out."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, key or resource does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """What should be created exists already."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """The caller did not show who it is."""

    code = UNAUTHENTICATED


class ResourceExhaustedError(OpError):
    """Memory, disk or a quota ran out."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The state is not ready: a variable was not initialised, for example."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The step was given up because a part of it was lost; it may be tried again."""

    code = ABORTED


class OutOfRangeError(OpError):
    """The data came to its end."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """The operation does not cover this case."""

    code = UNIMPLEMENTED


class InternalError(OpError):
    """Penstock broke a promise to itself."""

    code = INTERNAL


class UnavailableError(OpError):
    """A task or service cannot be reached now."""

    code = UNAVAILABLE


class DataLossError(OpError):
    """Stored data is damaged."""

    code = DATA_LOSS


_BY_CODE: dict[int, type[OpError]] = {each.code: each for each in OpError.__subclasses__()}


def exception_type_from_error_code(code: int) -> type[OpError]:
    """The class for a code of this module.

    >>> exception_type_from_error_code(INVALID_ARGUMENT).__name__
    'InvalidArgumentError'
    """
    return _BY_CODE[code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The code of a class of this module."""
    return cls.code


def make_exception(node_def: Any, op: Operation | None, message: str, error_code: int) -> OpError:
    """An error of the class that belongs to a code; a plain OpError, with a warning, if the code is not known."""
    cls = _BY_CODE.get(error_code)
    if cls is not None:
        return cls(node_def, op, message)
    warnings.warn(f"Unknown error code: {error_code}", stacklevel=2)
    return UnknownError(node_def, op, message, error_code)


def invalid_argument(message: str, hint: str = "") -> KernelError:
    """The error a kernel raises for a value that does not fit."""
    return KernelError(InvalidArgumentError, message, hint)


def unimplemented(message: str) -> KernelError:
    """The error a kernel raises for a case it does not cover."""
    return KernelError(UnimplementedError, message)
