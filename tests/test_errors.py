"""The error tree."""
from __future__ import annotations

import penstock as tf


def test_error_classes_and_codes():
    for code in range(1, 17):
        cls = tf.errors.exception_type_from_error_code(code)
        error = cls(None, None, "text")
        assert error.error_code == code and isinstance(error, tf.OpError) and error.message == "text" and error.op is None
        assert tf.errors.error_code_from_exception_type(cls) == code
