"""``tf.errors``: the errors that a step can raise."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.errors": "OpError CancelledError UnknownError InvalidArgumentError DeadlineExceededError NotFoundError AlreadyExistsError "
                       "PermissionDeniedError UnauthenticatedError ResourceExhaustedError FailedPreconditionError AbortedError OutOfRangeError "
                       "UnimplementedError InternalError UnavailableError DataLossError "
                       "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED "
                       "FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED "
                       "exception_type_from_error_code error_code_from_exception_type",
}
publish(__name__, TABLE)
