"""Recognises Python 2 in a SyntaxError, and says what to do about it."""
from __future__ import annotations

import re

_BY_MESSAGE = {
    "Missing parentheses in call to 'print'": "a print statement",
    "Missing parentheses in call to 'exec'": "an exec statement",
    "multiple exception types must be parenthesized": "`except Class, name`",
    "leading zeros in decimal integer literals": "an octal number without `0o`",
    "Function parameters cannot be parenthesized": "a tuple as a parameter",
    "inconsistent use of tabs and spaces": "a mixture of tabs and spaces",
}
_BY_LINE = {
    r"^\s*print\s+[^\s=(]": "a print statement",
    r"^\s*exec\s+[^\s=(]": "an exec statement",
    r"^\s*except\s+[\w.]+\s*,\s*\w+\s*:": "`except Class, name`",
    r"^\s*raise\s+[\w.]+\s*,": "`raise Class, value`",
    r"`[^`]+`": "backquotes for repr()",
    r"<>": "`<>` for `!=`",
    r"\b\d+[lL]\b": "a long integer such as 10L",
    r"\bur['\"]": "a ur'' string",
    r"^\s*def\s+\w+\s*\((?:[^()]*,)?\s*\(": "a tuple as a parameter",
}


def sign(error: SyntaxError) -> str | None:
    """What in the line at fault is Python 2, or None."""
    for start, meaning in _BY_MESSAGE.items():
        if (error.msg or "").startswith(start):
            return meaning
    return next((meaning for pattern, meaning in _BY_LINE.items() if re.search(pattern, error.text or "")), None)


def explain(error: SyntaxError) -> str | None:
    """A message for the user if the error comes from Python 2; None otherwise."""
    reason = sign(error)
    if reason is None:
        return None
    return (f"{error.filename}, line {error.lineno} is Python 2 ({reason}). Penstock runs on Python 3: convert the program first, for example with "
            f"`2to3 -w {error.filename}` (a part of Python up to 3.12; `fissix` and `futurize` are its successors).")
