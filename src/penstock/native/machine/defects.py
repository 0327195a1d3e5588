"""Errors of the compiler itself. They cost speed, never the user's program, and should reach those who can mend them."""
from __future__ import annotations

import logging

_log = logging.getLogger(__name__)
reported: list[BaseException] = []  # in this process; tests look at it


def report(error: Exception) -> None:
    """Says once, with the traceback, that the compiler has failed; after that, for the curious alone."""
    level = logging.DEBUG if reported else logging.WARNING
    reported.append(error)
    _log.log(level, "the compiler failed on a part of this program, which NumPy runs instead: the results are right, but slower to come. "
             "This is a bug in Penstock: please report it, with these lines.", exc_info=error)
