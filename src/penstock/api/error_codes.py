"""``tensorflow.core.lib.core.error_codes_pb2``: the numbers of errors."""
from __future__ import annotations

from penstock import errors
from penstock.api.enumerations import Enumeration

Code = Enumeration("Code", {
    **{name: value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)},
    "DO_NOT_USE_RESERVED_FOR_FUTURE_EXPANSION_USE_DEFAULT_IN_SWITCH_INSTEAD_": 20})
globals().update(Code.items())
