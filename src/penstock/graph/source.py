"""Where in the user's program a graph element was made, kept as cheaply as possible: code objects and line numbers, formatted only when asked."""
from __future__ import annotations

import contextlib
import linecache
import os
import sys
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEPTH = 4  # user frames that are kept: the line itself and those that called it


class _Inside(dict[str, bool]):
    """File of a code object -> is it Penstock's own, or what stands between that and the program: the ``with`` of a generator?"""

    def __missing__(self, file: str) -> bool:
        inside = self[file] = file.startswith(_PACKAGE) or file == contextlib.__file__
        return inside


INSIDE = _Inside()

Source = tuple[tuple[CodeType, int], ...]


def user_frames(depth: int = _DEPTH) -> Source:
    """The innermost frames outside Penstock, as (code, line) pairs, innermost first; at most ``depth`` of them."""
    frame = sys._getframe(1)
    frames: list[tuple[CodeType, int]] = []
    while frame is not None:
        code = frame.f_code
        if not INSIDE[code.co_filename]:
            frames.append((code, frame.f_lineno))
            if len(frames) == depth:
                break
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(frames)


def program_begins() -> None:
    """What has called the caller so far, such as the script of the command `penstock`, is not the user's program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != "<string>":  # (python -c: programs may call parts of their own so)
            INSIDE[file] = True
        frame = frame.f_back


def describe(source: Source) -> str:
    """``program.py:12, in build: y = tf.matmul(x, w)`` for the innermost frame; empty if there is none."""
    if not source:
        return ""
    code, line = source[0]
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}, in {code.co_name}" + (f": {text}" if text else "")


def start_lines(source: Source) -> list[int]:
    """The line in which the function of each kept frame begins, outermost first."""
    return [code.co_firstlineno for code, _ in reversed(source)]


def traceback(source: Source) -> list[tuple[str, int, str, str]]:
    """(file, line, function, text) per kept frame, outermost first, as ``op.traceback`` has them."""
    return [(code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip())
            for code, line in reversed(source)]
